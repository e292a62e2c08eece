#ifndef NCCLPROF_MODEL_TABLE_H
#define NCCLPROF_MODEL_TABLE_H

#include "base/colour.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What an analysis hands to a renderer: typed columns with units and descriptions, rows of cells, warnings.
 * Analyses know nothing of renderers, renderers nothing of analyses; they meet here.
 */

enum cell_type { CELL_NULL = 0, CELL_INTEGER, CELL_REAL, CELL_TEXT, CELL_JSON };

struct cell {
    enum cell_type type;
    union {
        int64_t integer;
        double real; /* not finite reads as null in JSON */
        char *
            text; /* CELL_TEXT: any bytes, hostile; CELL_JSON: a well-formed JSON value. Owned by the table */
    };
};

struct column {
    const char *name;    /* the JSON key: lower_case, unit in it (`_us`, `_bytes`, `_gbs`). Static or borrowed
                            for the table's life */
    enum cell_type type; /* what its cells are when not null */
    const char *unit;    /* "us", "bytes", "GB/s", NULL for none: shown in a table's head */
    const char *description;                    /* one sentence; NULL */
    int decimals;                               /* reals in a table for people */
    int hidden;                                 /* left out of a table for people, kept in JSON and CSV */
    int detail;                                 /* likewise where the table would be wider than its line */
    enum colour (*colour_of)(const char *text); /* of its texts on a terminal; NULL: none */
};

struct table {
    const char *command;    /* name of the analysis */
    const char *legend;     /* a line below a table for people; static; NULL */
    struct column *columns; /* owned array */
    size_t column_count;
    size_t column_capacity;
    struct cell *cells; /* owned, row after row */
    size_t row_count;
    size_t cell_capacity;
    char **warnings; /* owned */
    size_t warning_count;
    size_t warning_capacity;
    char **kept; /* owned, see table_keep_text */
    size_t kept_count;
    size_t kept_capacity;
};

void table_init(struct table *table, const char *command);
void table_release(struct table *table);

int table_add_column(struct table *table, struct column column, struct error *error);

/* All columns at once, from an array of `count`. */
int table_add_columns(struct table *table, const struct column *columns, size_t count, struct error *error);

/* A copy of `text` that lives as long as the table, for a column's name that is made up; NULL when memory is
 * out. */
const char *table_keep_text(struct table *table, const char *text);

/* A new row of nulls; its cells are filled in place by the setters below. -1 when memory is out. */
int table_add_row(struct table *table, struct error *error);

/* Set a cell of the last row. Text is copied; NULL text, COUNT_UNKNOWN-like absences are the caller's to
 * skip. */
void table_set_integer(struct table *table, size_t column, int64_t value);
void table_set_real(struct table *table, size_t column, double value);
int table_set_text(struct table *table, size_t column, const char *text, struct error *error);
int table_set_json(struct table *table, size_t column, const char *json, struct error *error);

const struct cell *table_cell(const struct table *table, size_t row, size_t column);

/* The column of that name; -1 when there is none. */
int table_find_column(const struct table *table, const char *name);

/* Leaves the rows that `is_kept` says, in their order. */
void table_keep_rows(struct table *table,
                     int (*is_kept)(const void *context, const struct table *table, size_t row),
                     const void *context);

/* Puts rows in the order of a column, upwards or downwards, equals as they were; nulls come last. -1 when
 * memory is out. */
int table_sort_rows(struct table *table, size_t column, int upwards, struct error *error);

/* Puts rows that have a value in a column before those that have none, either as they were. -1 when memory is
 * out. */
int table_lift_rows(struct table *table, size_t column, struct error *error);

int table_add_warning(struct table *table, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
