#ifndef NCCLPROF_RENDER_HEAT_MAP_H
#define NCCLPROF_RENDER_HEAT_MAP_H

#include "base/buffer.h"
#include "base/error.h"
#include "model/table.h"

/*
 * A value of each rank in each step, as a picture. It is made of a table with a row for each rank and step
 * (columns rank, process, step, host, run, longer_us, duration_us, finding and the value's own) and drawn as
 * text or SVG. Texts are those of the table, which has to live as long, and hostile.
 */

/* How great a value is, as a share of a usual step: see heat_map_least. */
enum { HEAT_UNKNOWN = -1, HEAT_LEVELS = 5 };

struct heat_row {
    const char *process; /* borrowed: the rank; of several the first one */
    const char *last;    /* borrowed: of several the last one; else NULL */
    const char *host;    /* borrowed; NULL: not known */
    size_t ranks;        /* so many are one row; their largest values count */
    const char *finding; /* borrowed: what is said of a rank of it; NULL */
    const char *accused; /* borrowed: of which rank */
    int64_t first_step;  /* of the finding */
    int64_t last_step;
    int64_t steps; /* so many from the first to the last */
    size_t more;   /* other findings of the row */
};

struct heat_map {
    const struct column *column; /* borrowed: the value's */
    int64_t run;
    int names_run;         /* there are several */
    struct heat_row *rows; /* owned */
    size_t row_count;
    size_t columns;
    int64_t first_step; /* of the first column */
    int64_t steps_in_column;
    int by_host;           /* a row is a host */
    double *values;        /* owned, row after row; NAN: not known */
    unsigned char *marked; /* owned, likewise: a finding covers it */
    double usual_us; /* length of a usual step; where it is not known the largest value, and not is_usual */
    int is_usual;
};

struct heat_maps {
    struct heat_map *maps; /* owned: of each run, and of each value */
    size_t count;
};

/*
 * Of `values`, names of columns. A map has at most `most_rows` rows: of more ranks those of one host are one
 * row, or else as many neighbours as it takes. Rows that the table lacks are not known. -1 with an error;
 * release it in any case.
 */
int heat_maps_init(struct heat_maps *maps, const struct table *table, const char *const *values,
                   size_t value_count, size_t most_rows, struct error *error);
void heat_maps_release(struct heat_maps *maps);

/*
 * Makes rows of one host one row where that leaves at most `most`, else as many neighbours as it takes; the
 * largest of their values count. -1 when memory is out.
 */
int heat_map_fold_rows(struct heat_map *map, size_t most);

/* Makes neighbouring steps one column, the largest of them, until there are at most `most`. */
void heat_map_fold_steps(struct heat_map *map, size_t most);

/* The level of a value of that map; HEAT_UNKNOWN where it is not known. */
int heat_map_level(const struct heat_map *map, double value);

/* From which share of a usual step on a level is reached. */
double heat_map_least(int level);

static inline double heat_map_value(const struct heat_map *map, size_t row, size_t column)
{
    return map->values[row * map->columns + column];
}

/* "3", "0-7", "node1 (8 ranks)": unescaped. */
int heat_row_label(const struct heat_map *map, const struct heat_row *row, struct buffer *text);

/* "compute, steps 4 to 8" or "host, 3 steps from 5 to 15", with the rank ahead where the row is of several;
 * nothing where nothing is said. Unescaped. */
int heat_row_mark(const struct heat_row *row, struct buffer *text);

/* The first step of a column. */
int64_t heat_map_step(const struct heat_map *map, size_t column);

#endif
