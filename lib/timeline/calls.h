#ifndef NCCLPROF_TIMELINE_CALLS_H
#define NCCLPROF_TIMELINE_CALLS_H

#include "base/keyed.h"
#include "job/job.h"

/* Of an operation, what a job in memory has no more: its host's part, and where it was enqueued. */
struct call {
    int64_t begin_ns; /* on its host's clock, the call, else being enqueued; TIME_UNKNOWN */
    int64_t end_ns;   /* it was enqueued; TIME_UNKNOWN */
    uint64_t stream;  /* 0: not known */
};

/* The numbers of a job's operations by their ids in the store, ascending: freed by the caller, NULL when
 * memory is out. */
struct keyed *operations_by_id(const struct job *job);

/* Reads that of all operations of a job, one each, in their order: *calls is freed by the caller. */
int calls_read(const struct job *job, struct call **calls, struct error *error);

#endif
