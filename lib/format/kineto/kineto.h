#ifndef NCCLPROF_FORMAT_KINETO_KINETO_H
#define NCCLPROF_FORMAT_KINETO_KINETO_H

#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;

/* -------------------- event.c -------------------- */

/*
 * One element of traceEvents. The keys are PyTorch's (torch/csrc/profiler/util.cpp, libkineto's
 * output_json.cpp). Texts are borrowed from the trace, with their escapes; length 0: not given.
 */

enum kineto_kind {
    KINETO_OTHER = 0,   /* neither NCCL nor GPU work */
    KINETO_NCCL_KERNEL, /* kernel of NCCL or RCCL on the GPU */
    KINETO_GPU_WORK,    /* other kernels, copies, fills */
    KINETO_CALL,        /* record_param_comms: the framework calls NCCL */
    KINETO_LAUNCH,      /* the host launches a kernel or graph */
    KINETO_ANNOTATION,  /* of the program, on the host */
    KINETO_GPU_ANNOTATION,
    KINETO_KINDS
};

/* What the arguments of a kernel or call give about its operation. COUNT_UNKNOWN: not given. */
struct kineto_arguments {
    struct raw_json collective;  /* "allreduce", "_allgather_base", "wait" ... */
    struct raw_json datatype;    /* "BFloat16" */
    struct raw_json group;       /* "Process Group Name" */
    struct raw_json description; /* "Process Group Description" */
    struct raw_json ranks;       /* "Process Group Ranks": "[0, 1]", or truncated: "[0, 1, ...]" */
    struct raw_json shapes;      /* "Input Dims": the only size in torch 2.1 */
    int64_t in_elements;
    int64_t out_elements;
    int64_t group_size;
    int64_t rank;       /* in the group; for a send or receive that of the peer */
    int64_t sender;     /* "Src Rank", global; of a receive */
    int64_t receiver;   /* "Dst Rank", global; of a send */
    int64_t sequence;   /* "Seq": number among the collectives of the group */
    int64_t first_rank; /* "Global rank start" and "stride": of a group with evenly spaced ranks */
    int64_t stride;
    int64_t external_id; /* connects kernels to the innermost call around their launch */
    int64_t correlation; /* connects kernels to their launch */
    int64_t device;
    int64_t stream;
    int has_graph; /* launched by a CUDA graph */
};

struct kineto_event {
    enum kineto_kind kind;
    struct raw_json name;
    int64_t process;
    int64_t thread;
    int64_t begin_ns; /* as printed, without the trace's base; TIME_UNKNOWN */
    int64_t duration_ns;
    struct kineto_arguments arguments; /* of kernels, calls and launches */
};

/* -------------------- arguments.c -------------------- */

/* A number, also in quotes; anything else stays unknown. */
int64_t kineto_integer(struct raw_json value, int64_t otherwise);

/* The text between the quotes; length 0 if it is no text. */
void kineto_text(struct raw_json value, struct raw_json *text);

/*
 * How the arguments of events are printed: the words before each value, with its key, and those after the
 * last value. Events of a kind have few layouts, so the latest two of each kind are kept.
 */
enum { KINETO_LAYOUTS = 2, KINETO_LAYOUT_FIELDS = 32, KINETO_LAYOUT_BYTES = 64 };

struct kineto_layout {
    size_t count; /* of the fields; 0: no layout */
    int is_unfit; /* used while it is learned */
    struct kineto_field {
        size_t length; /* of the words */
        char words[KINETO_LAYOUT_BYTES];
        const struct kineto_key *key; /* of the value after the words; NULL: it is not read */
    } fields[KINETO_LAYOUT_FIELDS];
};

/* Zero at first. */
struct kineto_layouts {
    struct kineto_layout of_kind[KINETO_KINDS][KINETO_LAYOUTS];
};

/*
 * Reads arguments, with the result that any JSON of them has. `layouts` may be NULL: it only makes this
 * faster. Returns 0, with `past` where they end; -1 if they are not JSON.
 */
int kineto_arguments_read(struct raw_json text, struct kineto_layout layouts[KINETO_LAYOUTS],
                          struct kineto_arguments *arguments, const char **past);

/* -------------------- event.c -------------------- */

/*
 * Reads an event, fast if it is printed the way torch does. Returns 0, or -1 if it is not JSON or an NCCL or
 * GPU event lacks a required member.
 */
int kineto_event_read(struct raw_json text, struct kineto_layouts *layouts, struct kineto_event *event);

/*
 * The same for any JSON, with members in any order. kineto_event_read() calls it for events that are printed
 * differently.
 */
int kineto_event_read_any(struct raw_json text, struct kineto_event *event);

/* -------------------- kernel_name.c -------------------- */

/*
 * What a kernel's name gives. The algorithm is given only for kernels on symmetric memory; other kernels also
 * run algorithms other than the one in their name.
 */
struct kineto_kernel_name {
    enum algorithm algorithm;
    enum function function; /* FUNCTION_OTHER: a send or receive, or not given */
    enum datatype datatype;
    int is_symmetric;
};

void kineto_kernel_name(struct raw_json name, struct kineto_kernel_name *parts);

/*
 * A kernel of a library that communicates without NCCL. Its members are not in the trace; they are found by
 * their number, if the name gives it, among the groups of the job.
 */
enum kineto_phase {
    KINETO_WHOLE,             /* one launch is one operation */
    KINETO_PHASE_OF_DISPATCH, /* one launch is one operation, or two are: one that sends, one that receives */
    KINETO_PHASE_OF_COMBINE
};

struct kineto_library_kernel {
    const char *library;    /* static: "DeepEP" */
    enum function function; /* FUNCTION_OTHER: its time may or may not include the wait for other ranks */
    int64_t ranks;          /* number of members; COUNT_UNKNOWN */
    enum kineto_phase phase;
};

/* 1 with the kernel; 0 if the name is none of a library that communicates. */
int kineto_library_kernel(struct raw_json name, struct kineto_library_kernel *found);

/*
 * Names of kernels that belong to no such library. A trace has few names and many kernels. Zero at first.
 * Names that do not fit, or that others have replaced, are looked at again.
 */
enum { KINETO_PLAIN_NAMES = 64, KINETO_PLAIN_NAME_BYTES = 510 };

struct kineto_plain_names {
    struct {
        uint16_t length; /* 0: none */
        char text[KINETO_PLAIN_NAME_BYTES];
    } items[KINETO_PLAIN_NAMES];
};

/* As kineto_library_kernel(). */
int kineto_library_kernel_again(struct kineto_plain_names *names, struct raw_json name,
                                struct kineto_library_kernel *found);

/* -------------------- event.c -------------------- */

/* From the framework's name of a collective. FUNCTION_UNKNOWN: it moves no data (wait, init). */
enum function kineto_function(struct raw_json collective);
enum datatype kineto_datatype(struct raw_json word);

/* Parses "nccl:send 0->1" and "nccl:recv 0<-1", with ranks in the group. Returns -1 for any other name. */
int kineto_pair_name(struct raw_json name, int64_t *own, int64_t *peer);

/* Number of elements of all tensors in "Input Dims"; COUNT_UNKNOWN. */
int64_t kineto_elements(struct raw_json shapes);

/* -------------------- trace.c -------------------- */

struct kineto_busy {
    struct interval_ns *items; /* owned */
    size_t count;
    size_t capacity;
    int is_sorted; /* sorted, and no two intervals overlap or touch */
};

/* Sorts the intervals and merges those that overlap. */
void kineto_busy_settle(struct kineto_busy *busy);

/* -------------------- groups.c -------------------- */

/*
 * Process groups of a trace. Kernels and calls identify their group by name and ranks, but torch truncates
 * lists of more than 30 ranks, and its versions print different members. Missing ranks are taken from
 * pg_config in "distributedInfo", from even spacing, or, for a group as large as the job, from the job's
 * size.
 */

struct kineto_group {
    char *name;        /* owned; "": unknown */
    char *description; /* owned; "": unknown */
    int64_t *ranks;    /* owned: global ranks, indexed by rank in the group */
    size_t rank_count;
    int is_cut;      /* the list of ranks is incomplete */
    int64_t size;    /* COUNT_UNKNOWN */
    uint64_t hash;   /* 0: the group cannot be distinguished from others (kineto_groups_settle) */
    int is_told;     /* its communicator was handed over */
    int is_library;  /* of kernels of a library: members as kineto_groups_of_library() found them */
    int is_doubtful; /* it may have fewer members: no rank waits in it for certain */
};

struct kineto_groups {
    struct intern keys;         /* name and ranks as printed: index into `items` */
    struct kineto_group *items; /* owned */
    size_t count;
    size_t capacity;
    struct kineto_group *configured; /* owned: pg_config */
    size_t configured_count;
    size_t configured_capacity;
    size_t completed_ranks; /* ranks that were added to truncated lists, of all groups */
    size_t library_count;   /* groups in `items` with is_library */
};

enum { KINETO_NO_GROUP = -1 };

void kineto_groups_init(struct kineto_groups *groups);
void kineto_groups_release(struct kineto_groups *groups);

/*
 * Finds or adds the group in the arguments; KINETO_NO_GROUP if they name none. Returns -1, with *group unset,
 * if memory is out.
 */
int kineto_groups_find(struct kineto_groups *groups, const struct kineto_arguments *arguments,
                       int32_t *group);

/* Takes an element of pg_config. Other elements are skipped. */
int kineto_groups_configure(struct kineto_groups *groups, struct raw_json text);

/*
 * Finds or adds the group of all ranks, for operations without a group in a trace that has no other group.
 * Returns -1 if memory is out.
 */
int kineto_groups_world(struct kineto_groups *groups, int64_t world_size, int32_t *group);

/*
 * Fills in the members and hashes that are missing, as far as they are known by now. Returns -1 if memory is
 * out.
 */
int kineto_groups_settle(struct kineto_groups *groups, int64_t world_size);

/*
 * Finds or adds the group of a library's kernels. Candidates are the groups of the job that contain
 * `own_rank` and have `ranks` members (COUNT_UNKNOWN: any number). If they are different ranks, the only one
 * that is ranks in a row is the group, as the GPUs of a host have such ranks; else the largest, as doubtful.
 * If the job names no groups, it is as many ranks in a row, or all. Without `ranks`, it is the library's only
 * group so far. KINETO_NO_GROUP: unknown. Returns -1 if memory is out.
 */
int kineto_groups_of_library(struct kineto_groups *groups, const struct kineto_library_kernel *kernel,
                             int64_t own_rank, int64_t world_size, int32_t *group);

/*
 * Adds the configured group of all ranks, if no operation names it: libraries use groups of a part of the
 * ranks, and nothing else shows that these belong to one job. Returns -1 if memory is out.
 */
int kineto_groups_job(struct kineto_groups *groups, int64_t world_size);

/*
 * Finds or adds the group of operations that name none, if all configured groups of several ranks that
 * contain `own_rank` are the same ranks; else KINETO_NO_GROUP. Returns -1 if memory is out.
 */
int kineto_groups_nameless(struct kineto_groups *groups, int64_t own_rank, int32_t *group);

/* The rank in a group of a global rank; COUNT_UNKNOWN. */
int64_t kineto_group_rank(const struct kineto_group *group, int64_t global_rank);

/* The only rank that is in all groups; COUNT_UNKNOWN if there are several or none. */
int64_t kineto_groups_common_rank(const struct kineto_groups *groups);

/* -------------------- trace.c -------------------- */

/*
 * The parts of a trace that are kept until operations can be assembled: events are not sorted by time, and
 * each operation appears in several of them (link.c). Memory is bounded. Operations are assembled whenever
 * there are KINETO_KERNELS kernels, as torch writes kernels after their calls and launches. Other events that
 * do not fit are counted.
 */
enum {
    KINETO_KERNELS = 1 << 15,
    KINETO_CALLS = 1 << 17,
    KINETO_LAUNCHES = 1 << 18, /* the newest are kept */
    KINETO_RANGES = 1 << 17
};

/* What a kernel or a call gives about its operation. */
struct kineto_operation {
    int64_t count; /* COUNT_UNKNOWN, as the others */
    int64_t bytes;
    int64_t sequence;
    int64_t peer;                    /* global rank */
    int64_t own_number, peer_number; /* ranks in the group, from the annotation of a send or receive */
    int32_t group;
    uint8_t function; /* FUNCTION_UNKNOWN: not given */
    uint8_t datatype;
};

struct kineto_call {
    struct kineto_operation told;
    struct interval_ns api;
    int64_t external_id;
    uint64_t offset;
    int32_t thread;       /* index among the threads of the trace */
    int32_t first_kernel; /* of its kernels; -1 */
    int32_t last_kernel;
    uint8_t is_named_by_annotation; /* up to torch 2.1: its arguments give no function */
};

struct kineto_kernel {
    struct kineto_operation told;
    struct interval_ns device;
    int64_t busy_ns;    /* other GPU work since the last NCCL kernel ended; set by kineto_link() */
    int64_t overlap_ns; /* other GPU work while it ran; set by kineto_link() */
    int64_t correlation;
    int64_t external_id;
    int64_t stream;
    uint64_t offset;
    int32_t launch; /* index; -1 */
    uint8_t has_graph;
    uint8_t algorithm; /* only of kernels on symmetric memory */
    uint8_t is_symmetric;
    uint8_t is_linked;   /* belongs to a call */
    const char *library; /* static; NULL: NCCL. The next two are of a library's kernels */
    int64_t ranks;
    uint8_t phase; /* enum kineto_phase */
};

struct kineto_launch {
    int64_t correlation;
    int64_t begin_ns;
    int32_t duration_ns;
    int32_t thread;
};

/*
 * A range of the program: a step, an annotation, or the place where grouped calls are launched
 * ("nccl:coalesced").
 */
struct kineto_range {
    struct interval_ns time;
    int32_t thread;
    int64_t number;  /* step number, or the index of an annotation's text in `texts` */
    uint64_t offset; /* of the annotation of a function */
};

struct kineto_ranges {
    struct kineto_range *items; /* owned */
    size_t count;
    size_t capacity;
};

struct kineto_trace {
    struct kineto_groups groups;
    struct kineto_call *calls; /* owned, as are the other arrays */
    size_t call_count;
    size_t call_capacity;
    struct kineto_kernel *kernels;
    size_t kernel_count;
    size_t kernel_capacity;
    struct kineto_launch *launches; /* a ring of KINETO_LAUNCHES */
    size_t launch_count;            /* of all launches, not only those in the ring */
    size_t launch_capacity;
    struct kineto_ranges steps;
    struct kineto_ranges gpu_steps; /* from the annotations of the GPU */
    struct kineto_ranges annotations;
    struct kineto_ranges coalesced;
    struct kineto_ranges functions; /* annotations that name the function of NCCL's call; number: it */
    struct kineto_ranges
        pairs; /* annotations of sends and receives; number: own rank << 32 | rank of the peer */
    struct kineto_busy busy;
    struct kineto_plain_names plain_names;
    struct intern texts;
    struct map threads; /* thread ID of the trace -> 0, 1, 2 ... in order of appearance */

    /* What the trace says about its process. */
    int64_t base_ns;
    int64_t rank; /* global; COUNT_UNKNOWN, as the others */
    int64_t world_size;
    int64_t process;
    int64_t device;
    int has_calls;       /* there are calls, of any kind */
    int has_devices;     /* the trace has several devices */
    int64_t from_before; /* kernels launched before the recording began; they give no operations */
    int64_t dropped;     /* calls, launches and annotations that did not fit */
    int64_t groupless;   /* kernels of libraries whose group is unknown or doubtful */
    int has_phases;      /* kernels with phases are launched once for each phase */
};

void kineto_trace_init(struct kineto_trace *trace);
void kineto_trace_release(struct kineto_trace *trace);

/* Takes an event. Returns -1 if memory is out. */
int kineto_trace_add(struct kineto_trace *trace, const struct kineto_event *event, uint64_t offset);

/* Takes a member of the outermost object by its path, "distributedInfo.rank" for example. */
void kineto_trace_append(struct kineto_trace *trace, struct raw_json key, struct raw_json value);

/* -------------------- link.c -------------------- */

/*
 * Finds the kernels of each call. A kernel names the innermost operator around its launch, which is the call.
 * Where calls form a group (batched sends and receives, lists), the group's kernel is launched outside all of
 * them and names none: it belongs to the calls before it on its thread, back to the end of the previous
 * group. Calls and kernels are connected by launches on the host, never by GPU timestamps, as the GPU's clock
 * may put a kernel before its launch.
 *
 * Fills in `launch`, `first_kernel`, `last_kernel` and `is_linked`; sorts launches and ranges; takes missing
 * peers of sends and receives from their annotations; measures other work of the GPU. Returns -1 if memory is
 * out.
 */
int kineto_link(struct kineto_trace *trace);

/*
 * Whether a linked call is an operation. Up to torch 2.1 the wait for an operation has a call like it,
 * without kernel, annotation and size.
 */
int kineto_moves_data(const struct kineto_trace *trace, const struct kineto_call *call);

/*
 * Returns the last range of a thread that begins at or before a time, or -1. Requires ranges sorted by
 * kineto_link().
 */
int64_t kineto_range_before(const struct kineto_ranges *ranges, int32_t thread, int64_t at_ns);

/* -------------------- emit.c -------------------- */

/* Makes events from what is kept of a trace. */
struct kineto_emitter {
    const struct format_sink *sink;
    struct kineto_trace *trace;
    const char *path;
    char *host;         /* owned; NULL: unknown */
    int lacks_launches; /* some operation has neither a call nor a launch, so no annotation around it */
    int64_t process;
    int64_t next_ordinal;
};

void kineto_emitter_init(struct kineto_emitter *emitter, struct kineto_trace *trace,
                         const struct format_sink *sink, const char *path);
void kineto_emitter_release(struct kineto_emitter *emitter);

/*
 * Assembles operations and hands over those whose kernels have been read, in the order of their calls. With
 * `is_end`, hands over all others too, and what is known about the process. Returns -1 if the sink stopped it
 * or memory is out.
 */
int kineto_emit(struct kineto_emitter *emitter, int is_end, struct error *error);

#endif
