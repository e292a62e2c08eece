#ifndef NCCLPROF_FORMAT_INSPECTOR_INSPECTOR_H
#define NCCLPROF_FORMAT_INSPECTOR_INSPECTOR_H

#include "format/internal.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct transfer;
struct transfer_parent;

/* -------------------- line.c -------------------- */

/*
 * One record of an Inspector file, as its line says it: the seam between reading text and making events. It
 * is filled by inspector_decode(), which reads any JSON, and by inspector_scan(), which knows
 * only the exact lines that NCCL prints of operations; they agree on every line that both accept.
 */

enum inspector_timing { TIMING_UNKNOWN = 0, TIMING_KERNEL_GPU, TIMING_KERNEL_CPU, TIMING_OPERATION_CPU };

/* More channels than any NCCL has. */
enum { INSPECTOR_CHANNELS = 256 };

/* A marker begins what one communicator hands over at once; a line with a header and no record is one, too.
 */
enum inspector_record {
    INSPECTOR_OPERATION = 0,
    INSPECTOR_MARKER,
    INSPECTOR_PROXY,
    INSPECTOR_OWN /* of the bundled plugin's, about its own recording */
};

/* Whose record it is. From format v4.3 on only markers say so. */
struct inspector_identity {
    uint64_t communicator_hash;         /* 0: not said */
    struct scan_text communicator_name; /* texts: NULL when not there */
    int64_t rank;
    int64_t communicator_size; /* like the nodes COUNT_UNKNOWN where the recorder was not told */
    int64_t node_count;
    struct scan_text version;  /* of the format: "v4.0" */
    struct scan_text revision; /* of NCCL: "v2.30.7" */
    struct scan_text host;
    int64_t pid;
};

/* What the recorder had no room for. */
enum inspector_drop {
    DROP_COLLECTIVE = 0,
    DROP_PAIR,
    DROP_PROXY_RECORD,
    DROP_PROXY_OPERATION,
    DROP_FOREIGN_PROXY, /* of other processes (PXN): a count of the process, whatever communicator tells it */
    INSPECTOR_DROPS
};

/* Of a marker. */
struct inspector_stats {
    int64_t records;    /* lines that belong to it; COUNT_UNKNOWN: not said */
    int traces_proxies; /* proxy operations may be among them */
    struct {
        int64_t total; /* since the communicator began; COUNT_UNKNOWN: not said */
        int64_t since; /* the marker before; likewise */
    } dropped[INSPECTOR_DROPS];
};

enum inspector_part {
    PART_UNKNOWN = 0,
    PART_START,   /* a proxy operation begins; its steps follow */
    PART_SEGMENT, /* some of its steps */
    PART_STEP,    /* one of them, which is the record itself */
    PART_END      /* it is over; the rest of its steps */
};

/* All or part of a proxy operation. */
struct inspector_proxy {
    enum inspector_part part;
    int parent_is_pair; /* COUNT_UNKNOWN: not said */
    int64_t parent_sequence;
    int64_t number; /* of the proxy operation in its communicator */
    int64_t channel;
    int64_t peer;
    int is_receive; /* COUNT_UNKNOWN: not said */
    int64_t step_count;
    int64_t chunk_bytes;
    int64_t transferred_bytes;
    int64_t dropped_steps;
    int64_t begin_ns;
    int64_t progress_ns;
    int64_t end_ns;
    const struct value *steps; /* for inspector_step(); up to `steps_end` */
    const struct value *steps_end;
};

struct inspector_line {
    enum inspector_record record;
    int has_identity; /* it says itself whose it is */
    struct inspector_identity identity;

    int is_point_to_point;
    enum function function;
    enum algorithm algorithm;
    enum protocol protocol;
    int64_t sequence;
    int64_t peer;
    int64_t bytes;
    int64_t duration_ns; /* COUNT_UNKNOWN: not a number, or 0 */
    enum inspector_timing timing;
    struct scan_text tag;
    struct interval_ns enqueue; /* verbose only, since the epoch */
    size_t channel_count;
    struct kernel_channel channels[INSPECTOR_CHANNELS]; /* the first channel_count are filled */

    /* What only inspector_decode() reads. */
    int64_t unkept; /* members with times that there is no room for */
    struct scan_text first_unkept;
    struct inspector_stats stats; /* of a marker */
    int is_strange;               /* a marker with a record that is not known */
    struct inspector_proxy proxy;
    const struct value *own_drops; /* for recorder_note.h; NULL */
    const struct value *own_stop;
};

/* From the words that Inspector prints. */
enum inspector_timing inspector_timing_from_text(const char *text, size_t length);
enum algorithm inspector_algorithm_from_text(const char *text, size_t length);
enum protocol inspector_protocol_from_text(const char *text, size_t length);

enum inspector_status {
    INSPECTOR_LINE = 0,
    INSPECTOR_UNREADABLE = -1, /* no JSON object */
    INSPECTOR_NO_MEMORY = -2,
    INSPECTOR_STRANGE = -3 /* an object, but no record of ours */
};

/* Reads one object, whatever JSON it is. Texts and nodes point into `json`. */
enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line);

/* A network step of a proxy record, and when it began and ended, TIME_UNKNOWN where that is not said. */
struct inspector_step {
    struct proxy_step step;
    int64_t begin_ns;
    int64_t end_ns;
};

void inspector_step(struct json *json, const struct inspector_proxy *proxy, const struct value *node,
                    struct inspector_step *step);

/* -------------------- scan.c -------------------- */

/*
 * The quick way. It remembers the beginnings of lines, up to the time of writing, which come again and again:
 * one for each communicator of the process.
 */
enum { INSPECTOR_HEADS = 8, INSPECTOR_HEAD_BYTES = 512 };

struct inspector_head {
    char text[INSPECTOR_HEAD_BYTES];
    size_t length;                      /* 0: none */
    struct inspector_identity identity; /* but for host and pid; its texts are in `text` */
};

struct inspector_scanner {
    struct inspector_head heads[INSPECTOR_HEADS];
    unsigned latest;
};

void inspector_scanner_init(struct inspector_scanner *scanner);

/*
 * Reads the object that [text, end) begins with, and says where it ends, when it is one of the known lines,
 * letter by letter; `*line` is then the same as inspector_decode() would make it. Otherwise NULL. Texts point
 * into `text` and into the scanner.
 */
const char *inspector_scan(struct inspector_scanner *scanner, const char *text, const char *end,
                           struct inspector_line *line);

/* How Inspector files are told from others, and where they can be cut: as format.h has it. */
const char *inspector_why_nothing(const char *path, uint64_t bytes);
int inspector_sniff(const char *bytes, size_t length, const char *path);
size_t inspector_cut(const char *bytes, size_t length);

/* -------------------- speakers.c -------------------- */

/*
 * Who speaks in an Inspector file: the communicators of its process (or processes), by what their markers say
 * of them. Files of format v4.0 have none.
 */

struct inspector_source_process {
    struct origin origin; /* its texts live as long as the speakers do; no offset */
    int64_t host;         /* its text's number, and those of the next */
    int64_t version;      /* -1: not said */
    int64_t revision;     /* likewise */
    int64_t dumps;        /* markers so far */
    int traces_proxies;
    int64_t dropped[INSPECTOR_DROPS]; /* the greatest totals so far */
};

struct inspector_source_processes {
    struct inspector_source_process *items; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers; /* hash, rank, pid, host -> index */
    struct intern texts;
};

void inspector_source_processes_init(struct inspector_source_processes *source_processes);
void inspector_source_processes_release(struct inspector_source_processes *source_processes);

/* The number of who is meant; -1 when memory is out. */
int64_t inspector_source_process(struct inspector_source_processes *source_processes,
                                 const struct inspector_identity *identity);

/* As a marker said it. Texts live as long as the speakers do. */
struct inspector_identity inspector_identity_of(const struct inspector_source_processes *source_processes,
                                                int64_t number);

/*
 * Takes what a marker counts. Losses that are new go to the sink, as the totals that they are; a total below
 * its own growth is noted, and the growth counts.
 */
int inspector_source_process_count(struct inspector_source_processes *source_processes, int64_t number,
                                   const struct inspector_stats *stats, const struct format_sink *sink,
                                   uint64_t offset, struct error *error);

/* -------------------- transfers.c -------------------- */

/*
 * Puts proxy operations together from their records and finds the operations that they belong to. A record
 * names its operation by the number that its communicator counts for each function apart, and not the
 * function: of the operations of that number it is the one that was under way. That one may be written after
 * its proxy operations, one dump later at most, so each is held back until two dumps have come.
 */

/* How many operations are remembered, and how many proxy operations and network steps are held back at most.
 */
enum { TRANSFERS_REMEMBERED = 1 << 16, TRANSFERS_HELD = 1 << 15, TRANSFERS_STEPS_HELD = 1 << 17 };

struct inspector_transfers {
    const struct format_sink *sink;
    const struct inspector_source_processes *source_processes;
    struct transfer_parent *parents; /* the last TRANSFERS_REMEMBERED, by their number modulo that */
    int64_t parent_count;
    struct map latest_parent; /* speaker, kind, sequence -> number of the latest parent */
    struct transfer_array {
        struct transfer *items;
        size_t first; /* those before it are gone */
        size_t count;
        size_t capacity;
    } open, done;           /* those whose end has not come; those whose operation may still come */
    struct map open_number; /* speaker, number -> index in `open` */
    size_t steps_held;
};

void inspector_transfers_init(struct inspector_transfers *transfers, const struct format_sink *sink,
                              const struct inspector_source_processes *source_processes);
void inspector_transfers_release(struct inspector_transfers *transfers);

/* An operation that proxy operations may belong to. */
int inspector_transfers_parent(struct inspector_transfers *transfers, int64_t source_process,
                               const struct operation *operation, struct error *error);

/* A record of a proxy operation; its steps are read from `json`. */
int inspector_transfers_add(struct inspector_transfers *transfers, int64_t source_process, struct json *json,
                            const struct inspector_proxy *proxy, uint64_t offset, struct error *error);

/* Hands over whose time has come: after each marker. */
int inspector_transfers_settle(struct inspector_transfers *transfers, struct error *error);

/* Hands over all. */
int inspector_transfers_end(struct inspector_transfers *transfers, struct error *error);

#endif
