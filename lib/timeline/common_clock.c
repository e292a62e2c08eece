#include "timeline/common_clock.h"

#include "base/array.h"

#include <stdlib.h>

static void take_least(int64_t *least_ns, int64_t time_ns)
{
    if (time_ns != TIME_UNKNOWN && (*least_ns == TIME_UNKNOWN || time_ns < *least_ns))
        *least_ns = time_ns;
}

/* An operation's first moment on its host's clock. */
static int64_t first_of(const struct job *job, const struct job_operation *operation, const struct call *call)
{
    int64_t device_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : operation->end_ns;
    int64_t first_ns = device_ns == TIME_UNKNOWN ? TIME_UNKNOWN : device_ns + job_delay(job, operation);
    take_least(&first_ns, call->begin_ns);
    return first_ns;
}

int common_clock_init(struct common_clock *clock, const struct job *job, const struct call *calls)
{
    *clock = (struct common_clock){.job = job, .origin_ns = TIME_UNKNOWN};
    clock->own_ns = array_new(job->rank_count, sizeof *clock->own_ns);
    if (!clock->own_ns)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        clock->own_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++)
        take_least(&clock->own_ns[job->operations[i].rank], first_of(job, &job->operations[i], &calls[i]));
    for (size_t i = 0; i < job->rank_count; i++)
        take_least(&clock->origin_ns, job_common_host_time(&job->ranks[i], clock->own_ns[i]));
    return 0;
}

void common_clock_release(struct common_clock *clock)
{
    free(clock->own_ns);
    *clock = (struct common_clock){0};
}

int64_t common_clock_host(const struct common_clock *clock, int32_t rank, int64_t host_ns)
{
    const struct job_rank *of = &clock->job->ranks[rank];
    if (host_ns == TIME_UNKNOWN || clock->own_ns[rank] == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t at_ns = job_is_aligned(of) ? job_common_host_time(of, host_ns) - clock->origin_ns
                                       : host_ns - clock->own_ns[rank];
    return at_ns > 0 ? at_ns : 0;
}

int64_t common_clock_device(const struct common_clock *clock, const struct job_operation *operation,
                            int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN
               ? TIME_UNKNOWN
               : common_clock_host(clock, operation->rank, time_ns + job_delay(clock->job, operation));
}
