#include "analyse/html_heat.h"

#include "base/array.h"
#include "html/heat.h"
#include "html/page.h"
#include "html/text.h"
#include "steps/rank_steps.h"

#include <stdlib.h>

/* Of all runs of a report together: a byte each, and room for the rest of five megabytes. */
enum { MOST_CELLS = 1 << 20 };

/* What the figure is made of; owned. */
struct picture {
    int64_t *values[HTML_HEAT_VALUES];
    struct html_heat_rank *ranks;
    struct html_heat_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
};

static int read_values(const struct html_run *run, struct picture *picture, size_t steps)
{
    const struct job *job = run->job;
    struct rank_step *of = rank_steps_new(job, run->baseline);
    int failed = !of;
    for (int i = 0; !failed && i < HTML_HEAT_VALUES; i++)
        failed = !(picture->values[i] = array_new(job->rank_count + 1, steps * sizeof **picture->values));
    for (size_t rank = 0; !failed && rank < job->rank_count; rank++)
        for (size_t step = 0; step < steps; step++) {
            size_t cell = rank * steps + step;
            const struct rank_step *from =
                &of[rank * (size_t)job->step_count + (size_t)job->first_step + step];
            picture->values[HTML_HEAT_LENGTH][cell] = from->duration_ns;
            picture->values[HTML_HEAT_WAITING][cell] = from->waiting_ns;
            picture->values[HTML_HEAT_OWN][cell] = from->own_ns;
        }
    free(of);
    return failed ? -1 : 0;
}

static int read_ranks(const struct job *job, struct picture *picture)
{
    picture->ranks = array_new(job->rank_count + 1, sizeof *picture->ranks);
    for (size_t i = 0; picture->ranks && i < job->rank_count; i++)
        picture->ranks[i] = (struct html_heat_rank){job->ranks[i].name, job->ranks[i].facts.host};
    return picture->ranks ? 0 : -1;
}

/* A mark for each row of steps of a rank that a finding covers. */
static int mark_rank(struct picture *picture, const struct finding *finding, size_t rank)
{
    for (int32_t step = finding->first_step, end; step <= finding->last_step; step = end + 1) {
        for (end = step; end <= finding->last_step && finding_has_step(finding, end); end++)
            ;
        if (end == step)
            continue;
        if (array_reserve((void **)&picture->marks, &picture->mark_capacity, picture->mark_count + 1,
                          sizeof *picture->marks))
            return -1;
        picture->marks[picture->mark_count++] =
            (struct html_heat_mark){rank, step, end - 1, finding_kind_name(finding->kind)};
    }
    return 0;
}

static int read_marks(const struct html_run *run, struct picture *picture)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        for (size_t rank = 0; rank < run->job->rank_count; rank++)
            if (finding_is_told(finding) && finding->first_step >= 0 &&
                finding_has_rank(finding, (int32_t)rank) && mark_rank(picture, finding, rank))
                return -1;
    }
    return 0;
}

static int draw(const struct html_run *run, struct picture *picture, size_t steps)
{
    if (read_values(run, picture, steps) || read_ranks(run->job, picture) || read_marks(run, picture))
        return -1;
    struct html_heat heat = {.run = run->job->run_id,
                             .ranks = picture->ranks,
                             .rank_count = run->job->rank_count,
                             .first_step = run->job->first_step,
                             .steps = steps,
                             .values = {picture->values[0], picture->values[1], picture->values[2]},
                             .marks = picture->marks,
                             .mark_count = picture->mark_count,
                             .usual_ns = run->judgement->shares.usual_step_ns,
                             .most_cells = MOST_CELLS / run->runs};
    return html_add_heat(run->page, run->data, &heat);
}

static int add_picture(const struct html_run *run)
{
    struct picture picture = {.ranks = NULL};
    int32_t steps = run->job->step_count - run->job->first_step;
    if (steps <= 0 || !run->job->rank_count)
        return html_element(run->page, "p",
                            "No steps were detected in the traces, so there is nothing to draw.");
    int failed = html_element(run->page, "p",
                              "A rank that waits is a victim. A rank with its own delay makes others wait. "
                              "Values are within 2 % of those of ncclprof steps --map --format json.") ||
                 draw(run, &picture, (size_t)steps);
    for (int i = 0; i < HTML_HEAT_VALUES; i++)
        free(picture.values[i]);
    free(picture.ranks);
    free(picture.marks);
    return failed ? -1 : 0;
}

int html_add_steps(const struct html_run *run)
{
    return html_run_section(run, "steps", "Rank by step") || add_picture(run) || html_section_end(run->whole)
               ? -1
               : 0;
}
