#ifndef NCCLPROF_DIAGNOSE_DIAGNOSE_H
#define NCCLPROF_DIAGNOSE_DIAGNOSE_H

#include "diagnose/finding.h"
#include "diagnose/finding_place.h"
#include "diagnose/longer_steps.h"

#include <stddef.h>
#include <stdint.h>

struct delays;
struct edge;
struct hidden_lateness;
struct job;
struct job_rank;
struct place_limits;
struct replay_leaver;
struct replay_move;
struct transfer_excess;

/* -------------------- excess.c -------------------- */

/*
 * How far one operation is from the baseline of its place. Durations in nanoseconds on the rank's own device
 * timeline.
 */
struct excess {
    int64_t beyond_ns; /* own time minus the baseline, negative where it is shorter; TIME_UNKNOWN */
    int64_t excess_ns; /* by how much the rank itself was late: own time that stands out, at most what other
                          ranks waited; 0 where nothing stands out. Where own time is unknown: the part of
                          hidden_ns that excess.c attributes to the rank */
};

/*
 * One excess per operation. It takes four bytes where nothing stands out and beyond_ns is below one second,
 * which holds for most operations. The others are stored in `written`.
 */
struct excess_list {
    int32_t *brief; /* owned: beyond_ns; or EXCESS_UNKNOWN; or, from EXCESS_WRITTEN on, EXCESS_WRITTEN plus an
                       index into `written` */
    struct excess *written; /* owned */
    size_t count;           /* entries of `written` */
    size_t capacity;
    int32_t base; /* in a part of a list: number of entries in the parts before it, where its indexes begin */
    size_t most;  /* limit for `count` */
    int failed;   /* memory ran out and at least one excess was not stored */
};

enum { EXCESS_UNKNOWN = INT32_MIN, EXCESS_WRITTEN = 1 << 30 };

/* Returns excess_ns of an operation; 0 where nothing stands out. */
static inline int64_t excess_ns_at(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    return brief >= EXCESS_WRITTEN ? list->written[brief - EXCESS_WRITTEN - list->base].excess_ns : 0;
}

/* -------------------- baseline.c -------------------- */

/*
 * The baseline of each operation, and what stands out from it.
 *
 * Every rank repeats a sequence of operations each step. Its canonical sequence is the one seen in most
 * steps. Ranks with the same canonical sequence (function, size, communicator size at each position) play the
 * same role and are compared with each other. The place of an operation is (role, position). An operation has
 * a position only where its step follows the canonical sequence; gaps in the trace are allowed. A job whose
 * steps change over time has several sequences (roles.c): the positions of the later ones follow those of the
 * first, and each is compared only with operations at the same position.
 *
 * At a place, the own time x of rank r in step s is compared with two values: the median of the other ranks
 * in that step, and the lowest tenth of r's own values over all steps (the lower quartile where r has no
 * peers). The greater of the two is the baseline; x minus the baseline is the excess. sigma = 1.4826 x MAD of
 * the residuals of all ranks and steps of the place (Rousseeuw and Croux, 1993). An excess stands out if it
 * is greater than `sigmas` times sigma. Warm-up is left out: step 0 and what warm_up.c finds later. An excess
 * that stands out is limited to the longest wait of any other member of the operation, because an excess for
 * which no rank waited costs nothing.
 */
struct role {
    int32_t *ranks; /* owned: job ranks that play this role */
    size_t rank_count;
    int32_t length;  /* number of positions, of all call sequences */
    int32_t *begins; /* owned: first position of each call sequence, ascending; NULL if there is only one */
    int32_t call_sequences;
    struct place_limits *limits; /* owned; one per position */
};

/* Positions from `begin` up to but not including `end`. */
struct call_sequence_span {
    int32_t begin;
    int32_t end;
};

struct baseline {
    int32_t *positions; /* owned: per operation of the job, its position in the canonical sequence of its
                           step; -1 if it has none */
    struct excess_list excess;      /* owned; per operation */
    struct hidden_lateness *hidden; /* owned; per operation; NULL after baseline_forget_hidden, and with
                                       only_own */
    int64_t *explained_ns; /* owned; per operation: part of its excess own time that the amount of received
                              data explains; NULL where no rank receives varying amounts */
    struct role *roles;
    size_t role_count;
    size_t rank_count;
    int32_t *role_of_rank;  /* -1: the rank has no role */
    int32_t *rank_in_role;  /* index in role.ranks */
    int32_t *same_work;     /* per rank: the number of ranks, with itself, that do the same work (roles.c) */
    int32_t **predecessors; /* per rank: for each position, the position before it on its stream; a value that
                               is not less refers to the step before */
    int32_t first_step;     /* 1: step 0 is warm-up; 0 if no step follows it; where recording began later,
                               job.first_step */
    int32_t step_count;
    int32_t *stretch_of_step; /* owned: number of the regular stretch that each step belongs to, from the
                                 operations and the load of the rank with most operations. A baseline holds
                                 within one stretch */
    int32_t
        *warm_up; /* owned: steps after the first in which something is used for the first time (warm_up.c) */
    size_t warm_up_count;
    size_t warm_up_capacity;
    int steps_are_measured_by_calls; /* steps are measured from call to call because no operation has an end
                             time. Hosts run ahead and catch up, so a single step is not reliable */
    int32_t started_step; /* first step after the long steps at the start of the job; first_step if there are
                             none */
    /* Index of the operation at (role, position, rank in role, step); -1 if there is none. */
    int32_t **cells;  /* per role: [(position * rank_count + rank) * step_count + step] */
    int64_t *step_ns; /* duration of each step, median over ranks; TIME_UNKNOWN */
    int64_t *late_ns; /* [rank * step_count + step]: how much later than its baseline the host enqueued,
                         summed over places; NULL with only_own */
    struct replay_move *order; /* owned: per operation, the order in which a replay found that they can run;
                                  NULL: not found */
    int64_t median_step_ns;
    /*
     * Share of (rank, step) pairs that contain the whole sequence of their role. Where records are missing
     * between others, share of the operations of such sequences.
     */
    double regular;
};

struct baseline_options {
    double sigmas; /* an excess stands out beyond this many sigma */
    int only_own;  /* measure only beyond_ns of own times: every excess_ns is 0, and late_ns and hidden are
                      NULL */
};

/* Computes the baseline of a loaded job. Returns -1 on error, with nothing left to release. */
int baseline_init(struct baseline *baseline, const struct job *job, const struct baseline_options *options,
                  struct error *error);
void baseline_release(struct baseline *baseline);

/*
 * Counts lateness of hidden origin (struct hidden_lateness) as excess in steps where the rank was late by
 * itself elsewhere. -1 when memory runs out.
 */
int baseline_count_hidden(struct baseline *baseline, const struct job *job);

/* Frees baseline->hidden. Call it after baseline_count_hidden, the last that needs it. */
void baseline_forget_hidden(struct baseline *baseline);

/* Returns the positions of the call sequence that `position` belongs to. */
struct call_sequence_span role_sequence(const struct role *role, int32_t position);

/*
 * Returns the offset of a position from the first position of its call sequence. It is the same in every
 * step.
 */
static inline int32_t position_in_step(const struct role *role, int32_t position)
{
    return position - role_sequence(role, position).begin;
}

/*
 * Whether at least half of all steps are complete. Otherwise operations cannot be compared with others at the
 * same place.
 */
int baseline_is_regular(const struct baseline *baseline);

/*
 * Returns the index of the operation of a rank (index in its role) at a place in a step; -1 if there is none.
 */
int32_t baseline_cell(const struct baseline *baseline, int32_t role, int32_t position, size_t rank,
                      int32_t step);

/*
 * Returns the duration of a step for one rank; TIME_UNKNOWN where the trace lacks the timestamps, and for the
 * last step.
 */
int64_t baseline_rank_step_duration_ns(const struct baseline *baseline, const struct job *job, int32_t rank,
                                       int32_t step);
/*
 * Same, as begin and end on the rank's own clock. Returns 0, with both TIME_UNKNOWN, where the duration is
 * unknown.
 */
int baseline_rank_step_interval(const struct baseline *baseline, const struct job *job, int32_t rank,
                                int32_t step, int64_t *begin_ns, int64_t *end_ns);

/* -------------------- sequence_match.c -------------------- */

/* The consecutive operations of one rank in one step, in order of issue. */
struct stretch {
    int32_t first; /* index of the first operation; -1: none */
    int32_t count;
    uint64_t signature; /* hash of communicators, functions and sizes, in order */
    int has_gap;        /* by sequence numbers, operations are missing in it or next to it */
    /* borrowed; indexes of its operations, where they are taken from several steps; NULL: they are
     * consecutive */
    const int32_t *list;
};

/* Fills in the stretches of a rank, one per step of the job. Returns -1 when memory runs out. */
int stretches_cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches);

/*
 * Returns the canonical stretch of the steps from `first_step` on: the one whose signature most steps share,
 * preferring stretches without gaps; on a tie, the longest. It is empty if there is none. `sorted` is scratch
 * space for `count` stretches.
 */
struct stretch stretches_canonical(const struct stretch *stretches, int32_t first_step, int32_t count,
                                   struct stretch *sorted);

/* -------------------- edges.c -------------------- */

struct edges {
    struct edge *items; /* owned; sorted by instance */
    size_t count;
    size_t *first; /* owned; per instance, the index of its first edge; one extra entry at the end */
};

/*
 * Builds the edges of a job from its network traffic; `count` is 0 where none was recorded. Returns -1 on
 * error, with nothing left to release.
 */
int edges_init(struct edges *edges, const struct job *job, const struct baseline *baseline, double sigmas,
               struct error *error);
void edges_release(struct edges *edges);

/*
 * A step in which the network of a link was busy for longer than that of other links at the same place, or
 * than in its own other steps.
 */
struct slow_step {
    int32_t sender; /* job ranks */
    int32_t receiver;
    int32_t step;
    int64_t over_ns; /* summed over operations; only where it stands out */
};

/* Lists these steps, sorted by their first three members. The caller frees it. Returns -1 when memory runs
 * out. */
int edges_slow_steps(const struct edges *edges, struct slow_step **slow, size_t *count);

/* -------------------- slow_transfers.c -------------------- */

/*
 * Returns a list, one per instance, without any conclusion. The caller frees it. NULL when memory runs out.
 */
struct transfer_excess *transfers_new(const struct job *job);

/*
 * Finds slow transfers: those that differ from the same place in other steps and in other communicators by
 * more than `sigmas`. Adds slow links that the transfer time does not show: the shortest duration hides a
 * link that delays only some members, is unknown where kernel times are, and stands out from nothing where
 * the link was always slow. If the transfer already shows half of the slowness, it counts as the same one.
 * Returns -1 when memory runs out.
 */
int transfers_find(struct transfer_excess *transfers, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, double sigmas);

/* -------------------- replay.c -------------------- */

/*
 * A replay of the job from its own measurements. Every operation starts some time after the operation of its
 * rank that had ended last when it started, on any stream (streams wait for each other). Every instance ends
 * for all members its transfer time after the last member started. A replay with less own time or a shorter
 * transfer estimates what the job would gain, including wait that propagates across communicators. Clocks of
 * different ranks are not compared, except for kernels that record their end too early (early_stops.c).
 *
 * Where the end of an operation is unknown, the time from its start to the next start on its stream is used
 * as its duration.
 */
struct replay {
    const struct job *job;                   /* borrowed */
    const struct excess_list *excess;        /* borrowed */
    const struct transfer_excess *transfers; /* borrowed; per instance */
    int64_t *own_ns;      /* per operation that is the first of its group: time before it */
    int64_t *transfer_ns; /* per instance, as recorded; for sends and receives in groups at most the baseline
                             (bound_groups) */
    int64_t *change_ns;   /* per instance: change to apply, positive to lengthen */
    int64_t *most_ns; /* per instance: its transfer takes at most this, whatever changes; NULL: all have all
                         members */
    int64_t *tail_ns; /* per instance: additional time that a slow link took for the members that show it */
    int32_t *after; /* scratch, per operation: the operation that it follows; -1: it begins its rank. After it
                       is ordered: its move, stored as -2 minus the index (replay_order.c) */
    int64_t *ends;  /* scratch, per operation */
    unsigned char
        *receives;      /* scratch, per operation: whether the group that begins with it contains a receive */
    int64_t *latest_ns; /* per instance: when its last member started in the last replay */
    struct replay_move *moves;
    size_t move_count;             /* one per operation */
    struct replay_leaver *leavers; /* sorted by operation */
    size_t leaver_count;
};

/*
 * Measures own times and transfers of a loaded job and finds the order of its operations; without `excess`,
 * only the order (`moves`). Returns -1 on error, with nothing left to release.
 */
int replay_init(struct replay *replay, const struct job *job, const struct excess_list *excess,
                const struct transfer_excess *transfers, struct error *error);
void replay_release(struct replay *replay);

/* -------------------- propagation.c -------------------- */

/*
 * Where wait time comes from (after Boehme et al., ACM TOPC 3(2), 2016). In every operation that no member
 * leaves before all have arrived, each member waited for the last to arrive: its duration minus the shortest
 * duration. What happened to the last rank since the two ranks last met explains this wait. They meet on this
 * communicator (for a send and receive, the pair on it) or in an operation of all ranks. Own time above the
 * baseline is the rank's own delay. The wait of the last rank itself passes the blame on to the ranks that
 * caused that wait. Transfers above the baseline are network. The rest is unexplained. Each wait is
 * attributed in full, so that for every rank own + inherited + network + unexplained is the wait of others
 * for it.
 */
struct delay {
    int64_t own_ns;       /* others waited for this rank because of its own time */
    int64_t inherited_ns; /* others waited because other ranks had delayed this one (propagated wait) */
    int64_t network_ns;   /* others waited because transfers of this rank were slow */
    int64_t unexplained_ns;
    int64_t caused_ns; /* own_ns plus what other ranks inherited from it */
    int64_t times_last;
    int64_t forgotten;      /* waits for this rank whose cause is no longer kept */
    int64_t instances;      /* that it took part in and whose waits can be measured */
    int32_t inherited_from; /* the rank that most of inherited_ns comes from; -1 */
    int64_t inherited_most_ns;
};

/*
 * Measures delays of all loaded steps. Returns one per rank, which the caller frees; NULL on error.
 * `transfers` is per instance.
 */
struct delay *delays_measure(const struct job *job, const struct baseline *baseline,
                             const struct transfer_excess *transfers, struct error *error);

/*
 * Steps of the job as loaded, from `first` up to but not including `end`. Operations without a step have step
 * -1.
 */
struct delay_steps {
    int32_t first;
    int32_t end;
};

/* Starts a measurement in blocks of steps. Release it with delays_end. NULL when memory runs out. */
struct delays *delays_new(const struct job *job);

/* Adds some of the loaded steps. They must come after all steps added before. Returns -1 on error. */
int delays_add(struct delays *delays, const struct job *job, const struct baseline *baseline,
               const struct transfer_excess *transfers, struct delay_steps steps, struct error *error);

/* Returns the sums of what was added, one per rank, which the caller frees. Releases `delays`. */
struct delay *delays_end(struct delays *delays);

/*
 * Measures which rank arrived last and how long the others waited for it, from durations alone. This is all
 * that can be determined in a trace without timestamps. All waits are counted as unexplained. Operations are
 * read once and not kept, so memory use does not depend on their number.
 *
 * `job` has its names (job_load_names); the function fills in the counts of its ranks. Returns 1 with
 * *delays, one per rank, which the caller frees. Returns 0 and changes nothing where operations have
 * timestamps: use delays_measure. Returns -1 on error.
 */
int waits_measure(struct job *job, struct delay **delays, struct error *error);

/* -------------------- busiest.c -------------------- */

/*
 * Adds a finding about the busiest GPU if it has no peers to compare with, all other ranks wait for it, and
 * no finding names it yet.
 */
int findings_take_busiest(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct diagnose_options *options, struct error *error);

/* -------------------- late_notices.c -------------------- */

/*
 * Turns ranks whose proxy threads get too little CPU time into findings of the host: in consecutive steps, in
 * every Nth step or in all steps, several ranks of a host as one. Takes what the findings cost out of the
 * replay, and records in `transfers` that they made these instances slow. `replay` is NULL where no operation
 * has device timestamps.
 */
int findings_take_late_notices(struct findings *findings, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               struct transfer_excess *transfers, struct replay *replay,
                               const struct diagnose_options *options, struct error *error);

/* -------------------- silent_hosts.c -------------------- */

/*
 * Adds findings about hosts that made no call for a while, once, and did not wait for their GPU meanwhile: a
 * process, or all of a host, stood still. Adds what they cost to `cost_ns`, by step, and records in
 * `transfers` that they held these up. Call it between findings_take_explanations and findings_take_network.
 */
int findings_take_silent_hosts(struct findings *findings, int64_t *cost_ns, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               struct transfer_excess *transfers, const struct diagnose_options *options,
                               struct error *error);

/* -------------------- absent_ranks.c -------------------- */

/*
 * Adds a finding about a rank without a trace that the others wait for, if network steps, or the operations
 * of other ranks or steps, show how long (absent_waits.c), and a slow network does not explain it as well.
 * Fills in findings->hidden_wait. Call it last.
 */
int findings_take_absent(struct findings *findings, const struct job *job, const struct baseline *baseline,
                         const struct diagnose_options *options, struct error *error);

/* -------------------- explained.c -------------------- */

/*
 * Turns the hypotheses that the score accepts (explanations_find) into findings: one or several ranks as a
 * unit, in consecutive steps, in every Nth step, in single steps or in all steps. Adds their costs to
 * `cost_ns`, by step. Call it after findings_take_late_notices. `replay` is NULL where no
 * operation has device timestamps.
 */
int findings_take_explanations(struct findings *findings, int64_t *cost_ns, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               const struct transfer_excess *transfers, struct replay *replay,
                               const struct diagnose_options *options, struct error *error);

/* -------------------- explained_network.c -------------------- */

/*
 * Turns slow units (slow_groups_next, slow_units_find) into findings: what a rank sends or receives, a link,
 * a communicator, a host's network, what hosts share. `cost_ns` is, by step, what other findings cost. Where
 * the trace cannot tell
 * which rank is at fault, the finding names candidates. Call it after findings_take_explanations, because a
 * sender that waited for a late receiver is not to blame. Records in `transfers` which links made the
 * instances of these findings slow. `replay` is as findings_take_explanations left it; NULL where no
 * operation has device timestamps.
 */
int findings_take_network(struct findings *findings, const int64_t *cost_ns, const struct job *job,
                          const struct baseline *baseline, const struct edges *edges,
                          struct transfer_excess *transfers, struct replay *replay,
                          const struct diagnose_options *options, struct error *error);

/* -------------------- slow_drains.c -------------------- */

/*
 * Adds to findings about GPUs of at least medium confidence what the slow transfers cost in which the GPUs of
 * their host took received data late while no sends took longer. Call it after findings_take_network, with
 * the same arguments.
 */
int findings_add_slow_drains(struct findings *findings, const int64_t *cost_ns, const struct job *job,
                             const struct baseline *baseline, const struct edges *edges,
                             const struct transfer_excess *transfers, struct replay *replay,
                             struct error *error);

/* -------------------- uncompared.c -------------------- */

/* Fills in findings->uncompared. */
int findings_measure_uncompared(struct findings *findings, const struct job *job,
                                const struct baseline *baseline, const struct edges *edges,
                                struct error *error);

/* -------------------- verdict.c -------------------- */

/*
 * Detection limit: the smallest delay of a GPU before one operation of its steps that would have been found
 * with medium confidence, from the noise of this job and the limits of the verdict. It holds for nine of ten
 * places of the step.
 */
struct smallest_fault {
    int64_t one_step_ns;    /* TIME_UNKNOWN: no delay would have been found */
    int64_t three_steps_ns; /* per step, in three consecutive steps */
    int64_t every_step_ns;  /* per step, in every step; TIME_UNKNOWN also where no role has four ranks to
                               compare */
};

/* Returns -1 when memory runs out. */
int smallest_fault_measure(struct smallest_fault *smallest, const struct job *job,
                           const struct baseline *baseline, const struct findings *findings,
                           const struct diagnose_options *options);

/*
 * Adds the details that only the output needs: the first operation in which a finding shows and its time, the
 * share of each phase, and the ranks that waited. Returns -1 when memory runs out.
 *
 * The share of a phase is excess own time that stands out (struct baseline); for findings of the score, own
 * time above the median of the ranks of the role that have no finding; for a network finding, slow transfers.
 * It is summed over operations, some of which overlap, and averaged over several ranks.
 */
int findings_detail(struct findings *findings, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers);

/* -------------------- late_phases.c -------------------- */

/*
 * Divides what late hosts cost among the phases in which they were, by the tags that were set meanwhile:
 * those under which the host was longer than in the rank's other steps, or than its peers were. Names that
 * phase in the finding. Call it after findings_detail. Returns -1 on error.
 */
int findings_place_late_hosts(struct findings *findings, const struct job *job,
                              const struct baseline *baseline, struct error *error);

#endif
