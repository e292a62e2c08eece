/*
 * Section of the HTML report: the heat maps of ranks by step, with the steps of findings, and which of them
 * is shown first.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <math.h>
#include <stdlib.h>

/* Most cells of heat maps in a report, over all layers and runs: a byte each, in four characters of base64 a
 * three. */
enum { MOST_CELLS = 3 << 20 };

/* The layers: those of `steps --map`, and where network steps were recorded the two after them. */
enum { AT_SENT = STEPS_MAP_VALUES, AT_RECEIVED, LAYERS };

/* The data of the heat map. */
struct picture {
    const struct html_run *run;
    int64_t usual_ns;
    size_t steps;
    struct rank_step *of; /* owned, like all members below */
    double *ratios[2];    /* of html_link_ratios_new: of what ranks send, and of what is sent to them; NULL */
    struct html_heat_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
    size_t *chosen; /* the rows of the findings, if there are too many ranks */
    const char **reasons;
    size_t chosen_count;
};

/* The value of a cell: a time in microseconds, or a ratio; NAN: unknown. */
static double value_at(const struct picture *picture, size_t rank, size_t step, size_t layer,
                       int64_t usual_ns)
{
    const struct job *job = picture->run->job;
    size_t at = rank * (size_t)job->step_count + (size_t)html_run_first_step(picture->run) + step;
    if (layer >= AT_SENT)
        return picture->ratios[layer - AT_SENT][at];
    int64_t ns = steps_map_ns(&picture->of[at], layer, usual_ns);
    return ns == TIME_UNKNOWN ? (double)NAN : (double)ns / 1e3;
}

static void fill_rank(struct heat_map *map, const struct picture *picture, size_t rank, size_t layer,
                      int64_t usual_ns)
{
    const struct job_rank *of = &picture->run->job->ranks[rank];
    map->rows[rank] = (struct heat_row){.process = of->name, .host = of->facts.host, .ranks = 1};
    for (size_t step = 0; step < picture->steps; step++)
        map->values[rank * picture->steps + step] = value_at(picture, rank, step, layer, usual_ns);
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
    const struct heat_scale *scale = layer < AT_SENT ? &heat_share_of_step : &heat_times_baseline;
    if (heat_map_init(map, job->rank_count, picture->steps, scale))
        return -1;
    map->first_step = html_run_step(picture->run, html_run_first_step(picture->run));
    map->is_usual = layer < AT_SENT && picture->usual_ns != TIME_UNKNOWN;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        fill_rank(map, picture, rank, layer, is_whole ? TIME_UNKNOWN : picture->usual_ns);
    mark_cells(map, picture);
    if (map->is_usual)
        map->unit_us = (double)picture->usual_ns / 1e3;
    else if (layer >= AT_SENT)
        map->unit_us = 1;
    else
        heat_map_measure(map);
    return 0;
}

/* Adds a mark for each block of steps of a rank that a finding covers. */
static int mark_rank(struct picture *picture, const struct finding *finding, size_t rank)
{
    const struct html_run *run = picture->run;
    int32_t first = html_run_first_step(run);
    first = finding->first_step > first ? finding->first_step : first;
    for (int32_t step = first, end; step <= finding->last_step; step = end + 1) {
        for (end = step; end <= finding->last_step && finding_has_step(finding, end); end++)
            ;
        if (end == step)
            continue;
        if (array_reserve((void **)&picture->marks, &picture->mark_capacity, picture->mark_count + 1,
                          sizeof *picture->marks))
            return -1;
        picture->marks[picture->mark_count++] = (struct html_heat_mark){
            rank, html_run_step(run, step), html_run_step(run, end - 1), finding_kind_name(finding->kind)};
    }
    return 0;
}

static int read_marks(const struct html_run *run, struct picture *picture)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        for (size_t rank = 0; rank < run->job->rank_count; rank++)
            if (finding_is_reported(finding) && finding->first_step >= 0 &&
                finding_has_rank(finding, (int32_t)rank) && mark_rank(picture, finding, rank))
                return -1;
    }
    return 0;
}

/* Chooses the rows of the findings if there are too many ranks. */
static int choose_rows(struct picture *picture)
{
    struct html_rows rows;
    int failed = html_rows_init(&rows, picture->run, NULL);
    if (!failed && rows.count < picture->run->job->rank_count && html_run_finding_count(picture->run)) {
        picture->chosen = array_new(rows.count + 1, sizeof *picture->chosen);
        picture->reasons = array_new(rows.count + 1, sizeof *picture->reasons);
        failed = !picture->chosen || !picture->reasons;
        for (size_t i = 0; !failed && i < rows.count; i++) {
            picture->chosen[i] = (size_t)rows.ranks[i];
            picture->reasons[i] = html_row_reason(rows.why[rows.ranks[i]]);
        }
        picture->chosen_count = failed ? 0 : rows.count;
    }
    html_rows_release(&rows);
    return failed ? -1 : 0;
}

/* The layer that shows the first finding; of a healthy job, that no rank made others wait. */
static size_t layer_to_show(const struct picture *picture)
{
    static const size_t at_length = 0, at_waiting = 1, at_own = 2;
    const struct findings *findings = picture->run->findings;
    const struct finding *first = NULL;
    for (size_t i = 0; !first && i < findings->count; i++)
        first = finding_is_reported(&findings->items[i]) ? &findings->items[i] : NULL;
    if (!first)
        return longer_steps_alarm(&picture->run->judgement->longer) ? at_length : at_own;
    if (first->kind == FINDING_NETWORK)
        return !picture->ratios[0] ? at_length : first->receives ? AT_RECEIVED : AT_SENT;
    return first->stops_job ? at_waiting : first->kind < FINDING_NETWORK ? at_own : at_length;
}

static void name_layers(const struct picture *picture, struct html_heat *heat)
{
    heat->layer_count = picture->ratios[0] ? LAYERS : AT_SENT;
    for (size_t i = 0; i < AT_SENT; i++) {
        heat->layers[i].key = steps_map_word(i);
        heat->layers[i].title = steps_map_title(i);
        heat->layers[i].scale = &heat_share_of_step;
    }
    /* Without a baseline, the map shows the step time itself. */
    if (picture->usual_ns == TIME_UNKNOWN)
        heat->layers[0].title = "Duration of the step";
    heat->layers[AT_SENT].key = "sent";
    heat->layers[AT_SENT].title = "Network wait of data that it sends, slowest link";
    heat->layers[AT_RECEIVED].key = "received";
    heat->layers[AT_RECEIVED].title = "Network wait of data sent to it, slowest link";
    heat->layers[AT_SENT].scale = heat->layers[AT_RECEIVED].scale = &heat_times_baseline;
    heat->shown = layer_to_show(picture);
}

static int measure(struct picture *picture)
{
    const struct job *job = picture->run->job;
    picture->of = rank_steps_new(job, picture->run->baseline);
    for (int i = 0; i < 2 && job->traffic_count; i++) {
        picture->ratios[i] = html_link_ratios_new(picture->run, i);
        if (!picture->ratios[i])
            return -1;
    }
    return !picture->of || read_marks(picture->run, picture) || choose_rows(picture) ? -1 : 0;
}

static int draw(struct picture *picture)
{
    const struct html_run *run = picture->run;
    if (measure(picture))
        return -1;
    struct html_heat heat = {.run = run->number,
                             .rank_count = run->job->rank_count,
                             .first_step = html_run_step(run, html_run_first_step(run)),
                             .steps = picture->steps,
                             .chosen = picture->chosen,
                             .reasons = picture->reasons,
                             .chosen_count = picture->chosen_count,
                             .marks = picture->marks,
                             .mark_count = picture->mark_count,
                             .usual_ns = picture->usual_ns,
                             .make = make_map,
                             .context = picture};
    name_layers(picture, &heat);
    heat.most_cells = MOST_CELLS / heat.layer_count / run->runs;
    return html_add_heat(run->page, run->data, &heat);
}

static void picture_release(struct picture *picture)
{
    free(picture->of);
    free(picture->ratios[0]);
    free(picture->ratios[1]);
    free(picture->marks);
    free(picture->chosen);
    free(picture->reasons);
}

/* Below the map, in which steps each cause of a finding shows. */
static int add_causes(const struct html_run *run, const struct finding *finding, size_t steps)
{
    int32_t first = html_run_first_step(run);
    unsigned char *faulty = array_new(steps + 1, sizeof *faulty);
    int failed = !faulty;
    for (size_t step = 0; !failed && step < steps; step++)
        faulty[step] = finding_has_step(finding, first + (int32_t)step) != 0;
    for (size_t i = 0; !failed && i < finding->cause_count; i++) {
        const struct cause *cause = &finding->causes[i];
        struct html_strip strip = {.text = cause->what,
                                   .marked = cause->steps ? cause->steps + first : NULL,
                                   .shaded = faulty,
                                   .first_step = html_run_step(run, first),
                                   .steps = steps};
        failed = cause->steps && html_add_strip(run->page, &strip);
    }
    free(faulty);
    return failed ? -1 : 0;
}

static int add_all_causes(const struct html_run *run, size_t steps)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding_is_reported(finding) && finding->cause_count && finding->first_step >= 0 &&
            add_causes(run, finding, steps))
            return -1;
    }
    return 0;
}

static int add_picture(const struct html_run *run)
{
    int32_t steps = run->job->step_count - html_run_first_step(run);
    struct picture picture = {
        .run = run, .usual_ns = run->judgement->shares.usual_step_ns, .steps = steps > 0 ? (size_t)steps : 0};
    if (steps <= 0 || !run->job->rank_count)
        return html_element(run->page, "p",
                            "No steps were detected in the traces, so there is nothing to draw.");
    int failed =
        html_element(run->page, "p",
                     "A rank that waits is a victim. A rank with its own delay makes others wait.") ||
        draw(&picture) || add_all_causes(run, picture.steps);
    picture_release(&picture);
    return failed ? -1 : 0;
}

int html_add_steps(const struct html_run *run)
{
    return html_run_section(run, "steps", "Rank by step") || add_picture(run) || html_section_end(run->whole)
               ? -1
               : 0;
}
