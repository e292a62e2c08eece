#ifndef NCCLPROF_OUTPUT_INTERNAL_H
#define NCCLPROF_OUTPUT_INTERNAL_H

#include "output/output.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct gzip;
struct output;

/* -------------------- output_file.c -------------------- */

int output_printf(struct output *output, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Freed with gzip_free, which allows NULL. NULL on error. */
struct gzip *gzip_new(struct error *error);
void gzip_free(struct gzip *gzip);

/*
 * Appends one whole gzip file (RFC 1952) of `length` bytes, at most INT_MAX, to `packed`, which is as it was
 * on error.
 */
int gzip_pack(struct gzip *gzip, const void *bytes, size_t length, struct buffer *packed,
              struct error *error);

/* -------------------- table_layout.c -------------------- */

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

/* The unit of a column whose greatest value, whatever its sign, is `greatest` (of what is chosen). */
struct table_unit table_unit_for(const struct column *column, double greatest);

/* A cell as text that is fit for a terminal, owned by the caller; NULL when memory is out. */
char *table_cell_text(const struct cell *cell, const struct column *column, const struct table_unit *unit);

/* How wide the columns of a table for people are, and which of them there is room for. */

struct column_layout {
    const struct column *column;
    char *name; /* owned: what stands at its head, without the unit */
    struct table_unit unit;
    double greatest;   /* of what its unit is chosen by */
    size_t text_width; /* of its widest cell */
    size_t width;
    int shown;
    int has_values; /* not only nulls */
    int right;      /* aligned: only numbers seen */
    int has_paths;
};

struct table_layout {
    struct column_layout *columns; /* owned */
    size_t count;
    size_t gap;        /* blanks between two columns */
    size_t head_lines; /* of names */
};

/* Of a table's columns; to be released whatever it returns. -1 when memory is out. */
int table_layout_init(struct table_layout *layout, const struct table *head);
void table_layout_release(struct table_layout *layout);

/*
 * Fits the columns into `width` blanks as far as that goes: first columns without a value go, then names
 * stand in several lines; where `cuts` says that cells may be cut, as on a terminal, the widest columns of
 * text get narrower; at last there is less between columns, and those of detail go.
 */
void table_layout_fit(struct table_layout *layout, size_t width, int cuts);

/* Line `line` of a column's name, of `*length` bytes; "" where there is none. The last of all is full. */
const char *table_layout_name(const struct table_layout *layout, size_t column, size_t line, size_t *length);

/* -------------------- heat_map.c -------------------- */

extern const struct heat_scale heat_times_median; /* the unit is the median of all values */

void heat_map_release(struct heat_map *map);

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

/* -------------------- perfetto.c -------------------- */

/*
 * Fields of a protobuf message, appended to a buffer (protobuf.dev/programming-guides/encoding). `field` is
 * the number that the message's .proto file gives it. All return -1 when memory is out.
 */

/* Varints: uint32, uint64, bool, enum; int32 and int64 as they are, cast, without zigzag. */
int protobuf_number(struct buffer *message, unsigned field, uint64_t value);

/* fixed64 */
int protobuf_fixed(struct buffer *message, unsigned field, uint64_t value);

/* string: UTF-8, which the caller sees to */
int protobuf_text(struct buffer *message, unsigned field, const char *text);

/*
 * A message within the message: what is appended from protobuf_open to protobuf_close is in it. *mark is what
 * protobuf_close wants; messages may nest.
 */
int protobuf_open(struct buffer *message, unsigned field, size_t *mark);
int protobuf_close(struct buffer *message, size_t mark);

#endif
