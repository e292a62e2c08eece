#ifndef NCCLPROF_BASE_KEYED_H
#define NCCLPROF_BASE_KEYED_H

#include <stddef.h>
#include <stdint.h>

/* Where something stands in a list, and what orders it: a time, a cell, whom it belongs to. */
struct keyed {
    int64_t key;
    int32_t index;
};

/*
 * Sorts by key, least first; what has the same key stays in the order it was in. Linear where the list is
 * made of a few ascending runs, as traces are. `scratch` has room for `count`.
 */
void keyed_sort(struct keyed *items, struct keyed *scratch, size_t count);

#endif
