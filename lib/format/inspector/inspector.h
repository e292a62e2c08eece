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
 * One record of an Inspector file as its line gives it, before events are made. inspector_decode() reads it
 * from any JSON; inspector_scan() reads only the exact lines that NCCL prints of operations. They agree on
 * every line that both accept.
 */

enum inspector_timing { TIMING_UNKNOWN = 0, TIMING_KERNEL_GPU, TIMING_KERNEL_CPU, TIMING_OPERATION_CPU };

/* More channels than any version of NCCL has. */
enum { INSPECTOR_CHANNELS = 256 };

/*
 * A marker begins the records that one communicator dumps at once. A line with a header and no record is a
 * marker, too.
 */
enum inspector_record {
    INSPECTOR_OPERATION = 0,
    INSPECTOR_MARKER,
    INSPECTOR_PROXY,
    INSPECTOR_OWN /* a record of the bundled plugin about its own recording */
};

/* The communicator and process of a record. From format v4.3 on only markers have it. */
struct inspector_identity {
    uint64_t communicator_hash;         /* 0: not given */
    struct scan_text communicator_name; /* texts are NULL if not given */
    int64_t rank;
    int64_t communicator_size; /* COUNT_UNKNOWN if the recorder did not know it; so is node_count */
    int64_t node_count;
    struct scan_text version;  /* of the format: "v4.0" */
    struct scan_text revision; /* of NCCL: "v2.30.7" */
    struct scan_text host;
    int64_t pid;
};

/* Records that were dropped for lack of space. */
enum inspector_drop {
    DROP_COLLECTIVE = 0,
    DROP_PAIR,
    DROP_PROXY_RECORD,
    DROP_PROXY_OPERATION,
    DROP_FOREIGN_PROXY, /* of other processes (PXN): counted per process, whichever communicator prints it */
    INSPECTOR_DROPS
};

/* The counts of a marker. */
struct inspector_stats {
    int64_t records;    /* number of lines that belong to it; COUNT_UNKNOWN: not given */
    int traces_proxies; /* proxy operations may be among them */
    struct {
        int64_t total; /* since the communicator was created; COUNT_UNKNOWN: not given */
        int64_t since; /* since the marker before; COUNT_UNKNOWN: not given */
    } dropped[INSPECTOR_DROPS];
};

enum inspector_part {
    PART_UNKNOWN = 0,
    PART_START,   /* begin of a proxy operation; its steps follow */
    PART_SEGMENT, /* some of its steps */
    PART_STEP,    /* one step: the record itself */
    PART_END      /* its end, with the rest of its steps */
};

/* A proxy operation, or a part of one. */
struct inspector_proxy {
    enum inspector_part part;
    int parent_is_pair; /* COUNT_UNKNOWN: not given */
    int64_t parent_sequence;
    int64_t number; /* of the proxy operation in its communicator */
    int64_t channel;
    int64_t peer;
    int is_receive; /* COUNT_UNKNOWN: not given */
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
    int has_identity; /* the line itself has the identity */
    struct inspector_identity identity;
    int64_t dumped_ns; /* when the line, or its marker, was written; since the epoch; TIME_UNKNOWN */

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
    struct interval_ns enqueue; /* only from verbose files, since the epoch */
    size_t channel_count;
    struct kernel_channel channels[INSPECTOR_CHANNELS]; /* the first channel_count are set */

    /* Read only by inspector_decode(). */
    int64_t unkept; /* number of members with times that are not stored */
    struct scan_text first_unkept;
    struct inspector_stats stats; /* of a marker */
    int is_unknown_record;        /* a marker with an unknown record */
    struct inspector_proxy proxy;
    const struct value *own_drops; /* of the bundled plugin, for recorder_drops_read(); NULL */
    const struct value *own_stop;
};

/* From the words that Inspector prints. */
enum inspector_timing inspector_timing_from_text(const char *text, size_t length);
enum algorithm inspector_algorithm_from_text(const char *text, size_t length);
enum protocol inspector_protocol_from_text(const char *text, size_t length);

enum inspector_status {
    INSPECTOR_LINE = 0,
    INSPECTOR_UNREADABLE = -1, /* not a JSON object */
    INSPECTOR_NO_MEMORY = -2,
    INSPECTOR_UNKNOWN_RECORD = -3 /* an object, but not a record of this format */
};

/* Reads one object from any JSON. Texts and nodes point into `json`. */
enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line);

/* A network step of a proxy record, and when it began and ended (TIME_UNKNOWN if not given). */
struct inspector_step {
    struct proxy_step step;
    int64_t begin_ns;
    int64_t end_ns;
};

void inspector_step(struct json *json, const struct inspector_proxy *proxy, const struct value *node,
                    struct inspector_step *step);

/* -------------------- scan.c -------------------- */

/*
 * The fast way. It remembers the beginnings of lines, up to the time of writing, as they repeat: there is one
 * for each communicator of the process.
 */
enum { INSPECTOR_HEADS = 8, INSPECTOR_HEAD_BYTES = 512 };

struct inspector_head {
    char text[INSPECTOR_HEAD_BYTES];
    size_t length;                      /* 0: unused */
    struct inspector_identity identity; /* without host and pid; its texts are in `text` */
};

struct inspector_scanner {
    struct inspector_head heads[INSPECTOR_HEADS];
    unsigned latest;
};

void inspector_scanner_init(struct inspector_scanner *scanner);

/*
 * Reads the object at the beginning of [text, end) if it is exactly one of the known lines. Returns where it
 * ends, with `*line` as inspector_decode() would make it; otherwise NULL. Texts point into `text` and into
 * the scanner.
 */
const char *inspector_scan(struct inspector_scanner *scanner, const char *text, const char *end,
                           struct inspector_line *line);

/* How Inspector files are recognized, and where they can be split; see format.h. */
const char *inspector_why_nothing(const char *path, uint64_t bytes);
int inspector_sniff(const char *bytes, size_t length, const char *path);
size_t inspector_cut(const char *bytes, size_t length);

/* -------------------- speakers.c -------------------- */

/*
 * The source processes of an Inspector file: each communicator of each process in it, as its markers identify
 * it. Files of format v4.0 have none.
 */

struct inspector_source_process {
    struct origin
        origin;       /* without offset; its texts live as long as the struct inspector_source_processes */
    int64_t host;     /* number of its text in `texts`, as are the next two */
    int64_t version;  /* -1: not given */
    int64_t revision; /* -1: not given */
    int64_t dumps;    /* number of markers so far */
    int traces_proxies;
    int64_t dropped[INSPECTOR_DROPS]; /* greatest totals so far */
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

/*
 * Returns the number of the source process with this identity, which is added if it is new; -1 if memory is
 * out.
 */
int64_t inspector_source_process(struct inspector_source_processes *source_processes,
                                 const struct inspector_identity *identity);

/* The identity as its marker gave it. Texts live as long as the struct inspector_source_processes. */
struct inspector_identity inspector_identity_of(const struct inspector_source_processes *source_processes,
                                                int64_t number);

/*
 * Takes the counts of a marker and sends new losses to the sink, as totals. A total smaller than
 * the increase in the same marker is noted, and the increase is used.
 */
int inspector_source_process_count(struct inspector_source_processes *source_processes, int64_t number,
                                   const struct inspector_stats *stats, const struct format_sink *sink,
                                   uint64_t offset, struct error *error);

/* -------------------- transfers.c -------------------- */

/*
 * Assembles proxy operations from their records and finds the operations that they belong to. A record
 * identifies its operation by a number that the communicator counts separately for each function, but not by
 * function. Of the operations with that number, the proxy operation belongs to the one that was in progress.
 * That one may be written after its proxy operations, at most one dump later, so each proxy operation is held
 * until two more dumps have come.
 */

/* Limits on the remembered operations, and on the proxy operations and network steps that are held. */
enum { TRANSFERS_REMEMBERED = 1 << 16, TRANSFERS_HELD = 1 << 15, TRANSFERS_STEPS_HELD = 1 << 17 };

struct inspector_transfers {
    const struct format_sink *sink;
    const struct inspector_source_processes *source_processes;
    struct transfer_parent *parents; /* the last TRANSFERS_REMEMBERED, indexed by their number modulo that */
    int64_t parent_count;
    struct map latest_parent; /* source process, kind, sequence -> number of the latest parent */
    struct transfer_array {
        struct transfer *items;
        size_t first; /* those before it were removed */
        size_t count;
        size_t capacity;
    } open, done;           /* open: the end has not come; done: the operation may still come */
    struct map open_number; /* source process, number -> index in `open` */
    size_t steps_held;
};

void inspector_transfers_init(struct inspector_transfers *transfers, const struct format_sink *sink,
                              const struct inspector_source_processes *source_processes);
void inspector_transfers_release(struct inspector_transfers *transfers);

/* Adds an operation that proxy operations may belong to. */
int inspector_transfers_parent(struct inspector_transfers *transfers, int64_t source_process,
                               const struct operation *operation, struct error *error);

/* Adds a record of a proxy operation. Its steps are read from `json`. */
int inspector_transfers_add(struct inspector_transfers *transfers, int64_t source_process, struct json *json,
                            const struct inspector_proxy *proxy, uint64_t offset, struct error *error);

/* Hands over the proxy operations that have been held long enough; called after each marker. */
int inspector_transfers_settle(struct inspector_transfers *transfers, struct error *error);

/* Hands over all that are left. */
int inspector_transfers_end(struct inspector_transfers *transfers, struct error *error);

#endif
