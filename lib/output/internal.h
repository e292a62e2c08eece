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

/* A gzip compressor for gzip_pack. Free it with gzip_free, which accepts NULL. Returns NULL on error. */
struct gzip *gzip_new(struct error *error);
void gzip_free(struct gzip *gzip);

/*
 * Compresses `length` bytes (at most INT_MAX) and appends them to `packed` as one complete gzip file (RFC
 * 1952). Leaves `packed` unchanged on error.
 */
int gzip_pack(struct gzip *gzip, const void *bytes, size_t length, struct buffer *packed,
              struct error *error);

/* -------------------- table_layout.c -------------------- */

/*
 * Cells as people read them: bytes as KiB, MiB ... if the conversion is exact, times in the unit that suits
 * the largest value of their column.
 */

/* The unit of a time column. Columns of other quantities keep their own unit. */
struct table_unit {
    const char *name; /* "us", "ms" or "s", else the column's own unit; NULL: none */
    double factor;    /* the displayed number is the value times this */
    int decimals;     /* -1: as many as needed */
};

/* The unit of a column whose largest absolute value is `greatest`. */
struct table_unit table_unit_for(const struct column *column, double greatest);

/* The text of a cell, escaped for a terminal and owned by the caller; NULL when out of memory. */
char *table_cell_text(const struct cell *cell, const struct column *column, const struct table_unit *unit);

/* Layout of a table for people: which columns fit, and how wide they are. */

struct column_layout {
    const struct column *column;
    char *name; /* owned: the heading, without the unit */
    struct table_unit unit;
    double greatest;   /* largest absolute value, from which the unit is chosen */
    size_t text_width; /* width of the widest cell */
    size_t width;
    int shown;
    int has_values; /* at least one cell is not null */
    int right;      /* right-aligned: only numbers so far */
    int has_paths;
};

struct table_layout {
    struct column_layout *columns; /* owned */
    size_t count;
    size_t gap;        /* blanks between two columns */
    size_t head_lines; /* number of lines of headings */
};

/* Prepares the layout of a table's columns. Release it even after an error. Returns -1 when out of memory. */
int table_layout_init(struct table_layout *layout, const struct table *head);
void table_layout_release(struct table_layout *layout);

/*
 * Fits the columns into `width` characters if possible; 0: no limit, and all columns stay, so that programs
 * find them. The steps, until it fits: columns without values are dropped; headings are broken into several
 * lines; the widest text columns become narrower and their cells are truncated; the gap between columns
 * shrinks; detail columns are dropped.
 */
void table_layout_fit(struct table_layout *layout, size_t width);

/*
 * Line `line` of a column's heading, with *length bytes; "" if the heading has no such line. Headings are
 * aligned at the bottom, so the last line is never empty.
 */
const char *table_layout_name(const struct table_layout *layout, size_t column, size_t line, size_t *length);

/* -------------------- heat_map.c -------------------- */

void heat_map_release(struct heat_map *map);

/* How many neighbouring rows (or columns) to merge, so that at most `most` remain; 1: none are merged. */
size_t heat_map_together(size_t count, size_t most);

/*
 * Merges rows to at most `most`: all rows of a host, if that is enough, else equal numbers of neighbours.
 * Merged rows keep the largest value per cell. Returns -1 when out of memory.
 */
int heat_map_fold_rows(struct heat_map *map, size_t most);

/*
 * Merges neighbouring steps into one column, keeping the largest value, until there are at most `most`
 * columns.
 */
void heat_map_fold_steps(struct heat_map *map, size_t most);

/* The colour level of a value; HEAT_UNKNOWN if the value is not known. */
int heat_map_level(const struct heat_map *map, double value);

/* The lower bound of a level in displayed units; for level 0 the upper bound. */
double heat_scale_bound(const struct heat_scale *scale, int level);

static inline double heat_map_value(const struct heat_map *map, size_t row, size_t column)
{
    return map->values[row * map->columns + column];
}

/* Appends the label of a row: "3", "0-7", "node1 (8 ranks)". Not escaped. */
int heat_row_label(const struct heat_map *map, const struct heat_row *row, struct buffer *text);

/*
 * Appends the finding of a row: "compute, steps 4-8" or "host, 3 steps from 5 to 15", preceded by the rank if
 * the row is of several ranks. Appends nothing if the row has no finding. Not escaped.
 */
int heat_row_mark(const struct heat_row *row, struct buffer *text);

/* The first step of a column. */
int64_t heat_map_step(const struct heat_map *map, size_t column);

/*
 * Finds the next range of adjacent columns that a finding covers. Zero-initialize `span` before the first
 * call for a row. Returns 0 when there are no more.
 */
struct heat_span {
    size_t first;
    size_t end;
};
int heat_map_next_marked(const struct heat_map *map, size_t row, struct heat_span *span);

/* -------------------- trace.c -------------------- */

enum trace_event_type { TRACE_BEGIN, TRACE_END, TRACE_MARK };

/*
 * A format of traces. A new one needs an entry in the list of trace.c, by which --output of timeline finds
 * it. `open` sets state of the writer, if the format needs any; all return -1 with an error.
 */
struct trace_format {
    const char *suffix; /* of file names, before .gz; NULL: the format of all others */
    int (*open)(struct trace_writer *trace, struct error *error);
    int (*add_track)(struct trace_writer *trace, const struct trace_track *track, struct error *error);
    int (*add_event)(struct trace_writer *trace, const struct trace_event *event, enum trace_event_type type,
                     struct error *error);
    int (*finish)(struct trace_writer *trace, struct error *error);
    void (*release)(void *state); /* NULL is accepted */
};

/* -------------------- perfetto.c -------------------- */

/*
 * Writes fields of a protobuf message into a buffer (protobuf.dev/programming-guides/encoding). `field` is
 * the number of the field in the .proto file of the message. All return -1 when out of memory.
 */

/* Varint fields: uint32, uint64, bool, enum, and int32 and int64 cast to uint64 (not zigzag-encoded). */
int protobuf_number(struct buffer *message, unsigned field, uint64_t value);

/* fixed64 fields. */
int protobuf_fixed(struct buffer *message, unsigned field, uint64_t value);

/* string fields. The caller ensures valid UTF-8. */
int protobuf_text(struct buffer *message, unsigned field, const char *text);

/*
 * Opens a nested message: everything appended until protobuf_close belongs to it. protobuf_open sets *mark,
 * which protobuf_close takes. Messages can be nested in each other.
 */
int protobuf_open(struct buffer *message, unsigned field, size_t *mark);
int protobuf_close(struct buffer *message, size_t mark);

#endif
