#ifndef NCCLPROF_FORMAT_KINETO_EVENT_H
#define NCCLPROF_FORMAT_KINETO_EVENT_H

#include "input/raw_json.h"
#include "model/vocab.h"

#include <stdint.h>

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

#endif
