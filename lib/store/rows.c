/* Rows of the record tables in memory: cells, and the bytes of their texts and blobs. */

#include "base/base.h"
#include "model/model.h"
#include "store/records.h"

#include <stdlib.h>
#include <string.h>

void rows_release(struct rows *rows)
{
    for (int i = 0; i < EVENT_TABLES; i++)
        free(rows->tables[i].cells);
    buffer_release(&rows->bytes);
    *rows = (struct rows){.bytes = BUFFER_INIT};
}

void rows_clear(struct rows *rows)
{
    for (int i = 0; i < EVENT_TABLES; i++)
        rows->tables[i].count = 0;
    buffer_clear(&rows->bytes);
}

size_t rows_size_bytes(const struct rows *rows)
{
    size_t cells = 0;
    for (int i = 0; i < EVENT_TABLES; i++)
        cells += rows->tables[i].count;
    return cells * sizeof(struct row_cell) + rows->bytes.length;
}

size_t rows_count(const struct rows *rows, enum event_kind kind)
{
    return rows->tables[kind].count / (size_t)record_tables[kind].field_count;
}

const struct row_cell *rows_at(const struct rows *rows, enum event_kind kind, size_t row)
{
    return &rows->tables[kind].cells[row * (size_t)record_tables[kind].field_count];
}

int rows_put_text(struct rows *rows, const char *text, struct span *span)
{
    *span = (struct span){.offset = rows->bytes.length};
    if (!text)
        return 0;
    span->present = 1;
    span->length = strlen(text);
    return buffer_append(&rows->bytes, text, span->length + 1);
}

int rows_put_bytes(struct rows *rows, size_t at, int failed, struct span *span)
{
    *span = (struct span){.offset = at, .length = rows->bytes.length - at, .present = 1};
    return failed || buffer_append_byte(&rows->bytes, '\0');
}

const char *rows_bytes(const struct rows *rows, struct span span)
{
    return span.present ? rows->bytes.data + span.offset : NULL;
}

int row_begin(struct row *row, struct rows *rows, enum event_kind kind)
{
    size_t count = rows->tables[kind].count;
    if (array_reserve((void **)&rows->tables[kind].cells, &rows->tables[kind].capacity,
                      count + (size_t)record_tables[kind].field_count, sizeof(struct row_cell)))
        return -1;
    *row = (struct row){.rows = rows, .kind = kind, .next = &rows->tables[kind].cells[count]};
    return 0;
}

void row_end(struct row *row)
{
    row->rows->tables[row->kind].count += (size_t)record_tables[row->kind].field_count;
}

void row_null(struct row *row)
{
    *row->next++ = (struct row_cell){.type = ROW_NULL};
}

void row_integer(struct row *row, int64_t value)
{
    *row->next++ = (struct row_cell){.type = ROW_INTEGER, .integer = value};
}

void row_real(struct row *row, double value)
{
    *row->next++ = (struct row_cell){.type = ROW_REAL, .real = value};
}

void row_integer_or_null(struct row *row, int64_t value, int64_t unknown)
{
    *row->next++ = (struct row_cell){.type = value == unknown ? ROW_NULL : ROW_INTEGER, .integer = value};
}

int row_span(struct row *row, enum row_type type, struct span span)
{
    *row->next++ = (struct row_cell){
        .type = span.present ? type : ROW_NULL, .length = (uint32_t)span.length, .offset = span.offset};
    return span.length > UINT32_MAX ? -1 : 0;
}

int row_text(struct row *row, const char *text)
{
    struct span span;
    return rows_put_text(row->rows, text, &span) || row_span(row, ROW_TEXT, span) ? -1 : 0;
}
