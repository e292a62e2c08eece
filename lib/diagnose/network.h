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
 * What each directed edge (sender, receiver) waited for the network in one operation, as recorded by the
 * sender, and how much that exceeds the baseline of the same operation in other steps.
 */
struct edge {
    int32_t instance;
    int32_t sender;
    int32_t receiver;
    int32_t communicator;
    int32_t position; /* of the sender's operation in its step (struct baseline) */
    int32_t step;
    int32_t steps;   /* number of network steps */
    int64_t wait_ns; /* SendWait, sum over its network steps */
    int64_t wait_max_ns;
    int64_t extra_ns; /* wait_ns minus the baseline; may be negative */
    int64_t busy_ns;  /* time in which its busiest channel waited for the network */
    int64_t over_ns;  /* busy_ns above the baseline where it stands out (edges.c), else 0 */
};

/*
 * Fills in over_ns. Edges at one place of the step (role and position of the sender) are compared with each
 * other and with their own other steps, as ranks are (struct place). Returns -1 when memory runs out.
 */
int edges_measure_busy(struct edges *edges, const struct job *job, const struct baseline *baseline,
                       double sigmas);

/* -------------------- slow_transfers.c -------------------- */

/*
 * What was found about the transfer of an instance; one per instance of the job. Durations in nanoseconds, as
 * differences of times on one clock.
 */
struct transfer_excess {
    int64_t beyond_ns; /* transfer minus the baseline of its place; TIME_UNKNOWN */
    int64_t slow_ns;   /* by how much it was slow, from its transfer or from its links; 0 where nothing stands
                          out */
    int64_t some_ns;   /* part of slow_ns for which a link held only some members: it is not part of the
                          transfer time */
    int has_slow_link; /* a link of it stands out */
    int32_t culprit;   /* job rank that made it slow, by a finding; -1: none */
};

/*
 * Returns the baseline transfer time of an instance: its transfer plus some_ns minus slow_ns. TIME_UNKNOWN if
 * the transfer is unknown, or if that is not positive, as for a receive that hides more than its own known
 * duration.
 */
int64_t transfer_usual_ns(const struct job_instance *instance, const struct transfer_excess *excess);

/* Transfer times by kind of operation: communicator, function and size. */
struct kind_times {
    struct kind_time {
        uint64_t kind;
        int64_t transfer_ns;
    } * items; /* owned; sorted */
    size_t count;
};

struct step_set;

/* Lists those from a step on, but not of the steps of a set. Returns -1 when memory runs out. */
int kind_times_init(struct kind_times *times, const struct job *job, int32_t first_step,
                    const struct step_set *without);
void kind_times_release(struct kind_times *times);

/* The median of the kind of an instance; TIME_UNKNOWN: there is none. */
int64_t kind_times_median(const struct kind_times *times, const struct job *job,
                          const struct job_instance *instance);

/*
 * Records the culprit of the instances, `count` in number, that it made longer by what `cuts` has for them,
 * where that is above 0 and no culprit is known yet.
 */
void transfers_note_culprit(struct transfer_excess *transfers, const int64_t *cuts, size_t count,
                            int32_t rank);

/* -------------------- standstill.c -------------------- */

/*
 * For how long no data arrived in a collective once all members with a trace had started (struct
 * job_arrivals): the least of all channels, because a single channel may be slow by itself, but all wait for
 * a rank that has not started. What network steps reach by chance counts as 0.
 */
struct stillness {
    int64_t at_first_ns;    /* before the first data; INT64_MAX, as all: no network steps are recorded */
    int64_t from_absent_ns; /* the same, on channels from a rank without a trace; INT64_MAX: there are none */
    int64_t at_any_ns;      /* at any time */
    int64_t unusual_ns;     /* at any time, but counted from twice the average distance of network steps */
    int64_t pace_ns;        /* average distance of network steps */
    int32_t channels;
    int32_t before_due; /* channels that stood still longest when data of the rank was due */
};

/*
 * `number` is that of a rank in the communicator. In a ring in the order of the numbers, each receiver gets
 * the data of its sender first, then that of the rank before it, and so on.
 */
struct stillness stillness_of(const struct job *job, const struct job_instance *instance, int64_t number);

/*
 * How long the members waited for a rank without a trace to start. Until then nothing arrives from that rank;
 * other channels may first carry what other ranks sent, but then stand still as well: most of them when data
 * of the rank is due. Where channels stand still at another time, a rank that had started may be what holds
 * them up, so that is no such wait.
 */
int64_t stillness_wait_ns(const struct stillness *still);

#endif
