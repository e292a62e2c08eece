#ifndef NCCLPROF_POSTMORTEM_WAIT_GRAPH_H
#define NCCLPROF_POSTMORTEM_WAIT_GRAPH_H

#include "postmortem/call_states.h"

/*
 * Who waits for whom, over all communicators. Each rank waits at its oldest open call, with all that was
 * launched at once with it. Of the other members of that call, those whose oldest it is, too, are with it;
 * those that have it open behind something older, or never made it, are waited for; where they have it done,
 * the waiting rank's own GPU has not finished what all others have.
 */

struct wait {
    int32_t from; /* ranks */
    int32_t to;
    int32_t operation; /* that `from` waits in */
    int32_t behind;    /* where `to` has it open, the call; -1: it never made it, or that is not known */
    int is_sure;       /* else it may not be waited for: nothing tells what it did */
};

/* A rank at its oldest open call. */
struct waiter {
    int32_t operation; /* -1: it has none open */
    size_t first;      /* of its waits */
    size_t count;
    int32_t sure; /* of them */
    int32_t with; /* ends of what it waits in that are as far as it is */
    int32_t done; /* ends that have it behind them */
};

struct wait_graph {
    const struct job *job;
    struct call_states states;
    struct waiter *waiters; /* owned: of each rank */
    struct wait *waits;     /* owned: by who waits */
    size_t wait_count;
    size_t wait_capacity;
};

/* -1 when memory is out; to be released all the same. */
int wait_graph_init(struct wait_graph *graph, const struct job *job);
void wait_graph_release(struct wait_graph *graph);

#endif
