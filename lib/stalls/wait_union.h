#ifndef NCCLPROF_STALLS_WAIT_UNION_H
#define NCCLPROF_STALLS_WAIT_UNION_H

#include "base/keyed.h"
#include "model/event.h"
#include "stalls/stalls.h"

/* The waits of one operation's network steps, by what they waited for, until they are summed into its cells.
 */
struct wait_span {
    int64_t begin_ns;
    int64_t end_ns;
    int32_t cell;
};

struct span_list {
    struct wait_span *items; /* owned */
    size_t count;
    size_t capacity;
};

struct spans {
    struct span_list of[STALLS_WAITS];
    struct keyed *by_cell; /* scratch, owned, as are the next two: room for `room` */
    struct keyed *by_begin;
    struct keyed *scratch;
    int64_t *ends; /* likewise */
    size_t room;
};

void spans_release(struct spans *spans);

/* Notes a wait of a step of `cell`. One without both ends says nothing; -1 when memory is out. */
int spans_add(struct spans *spans, int32_t cell, enum stalls_wait wait, const struct interval_ns *interval);

/* How many waits are noted. */
size_t spans_count(const struct spans *spans);

/*
 * The operation is complete: adds to each of its cells how long at least one of its steps waited, and keeps
 * the longest standstill of the network. There are none left afterwards. -1 when memory is out.
 */
int spans_sum(struct spans *spans, struct stalls_cell *cells);

#endif
