#ifndef NCCLPROF_DIAGNOSE_SUSPECT_H
#define NCCLPROF_DIAGNOSE_SUSPECT_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct explanation;
struct transfer_excess;

/* -------------------- suspect.c -------------------- */

/* Asks a rule about it: `reading` is NOT_ASKED where the rule does not apply. */
void suspect_ask(struct suspect *suspect, enum rule_id rule, double reading);

static inline int32_t suspect_steps(const struct suspect *suspect)
{
    return suspect->last_step - suspect->first_step + 1;
}

/* Whether so many steps are in both that it is more than half of the lesser one. */
int suspects_are_together(const struct suspect *a, const struct suspect *b);

/* Whether an operation, by how much its rank was late by itself (excess_ns_at), or an instance's slow
 * transfer is part of the suspicion. */
int suspect_has_operation(const struct suspect *suspect, const struct job_operation *operation,
                          int64_t excess_ns);
int suspect_has_instance(const struct suspect *suspect, const struct job_instance *instance,
                         const struct transfer_excess *transfer);

/* Where to look for them: job_operations_in and job_instances_in of its rank and steps. */
struct job_range suspect_operations(const struct suspect *suspect, const struct job *job);
struct job_range suspect_instances(const struct suspect *suspect, const struct job *job);

/* -------------------- candidates.c -------------------- */

/*
 * The GPU that sets the pace. A rank that has no peers in its role, or one, as each of a pipeline of single
 * GPUs has, is held against next to nothing, and where it is slow in every step it has no history either.
 * Recorders that tell all that GPUs do tell it all the same: of whose GPU computes for most of each step,
 * while all others wait.
 */

/* What a step's computing takes; the two longest of all ranks. */
struct busiest {
    int32_t rank; /* -1: not all ranks tell it */
    int64_t work_ns;
    int64_t next_ns; /* of any other rank */
};

/* -1 when memory is out. */
int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline);

/* -------------------- evidence.c -------------------- */

/*
 * Says as evidence of a finding the figures that a suspicion of compute or host rests on at a position of the
 * step: its own time there, its peers', and its own in other steps, medians; of the step in which it was
 * latest there where the median does not stand out. Nothing where it was not late there. -1 when memory is
 * out.
 */
int evidence_of_own(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                    int32_t position, struct finding *finding);

/* What the network steps of slow edges waited for, summed. */
struct edge_sum {
    int64_t steps;
    int64_t wait_ns;
    int64_t extra_ns;
    int64_t longest_ns;
};

/* How slow the network was that a suspicion speaks of. */
struct slowness {
    size_t edges;                 /* of the job: 0 where no network steps are recorded */
    struct edge_sum sent;         /* of the edges that the suspect sends by */
    struct edge_sum received;     /* of those that it receives by */
    const struct edge_sum *worse; /* the direction that the finding speaks of */
    int is_against_others;        /* what is usual is that of other senders, not of other steps */
    int64_t operations;           /* slow ones whose transfer is known */
    int64_t transfer_ns;
    int64_t slow_ns;
    int64_t slowest_ns; /* what the slowest of them took */
    int64_t slowest_usual_ns;
};

/*
 * Fills in a zeroed slowness, and of the finding whether it is about what the suspect receives, and the other
 * ends of its slow edges in that direction. `edges` may be NULL. -1 when memory is out.
 */
int slowness_measure(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                     const struct transfer_excess *transfers, struct slowness *slowness,
                     struct finding *finding);

/* Says its figures as the finding's evidence; and whether it was a pause. -1 when memory is out. */
int slowness_append(const struct slowness *slowness, struct finding *finding);
int slowness_append_pause(const struct suspect *suspect, const struct slowness *slowness,
                          struct finding *finding);

/*
 * Says as evidence of a finding the figures of an explanation at the place of the step where its slowest rank
 * is slow by most: medians of own time there, of it in the steps concerned, of the ranks of its role that are
 * not at fault, and of itself in other steps. -1 when memory is out.
 */
int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding);

/* -------------------- significance.c -------------------- */

/*
 * Excess by rank and step, the raw material of suspicion. Runs of consecutive steps in which a rank's excess
 * is worth at least half of min_gain become suspects. How likely noise makes such a run is estimated from the
 * steps that stand alone: with N (rank, step) cells and a share p of them standing alone with at least as
 * much, N p^L runs of L steps are expected; a step alone is held against the tail of all others; and where
 * runs of other ranks are as strong at other times, no fewer than those let expect (significance.c).
 */
struct sample {
    int64_t excess_ns;
    int32_t rank; /* -1: nobody's */
    int32_t step;
};

struct strength {
    const struct job *job;  /* borrowed */
    int64_t *excess_ns;     /* owned; [rank * steps + step] */
    int64_t *unbounded_ns;  /* owned; NULL, or excess before it was bounded by what others waited */
    int64_t *hidden_ns;     /* owned; NULL, or what of it may be receives that the recorder leaves out */
    unsigned char *blank;   /* owned; NULL, or whether nothing is known where the steps beside it were late */
    struct sample *samples; /* owned; NULL, or what is usual in single steps where the cells do not say it */
    size_t sample_count;
    size_t rank_count;
    int32_t steps;
    int32_t first_step;
    int64_t whole_ns; /* a median step; 0 unknown */
};

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline);
void strength_release(struct strength *strength);

/* The cell of a rank and step. */
static inline int64_t *strength_cell(const struct strength *strength, size_t rank, int32_t step)
{
    return &strength->excess_ns[rank * (size_t)strength->steps + (size_t)step];
}

/* Adds what stands out in the cells to the suspects, with how likely noise is to make it. -1 when memory is
 * out. */
int strength_find(struct strength *strength, int64_t least_ns, enum finding_kind kind,
                  struct suspects *suspects);

/*
 * Whether noise is expected to do as much at least once, and others come near it: such a suspicion
 * is never told, and not weighed.
 */
int suspect_is_noise(const struct suspect *suspect);

/* -------------------- rules_record.c -------------------- */

/* For recorders that leave point-to-point operations out. */

/*
 * Whether a pair may sit in the own time before an operation: that is usually several times what it is before
 * others of the kind, or there are none to compare it with.
 */
int may_hide_pair(const struct job *job, const struct baseline *baseline,
                  const struct job_operation *operation);

/*
 * Asks the rules about a suspicion most of which may be something else: the rough end of a send or a receive,
 * or a receive that the recorder leaves out (hides_pairs). `least_ns`: what a step of it has to be worth.
 */
void suspect_doubt_own(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                       int64_t least_ns);

/* Whether what a rank was late by there may be a receive that the recorder leaves out. */
int is_hidden_pair(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation);

/* What a record lacks, and with what a suspicion can be compared. */

/* The share of operations that are missing from their sequences; what all ranks lack was left out. */
double job_gaps(const struct job *job);

/* Records missing between others, or lines lost, leave room for another explanation. */
int job_has_gaps(const struct job *job);

/* Whether an operation may be unrecorded that a rank waited in: lost, or left out between stages. */
int job_may_lack_operations(const struct job *job);

/* Asks the rules. */
void suspect_ask_coverage(struct suspect *suspect, const struct job *job, const struct baseline *baseline);

/* -------------------- cost.c -------------------- */

/*
 * By how much a suspicion's steps were longer than the median of the others, give or take what steps differ
 * by
 * (`errors` standard errors, limits.h).
 */
struct lengthening {
    int is_known;      /* else the rest is 0, and most_ns INT64_MAX */
    double error_ns;   /* standard error of the sum of its steps' lengths */
    double part;       /* how many steps it has, of those whose length is known */
    int64_t some_ns;   /* by how much those whose length is known were longer */
    int64_t least_ns;  /* of a late host, without what most others were late by; 0 or less where it is not
                          known, or others cost something in the same steps */
    int64_t rest_ns;   /* what the others leave; 0 or less where it is not known */
    int64_t beside_ns; /* what those cost */
    int64_t longer_ns; /* by how much they were longer */
    int64_t most_ns;   /* INT64_MAX unknown */
    int64_t shared_ns; /* of a late host, what most others were late by, too */
};

/* -1 when memory is out. */
int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening);

/*
 * Whether their length shows what a suspicion is said to have cost: asks the rules. What a network cost has
 * to show; of a late rank it is enough that it may.
 */
void suspect_ask_steps(struct suspect *suspect, const struct lengthening *lengthening);

/* By how much its steps were longer at most, without what most hosts were late by in them. */
int64_t max_unshared_step_excess(const struct lengthening *lengthening);

/* -------------------- confidence.c -------------------- */

/* What a suspicion is judged by, beside its chance and its gain. */
struct measures {
    struct slowness slowness; /* of a network */
    struct lengthening lengthening;
};

/*
 * What a suspicion is believed, and why: asks all rules that are left to be asked, and forgets those that are
 * `off`.
 */
enum confidence confidence_of(const struct suspects *suspects, struct suspect *suspect,
                              const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct diagnose_options *options,
                              const struct rule_set *off);

/*
 * What a GPU's lateness has to be worth for medium confidence, in each step concerned, where all is recorded:
 * in one step, beside others late by `greatest_ns` at most; in several; in all.
 */
int64_t confidence_least_alone_ns(const struct baseline *baseline, const struct diagnose_options *options,
                                  int64_t greatest_ns);
int64_t confidence_least_of_several_ns(const struct baseline *baseline,
                                       const struct diagnose_options *options);
int64_t confidence_least_of_all_ns(const struct baseline *baseline, const struct diagnose_options *options);

/* The greatest expected number of such rows by chance, where single steps of others come near. */
double confidence_most_chance(void);

/* -------------------- cost.c -------------------- */

/*
 * What the replay says, as far as the length of the steps allows; and with its part of what all suspicions
 * leave of that, unless it is so much that something else made them longer. Where the recorder leaves out by
 * what waiting is passed on, what partners waited takes the replay's place if that is more.
 */
int64_t cost_of(const struct suspects *suspects, const struct suspect *suspect,
                const struct lengthening *lengthening, const struct job *job, enum confidence confidence);

/* -------------------- suspect.c -------------------- */

/* What a suspicion amounts to, as shares of a median step and of all steps. */

/* A time in each of the steps concerned, as a share of a median step. */
double suspect_share(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns);

/*
 * What a suspicion is worth in each of the steps concerned, as a share of a median step: what the job would
 * gain, or what its partners waited for it where that is more: of two branches of a job that are slow by as
 * much, neither gains anything alone.
 */
double suspect_impact(const struct suspect *suspect, const struct baseline *baseline);

/* The same; of a network what its steps were longer, where that says more than the replay. */
double suspect_impact_shown(const struct suspect *suspect, const struct lengthening *lengthening,
                            const struct job *job, const struct baseline *baseline);

/* How many steps it has, as a share of those after the warm-up. */
double suspect_extent(const struct suspect *suspect, const struct baseline *baseline);

/* In every step there is, the warm-up left out: only the comparison with peers speaks for it. */
int suspect_is_steady(const struct suspect *suspect, const struct baseline *baseline);

/* How many times what it amounts to its steps were longer, for no other reason that is known. */
double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening);

/*
 * Whether the host is to blame for an operation's excess: it was handed to the GPU later than usual,
 * when that had nothing to do, by half of the excess. Otherwise the GPU had it in its queue and was busy.
 * Within a step an eighth is enough: computation that runs beside communication is late with the host, and
 * then takes its time. A host that waits for GPU work after the last operation of a step is late likewise:
 * nothing in a trace of communication tells the two apart.
 */
int is_late_by_host(const struct job *job, const struct baseline *baseline,
                    const struct job_operation *operation);
/* Whether its host was late within the step: that hides nothing. It waits for its GPU at the end of one. */
int is_late_within(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation);

/*
 * Whether more than half of the excess is the host's: of that before operations whose own time is known,
 * where it is a quarter of all or more. Lateness of hidden origin does not say whose it is.
 */
int is_mostly_hosts(const struct suspect *suspect, const struct job *job, const struct baseline *baseline);

/* The sentence of the evidence that says which of the two it was: ". The host enqueued it late". */
const char *host_or_gpu_text(enum finding_kind kind);

#endif
