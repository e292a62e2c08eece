#include "job/device_time.h"

#include "base/array.h"
#include "job/excerpts.h"

#include <stdlib.h>

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

/* Of operations from number `first` of a rank to before `end`, which follow each other. */
static int measure_delays(const struct job *job, const struct job_rank *rank, size_t first, size_t end,
                          struct host_delays *delays)
{
    delays->count = (end - first) / JOB_DELAY_BLOCK + 1;
    delays->least = array_new(delays->count, sizeof *delays->least);
    if (!delays->least)
        return -1;
    for (size_t i = 0; i < delays->count; i++)
        delays->least[i] = TIME_UNKNOWN;
    for (size_t i = first; i < end; i++) {
        int64_t delay = noticed_at(job, rank->first + i);
        int64_t *least = &delays->least[(i - first) / JOB_DELAY_BLOCK];
        if (delay != TIME_UNKNOWN && (*least == TIME_UNKNOWN || delay < *least))
            *least = delay;
    }
    take_neighbours(delays);
    return 0;
}

/* Where the operations of a rank that follow number `first` without a break end. */
static size_t end_of_excerpt(const struct job *job, const struct job_rank *rank, size_t first)
{
    size_t excerpt = 0, end = first;
    for (int is_known = 0; end < rank->count; end++) {
        int32_t step = job->operations[rank->first + end].step;
        size_t here = step < 0 ? excerpt : job_excerpt_of(job, step);
        if (step >= 0 && is_known && here != excerpt)
            break;
        is_known |= step >= 0;
        excerpt = here;
    }
    return end;
}

/* The same excerpt by excerpt, a delay for each operation. */
static int measure_excerpts(const struct job *job, const struct job_rank *rank, struct host_delays *all)
{
    *all = (struct host_delays){array_new(rank->count + 1, sizeof *all->least), rank->count};
    for (size_t first = 0, end; all->least && first < rank->count; first = end) {
        struct host_delays delays;
        end = end_of_excerpt(job, rank, first);
        if (measure_delays(job, rank, first, end, &delays)) {
            free(all->least);
            all->least = NULL;
            break;
        }
        fill_gaps(&delays);
        for (size_t i = first; i < end; i++)
            all->least[i] = delays.least[(i - first) / JOB_DELAY_BLOCK];
        free(delays.least);
    }
    return all->least ? 0 : -1;
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
    if (job->excerpt_count ? measure_excerpts(job, rank, &delays)
                           : measure_delays(job, rank, 0, rank->count, &delays))
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
