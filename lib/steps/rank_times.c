#include "steps/rank_times.h"

#include "base/array.h"
#include "baseline/step_durations.h"
#include "job/arrival.h"
#include "job/step_index.h"

#include <stdlib.h>

/* Parts of time, a list of them. */
struct spans {
    struct rank_span *items;
    size_t count;
};

static int by_begin(const void *a, const void *b)
{
    const struct rank_span *left = a, *right = b;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

/* Brings them in order, and makes one of those that overlap. */
static void unite(struct spans *spans)
{
    size_t kept = 0;
    array_sort(spans->items, spans->count, sizeof *spans->items, by_begin);
    for (size_t i = 0; i < spans->count; i++) {
        struct rank_span *span = &spans->items[i];
        if (kept && span->begin_ns <= spans->items[kept - 1].end_ns) {
            if (span->end_ns > spans->items[kept - 1].end_ns)
                spans->items[kept - 1].end_ns = span->end_ns;
        } else if (span->end_ns > span->begin_ns) {
            spans->items[kept++] = *span;
        }
    }
    spans->count = kept;
}

/* The first of united spans that ends after a moment. */
static size_t first_after(const struct spans *spans, int64_t at_ns)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->items[middle].end_ns > at_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* How much of the time between two moments united spans cover. */
static int64_t covered_ns(const struct spans *spans, int64_t begin_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;
    for (size_t i = first_after(spans, begin_ns); i < spans->count && spans->items[i].begin_ns < end_ns;
         i++) {
        const struct rank_span *span = &spans->items[i];
        sum_ns += (span->end_ns < end_ns ? span->end_ns : end_ns) -
                  (span->begin_ns > begin_ns ? span->begin_ns : begin_ns);
    }
    return sum_ns;
}

/* How long an operation waited from its start on; 0 where that cannot be read. */
static int64_t wait_of(const struct rank_times *times, size_t operation)
{
    const struct job_operation *of = &times->job->operations[operation];
    int64_t least_ns = of->instance < 0 ? TIME_UNKNOWN : times->least_stay_ns[of->instance];
    int64_t stay_ns =
        least_ns == TIME_UNKNOWN ? TIME_UNKNOWN : arrival_stay_ns(times->job, (int32_t)operation);
    return stay_ns == TIME_UNKNOWN ? 0 : stay_ns - least_ns;
}

/* Notes when an operation ran, and when it waited. */
static void note(const struct rank_times *times, size_t operation, struct spans *ran, struct spans *waited)
{
    const struct job_operation *of = &times->job->operations[operation];
    if (of->start_ns == TIME_UNKNOWN || of->end_ns == TIME_UNKNOWN || of->end_ns <= of->start_ns)
        return;
    int64_t wait_ns = wait_of(times, operation), ran_ns = of->end_ns - of->start_ns;
    ran->items[ran->count++] = (struct rank_span){of->start_ns, of->end_ns};
    if (wait_ns > 0)
        waited->items[waited->count++] =
            (struct rank_span){of->start_ns, of->start_ns + (wait_ns < ran_ns ? wait_ns : ran_ns)};
}

/* Those of a rank in a range; of one step alone unless that is -1. */
static void note_all(const struct rank_times *times, int32_t rank, struct job_range range, int32_t step,
                     struct spans *ran, struct spans *waited)
{
    const struct job *job = times->job;
    ran->count = waited->count = 0;
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].rank == rank && (step < 0 || job->operations[i].step == step))
            note(times, i, ran, waited);
    unite(ran);
    unite(waited);
}

/* Whether an operation of a rank's step tells when it ran. */
static int is_told(const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].rank == rank && job->operations[i].step == step &&
            job->operations[i].start_ns != TIME_UNKNOWN && job->operations[i].end_ns != TIME_UNKNOWN)
            return 1;
    return 0;
}

static int64_t sum_of(const struct spans *spans)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < spans->count; i++)
        sum_ns += spans->items[i].end_ns - spans->items[i].begin_ns;
    return sum_ns;
}

/* All operations of a rank: a range that may hold others. */
static struct job_range range_of(const struct job *job, int32_t rank)
{
    return job->step_count ? job_operations_in(job, rank, 0, job->step_count - 1) : (struct job_range){0, 0};
}

void rank_times_measure(const struct rank_times *times, struct rank_times_bench *bench, int32_t rank,
                        struct rank_time *steps)
{
    const struct job *job = times->job;
    struct spans ran = {.items = bench->ran}, waited = {.items = bench->waited};
    note_all(times, rank, range_of(job, rank), -1, &ran, &waited);
    for (int32_t step = 0; step < job->step_count; step++) {
        int64_t begin_ns, end_ns;
        steps[step] = (struct rank_time){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
        if (baseline_rank_lasted(times->baseline, job, rank, step, &begin_ns, &end_ns) &&
            is_told(job, rank, step))
            steps[step] = (struct rank_time){end_ns - begin_ns, covered_ns(&ran, begin_ns, end_ns),
                                             covered_ns(&waited, begin_ns, end_ns)};
    }
    for (int32_t step = 0; step < job->step_count; step++) {
        if (steps[step].lasted_ns != TIME_UNKNOWN || !is_told(job, rank, step))
            continue;
        note_all(times, rank, job_operations_in(job, rank, step, step), step, &ran, &waited);
        steps[step].communication_ns = sum_of(&ran);
        steps[step].waiting_ns = sum_of(&waited);
    }
}

static size_t most_operations(const struct job *job)
{
    size_t most = 0;
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        struct job_range range = range_of(job, rank);
        most = range.end - range.first > most ? range.end - range.first : most;
    }
    return most;
}

int rank_times_init(struct rank_times *times, const struct job *job, const struct baseline *baseline)
{
    *times = (struct rank_times){.job = job,
                                 .baseline = baseline,
                                 .least_stay_ns = array_new(job->instance_count + 1, sizeof(int64_t)),
                                 .most_operations = most_operations(job)};
    if (!times->least_stay_ns)
        return -1;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
        times->least_stay_ns[i] = last < 0 ? TIME_UNKNOWN : arrival_stay_ns(job, last);
    }
    return 0;
}

void rank_times_release(struct rank_times *times)
{
    free(times->least_stay_ns);
    *times = (struct rank_times){.job = NULL};
}

int rank_times_bench_init(struct rank_times_bench *bench, const struct rank_times *times)
{
    bench->ran = array_new(times->most_operations + 1, sizeof *bench->ran);
    bench->waited = array_new(times->most_operations + 1, sizeof *bench->waited);
    return bench->ran && bench->waited ? 0 : -1;
}

void rank_times_bench_release(struct rank_times_bench *bench)
{
    free(bench->ran);
    free(bench->waited);
    *bench = (struct rank_times_bench){.ran = NULL};
}
