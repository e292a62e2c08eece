#ifndef NCCLPROF_ANALYSE_MOMENT_H
#define NCCLPROF_ANALYSE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* When something happened to an operation, for putting many in order. */
struct moment {
    int64_t time_ns;
    int32_t operation;
};

/*
 * Sorts by time; what happened at the same time stays in the order it was in. Linear where the list is made
 * of a few ascending runs, as traces are. `scratch` has room for `count`.
 */
void moments_sort(struct moment *items, struct moment *scratch, size_t count);

#endif
