#ifndef NCCLPROF_FORMAT_KINETO_TRACE_H
#define NCCLPROF_FORMAT_KINETO_TRACE_H

#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "format/kineto/busy.h"
#include "format/kineto/event.h"
#include "format/kineto/groups.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What of a trace is kept until its parts can be put together: events stand in no order of time, and an
 * operation is told by several of them (link.h). Memory is bounded: kernels are put together as soon as there
 * are KINETO_KERNELS of them, which come behind their calls and launches in what torch writes; of the rest
 * what does not fit is counted.
 */
enum {
    KINETO_KERNELS = 1 << 15,
    KINETO_CALLS = 1 << 17,
    KINETO_LAUNCHES = 1 << 18, /* the newest */
    KINETO_RANGES = 1 << 17
};

/* What a kernel or a call says of its operation. */
struct kineto_told {
    int64_t count; /* COUNT_UNKNOWN, as the others */
    int64_t bytes;
    int64_t sequence;
    int64_t peer;                    /* global rank */
    int64_t own_number, peer_number; /* in the group, as the annotation of a send or receive has them */
    int32_t group;
    uint8_t function; /* FUNCTION_UNKNOWN: not said */
    uint8_t datatype;
};

struct kineto_call {
    struct kineto_told told;
    struct interval_ns api;
    int64_t external_id;
    uint64_t offset;
    int32_t thread;       /* its number among those of the trace */
    int32_t first_kernel; /* that does its work; -1 */
    int32_t last_kernel;
};

struct kineto_kernel {
    struct kineto_told told;
    struct interval_ns device;
    int64_t busy_ns; /* of its GPU since the last of them had ended: filled in by kineto_link */
    int64_t correlation;
    int64_t external_id;
    int64_t stream;
    uint64_t offset;
    int32_t launch; /* index; -1 */
    uint8_t has_graph;
    uint8_t algorithm; /* only on symmetric memory */
    uint8_t is_symmetric;
    uint8_t is_linked; /* a call tells of it */
};

struct kineto_launch {
    int64_t correlation;
    int64_t begin_ns;
    int32_t duration_ns;
    int32_t thread;
};

/* Of the program: a step, an annotation, or where calls that run as one are closed ("nccl:coalesced"). */
struct kineto_range {
    struct interval_ns time;
    int32_t thread;
    int64_t number; /* of a step; of an annotation its text in `texts` */
};

struct kineto_ranges {
    struct kineto_range *items; /* owned */
    size_t count;
    size_t capacity;
};

struct kineto_trace {
    struct kineto_groups groups;
    struct kineto_call *calls; /* owned, as are the others */
    size_t call_count;
    size_t call_capacity;
    struct kineto_kernel *kernels;
    size_t kernel_count;
    size_t kernel_capacity;
    struct kineto_launch *launches; /* a ring of KINETO_LAUNCHES */
    size_t launch_count;            /* ever */
    size_t launch_capacity;
    struct kineto_ranges steps;
    struct kineto_ranges gpu_steps; /* as the GPU's own annotations have them */
    struct kineto_ranges annotations;
    struct kineto_ranges coalesced;
    struct kineto_ranges pairs; /* annotations of sends and receives; number: own rank << 32 | peer's */
    struct kineto_busy busy;
    struct intern texts;
    struct map threads; /* as the trace numbers them: 0, 1, 2 ... in order of first sight */

    /* What the trace says of itself. */
    int64_t base_ns;
    int64_t rank; /* global; COUNT_UNKNOWN, as the others */
    int64_t world_size;
    int64_t process;
    int64_t device;
    int has_devices;     /* several */
    int64_t from_before; /* kernels that were launched before the recording began: they are no operations */
    int64_t dropped;     /* calls, launches and annotations that did not fit */
};

void kineto_trace_init(struct kineto_trace *trace);
void kineto_trace_release(struct kineto_trace *trace);

/* Takes an event in. -1: out of memory. */
int kineto_trace_add(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset);

/* What stands where of the outermost object: "distributedInfo.rank" for example. */
void kineto_trace_say(struct kineto_trace *trace, struct raw_json key, struct raw_json value);

/* From the rank in a file's name ("rank3", "rank_3", "rank-3"), where the trace says none. */
int64_t kineto_rank_of_path(const char *path);

#endif
