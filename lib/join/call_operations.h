#ifndef NCCLPROF_JOIN_CALL_OPERATIONS_H
#define NCCLPROF_JOIN_CALL_OPERATIONS_H

#include "join/call_list.h"

/* The operations that descriptions may be of. */

struct call_operation {
    int64_t class;
    int64_t at_ns;   /* when it was issued, on its process's clock; 0: not known */
    int64_t wall_ns; /* the same as wall clock; TIME_UNKNOWN */
    int64_t id;
    int64_t series; /* index */
    int32_t rank;
};

/* A rank's operations of one function and communicator, of all sizes. */
struct call_series {
    int64_t least; /* number among them */
    int64_t greatest;
    int64_t count;
    int has_gaps; /* some have no number */
};

/* When a rank issued one of the operations. */
struct call_moment {
    int32_t rank;
    int64_t at_ns;
};

struct call_operations {
    struct call_operation *items; /* owned, as all arrays here; by class, moment and id */
    size_t count;
    size_t capacity;
    size_t class_count;
    size_t *first;               /* those of class i are items[first[i]] to items[first[i + 1] - 1] */
    struct call_moment *moments; /* of all items, by rank and moment */
    struct call_series *series;
    size_t series_count;
    size_t series_capacity;
};

void call_operations_release(struct call_operations *operations); /* also one that is all 0 */

/* Gives each description of `list` its class, and finds the operations of these classes. */
int call_operations_load(struct call_operations *operations, struct call_list *list, const struct work *work,
                         struct store *store, struct error *error);

/* Whether a rank issued any of them in [begin_ns, end_ns). */
int call_operations_between(const struct call_operations *operations, int32_t rank, int64_t begin_ns,
                            int64_t end_ns);

/*
 * Which end of a class's operations is whole, as their numbers tell: 1 the beginning (they count from 0, and
 * none is missing between), -1 not that one (they begin later, and none is missing between), 0: it cannot be
 * told.
 */
int call_operations_whole_end(const struct call_operations *operations, int64_t class);

#endif
