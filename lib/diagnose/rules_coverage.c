#include "diagnose/rules_coverage.h"

#include "diagnose/worth.h"
#include "job/stages.h"

double job_gaps(const struct job *job)
{
    return ratio_of(job->missing_sequence - job->left_out_by_all, (int64_t)job->operation_count);
}

int job_has_gaps(const struct job *job)
{
    return job->damaged_lines || job->lost_events || job_gaps(job) > limit_of(LIMIT_GAPS);
}

int job_may_hide_operations(const struct job *job)
{
    return job_has_gaps(job) || job_hides_pairs_of_stages(job);
}

/*
 * How many ranks play its role: with records missing, that may be what makes the role; and in more steps than
 * not it may as well have been early in the others.
 */
static double measure_role(const struct suspect *suspect, const struct job *job,
                           const struct baseline *baseline)
{
    int32_t role = baseline->role_of_rank[suspect->rank];
    int matters =
        job_has_gaps(job) || job->blind_to_pairs || suspect_extent(suspect, baseline) > limit_of(LIMIT_HALF);
    return matters && role >= 0 ? (double)baseline->roles[role].rank_count : NOT_ASKED;
}

void suspect_ask_coverage(struct suspect *suspect, const struct job *job, const struct baseline *baseline)
{
    double extent = suspect_extent(suspect, baseline);
    suspect_ask(suspect, RULE_ALONE_IN_ROLE, measure_role(suspect, job, baseline));
    suspect_ask(suspect, RULE_IRREGULAR, baseline->regular);
    suspect_ask(suspect, RULE_STEADY, extent);
    /* Such a recorder does not tell trees from rings: the root of a tree always ends after the others. */
    suspect_ask(suspect, RULE_ROOT_OF_TREE, job->finished_only ? extent : NOT_ASKED);
    suspect_ask(suspect, RULE_ESTIMATED_STEADY, suspect->on_estimates ? extent : NOT_ASKED);
    suspect_ask(suspect, RULE_ESTIMATED, suspect->on_estimates);
    suspect_ask(suspect, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    suspect_ask(suspect, RULE_LOST_EVENTS, (double)job->lost_events);
    suspect_ask(suspect, RULE_GAPS, job_gaps(job));
}
