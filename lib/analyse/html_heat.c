#include "analyse/html_heat.h"

#include "analyse/steps_map.h"
#include "base/array.h"
#include "html/heat.h"
#include "html/page.h"
#include "html/text.h"

#include <stdlib.h>

/* Of all runs of a report together: a byte each, and room for the rest of five megabytes. */
enum { MOST_CELLS = 1 << 20 };

/* What the figure is made of. */
struct picture {
    const struct html_run *run;
    int64_t usual_ns;
    size_t steps;
    struct rank_step *of; /* owned, as are the marks */
    struct html_heat_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
};

static void fill_rank(struct heat_map *map, const struct picture *picture, size_t rank, size_t layer,
                      int64_t usual_ns)
{
    const struct job *job = picture->run->job;
    const struct rank_step *of = &picture->of[rank * (size_t)job->step_count + (size_t)job->first_step];
    map->rows[rank] =
        (struct heat_row){.process = job->ranks[rank].name, .host = job->ranks[rank].facts.host, .ranks = 1};
    for (size_t step = 0; step < picture->steps; step++) {
        int64_t ns = steps_map_ns(&of[step], layer, usual_ns);
        if (ns != TIME_UNKNOWN)
            map->values[rank * picture->steps + step] = (double)ns / 1e3;
    }
}

static void mark_cells(struct heat_map *map, const struct picture *picture)
{
    for (size_t i = 0; i < picture->mark_count; i++)
        for (int64_t step = picture->marks[i].first_step; step <= picture->marks[i].last_step; step++)
            if (step >= map->first_step && step < map->first_step + (int64_t)picture->steps)
                map->marked[picture->marks[i].rank * picture->steps + (size_t)(step - map->first_step)] = 1;
}

static int make_map(struct heat_map *map, const void *context, size_t layer, int is_whole)
{
    const struct picture *picture = context;
    const struct job *job = picture->run->job;
    if (heat_map_init(map, job->rank_count, picture->steps, &heat_share_of_step))
        return -1;
    map->first_step = job->first_step;
    map->is_usual = picture->usual_ns != TIME_UNKNOWN;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        fill_rank(map, picture, rank, layer, is_whole ? TIME_UNKNOWN : picture->usual_ns);
    if (map->is_usual)
        map->unit_us = (double)picture->usual_ns / 1e3;
    else
        heat_map_measure(map);
    mark_cells(map, picture);
    return 0;
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

static int draw(struct picture *picture)
{
    const struct html_run *run = picture->run;
    picture->of = rank_steps_new(run->job, run->baseline);
    if (!picture->of || read_marks(run, picture))
        return -1;
    struct html_heat heat = {.run = run->job->run_id,
                             .rank_count = run->job->rank_count,
                             .first_step = run->job->first_step,
                             .steps = picture->steps,
                             .marks = picture->marks,
                             .mark_count = picture->mark_count,
                             .usual_ns = picture->usual_ns,
                             .most_cells = MOST_CELLS / run->runs,
                             .make = make_map,
                             .context = picture};
    for (size_t i = 0; i < HTML_HEAT_LAYERS; i++) {
        heat.layers[i].key = steps_map_word(i);
        heat.layers[i].title = steps_map_title(i);
    }
    /* What is usual is what length is held against; where nothing is, it is the length that shows. */
    if (picture->usual_ns == TIME_UNKNOWN)
        heat.layers[0].title = "Duration of the step";
    return html_add_heat(run->page, run->data, &heat);
}

static int add_picture(const struct html_run *run)
{
    int32_t steps = run->job->step_count - run->job->first_step;
    struct picture picture = {
        .run = run, .usual_ns = run->judgement->shares.usual_step_ns, .steps = steps > 0 ? (size_t)steps : 0};
    if (steps <= 0 || !run->job->rank_count)
        return html_element(run->page, "p",
                            "No steps were detected in the traces, so there is nothing to draw.");
    int failed = html_element(run->page, "p",
                              "A rank that waits is a victim. A rank with its own delay makes others wait. "
                              "Values are within 2 % of those of ncclprof steps --map --format json.") ||
                 draw(&picture);
    free(picture.of);
    free(picture.marks);
    return failed ? -1 : 0;
}

int html_add_steps(const struct html_run *run)
{
    return html_run_section(run, "steps", "Rank by step") || add_picture(run) || html_section_end(run->whole)
               ? -1
               : 0;
}
