#include "html/matrix.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/time_text.h"
#include "html/levels.h"
#include "html/text.h"

#include <stdlib.h>

/* In pixels. So many cells say by themselves what they are, when they are pointed at. */
enum { LABEL = 64, HEAD = 22, MOST_CELL = 26, WIDEST = 560, LEAST_CELL = 5, MOST_TITLES = 2048, LEVELS = 5 };

/* How many times the median of all edges. */
static const double least[LEVELS] = {0, 1.5, 2, 4, 8};

/* An edge at its place. */
struct cell {
    size_t row;
    size_t column;
    const struct html_edge *edge; /* the worst one there */
};

struct grid {
    const struct html_matrix *matrix;
    struct cell *cells; /* owned; by row and column, each place once */
    size_t count;
    size_t *first; /* owned: of each row, and one past the end */
    size_t side;   /* rows, and columns */
    size_t together;
    double median_us;
    size_t pixels; /* of a cell */
};

static int is_worse(const struct html_edge *a, const struct html_edge *b)
{
    return a->is_blamed != b->is_blamed ? a->is_blamed : a->wait_us > b->wait_us;
}

static int by_place(const void *a, const void *b)
{
    const struct cell *left = a, *right = b;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->column != right->column)
        return left->column < right->column ? -1 : 1;
    return is_worse(right->edge, left->edge) - is_worse(left->edge, right->edge);
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
    sort_reals(waits, count);
    grid->median_us = count ? waits[(count - 1) / 2] : 0;
    free(waits);
    return 0;
}

/* Of edges at one place the worst comes first, and stays. */
static void place_edges(struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    size_t kept = 0;
    for (size_t i = 0; i < matrix->edge_count; i++)
        grid->cells[i] = (struct cell){matrix->edges[i].sender / grid->together,
                                       matrix->edges[i].receiver / grid->together, &matrix->edges[i]};
    array_sort(grid->cells, matrix->edge_count, sizeof *grid->cells, by_place);
    for (size_t i = 0; i < matrix->edge_count; i++)
        if (!kept || grid->cells[i].row != grid->cells[kept - 1].row ||
            grid->cells[i].column != grid->cells[kept - 1].column)
            grid->cells[kept++] = grid->cells[i];
    grid->count = kept;
    for (size_t i = 0; i < kept; i++)
        grid->first[grid->cells[i].row + 1]++;
    for (size_t i = 0; i < grid->side; i++)
        grid->first[i + 1] += grid->first[i];
}

static int grid_init(struct grid *grid, const struct html_matrix *matrix)
{
    size_t most = WIDEST / LEAST_CELL, ends = matrix->end_count;
    size_t together = ends > most ? (ends + most - 1) / most : 1;
    size_t side = (ends + together - 1) / together;
    *grid = (struct grid){.matrix = matrix,
                          .cells = array_new(matrix->edge_count + 1, sizeof *grid->cells),
                          .first = array_new(side + 1, sizeof *grid->first),
                          .side = side,
                          .together = together,
                          .pixels = side * MOST_CELL <= WIDEST ? MOST_CELL : WIDEST / side};
    if (!grid->cells || !grid->first || find_median(grid))
        return -1;
    place_edges(grid);
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
    size_t low = grid->first[row], high = grid->first[row + 1];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (grid->cells[middle].column == column)
            return edge_level(grid, grid->cells[middle].edge);
        if (grid->cells[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static int say_edge(struct buffer *text, const struct html_matrix *matrix, const struct html_edge *edge)
{
    return buffer_printf(text, "%s to %s: ", matrix->ends[edge->sender], matrix->ends[edge->receiver]) ||
                   (edge->wait_us < 0 ? buffer_append_text(text, "wait unknown")
                                      : text_time(text, (int64_t)(edge->wait_us * 1e3))) ||
                   buffer_printf(text, ", %s", edge->verdict)
               ? -1
               : 0;
}

/* What is over the colours: titles, and frames of those that are blamed. */
static int put_edges(struct buffer *page, const struct grid *grid)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0; !failed && i < grid->count; i++) {
        const struct cell *cell = &grid->cells[i];
        if (!cell->edge->is_blamed && grid->count > MOST_TITLES)
            continue;
        failed = buffer_printf(page, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\">",
                               cell->edge->is_blamed ? "frame" : "over", LABEL + cell->column * grid->pixels,
                               HEAD + cell->row * grid->pixels, grid->pixels, grid->pixels) ||
                 say_edge(&text, grid->matrix, cell->edge) || html_put(page, "title", &text) ||
                 buffer_append_text(page, "</rect>\n");
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Of a row or a column: its first end, where there is room for it. */
static int put_labels(struct buffer *page, const struct grid *grid)
{
    enum { LINE = 14, WORD = 26 };
    for (size_t i = 0; i < grid->side; i += (LINE - 1) / grid->pixels + 1)
        if (buffer_printf(page, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LABEL - 6,
                          (double)(HEAD + i * grid->pixels) + (double)grid->pixels / 2 + 4) ||
            html_text(page, grid->matrix->ends[i * grid->together]) || buffer_append_text(page, "</text>\n"))
            return -1;
    for (size_t i = 0; i < grid->side; i += (WORD - 1) / grid->pixels + 1)
        if (buffer_printf(page, "<text x=\"%.1f\" y=\"15\" text-anchor=\"middle\">",
                          (double)(LABEL + i * grid->pixels) + (double)grid->pixels / 2) ||
            html_text(page, grid->matrix->ends[i * grid->together]) || buffer_append_text(page, "</text>\n"))
            return -1;
    return 0;
}

static int put_legend(struct buffer *page, const struct grid *grid)
{
    struct buffer text = BUFFER_INIT;
    int failed =
        buffer_append_text(
            page, "<p class=\"keys\">Baseline wait (SendWait) relative to the median of all links, ") ||
        text_time(&text, (int64_t)(grid->median_us * 1e3)) || html_text(page, text.data) ||
        buffer_append_text(page, ": ");
    buffer_release(&text);
    for (int level = 0; !failed && level < LEVELS; level++)
        failed = buffer_printf(page,
                               "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
                               "class=\"l%d\" width=\"24\" height=\"12\"/></svg> %s %g times</span> ",
                               level, level ? "from" : "below", least[level ? level : 1]);
    return failed || buffer_append_text(page,
                                        "<span class=\"key\"><svg viewBox=\"0 0 24 12\" "
                                        "aria-hidden=\"true\"><rect class=\"frame\" x=\"1\" y=\"1\" "
                                        "width=\"22\" height=\"10\"/></svg> part of a finding</span></p>\n")
               ? -1
               : 0;
}

static int put_caption(struct buffer *page, const struct grid *grid)
{
    return buffer_append_text(page, "<figcaption>Senders from top to bottom, receivers from left to right") ||
                   (grid->together > 1 &&
                    buffer_printf(page, "; each cell stands for %zu by %zu of them and shows the worst link",
                                  grid->together, grid->together)) ||
                   buffer_append_text(page, "</figcaption>\n")
               ? -1
               : 0;
}

static int put_figure(struct buffer *page, const struct grid *grid)
{
    size_t side = grid->side * grid->pixels, width = LABEL + side + 8, height = HEAD + side + 8;
    return buffer_append_text(page, "<figure class=\"matrix\">\n") || put_caption(page, grid) ||
                   put_legend(page, grid) ||
                   buffer_printf(
                       page,
                       "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Senders by "
                       "receivers\"><svg width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
                       "role=\"img\" aria-label=\"Senders by receivers\">\n",
                       width, height, width, height) ||
                   buffer_printf(
                       page,
                       "<svg x=\"%d\" y=\"%d\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\">\n"
                       "<rect class=\"none\" width=\"%zu\" height=\"%zu\"/>\n",
                       (int)LABEL, (int)HEAD, side, side, grid->side, grid->side, grid->side, grid->side) ||
                   html_add_levels(page, grid->side, grid->side, level_of, grid) ||
                   buffer_append_text(page, "</svg>\n") || put_labels(page, grid) || put_edges(page, grid) ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

int html_add_matrix(struct buffer *page, const struct html_matrix *matrix)
{
    struct grid grid;
    int failed = grid_init(&grid, matrix) || put_figure(page, &grid);
    free(grid.cells);
    free(grid.first);
    return failed ? -1 : 0;
}
