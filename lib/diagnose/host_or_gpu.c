#include "diagnose/host_or_gpu.h"

/*
 * Of the excess, one part in so many has to be lateness of the host: half; within a step less, since the
 * GPU's work beside communication then takes its time as well (host_or_gpu.h).
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
    int64_t host_ns[2] = {0, 0}, total_ns[2] = {0, 0}; /* [own time is known] */
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

const char *host_or_gpu_text(enum finding_kind kind)
{
    return kind == FINDING_HOST
               ? ". The host enqueued it late"
               : ". The kernel was already queued, so the GPU was busy and the host was not late";
}

int is_late_within(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation)
{
    return operation->previous >= 0 && job->operations[operation->previous].step == operation->step &&
           is_late_by_host(job, baseline, operation);
}
