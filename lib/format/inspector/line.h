#ifndef NCCLPROF_FORMAT_INSPECTOR_LINE_H
#define NCCLPROF_FORMAT_INSPECTOR_LINE_H

#include "format/scan.h"
#include "input/json.h"
#include "model/event.h"

/*
 * One record of an Inspector file, as its line says it: the seam between reading text and making events. It
 * is filled by inspector_decode(), which reads any JSON through cJSON, and by inspector_scan(), which knows
 * only the exact lines that NCCL prints; they agree on every line that both accept.
 */

enum inspector_timing { TIMING_UNKNOWN = 0, TIMING_KERNEL_GPU, TIMING_KERNEL_CPU, TIMING_OPERATION_CPU };

/* More channels than any NCCL has. */
enum { INSPECTOR_CHANNELS = 256 };

struct inspector_line {
    uint64_t communicator_hash;
    struct scan_text communicator_name; /* texts: NULL when not there */
    int64_t rank;
    int64_t communicator_size; /* like the nodes COUNT_UNKNOWN where the recorder was not told */
    int64_t node_count;
    struct scan_text revision; /* of NCCL: "v2.30.7" */
    struct scan_text host;
    int64_t pid;

    int is_point_to_point;
    enum function function;
    int64_t sequence;
    int64_t peer;
    int64_t bytes;
    int64_t duration_ns; /* COUNT_UNKNOWN: not a number, or 0 */
    enum inspector_timing timing;
    struct scan_text tag;
    struct interval_ns enqueue; /* verbose only, since the epoch */
    size_t channel_count;
    struct kernel_channel channels[INSPECTOR_CHANNELS]; /* the first channel_count are filled */
};

enum inspector_status {
    INSPECTOR_LINE = 0,
    INSPECTOR_UNREADABLE = -1, /* no JSON object */
    INSPECTOR_NO_MEMORY = -2,
    INSPECTOR_STRANGE = -3 /* an object, but no record of ours */
};

/* From the words that Inspector prints. */
enum inspector_timing inspector_timing_from_text(const char *text, size_t length);

/* Reads one object through cJSON. Texts point into `json`. */
enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line);

/*
 * The quick way. It remembers the beginnings of lines, up to the time of writing, which come again and again:
 * one for each communicator of the process.
 */
enum { INSPECTOR_HEADS = 8, INSPECTOR_HEAD_BYTES = 512 };

struct inspector_head {
    char text[INSPECTOR_HEAD_BYTES];
    size_t length; /* 0: none */
    uint64_t communicator_hash;
    struct scan_text communicator_name; /* in `text`, as is the revision */
    struct scan_text revision;
    int64_t rank;
    int64_t communicator_size;
    int64_t node_count;
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

#endif
