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
    int64_t over_ns;  /* busy_ns beyond the usual where that stands out (links.c), else 0 */
};

struct edges {
    struct edge *items; /* owned; by instance */
    size_t count;
    size_t *first; /* owned; per instance, and one past the end */
};

int edges_init(struct edges *edges, const struct job *job, const struct baseline *baseline, double sigmas,
               struct error *error);

/*
 * links.c: fills over_ns. Edges at one place of the step (sender's role and position) are held against each
 * other and their own other steps, as ranks are (baseline.h).
 */
int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas);

/* blame.c: whose links made slow instances slow (culprit). -1 when memory is out. */
int edges_blame(struct job *job, const struct edges *edges);
void edges_release(struct edges *edges);

/*
 * blame_by_cover.c: whose sending made instances slow (culprit), where no network steps say. -1 when memory
 * is out.
 */
int cover_slow_instances(struct job *job);

#endif
