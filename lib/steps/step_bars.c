#include "steps/step_bars.h"

#include "base/array.h"
#include "job/arrival.h"
#include "job/step_index.h"

#include <stdlib.h>

static int by_begin(const void *a, const void *b)
{
    const struct step_bar *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

static int64_t waiting_of(const struct job *job, int32_t number)
{
    const struct job_operation *operation = &job->operations[number];
    if (operation->instance < 0)
        return 0;
    const struct job_instance *instance = &job->instances[operation->instance];
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    int64_t waiting_ns = last >= 0 ? arrival_stay_ns(job, number) - arrival_stay_ns(job, last) : 0;
    int64_t length_ns = operation->end_ns - operation->start_ns;
    return waiting_ns < 0 ? 0 : waiting_ns > length_ns ? length_ns : waiting_ns;
}

/*
 * Where no kernel says so, what never ended was begun when it was handed to the GPU and that had done with
 * the one before; not at all where that one never ended.
 */
static int64_t begin_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_operation *before =
        operation->previous >= 0 ? &job->operations[operation->previous] : NULL;
    int64_t enqueued_ns = operation->enqueued_ns;
    if (operation->start_ns != TIME_UNKNOWN || !operation->unfinished)
        return operation->start_ns;
    if (enqueued_ns == TIME_UNKNOWN || (before && before->unfinished))
        return TIME_UNKNOWN;
    return before && before->end_ns > enqueued_ns ? before->end_ns : enqueued_ns;
}

static void add_bar(struct step_bars *bars, const struct job *job, int32_t number)
{
    const struct job_operation *operation = &job->operations[number];
    int64_t begin_ns = job_common_time(job, operation, begin_of(job, operation));
    if (begin_ns == TIME_UNKNOWN) {
        bars->is_unclocked = 1;
        return;
    }
    struct step_bar *bar = &bars->items[bars->count++];
    *bar = (struct step_bar){
        .operation = number, .begin_ns = begin_ns, .end_ns = TIME_UNKNOWN, .is_open = operation->unfinished};
    if (operation->unfinished || operation->end_ns == TIME_UNKNOWN)
        return;
    bar->end_ns = job_common_time(job, operation, operation->end_ns);
    bar->waiting_ns = waiting_of(job, number);
}

int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    *bars = (struct step_bars){.items = array_new(range.end - range.first + 1, sizeof *bars->items)};
    if (!bars->items)
        return -1;
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step && begin_of(job, &job->operations[i]) != TIME_UNKNOWN)
            add_bar(bars, job, (int32_t)i);
    bars->is_untimed = !bars->count && !bars->is_unclocked;
    array_sort(bars->items, bars->count, sizeof *bars->items, by_begin);
    return 0;
}

void step_bars_release(struct step_bars *bars)
{
    free(bars->items);
    *bars = (struct step_bars){.items = NULL};
}
