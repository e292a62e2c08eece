#ifndef NCCLPROF_NETWORK_TRANSFER_EXCESS_H
#define NCCLPROF_NETWORK_TRANSFER_EXCESS_H

#include "job/job.h"

/*
 * What is concluded of an instance's transfer; one for each instance of the job, by its number. Differences
 * of times on one clock: durations in nanoseconds.
 */
struct transfer_excess {
    int64_t beyond_ns; /* transfer less the usual at its place; TIME_UNKNOWN */
    int64_t slow_ns; /* by how much it was slow, by its transfer, its links or, of a receive whose end is not
                        told, what came late through it; 0 where it does not stand out */
    int64_t some_ns; /* of that, what a link held only some members for: it is not in the transfer */
    int32_t culprit; /* job rank whose link made it slow; -1 */
};

/* Nothing is concluded yet. Owned by the caller (free); NULL when memory is out. */
struct transfer_excess *transfers_new(const struct job *job);

/*
 * How long a transfer usually takes, as far as it is known: what it took, what only some members were held
 * for included, less what that was slow by. TIME_UNKNOWN; also of a receive that hides more than is known of
 * its own length.
 */
int64_t transfer_usual_ns(const struct job_instance *instance, const struct transfer_excess *excess);

/*
 * The slow instances of steps, by step, owned by the caller; first[step] is where those of a step begin,
 * first[step_count] the end of all. `first` has room for two more than there are steps and is zeroed. NULL
 * when memory is out.
 */
int32_t *transfers_slow_by_step(const struct job *job, const struct transfer_excess *transfers,
                                size_t *first);

#endif
