#ifndef NCCLPROF_DIAGNOSE_SUSPECT_H
#define NCCLPROF_DIAGNOSE_SUSPECT_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"
#include "verdict/options.h"

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
    struct readings readings; /* of the rules that were asked so far */
};

/* Asks a rule about it: `reading` is NOT_ASKED where the rule does not apply. */
void suspect_ask(struct suspect *suspect, enum rule_id rule, double reading);

static inline int32_t suspect_steps(const struct suspect *suspect)
{
    return suspect->last_step - suspect->first_step + 1;
}

struct suspects {
    struct suspect *items; /* owned */
    size_t count;
    size_t capacity;
    size_t
        unweighed; /* that are no noise, and of which the replay was not asked what they cost (what_if.c) */
    int64_t *unrest_ns; /* owned; NULL, or [step * ranks + rank]: how late the middle one of the other hosts
                           was, or of those of its role if that is more (rules_common_lateness.c) */
    int64_t *cost_ns;   /* owned; NULL, or of each step what they are all said to have cost (lengthening.c) */
};

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

#endif
