#ifndef NCCLPROF_DIAGNOSE_NETWORK_H
#define NCCLPROF_DIAGNOSE_NETWORK_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct edges;
struct job;
struct job_instance;

/* -------------------- edges.c -------------------- */

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
    int64_t over_ns;  /* busy_ns beyond the usual where that stands out (edges.c), else 0 */
};

/*
 * Where a ring had one slow link, the order in which its members were done tells who is at neither end of it.
 * Marks those in `cleared`, by operation, of an instance that was slow by `slow_ns`; none where the order
 * does not tell. -1 when memory is out.
 */
int ring_clear_members(const struct job *job, const struct job_instance *instance, int64_t slow_ns,
                       unsigned char *cleared);

/*
 * Fills over_ns. Edges at one place of the step (sender's role and position) are held against each
 * other and their own other steps, as ranks are (baseline.h).
 */
int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas);

/* -------------------- slow_transfers.c -------------------- */

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

/*
 * Which transfers were slow (slow_ns, beyond_ns): those that stand out against the same place of other steps
 * and of other communicators by more than `sigmas`. -1 when memory is out.
 */
int transfers_find_slow(const struct job *job, const struct baseline *baseline, double sigmas,
                        struct transfer_excess *transfers);

/*
 * The shortest duration does not show a link that delays only some members, or hardly, and nothing where
 * kernel times are unknown or the link was always slow. Its network steps do. Where the transfer shows half
 * of it, that is no other slowness.
 */
int transfers_find_slow_links(const struct job *job, const struct edges *edges,
                              struct transfer_excess *transfers);

/*
 * Whose sending made instances slow (culprit), where no network steps say. -1 when memory
 * is out.
 */
int cover_slow_instances(const struct job *job, const struct baseline *baseline,
                         struct transfer_excess *transfers);

/* -------------------- blame_by_edges.c -------------------- */

/* Whose links made slow instances slow (culprit). -1 when memory is out. */
int edges_blame(const struct job *job, const struct edges *edges, struct transfer_excess *transfers);

#endif
