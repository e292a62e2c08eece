/*
 * Properties of a suspect that several files use: which operations belong to it, what it is worth per step,
 * and whether the host or the GPU of the rank is late.
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

int suspect_has_operation(const struct suspect *suspect, const struct job_operation *operation,
                          int64_t excess_ns)
{
    return suspect->kind != FINDING_NETWORK && operation->rank == suspect->rank && excess_ns > 0 &&
           operation->step >= suspect->first_step && operation->step <= suspect->last_step;
}

int suspect_has_instance(const struct suspect *suspect, const struct job_instance *instance,
                         const struct transfer_excess *transfer)
{
    return suspect->kind == FINDING_NETWORK && transfer->culprit == suspect->rank && transfer->slow_ns > 0 &&
           instance->step >= suspect->first_step && instance->step <= suspect->last_step;
}

struct job_range suspect_operations(const struct suspect *suspect, const struct job *job)
{
    return job_operations_in(job, suspect->rank, suspect->first_step, suspect->last_step);
}

struct job_range suspect_instances(const struct suspect *suspect, const struct job *job)
{
    return job_instances_in(job, suspect->first_step, suspect->last_step);
}

int32_t suspects_shared_steps(const struct suspect *a, const struct suspect *b)
{
    int32_t first = a->first_step > b->first_step ? a->first_step : b->first_step;
    int32_t last = a->last_step < b->last_step ? a->last_step : b->last_step;
    return last < first ? 0 : last - first + 1;
}

int suspects_are_together(const struct suspect *a, const struct suspect *b)
{
    int32_t mine = suspect_steps(a), others = suspect_steps(b);
    return suspects_shared_steps(a, b) * 2 > (mine < others ? mine : others);
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
    int64_t time_ns = suspect->gain_ns;
    if (suspect->margin_ns > time_ns && !suspect_is_steady(suspect, baseline))
        time_ns = suspect->margin_ns;
    return suspect_share(suspect, baseline, time_ns);
}

double suspect_longer(const struct suspect *suspect, const struct lengthening *lengthening)
{
    return ratio_of(lengthening->least_ns, suspect->total_ns);
}

/*
 * The host must account for one part in HOSTS_PART of the excess; within a step for one part in
 * HOSTS_PART_WITHIN, because GPU work beside communication then starts late and takes its time as well.
 */
enum { HOSTS_PART = 2, HOSTS_PART_WITHIN = 8 };

int is_late_by_host(const struct job *job, const struct baseline *baseline,
                    const struct job_operation *operation)
{
    const struct excess excess = excess_of(baseline, job, operation);
    if (operation->own_ns == TIME_UNKNOWN)
        return operation->enqueued_ns != TIME_UNKNOWN &&
               operation->start_ns - operation->enqueued_ns < excess.excess_ns / HOSTS_PART;
    int within = operation->previous >= 0 && job->operations[operation->previous].step == operation->step;
    return excess.late_beyond_ns != TIME_UNKNOWN &&
           excess.late_beyond_ns >= excess.excess_ns / (within ? HOSTS_PART_WITHIN : HOSTS_PART);
}

int is_mostly_hosts(const struct suspect *suspect, const struct job *job, const struct baseline *baseline)
{
    int64_t host_ns[2] = {0, 0}, total_ns[2] = {0, 0}; /* index 1: own time is known */
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (!suspect_has_operation(suspect, operation, excess_ns_at(&baseline->excess, i)))
            continue;
        int known = operation->own_ns != TIME_UNKNOWN;
        total_ns[known] += excess_ns_at(&baseline->excess, i);
        if (is_late_by_host(job, baseline, operation))
            host_ns[known] += excess_ns_at(&baseline->excess, i);
    }
    if (total_ns[1] * 3 >= total_ns[0])
        return host_ns[1] * 2 > total_ns[1];
    return (host_ns[0] + host_ns[1]) * 2 > total_ns[0] + total_ns[1];
}

int is_late_within(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation)
{
    return operation->previous >= 0 && job->operations[operation->previous].step == operation->step &&
           is_late_by_host(job, baseline, operation);
}
