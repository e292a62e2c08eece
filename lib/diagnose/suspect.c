/*
 * Properties of a suspect that several files use: which collectives belong to it, and what it is worth per
 * step.
 */
#include "diagnose/suspect.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

void suspect_ask(struct suspect *suspect, enum rule_id rule, double reading)
{
    rule_results_add(&suspect->rule_results, suspect->kind, rule, reading);
}

int suspect_has_instance(const struct suspect *suspect, const struct job_instance *instance,
                         const struct transfer_excess *transfer)
{
    return suspect->kind == FINDING_NETWORK && transfer->culprit == suspect->rank && transfer->slow_ns > 0 &&
           instance->step >= suspect->first_step && instance->step <= suspect->last_step;
}

struct job_range suspect_instances(const struct suspect *suspect, const struct job *job)
{
    return job_instances_in(job, suspect->first_step, suspect->last_step);
}

double suspect_share(const struct suspect *suspect, const struct baseline *baseline, int64_t time_ns)
{
    if (!baseline->median_step_ns)
        return 0;
    return (double)time_ns / suspect_steps(suspect) / (double)baseline->median_step_ns;
}

double suspect_extent(const struct suspect *suspect, const struct baseline *baseline)
{
    return ratio_of(suspect_steps(suspect), baseline->step_count - baseline->first_step);
}

int suspect_is_steady(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect_extent(suspect, baseline) >= limit_of(LIMIT_ALL);
}

double suspect_impact(const struct suspect *suspect, const struct baseline *baseline)
{
    return suspect_share(suspect, baseline, suspect->gain_ns);
}

double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening)
{
    return ratio_of(lengthening->least_ns, suspect->total_ns);
}
