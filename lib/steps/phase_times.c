#include "steps/phase_times.h"

#include "base/array.h"
#include "base/map.h"
#include "base/statistics.h"
#include "job/step_index.h"
#include "steps/step_summary.h"

#include <stdlib.h>

static int by_tag(const void *a, const void *b)
{
    const struct phase_time *left = a, *right = b;
    if (left->tag != right->tag)
        return left->tag < right->tag ? -1 : 1;
    return (left->step > right->step) - (left->step < right->step);
}

/* The time of a phase in a step, of all ranks so far. `numbers` says where each one is. NULL: no memory. */
static struct phase_time *time_of(struct phase_times *times, struct map *numbers, int32_t step, int32_t tag)
{
    int added;
    const struct map_key key = {{(uint64_t)(uint32_t)tag << 32 | (uint32_t)step}};
    const int64_t *number = map_put(numbers, key, (int64_t)times->count, &added);
    if (!number)
        return NULL;
    if (added) {
        if (array_reserve((void **)&times->items, &times->capacity, times->count + 1, sizeof *times->items))
            return NULL;
        times->items[times->count++] = (struct phase_time){.step = step, .tag = tag};
    }
    return &times->items[*number];
}

/* A rank's timeline, shared out over its phases: each operation's end is where its phase has got to. */
static int add_rank(struct phase_times *times, struct map *numbers, const struct job *job,
                    const struct job_rank *rank)
{
    int64_t before_ns = TIME_UNKNOWN;
    struct phase_time *time = NULL;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->end_ns == TIME_UNKNOWN || operation->step < 0)
            continue;
        if (!time || time->step != operation->step || time->tag != operation->tag)
            time = time_of(times, numbers, operation->step, operation->tag);
        if (!time)
            return -1;
        if (before_ns != TIME_UNKNOWN && operation->end_ns > before_ns)
            time->time_ns += operation->end_ns - before_ns;
        if (before_ns == TIME_UNKNOWN || operation->end_ns > before_ns)
            before_ns = operation->end_ns;
    }
    return 0;
}

/* The mean over ranks. */
static void take_means(struct phase_times *times, size_t ranks)
{
    array_sort(times->items, times->count, sizeof *times->items, by_tag);
    for (size_t i = 0; i < times->count; i++) {
        times->items[i].ranks = (int32_t)ranks;
        times->items[i].time_ns /= (int64_t)ranks;
    }
}

/* Fills in what is usual of a phase: of the steps that have it. Step 0 is warm-up where there are others. */
static int find_usual(struct phase_times *times)
{
    int64_t *list = array_new(times->count + 1, sizeof *list);
    if (!list)
        return -1;
    for (size_t i = 0, next; i < times->count; i = next) {
        size_t count = 0;
        for (next = i; next < times->count && times->items[next].tag == times->items[i].tag; next++)
            if (times->items[next].step > 0)
                list[count++] = times->items[next].time_ns;
        int64_t usual_ns = count ? quiet_of(list, count) : times->items[i].time_ns;
        for (size_t k = i; k < next; k++)
            times->items[k].usual_ns = usual_ns;
    }
    free(list);
    return 0;
}

int phase_times_init(struct phase_times *times, const struct job *job)
{
    size_t ranks = job_recorded_ranks(job);
    struct map numbers;
    int failed = 0;
    *times = (struct phase_times){.items = NULL};
    map_init(&numbers);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        failed = add_rank(times, &numbers, job, &job->ranks[i]);
    map_release(&numbers);
    if (failed)
        return -1;
    take_means(times, ranks ? ranks : 1);
    return find_usual(times);
}

void phase_times_release(struct phase_times *times)
{
    free(times->items);
    *times = (struct phase_times){.items = NULL};
}

int phase_times_grown(const struct job *job, struct step_summary *summaries)
{
    struct phase_times times;
    int failed = phase_times_init(&times, job);
    for (size_t i = 0; !failed && i < times.count; i++) {
        const struct phase_time *time = &times.items[i];
        struct step_summary *summary = &summaries[time->step];
        if (time->step < job->step_count && time->time_ns - time->usual_ns > summary->grew_ns) {
            summary->grew_ns = time->time_ns - time->usual_ns;
            summary->tag = time->tag;
        }
    }
    phase_times_release(&times);
    return failed;
}
