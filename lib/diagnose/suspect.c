#include "diagnose/suspect.h"

#include "job/step_index.h"

void suspect_ask(struct suspect *suspect, enum rule_id rule, double reading)
{
    readings_note(&suspect->readings, suspect->kind, rule, reading);
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

int suspects_are_together(const struct suspect *a, const struct suspect *b)
{
    int32_t first = a->first_step > b->first_step ? a->first_step : b->first_step;
    int32_t last = a->last_step < b->last_step ? a->last_step : b->last_step;
    int32_t mine = suspect_steps(a), others = suspect_steps(b);
    return (last - first + 1) * 2 > (mine < others ? mine : others);
}
