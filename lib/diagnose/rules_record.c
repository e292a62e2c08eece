/*
 * Measures for the rules about what a recorder does not show: which of a group of sends and receives was
 * slow, and missing records.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/*
 * The share of operations that are missing from their sequences, except those that are missing on all ranks.
 */
static double job_gaps(const struct job *job)
{
    return ratio_of(job->missing_sequence - job->left_out_by_all, (int64_t)job->operation_count);
}

/*
 * The share of the slowness in sends and receives of one group call, where only finished operations are
 * recorded: each ends with the whole call, and nothing shows which of them held it up.
 */
static double measure_groups(const struct suspect *suspect, const struct job *job,
                             const struct transfer_excess *transfers)
{
    int64_t grouped_ns = 0, all_ns = 0;
    if (!job->finished_only)
        return NOT_ASKED;
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        const struct transfer_excess *transfer = &transfers[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance, transfer))
            continue;
        all_ns += transfer->slow_ns;
        if (instance->function == FUNCTION_SEND &&
            job_is_grouped(job, job->instance_members[instance->first_member]))
            grouped_ns += transfer->slow_ns;
    }
    return ratio_of(grouped_ns, all_ns);
}

void suspect_ask_record(struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers)
{
    suspect_ask(suspect, RULE_IN_GROUPS, measure_groups(suspect, job, transfers));
    suspect_ask(suspect, RULE_IRREGULAR, baseline->regular);
    suspect_ask(suspect, RULE_STEADY, suspect_extent(suspect, baseline));
    suspect_ask(suspect, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    suspect_ask(suspect, RULE_LOST_EVENTS, (double)job->lost_events);
    suspect_ask(suspect, RULE_GAPS, job_gaps(job));
}

void finding_ask_record(const struct findings *findings, struct finding *finding, const struct job *job,
                        const struct baseline *baseline)
{
    finding_ask(findings, finding, RULE_IRREGULAR, baseline->regular);
    finding_ask(findings, finding, RULE_DAMAGED_LINES, (double)job->damaged_lines);
    finding_ask(findings, finding, RULE_LOST_EVENTS, (double)job->lost_events);
    finding_ask(findings, finding, RULE_GAPS, job_gaps(job));
}
