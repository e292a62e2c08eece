#include "html/matrix.h"

#include "base/array.h"
#include "base/time_text.h"
#include "html/levels.h"
#include "html/text.h"

#include <math.h>
#include <stdlib.h>

/* In pixels. So many cells say by themselves what they are, when they are pointed at. */
enum { LABEL = 64, HEAD = 22, MOST_CELL = 26, WIDEST = 560, MOST_TITLES = 2048, LEVELS = 5 };

/* How many times the median of all edges. */
static const double least[LEVELS] = {0, 1.5, 2, 4, 8};

struct grid {
    const struct html_matrix *matrix;
    size_t *first; /* owned: of each row, and one past the end */
    double median_us;
    int cell; /* pixels */
};

static int by_place(const void *a, const void *b)
{
    const struct html_edge *left = a, *right = b;
    if (left->sender != right->sender)
        return left->sender < right->sender ? -1 : 1;
    return (left->receiver > right->receiver) - (left->receiver < right->receiver);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int find_median(struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    double *waits = array_new(matrix->edge_count + 1, sizeof *waits);
    size_t count = 0;
    if (!waits)
        return -1;
    for (size_t i = 0; i < matrix->edge_count; i++)
        if (matrix->edges[i].wait_us >= 0)
            waits[count++] = matrix->edges[i].wait_us;
    array_sort(waits, count, sizeof *waits, by_value);
    grid->median_us = count ? waits[(count - 1) / 2] : 0;
    free(waits);
    return 0;
}

static int edge_level(const struct grid *grid, const struct html_edge *edge)
{
    int level = LEVELS - 1;
    while (level > 0 && !(grid->median_us > 0 && edge->wait_us >= least[level] * grid->median_us))
        level--;
    return edge->wait_us < 0 ? -1 : level;
}

static int level_of(const void *context, size_t row, size_t column)
{
    const struct grid *grid = context;
    const struct html_edge *edges = grid->matrix->edges;
    size_t low = grid->first[row], high = grid->first[row + 1];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges[middle].receiver == column)
            return edge_level(grid, &edges[middle]);
        if (edges[middle].receiver < column)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static int grid_init(struct grid *grid, const struct html_matrix *matrix)
{
    size_t ends = matrix->end_count;
    *grid = (struct grid){.matrix = matrix, .first = array_new(ends + 1, sizeof *grid->first)};
    if (!grid->first || find_median(grid))
        return -1;
    array_sort(matrix->edges, matrix->edge_count, sizeof *matrix->edges, by_place);
    for (size_t i = 0; i < matrix->edge_count; i++)
        grid->first[matrix->edges[i].sender + 1]++;
    for (size_t i = 0; i < ends; i++)
        grid->first[i + 1] += grid->first[i];
    grid->cell = ends * MOST_CELL <= WIDEST ? MOST_CELL : ends <= WIDEST ? (int)(WIDEST / ends) : 1;
    return 0;
}

static int say_edge(struct buffer *text, const struct html_matrix *matrix, const struct html_edge *edge)
{
    return buffer_printf(text, "%s to %s: ", matrix->ends[edge->sender], matrix->ends[edge->receiver]) ||
                   (edge->wait_us < 0 ? buffer_append_text(text, "wait not known")
                                      : text_time(text, (int64_t)(edge->wait_us * 1e3))) ||
                   buffer_printf(text, ", %s", edge->verdict)
               ? -1
               : 0;
}

/* What is over the colours: titles, and frames of those that are blamed. */
static int put_edges(struct buffer *page, const struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0; !failed && i < matrix->edge_count; i++) {
        const struct html_edge *edge = &matrix->edges[i];
        if (!edge->is_blamed && matrix->edge_count > MOST_TITLES)
            continue;
        failed =
            buffer_printf(page, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\">",
                          edge->is_blamed ? "frame" : "over", LABEL + edge->receiver * (size_t)grid->cell,
                          HEAD + edge->sender * (size_t)grid->cell, grid->cell, grid->cell) ||
            say_edge(&text, matrix, edge) || html_put(page, "title", &text) ||
            buffer_append_text(page, "</rect>\n");
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_labels(struct buffer *page, const struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    size_t cell = (size_t)grid->cell, down = 1, across = 1;
    while (down * cell < 14)
        down++;
    while (across * cell < 26)
        across++;
    for (size_t i = 0; i < matrix->end_count; i += down)
        if (buffer_printf(page, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LABEL - 6,
                          (double)(HEAD + i * cell) + (double)cell / 2 + 4) ||
            html_text(page, matrix->ends[i]) || buffer_append_text(page, "</text>\n"))
            return -1;
    for (size_t i = 0; i < matrix->end_count; i += across)
        if (buffer_printf(page, "<text x=\"%.1f\" y=\"15\" text-anchor=\"middle\">",
                          (double)(LABEL + i * cell) + (double)cell / 2) ||
            html_text(page, matrix->ends[i]) || buffer_append_text(page, "</text>\n"))
            return -1;
    return 0;
}

static int put_legend(struct buffer *page, const struct grid *grid)
{
    struct buffer text = BUFFER_INIT;
    int failed = buffer_append_text(
                     page, "<p class=\"keys\">Usual wait (SendWait) against the median of all edges, ") ||
                 text_time(&text, (int64_t)(grid->median_us * 1e3)) || html_text(page, text.data) ||
                 buffer_append_text(page, ": ");
    buffer_release(&text);
    for (int level = 0; !failed && level < LEVELS; level++)
        failed = buffer_printf(
            page,
            "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"l%d\" "
            "width=\"24\" height=\"12\"/></svg> %s %g times</span> ",
            level, level ? "from" : "below", least[level ? level : 1]);
    return failed || buffer_append_text(
                         page,
                         "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\">"
                         "<rect class=\"frame\" x=\"1\" y=\"1\" width=\"22\" height=\"10\"/></svg> "
                         "a finding blames it</span></p>\n")
               ? -1
               : 0;
}

static int put_figure(struct buffer *page, const struct grid *grid)
{
    size_t ends = grid->matrix->end_count, side = ends * (size_t)grid->cell;
    const char *title = "Senders from top to bottom, receivers from left to right";
    return buffer_append_text(page, "<figure class=\"matrix\">\n") ||
                   html_element(page, "figcaption", title) || put_legend(page, grid) ||
                   buffer_printf(page,
                                 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
                                 "<svg width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" role=\"img\" "
                                 "aria-label=\"%s\">\n",
                                 title, LABEL + side + 8, HEAD + side + 8, LABEL + side + 8, HEAD + side + 8,
                                 title) ||
                   buffer_printf(
                       page,
                       "<svg x=\"%d\" y=\"%d\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\">\n"
                       "<rect class=\"none\" width=\"%zu\" height=\"%zu\"/>\n",
                       (int)LABEL, (int)HEAD, side, side, ends, ends, ends, ends) ||
                   html_add_levels(page, ends, ends, level_of, grid) ||
                   buffer_append_text(page, "</svg>\n") || put_labels(page, grid) || put_edges(page, grid) ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

int html_add_matrix(struct buffer *page, const struct html_matrix *matrix)
{
    struct grid grid;
    int failed = grid_init(&grid, matrix) || put_figure(page, &grid);
    free(grid.first);
    return failed ? -1 : 0;
}
