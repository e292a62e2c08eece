/*
 * Draws the matrix of senders and receivers in the HTML report, and colour levels and their legend for all
 * heat maps there.
 */
#include "base/base.h"
#include "output/html.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stdlib.h>

static int level_at(const struct heat_map *map, size_t row, size_t column)
{
    return heat_map_level(map, heat_map_value(map, row, column));
}

static int put_row(struct buffer *page, const struct heat_map *map, size_t row, int level)
{
    for (size_t column = 0, end; column < map->columns; column = end + 1) {
        for (end = column; end < map->columns && level_at(map, row, end) == level; end++)
            ;
        if (end > column &&
            buffer_printf(page, "M%zu %zuh%zuv1h-%zuz", column, row, end - column, end - column))
            return -1;
    }
    return 0;
}

int html_add_levels(struct buffer *page, const struct heat_map *map)
{
    for (int level = 0; level < HEAT_LEVELS; level++) {
        if (buffer_printf(page, "<path class=\"l%d\" d=\"", level))
            return -1;
        for (size_t row = 0; row < map->row_count; row++)
            if (put_row(page, map, row, level))
                return -1;
        if (buffer_append_text(page, "\"/>\n"))
            return -1;
    }
    return 0;
}

int html_add_level_keys(struct buffer *page, const struct heat_scale *scale, const char *frame)
{
    for (int level = 0; level < HEAT_LEVELS; level++)
        if (buffer_printf(page,
                          "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
                          "class=\"l%d\" width=\"24\" height=\"12\"/></svg> %s %g %s</span> ",
                          level, level ? "from" : "below", heat_scale_bound(scale, level), scale->sign))
            return -1;
    return (frame &&
            buffer_printf(page,
                          "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
                          "class=\"frame\" x=\"1\" y=\"1\" width=\"22\" height=\"10\"/></svg> %s</span>",
                          frame)) ||
                   buffer_append_text(page, "</p>\n")
               ? -1
               : 0;
}

/* In pixels. Up to MOST_TITLES cells get a tooltip. */
enum { LABEL = 64, HEAD = 22, MOST_CELL = 26, WIDEST = 560, LEAST_CELL = 5, MOST_TITLES = 2048 };

struct grid {
    const struct html_matrix *matrix;
    struct heat_map map;            /* baseline waits; marked: blamed links */
    const struct html_edge **worst; /* owned; [cell]: its worst link; NULL: none */
    size_t count;                   /* number of cells with a link */
    size_t side;                    /* number of rows, and of columns */
    size_t together;
    size_t pixels; /* side of a cell */
};

static int is_worse(const struct html_edge *a, const struct html_edge *b)
{
    return a->is_blamed != b->is_blamed ? a->is_blamed : a->wait_us > b->wait_us;
}

/* Finds the unit of the colours. */
static int find_unit(struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    grid->map.unit_us = 1;
    if (matrix->is_relative)
        return 0;
    double *waits = array_new(matrix->edge_count + 1, sizeof *waits);
    size_t count = 0;
    if (!waits)
        return -1;
    for (size_t i = 0; i < matrix->edge_count; i++)
        if (matrix->edges[i].wait_us >= 0)
            waits[count++] = matrix->edges[i].wait_us;
    sort_reals(waits, count);
    grid->map.unit_us = count ? waits[(count - 1) / 2] : 0;
    free(waits);
    return 0;
}

static double value_of(const struct html_matrix *matrix, const struct html_edge *edge)
{
    if (!matrix->is_relative)
        return edge->wait_us < 0 ? (double)NAN : edge->wait_us;
    return edge->wait_us < 0 || edge->usual_us <= 0 ? (double)NAN : edge->wait_us / edge->usual_us;
}

/* If several links share a cell, it keeps the worst one. */
static void place_edges(struct grid *grid)
{
    const struct html_matrix *matrix = grid->matrix;
    for (size_t i = 0; i < matrix->edge_count; i++) {
        const struct html_edge *edge = &matrix->edges[i];
        size_t cell = edge->sender / grid->together * grid->side + edge->receiver / grid->together;
        grid->count += !grid->worst[cell];
        if (grid->worst[cell] && !is_worse(edge, grid->worst[cell]))
            continue;
        grid->worst[cell] = edge;
        grid->map.values[cell] = value_of(matrix, edge);
        grid->map.marked[cell] = edge->is_blamed != 0;
    }
}

static int grid_init(struct grid *grid, const struct html_matrix *matrix)
{
    size_t together = heat_map_together(matrix->end_count, WIDEST / LEAST_CELL);
    size_t side = heat_map_together(matrix->end_count, together);
    *grid = (struct grid){.matrix = matrix,
                          .worst = array_new(side, side * sizeof *grid->worst),
                          .side = side,
                          .together = together,
                          .pixels = side * MOST_CELL <= WIDEST ? MOST_CELL : WIDEST / side};
    if (heat_map_init(&grid->map, side, side, &heat_times_baseline) || !grid->worst || find_unit(grid))
        return -1;
    place_edges(grid);
    return 0;
}

static int append_edge(struct buffer *text, const struct html_matrix *matrix, const struct html_edge *edge)
{
    return buffer_printf(text, "%s to %s: ", matrix->ends[edge->sender], matrix->ends[edge->receiver]) ||
                   (edge->wait_us < 0 ? buffer_append_text(text, "wait unknown")
                                      : text_time(text, (int64_t)(edge->wait_us * 1e3))) ||
                   (edge->usual_us > 0 && (buffer_append_text(text, ", baseline ") ||
                                           text_time(text, (int64_t)(edge->usual_us * 1e3)))) ||
                   (edge->verdict && buffer_printf(text, ", %s", edge->verdict))
               ? -1
               : 0;
}

static int put_edge(struct buffer *page, const struct grid *grid, size_t cell, struct buffer *text)
{
    return buffer_printf(page, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\">",
                         grid->map.marked[cell] ? "frame" : "over", LABEL + cell % grid->side * grid->pixels,
                         HEAD + cell / grid->side * grid->pixels, grid->pixels, grid->pixels) ||
           append_edge(text, grid->matrix, grid->worst[cell]) || html_put(page, "title", text) ||
           buffer_append_text(page, "</rect>\n");
}

/* Draws what lies above the colours: tooltips, and frames around blamed links. */
static int put_edges(struct buffer *page, const struct grid *grid)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t cell = 0; !failed && cell < grid->side * grid->side; cell++)
        if (grid->worst[cell] && (grid->map.marked[cell] || grid->count <= MOST_TITLES))
            failed = put_edge(page, grid, cell, &text);
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Labels a row or column with its first rank, if there is room. */
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
        buffer_append_text(page,
                           "<p class=\"keys\">Senders from top to bottom, receivers from left to right. "
                           "Relative to the ") ||
        (grid->matrix->is_relative
             ? buffer_append_text(page, "baseline of the link")
             : buffer_append_text(page, "median of all links, ") ||
                   text_time(&text, (int64_t)(grid->map.unit_us * 1e3)) || html_text(page, text.data)) ||
        buffer_append_text(page, ": ") || html_add_level_keys(page, grid->map.scale, "part of a finding");
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_caption(struct buffer *page, const struct grid *grid)
{
    return buffer_append_text(page, "<figcaption>") || html_text(page, grid->matrix->caption) ||
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
                   html_add_levels(page, &grid->map) || buffer_append_text(page, "</svg>\n") ||
                   put_labels(page, grid) || put_edges(page, grid) ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

int html_add_matrix(struct buffer *page, const struct html_matrix *matrix)
{
    struct grid grid;
    int failed = grid_init(&grid, matrix) || put_figure(page, &grid);
    heat_map_release(&grid.map);
    free(grid.worst);
    return failed ? -1 : 0;
}
