#ifndef NCCLPROF_POSTMORTEM_WAIT_GRAPH_H
#define NCCLPROF_POSTMORTEM_WAIT_GRAPH_H

#include "postmortem/call_states.h"

/*
 * Who waits for whom, over all communicators. Each rank waits at its oldest open call, with all that was
 * launched at once with it. Of the other members of that call, those whose oldest it is, too, are with it;
 * those that have it open behind something older, or never made it, are waited for; where they have it done,
 * the waiting rank's own GPU has not finished what all others have.
 *
 * All that wait in one collective wait for the same ranks: their waits are held once, with the call. So the
 * graph is as large as the calls that ranks wait in have members, whatever number of them waits.
 */

/* That who waits in a call waits for a rank. */
struct wait {
    int32_t to;           /* a rank; one that waits itself does not wait for itself */
    int32_t call;         /* in `calls` */
    int32_t operation;    /* the send or receive that is waited in; -1: the collective that the call is */
    int32_t behind;       /* where `to` has it open, the call; -1: it never made it, or that is not known */
    int64_t sure_from_ns; /* who made the call before may not wait for it: nothing tells what it did */
    int32_t next_to;      /* the next wait for the same rank; -1 */
};

/* Ranks that wait in the same, whose operations are of one instance. */
struct wait_party {
    int32_t instance;
    int32_t count;
    int32_t earliest; /* the rank that called it first; of several the least */
    int32_t next;     /* of the same call; -1 */
};

/* A collective that ranks wait in, or the sends and receives of one rank that were launched at once. */
struct wait_call {
    int32_t first_waiter; /* the next ones stand in struct waiter; ascending */
    int32_t last_waiter;
    int32_t first_party; /* -1: of sends and receives */
    int32_t first;       /* of its waits */
    int32_t count;
    int64_t sure_from_ns; /* the least of its waits' */
    int32_t with; /* ends of what is waited in that are as far as who waits, which may be one of them */
    int32_t done; /* ends that have it behind them */
};

/* A rank at its oldest open call. */
struct waiter {
    int32_t operation; /* -1: it has none open */
    int32_t call;      /* -1 */
    int32_t next;      /* rank that waits in the same; -1 */
    int32_t count;     /* of its waits */
    int is_sure;       /* one of them is */
    int32_t with;      /* ends of what it waits in that are as far as it is */
    int32_t done;
};

struct wait_graph {
    const struct job *job;
    struct call_states states;
    struct waiter *waiters; /* owned: of each rank */
    int32_t *waits_for;     /* owned: of each rank, the first wait for it; -1 */
    struct wait *waits;     /* owned: by call, in order of the call's first waiter */
    size_t wait_count;
    size_t wait_capacity;
    struct wait_call *calls; /* owned */
    size_t call_count;
    size_t call_capacity;
    struct wait_party *parties; /* owned */
    size_t party_count;
    size_t party_capacity;
    struct map call_of;  /* (communicator, number) of a collective -> call */
    struct map party_of; /* (call, instance) -> party */
    int is_cut;          /* there are more waits than can be looked at: it is not whole */
};

/* -1 when memory is out; to be released all the same. */
int wait_graph_init(struct wait_graph *graph, const struct job *job);
void wait_graph_release(struct wait_graph *graph);

/* The operation that a rank waits in, of one of its waits. */
int32_t wait_operation(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* Whether a rank is sure to wait for that. */
int wait_is_sure(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* The party of a call whose operations are of an instance; NULL: there is none. */
const struct wait_party *wait_party_of(const struct wait_graph *graph, int32_t call, int32_t instance);

#endif
