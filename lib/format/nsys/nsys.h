#ifndef NCCLPROF_FORMAT_NSYS_NSYS_H
#define NCCLPROF_FORMAT_NSYS_NSYS_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;

/* -------------------- profile.c -------------------- */

/*
 * What NCCL says of a call beside its name: a payload of NVTX, in the layout that NCCL registered for it and
 * the export lists (NVTX_PAYLOAD_SCHEMA_ENTRIES). In front of the values stand 32 bytes: domain, layout and
 * sizes. Names of values: NVIDIA/nccl, src/include/nvtx_payload_schemas.h.
 */
enum nsys_field {
    NSYS_COMMUNICATOR = 0, /* hash; from NCCL 2.25 on */
    NSYS_BYTES,
    NSYS_ROOT,
    NSYS_PEER,
    NSYS_RANKS,
    NSYS_RANK,
    NSYS_DEVICE,
    NSYS_FIELDS
};

struct nsys_payload {
    int is_there[NSYS_FIELDS];
    int64_t value[NSYS_FIELDS]; /* bits of a hash */
};

struct nsys_layout {
    int64_t domain;
    int64_t schema;
    enum nsys_field field;
    size_t offset; /* in the values */
};

struct nsys_layouts {
    struct nsys_layout *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Takes what a payload says. What is too short for its layout says nothing. */
void nsys_payload_take(const struct nsys_layouts *layouts, const struct foreign_value *blob,
                       struct nsys_payload *payload);

struct nsys_call {
    int64_t thread; /* nsys' globalTid: host, process and thread */
    struct interval_ns api;
    enum function function;
    uint64_t communicator_hash; /* 0: not said */
    int64_t bytes;
    int64_t root;
    int64_t peer;
    int64_t first_kernel; /* that does its work; -1 */
    int64_t last_kernel;
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
    int64_t thread;            /* that launched it; -1 */
    int64_t number;            /* of its device; -1 */
    int64_t stream;
    enum algorithm algorithm; /* on symmetric memory alone */
    int is_symmetric;
    int has_graph;
};

struct nsys_profile {
    const struct format_sink *sink;
    const struct foreign_tables *tables;
    struct nsys_layouts layouts;
    struct intern texts; /* names that hold NCCL's, and UUIDs */
    struct map text_of;  /* nsys' number of a text -> number in texts */
    struct nsys_call *calls;
    size_t call_count;
    size_t call_capacity;
    struct nsys_kernel *kernels;
    size_t kernel_count;
    size_t kernel_capacity;
    struct nsys_member *member_list;
    size_t seat_count;
    size_t member_capacity;
    struct map kernel_of; /* (process, correlation) -> kernel */
    struct map uuid_of;   /* (process, device) -> number in texts */
    struct buffer host;
    int64_t epoch_ns; /* when the recording began; 0: not said */
    int is_full;      /* something was passed over since there was too much */
};

void nsys_profile_init(struct nsys_profile *profile, const struct foreign_tables *tables,
                       const struct format_sink *sink);
void nsys_profile_release(struct nsys_profile *profile);

/* Reads all tables. -1 with an error: memory is out, a table cannot be read on, or the sink stopped it. */
int nsys_profile_read(struct nsys_profile *profile, struct error *error);

/* nsys' number of a process, of one of its threads. */
int64_t nsys_process_of(int64_t thread);

/* The operating system's. */
int64_t nsys_pid_of(int64_t process);

/* -------------------- nsys.c -------------------- */

/*
 * Which kernel does which call's work. A call launches its kernel itself, or, in a group, the group's end
 * does for all calls of it on that thread: those since the launch before. Where calls of several
 * communicators wait for a launch, nothing tells whose kernel it is, and they get none. Puts calls in order,
 * by process and time. *loose counts kernels of no call.
 */
void nsys_link(struct nsys_profile *profile, int64_t *loose);

#endif
