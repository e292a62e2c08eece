/*
 * The evidence of findings: how slow networks and services were, and how much longer steps became.
 *
 * Times are in nanoseconds, steps are steps of the job and ranks are job ranks.
 */
#ifndef NCCLPROF_DIAGNOSE_EVIDENCE_H
#define NCCLPROF_DIAGNOSE_EVIDENCE_H

#include "diagnose/finding.h"

#include <stdint.h>

struct baseline;
struct explanation;
struct job;

/* -------------------- busiest.c -------------------- */

/* GPU time that computing takes in a step: the two largest of all ranks. */
struct busiest {
    int32_t rank; /* the rank with the largest; -1: not all ranks record it */
    int64_t work_ns;
    int64_t next_ns; /* the next largest */
};

/* Fills in `busiest`. -1 when memory runs out. */
int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline);

/* -------------------- evidence.c -------------------- */

/* How slow the network of a finding was. */
struct slowness {
    int64_t steps; /* network steps of slow links, and what they waited */
    int64_t wait_ns;
    int64_t extra_ns;
    int64_t longest_ns;
    int is_against_others; /* the baseline is that of other senders, not of other steps */
    int is_against_groups; /* the baseline is that of other groups of ranks (slow_groups.c) */
    int64_t operations;    /* slow operations whose transfer time is known */
    int64_t transfer_ns;
    int64_t slow_ns;
    int64_t slowest_ns; /* transfer time of the slowest of them */
    int64_t slowest_usual_ns;
};

/* The services (struct job_service) that findings compare. */
enum service { SERVICE_SEND, SERVICE_DRAIN };

/*
 * By how much longer a service took a rank in a step of the finding than in others: medians; 0 where there
 * are no other steps. `list` has room for all steps.
 */
int64_t service_rise(const struct finding *finding, const struct job *job, const struct baseline *baseline,
                     int32_t rank, enum service kind, int64_t *list);

/*
 * Adds its figures to the finding as evidence, and whether nothing moved at all (a pause, for a finding of a
 * single step that costs `gain_ns`). -1 when memory runs out.
 */
int slowness_append(const struct slowness *slowness, struct finding *finding);
int slowness_append_pause(const struct slowness *slowness, int64_t gain_ns, struct finding *finding);

/*
 * Adds to a finding the evidence for an explanation, at the position of the step where its slowest rank
 * exceeds the baseline most: medians of that rank's own time in the affected steps and in others, and of the
 * own time of the ranks in its role that are not at fault. -1 when memory runs out.
 */
int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding);

/* -------------------- cost.c -------------------- */

/* The steps of a finding, and what is known to make steps longer. */
struct costly_steps {
    int32_t first;
    int32_t last;
    const int64_t *cost_ns;     /* by step: the cost of other findings, and of this one; NULL: none */
    int64_t own_ns;             /* the part of it that is of this one */
    const unsigned char *marks; /* by step: of the finding or not; NULL: all from first to last are */
    const unsigned char *led;   /* by step: struct explanation.led; NULL */
};

/*
 * By how much the steps of a finding were longer than the median of the other steps. The limits are widened
 * by the noise of the step times: `errors` standard errors (rule.c).
 */
struct lengthening {
    int is_known;    /* 0: the other members are 0, and most_ns is INT64_MAX */
    int has_to_show; /* for a late rank: its steps have to be longer, not just to allow the gain */
    double error_ns; /* standard error of the sum of the durations of its steps */
    double part;     /* its steps divided by those with a known duration */
    int64_t some_ns; /* by how much those with a known duration were longer */
    int64_t most_ns; /* upper limit; INT64_MAX: not known */
};

/* Fills in `lengthening`. -1 when memory runs out. */
int lengthening_measure(struct lengthening *lengthening, const struct costly_steps *steps,
                        const struct job *job, const struct baseline *baseline);

/* Applies the rule that compares a gain with the duration of its steps. */
void finding_ask_steps(const struct findings *findings, struct finding *finding,
                       const struct lengthening *lengthening, int64_t gain_ns);

#endif
