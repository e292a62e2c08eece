/*
 * Suspects, and how they become findings. A suspect (struct suspect, diagnose.h) is a rank whose network was
 * slow in consecutive steps. The functions here find suspects, apply the rules to them, measure their cost,
 * decide their confidence and collect their evidence.
 *
 * Times are in nanoseconds, steps are steps of the job and ranks are job ranks. The excess of an operation is
 * the time by which it exceeds its baseline; own time is the time that a rank spends between the end of one
 * operation and the start of the next. "Worth" is a gain as a share of a median step.
 */
#ifndef NCCLPROF_DIAGNOSE_SUSPECT_H
#define NCCLPROF_DIAGNOSE_SUSPECT_H

#include "diagnose/diagnose.h"
#include "job/job.h"

#include <stddef.h>
#include <stdint.h>

struct explanation;
struct transfer_excess;

/* -------------------- suspect.c -------------------- */

/* Applies a rule to a suspect. `reading` is the measure; NOT_ASKED where the rule does not apply. */
void suspect_ask(struct suspect *suspect, enum rule_id rule, double reading);

static inline int32_t suspect_steps(const struct suspect *suspect)
{
    return suspect->last_step - suspect->first_step + 1;
}

/* Whether a collective is part of the suspect, given its slow transfer. */
int suspect_has_instance(const struct suspect *suspect, const struct job_instance *instance,
                         const struct transfer_excess *transfer);

/* The range in which to look for them: pass it to job_instances_in. */
struct job_range suspect_instances(const struct suspect *suspect, const struct job *job);

/* -------------------- candidates.c -------------------- */

/*
 * The GPU that sets the pace. A rank with no peers in its role, or only one, as in a pipeline of single GPUs,
 * can be compared with next to nothing, and a rank that is slow in every step has no healthy past either.
 * Recorders that record all GPU work still show which GPU computes for most of each step while all others
 * wait.
 */

/* GPU time that computing takes in a step: the two largest of all ranks. */
struct busiest {
    int32_t rank; /* the rank with the largest; -1: not all ranks record it */
    int64_t work_ns;
    int64_t next_ns; /* the next largest */
};

/* Fills in `busiest`. -1 when memory runs out. */
int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline);

/* -------------------- evidence.c -------------------- */

/* Sums of the waits of network steps over slow links. */
struct edge_sum {
    int64_t steps;
    int64_t wait_ns;
    int64_t extra_ns;
    int64_t longest_ns;
};

/* How slow the network of a suspect was. */
struct slowness {
    size_t edges;                 /* all links of the job; 0 where no network steps are recorded */
    struct edge_sum sent;         /* the links that the suspect sends over */
    struct edge_sum received;     /* the links that it receives over */
    const struct edge_sum *worse; /* the direction that the finding reports */
    int is_against_others;        /* the baseline is that of other senders, not of other steps */
    int is_against_groups;        /* the baseline is that of other groups of ranks (slow_groups.c) */
    int64_t operations;           /* slow operations whose transfer time is known */
    int64_t transfer_ns;
    int64_t slow_ns;
    int64_t slowest_ns; /* transfer time of the slowest of them */
    int64_t slowest_usual_ns;
};

/*
 * Fills in a zeroed slowness, and in the finding the direction and the other ends of the slow links in that
 * direction. `edges` may be NULL. -1 when memory runs out.
 */
int slowness_measure(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                     const struct transfer_excess *transfers, struct slowness *slowness,
                     struct finding *finding);

/* The services (struct job_service) that findings compare. */
enum service { SERVICE_SEND, SERVICE_DRAIN };

/*
 * By how much longer a service took a rank in a step of the finding than in others: medians; 0 where there
 * are no other steps. `list` has room for all steps.
 */
int64_t service_rise(const struct finding *finding, const struct job *job, const struct baseline *baseline,
                     int32_t rank, enum service kind, int64_t *list);

/*
 * By how much the sends of a network finding took longer (job_service.send_ns, median of its steps minus that
 * of others, in all steps), as a share of its slow_ns. The measure of RULE_RECEIVERS_DRAIN; NOT_ASKED where
 * the receivers' GPUs did not take longer to take the data (drain_ns) by at least half of slow_ns, or where
 * it is not recorded. Stores it in *part. -1 when memory runs out.
 */
int finding_measure_drain(const struct finding *finding, const struct job *job,
                          const struct baseline *baseline, double *part);

/*
 * Adds its figures to the finding as evidence, and whether nothing moved at all (a pause). -1 when memory
 * runs out.
 */
int slowness_append(const struct slowness *slowness, struct finding *finding);
int slowness_append_pause(const struct suspect *suspect, const struct slowness *slowness,
                          struct finding *finding);

/*
 * Adds to a finding the evidence for an explanation, at the position of the step where its slowest rank
 * exceeds the baseline most: medians of that rank's own time in the affected steps and in others, and of the
 * own time of the ranks in its role that are not at fault. -1 when memory runs out.
 */
int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding);

/* -------------------- significance.c -------------------- */

/*
 * Excess by rank and step, from which suspects are found: consecutive steps in which the excess of a rank is
 * at least half of min_gain become a suspect.
 *
 * The number of such blocks that noise alone would produce is estimated from the single steps. With N cells
 * (one per rank and step), of which a share p stand alone with at least the same excess, noise is expected to
 * produce N p^L blocks of L steps. A block of one step is compared with the tail of the distribution of all
 * others. Where blocks of other ranks are as strong at other times, the expectation is at least what these
 * suggest (significance.c).
 */
struct sample {
    int64_t excess_ns;
    int32_t rank; /* -1: no rank */
    int32_t step;
};

struct strength {
    const struct job *job;  /* borrowed */
    int64_t *excess_ns;     /* owned; [rank * steps + step] */
    struct sample *samples; /* owned: the noise of single steps */
    size_t sample_count;
    size_t rank_count;
    int32_t steps;
    int32_t first_step;
    int64_t whole_ns; /* a median step; 0: not known */
};

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline);
void strength_release(struct strength *strength);

/* The cell of a rank and a step. */
static inline int64_t *strength_cell(const struct strength *strength, size_t rank, int32_t step)
{
    return &strength->excess_ns[rank * (size_t)strength->steps + (size_t)step];
}

/*
 * Adds what stands out in the cells to the suspects, each with the number of such blocks expected from noise.
 * -1 when memory runs out.
 */
int strength_find(struct strength *strength, int64_t least_ns, struct suspects *suspects);

/*
 * Whether noise alone is expected to produce at least one such suspect and other ranks come near it. Such a
 * suspect is never reported, and its cost is not computed.
 */
int suspect_is_noise(const struct suspect *suspect);

/* -------------------- rules_record.c -------------------- */

/* Applies the rules about what the record of a suspect lacks. */
void suspect_ask_record(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers);

/* -------------------- cost.c -------------------- */

/*
 * By how much the steps of a suspect were longer than the median of the other steps. The limits are widened
 * by the noise of the step times: `errors` standard errors (rule.c).
 */
struct lengthening {
    int is_known;    /* 0: the other members are 0, and most_ns is INT64_MAX */
    double error_ns; /* standard error of the sum of the durations of its steps */
    double part;     /* its steps divided by those with a known duration */
    int64_t some_ns; /* by how much those with a known duration were longer */
    /*
     * Lower limit. 0 or less where it is not known, or where other suspects have a cost in the same steps
     */
    int64_t least_ns;
    /* What the cost of other suspects leaves unexplained; 0 or less where it is not known */
    int64_t rest_ns;
    int64_t beside_ns; /* the cost of other suspects */
    int64_t longer_ns; /* by how much its steps were longer */
    int64_t most_ns;   /* upper limit; INT64_MAX: not known */
};

/* Fills in `lengthening`. -1 when memory runs out. */
int suspect_measure_steps(const struct suspects *suspects, const struct suspect *suspect,
                          const struct job *job, const struct baseline *baseline,
                          struct lengthening *lengthening);

/*
 * Applies the rules that compare the cost of a slow network with the duration of its steps: it must show
 * there.
 */
void suspect_ask_steps(struct suspect *suspect, const struct lengthening *lengthening);

/*
 * The measure of RULE_NOT_IN_STEPS_OF_LATE, for a late rank that costs `gain_ns`: the duration of its steps
 * only has to allow that.
 */
double lengthening_of_late(const struct lengthening *lengthening, int64_t gain_ns);

/* -------------------- confidence.c -------------------- */

/* What decides the confidence of a suspect, besides its chance and its gain. */
struct measures {
    struct slowness slowness; /* of a network suspect */
    double drain;             /* of a network suspect: finding_measure_drain */
    struct lengthening lengthening;
};

/*
 * The confidence of a suspect: applies all rules that have not been applied yet, then drops the measures of
 * those in `off`.
 */
enum confidence confidence_of(struct suspect *suspect, const struct measures *measures, const struct job *job,
                              const struct baseline *baseline, const struct transfer_excess *transfers,
                              const struct diagnose_options *options, const struct rule_set *off);

/*
 * The excess per step that a late GPU needs for medium confidence in a complete trace: in a single step when
 * other ranks are late by at most `greatest_ns`, in several steps, or in all steps.
 */
int64_t confidence_least_alone_ns(const struct baseline *baseline, const struct diagnose_options *options,
                                  int64_t greatest_ns);
int64_t confidence_least_of_several_ns(const struct baseline *baseline,
                                       const struct diagnose_options *options);
int64_t confidence_least_of_all_ns(const struct baseline *baseline, const struct diagnose_options *options);

/* -------------------- cost.c -------------------- */

/*
 * The cost of a suspect: the gain of the replay, limited by the duration of its steps, plus its share of what
 * the suspects together leave unexplained of that duration, unless that is so much that something else made
 * the steps longer. Where the recorder leaves out the operations that pass waiting on, the time that partners
 * waited replaces the replay's gain if it is greater.
 */
int64_t cost_of(const struct suspect *suspect, const struct lengthening *lengthening, const struct job *job,
                enum confidence confidence);

/* -------------------- suspect.c -------------------- */

/* The size of a suspect as a share of a median step, and of all steps. */

/* `time_ns` divided over the steps of the suspect, as a share of a median step. */
double suspect_share(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns);

/* What a suspect is worth per step, as a share of a median step: the gain from the replay. */
double suspect_impact(const struct suspect *suspect, const struct baseline *baseline);

/* Its steps as a share of the steps after the warm-up. */
double suspect_extent(const struct suspect *suspect, const struct baseline *baseline);

/* Whether it has every step after the warm-up, so that only the comparison with peers supports it. */
int suspect_is_steady(const struct suspect *suspect, const struct baseline *baseline);

/* By how many times its impact its steps were longer, where no other cause is known. */
double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening);

#endif
