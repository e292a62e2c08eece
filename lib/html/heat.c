#include "html/heat.h"

#include "base/array.h"
#include "base/intern.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "html/cells.h"
#include "html/levels.h"
#include "html/text.h"
#include "model/event.h"
#include "render/heat_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a picture that stands by itself; more are folded. ROW, COLUMN: pixels. */
enum {
    STILL_ROWS = 64,
    STILL_COLUMNS = 200,
    ROW = 14,
    LABEL = 96,
    PICTURE = 620,
    HEAD = 18,
    MOST_ROWS = 8192
};

static const struct {
    const char *key;
    const char *title;
} values[HTML_HEAT_VALUES] = {
    [HTML_HEAT_LENGTH] = {"length", "Step time above baseline"},
    [HTML_HEAT_WAITING] = {"waiting", "Waiting for the last rank to arrive"},
    [HTML_HEAT_OWN] = {"own", "Own delay"},
};

/* What is usual is what length is held against; where nothing is, it is the length that shows. */
static const char *title_of(const struct html_heat *heat, enum html_heat_value value)
{
    return value == HTML_HEAT_LENGTH && heat->usual_ns == TIME_UNKNOWN ? "Duration of the step"
                                                                       : values[value].title;
}

static double drawn_us(const struct html_heat *heat, enum html_heat_value value, size_t cell)
{
    int64_t time_ns = heat->values[value][cell];
    int is_beyond = value == HTML_HEAT_LENGTH && heat->usual_ns != TIME_UNKNOWN;
    return time_ns == TIME_UNKNOWN ? (double)NAN : (double)(time_ns - (is_beyond ? heat->usual_ns : 0)) / 1e3;
}

static void mark_cells(const struct html_heat *heat, struct heat_map *map)
{
    for (size_t i = 0; i < heat->mark_count; i++)
        for (int64_t step = heat->marks[i].first_step; step <= heat->marks[i].last_step; step++)
            if (step >= heat->first_step && step < heat->first_step + (int64_t)heat->steps)
                map->marked[heat->marks[i].rank * heat->steps + (size_t)(step - heat->first_step)] = 1;
}

static void release_map(struct heat_map *map)
{
    free(map->rows);
    free(map->values);
    free(map->marked);
}

/* `value_of` a cell. */
static int make_map(struct heat_map *map, const struct html_heat *heat, enum html_heat_value value,
                    int is_raw)
{
    size_t cells = heat->rank_count * heat->steps;
    *map = (struct heat_map){.row_count = heat->rank_count,
                             .columns = heat->steps,
                             .first_step = heat->first_step,
                             .steps_in_column = 1,
                             .is_usual = heat->usual_ns != TIME_UNKNOWN,
                             .usual_us = heat->usual_ns == TIME_UNKNOWN ? 0 : (double)heat->usual_ns / 1e3,
                             .rows = array_new(heat->rank_count, sizeof *map->rows),
                             .values = array_new(cells, sizeof *map->values),
                             .marked = array_new(cells, 1)};
    if (!map->rows || !map->values || !map->marked)
        return -1;
    for (size_t i = 0; i < heat->rank_count; i++)
        map->rows[i] =
            (struct heat_row){.process = heat->ranks[i].name, .host = heat->ranks[i].host, .ranks = 1};
    for (size_t i = 0; i < cells; i++) {
        int64_t time_ns = heat->values[value][i];
        map->values[i] = !is_raw                   ? drawn_us(heat, value, i)
                         : time_ns == TIME_UNKNOWN ? (double)NAN
                                                   : (double)time_ns / 1e3;
        if (!map->is_usual && map->values[i] > map->usual_us)
            map->usual_us = map->values[i];
    }
    mark_cells(heat, map);
    return 0;
}

static int level_of(const void *context, size_t row, size_t column)
{
    const struct heat_map *map = context;
    return heat_map_level(map, heat_map_value(map, row, column));
}

static int put_labels(struct buffer *page, const struct heat_map *map)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t row = 0; !failed && row < map->row_count; row++)
        failed = buffer_printf(page, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", LABEL - 6,
                               HEAD + row * ROW + ROW - 3) ||
                 heat_row_label(map, &map->rows[row], &text) || html_put(page, "tspan", &text) ||
                 buffer_append_text(page, "</text>\n");
    double width = (double)PICTURE / (double)map->columns;
    size_t each = 1;
    while ((double)each * width < 40)
        each++;
    for (size_t column = 0; !failed && column < map->columns; column += each)
        failed = buffer_printf(page, "<text x=\"%.1f\" y=\"12\" text-anchor=\"middle\">%lld</text>\n",
                               LABEL + ((double)column + 0.5) * width, (long long)heat_map_step(map, column));
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* A frame around what findings speak of. */
static int put_frames(struct buffer *page, const struct heat_map *map)
{
    double width = (double)PICTURE / (double)map->columns;
    for (size_t row = 0; row < map->row_count; row++)
        for (size_t column = 0, end; column < map->columns; column = end + 1) {
            const unsigned char *marked = map->marked + row * map->columns;
            for (end = column; end < map->columns && marked[end]; end++)
                ;
            if (end > column &&
                buffer_printf(page,
                              "<rect class=\"frame\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\"/>\n",
                              LABEL + (double)column * width, HEAD + row * ROW,
                              (double)(end - column) * width, (int)ROW))
                return -1;
        }
    return 0;
}

static int put_picture(struct buffer *page, const struct heat_map *map, const char *title)
{
    size_t height = HEAD + map->row_count * ROW + 4;
    return buffer_append_text(page, "<figure class=\"heat\">\n") || html_element(page, "figcaption", title) ||
                   buffer_printf(page, "<div class=\"scroll\"><svg viewBox=\"0 0 %d %zu\" role=\"img\"",
                                 LABEL + PICTURE + 4, height) ||
                   html_attribute(page, "aria-label", title) ||
                   buffer_printf(page,
                                 ">\n<text x=\"%d\" y=\"12\" text-anchor=\"end\" class=\"axis\">step</text>\n"
                                 "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
                                 "preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n",
                                 LABEL - 6, (int)LABEL, (int)HEAD, (int)PICTURE, map->row_count * ROW,
                                 map->columns, map->row_count) ||
                   html_add_levels(page, map->row_count, map->columns, level_of, map) ||
                   buffer_append_text(page, "</svg>\n") || put_labels(page, map) || put_frames(page, map) ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

static int put_still(struct buffer *page, const struct html_heat *heat, enum html_heat_value value)
{
    struct heat_map map;
    int failed = make_map(&map, heat, value, 0) || heat_map_fold_rows(&map, STILL_ROWS);
    if (!failed) {
        heat_map_fold_steps(&map, STILL_COLUMNS);
        failed = put_picture(page, &map, title_of(heat, value));
    }
    release_map(&map);
    return failed ? -1 : 0;
}

/* What colours mean. */
static int put_legend(struct buffer *page, const struct html_heat *heat)
{
    struct buffer text = BUFFER_INIT;
    int is_usual = heat->usual_ns != TIME_UNKNOWN;
    int failed = buffer_append_text(page, "<p class=\"keys\">In % of ") ||
                 buffer_append_text(page, is_usual ? "the baseline step (" : "the largest value") ||
                 (is_usual && (text_time(&text, heat->usual_ns) || html_text(page, text.data) ||
                               buffer_append_byte(page, ')'))) ||
                 buffer_append_text(page, ": ");
    buffer_release(&text);
    for (int level = 0; !failed && level < HEAT_LEVELS; level++)
        failed = buffer_printf(
            page,
            "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"l%d\" "
            "width=\"24\" height=\"12\"/></svg> %s %g %%</span> ",
            level, level ? "from" : "below", 100 * heat_map_least(level ? level : 1));
    return failed || buffer_append_text(page,
                                        "<span class=\"key\"><svg viewBox=\"0 0 24 12\" "
                                        "aria-hidden=\"true\"><rect class=\"frame\" x=\"1\" y=\"1\" "
                                        "width=\"22\" height=\"10\"/></svg> part of a finding</span></p>\n")
               ? -1
               : 0;
}

static int add_layer(struct buffer *data, const struct html_heat *heat, enum html_heat_value value,
                     struct heat_map *map)
{
    struct html_scale scale;
    int failed = make_map(map, heat, value, 1) || heat_map_fold_rows(map, MOST_ROWS);
    if (failed)
        return -1;
    size_t most = heat->most_cells / map->row_count;
    heat_map_fold_steps(map, most ? most : 1);
    scale = html_scale_of(map->values, map->row_count * map->columns);
    return buffer_append_text(data, value ? ",{" : "{") || text_json_string(data, "key", values[value].key) ||
                   text_json_string(data, "title", title_of(heat, value)) ||
                   buffer_printf(data, ",\"least\":%.9g,\"most\":%.9g,\"cells\":\"", scale.least,
                                 scale.most) ||
                   html_add_cells(data, map->values, map->row_count, map->columns, &scale) ||
                   buffer_append_text(data, "\"}")
               ? -1
               : 0;
}

/* "ranks", and "hosts" as numbers of texts. */
static int add_rows(struct buffer *data, const struct heat_map *map)
{
    struct intern hosts;
    struct buffer text = BUFFER_INIT;
    intern_init(&hosts);
    int failed = buffer_append_text(data, ",\"ranks\":[");
    for (size_t i = 0; !failed && i < map->row_count; i++) {
        buffer_clear(&text);
        failed = (i && buffer_append_byte(data, ',')) || heat_row_label(map, &map->rows[i], &text) ||
                 text_json_quote(data, text.data);
    }
    failed = failed || buffer_append_text(data, "],\"host\":[");
    for (size_t i = 0; !failed && i < map->row_count; i++) {
        const char *host = map->rows[i].host;
        int64_t number = host ? intern_put(&hosts, host, strlen(host)) : -1;
        failed = (host && number < 0) || buffer_printf(data, i ? ",%d" : "%d", (int)number);
    }
    failed = failed || buffer_append_text(data, "],\"hosts\":[");
    for (size_t i = 0; !failed && i < hosts.count; i++)
        failed =
            (i && buffer_append_byte(data, ',')) || text_json_quote(data, intern_text(&hosts, (int64_t)i));
    buffer_release(&text);
    intern_release(&hosts);
    return failed || buffer_append_byte(data, ']') ? -1 : 0;
}

/* Where rows are of several ranks, that of a mark's is found by its ranks before it. */
static int add_marks(struct buffer *data, const struct html_heat *heat)
{
    if (buffer_append_text(data, ",\"marks\":["))
        return -1;
    for (size_t i = 0; i < heat->mark_count; i++) {
        const struct html_heat_mark *mark = &heat->marks[i];
        if (buffer_printf(data, "%s[%zu,%lld,%lld,", i ? "," : "", mark->rank, (long long)mark->first_step,
                          (long long)mark->last_step) ||
            text_json_quote(data, mark->text) || buffer_append_byte(data, ']'))
            return -1;
    }
    return buffer_append_byte(data, ']');
}

static int add_data(struct buffer *data, const struct html_heat *heat)
{
    struct heat_map map = {.rows = NULL};
    int failed = text_json_key(data, "heat") || buffer_append_byte(data, '{') ||
                 text_json_integer(data, "first", heat->first_step) ||
                 text_json_integer(data, "steps", (int64_t)heat->steps) ||
                 (heat->usual_ns != TIME_UNKNOWN &&
                  buffer_printf(data, ",\"usual\":%.3f", (double)heat->usual_ns / 1e3)) ||
                 buffer_append_text(data, ",\"layers\":[");
    for (int value = 0; !failed && value < HTML_HEAT_VALUES; value++) {
        release_map(&map);
        failed = add_layer(data, heat, (enum html_heat_value)value, &map);
    }
    failed = failed || buffer_append_byte(data, ']') ||
             text_json_integer(data, "fold", map.steps_in_column) || add_rows(data, &map) ||
             (map.row_count == heat->rank_count && add_marks(data, heat)) || buffer_append_byte(data, '}');
    release_map(&map);
    return failed ? -1 : 0;
}

static int put_figure(struct buffer *page, const struct html_heat *heat)
{
    if (buffer_printf(page, "<div class=\"live\" id=\"heat-%lld\"></div>\n<div class=\"still\">\n",
                      (long long)heat->run))
        return -1;
    for (int value = 0; value < HTML_HEAT_VALUES; value++)
        if (put_still(page, heat, (enum html_heat_value)value))
            return -1;
    return buffer_append_text(page, "</div>\n");
}

int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat)
{
    return put_legend(page, heat) || put_figure(page, heat) || add_data(data, heat) ? -1 : 0;
}
