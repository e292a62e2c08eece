#ifndef NCCLPROF_FORMAT_NSYS_PROFILE_H
#define NCCLPROF_FORMAT_NSYS_PROFILE_H

#include "base/buffer.h"
#include "base/intern.h"
#include "base/map.h"
#include "format/format.h"
#include "format/nsys/payload.h"

/*
 * What of an export is of NCCL: its calls (NVTX ranges), its kernels with their launches, and who is in its
 * communicators. Times are nanoseconds since the recording began. Memory: a record for each of these; all
 * else is passed over row by row. Tables and columns: NVIDIA's schema reference for Nsight Systems 2026.4.
 */

/* So many of each: more is told, and passed over. */
enum { NSYS_MOST = 1 << 24 };

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

struct nsys_seat {
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
    struct nsys_seat *seats;
    size_t seat_count;
    size_t seat_capacity;
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

#endif
