/* Output format csv. */
#include "base/base.h"
#include "model/model.h"
#include "output/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * RFC 4180, with control characters and invalid UTF-8 escaped as for a terminal, so that each row is one
 * line.
 */

struct csv {
    const struct table *head;
    FILE *stream;
    struct buffer line;
};

static int append_text(struct buffer *line, const char *text)
{
    struct buffer escaped = BUFFER_INIT;
    int failed = escape_terminal(&escaped, text, strlen(text));
    int quoted = !failed && strpbrk(escaped.data, "\",") != NULL;
    if (quoted)
        failed |= buffer_append_byte(line, '"');
    for (size_t i = 0; !failed && i < escaped.length; i++) {
        if (escaped.data[i] == '"')
            failed |= buffer_append_byte(line, '"');
        failed |= buffer_append_byte(line, escaped.data[i]);
    }
    if (quoted)
        failed |= buffer_append_byte(line, '"');
    buffer_release(&escaped);
    return failed;
}

static int append_cell(struct buffer *line, const struct cell *cell)
{
    char number[REAL_TEXT_BYTES];
    switch (cell->type) {
    case CELL_NULL:
        return 0;
    case CELL_INTEGER:
        return buffer_printf(line, "%" PRId64, cell->integer);
    case CELL_REAL:
        if (!isfinite(cell->real))
            return 0;
        real_text(cell->real, number);
        return buffer_append_text(line, number);
    default:
        return append_text(line, cell->text);
    }
}

static int write_line(struct csv *csv, struct error *error)
{
    if (buffer_append_byte(&csv->line, '\n'))
        return error_no_memory(error);
    fwrite(csv->line.data, 1, csv->line.length, csv->stream);
    int outcome = render_check(csv->stream, error);
    buffer_clear(&csv->line);
    return outcome;
}

static void csv_abandon(void *state)
{
    struct csv *csv = state;
    buffer_release(&csv->line);
    free(csv);
}

static void *csv_begin(const struct table *head, const struct render_target *target, struct error *error)
{
    struct csv *csv = calloc(1, sizeof *csv);
    if (!csv) {
        error_no_memory(error);
        return NULL;
    }
    *csv = (struct csv){.head = head, .stream = target->stream};
    int failed = 0;
    for (size_t i = 0; i < head->column_count && !failed; i++)
        failed = (i && buffer_append_byte(&csv->line, ',')) || append_text(&csv->line, head->columns[i].name);
    if (failed)
        error_no_memory(error);
    if (failed || write_line(csv, error)) {
        csv_abandon(csv);
        return NULL;
    }
    return csv;
}

static int csv_row(void *state, const struct cell *cells, struct error *error)
{
    struct csv *csv = state;
    for (size_t i = 0; i < csv->head->column_count; i++)
        if ((i && buffer_append_byte(&csv->line, ',')) || append_cell(&csv->line, &cells[i]))
            return error_no_memory(error);
    return write_line(csv, error);
}

static int csv_end(void *state, struct error *error)
{
    csv_abandon(state);
    return 0;
}

const struct renderer renderer_csv = {
    .name = "csv",
    .begin = csv_begin,
    .row = csv_row,
    .end = csv_end,
    .abandon = csv_abandon,
};
