#include "network/transfer_excess.h"

#include "base/array.h"
#include "job/step_index.h"

struct transfer_excess *transfers_new(const struct job *job)
{
    struct transfer_excess *transfers = array_new(job->instance_count, sizeof *transfers);
    for (size_t i = 0; transfers && i < job->instance_count; i++)
        transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN, .culprit = -1};
    return transfers;
}

int64_t transfer_usual_ns(const struct job_instance *instance, const struct transfer_excess *excess)
{
    int64_t took_ns = instance->transfer_ns + excess->some_ns;
    return instance->transfer_ns == TIME_UNKNOWN || took_ns <= excess->slow_ns ? TIME_UNKNOWN
                                                                               : took_ns - excess->slow_ns;
}

int32_t *transfers_slow_by_step(const struct job *job, const struct transfer_excess *transfers, size_t *first)
{
    int32_t *slow = array_new(job->instance_count, sizeof *slow);
    size_t count = 0;
    for (int32_t step = 0; slow && step < job->step_count; step++) {
        struct job_range instances = job_instances_in(job, step, step);
        for (size_t i = instances.first; i < instances.end; i++)
            if (transfers[job->by_step[i]].slow_ns > 0)
                slow[count++] = job->by_step[i];
        first[step + 1] = count;
    }
    return slow;
}
