/*
 * Section of the HTML report: the network links, as a matrix of senders and receivers and as a list. If there
 * are network findings, the matrices show the steps of these.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/stalls.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most ranks in the matrix of a finding, most matrices, and limits of the list of links. */
enum { MOST_ENDS = 32, MOST_MATRICES = 2, LEAST_LISTED = 8, MOST_LISTED = 40, CALM_LISTED = 4 };

/* The defaults of the options of stalls. */
static const struct stalls_options usual = {.sigmas = 6, .factor = 2, .min_stall = 0.03};

/* Whether the finding is about the link. */
static int is_blamed(const struct finding *finding, const struct link_step *link)
{
    int32_t own = finding->receives ? link->receiver : link->sender;
    int32_t other = finding->receives ? link->sender : link->receiver;
    int is_named = !finding->peer_count;
    for (size_t i = 0; i < finding->peer_count; i++)
        is_named |= finding->peers[i] == other;
    return is_named && finding_has_rank(finding, own);
}

/* -------------------- waits of ranks by step -------------------- */

static int is_faulty(const struct html_run *run, const struct link_step *link)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding->kind == FINDING_NETWORK && finding_is_reported(finding) && is_blamed(finding, link) &&
            finding_has_step(finding, link->step))
            return 1;
    }
    return 0;
}

/* The median wait of a link in its steps without a finding about it, or in all; TIME_UNKNOWN: none. */
static int64_t baseline_of(const struct html_run *run, const struct link_step *link, size_t count, int of_all,
                           int64_t *list)
{
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (link[i].step >= run->baseline->first_step && (of_all || !is_faulty(run, &link[i])))
            list[seen++] = link[i].wait_ns / link[i].steps;
    return seen ? median_of(list, seen) : TIME_UNKNOWN;
}

static size_t end_of_link(const struct link_steps *steps, size_t first)
{
    size_t end = first + 1;
    while (end < steps->count && link_steps_are_alike(&steps->items[first], &steps->items[end]))
        end++;
    return end;
}

/* The median of the baselines of all links. `list` and `baselines` have room for a value per item. */
static int64_t median_baseline(const struct html_run *run, const struct link_steps *steps, int64_t *list,
                               int64_t *baselines)
{
    size_t known = 0;
    for (size_t i = 0, end; i < steps->count; i = end) {
        end = end_of_link(steps, i);
        int64_t baseline_ns = baseline_of(run, &steps->items[i], end - i, 1, list);
        if (baseline_ns != TIME_UNKNOWN)
            baselines[known++] = baseline_ns;
    }
    return median_of(baselines, known);
}

/* A link that is slow by design does not stand out, nor one whose waits are short and scatter. */
static void fill_ratios(const struct html_run *run, const struct link_steps *steps, int by_receiver,
                        int64_t median_ns, int64_t *list, double *ratios)
{
    for (size_t i = 0, end; i < steps->count; i = end) {
        end = end_of_link(steps, i);
        int64_t own_ns = baseline_of(run, &steps->items[i], end - i, 0, list);
        int64_t baseline_ns = own_ns != TIME_UNKNOWN && own_ns > median_ns ? own_ns : median_ns;
        for (size_t j = i; j < end && baseline_ns > 0; j++) {
            const struct link_step *link = &steps->items[j];
            size_t rank = (size_t)(by_receiver ? link->receiver : link->sender);
            double *ratio = &ratios[rank * (size_t)run->job->step_count + (size_t)link->step];
            *ratio = fmax(*ratio, ratio_of(link->wait_ns / link->steps, baseline_ns));
        }
    }
}

double *html_link_ratios_new(const struct html_run *run, int by_receiver)
{
    struct link_steps steps;
    size_t count = run->job->rank_count * (size_t)run->job->step_count;
    double *ratios = array_new(count + 1, sizeof *ratios);
    int failed = link_steps_init(&steps, run->job) || !ratios;
    int64_t *list = array_new(2 * steps.count + 1, sizeof *list);
    failed = failed || !list;
    for (size_t i = 0; !failed && i < count; i++)
        ratios[i] = (double)NAN;
    if (!failed)
        fill_ratios(run, &steps, by_receiver, median_baseline(run, &steps, list, list + steps.count), list,
                    ratios);
    link_steps_release(&steps);
    free(list);
    if (failed) {
        free(ratios);
        return NULL;
    }
    return ratios;
}

/* -------------------- the steps of a finding -------------------- */

/* The matrix of the steps of a finding while it is made. */
struct faulty {
    const struct html_run *run;
    const struct finding *finding;
    const struct link_steps *steps;
    size_t *place_of; /* owned: per rank of the job, its index in `names`; SIZE_MAX: not shown */
    const char **names;
    size_t name_count;
    struct html_edge *edges;
    size_t edge_count;
    int64_t *list; /* room for a value per step */
};

/* The median wait of a link in the other steps. */
static int64_t usual_wait(const struct faulty *faulty, const struct link_step *link, size_t count)
{
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (link[i].step >= faulty->run->baseline->first_step &&
            !finding_has_step(faulty->finding, link[i].step) && link[i].steps)
            faulty->list[seen++] = link[i].wait_ns / link[i].steps;
    return seen ? median_of(faulty->list, seen) : TIME_UNKNOWN;
}

static double us_of(int64_t time_ns)
{
    return time_ns == TIME_UNKNOWN ? -1 : (double)time_ns / 1e3;
}

/* Adds a link, given its items of all steps, if both of its ends are shown. */
static void add_link(struct faulty *faulty, const struct link_step *link, size_t count)
{
    size_t sender = faulty->place_of[link->sender], receiver = faulty->place_of[link->receiver];
    int64_t wait_ns = 0, steps = 0;
    for (size_t i = 0; i < count; i++)
        if (finding_has_step(faulty->finding, link[i].step)) {
            wait_ns += link[i].wait_ns;
            steps += link[i].steps;
        }
    if (sender == SIZE_MAX || receiver == SIZE_MAX || !steps)
        return;
    faulty->edges[faulty->edge_count++] =
        (struct html_edge){.sender = sender,
                           .receiver = receiver,
                           .wait_us = us_of(wait_ns / steps),
                           .usual_us = us_of(usual_wait(faulty, link, count)),
                           .is_blamed = is_blamed(faulty->finding, link)};
}

static void add_links(struct faulty *faulty)
{
    const struct link_steps *steps = faulty->steps;
    for (size_t i = 0, end; i < steps->count; i = end) {
        end = end_of_link(steps, i);
        add_link(faulty, &steps->items[i], end - i);
    }
}

/* Shows the ends of the links of the finding, then of ranks that do the same work, then of others. */
static void choose_ends(struct faulty *faulty, const struct html_rows *rows)
{
    const struct link_steps *steps = faulty->steps;
    size_t shown = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < steps->count && shown + 1 < MOST_ENDS; i++) {
            const struct link_step *link = &steps->items[i];
            int fits = round == 0   ? is_blamed(faulty->finding, link)
                       : round == 1 ? rows->why[link->sender] != HTML_ROW_NONE
                                    : rows->count == faulty->run->job->rank_count;
            if (!fits)
                continue;
            shown += faulty->place_of[link->sender] == SIZE_MAX;
            faulty->place_of[link->sender] = 0;
            shown += faulty->place_of[link->receiver] == SIZE_MAX;
            faulty->place_of[link->receiver] = 0;
        }
    for (size_t rank = 0; rank < faulty->run->job->rank_count; rank++)
        if (faulty->place_of[rank] != SIZE_MAX) {
            faulty->names[faulty->name_count] = faulty->run->job->ranks[rank].name;
            faulty->place_of[rank] = faulty->name_count++;
        }
}

static int faulty_init(struct faulty *faulty, const struct html_run *run, const struct finding *finding,
                       const struct link_steps *steps)
{
    const struct job *job = run->job;
    *faulty = (struct faulty){.run = run,
                              .finding = finding,
                              .steps = steps,
                              .place_of = array_new(job->rank_count + 1, sizeof *faulty->place_of),
                              .names = array_new(job->rank_count + 1, sizeof *faulty->names),
                              .edges = array_new(steps->count + 1, sizeof *faulty->edges),
                              .list = array_new((size_t)job->step_count + 1, sizeof *faulty->list)};
    if (!faulty->place_of || !faulty->names || !faulty->edges || !faulty->list)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        faulty->place_of[i] = SIZE_MAX;
    return 0;
}

static void faulty_release(struct faulty *faulty)
{
    free(faulty->place_of);
    free(faulty->names);
    free(faulty->edges);
    free(faulty->list);
}

/* Whether the links of the finding have other steps to compare with. */
static int has_usual(const struct faulty *faulty)
{
    for (size_t i = 0; i < faulty->edge_count; i++)
        if (faulty->edges[i].is_blamed && faulty->edges[i].usual_us > 0)
            return 1;
    return 0;
}

static int append_caption(const struct faulty *faulty, struct buffer *caption)
{
    struct buffer steps = BUFFER_INIT;
    int failed =
        finding_append_steps(html_run_told(faulty->run, faulty->finding), faulty->run->told_job, &steps) ||
        buffer_append_text(caption, "Network wait (SendWait) of ") ||
        finding_name_unit(faulty->finding, faulty->run->job, caption) ||
        buffer_append_text(caption, " and of other links") ||
        (steps.length && buffer_append(caption, steps.data, steps.length));
    buffer_release(&steps);
    return failed ? -1 : 0;
}

static int put_faulty(const struct html_run *run, const struct finding *finding,
                      const struct link_steps *steps)
{
    struct faulty faulty;
    struct html_rows rows = {.ranks = NULL};
    struct buffer caption = BUFFER_INIT;
    int failed = faulty_init(&faulty, run, finding, steps) || html_rows_init(&rows, run, NULL) ||
                 append_caption(&faulty, &caption);
    if (!failed) {
        choose_ends(&faulty, &rows);
        add_links(&faulty);
        const struct html_matrix matrix = {.caption = caption.data,
                                           .ends = faulty.names,
                                           .end_count = faulty.name_count,
                                           .edges = faulty.edges,
                                           .edge_count = faulty.edge_count,
                                           .is_relative = has_usual(&faulty)};
        failed = faulty.edge_count && html_add_matrix(run->page, &matrix);
    }
    html_rows_release(&rows);
    faulty_release(&faulty);
    buffer_release(&caption);
    return failed ? -1 : 0;
}

/* Draws a matrix for each network finding; sets *count to their number. */
static int put_faulty_steps(const struct html_run *run, size_t *count)
{
    struct link_steps steps;
    int failed = link_steps_init(&steps, run->job);
    *count = 0;
    for (size_t i = 0; !failed && i < run->findings->count && *count < MOST_MATRICES; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding->kind != FINDING_NETWORK || !finding_is_reported(finding) || finding->first_step < 0 ||
            finding->first_step >= run->job->step_count)
            continue;
        ++*count;
        failed = put_faulty(run, finding, &steps);
    }
    link_steps_release(&steps);
    return failed ? -1 : 0;
}

/* -------------------- all steps -------------------- */

/* Numbers the members that are an end of an edge, in their order. */
static size_t number_ends(const struct stalls *stalls, const char **names, size_t *place_of)
{
    size_t count = 0;
    for (size_t i = 0; i < stalls->member_list_count; i++)
        place_of[i] = SIZE_MAX;
    for (size_t i = 0; i < stalls->edge_count; i++)
        place_of[stalls->edges[i].sender] = place_of[stalls->edges[i].receiver] = 0;
    for (size_t i = 0; i < stalls->member_list_count; i++)
        if (place_of[i] == 0) {
            names[count] = stalls->member_list[i].name;
            place_of[i] = count++;
        }
    return count;
}

static void fill_edges(const struct stalls *stalls, const size_t *place_of, struct html_edge *edges)
{
    for (size_t i = 0; i < stalls->edge_count; i++) {
        const struct stalls_edge *edge = &stalls->edges[i];
        edges[i] = (struct html_edge){.sender = place_of[edge->sender],
                                      .receiver = place_of[edge->receiver],
                                      .wait_us = stalls_median_us(&edge->send),
                                      .usual_us = -1,
                                      .is_blamed = stalls_is_slow(edge->verdict),
                                      .verdict = stalls_verdict_name(edge->verdict)};
    }
}

static int put_all_steps(const struct html_run *run, const struct stalls *stalls)
{
    const char **names = array_new(stalls->member_list_count + 1, sizeof *names);
    size_t *place_of = array_new(stalls->member_list_count + 1, sizeof *place_of);
    struct html_edge *edges = array_new(stalls->edge_count + 1, sizeof *edges);
    int failed = !names || !place_of || !edges;
    if (!failed) {
        struct html_matrix matrix = {.caption = "Median network wait (SendWait) of each link, all steps",
                                     .ends = names,
                                     .end_count = number_ends(stalls, names, place_of),
                                     .edges = edges,
                                     .edge_count = stalls->edge_count};
        fill_edges(stalls, place_of, edges);
        failed = html_add_matrix(run->page, &matrix);
    }
    free(names);
    free(place_of);
    free(edges);
    return failed ? -1 : 0;
}

/* -------------------- the section -------------------- */

static int put_matrices(const struct html_run *run, const struct stalls *stalls)
{
    size_t count;
    return put_faulty_steps(run, &count) || (!count && put_all_steps(run, stalls)) ? -1 : 0;
}

/* The number of edges that were slow, blamed or not. They are the first ones of the list. */
static size_t count_trouble(const struct stalls *stalls)
{
    size_t count = 0;
    for (size_t i = 0; i < stalls->edge_count; i++)
        count += stalls_is_slow(stalls->edges[i].verdict) || stalls->edges[i].verdict == STALLS_NOT_CONFIRMED;
    return count;
}

static int put_edges(const struct html_run *run, const struct stalls *stalls, struct table *table)
{
    size_t trouble = count_trouble(stalls), most = trouble + CALM_LISTED;
    const struct html_table how = {.caption = "Links, longest stall first",
                                   .bars = "send_wait_us_p50",
                                   .most_rows = most < LEAST_LISTED || !trouble ? LEAST_LISTED
                                                : most < MOST_LISTED            ? most
                                                                                : MOST_LISTED,
                                   .rest_command = "stalls"};
    table->columns[AT_COMMUNICATOR].hidden = 1;
    return html_run_section(run, "edges", "Network links") ||
                   buffer_append_text(run->page, "<div class=\"links\">\n<div>") ||
                   put_matrices(run, stalls) ||
                   buffer_printf(run->page, "</div>\n<details%s><summary>Each link</summary>\n",
                                 trouble ? " open" : "") ||
                   html_add_table_of(run->job->store, run->job->run_id, run->page, table, &how) ||
                   buffer_append_text(run->page, "</details>\n</div>\n") || html_section_end(run->whole)
               ? -1
               : 0;
}

static int judge(const struct html_run *run, struct stalls *stalls, struct error *error)
{
    return stalls_load_names(stalls, run->store, run->job->run_id, error) ||
           stalls_load_steps(stalls, run->store, error) || stalls_learn(stalls, error) ||
           (stalls->run_count &&
            stalls_judge(stalls, 0, run->job, run->baseline, run->told_job, run->told, &usual, error));
}

int html_add_links(const struct html_run *run, struct error *error)
{
    struct stalls stalls;
    struct table table;
    if (!run->job->traffic_count)
        return 0;
    stalls_init(&stalls);
    table_init(&table, "stalls");
    int failed = judge(run, &stalls, error);
    if (!failed && stalls.edge_count) {
        failed = stalls_show_edges(&stalls, &(struct only_edge){0}, &table, error);
        if (!failed && put_edges(run, &stalls, &table))
            failed = error_no_memory(error);
    }
    table_release(&table);
    stalls_release(&stalls);
    return failed ? -1 : 0;
}
