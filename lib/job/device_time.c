#include "job/device_time.h"

#include "base/array.h"

/*
 * Host clock minus GPU clock, as the least seen over a block of operations and its neighbours: the host
 * notices a start late, never early, and the two clocks drift apart slowly.
 */
struct host_delays {
    int64_t *least; /* per block */
    size_t count;
};

static void take_neighbours(struct host_delays *delays)
{
    int64_t before = TIME_UNKNOWN;
    for (size_t i = 0; i < delays->count; i++) {
        int64_t here = delays->least[i], least = here;
        if (before != TIME_UNKNOWN && (least == TIME_UNKNOWN || before < least))
            least = before;
        if (i + 1 < delays->count && delays->least[i + 1] != TIME_UNKNOWN &&
            (least == TIME_UNKNOWN || delays->least[i + 1] < least))
            least = delays->least[i + 1];
        before = here;
        delays->least[i] = least;
    }
}

/* Blocks without any delay take that of the nearest block before, or else after. */
static int fill_gaps(struct host_delays *delays)
{
    size_t known = 0;
    while (known < delays->count && delays->least[known] == TIME_UNKNOWN)
        known++;
    if (known == delays->count)
        return 0;
    int64_t last = delays->least[known];
    for (size_t i = 0; i < delays->count; i++) {
        if (delays->least[i] == TIME_UNKNOWN)
            delays->least[i] = last;
        last = delays->least[i];
    }
    return 1;
}

static int64_t noticed_at(const struct job *job, size_t at)
{
    return job->drafts.noticed_ns ? job->drafts.noticed_ns[at] : TIME_UNKNOWN;
}

static int measure_delays(const struct job *job, const struct job_rank *rank, struct host_delays *delays)
{
    delays->count = rank->count / JOB_DELAY_BLOCK + 1;
    delays->least = array_new(delays->count, sizeof *delays->least);
    if (!delays->least)
        return -1;
    for (size_t i = 0; i < delays->count; i++)
        delays->least[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < rank->count; i++) {
        int64_t delay = noticed_at(job, rank->first + i);
        int64_t *least = &delays->least[i / JOB_DELAY_BLOCK];
        if (delay != TIME_UNKNOWN && (*least == TIME_UNKNOWN || delay < *least))
            *least = delay;
    }
    take_neighbours(delays);
    return 0;
}

static void map_time(int64_t *time, int64_t delay)
{
    if (*time != TIME_UNKNOWN)
        *time -= delay;
}

/* An operation without kernel events has its device times from the host, in a rank that has a GPU clock. */
static void map_operation(struct job *job, size_t at)
{
    struct job_operation *operation = &job->operations[at];
    int64_t delay = job_delay(job, operation);
    int by_gpu = noticed_at(job, at) != TIME_UNKNOWN || operation->ends == ENDS_BY_KERNEL;
    map_time(&job->drafts.issued_ns[at], delay);
    map_time(&operation->enqueued_ns, delay);
    if (!by_gpu)
        map_time(&operation->start_ns, delay);
    if (operation->ends == ENDS_BY_PROXY || operation->ends == ENDS_BY_HOST)
        map_time(&operation->end_ns, delay);
    map_time(&job->drafts.free_ns[at], delay);
    if (job->drafts.free_ns[at] < operation->end_ns)
        job->drafts.free_ns[at] = operation->end_ns;
}

int job_map_rank(struct job *job, struct job_rank *rank)
{
    struct host_delays delays;
    size_t first = rank->first, end = rank->first + rank->count;
    if (measure_delays(job, rank, &delays))
        return -1;
    rank->has_gpu_clock = fill_gaps(&delays);
    rank->delays_ns = delays.least;
    while (first < end && job->drafts.issued_ns[first] == TIME_UNKNOWN)
        first++;
    rank->first_issued_ns = first < end ? job->drafts.issued_ns[first] : 0;
    for (size_t i = rank->first; i < end; i++)
        map_operation(job, i);
    return 0;
}
