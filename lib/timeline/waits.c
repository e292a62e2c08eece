#include "timeline/waits.h"

#include "base/array.h"
#include "job/arrival.h"

#include <stdlib.h>

int waits_init(struct waits *waits, const struct canvas *canvas)
{
    const struct job *job = canvas->job;
    int32_t most = 0;
    *waits = (struct waits){.canvas = canvas, .last = array_new(job->instance_count, sizeof *waits->last)};
    for (size_t i = 0; waits->last && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        waits->last[i] = instance->members == instance->expected ? arrival_last(job, instance) : -1;
        most = instance->members > most ? instance->members : most;
    }
    waits->arrows = array_new((size_t)most, sizeof *waits->arrows);
    return waits->last && waits->arrows ? 0 : -1;
}

void waits_release(struct waits *waits)
{
    free(waits->last);
    free(waits->arrows);
    *waits = (struct waits){0};
}

int64_t waits_of(const struct waits *waits, size_t operation)
{
    const struct job *job = waits->canvas->job;
    int32_t last = waits->last[job->operations[operation].instance];
    return last < 0 ? 0 : arrival_stay_ns(job, (int32_t)operation) - arrival_stay_ns(job, last);
}

static int is_aligned(const struct job *job, int32_t operation)
{
    return job_is_aligned(&job->ranks[job->operations[operation].rank]);
}

/*
 * An arrow begins where the last comes and ends behind that, or Perfetto turns it round: clocks are only so
 * exact.
 */
int64_t waits_arrow_ns(const struct waits *waits, size_t operation)
{
    const struct canvas *canvas = waits->canvas;
    const struct job *job = canvas->job;
    const struct job_operation *of = &job->operations[operation];
    int32_t last = waits->last[of->instance];
    int64_t waited_ns = waits_of(waits, operation);
    if (waited_ns < WAIT_LEAST_NS || waited_ns < canvas->selection->arrow_ns ||
        !canvas_shows(canvas, operation) || !canvas_shows(canvas, (size_t)last) ||
        !is_aligned(job, (int32_t)operation) || !is_aligned(job, last))
        return TIME_UNKNOWN;
    int64_t over_ns = canvas_begin_ns(canvas, operation) + waited_ns;
    int64_t came_ns = canvas_begin_ns(canvas, (size_t)last);
    over_ns = over_ns > came_ns ? over_ns : came_ns + 1;
    return over_ns < canvas_end_ns(canvas, operation) ? over_ns : TIME_UNKNOWN;
}

uint64_t waits_arrow(size_t operation)
{
    return operation + 1;
}

size_t waits_arrows(const struct waits *waits, size_t operation)
{
    const struct job *job = waits->canvas->job;
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    size_t count = 0;
    if (waits->last[job->operations[operation].instance] != (int32_t)operation)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        size_t member = (size_t)job_member_at(job, instance, i);
        if (waits_arrow_ns(waits, member) != TIME_UNKNOWN)
            waits->arrows[count++] = waits_arrow(member);
    }
    return count;
}
