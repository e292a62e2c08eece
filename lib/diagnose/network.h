#ifndef NCCLPROF_DIAGNOSE_NETWORK_H
#define NCCLPROF_DIAGNOSE_NETWORK_H

#include "diagnose/scan.h"

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

/* -------------------- transfer_groups.c -------------------- */

/*
 * What is compared as a whole. Where network steps are recorded: all that a rank sends, or all that is sent
 * to it. Where none are: the members of a communicator, or a sender with its receiver.
 */
enum transfer_kind { TRANSFER_SENDS, TRANSFER_RECEIVES, TRANSFER_GROUP };

/*
 * Its sister groups, the family, are of the same kind; of groups without network steps, those that have
 * members at the same distances from each other, on as many hosts.
 */
struct transfer_group {
    enum transfer_kind kind;
    int32_t rank;     /* sender or receiver; -1: a group */
    int32_t instance; /* of a group: one of its instances, which has all its members */
    int32_t number;   /* before the groups were sorted by family */
    int32_t family;
    int crosses;          /* whether its members are on several hosts; -1: hosts are not known */
    double level;         /* lower quartile over steps of struct transfer_groups.ratio; NAN */
    double apart;         /* its level minus that of its sisters (compare_levels), if above 0; NAN */
    double outlier;       /* log likelihood ratio that sisters do not differ as much; 0: not asked */
    double spread[2];     /* standard deviation of its family, of `beyond` and of `ratio` */
    struct step_set best; /* best set of steps in `beyond`; period 0: there is none */
    double tail;          /* degrees of freedom of the noise of `beyond` */
    double factor;        /* by which the spread of its family is greater by the scores of quiet steps; 0 */
};

/*
 * A sender or receiver is compared with at least one other. Fewer steps than LEAST_KNOWN have no quartile and
 * no usual time of their own.
 */
enum { LEAST_OTHERS = 1, LEAST_KNOWN = 4 };

/* What a finding already explains (explained_network.c). */
struct told_transfers {
    unsigned char *edges;     /* [edge] */
    unsigned char *instances; /* [instance] */
};

/*
 * How much longer the transfers of each group took, by step: logarithms of ratios of sums of times, because a
 * slow link multiplies them. With network steps the time is their wait (SendWait). Without, it is the
 * shortest duration over the members of an instance, so a member that arrives late does not count. Times are
 * compared by function, bytes and phase (with network steps: function, bytes and size of the communicator),
 * with those of its sister groups in the same step, and with the lower quartile of the group's own
 * steps.
 */
struct transfer_groups {
    const struct job *job;      /* borrowed */
    const struct edges *edges;  /* borrowed */
    struct told_transfers told; /* borrowed */
    int32_t steps;
    int32_t first_step;           /* first step after warm-up */
    struct partitions partitions; /* for the hosts */
    struct transfer_group *items; /* owned; sorted by family */
    size_t count;
    int32_t *of_instance; /* owned: [instance], its group; -1: not compared */
    int32_t *of_sender;   /* owned: [rank], the group of its sends; -1 */
    int32_t *of_receiver; /* owned: same, of what is sent to it */
    double *ratio;        /* owned: [group * steps + step], to sister groups; NAN: not known */
    double *beyond;       /* owned: same, to its own quiet steps, about 0 where nothing is wrong */
    double *over_ns;      /* owned: same, by how much longer than in its own quiet steps; with network steps,
                             its slowest operation */
};

/*
 * Called by transfer_groups_init: finds the groups that transfer in at least half of the steps, and their
 * families. Returns -1 when memory runs out.
 */
int transfer_groups_find(struct transfer_groups *groups);

/* Also called by it: fills in `ratio`, `beyond` and `over_ns`. Returns -1 when memory runs out. */
int transfer_groups_measure(struct transfer_groups *groups);

/* Whether the network steps of an edge are compared. */
int transfer_groups_has_edge(const struct transfer_groups *groups, size_t edge);

/* The hosts of the ranks, or else blocks of ranks that do not use the network among themselves; NULL. */
const struct partition *transfer_groups_hosts(const struct transfer_groups *groups);

/*
 * Writes the members of a group, ascending; of a pair, the sender and then the receiver. `ranks` has room for
 * all ranks and two. Returns their number.
 */
size_t transfer_group_ranks(const struct transfer_groups *groups, size_t group, int32_t *ranks);

/* -------------------- slow_groups.c -------------------- */

/* Steps before `first_step` are warm-up. Returns -1 when memory runs out; release it in all cases. */
int transfer_groups_init(struct transfer_groups *groups, const struct job *job, int32_t first_step,
                         const struct edges *edges, struct told_transfers told);
void transfer_groups_release(struct transfer_groups *groups);

/* The median over the steps of a set of `ratio`, if `is_steady`, or of `beyond`. `list` has room for all. */
double transfer_groups_middle(const struct transfer_groups *groups, size_t group, int is_steady,
                              const struct step_set *set, double *list);

/* Thresholds for naming a unit. */
struct network_limits {
    double certainty;
    double times;    /* for what is slow in all steps: minimum ratio to its sisters */
    double pause_ns; /* so much longer took no healthy transfer, in any step */
    /* Borrowed: [step], 1: by far longer than usual, 0: not, -1: its duration is not known; NULL: none is. */
    const signed char *longer;
};

/* What a unit is made of (slow_units.c). */
enum network_unit { NETWORK_RANK, NETWORK_GROUP, NETWORK_HOST, NETWORK_HOSTS, NETWORK_ALL };

/* Groups that were slow in the same steps, and what explains them. */
struct slow_network {
    unsigned char *has; /* owned: [group] */
    double *scores;     /* owned: [group], for these steps */
    size_t group;       /* the most certain group */
    struct step_set steps;
    int is_steady;       /* compared with sister groups, not with its own past */
    int is_moment;       /* a single step, in which a transfer took pause_ns longer */
    double certainty;    /* log odds, after penalties, of the sum of the scores of the groups */
    double ahead;        /* how many times as slow the most certain group was in its least slow step as any of
                            the others, or it in other steps: ratio of logarithms; 0 where it is_steady */
    double *edge_excess; /* owned: [edge], the logarithm of how many times as long it waited as it should,
                            where the unit has it; 0: not slow, or not of the unit */
    enum network_unit unit;
    unsigned char *may; /* owned: [rank], one of these is at fault, or all of them together if `is_unit` */
    size_t count;       /* ranks in `may`; 0: the trace cannot tell anything about the ranks */
    int is_unit;
    int64_t later_ns;  /* by how much its only candidate joined operations later, per step; 0: not known */
    int receives;      /* what is sent to these ranks is slow, not what they send */
    size_t slow_links; /* of the unit */
};

int slow_network_init(struct slow_network *found, const struct transfer_groups *groups);
void slow_network_release(struct slow_network *found);

/*
 * Finds the most certain group that is left, and the groups that were slow in the same steps; then call
 * slow_units_find. Returns 1 if there is one, 0 if not, -1 when memory runs out.
 */
int slow_groups_next(struct transfer_groups *groups, const struct network_limits *least,
                     struct slow_network *found);

/*
 * Returns by how much an instance without network steps took longer than it should, as the logarithm of the
 * ratio; 0 if it is not of these groups and steps.
 */
double slow_groups_excess(const struct transfer_groups *groups, const struct slow_network *found,
                          size_t instance);

/* -------------------- slow_members.c -------------------- */

/*
 * If one of the candidates joined operations later in the steps in which transfers were slow, leaves only
 * that one and fills in later_ns. `least` is the certainty that it needs, in log odds. Returns -1 when memory
 * runs out.
 */
int slow_member_find(const struct job *job, const struct baseline *baseline, double least,
                     struct slow_network *found);

/* -------------------- slow_units.c -------------------- */

/*
 * Finds the smallest unit that explains the slow groups, and takes groups that it does not have out of
 * `found`. Fills in unit, may, count, is_unit, receives, edge_excess and certainty. Returns -1 when memory
 * runs out.
 */
int slow_units_find(const struct transfer_groups *groups, struct slow_network *found);

#endif
