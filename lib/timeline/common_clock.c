#include "timeline/common_clock.h"

#include "base/array.h"
#include "job/record.h"

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

/* What to add to times on a rank's host's clock to have those on its wall; TIME_UNKNOWN. */
static int find_wall(const struct job *job, const struct job_rank *rank, int64_t *wall_ns,
                     struct error *error)
{
    struct job_record record;
    *wall_ns = TIME_UNKNOWN;
    if (!rank->count)
        return 0;
    int failed = job_find_record(job, rank->first, &record, error);
    if (!failed && record.wall_ns != TIME_UNKNOWN)
        *wall_ns = record.wall_ns - record.at_ns;
    job_record_release(&record);
    return failed;
}

/* When each rank began, on its host's clock. */
static void find_firsts(struct common_clock *clock, const struct call *calls)
{
    const struct job *job = clock->job;
    for (size_t i = 0; i < job->rank_count; i++)
        clock->own_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++)
        take_least(&clock->own_ns[job->operations[i].rank], first_of(job, &job->operations[i], &calls[i]));
    for (size_t i = 0; i < job->rank_count; i++)
        take_least(&clock->origin_ns, job_common_host_time(&job->ranks[i], clock->own_ns[i]));
}

/* By the first rank that others are aligned with. */
static int find_wall_at_origin(struct common_clock *clock, struct error *error)
{
    const struct job *job = clock->job;
    size_t rank = 0;
    while (rank < job->rank_count &&
           (job->ranks[rank].clock_method != CLOCK_REFERENCE || clock->own_ns[rank] == TIME_UNKNOWN))
        rank++;
    if (rank == job->rank_count)
        return 0;
    if (find_wall(job, &job->ranks[rank], &clock->wall_ns, error))
        return -1;
    if (clock->wall_ns != TIME_UNKNOWN)
        clock->wall_ns += clock->own_ns[rank] -
                          (job_common_host_time(&job->ranks[rank], clock->own_ns[rank]) - clock->origin_ns);
    return 0;
}

/* Ranks that are not aligned, by their wall clocks: `walls_ns` is what those have more than their hosts'. */
static int read_walls(struct common_clock *clock, int64_t *walls_ns, struct error *error)
{
    const struct job *job = clock->job;
    for (size_t i = 0; i < job->rank_count; i++) {
        walls_ns[i] = TIME_UNKNOWN;
        if (clock->own_ns[i] == TIME_UNKNOWN || job_is_aligned(&job->ranks[i]))
            continue;
        if (clock->wall_ns != TIME_UNKNOWN && find_wall(job, &job->ranks[i], &walls_ns[i], error))
            return -1;
        clock->adrift += walls_ns[i] == TIME_UNKNOWN;
    }
    return 0;
}

/* The first of all may be on a rank that is only known by its wall clock. */
static void place_by_wall(struct common_clock *clock, const int64_t *walls_ns)
{
    const struct job *job = clock->job;
    int64_t first_ns = clock->wall_ns;
    for (size_t i = 0; i < job->rank_count; i++)
        if (walls_ns[i] != TIME_UNKNOWN)
            take_least(&first_ns, clock->own_ns[i] + walls_ns[i]);
    if (clock->wall_ns != TIME_UNKNOWN)
        clock->origin_ns -= clock->wall_ns - first_ns;
    clock->wall_ns = first_ns;
    for (size_t i = 0; i < job->rank_count; i++)
        if (walls_ns[i] != TIME_UNKNOWN)
            clock->own_ns[i] = first_ns - walls_ns[i];
}

int common_clock_init(struct common_clock *clock, const struct job *job, const struct call *calls,
                      struct error *error)
{
    *clock = (struct common_clock){.job = job, .origin_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    clock->own_ns = array_new(job->rank_count, sizeof *clock->own_ns);
    int64_t *walls_ns = array_new(job->rank_count, sizeof *walls_ns);
    int failed = clock->own_ns && walls_ns ? 0 : error_no_memory(error);
    if (!failed)
        find_firsts(clock, calls);
    failed = failed || find_wall_at_origin(clock, error) || read_walls(clock, walls_ns, error);
    if (!failed)
        place_by_wall(clock, walls_ns);
    free(walls_ns);
    return failed ? -1 : 0;
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
