#ifndef NCCLPROF_STALLS_STALLS_H
#define NCCLPROF_STALLS_STALLS_H

#include "base/intern.h"
#include "base/map.h"
#include "store/roster.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Network edges: what the steps of the proxy threads waited for, by sender and receiver. All figures are of
 * one side's clock at a time. Memory: 4 bytes a network step, and a cell an edge, kind of operation and
 * training step.
 */

/* A rank as an end of an edge. */
struct stalls_seat {
    int64_t global_rank; /* -1 */
    char *name;          /* owned */
    int32_t run;
};

struct stalls_run {
    int64_t id;
    int32_t step_count;     /* training steps */
    int32_t first_step;     /* 1: step 0 is warm-up */
    int64_t median_step_ns; /* 0: not known */
    int64_t network_steps;
};

/* Waits of network steps, in units of 10 ns; what is longer than 42 s counts as that. */
struct stalls_waits {
    uint32_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* What a step of the sending side waited for. */
enum stalls_wait { STALLS_NETWORK = 0, STALLS_PEER, STALLS_GPU, STALLS_WAITS };

enum stalls_verdict {
    STALLS_OK = 0,
    STALLS_UNKNOWN, /* nothing to compare with */
    STALLS_NO_DATA, /* the sender's GPU was late: not the network */
    STALLS_NO_CREDIT,
    STALLS_PAUSED,
    STALLS_SLOW_LINK,
    STALLS_SLOW_SENDER,
    STALLS_SLOW_RECEIVER,
    STALLS_NOT_CONFIRMED /* it was slow, and diagnose does not believe that it was the network's fault */
};

struct stalls_edge {
    int32_t run;
    int32_t sender; /* seats */
    int32_t receiver;
    int32_t communicator;        /* -1: all of them */
    const char *label;           /* borrowed: its label; "" for all of them */
    int32_t channel;             /* -1: all of them */
    int64_t sent_steps;          /* network steps that the sender recorded */
    struct stalls_waits send;    /* SendWait of those that came to it, and whose end is known */
    struct stalls_waits receive; /* RecvWait of the receiver's, likewise */
    int64_t send_wait_max_ns;
    enum stalls_verdict measured; /* by its waits alone */
    /* The verdict, which is that of diagnose where there is one, and what it rests on. */
    enum stalls_verdict verdict;
    int32_t first_step; /* -1 with last_step: none */
    int32_t last_step;
    int64_t stalled_ns;
    double wait_mean_ns; /* SendWait in those steps, and usually; negative: not known */
    double usual_mean_ns;
};

/*
 * An edge's steps in one kind of operation and one training step, summed. Later (judge_learn_usual) the same
 * over all kinds of operation. `busy_ns` is the time in which at least one network step waited: several wait
 * at once.
 */
struct stalls_cell {
    int32_t edge;
    int32_t place; /* the kind of operation: function, size, tag */
    int32_t step;
    int32_t received; /* recorded by the receiver: busy_ns[STALLS_NETWORK] is RecvWait */
    int64_t operations;
    int64_t steps;
    int64_t wait_ns; /* SendWait, summed over network steps */
    int64_t usual_wait_ns;
    int64_t busy_ns[STALLS_WAITS];
    int64_t usual_ns[STALLS_WAITS];
    int64_t standstill_ns; /* longest time in which steps were on their way and none arrived */
};

struct stalls {
    int by_channel;
    int by_communicator;
    struct roster roster;
    struct stalls_run *runs; /* owned, as all below; those of the roster */
    size_t run_count;
    struct stalls_seat
        *seats; /* the ranks of the roster, and behind them those that nobody says who they are */
    size_t seat_count;
    size_t seat_capacity;
    struct stalls_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    struct stalls_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    size_t place_count;
    int64_t detached_steps; /* of other processes' communicators (PXN): nobody's edge */
    struct intern tags;
    struct map made_seats; /* communicator, rank in it -> those of nobody that is known */
    struct map edge_of;
    struct map cell_of;
    struct map place_of;
};

struct stalls_options {
    double sigmas;    /* beyond an edge's own spread */
    double factor;    /* times its usual wait */
    double min_stall; /* of a median step, 0.03 for 3 % */
};

void stalls_init(struct stalls *stalls);
void stalls_release(struct stalls *stalls);

#endif
