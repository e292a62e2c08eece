#include "steps/step_summary.h"

#include "base/array.h"
#include "base/statistics.h"
#include "job/arrival.h"
#include "job/step_index.h"
#include "job/threads.h"
#include "steps/phase_times.h"

#include <stdlib.h>

/* When operations of a rank's step ran on its GPU. */
struct interval {
    int64_t begin_ns;
    int64_t end_ns;
};

static int by_begin(const void *a, const void *b)
{
    const struct interval *left = a, *right = b;
    return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

/* Time in which at least one of them ran. They are reordered. */
static int64_t covered_ns(struct interval *intervals, size_t count)
{
    int64_t sum = 0, end = INT64_MIN;
    array_sort(intervals, count, sizeof *intervals, by_begin);
    for (size_t i = 0; i < count; i++) {
        int64_t begin = intervals[i].begin_ns > end ? intervals[i].begin_ns : end;
        if (intervals[i].end_ns > begin) {
            sum += intervals[i].end_ns - begin;
            end = intervals[i].end_ns;
        }
    }
    return sum;
}

/* Of a rank in a step: time of communication, TIME_UNKNOWN where no operation tells when it ran. */
static int64_t communication_of(const struct job *job, int32_t rank, int32_t step, struct interval *intervals)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    size_t count = 0;
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step == step && operation->start_ns != TIME_UNKNOWN &&
            operation->end_ns != TIME_UNKNOWN)
            intervals[count++] = (struct interval){operation->start_ns, operation->end_ns};
    }
    return count ? covered_ns(intervals, count) : TIME_UNKNOWN;
}

/* The first start of its operations in common time. */
static void note_begin(const struct job *job, int32_t rank, int32_t step, int64_t *begin_ns)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->step != step || operation->start_ns == TIME_UNKNOWN)
            continue;
        int64_t start_ns = job_common_time(job, operation, operation->start_ns);
        if (start_ns != TIME_UNKNOWN && (*begin_ns == TIME_UNKNOWN || start_ns < *begin_ns))
            *begin_ns = start_ns;
    }
}

/* The most operations that a rank has in one step's range. */
static size_t most_operations(const struct job *job)
{
    size_t most = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        for (int32_t step = 0; step < job->step_count; step++) {
            struct job_range range = job_operations_in(job, (int32_t)rank, step, step);
            most = range.end - range.first > most ? range.end - range.first : most;
        }
    return most;
}

static void measure_communication(const struct job *job, int32_t step, struct interval *intervals,
                                  struct step_summary *summary)
{
    int64_t sum = 0, ranks = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        int64_t ns = communication_of(job, (int32_t)rank, step, intervals);
        note_begin(job, (int32_t)rank, step, &summary->begin_ns);
        if (ns == TIME_UNKNOWN)
            continue;
        sum += ns;
        ranks++;
    }
    summary->communication_ns = ranks ? sum / ranks : TIME_UNKNOWN;
}

/*
 * Adds what the members of an instance waited for the last of them to `waited`, of which there is one a rank.
 * What they waited in all; TIME_UNKNOWN where that cannot be read.
 */
static int64_t add_waits(const struct job *job, const struct job_instance *instance, int64_t *waited)
{
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    int64_t sum = 0;
    if (last < 0)
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++)
        sum += arrival_stay_ns(job, job_member_at(job, instance, i)) - arrival_stay_ns(job, last);
    waited[job->operations[last].rank] += sum;
    return sum;
}

/* Who was waited for most in a step, and what each rank waited on average. */
static void measure_waiting(const struct job *job, int32_t step, int64_t *waited,
                            struct step_summary *summary)
{
    struct job_range range = job_instances_in(job, step, step);
    int64_t sum = 0;
    int is_told = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        waited[rank] = 0;
    for (size_t i = range.first; i < range.end; i++) {
        int64_t ns = add_waits(job, &job->instances[job->by_step[i]], waited);
        is_told |= ns != TIME_UNKNOWN;
        sum += ns == TIME_UNKNOWN ? 0 : ns;
    }
    for (size_t rank = 0; rank < job->rank_count; rank++)
        if (waited[rank] > summary->last_waited_ns) {
            summary->last_waited_ns = waited[rank];
            summary->last_rank = (int32_t)rank;
        }
    size_t ranks = job_recorded_ranks(job);
    summary->waiting_ns = is_told && ranks ? sum / (int64_t)ranks : TIME_UNKNOWN;
}

/* Steps, and what each thread measures them with. */
struct measuring {
    const struct job *job;
    struct step_summary *summaries;
    struct bench {
        struct interval *intervals; /* owned: room for the operations of a rank in a step */
        int64_t *waited;            /* owned: by rank */
    } * benches;                    /* owned */
    size_t bench_count;
};

static int measure_steps(void *context, size_t worker, size_t first, size_t end)
{
    const struct measuring *measuring = context;
    const struct bench *bench = &measuring->benches[worker];
    for (size_t step = first; step < end; step++) {
        measure_communication(measuring->job, (int32_t)step, bench->intervals, &measuring->summaries[step]);
        measure_waiting(measuring->job, (int32_t)step, bench->waited, &measuring->summaries[step]);
    }
    return 0;
}

static int measuring_init(struct measuring *measuring)
{
    const struct job *job = measuring->job;
    size_t most = most_operations(job);
    measuring->bench_count = job_threads(job);
    measuring->benches = array_new(measuring->bench_count, sizeof *measuring->benches);
    for (size_t i = 0; measuring->benches && i < measuring->bench_count; i++) {
        struct bench *bench = &measuring->benches[i];
        bench->intervals = array_new(most + 1, sizeof *bench->intervals);
        bench->waited = array_new(job->rank_count + 1, sizeof *bench->waited);
        if (!bench->intervals || !bench->waited)
            return -1;
    }
    return measuring->benches ? 0 : -1;
}

static int measure(const struct job *job, struct step_summary *summaries)
{
    struct measuring measuring = {.job = job, .summaries = summaries};
    int failed = measuring_init(&measuring) ||
                 parallel_for((size_t)job->step_count, 1, measuring.bench_count, measure_steps, &measuring);
    for (size_t i = 0; measuring.benches && i < measuring.bench_count; i++) {
        free(measuring.benches[i].intervals);
        free(measuring.benches[i].waited);
    }
    free(measuring.benches);
    return failed;
}

int step_usual_ns(const struct baseline *baseline, int64_t *usual_ns)
{
    int64_t *list = array_new((size_t)baseline->step_count + 1, sizeof *list);
    size_t count = 0;
    if (!list)
        return -1;
    for (int32_t step = baseline->first_step; baseline->step_ns && step < baseline->step_count; step++)
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            list[count++] = baseline->step_ns[step];
    *usual_ns = quiet_of(list, count);
    free(list);
    return 0;
}

static int begin_all(const struct job *job, const struct baseline *baseline, struct step_summary *summaries)
{
    int64_t usual_ns;
    if (step_usual_ns(baseline, &usual_ns))
        return -1;
    for (int32_t step = 0; step < job->step_count; step++)
        summaries[step] = (struct step_summary){
            .begin_ns = TIME_UNKNOWN,
            .duration_ns = step < baseline->step_count ? baseline->step_ns[step] : TIME_UNKNOWN,
            .usual_ns = usual_ns,
            .last_rank = -1,
            .tag = -1};
    return 0;
}

struct step_summary *step_summaries_new(const struct job *job, const struct baseline *baseline)
{
    struct step_summary *summaries = array_new((size_t)job->step_count + 1, sizeof *summaries);
    if (summaries && (begin_all(job, baseline, summaries) || measure(job, summaries) ||
                      phase_times_grown(job, summaries))) {
        free(summaries);
        return NULL;
    }
    return summaries;
}
