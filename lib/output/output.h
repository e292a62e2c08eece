#ifndef NCCLPROF_OUTPUT_OUTPUT_H
#define NCCLPROF_OUTPUT_OUTPUT_H

#include "model/model.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct gzip;
struct output;

/* -------------------- html_page.c -------------------- */

/*
 * A self-contained HTML document: it loads nothing, and its Content-Security-Policy allows no script but its
 * own, which is identified by its digest. Initialize with zeros; release it with html_page_release.
 */
struct html_page {
    struct buffer lead;     /* text below the title; not escaped yet */
    struct buffer overview; /* sections before those of `body` */
    struct buffer body;     /* the sections */
    struct buffer contents; /* links to the sections */
    struct buffer data;     /* data of the script (page.js): elements of the array "runs" */
};

/*
 * Begins and ends a section. `id` is chosen by the caller and is not escaped. `link` is the text of the link
 * to the section at the top of the page; NULL: no link. Both return -1 when out of memory.
 */
int html_section_begin(struct html_page *page, const char *id, const char *heading, const char *link);
int html_section_end(struct html_page *page);

int html_page_write(const struct html_page *page, const char *title, struct output *output,
                    struct error *error);
void html_page_release(struct html_page *page);

/* -------------------- trace.c -------------------- */

/*
 * Writes a trace for people to look at: tracks and their events, in one of several formats (perfetto.c,
 * chrome.c). Texts may contain any bytes: invalid UTF-8 and control characters are escaped or replaced. The
 * functions return -1 with an error when out of memory or when the output cannot be written.
 */
struct trace_format;

struct trace_writer {
    const struct trace_format *format;
    struct output *output; /* borrowed */
    void *state;           /* of the format */
    int64_t slices;
};

/* The format of a file, by the end of its name: Chrome JSON for .json and .json.gz, else Perfetto's. */
const struct trace_format *trace_format_of(const char *path);

/* Begins a trace in an output that is still empty. Release it even after an error. */
int trace_open(struct trace_writer *trace, const struct trace_format *format, struct output *output,
               struct error *error);

/* Completes the trace. The output remains open. */
int trace_finish(struct trace_writer *trace, struct error *error);
void trace_release(struct trace_writer *trace);

enum { TRACE_LABELS = 3 };

/*
 * A track, to which events belong. A process is a group of tracks; processes are sorted by `order`, and a
 * process's own track has the id `id`. Tracks of one process, or without a process, are sorted by name.
 * Tracks of the same name are shown as one, with overlapping events below each other.
 */
struct trace_track {
    uint64_t id;     /* not 0, and not much more than the number of tracks */
    uint64_t parent; /* the track of its process; 0: none */
    const char *name;
    const char *description; /* may be NULL */
    const char *process;     /* name of the process; NULL: this track is not a process */
    int32_t process_number;  /* not 0, unique */
    int32_t order;
    const char *labels[TRACE_LABELS]; /* short texts shown next to the process name; NULL: none */
};

/* The track of a process comes before its other tracks. */
int trace_add_track(struct trace_writer *trace, const struct trace_track *track, struct error *error);

/* An argument is shown when the user clicks on an event. It is either a text or a number. */
struct trace_argument {
    const char *key;
    const char *text; /* NULL: the argument is the number */
    int64_t number;
};

/*
 * The beginning of a slice, or a mark. An arrow leads from the mark to the slice that have the same arrow
 * number (not 0).
 */
struct trace_event {
    uint64_t track;
    int64_t at_ns; /* not negative */
    const char *category;
    const char *name;
    const struct trace_argument *arguments;
    size_t argument_count;
    const uint64_t *arrows;
    size_t arrow_count;
};

/*
 * trace_begin and trace_end delimit slices. On each track, calls must be in the order of time, and slices
 * must be nested. A slice without an end lasts until the end of the trace.
 */
int trace_begin(struct trace_writer *trace, const struct trace_event *event, struct error *error);
int trace_end(struct trace_writer *trace, uint64_t track, int64_t at_ns, struct error *error);
int trace_mark(struct trace_writer *trace, const struct trace_event *event, struct error *error);

/* -------------------- prometheus.c -------------------- */

/*
 * Metrics in Prometheus' text format, for node_exporter's textfile collector. All samples of a metric follow
 * its HELP and TYPE lines. Units are seconds, bytes and ratios. All metrics are gauges, since a store can be
 * created again.
 */
enum metric {
    METRIC_RANKS,
    METRIC_EXPECTED_RANKS,
    METRIC_STEPS,
    METRIC_STEP_MEDIAN,
    METRIC_STEP_USUAL,
    METRIC_COMMUNICATION,
    METRIC_WAITING,
    METRIC_TIME,
    METRIC_LOST,
    METRIC_EXPLAINED,
    METRIC_UNEXPLAINED_STEPS,
    METRIC_STOPPED,
    METRIC_FINDINGS,
    METRIC_FINDING_LOST,
    METRIC_FINDING_FIRST_STEP,
    METRIC_FINDING_LAST_STEP,
    METRIC_FINDING_CAUSE,
    METRIC_TRANSFER_BUSBW,
    METRIC_EFFECTIVE_BUSBW,
    METRIC_OPERATIONS,
    METRIC_OPERATION_BYTES,
    METRIC_RECORDS,
    METRIC_JUDGED,
    METRIC_MISSING,
    METRIC_DAMAGED_LINES,
    METRIC_LOST_EVENTS,
    METRIC_COUNT
};

struct metrics {
    struct buffer samples[METRIC_COUNT]; /* text lines */
    struct intern seen;                  /* metrics with their labels that were added */
    int64_t count;
};

struct metric_label {
    const char *name;
    const char *value; /* any bytes; NULL or empty: the label is omitted */
};

void metrics_init(struct metrics *metrics);
void metrics_release(struct metrics *metrics);

/*
 * Adds a sample. `labels` has up to METRIC_LABELS entries and ends with a name of NULL. Of several samples
 * with the same labels the first one counts. Values that are not finite are skipped. In both cases the
 * collector would otherwise refuse the whole file. Returns -1 when out of memory.
 */
int metrics_add(struct metrics *metrics, enum metric metric, const struct metric_label *labels, double value);

/* Appends the samples of `others`, which are of other runs. Returns -1 when out of memory. */
int metrics_append(struct metrics *metrics, const struct metrics *others);

/*
 * Writes the metrics to a file, which is either replaced completely or left unchanged. "-" is standard
 * output.
 */
int metrics_save(const struct metrics *metrics, const char *path, struct error *error);

/* -------------------- output_file.c -------------------- */

enum output_kind {
    OUTPUT_PLAIN,
    OUTPUT_GZIP,
    OUTPUT_BY_DESCRIPTOR /* regular files only; the caller writes at any offset through output_descriptor */
};

/*
 * Opens a file for writing. Its name appears, or its old content is replaced, only in output_close. "-" is
 * standard output; standard output, pipes and devices are written directly. If the path is a symbolic link,
 * the link remains and the file that it refers to is replaced and keeps its mode. Returns NULL with an error
 * that names the file. Finish with output_close or output_discard.
 */
struct output *output_open(const char *path, enum output_kind kind, struct error *error);

/* The descriptor of an OUTPUT_BY_DESCRIPTOR, open for reading and writing. It belongs to the output. */
int output_descriptor(const struct output *output);

/* Writes are buffered, so an error may be returned by a later call. */
int output_write(struct output *output, const void *bytes, size_t length, struct error *error);
int output_text(struct output *output, const char *text, struct error *error);

/*
 * Writes the buffered bytes, so that output_close is unlikely to fail: use it before several files are
 * renamed together. An OUTPUT_GZIP is incomplete until output_close.
 */
int output_flush(struct output *output, struct error *error);

/* The number of bytes passed to output_write so far, before compression. */
uint64_t output_bytes(const struct output *output);

/*
 * Writes the rest and gives the file its name. On error the old file is left unchanged. Releases the output
 * in both cases.
 */
int output_close(struct output *output, struct error *error);

/* Abandons the output and leaves the old file unchanged. NULL is allowed. */
void output_discard(struct output *output);

/*
 * Checks whether the writes to `stream` succeeded so far. Call it directly after writing, while errno still
 * holds the cause.
 */
int render_check(FILE *stream, struct error *error);

/* -------------------- registry.c -------------------- */

/* Where a table is written. */
struct render_target {
    FILE *stream;
    int width;  /* in columns; 0 if the stream is not a terminal */
    int colour; /* ANSI colour sequences are allowed */
};

/*
 * An output format of tables. The head of registry.c lists what a new format needs. Rows are passed one by
 * one, so that the result of a query may have any length.
 *
 * begin returns a state (NULL on error), which end or abandon frees. `head` has the columns and, when end is
 * called, the warnings; its rows are not used. `head` and `target` must stay valid until then.
 */
struct renderer {
    const char *name;
    int is_for_people;  /* for people: a single row may be printed as a list of fields, and an analysis may
                           print its own text instead */
    int is_json;        /* an analysis may print its own JSON instead */
    int is_markdown;    /* an analysis may print its own text instead, as a code block (markdown_quote) */
    int shows_warnings; /* false: the format has no place for warnings, so the caller prints them elsewhere */
    void *(*begin)(const struct table *head, const struct render_target *target, struct error *error);
    int (*row)(void *state, const struct cell *cells, struct error *error);
    int (*end)(void *state, struct error *error);
    void (*abandon)(void *state);
};

extern const struct renderer *const renderer_registry[]; /* ends with NULL; the first is the default */

/* The name of format `number`, in the order of the registry; NULL past the last one. */
const char *renderer_name(size_t number);

/* The format of that name; NULL if there is none. */
const struct renderer *renderer_find(const char *name);

/* Writes a complete table. */
int render_table(const struct renderer *renderer, const struct table *table,
                 const struct render_target *target, struct error *error);

/* -------------------- markdown.c -------------------- */

/*
 * Appends text as a code block of Markdown, with a fence that the text does not contain. The text ends with a
 * line break. Returns -1 when out of memory.
 */
int markdown_quote(struct buffer *quoted, const char *text, size_t length);

/* -------------------- heat_map.c -------------------- */

/*
 * Heat maps: values of each rank in each step, or of each sender to each receiver. This part converts values
 * to levels, and merges rows and columns. The text, SVG and HTML pictures all draw such a map. Texts are
 * borrowed and hostile.
 */

enum { HEAT_UNKNOWN = -1, HEAT_LEVELS = 5 };

/* Thresholds of the levels, as fractions of the unit of a map. */
struct heat_scale {
    double least[HEAT_LEVELS]; /* the fraction at which each level begins */
    double factor;             /* displayed number = fraction times this: 100 for "%" */
    const char *sign;
};

extern const struct heat_scale heat_share_of_step;  /* unit: a baseline step */
extern const struct heat_scale heat_times_baseline; /* unit: the baseline, or the median of all values */

/* A row of a map: one rank, or several merged ones. */
struct heat_row {
    const char *process; /* borrowed: name of the rank, or of the first of several */
    const char *last;    /* borrowed: name of the last of several ranks; else NULL */
    const char *host;    /* borrowed; NULL: unknown */
    size_t ranks;        /* number of ranks merged into this row, which shows their largest values */
    const char *finding; /* borrowed: kind of the finding about one of its ranks; NULL: none */
    const char *accused; /* borrowed: the rank that the finding is about */
    int64_t first_step;  /* first step of the finding */
    int64_t last_step;
    int64_t steps; /* number of steps with the finding, from the first to the last */
    size_t more;   /* number of other findings about the row */
};

/* One map: the values of one kind in one run. */
struct heat_map {
    const char *title; /* what the values are */
    const struct heat_scale *scale;
    double unit_us; /* the unit of the scale */
    int is_usual;   /* the unit is the baseline step time, not the largest value */
    int64_t run;
    int names_run;         /* there are several runs, so titles name the run */
    struct heat_row *rows; /* owned */
    size_t row_count;
    size_t columns;
    int64_t first_step; /* first step of the first column */
    int64_t steps_in_column;
    int by_host;           /* each row is a host */
    double *values;        /* owned; [row * columns + column], in microseconds; NAN: unknown */
    unsigned char *marked; /* owned; same index: covered by a finding */
};

struct heat_maps {
    struct heat_map *maps; /* owned: one per run and kind of value */
    size_t count;
};

/*
 * Creates a map in which all values are unknown and that has no marks and no unit. Returns -1 when out of
 * memory. Release it even after an error.
 */
int heat_map_init(struct heat_map *map, size_t rows, size_t columns, const struct heat_scale *scale);

void heat_maps_release(struct heat_maps *maps);

/* Makes the largest value the unit. */
void heat_map_measure(struct heat_map *map);

/*
 * Keeps only some rows, in the order of `rows`, which has the index of each once. Returns -1 when out of
 * memory, with the map unchanged.
 */
int heat_map_pick_rows(struct heat_map *map, const size_t *rows, size_t count);

/* -------------------- heat_map_svg.c -------------------- */

/* Draws the maps as one SVG document. Returns -1 when out of memory. */
int heat_maps_svg(struct heat_maps *maps, struct buffer *svg);

/* -------------------- heat_map_text.c -------------------- */

/*
 * Draws the maps as text for a terminal, in lines of at most `width` columns if a map fits at all. Uses
 * characters beyond ASCII only if `utf8` is set. Returns -1 when out of memory.
 */
int heat_maps_text(struct heat_maps *maps, size_t width, int utf8, struct buffer *text);

/*
 * Makes the maps of a table that has one row per rank and step, with the columns rank, process, step, host,
 * run, longer_us, duration_us, finding and those named in `values`. There is one map for each of `values`. A
 * map has at most `most_rows` rows (heat_map_fold_rows). Cells without a row in the table are unknown. The
 * table must stay valid as long as the maps. Returns -1 with an error. Release the maps even then.
 */
int heat_maps_init(struct heat_maps *maps, const struct table *table, const char *const *values,
                   size_t value_count, size_t most_rows, struct error *error);

/* -------------------- html_page.c -------------------- */

/* Appends text, escaped. Like the next three, returns -1 when out of memory. */
int html_text(struct buffer *page, const char *text);

/*
 * Appends an element with `text` as content. `open` is the tag with its attributes, which is not escaped: "p
 * class=\"x\"".
 */
int html_element(struct buffer *page, const char *open, const char *text);

/* Appends an element with the content of `text`, and empties `text`. */
int html_put(struct buffer *page, const char *open, struct buffer *text);

/* Appends a paragraph for each line that is not empty. Lines may be indented. */
int html_lines(struct buffer *page, const char *open, const char *text);

/* How to show a table. */
struct html_table {
    const char *caption; /* not from the trace */
    const char *bars;    /* name of a column to draw with bars, relative to its maximum; NULL: none */
    const char *marks;   /* name of a column: rows in which it is 1 are highlighted; NULL: none */
    const char *low;     /* names of columns with the ends and the middle of an interval around 0, which */
    const char *middle;  /* is drawn for each row if the table has such columns; NULL: none */
    const char *high;
    size_t most_rows;         /* only this many rows are shown, with a note that gives the total */
    const char *rest_command; /* command that shows the other rows */
};

/*
 * Appends the table with the columns for people: no detail columns and no empty ones. Each heading has an
 * explanation. Returns -1 when out of memory.
 */
int html_add_table(struct buffer *page, const struct table *table, const struct html_table *how);

/* -------------------- html_chart.c -------------------- */

/*
 * A chart of one time per step, drawn as dots, together with the median and the range of its peers. Times are
 * in nanoseconds; TIME_UNKNOWN if there is none.
 */
struct html_chart {
    const char *title;       /* what is drawn; hostile, like both names */
    const char *mine_name;   /* whose times the dots are */
    const char *peers_name;  /* whose times the line and the range are */
    const int64_t *mine_ns;  /* [step], like the arrays below */
    const int64_t *peers_ns; /* NULL: no peers, and no range */
    const int64_t *low_ns;   /* NULL: no range */
    const int64_t *high_ns;
    const unsigned char *marked; /* steps to highlight; NULL: none */
    const char *marked_name;
    int64_t first_step;
    size_t steps;
};

/* Appends the figure; nothing if no step has a time. Returns -1 when out of memory. */
int html_add_chart(struct buffer *page, const struct html_chart *chart);

/* -------------------- html_strip.c -------------------- */

/* A row of steps, of which some are marked: below its text, as wide as a chart. */
struct html_strip {
    const char *text;            /* may be hostile */
    const unsigned char *marked; /* [step] */
    const unsigned char *shaded; /* [step]: these have another ground */
    int64_t first_step;
    size_t steps;
};

/* Returns -1 when out of memory. */
int html_add_strip(struct buffer *page, const struct html_strip *strip);

/*
 * Operations of several ranks over time on one clock, one lane per rank. Times are in nanoseconds; texts are
 * hostile.
 */

struct html_lane_bar {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t waiting_ns; /* time from its beginning until the last rank arrived; 0: unknown */
    int64_t slow_ns;    /* mean wait of its network steps, if they are slow and part of a finding; else 0 */
    int32_t name;       /* index in texts */
    int32_t group;      /* index in texts of its tag; -1: none */
    int is_open;        /* it never ended; end_ns is the end of the picture */
    int is_endless;     /* its end is unknown; end_ns equals begin_ns */
};

/* The lane of one rank. */
struct html_lane {
    const char *name;
    const char *reason; /* why the rank is shown; NULL */
    int is_accused;
    const char *missing;        /* why there are no bars; NULL */
    struct html_lane_bar *bars; /* in the order of begin_ns */
    size_t count;
};

struct html_lanes {
    const char *id; /* chosen by the caller, not escaped */
    const char *title;
    const struct html_lane *lanes;
    size_t count;
    const struct intern *texts;
    int64_t begin_ns; /* beginning of the picture, shown as time 0 */
    int64_t end_ns;
};

/* Appends the figure to the page, and an object for the script to `data`. Returns -1 when out of memory. */
int html_add_lanes(struct buffer *page, struct buffer *data, const struct html_lanes *lanes);

/* -------------------- html_heat.c -------------------- */

/*
 * Values of each rank in each step: a static picture, and data for one that the script draws, with zoom and
 * search. Texts are hostile. Times are in nanoseconds; TIME_UNKNOWN if there is none.
 */

enum { HTML_HEAT_LAYERS_MOST = 5 };

/* A finding about a rank in the steps from the first to the last. */
struct html_heat_mark {
    size_t rank;
    int64_t first_step;
    int64_t last_step;
    const char *text;
};

struct html_heat {
    int64_t run;
    size_t rank_count;
    int64_t first_step;
    size_t steps;
    struct {
        const char *key;
        const char *title;
        const struct heat_scale *scale;
    } layers[HTML_HEAT_LAYERS_MOST];
    size_t layer_count;
    size_t shown; /* the layer that is shown first */
    /* The rows to show first if there are too many, and why (NULL: no reason); chosen_count 0: all rows */
    const size_t *chosen;
    const char *const *reasons;
    size_t chosen_count;
    const struct html_heat_mark *marks;
    size_t mark_count;
    int64_t usual_ns;  /* time of a baseline step; TIME_UNKNOWN */
    size_t most_cells; /* of a layer: neighbouring steps are merged, keeping the largest value, so that there
                          are at most this many cells */
    /*
     * Makes the map of one layer, with one row per rank and one column per step. If `is_whole`, the values
     * are those that the script needs, else those that the colours show. Returns -1 when out of memory. The
     * map is released even then.
     */
    int (*make)(struct heat_map *map, const void *context, size_t layer, int is_whole);
    const void *context;
};

/* Appends the figure to the page, and an object for the script to `data`. Returns -1 when out of memory. */
int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat);

/* -------------------- html_matrix.c -------------------- */

/*
 * A matrix of senders (rows) and receivers (columns) that shows how long the network steps between them
 * waited. If there are many ranks, neighbours share a row and a column, and a cell shows its worst link.
 */

struct html_edge {
    size_t sender; /* indexes in ends */
    size_t receiver;
    double wait_us;  /* wait of a network step; negative: unknown */
    double usual_us; /* its baseline; 0 or negative: unknown */
    int is_blamed;
    const char *verdict; /* hostile, like the names; NULL: none */
};

struct html_matrix {
    const char *caption; /* hostile */
    int is_relative;     /* colours show the wait relative to the baseline of the link, not to the median of
                            all links */
    const char *const *ends; /* names of the ranks */
    size_t end_count;
    const struct html_edge *edges;
    size_t edge_count;
};

/* Appends the figure. Returns -1 when out of memory. */
int html_add_matrix(struct buffer *page, const struct html_matrix *matrix);

/* -------------------- parquet.c -------------------- */

/*
 * Writes Apache Thrift's compact protocol, as far as Parquet needs it: structs of integers, byte strings,
 * lists and structs. Fields must be written in ascending order. After a failed allocation `failed` is set,
 * and all further calls do nothing.
 */
enum { THRIFT_DEPTH = 8 };

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct thrift {
    struct buffer bytes;
    int failed;
    int depth;                /* number of open structs */
    int number[THRIFT_DEPTH]; /* number of the last field of each open struct */
};

void thrift_init(struct thrift *thrift);
void thrift_release(struct thrift *thrift);

/* Begins a struct that is not a field: a message, or an element of a list. End it with thrift_end. */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

/* Write a field of the open struct. */
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);

void thrift_text(struct thrift *thrift, int field, const char *text);
void thrift_struct(struct thrift *thrift, int field); /* end it with thrift_end */

/*
 * Begins a list. `count` elements must follow, each written by thrift_begin or by one of the functions below.
 */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);

void thrift_elements(struct thrift *thrift,
                     const struct thrift *written); /* copies the elements that another writer wrote */

/* Compresses pages one after the other. All columns of a file share it. */
struct parquet_press {
    struct gzip *gzip;    /* owned; NULL: pages are not compressed */
    struct buffer packed; /* scratch */
    struct thrift header;
};

/* Returns -1 with an error. Release it even then. */
int parquet_press_init(struct parquet_press *press, int is_compressed, struct error *error);
void parquet_press_release(struct parquet_press *press);

struct parquet_bounds {
    enum cell_type type;
    enum { PARQUET_BOUNDS_NONE, PARQUET_BOUNDS_KNOWN, PARQUET_BOUNDS_UNKNOWN } state;
    struct buffer least; /* in PLAIN encoding, texts without their length */
    struct buffer greatest;
};

/* Little-endian numbers, as in encoding PLAIN. */
enum { PARQUET_NUMBER_BYTES = 8, PARQUET_LENGTH_BYTES = 4 };

static inline void parquet_put(char *bytes, uint64_t value, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (char)(value >> 8 * i & 0xff);
}

static inline uint64_t parquet_bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* -------------------- parquet_column.c -------------------- */

/*
 * The distinct values of a column chunk, in the order of first appearance. Values are any bytes, including
 * NULs.
 */
struct parquet_dictionary {
    struct buffer bytes; /* all values, one after the other: the content of a dictionary page */
    size_t *ends;        /* owned: end offset of each value in the bytes */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* owned: hash table of number + 1; 0 means free */
    size_t slot_count;
    uint64_t seed;
    uint32_t last; /* the value added last: values are often repeated */
};

struct parquet_column {
    const struct column *column;
    struct parquet_press *press;
    struct {
        uint32_t *levels; /* owned; [row]: 1, or 0 for null */
        uint32_t *places; /* owned; number in the dictionary of each value that is not null */
        size_t rows;
        size_t values;
        struct buffer plain;    /* the values, if there is no dictionary */
        size_t dictionary_from; /* size of the dictionary in bytes when the page began */
    } page;
    struct parquet_dictionary dictionary;
    int is_plain;         /* the column no longer uses a dictionary */
    int dictionary_pages; /* number of pages that use it */
    struct buffer pages;
    struct buffer content; /* of a page; scratch */
    uint64_t unpacked_bytes;
    int64_t rows; /* number of rows in finished pages of the row group */
    int64_t nulls;
    struct parquet_bounds bounds;
};

/* Parquet's code of the type in which the values of a column are stored. */
int32_t parquet_physical_type(enum cell_type type);

/* Borrows `described` and `press` for its lifetime. Returns -1 when out of memory. Release it even then. */
int parquet_column_init(struct parquet_column *column, const struct column *described,
                        struct parquet_press *press);
void parquet_column_release(struct parquet_column *column);

/* Adds the value of the next row, in PLAIN encoding; NULL for a null. */
int parquet_column_add(struct parquet_column *column, const char *bytes, size_t length, struct error *error);

/*
 * Writes the column chunk, appends its metadata to the row group's list of columns, and empties the column
 * for the next row group. Adds the sizes of its pages to the two sums.
 */
int parquet_column_write(struct parquet_column *column, struct output *output, struct thrift *columns,
                         uint64_t *unpacked_bytes, uint64_t *packed_bytes, struct error *error);

#endif
