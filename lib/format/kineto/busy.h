#ifndef NCCLPROF_FORMAT_KINETO_BUSY_H
#define NCCLPROF_FORMAT_KINETO_BUSY_H

#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 * When the GPU was at work for others than NCCL: kernels, copies, on whatever stream. Times as they are
 * printed. Intervals that touch are one; where there are too many, those that lie nearest are.
 */
enum { KINETO_INTERVALS = 1 << 18 };

struct kineto_busy {
    struct interval_ns *items; /* owned */
    size_t count;
    size_t capacity;
    int is_sorted; /* and none touches another */
};

void kineto_busy_release(struct kineto_busy *busy);

/* -1: out of memory. */
int kineto_busy_add(struct kineto_busy *busy, struct interval_ns interval);

/* Sorts and unites. */
void kineto_busy_settle(struct kineto_busy *busy);

/* How much of the time between it was at work. Wants it settled. */
int64_t kineto_busy_within(const struct kineto_busy *busy, int64_t begin_ns, int64_t end_ns);

/* Forgets what ended by then. */
void kineto_busy_forget(struct kineto_busy *busy, int64_t until_ns);

#endif
