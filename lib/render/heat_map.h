#ifndef NCCLPROF_RENDER_HEAT_MAP_H
#define NCCLPROF_RENDER_HEAT_MAP_H

#include "base/buffer.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a picture of values in rows and columns shows: of each rank in each step, or of each sender to each
 * receiver. Here values become levels, and rows and columns fewer; text, SVG and the page of html draw the
 * same map. Texts are borrowed, and hostile.
 */

enum { HEAT_UNKNOWN = -1, HEAT_LEVELS = 5 };

/* How great values are, held against one that is the unit of a map. */
struct heat_scale {
    double least[HEAT_LEVELS]; /* from which share of the unit on a level is reached */
    double factor;             /* of a share as it is told: 100 for "%" */
    const char *sign;
};

extern const struct heat_scale heat_share_of_step; /* the unit is a usual step */
extern const struct heat_scale heat_times_median;  /* the unit is the median of all values */

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
    const char *title; /* what values are */
    const struct heat_scale *scale;
    double unit_us; /* what values are held against */
    int is_usual;   /* the unit is the length of a usual step, else the largest value */
    int64_t run;
    int names_run;         /* there are several */
    struct heat_row *rows; /* owned */
    size_t row_count;
    size_t columns;
    int64_t first_step; /* of the first column */
    int64_t steps_in_column;
    int by_host;           /* a row is a host */
    double *values;        /* owned, row after row, microseconds; NAN: not known */
    unsigned char *marked; /* owned, likewise: a finding covers it */
};

struct heat_maps {
    struct heat_map *maps; /* owned: of each run, and of each value */
    size_t count;
};

/* Without a value that is known, a mark, or a unit. -1 when memory is out; release it in any case. */
int heat_map_init(struct heat_map *map, size_t rows, size_t columns, const struct heat_scale *scale);
void heat_map_release(struct heat_map *map);
void heat_maps_release(struct heat_maps *maps);

/* The largest value is the unit. */
void heat_map_measure(struct heat_map *map);

/* How many neighbours share a row or a column, so that there are at most `most`; 1: each has its own. */
size_t heat_map_together(size_t count, size_t most);

/*
 * Makes rows of one host one row where that leaves at most `most`, else as many neighbours as it takes; the
 * largest of their values count. -1 when memory is out.
 */
int heat_map_fold_rows(struct heat_map *map, size_t most);

/* Makes neighbouring steps one column, the largest of them, until there are at most `most`. */
void heat_map_fold_steps(struct heat_map *map, size_t most);

/* The level of a value of that map; HEAT_UNKNOWN where it is not known. */
int heat_map_level(const struct heat_map *map, double value);

/* Where a level begins, as it is told; of the first where it ends. */
double heat_scale_bound(const struct heat_scale *scale, int level);

static inline double heat_map_value(const struct heat_map *map, size_t row, size_t column)
{
    return map->values[row * map->columns + column];
}

/* "3", "0-7", "node1 (8 ranks)": unescaped. */
int heat_row_label(const struct heat_map *map, const struct heat_row *row, struct buffer *text);

/* "compute, steps 4-8" or "host, 3 steps from 5 to 15", with the rank ahead where the row is of several;
 * nothing where nothing is said. Unescaped. */
int heat_row_mark(const struct heat_row *row, struct buffer *text);

/* The first step of a column. */
int64_t heat_map_step(const struct heat_map *map, size_t column);

/* Columns side by side that a finding covers: all zero before the first of a row. 0: there are no more. */
struct heat_span {
    size_t first;
    size_t end;
};
int heat_map_next_marked(const struct heat_map *map, size_t row, struct heat_span *span);

#endif
