#ifndef NCCLPROF_FORMAT_INSPECTOR_LINE_H
#define NCCLPROF_FORMAT_INSPECTOR_LINE_H

#include "format/scan.h"
#include "input/json.h"
#include "model/event.h"

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

static const struct inspector_identity inspector_nobody = {.rank = COUNT_UNKNOWN,
                                                           .communicator_size = COUNT_UNKNOWN,
                                                           .node_count = COUNT_UNKNOWN,
                                                           .pid = COUNT_UNKNOWN};

/* From the words that Inspector prints. */
enum inspector_timing inspector_timing_from_text(const char *text, size_t length);
enum algorithm inspector_algorithm_from_text(const char *text, size_t length);
enum protocol inspector_protocol_from_text(const char *text, size_t length);

/* Counts a member that carries times and is not kept. */
void inspector_leave_out(struct inspector_line *line, const char *key);

#endif
