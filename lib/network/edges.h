#ifndef NCCLPROF_NETWORK_EDGES_H
#define NCCLPROF_NETWORK_EDGES_H

#include "baseline/baseline.h"
#include "job/job.h"

/*
 * What each directed edge (sender, receiver) waited for the network in one operation, as the sending side
 * recorded it, and how much more than usual for the same operation of other steps.
 */
struct edge {
    int32_t instance;
    int32_t sender;
    int32_t receiver;
    int32_t communicator;
    int32_t position; /* of the sender's operation in its step */
    int32_t step;
    int32_t steps;   /* network steps, not training steps */
    int64_t wait_ns; /* SendWait, summed over them */
    int64_t wait_max_ns;
    int64_t extra_ns; /* wait_ns beyond the usual; may be negative */
    int64_t busy_ns;  /* time in which it waited for the network, of its busiest channel */
    int64_t over_ns;  /* busy_ns beyond the usual where that stands out (busy_time.c), else 0 */
};

struct edges {
    struct edge *items; /* owned; by instance */
    size_t count;
    size_t *first; /* owned; per instance, and one past the end */
};

int edges_init(struct edges *edges, const struct job *job, const struct baseline *baseline, double sigmas,
               struct error *error);
void edges_release(struct edges *edges);

#endif
