#ifndef NCCLPROF_DIAGNOSE_DIAGNOSE_H
#define NCCLPROF_DIAGNOSE_DIAGNOSE_H

#include "diagnose/finding.h"

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

/* What of an operation is beyond the usual at its place: durations in nanoseconds of its device timeline. */
struct excess {
    int64_t late_beyond_ns; /* where excess_ns is not 0: its host's lateness (job_lateness) less the usual;
                               TIME_UNKNOWN */
    int64_t beyond_ns;      /* own time less the usual, less than 0 where it is shorter; TIME_UNKNOWN */
    int64_t excess_ns; /* by how much its rank was late by itself: own time that stands out, bounded by what
                          others waited; 0 where it does not. Where own time is unknown, of hidden_ns what is
                          found to be the rank's own (candidates.c) */
};

/*
 * One for each operation, in four bytes where nothing stands out and beyond_ns is below a second: of most
 * that is all there is to say. The others are written out.
 */
struct excess_list {
    int32_t *brief;         /* owned: beyond_ns; EXCESS_UNKNOWN; from EXCESS_WRITTEN on, the number of one in
                               `written` */
    struct excess *written; /* owned */
    size_t count;           /* of those */
    size_t capacity;
    int32_t base; /* of a part: its numbers begin after so many of those before it */
    size_t most;  /* that can be written out */
    int failed;   /* some could not be written: memory is out */
};

enum { EXCESS_UNKNOWN = INT32_MIN, EXCESS_WRITTEN = 1 << 30 };

/* How much of its rank's lateness by itself: excess_ns. */
static inline int64_t excess_ns_at(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    return brief >= EXCESS_WRITTEN ? list->written[brief - EXCESS_WRITTEN - list->base].excess_ns : 0;
}

/* -------------------- baseline.c -------------------- */

/*
 * What is usual, and what stands out from it.
 *
 * Every rank repeats a sequence of operations each step: its canonical sequence is the one seen in most
 * steps. Ranks with the same canonical sequence (function, size, communicator size at each position) play the
 * same role and are compared with each other. An operation's place is (role, position); it has a position
 * only where its step follows the canonical sequence, gaps in the trace allowed. A job that changes what its
 * steps are has several sequences (roles.c); the positions of the others come after those of the first,
 * and are compared with their like.
 *
 * At a place, own time x of rank r in step s is held against the others' median in that step and r's own
 * least tenth over all steps (the lower quartile where r is alone); the greater is its usual value, x minus
 * that the excess. sigma = 1.4826 x MAD of what remains over all ranks and steps of the place (Rousseeuw and
 * Croux, 1993). An excess stands out beyond `sigmas` of it. Step 0 (warm-up) is left out, and what is
 * warm-up later on (warm_up.c). What stands out is
 * bounded by the longest that any other member of the operation waited there: an excess that made nobody wait
 * cost nothing.
 */
struct role {
    int32_t *ranks; /* owned: job ranks that play it */
    size_t rank_count;
    int32_t length;  /* positions, of all programmes */
    int32_t *begins; /* owned: the first position of each programme, ascending; NULL: of one */
    int32_t call_sequences;
    struct place_limits *limits; /* owned; of each position */
};

/* Positions from `begin` to before `end`. */
struct call_sequence_span {
    int32_t begin;
    int32_t end;
};

struct baseline {
    int32_t *positions;             /* owned: of each operation of the job, by its number, in the canonical
                                       sequence of its step; -1 */
    struct excess_list excess;      /* owned, likewise */
    struct hidden_lateness *hidden; /* owned, likewise; NULL once it is forgotten */
    int64_t *explained_ns; /* owned, likewise: of its own time, what received data explain beyond the usual;
                              NULL: nobody receives what may differ */
    struct role *roles;
    size_t role_count;
    size_t rank_count;
    int32_t *role_of_rank; /* -1: none */
    int32_t *rank_in_role; /* its place in role.ranks */
    int32_t *
        *predecessors;  /* per rank: the position before each on its stream; not less: of the step before */
    int32_t first_step; /* 1: step 0 is warm-up; 0 where there is nothing after it; else as in struct job */
    int32_t step_count;
    int32_t
        *stretch_of_step; /* owned: number of the regular stretch that each step is of, by what the rank with
                             most operations does and under which load. What is usual holds within one */
    int32_t *warm_up;     /* owned: later steps in which something is used for the first time (warm_up.c) */
    size_t warm_up_count;
    size_t warm_up_capacity;
    int steps_are_called; /* steps last from call to call, as nothing tells when operations ended: hosts run
                             ahead and catch up, so that one step says little */
    int32_t started_step; /* the first after the long steps that the job begins with; first_step: it begins
                             with none */
    /* Operation at (role, position, rank in role, step): index, -1 where none. */
    int32_t **cells;  /* per role: [(position * rank_count + rank) * step_count + step] */
    int64_t *step_ns; /* how long each step lasted, median over ranks; TIME_UNKNOWN */
    int64_t
        *late_ns; /* [rank * step_count + step]: how much later its host was than usual, summed over places */
    int64_t median_step_ns;
    /* Share of (rank, step) pairs that hold their role's whole sequence; where records are missing between
     * others, of the operations of such sequences. */
    double regular;
};

struct baseline_options {
    double sigmas; /* an excess stands out beyond so many */
};

int baseline_init(struct baseline *baseline, const struct job *job, const struct baseline_options *options,
                  struct error *error);
void baseline_release(struct baseline *baseline);

/* Whose it is has been found out (suspect_own, suspect_network): it is not needed any more. */
void baseline_forget_hidden(struct baseline *baseline);

/* The positions of the programme that one is of. */
struct call_sequence_span role_sequence(const struct role *role, int32_t position);

/* The first of its programme's in a role, at a later step again: how far a position is from there. */
static inline int32_t position_in_step(const struct role *role, int32_t position)
{
    return position - role_sequence(role, position).begin;
}

/* Whether half of all steps are whole, or more: else nothing can be held against its own place. */
int baseline_is_regular(const struct baseline *baseline);

/* The operation of a rank at a place in a step; -1. */
int32_t baseline_cell(const struct baseline *baseline, int32_t role, int32_t position, size_t rank,
                      int32_t step);

/* How long a step lasted for one rank. TIME_UNKNOWN where its traces do not tell, and of the last step. */
int64_t baseline_rank_lasted_ns(const struct baseline *baseline, const struct job *job, int32_t rank,
                                int32_t step);
/* The same from when until when, on the rank's own clock. 0 where that is not told. */
int baseline_rank_lasted(const struct baseline *baseline, const struct job *job, int32_t rank, int32_t step,
                         int64_t *begin_ns, int64_t *end_ns);

/* -------------------- sequence_match.c -------------------- */

/* The operations of one rank in one step: a run in order of issue. */
struct stretch {
    int32_t first; /* -1: none */
    int32_t count;
    uint64_t signature; /* communicators, functions and sizes in order */
    int has_gap;        /* by sequence numbers, operations are missing in it, or next to it */
};

/* Those of a rank, one for each step of the job. -1 when memory is out. */
int stretches_cut(const struct job *job, const struct job_rank *rank, struct stretch *stretches);

/*
 * The canonical one, of the steps from `first_step` on: the one whose signature most share, of those without
 * gaps where there are any; among equals the longest. Empty when there is none. `sorted` is scratch, of as
 * many.
 */
struct stretch stretches_canonical(const struct stretch *stretches, int32_t first_step, int32_t count,
                                   struct stretch *sorted);

/* -------------------- edges.c -------------------- */

struct edges {
    struct edge *items; /* owned; by instance */
    size_t count;
    size_t *first; /* owned; per instance, and one past the end */
};

int edges_init(struct edges *edges, const struct job *job, const struct baseline *baseline, double sigmas,
               struct error *error);
void edges_release(struct edges *edges);

/* -------------------- slow_transfers.c -------------------- */

/* Nothing is concluded yet. Owned by the caller (free); NULL when memory is out. */
struct transfer_excess *transfers_new(const struct job *job);

/* -------------------- replay.c -------------------- */

/*
 * The job played again from its own measurements: every operation starts some time after the one of its rank
 * that had ended last when it started, on whatever stream (streams wait for each other), every instance ends
 * for all its members its transfer time after the last of them started. Playing it with less own time here,
 * or a shorter transfer there, estimates what the job would gain, waiting passed on across communicators
 * included. No clocks are compared but for ends that kernels note too soon (early_stops.h).
 *
 * Where an operation's end is unknown, the time from its start to the next start on its stream stands in for
 * its duration.
 */
struct replay {
    const struct job *job;                   /* borrowed */
    const struct excess_list *excess;        /* borrowed */
    const struct transfer_excess *transfers; /* borrowed; per instance */
    int64_t *own_ns;                         /* per operation that is the first of its group */
    int64_t
        *transfer_ns;   /* per instance, as recorded; of pairs in groups no more than usual (bound_groups) */
    int64_t *change_ns; /* per instance: by how much longer it is to be */
    int64_t *tail_ns;   /* per instance: what a slow link took beyond that, for the members that show it */
    int32_t *after;     /* scratch, per operation: the one it comes after; -1: its rank's begin. Once it is
                           placed, its move: -2 less that (replay_order.c) */
    int64_t *ends;      /* scratch, per operation */
    unsigned char *receives; /* scratch, per operation: whether a group that begins with it receives */
    int64_t *latest_ns;      /* per instance: when its last member started in the last run */
    struct replay_move *moves;
    size_t move_count;             /* all operations */
    struct replay_leaver *leavers; /* by operation */
    size_t leaver_count;
};

int replay_init(struct replay *replay, const struct job *job, const struct excess_list *excess,
                const struct transfer_excess *transfers, struct error *error);
void replay_release(struct replay *replay);

/* -------------------- propagation.c -------------------- */

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

/* NULL when memory is out. Release it with delays_end. */
struct delays *delays_new(const struct job *job);

/* Adds some of the steps that are loaded, later ones than those that were added before. */
int delays_add(struct delays *delays, const struct job *job, const struct excess_list *excess,
               const struct transfer_excess *transfers, struct delay_steps steps, struct error *error);

/* What has been added, one per rank, owned by the caller (free). `delays` is released. */
struct delay *delays_end(struct delays *delays);

/*
 * Who came last and what the others waited for it, from durations alone: all that can be told of a run in
 * which no operation says when it ran. Why it came last stays unexplained. Operations are gone through once
 * and not kept, so that this takes little memory whatever their number.
 *
 * `job` has its names (job_load_names); its ranks' counts are filled in. 1 with *delays, one per rank and
 * owned by the caller (free); 0 where operations do say when they ran: then delays_measure tells more, and
 * nothing has changed; -1 on error.
 */
int waits_measure(struct job *job, struct delay **delays, struct error *error);

/* -------------------- suspect.c -------------------- */

/*
 * A suspicion: something that stood out at one rank in consecutive steps.
 */
struct suspect {
    enum finding_kind kind; /* FINDING_COMPUTE, FINDING_HOST or FINDING_NETWORK */
    int32_t rank;
    int32_t first_step;
    int32_t last_step;
    int64_t weakest_ns; /* least excess of a step of it */
    int64_t total_ns;   /* sum of the excess */
    int64_t margin_ns; /* of that, by how much it came after everybody else: what its partners lost at once */
    int64_t gain_ns;   /* of the job, by replay */
    double chance;     /* expected number of such runs of steps by noise alone */
    double ahead;      /* how many times the greatest single step of others its weakest one is */
    int counted_steps; /* that speak for it */
    int after_warm_up; /* it begins with the first step after that, which speaks for nothing */
    int hides_pairs;   /* most of it may be receives that the recorder leaves out */
    int on_estimates;  /* most of it is own time since ends that are estimated */
    int shows_earlier; /* in the step before its first, too: it begins its steps late */
    int shows_later;   /* in the step after its last: what was slow there ended that step */
    struct rule_results rule_results; /* of the rules that were asked so far */
};

struct suspects {
    struct suspect *items; /* owned */
    size_t count;
    size_t capacity;
    size_t unweighed;   /* that are no noise, and of which the replay was not asked what they cost (cost.c) */
    int64_t *unrest_ns; /* owned; NULL, or [step * ranks + rank]: how late the middle one of the other hosts
                           was, or of those of its role if that is more (rules_lateness.c) */
    int64_t *cost_ns;   /* owned; NULL, or of each step what they are all said to have cost (cost.c) */
};

/* -------------------- candidates.c -------------------- */

/* Ranks that came late by themselves. */
int suspect_own(struct suspects *suspects, const struct job *job, struct baseline *baseline,
                const struct diagnose_options *options, struct error *error);

/* Ranks whose transfers were slow. Fills in `transfers` (transfers_new). */
int suspect_network(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, struct transfer_excess *transfers,
                    const struct diagnose_options *options, struct error *error);

/* Adds a finding of it where there is none. */
int findings_take_busiest(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct diagnose_options *options, struct error *error);

/* -------------------- explained.c -------------------- */

/*
 * What the score of all hypotheses (score/explain.h) believes becomes findings: of a rank or several as one,
 * in a row of steps, every so-many-th or all. Findings of the same ranks that are a part of one go into it,
 * and one of a row of steps that is believed anyway stays as it is. Not where recorders list finished
 * operations only: what they leave out looks like own time. Wants what suspects_judge adds, and no other
 * findings. `replay` (explain.h) is NULL where nothing has times on the device.
 */
int findings_take_explanations(struct findings *findings, const struct suspects *suspects,
                               const struct job *job, const struct baseline *baseline,
                               const struct edges *edges, const struct transfer_excess *transfers,
                               struct replay *replay, const struct diagnose_options *options,
                               struct error *error);

/* -------------------- explained_network.c -------------------- */

/*
 * What the score of senders (score/slow_senders.h) is certain of becomes findings: of several ranks of one
 * host, which may share a network interface, or of one. The findings of their networks in the same steps go
 * into it, and one of a single rank that is believed anyway stays as it is. Wants what
 * findings_take_explanations adds: who waited for a receiver that was late itself is not to blame. Notes in
 * `transfers` whose links made them slow, of those that are told. `replay` is as that left it; NULL where
 * nothing has times on the device.
 */
int findings_take_senders(struct findings *findings, const struct suspects *suspects, const struct job *job,
                          const struct baseline *baseline, const struct edges *edges,
                          struct transfer_excess *transfers, struct replay *replay,
                          const struct diagnose_options *options, struct error *error);

/* -------------------- rules_lateness.c -------------------- */

/*
 * What more than half of the recorded ranks (three at least) are named for in most of the same steps
 * may have a cause that is common to them: such findings get low confidence. Wants what suspects_judge adds,
 * and no other findings. -1 when memory is out.
 */
int findings_check_common_slowdown(struct findings *findings, const struct job *job);

/*
 * Likewise a network in two of whose steps, or in its only one, two others were slow at once and more, in all
 * by a third as much, and none of them is believed to be at fault: a switch or a host that they share may be.
 */
int findings_check_shared(struct findings *findings, const struct job *job);

/*
 * In a step in which all hosts, or all of one role, are later than usual (kernels loaded for a new
 * shape, a checkpoint, a collection of garbage) some are latest, and none of them is to blame; nor is a GPU
 * for most of such steps; nor does lateness say anything where there is no other rank to hold it against.
 * Fills in suspects->unrest_ns. -1 when memory is out.
 */
int suspects_check_common_lateness(struct suspects *suspects, const struct job *job,
                                   const struct baseline *baseline);

/*
 * Where what a rank is under suspicion for may be waiting for another one under greater suspicion,
 * because receives or some channels do not say when they ended, the trace cannot tell.
 */
void suspects_check(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct transfer_excess *transfers);

/* -------------------- rules_record.c -------------------- */

/*
 * Where only finished operations are listed, without network steps and algorithms: own time after an
 * AllReduce may be part of it, where others were in it for longer (the leaf of a tree); so may what comes
 * after operations that have a root, where nobody waited for it.
 */
void suspects_check_unrecorded(struct suspects *suspects, const struct job *job,
                               const struct baseline *baseline);

/*
 * Where all ranks meet in all collectives they may exchange what nobody recorded, as the ranks of a mixture
 * of experts do: then the own time of several is longer at once, and none of them is to blame. -1 when memory
 * is out.
 */
int suspects_check_exchanges(struct suspects *suspects, const struct job *job,
                             const struct baseline *baseline);

/*
 * Where the recorder leaves sends out, a rank with a slow network is late after them, too, and who receives,
 * in another stage, is late: where all that shows for several steps it is one thing, and no noise where
 * either is none. -1 when memory is out.
 */
int suspects_join_hidden_sends(struct suspects *suspects, const struct job *job);

/* -------------------- cost.c -------------------- */

int suspects_sum_costs(struct suspects *suspects, int32_t step_count); /* first; -1 when memory is out */

/*
 * What the job would gain without each of the strongest 64 (gain_ns). Puts them in order of total_ns.
 * `replay`: of the job, and left as it is; NULL where nothing has times on the device. -1 when memory is out.
 */
int suspects_compute_gain(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                          const struct transfer_excess *transfers, struct replay *replay);

/* -------------------- verdict.c -------------------- */

/*
 * Turns the suspicions that are worth saying into findings, with phase, confidence and evidence, and notes in
 * them what the rules read that are not `off` in the findings. `edges` may be NULL.
 * Counts those that were not weighed and are believed, or would be if they cost all that they amount to.
 */
int suspects_judge(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, const struct transfer_excess *transfers,
                   const struct diagnose_options *options, struct findings *findings, struct error *error);

/*
 * The smallest lateness of a GPU before one operation of its steps that would have been found with medium
 * confidence, by the noise of the run itself and the limits of the verdict: what a silence is worth. In nine
 * of ten places of the step it is no more.
 */
struct smallest_fault {
    int64_t one_step_ns;    /* TIME_UNKNOWN: none would have been */
    int64_t three_steps_ns; /* in a row: of each */
    int64_t every_step_ns;  /* TIME_UNKNOWN also where no role has four ranks to compare */
};

/* -1 when memory is out. */
int smallest_fault_measure(struct smallest_fault *smallest, const struct job *job,
                           const struct baseline *baseline, const struct findings *findings,
                           const struct diagnose_options *options);

/*
 * Fills in of findings what is only asked for when they are told: the first operation in which each shows and
 * when that was, how much falls on each phase, and who waited. -1 when memory is out.
 *
 * What falls on a phase is excess own time that stands out (baseline.h); of findings that the score tells,
 * own time beyond the median of the ranks of its role that are not accused; of a network, slow transfers. It
 * is summed over operations, of which some run side by side, and of several ranks it is the mean.
 */
int findings_detail(struct findings *findings, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers);

#endif
