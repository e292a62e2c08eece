#include "steps/phase_times.h"

#include "base/array.h"
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

static int add(struct phase_times *times, int32_t step, int32_t tag, int64_t time_ns)
{
    if (array_reserve((void **)&times->items, &times->capacity, times->count + 1, sizeof *times->items))
        return -1;
    times->items[times->count++] =
        (struct phase_time){.step = step, .tag = tag, .time_ns = time_ns, .ranks = 1};
    return 0;
}

/* A rank's timeline, shared out over its phases: each operation's end is where its phase has got to. */
static int add_rank(struct phase_times *times, const struct job *job, const struct job_rank *rank)
{
    int64_t before_ns = TIME_UNKNOWN;
    size_t first = times->count;
    for (size_t i = rank->first; i < rank->first + rank->count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->end_ns == TIME_UNKNOWN || operation->step < 0)
            continue;
        struct phase_time *last = times->count > first ? &times->items[times->count - 1] : NULL;
        int64_t grown_ns =
            before_ns == TIME_UNKNOWN || operation->end_ns < before_ns ? 0 : operation->end_ns - before_ns;
        if (before_ns == TIME_UNKNOWN || operation->end_ns > before_ns)
            before_ns = operation->end_ns;
        if (last && last->step == operation->step && last->tag == operation->tag)
            last->time_ns += grown_ns;
        else if (add(times, operation->step, operation->tag, grown_ns))
            return -1;
    }
    return 0;
}

/* One for each phase and step, the mean over ranks. A phase that is entered twice is one. */
static void unite(struct phase_times *times, size_t ranks)
{
    size_t kept = 0;
    array_sort(times->items, times->count, sizeof *times->items, by_tag);
    for (size_t i = 0; i < times->count; i++)
        if (kept && by_tag(&times->items[kept - 1], &times->items[i]) == 0)
            times->items[kept - 1].time_ns += times->items[i].time_ns;
        else
            times->items[kept++] = times->items[i];
    times->count = kept;
    for (size_t i = 0; i < kept; i++) {
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
    *times = (struct phase_times){.items = NULL};
    for (size_t i = 0; i < job->rank_count; i++)
        if (add_rank(times, job, &job->ranks[i]))
            return -1;
    unite(times, ranks ? ranks : 1);
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
