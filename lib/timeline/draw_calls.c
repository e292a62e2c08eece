#include "timeline/draw_calls.h"

#include "base/array.h"
#include "base/keyed.h"

#include <stdlib.h>

static int draw_call(struct canvas *canvas, struct strip *strip, size_t at, struct error *error)
{
    const struct job *job = canvas->job;
    const struct job_operation *operation = &job->operations[at];
    const char *name = function_name((enum function)operation->function), *source = job_source(job, at);
    const struct perfetto_argument arguments[] = {
        {"communicator", job->communicators[operation->communicator].label, 0},
        {"number", NULL, job->instances[operation->instance].sequence},
        {"source", source, 0}};
    int64_t begin_ns = common_clock_host(&canvas->clock, strip->rank, canvas->calls[at].begin_ns);
    int64_t end_ns = common_clock_host(&canvas->clock, strip->rank, canvas->calls[at].end_ns);
    struct perfetto_event event = {.at_ns = begin_ns,
                                   .category = "call",
                                   .name = name ? name : "operation",
                                   .arguments = arguments,
                                   .argument_count = source ? 3 : 2};
    if (end_ns != TIME_UNKNOWN && end_ns < begin_ns)
        end_ns = begin_ns;
    return strip_draw(canvas, strip, &event, end_ns, error);
}

int draw_calls(struct canvas *canvas, int32_t rank, struct error *error)
{
    const struct job_rank *of = &canvas->job->ranks[rank];
    struct strip strip = {.rank = rank,
                          .name = "calls",
                          .description = "Host: from the call until the operation was enqueued."};
    struct keyed *begins = array_new(of->count, sizeof *begins);
    struct keyed *scratch = array_new(of->count, sizeof *scratch);
    size_t count = 0;
    int failed = begins && scratch ? 0 : error_no_memory(error);
    for (size_t i = of->first; !failed && i < of->first + of->count; i++)
        if (canvas_shows(canvas, i) && canvas->calls[i].begin_ns != TIME_UNKNOWN)
            begins[count++] = (struct keyed){canvas->calls[i].begin_ns, (int32_t)i};
    if (!failed)
        keyed_sort(begins, scratch, count);
    for (size_t i = 0; !failed && i < count; i++)
        failed = draw_call(canvas, &strip, (size_t)begins[i].index, error);
    free(begins);
    free(scratch);
    return failed ? -1 : 0;
}
