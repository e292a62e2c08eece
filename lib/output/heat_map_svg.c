/* Draws heat maps as one SVG document. */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <stdlib.h>

/*
 * One picture with a panel for each map, side by side if they fit, else below each other. It needs no script,
 * no font and no other file. Each cell has a tooltip, and a description in words serves readers who cannot
 * see the picture.
 */

/* In pixels, like all sizes here. */
enum {
    PAGE = 960,      /* width of the page: panels that do not fit go below */
    CELL = 22,       /* maximum side of a cell */
    MAP_WIDTH = 400, /* width of a map with many steps */
    MOST_COLUMNS = 200,
    ROW_LEAST = 8,
    MARGIN = 12,
    LINE = 16,         /* height of a line of text */
    LETTER = 7,        /* approximate width of a character */
    TITLE = 3 * LINE,  /* height above the cells: the title and the step numbers */
    LEGEND = 3 * LINE, /* height below all maps */
    LEGEND_WIDTH = 720
};

/* From zero to a whole step. The colours also differ in brightness. */
static const char *const colours[HEAT_LEVELS] = {"#f1f1ee", "#fbd9a0", "#f5a14b", "#d9521d", "#7f1408"};
#define NOT_KNOWN "#ffffff"
#define OUTLINE "#1a4fa3"

struct map_panel {
    const struct heat_map *map;
    int x;
    int y;
    int label_width;
    int cell_width;
    int row_height;
};

/* Trace text may contain anything: markup, and characters that XML 1.0 does not allow. */
static int put_xml(struct buffer *svg, struct buffer *raw)
{
    int failed = raw->length ? escape_markup(svg, raw->data, raw->length) : 0;
    buffer_clear(raw);
    return failed;
}

/* Appends the label of a row. */
static int put_label(const struct heat_map *map, size_t row, struct buffer *raw)
{
    return buffer_append_text(raw, map->by_host ? "" : "rank ") || heat_row_label(map, &map->rows[row], raw);
}

static int label_width(const struct heat_map *map, int *width)
{
    struct buffer label = BUFFER_INIT;
    int failed = 0;
    *width = (int)sizeof "step 0";
    for (size_t i = 0; i < map->row_count && !failed; i++) {
        buffer_clear(&label);
        failed = put_label(map, i, &label);
        int letters = label.length < 40 ? (int)label.length : 40;
        *width = letters > *width ? letters : *width;
    }
    *width = (*width + 1) * LETTER;
    buffer_release(&label);
    return failed;
}

static int width_of(const struct map_panel *panel)
{
    return panel->label_width + (int)panel->map->columns * panel->cell_width;
}

static int height_of(const struct map_panel *panel)
{
    return TITLE + (int)panel->map->row_count * panel->row_height;
}

static int measure(struct map_panel *panel, struct heat_map *map)
{
    heat_map_fold_steps(map, MOST_COLUMNS);
    *panel = (struct map_panel){.map = map};
    int columns = (int)map->columns, rows = (int)map->row_count;
    panel->cell_width = columns * CELL <= MAP_WIDTH ? CELL
                        : columns <= MAP_WIDTH / 2  ? MAP_WIDTH / columns
                                                    : 2;
    panel->row_height = rows * CELL <= MAP_WIDTH ? CELL : rows * LINE <= 2 * MAP_WIDTH ? LINE : ROW_LEAST;
    return label_width(map, &panel->label_width);
}

static int put_text(struct buffer *svg, int x, int y, const char *anchor, const char *style,
                    struct buffer *raw)
{
    return buffer_printf(svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\"%s>", x, y, anchor, style) ||
           put_xml(svg, raw) || buffer_append_text(svg, "</text>\n");
}

/* Draws the title of a panel and the step numbers. */
static int put_title(const struct map_panel *panel, struct buffer *svg, struct buffer *raw)
{
    const struct heat_map *map = panel->map;
    if ((map->names_run && buffer_printf(raw, "run %lld: ", (long long)map->run)) ||
        buffer_append_text(raw, map->title) ||
        put_text(svg, panel->x, panel->y + LINE - 4, "start", " font-weight=\"bold\"", raw))
        return -1;
    int each = 1;
    while (each * panel->cell_width < 4 * LETTER)
        each++;
    for (int column = 0; column < (int)map->columns; column += each)
        if (buffer_printf(raw, column ? "%lld" : "step %lld",
                          (long long)heat_map_step(map, (size_t)column)) ||
            put_text(svg,
                     panel->x + panel->label_width + column * panel->cell_width +
                         (column ? panel->cell_width / 2 : panel->cell_width - 4),
                     panel->y + TITLE - 5, column ? "middle" : "end", "", raw))
            return -1;
    return 0;
}

static int put_steps(const struct heat_map *map, size_t column, struct buffer *text)
{
    long long first = heat_map_step(map, column);
    return map->steps_in_column == 1
               ? buffer_printf(text, "step %lld", first)
               : buffer_printf(text, "steps %lld-%lld", first, first + map->steps_in_column - 1);
}

static int put_cell(const struct map_panel *panel, size_t row, size_t column, struct buffer *svg,
                    struct buffer *raw)
{
    const struct heat_map *map = panel->map;
    double value = heat_map_value(map, row, column);
    int level = heat_map_level(map, value);
    if (level == HEAT_UNKNOWN)
        return 0;
    if (buffer_printf(svg, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"><title>",
                      panel->x + panel->label_width + (int)column * panel->cell_width,
                      panel->y + TITLE + (int)row * panel->row_height,
                      panel->cell_width - (panel->cell_width > 4), panel->row_height - 1, colours[level]) ||
        put_label(map, row, raw) || buffer_append_text(raw, ", ") || put_steps(map, column, raw) ||
        buffer_printf(raw, ": %.3g ms", value / 1e3) ||
        (map->is_usual && buffer_printf(raw, ", %.0f %% of the baseline step", 100 * value / map->unit_us)))
        return -1;
    return put_xml(svg, raw) || buffer_append_text(svg, "</title></rect>\n") ? -1 : 0;
}

/* A frame around the steps of a row that a finding covers. */
static int put_frames(const struct map_panel *panel, size_t row, struct buffer *svg)
{
    const struct heat_map *map = panel->map;
    for (struct heat_span span = {0}; heat_map_next_marked(map, row, &span);)
        if (buffer_printf(svg,
                          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"" OUTLINE
                          "\" stroke-width=\"2\"/>\n",
                          panel->x + panel->label_width + (int)span.first * panel->cell_width - 1,
                          panel->y + TITLE + (int)row * panel->row_height - 1,
                          (int)(span.end - span.first) * panel->cell_width + 1, panel->row_height + 1))
            return -1;
    return 0;
}

static int put_row(const struct map_panel *panel, size_t row, struct buffer *svg, struct buffer *raw)
{
    const struct heat_map *map = panel->map;
    int y = panel->y + TITLE + (int)row * panel->row_height + panel->row_height / 2 + 4;
    if (panel->row_height >= LINE &&
        (put_label(map, row, raw) ||
         put_text(svg, panel->x + panel->label_width - LETTER, y, "end", "", raw)))
        return -1;
    for (size_t column = 0; column < map->columns; column++)
        if (put_cell(panel, row, column, svg, raw))
            return -1;
    return put_frames(panel, row, svg);
}

static int put_map_panel(const struct map_panel *panel, struct buffer *svg, struct buffer *raw)
{
    if (put_title(panel, svg, raw))
        return -1;
    for (size_t row = 0; row < panel->map->row_count; row++)
        if (put_row(panel, row, svg, raw))
            return -1;
    return 0;
}

/* Places panels from left to right while they fit. *width and *height are the size of all together. */
static void place(struct map_panel *residual_matrices, size_t count, int *width, int *height)
{
    int x = MARGIN, y = MARGIN, tallest = 0;
    *width = *height = 0;
    for (size_t i = 0; i < count; i++) {
        if (x > MARGIN && x + width_of(&residual_matrices[i]) + MARGIN > PAGE) {
            x = MARGIN;
            y += tallest + LINE;
            tallest = 0;
        }
        residual_matrices[i].x = x;
        residual_matrices[i].y = y;
        x += width_of(&residual_matrices[i]) + 2 * MARGIN;
        tallest = height_of(&residual_matrices[i]) > tallest ? height_of(&residual_matrices[i]) : tallest;
        *width = x > *width ? x : *width;
        *height = y + tallest;
    }
}

/* Draws a sample of a colour and its meaning, and advances *x. */
static int put_sample(const struct heat_scale *scale, int level, int *x, int y, struct buffer *svg,
                      struct buffer *raw)
{
    if (buffer_printf(svg,
                      "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\" stroke=\"#999\"/>\n",
                      *x, y - 10, colours[level]) ||
        buffer_printf(raw,
                      level == 0                 ? "below %g %s"
                      : level + 1 == HEAT_LEVELS ? "%g %s and more"
                                                 : "from %g %s",
                      heat_scale_bound(scale, level), scale->sign))
        return -1;
    int begin = *x + LINE;
    *x = begin + ((int)raw->length + 2) * LETTER;
    return put_text(svg, begin, y, "start", "", raw);
}

static int put_legend(const struct heat_map *map, int y, struct buffer *svg, struct buffer *raw)
{
    if (buffer_printf(raw, "In %% of the %s (%.3g ms):", map->is_usual ? "baseline step" : "largest value",
                      map->unit_us / 1e3))
        return -1;
    int x = MARGIN + ((int)raw->length + 1) * LETTER;
    if (put_text(svg, MARGIN, y, "start", "", raw))
        return -1;
    for (int level = 0; level < HEAT_LEVELS; level++)
        if (put_sample(map->scale, level, &x, y, svg, raw))
            return -1;
    return 0;
}

/* Writes a line for each row with a finding, from the maps of one kind of value. Advances *y. */
static int put_findings(const struct heat_maps *maps, int *y, struct buffer *svg, struct buffer *raw)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct heat_map *map = &maps->maps[i];
        if (i && map->run == maps->maps[i - 1].run)
            continue;
        for (size_t row = 0; row < map->row_count; row++) {
            if (!map->rows[row].finding)
                continue;
            *y += LINE;
            if (buffer_append_text(raw, "Framed: ") ||
                (map->names_run && buffer_printf(raw, "run %lld, ", (long long)map->run)) ||
                (map->rows[row].ranks == 1 && buffer_printf(raw, "rank %s: ", map->rows[row].process)) ||
                heat_row_mark(&map->rows[row], raw) ||
                put_text(svg, MARGIN, *y, "start", " fill=\"" OUTLINE "\"", raw))
                return -1;
        }
    }
    return 0;
}

/* The number of those lines. */
static int count_findings(const struct heat_maps *maps)
{
    int lines = 0;
    for (size_t i = 0; i < maps->count; i++)
        for (size_t row = 0; row < maps->maps[i].row_count; row++)
            lines += (!i || maps->maps[i].run != maps->maps[i - 1].run) && maps->maps[i].rows[row].finding;
    return lines;
}

static int put_all(const struct heat_maps *maps, const struct map_panel *residual_matrices, int width,
                   int height, struct buffer *svg, struct buffer *raw)
{
    int y = height + 2 * LINE;
    width = width > LEGEND_WIDTH ? width : LEGEND_WIDTH;
    height += LEGEND + count_findings(maps) * LINE + MARGIN;
    if (buffer_printf(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
            "<title>Training steps by rank</title>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"" NOT_KNOWN "\"/>\n",
            width, height, width, height, width, height))
        return -1;
    for (size_t i = 0; i < maps->count; i++)
        if (put_map_panel(&residual_matrices[i], svg, raw))
            return -1;
    return (maps->count && put_legend(&maps->maps[0], y, svg, raw)) || put_findings(maps, &y, svg, raw) ||
                   buffer_append_text(svg, "</svg>\n")
               ? -1
               : 0;
}

int heat_maps_svg(struct heat_maps *maps, struct buffer *svg)
{
    struct map_panel *residual_matrices = array_new(maps->count + 1, sizeof *residual_matrices);
    struct buffer raw = BUFFER_INIT;
    int failed = !residual_matrices, width, height;
    for (size_t i = 0; i < maps->count && !failed; i++)
        failed = measure(&residual_matrices[i], &maps->maps[i]);
    if (!failed) {
        place(residual_matrices, maps->count, &width, &height);
        failed = put_all(maps, residual_matrices, width, height, svg, &raw);
    }
    buffer_release(&raw);
    free(residual_matrices);
    return failed ? -1 : 0;
}
