#ifndef NCCLPROF_FORMAT_MEMORY_SNAPSHOT_HISTORY_H
#define NCCLPROF_FORMAT_MEMORY_SNAPSHOT_HISTORY_H

#include "base/map.h"
#include "format/format.h"
#include "input/value.h"

/*
 * When the allocator had which memory from the driver: what its history tells of segments that came and went,
 * and which of them there were when the snapshot was taken. Formats: torch/csrc/cuda/memory_snapshot.cpp.
 */

struct history_segment {
    uint64_t address;
    int64_t bytes;
    struct interval_ns alive; /* TIME_UNKNOWN: from before the history on; beyond the snapshot */
    int64_t device;           /* COUNT_UNKNOWN */
    int is_expandable;
};

struct history {
    const struct format_sink *sink;
    struct history_segment *segments; /* owned: as the history tells */
    size_t count;
    size_t capacity;
    struct history_segment *listed; /* owned: as the snapshot lists them */
    size_t listed_count;
    size_t listed_capacity;
    struct map open;   /* address -> of `segments`, that did not go */
    int64_t latest_ns; /* of the history; TIME_UNKNOWN */
    int is_expandable; /* the allocator was set so: all its segments are */
    int has_settings;
};

void history_init(struct history *history, const struct format_sink *sink);
void history_release(struct history *history);

/* Items of "segments", of a list of "device_traces", and "allocator_settings". -1: the sink failed, or no
 * memory. */
int history_list(struct history *history, const struct value *segment, uint64_t offset, struct error *error);
int history_tell(struct history *history, const struct value *entry, uint64_t offset, struct error *error);
void history_set(struct history *history, const struct value *settings);

/* Whether anything of a snapshot was found. */
int history_is_empty(const struct history *history);

/* Hands over all segments, as those of a rank. */
int history_emit(const struct history *history, int64_t global_rank, struct error *error);

#endif
