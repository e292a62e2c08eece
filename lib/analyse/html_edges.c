#include "analyse/html_edges.h"

#include "analyse/edge_verdicts.h"
#include "analyse/option.h"
#include "analyse/stalls_edges.h"
#include "analyse/stalls_figures.h"
#include "base/array.h"
#include "html/matrix.h"
#include "html/page.h"
#include "html/table.h"
#include "html/text.h"
#include "stalls/load.h"
#include "stalls/seats.h"
#include "stalls/verdict.h"
#include "stalls/waits.h"

#include <stdlib.h>

enum { MOST_EDGES_LISTED = 40 };

/* As stalls judges without options. */
static const struct stalls_options usual = {.sigmas = 6, .factor = 2, .min_stall = 0.03};

/* Seats that are an end of an edge, in their order. */
static size_t number_ends(const struct stalls *stalls, const char **names, size_t *place_of)
{
    size_t count = 0;
    for (size_t i = 0; i < stalls->seat_count; i++)
        place_of[i] = SIZE_MAX;
    for (size_t i = 0; i < stalls->edge_count; i++)
        place_of[stalls->edges[i].sender] = place_of[stalls->edges[i].receiver] = 0;
    for (size_t i = 0; i < stalls->seat_count; i++)
        if (place_of[i] == 0) {
            names[count] = stalls->seats[i].name;
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
                                      .is_blamed = stalls_is_slow(edge->verdict),
                                      .verdict = stalls_verdict_name(edge->verdict)};
    }
}

static int put_matrix(const struct html_run *run, const struct stalls *stalls)
{
    const char **names = array_new(stalls->seat_count + 1, sizeof *names);
    size_t *place_of = array_new(stalls->seat_count + 1, sizeof *place_of);
    struct html_edge *edges = array_new(stalls->edge_count + 1, sizeof *edges);
    int failed = !names || !place_of || !edges;
    if (!failed) {
        struct html_matrix matrix = {.ends = names,
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

/* Whether an edge was slow, to blame or not: the list of them is open then. */
static int has_trouble(const struct stalls *stalls)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (stalls_is_slow(stalls->edges[i].measured) || stalls_is_slow(stalls->edges[i].verdict))
            return 1;
    return 0;
}

static int put_edges(const struct html_run *run, const struct stalls *stalls, struct table *table)
{
    static const struct html_table how = {.caption = "Links, longest stall first",
                                          .bars = "send_wait_us_p50",
                                          .most_rows = MOST_EDGES_LISTED,
                                          .rest_stands = "ncclprof stalls"};
    table->columns[AT_COMMUNICATOR].hidden = 1;
    return html_run_section(run, "edges", "Network links") || put_matrix(run, stalls) ||
                   buffer_printf(run->page, "<details%s><summary>Each link</summary>\n",
                                 has_trouble(stalls) ? " open" : "") ||
                   html_add_table(run->page, table, &how) || buffer_append_text(run->page, "</details>\n") ||
                   html_section_end(run->whole)
               ? -1
               : 0;
}

static int judge(const struct html_run *run, struct stalls *stalls, struct error *error)
{
    return stalls_load_names(stalls, run->store, run->job->run_id, error) ||
           stalls_load_steps(stalls, run->store, error) || stalls_judge(stalls, &usual, error) ||
           (stalls->run_count && edges_take_verdicts_of(stalls, 0, run->job, run->findings, error));
}

int html_add_edges(const struct html_run *run, struct error *error)
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
