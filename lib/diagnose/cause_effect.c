/* What causes change in a finding: its kind and its confidence. */
#include "diagnose/finding.h"

#include <math.h>

/* Whether one place is blamed, so that a cause there is one of the finding as a whole. */
static int is_settled_by(const struct finding *finding, const struct job *job, const struct cause *cause)
{
    return cause->rule->settles >> finding->kind & 1 &&
           (!finding->candidate_count ||
            (cause->rule->place == CAUSE_ON_HOST && finding_host(finding, job))) &&
           !finding->broke && !finding->stops_job && !finding->at_start;
}

/* Causes that speak for different kinds settle nothing. */
static void settle_kind(struct finding *finding, const struct job *job)
{
    const struct cause *first = NULL;
    for (size_t i = 0; i < finding->cause_count; i++) {
        const struct cause *cause = &finding->causes[i];
        if (!is_settled_by(finding, job, cause))
            continue;
        if (first && first->rule->becomes != cause->rule->becomes)
            return;
        first = first ? first : cause;
    }
    if (!first)
        return;
    finding->waits_for_cores = first->rule->becomes == FINDING_HOST && finding->kind == FINDING_NETWORK;
    finding->kind = (enum finding_kind)first->rule->becomes;
}

/* Whether doubt about noise is all that limits the confidence. */
static int is_doubted_only(const struct finding *finding, enum rule_id doubt)
{
    for (int i = 0; i < RULE_COUNT; i++)
        if (i != (int)doubt && rules[i].at_most <= rules[doubt].at_most &&
            rule_results_fail(&finding->rule_results, (enum rule_id)i))
            return 0;
    return rule_results_fail(&finding->rule_results, doubt);
}

/* A cause that says by itself that something is wrong, and that was not there before, is no noise. */
static void raise_confidence(struct finding *finding)
{
    const struct cause *first = &finding->causes[0];
    if (!finding->cause_count || !first->rule->is_statement || isnan(first->usual))
        return;
    if (finding->confidence == CONFIDENCE_LOW && is_doubted_only(finding, RULE_CERTAINTY))
        finding->confidence = CONFIDENCE_MEDIUM;
    else if (finding->confidence == CONFIDENCE_MEDIUM && is_doubted_only(finding, RULE_CERTAINTY_SURE))
        finding->confidence = CONFIDENCE_HIGH;
}

void causes_apply(struct finding *finding, const struct job *job)
{
    settle_kind(finding, job);
    if (finding->cause_count)
        raise_confidence(finding);
}
