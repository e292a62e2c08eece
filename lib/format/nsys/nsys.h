#ifndef NCCLPROF_FORMAT_NSYS_NSYS_H
#define NCCLPROF_FORMAT_NSYS_NSYS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct call_reader;
struct error;
struct format_sink;

/* -------------------- profile.c -------------------- */

/*
 * What NCCL attaches to a call besides its name: an NVTX payload. NCCL registers its layout, and the export
 * lists it (NVTX_PAYLOAD_SCHEMA_ENTRIES). 32 bytes precede the values: domain, layout and sizes. The names of
 * the values are those of NVIDIA/nccl, src/include/nvtx_payload_schemas.h.
 */
enum nsys_field {
    NSYS_COMMUNICATOR = 0, /* hash; since NCCL 2.25 */
    NSYS_BYTES,
    NSYS_ROOT,
    NSYS_PEER,
    NSYS_RANKS,
    NSYS_RANK,
    NSYS_DEVICE,
    /* Of a task, the range around its launch: NCCL's numbers (pull request 2223). */
    NSYS_FUNCTION,
    NSYS_ALGORITHM,
    NSYS_PROTOCOL,
    NSYS_CHANNELS,
    NSYS_FIELDS
};

struct nsys_payload {
    int is_there[NSYS_FIELDS];
    int64_t value[NSYS_FIELDS]; /* a hash is stored by its bits */
};

struct nsys_layout {
    int64_t domain;
    int64_t schema;
    enum nsys_field field;
    size_t offset; /* from the first value */
};

struct nsys_layouts {
    struct nsys_layout *items; /* owned */
    size_t count;
    size_t capacity;
    int has_protocol; /* some layout has one */
};

/* Reads the values of a payload. One that is too short for its layout is ignored. */
void nsys_payload_take(const struct nsys_layouts *layouts, const struct foreign_value *blob,
                       struct nsys_payload *payload);

struct nsys_call {
    int64_t thread; /* nsys' globalTid: host, process and thread */
    struct interval_ns api;
    enum function function;
    uint64_t communicator_hash; /* 0: not given */
    int64_t bytes;
    int64_t root;
    int64_t peer;
    int64_t first_kernel; /* of its kernels; -1 */
    int64_t last_kernel;
    int64_t task; /* -1 */
    uint64_t row;
};

/* What NCCL chose for a collective: a range of its thread while it launches the collective. */
struct nsys_task {
    int64_t thread;
    int64_t begin_ns;
    uint64_t communicator_hash;
    enum function function;
    int64_t bytes;
    enum algorithm algorithm;
    enum protocol protocol;
    int64_t channel_count;
};

/* A range of the program around its calls. */
struct nsys_range {
    int64_t thread;
    struct interval_ns at;
    int64_t text;   /* number in `texts`; -1: not known yet */
    int64_t number; /* nsys' number of the text */
    uint64_t row;
};

struct nsys_member {
    int64_t process; /* bits of nsys' globalPid */
    uint64_t communicator_hash;
    int64_t rank;
    int64_t size;
    int64_t device;
};

struct nsys_kernel {
    int64_t process;
    int64_t correlation;
    struct interval_ns device;
    struct interval_ns launch; /* TIME_UNKNOWN */
    int64_t thread;            /* thread that launched it; -1 */
    int64_t number;            /* device number; -1 */
    int64_t stream;
    enum algorithm algorithm; /* only of kernels on symmetric memory */
    int is_symmetric;
    int has_graph;
};

struct nsys_profile {
    const struct format_sink *sink;
    const struct foreign_tables *tables;
    struct nsys_layouts layouts;
    struct intern texts; /* names that contain NCCL names, and UUIDs */
    struct map text_of;  /* nsys' number of a text -> number in `texts` */
    struct nsys_call *calls;
    size_t call_count;
    size_t call_capacity;
    struct nsys_kernel *kernels;
    size_t kernel_count;
    size_t kernel_capacity;
    struct nsys_task *tasks;
    size_t task_count;
    size_t task_capacity;
    struct nsys_range *ranges;
    size_t range_count;
    size_t range_capacity;
    struct nsys_member *member_list;
    size_t member_list_count;
    size_t member_capacity;
    struct map kernel_of; /* (process, correlation) -> kernel */
    struct map threads;   /* threads that call NCCL -> 1 */
    struct map uuid_of;   /* (process, device) -> number in `texts` */
    struct buffer host;
    int64_t epoch_ns; /* when the recording began; 0: unknown */
    int is_full;      /* something was skipped because a limit was reached */
};

void nsys_profile_init(struct nsys_profile *profile, const struct foreign_tables *tables,
                       const struct format_sink *sink);
void nsys_profile_release(struct nsys_profile *profile);

/*
 * Reads all tables. Returns -1 with an error if memory is out, a table cannot be read, or the sink stopped
 * it.
 */
int nsys_profile_read(struct nsys_profile *profile, struct error *error);

/* -------------------- ranges.c -------------------- */

/* Returns nsys' process ID from the ID of one of its threads. */
int64_t nsys_process_of(int64_t thread);

/* Returns the operating system's PID from nsys' process ID. */
int64_t nsys_pid_of(int64_t process);

/* Returns the origin of a process; its communicator is `hash`, or 0. */
struct origin nsys_origin(const struct nsys_profile *profile, int64_t process, uint64_t hash);

/* Converts a time of the recording to nanoseconds since the epoch; TIME_UNKNOWN stays. */
int64_t nsys_wall(const struct nsys_profile *profile, int64_t ns);

/*
 * Takes a row of NVTX_EVENTS that is no call of NCCL: a range of the program, or one that describes a call.
 * Ranges of libraries, which have domains of their own, and of the operators of PyTorch (emit_nvtx) are
 * passed by. Returns -1 with an error if memory is out or the sink stopped it.
 */
struct nsys_row {
    int64_t thread;
    struct interval_ns at;
    int64_t type;     /* nsys' event type; COUNT_UNKNOWN */
    int64_t domain;   /* 0: the default domain */
    const char *text; /* NULL: nsys' number of the text is `number` */
    int64_t number;   /* COUNT_UNKNOWN */
    uint64_t row;
};
int nsys_take_range(struct nsys_profile *profile, struct call_reader *calls, const struct nsys_row *row,
                    struct error *error);

/* Reads the texts of ranges that have only a number; after the other tables. */
int nsys_read_range_texts(struct nsys_profile *profile, struct error *error);

/*
 * Hands over the ranges of the threads that call NCCL as tags of their process: the innermost range applies,
 * the newest of several threads. Texts that count ("step 12") lose their number. Returns -1 if the sink
 * stopped it or memory is out.
 */
int nsys_emit_tags(struct nsys_profile *profile, struct error *error);

/* -------------------- nsys.c -------------------- */

/*
 * Finds the kernels of each call. A call launches its own kernel. Within a group, the end of the group
 * launches it for all calls of the group on that thread, which are those since the previous launch. If calls
 * of several communicators wait for one launch, the trace does not show whose kernel it is, and these calls
 * get none. Tasks are matched in the same way: a call that encloses a task has it; within a group, the first
 * call of the same communicator, function and size without one. Sorts the calls by process and time. `*loose`
 * receives the number of kernels without a call.
 */
void nsys_link(struct nsys_profile *profile, int64_t *loose);

#endif
