#ifndef NCCLPROF_STORE_ROWS_H
#define NCCLPROF_STORE_ROWS_H

#include "base/buffer.h"
#include "model/record.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Rows of the tables of records (model/record.h) in plain memory, on their way from the thread that reads a
 * file, or another store, to the one that writes the store (insert.h). Nothing here knows SQLite or the ids
 * of a store: a record's id is its ordinal in the file, processes and members have the file's numbers.
 */

struct span {
    size_t offset;
    size_t length;
    int present; /* false: NULL */
};

enum row_type { ROW_NULL, ROW_INTEGER, ROW_REAL, ROW_TEXT, ROW_BLOB };

/* There are as many of them as of values in a trace. */
struct row_cell {
    enum row_type type;
    uint32_t length; /* of a text or blob, which lies at `offset` in the bytes */
    union {
        int64_t integer;
        double real;
        uint64_t offset;
    };
};

struct rows {
    struct {
        struct row_cell *cells; /* owned: row after row */
        size_t count;           /* cells */
        size_t capacity;
    } tables[EVENT_TABLES];
    struct buffer bytes; /* texts and blobs, each with a NUL behind it */
};

void rows_release(struct rows *rows);
void rows_clear(struct rows *rows);
size_t rows_size_bytes(const struct rows *rows);
size_t rows_count(const struct rows *rows, enum event_kind kind);
const struct row_cell *rows_at(const struct rows *rows, enum event_kind kind, size_t row);

/* Copies a text to the bytes; NULL makes a span that is not present. -1 when memory is out. */
int rows_put_text(struct rows *rows, const char *text, struct span *span);
/* What was appended to the bytes since `at`, unless that failed. */
int rows_put_bytes(struct rows *rows, size_t at, int failed, struct span *span);
/* The bytes of a span, NULL for one that is not present. Followed by a NUL. Borrowed. */
const char *rows_bytes(const struct rows *rows, struct span span);

/* A row while its cells are put, one after the other. */
struct row {
    struct rows *rows;
    enum event_kind kind;
    struct row_cell *next;
};

/* -1 when memory is out. */
int row_begin(struct row *row, struct rows *rows, enum event_kind kind);
void row_end(struct row *row);

void row_null(struct row *row);
void row_integer(struct row *row, int64_t value);
void row_real(struct row *row, double value);
/* NULL where the value is the one that stands for unknown. */
void row_known(struct row *row, int64_t value, int64_t unknown);
/* -1 where it is longer than 4 GB. */
int row_span(struct row *row, enum row_type type, struct span span);
/* -1 when memory is out. */
int row_text(struct row *row, const char *text);

#endif
