#ifndef NCCLPROF_STALLS_JUDGE_H
#define NCCLPROF_STALLS_JUDGE_H

#include "stalls/stalls.h"

/* What the files that judge edges share. */

/* Consecutive training steps in which an edge's wait stands out. */
struct episode {
    int32_t edge;
    int32_t first_step;
    int32_t last_step;
    enum stalls_wait wait;
    int64_t total_ns;
    int64_t weakest_ns;
    int64_t standstill_ns;
    double wait_mean_ns;
    double usual_mean_ns;
};

/* What is usual for an edge in one kind of operation, and how long its steps wait in the middle. */
struct usual_wait {
    int32_t edge;
    int32_t place;
    double wait_ns;    /* median over training steps of SendWait per network step */
    double busy_ns;    /* per training step */
    double operations; /* likewise */
};

struct judge {
    struct stalls *stalls;
    const struct stalls_options *options;
    size_t *first; /* per edge, and one past the end: its cells */
    struct episode *episodes;
    size_t episode_count;
    size_t episode_capacity;
    struct usual_wait *usuals;
    size_t usual_count;
    size_t usual_capacity;
    int64_t *list;      /* scratch, of as many as an edge has cells */
    struct map inbound; /* seat, training step -> the most that its receives waited beyond the usual */
};

#endif
