#ifndef NCCLPROF_FORMAT_KINETO_KINETO_H
#define NCCLPROF_FORMAT_KINETO_KINETO_H

#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;

/* -------------------- event.c -------------------- */

/*
 * One element of traceEvents. Names of keys are PyTorch's (torch/csrc/profiler/util.cpp, libkineto's
 * output_json.cpp). Texts are borrowed from the trace, escapes as they are; length 0: not said.
 */

enum kineto_kind {
    KINETO_OTHER = 0,   /* nothing that NCCL or the GPU does */
    KINETO_NCCL_KERNEL, /* on the GPU, of NCCL or RCCL */
    KINETO_GPU_WORK,    /* other kernels, copies, fills */
    KINETO_CALL,        /* record_param_comms: the framework calls NCCL */
    KINETO_LAUNCH,      /* the host hands a kernel or a graph to the GPU */
    KINETO_ANNOTATION,  /* of the program, on the host */
    KINETO_GPU_ANNOTATION
};

/* What the arguments of a kernel or call say of the operation. COUNT_UNKNOWN: not said. */
struct kineto_arguments {
    struct raw_json collective;  /* "allreduce", "_allgather_base", "wait" ... */
    struct raw_json datatype;    /* "BFloat16" */
    struct raw_json group;       /* "Process Group Name" */
    struct raw_json description; /* "Process Group Description" */
    struct raw_json ranks;       /* "Process Group Ranks": "[0, 1]", or cut: "[0, 1, ...]" */
    struct raw_json shapes;      /* "Input Dims": all there is in torch 2.1 */
    int64_t in_elements;
    int64_t out_elements;
    int64_t group_size;
    int64_t rank;       /* in the group; of sends and receives the peer's */
    int64_t sender;     /* "Src Rank", global: of a receive */
    int64_t receiver;   /* "Dst Rank", global: of a send */
    int64_t sequence;   /* "Seq": of the collectives of a group */
    int64_t first_rank; /* "Global rank start" and "stride": of a group whose ranks are evenly spread */
    int64_t stride;
    int64_t external_id; /* joins kernels to the innermost call around their launch */
    int64_t correlation; /* joins kernels to their launch */
    int64_t device;
    int64_t stream;
    int has_graph; /* a CUDA graph launched it */
};

struct kineto_event {
    enum kineto_kind kind;
    struct raw_json name;
    int64_t process;
    int64_t thread;
    int64_t begin_ns; /* as it is printed, without the trace's base; TIME_UNKNOWN */
    int64_t duration_ns;
    struct kineto_arguments arguments; /* of kernels, calls and launches */
};

/* 0; -1: it is no JSON, or an event of interest lacks what it cannot do without. */
int kineto_event_read(struct raw_json text, struct kineto_event *event);

/* The same of any JSON, whatever order its members stand in: kineto_event_read leaves to it what torch would
 * not print so. */
int kineto_event_read_any(struct raw_json text, struct kineto_event *event);

/* What a kernel's name says. The algorithm only on symmetric memory: else a kernel that is named for one runs
 * others as well. */
struct kineto_kernel_name {
    enum algorithm algorithm;
    enum function function; /* FUNCTION_OTHER: sends and receives, or not said */
    enum datatype datatype;
    int is_symmetric;
};

void kineto_kernel_name(struct raw_json name, struct kineto_kernel_name *parts);

/* Of the framework's words for it. FUNCTION_UNKNOWN: it moves nothing (wait, init). */
enum function kineto_function(struct raw_json collective);
enum datatype kineto_datatype(struct raw_json word);

/* Of "nccl:send 0->1" and "nccl:recv 0<-1", ranks in the group. -1: another name. */
int kineto_pair_name(struct raw_json name, int64_t *own, int64_t *peer);

/* The elements in all tensors of "Input Dims"; COUNT_UNKNOWN. */
int64_t kineto_elements(struct raw_json shapes);

/* -------------------- trace.c -------------------- */

struct kineto_busy {
    struct interval_ns *items; /* owned */
    size_t count;
    size_t capacity;
    int is_sorted; /* and none touches another */
};

/* Sorts and unites. */
void kineto_busy_settle(struct kineto_busy *busy);

/* How much of the time between it was at work. Wants it settled. */
int64_t kineto_busy_within(const struct kineto_busy *busy, int64_t begin_ns, int64_t end_ns);

/* Forgets what ended by then. */
void kineto_busy_forget(struct kineto_busy *busy, int64_t until_ns);

/* -------------------- groups.c -------------------- */

/*
 * Process groups of a trace. Kernels and calls name theirs by name and ranks; the list is cut where there are
 * more than 30, and versions of torch differ in what they say. What is missing is taken from pg_config of
 * "distributedInfo", from even spacing, or, of a group as large as the job, from that.
 */

struct kineto_group {
    char *name;        /* owned; "" unknown */
    char *description; /* owned; "" unknown */
    int64_t *ranks;    /* owned: global ranks in order of their rank in it */
    size_t rank_count;
    int is_cut;    /* there are more */
    int64_t size;  /* COUNT_UNKNOWN */
    uint64_t hash; /* 0: it cannot be told from others (kineto_groups_settle) */
    int is_told;   /* its communicator has been handed over */
};

struct kineto_groups {
    struct intern keys;         /* name and ranks as they are printed: index into items */
    struct kineto_group *items; /* owned */
    size_t count;
    size_t capacity;
    struct kineto_group *configured; /* owned: pg_config */
    size_t configured_count;
    size_t configured_capacity;
    size_t completed_ranks; /* that were taken for what is cut, of all groups */
};

enum { KINETO_NO_GROUP = -1 };

void kineto_groups_init(struct kineto_groups *groups);
void kineto_groups_release(struct kineto_groups *groups);

/* The group that the arguments name; KINETO_NO_GROUP: they name none. -1 with *group unset: out of memory. */
int kineto_groups_find(struct kineto_groups *groups, const struct kineto_arguments *arguments,
                       int32_t *group);

/* An element of pg_config. One that is no such thing is left out. */
int kineto_groups_configure(struct kineto_groups *groups, struct raw_json text);

/* The group that all ranks are in, for operations that name none where there is no other; -1: out of memory.
 */
int kineto_groups_world(struct kineto_groups *groups, int64_t world_size, int32_t *group);

/* Members and hashes of those that have none yet, as far as can be told by now. -1: out of memory. */
int kineto_groups_settle(struct kineto_groups *groups, int64_t world_size);

/* A rank's number in a group; COUNT_UNKNOWN. */
int64_t kineto_group_rank(const struct kineto_group *group, int64_t global_rank);

/* The only rank that is in all groups; COUNT_UNKNOWN: there are several, or none. */
int64_t kineto_groups_common_rank(const struct kineto_groups *groups);

/* -------------------- trace.c -------------------- */

/*
 * What of a trace is kept until its parts can be put together: events stand in no order of time, and an
 * operation is told by several of them (link.c). Memory is bounded: kernels are put together as soon as there
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
void kineto_trace_append(struct kineto_trace *trace, struct raw_json key, struct raw_json value);

/* From the rank in a file's name ("rank3", "rank_3", "rank-3"), where the trace says none. */
int64_t kineto_rank_of_path(const char *path);

/* -------------------- link.c -------------------- */

/*
 * Which kernels do the work of which calls. A kernel names the innermost operator around its launch, which is
 * the call; where calls are put into one group (batched sends and receives, lists) the group's kernel is
 * launched outside of all of them and names none: it is of the calls before it on its thread, since the end
 * of the group before. Joined by what is launched where on the host, never by when the GPU began: its clock
 * may put that before the launch.
 *
 * Fills in `launch`, `first_kernel`, `last_kernel`, `is_linked`; sorts launches and ranges; of sends and
 * receives that do not say their peer takes it from their annotation; measures what else GPUs did. -1: out of
 * memory.
 */
int kineto_link(struct kineto_trace *trace);

/* The last range of a thread that begins at or before a time, among those that kineto_link has sorted; -1. */
int64_t kineto_range_before(const struct kineto_ranges *ranges, int32_t thread, int64_t at_ns);

/* -------------------- emit.c -------------------- */

/* From what is kept of a trace to events. */
struct kineto_emitter {
    const struct format_sink *sink;
    struct kineto_trace *trace;
    const char *path;
    char *host; /* owned; NULL unknown */
    int64_t process;
    int64_t next_ordinal;
};

void kineto_emitter_init(struct kineto_emitter *emitter, struct kineto_trace *trace,
                         const struct format_sink *sink, const char *path);
void kineto_emitter_release(struct kineto_emitter *emitter);

/*
 * Puts together what is at hand and hands the operations over whose kernels are, in the order in which they
 * were called; with `is_end` all the others, too, and what is known of the process. -1: the sink stopped it,
 * or memory is out.
 */
int kineto_emit(struct kineto_emitter *emitter, int is_end, struct error *error);

#endif
