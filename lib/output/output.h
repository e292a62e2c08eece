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
 * One self-contained document: nothing is loaded, and its own Content-Security-Policy lets nothing run but
 * the script that it names by digest. Starts out zeroed; release it.
 */
struct html_page {
    struct buffer body;     /* the sections */
    struct buffer contents; /* links to them */
    struct buffer data;     /* of the script (page.js): members of the array "runs" */
};

/*
 * A section with a heading; `id` is the page's own. `link`: what leads to it at the page's head; NULL:
 * nothing does. Both return -1 when memory is out.
 */
int html_section_begin(struct html_page *page, const char *id, const char *heading, const char *link);
int html_section_end(struct html_page *page);

/* The document. `lead` stands below its title. */
int html_page_write(const struct html_page *page, const char *title, const char *lead, struct output *output,
                    struct error *error);
void html_page_release(struct html_page *page);

/* -------------------- perfetto.c -------------------- */

/*
 * A trace as Perfetto reads it (ui.perfetto.dev, trace_processor): packets with tracks and the events on
 * them. Names are written once, and numbers in their place. Field numbers are those of
 * github.com/google/perfetto, protos/perfetto/trace/: trace.proto, trace_packet.proto,
 * track_event/track_descriptor.proto, track_event/process_descriptor.proto, track_event/track_event.proto,
 * track_event/debug_annotation.proto and interned_data/interned_data.proto, which are part of its public
 * interface.
 *
 * Texts may hold anything: what is no UTF-8, and what a terminal would obey, is written as \xNN. Functions
 * return -1 with an error when memory is out or the output cannot be written.
 */
struct perfetto {
    struct output *output; /* borrowed */
    struct intern names;   /* of events, as all below from 1 on */
    struct intern categories;
    struct intern keys;   /* of arguments */
    struct intern values; /* and their texts */
    struct buffer packet; /* as all below for one packet */
    struct buffer event;
    struct buffer interned; /* what is new in it */
    struct buffer text;
    int64_t slices;
};

/* Begins a trace: nothing is written before. Release it whatever comes back. */
int perfetto_open(struct perfetto *perfetto, struct output *output, struct error *error);
void perfetto_release(struct perfetto *perfetto);

enum { PERFETTO_LABELS = 3 };

/*
 * What events stand on. A process is a group of tracks, in the order of `order`; its own track has its id.
 * Tracks of one process, or of none, stand by name, those of one name as one, where events that overlap are
 * laid below each other.
 */
struct perfetto_track {
    uint64_t id; /* not 0 */
    uint64_t parent;
    const char *name;
    const char *description; /* NULL */
    const char *process;     /* its name; NULL: it is none */
    int32_t process_number;  /* not 0, of no other */
    int32_t order;
    const char *labels[PERFETTO_LABELS]; /* short, beside the process's name; NULL */
};

int perfetto_add_track(struct perfetto *perfetto, const struct perfetto_track *track, struct error *error);

/* What is shown of an event that is clicked on: one of the two. */
struct perfetto_argument {
    const char *key;
    const char *text; /* NULL: the number */
    int64_t number;
};

/*
 * Something that begins, or a mark. An arrow is a number, not 0, that two events have: it begins at the one
 * that begins first and ends at the other.
 */
struct perfetto_event {
    uint64_t track;
    int64_t at_ns; /* not before 0 */
    const char *category;
    const char *name;
    const struct perfetto_argument *arguments;
    size_t argument_count;
    const uint64_t *arrows;
    size_t arrow_count;
};

/*
 * Slices: begin and end, on each track in order of time, one within the other. One that is not ended goes on
 * until the trace ends.
 */
int perfetto_begin(struct perfetto *perfetto, const struct perfetto_event *event, struct error *error);
int perfetto_end(struct perfetto *perfetto, uint64_t track, int64_t at_ns, struct error *error);
int perfetto_mark(struct perfetto *perfetto, const struct perfetto_event *event, struct error *error);

/* -------------------- prometheus.c -------------------- */

/*
 * Figures as Prometheus' text format has them, for node_exporter's textfile collector: all of one metric
 * stand together behind its HELP and TYPE, units are seconds, bytes and ratios. All are gauges: a store may
 * be made anew.
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
    struct buffer samples[METRIC_COUNT]; /* lines */
    struct intern seen;                  /* metrics with their labels */
    int64_t count;
};

struct metric_label {
    const char *name;
    const char *value; /* any bytes; NULL or empty: the label is left out */
};

void metrics_init(struct metrics *metrics);
void metrics_release(struct metrics *metrics);

/*
 * A sample. `labels`: up to METRIC_LABELS, ended by a name that is NULL. Of several with the same labels the
 * first counts, and what is not finite is left out: a collector refuses the whole file for the one. -1 when
 * memory is out.
 */
int metrics_add(struct metrics *metrics, enum metric metric, const struct metric_label *labels, double value);

/* Those of another one, of other runs. -1 when memory is out. */
int metrics_append(struct metrics *metrics, const struct metrics *others);

/* Into a file, which is there whole or as it was before; "-" is standard output. */
int metrics_save(const struct metrics *metrics, const char *path, struct error *error);

/* -------------------- output_file.c -------------------- */

enum output_kind {
    OUTPUT_PLAIN,
    OUTPUT_GZIP,
    OUTPUT_BY_DESCRIPTOR /* written at any place in it, by output_descriptor; it can be nothing but a file */
};

/*
 * "-" is standard output; it, a pipe and a device are written as they are. A symbolic link stays, the file
 * that it names is replaced and keeps its mode. Returns NULL with an error that names the file; the caller
 * ends it with output_close or output_discard.
 */
struct output *output_open(const char *path, enum output_kind kind, struct error *error);

/* Open for reading and writing, of OUTPUT_BY_DESCRIPTOR; it stays the output's. */
int output_descriptor(const struct output *output);

/* Errors come here or later, for bytes are kept until there are many. */
int output_write(struct output *output, const void *bytes, size_t length, struct error *error);
int output_text(struct output *output, const char *text, struct error *error);

/*
 * Hands over what was kept, so that little can fail in output_close: for several files that are to take their
 * names together. OUTPUT_GZIP is not whole before output_close.
 */
int output_flush(struct output *output, struct error *error);

/* Bytes given to output_write so far: before compression. */
uint64_t output_bytes(const struct output *output);

/* Everything is written and the file has its name, or it is as it was before; releases it either way. */
int output_close(struct output *output, struct error *error);

/* The file is as it was before. NULL is allowed. */
void output_discard(struct output *output);

/* Whether what was written has arrived so far; to be asked right after writing, which left the cause in
 * errno. */
int render_check(FILE *stream, struct error *error);

/* -------------------- registry.c -------------------- */

/* Where a table goes. */
struct render_target {
    FILE *stream;
    int width;  /* of the terminal, 0 when it is none */
    int colour; /* ANSI sequences are welcome */
};

/*
 * An output format. What a new one takes stands at the head of registry.c. Rows come one by one, so that a
 * query of any length needs no memory.
 *
 * begin returns a state (NULL on error) that end or abandon frees. `head` has the columns, and at the end
 * the warnings; its own rows are not looked at. It and the target stay where they are until then.
 */
struct renderer {
    const char *name;
    int is_for_people;  /* laid out for the eye: a single row may be turned upright, an analysis bring its own
                           text */
    int is_json;        /* an analysis may bring its own */
    int shows_warnings; /* false: the format has no place for them, the caller says them elsewhere */
    void *(*begin)(const struct table *head, const struct render_target *target, struct error *error);
    int (*row)(void *state, const struct cell *cells, struct error *error);
    int (*end)(void *state, struct error *error);
    void (*abandon)(void *state);
};

extern const struct renderer *const renderer_registry[]; /* ended by NULL; the first is the default */

/* What the formats are called, in the registry's order; NULL past the last. */
const char *renderer_name(size_t number);

/* NULL when there is none of that name. */
const struct renderer *renderer_find(const char *name);

/* A whole table at once. */
int render_table(const struct renderer *renderer, const struct table *table,
                 const struct render_target *target, struct error *error);

/* -------------------- heat_map.c -------------------- */

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

void heat_maps_release(struct heat_maps *maps);

/* The largest value is the unit. */
void heat_map_measure(struct heat_map *map);

/* -------------------- heat_map_svg.c -------------------- */

/* Maps as one SVG document. -1 when memory is out. */
int heat_maps_svg(struct heat_maps *maps, struct buffer *svg);

/* -------------------- heat_map_text.c -------------------- */

/*
 * Maps for people, fit for a terminal, in lines of at most `width` columns where that has room for a map at
 * all, without characters beyond ASCII of its own unless `utf8`. -1 when memory is out.
 */
int heat_maps_text(struct heat_maps *maps, size_t width, int utf8, struct buffer *text);

/*
 * Maps of a table with a row for each rank and step: columns rank, process, step, host, run, longer_us,
 * duration_us, finding and `values`, names of columns, of each of which a map is made. It has at most
 * `most_rows` rows: heat_map_fold_rows. Rows that the table lacks are not known; the table has to live as
 * long. -1 with an error; release it in any case.
 */
int heat_maps_init(struct heat_maps *maps, const struct table *table, const char *const *values,
                   size_t value_count, size_t most_rows, struct error *error);

/* -------------------- html_page.c -------------------- */

/* An element around a text. `open` is its tag with its attributes, which are the page's own: "p class=\"x\"".
 */
int html_element(struct buffer *page, const char *open, const char *text);

/* The same around what `text` holds, which is emptied. */
int html_put(struct buffer *page, const char *open, struct buffer *text);

/* A paragraph for each line that is not empty; lines may be indented. */
int html_lines(struct buffer *page, const char *open, const char *text);

/* How a table is shown. */
struct html_table {
    const char *caption;     /* the page's own words */
    const char *bars;        /* name of a column of numbers that get bars, against its greatest; NULL */
    size_t most_rows;        /* of more rows the first ones are shown, and how many there are */
    const char *rest_stands; /* where the others are to be had: a command */
};

/*
 * The columns that are shown to people, without those of detail and those that have no value. Each head
 * explains itself. -1 when
 * memory is out.
 */
int html_add_table(struct buffer *page, const struct table *table, const struct html_table *how);

/* -------------------- html_chart.c -------------------- */

/*
 * A time in each step, as dots, beside what others took: their middle and the range that they are in. Times
 * are nanoseconds, TIME_UNKNOWN where there is none.
 */
struct html_chart {
    const char *title;       /* what is drawn; hostile, as both names */
    const char *mine_name;   /* whose the dots are */
    const char *peers_name;  /* of the line and the range around it */
    const int64_t *mine_ns;  /* one for each step, as all below */
    const int64_t *peers_ns; /* NULL: nobody to compare with, and no range */
    const int64_t *low_ns;   /* NULL: no range */
    const int64_t *high_ns;
    const unsigned char *marked; /* steps that stand out; NULL: none */
    const char *marked_name;
    int64_t first_step;
    size_t steps;
};

/* A figure; nothing where no step has a time of its own. -1 when memory is out. */
int html_add_chart(struct buffer *page, const struct html_chart *chart);

/* What ranks did at one time, a lane each, on one clock. Times are nanoseconds; texts are hostile. */

struct html_lane_bar {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t waiting_ns; /* of that, what it waited for the last to arrive, at its begin; 0: not known */
    int32_t name;       /* numbers of texts */
    int32_t group;      /* -1: none, as its tag */
    int is_open;        /* it never ended; end_ns is that of the picture */
    int is_endless;     /* when it ended is not known; end_ns is begin_ns */
};

struct html_lane {
    const char *name;
    int is_accused;
    const char *missing;        /* why there are no bars; NULL */
    struct html_lane_bar *bars; /* in order of their begins */
    size_t count;
};

struct html_lanes {
    const char *id; /* the page's own */
    const char *title;
    const struct html_lane *lanes;
    size_t count;
    const struct intern *texts;
    int64_t begin_ns; /* of the picture: shown as 0 */
    int64_t end_ns;
};

/* The figure onto the page, an object for the script onto `data`. -1 when memory is out. */
int html_add_lanes(struct buffer *page, struct buffer *data, const struct html_lanes *lanes);

/* -------------------- html_heat.c -------------------- */

/*
 * Values of each rank in each step: a picture that stands by itself, and the data for one that the script
 * draws, with zoom and search. Texts are hostile. Times are nanoseconds, TIME_UNKNOWN where there is none.
 */

enum { HTML_HEAT_LAYERS = 3 };

/* What is said of a rank in steps from the first to the last. */
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
    } layers[HTML_HEAT_LAYERS];
    const struct html_heat_mark *marks;
    size_t mark_count;
    int64_t usual_ns;  /* length of a usual step; TIME_UNKNOWN */
    size_t most_cells; /* of more, neighbouring steps are one: the greatest of their values */
    /* Makes the map of a layer, with a row a rank and a column a step: values as colours show them, or as the
     * script wants them, whole. -1 when memory is out; the map is released in any case. */
    int (*make)(struct heat_map *map, const void *context, size_t layer, int is_whole);
    const void *context;
};

/* The figure onto the page, an object for the script onto `data`. -1 when memory is out. */
int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat);

/* -------------------- html_matrix.c -------------------- */

/*
 * A row for each sender, a column for each receiver, and in them what their network steps waited. Of many
 * ends some neighbours share a row and a column, and their worst edge shows.
 */

struct html_edge {
    size_t sender; /* places among the ends */
    size_t receiver;
    double wait_us; /* usual wait of a network step; less than 0: not known */
    int is_blamed;
    const char *verdict; /* hostile, as are names */
};

struct html_matrix {
    const char *const *ends; /* names */
    size_t end_count;
    const struct html_edge *edges;
    size_t edge_count;
};

/* A figure. -1 when memory is out. */
int html_add_matrix(struct buffer *page, const struct html_matrix *matrix);

/* -------------------- parquet.c -------------------- */

/*
 * Writes Apache Thrift's compact protocol, as far as Parquet needs it: structs of integers, byte strings,
 * lists and structs. Fields come in the order of their numbers. What fails for want of memory is told once,
 * by `failed`, and all that follows does nothing.
 */
enum { THRIFT_DEPTH = 8 };

enum thrift_type { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct thrift {
    struct buffer bytes;
    int failed;
    int depth;                /* open structs */
    int number[THRIFT_DEPTH]; /* of the last field of each */
};

void thrift_init(struct thrift *thrift);
void thrift_release(struct thrift *thrift);

/* A struct that is no field: a message by itself, or an element of a list. Ended by thrift_end. */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

/* Fields of the struct that is open. */
void thrift_i32(struct thrift *thrift, int field, int32_t value);
void thrift_i64(struct thrift *thrift, int field, int64_t value);

void thrift_text(struct thrift *thrift, int field, const char *text);
void thrift_struct(struct thrift *thrift, int field); /* ended by thrift_end */

/* `count` elements are to follow, each by thrift_begin, or one of the next. */
void thrift_list(struct thrift *thrift, int field, enum thrift_type type, size_t count);

void thrift_elements(struct thrift *thrift, const struct thrift *written); /* as another one has them */

/* What makes pages, one after the other; all columns of a file share it. */
struct parquet_press {
    struct gzip *gzip;    /* NULL: pages are not compressed. Owned */
    struct buffer packed; /* room to work in */
    struct thrift header;
};

/* -1 with an error; to be released either way. */
int parquet_press_init(struct parquet_press *press, int is_compressed, struct error *error);
void parquet_press_release(struct parquet_press *press);

struct parquet_bounds {
    enum cell_type type;
    enum { PARQUET_BOUNDS_NONE, PARQUET_BOUNDS_KNOWN, PARQUET_BOUNDS_UNKNOWN } state;
    struct buffer least; /* encoded, a text without its length */
    struct buffer greatest;
};

/* Numbers as encoding PLAIN has them: little endian. */
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

/* The different values of a column chunk, each once, in order of first sight: any bytes, zeros included. */
struct parquet_dictionary {
    struct buffer bytes; /* one behind the other: the content of a dictionary page */
    size_t *ends;        /* owned; of each in the bytes */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* owned; hash table of number + 1; 0 is free */
    size_t slot_count;
    uint64_t seed;
    uint32_t last; /* what was put last: values often come in a row */
};

struct parquet_column {
    const struct column *column;
    struct parquet_press *press;
    struct {
        uint32_t *levels; /* owned; of each row: 1, or 0 for null */
        uint32_t *places; /* owned; of each value in the dictionary */
        size_t rows;
        size_t values;
        struct buffer plain;    /* the values, where there is no dictionary */
        size_t dictionary_from; /* bytes of the dictionary as the page began */
    } page;
    struct parquet_dictionary dictionary;
    int is_plain;         /* values go to no dictionary any more */
    int dictionary_pages; /* so many of the pages use it */
    struct buffer pages;
    struct buffer content; /* of a page: room to work in */
    uint64_t unpacked_bytes;
    int64_t rows; /* of the row group in finished pages */
    int64_t nulls;
    struct parquet_bounds bounds;
};

/* Parquet's number of the type that a column's values are stored as. */
int32_t parquet_physical_type(enum cell_type type);

/* `described` and `press` are borrowed for its life. -1 when memory is out; to be released either way. */
int parquet_column_init(struct parquet_column *column, const struct column *described,
                        struct parquet_press *press);
void parquet_column_release(struct parquet_column *column);

/* The next row's value, as encoding PLAIN has it; NULL: there is none. */
int parquet_column_add(struct parquet_column *column, const char *bytes, size_t length, struct error *error);

/*
 * Writes the column chunk, says so in the next element of the row group's list of columns, and empties it for
 * the next row group. The sizes of its pages are added to the two sums.
 */
int parquet_column_write(struct parquet_column *column, struct output *output, struct thrift *columns,
                         uint64_t *unpacked_bytes, uint64_t *packed_bytes, struct error *error);

#endif
