#ifndef NCCLPROF_DELAY_PROPAGATION_H
#define NCCLPROF_DELAY_PROPAGATION_H

#include "baseline/baseline.h"
#include "job/job.h"
#include "network/transfer_excess.h"

/*
 * Where waiting comes from (after Boehme et al., ACM TOPC 3(2), 2016). In every operation that nobody leaves
 * before all have come, each member waited for the last to arrive: its duration less the shortest. That wait
 * is explained by what happened to the last one since both last met, on this communicator (of a pair, the two
 * of them there) or in an operation of all ranks: its own time beyond the usual takes the blame; what it
 * waited itself passes the blame on to whoever that wait was blamed on; transfers longer than usual are the
 * network's; the rest stays unexplained. Each wait is shared out whole, so that for every rank own +
 * inherited + network + unexplained is what others waited for it.
 */
struct delay {
    int64_t own_ns;       /* others waited for this rank, and that was its own doing */
    int64_t inherited_ns; /* ... and it had been made late by others */
    int64_t network_ns;   /* ... and its transfers were slow */
    int64_t unexplained_ns;
    int64_t caused_ns; /* own_ns and what others inherited from it */
    int64_t times_last;
    int64_t forgotten;      /* waits for it with causes that are not remembered any more */
    int64_t instances;      /* that it was in and whose waiting can be read */
    int32_t inherited_from; /* the rank most of inherited_ns came from; -1 */
    int64_t inherited_most_ns;
};

/* One per rank, owned by the caller (free). `excess` is of each operation, `transfers` of each instance. */
struct delay *delays_measure(const struct job *job, const struct excess_list *excess,
                             const struct transfer_excess *transfers, struct error *error);

/* Steps of a job as it is loaded, from `first` to before `end`; what has no step is step -1. */
struct delay_steps {
    int32_t first;
    int32_t end;
};

#define DELAY_ALL_STEPS ((struct delay_steps){INT32_MIN, INT32_MAX})

/*
 * The same of a run that is loaded in rows of steps one after the other: what ranks remember goes on from
 * each to the next. All of these jobs have the ranks and communicators of `job`.
 */
struct delays;

/* NULL when memory is out. Release it with delays_end. */
struct delays *delays_new(const struct job *job);

/* Adds some of the steps that are loaded, later ones than those that were added before. */
int delays_add(struct delays *delays, const struct job *job, const struct excess_list *excess,
               const struct transfer_excess *transfers, struct delay_steps steps, struct error *error);

/* What has been added, one per rank, owned by the caller (free). `delays` is released. */
struct delay *delays_end(struct delays *delays);

#endif
