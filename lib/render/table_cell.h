#ifndef NCCLPROF_RENDER_TABLE_CELL_H
#define NCCLPROF_RENDER_TABLE_CELL_H

#include "model/table.h"

/*
 * Cells as people read them: bytes in KiB, MiB ... where nothing is lost by it, times in the unit that suits
 * the longest of their column.
 */

/* How times of a column are shown; those of others as they are. */
struct table_unit {
    const char *name; /* "us", "ms" or "s"; else the column's own; NULL: none */
    double factor;    /* a value times this is what is shown */
    int decimals;     /* -1: as many as it takes */
};

/* Whether the column's unit is chosen by its values. */
int table_unit_is_chosen(const struct column *column);

/* The unit of a column whose greatest value, whatever its sign, is `greatest` (of what is chosen). */
struct table_unit table_unit_for(const struct column *column, double greatest);

/* A cell as text that is fit for a terminal, owned by the caller; NULL when memory is out. */
char *table_cell_text(const struct cell *cell, const struct column *column, const struct table_unit *unit);

#endif
