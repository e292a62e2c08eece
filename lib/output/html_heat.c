/*
 * Draws heat maps in the HTML report: a static SVG picture, and compact data from which the script (page.js)
 * draws one with zoom.
 */
#include "base/base.h"
#include "model/model.h"
#include "output/html.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Values are NAN (unknown) or finite. A value below `most` / HTML_SCALE_SPAN counts as zero. */
enum { HTML_SCALE_SPAN = 100000 };

enum { NOTHING = 1, FIRST = 2, LAST = 255 };

struct html_scale html_scale_of(const double *values, size_t count)
{
    struct html_scale scale = {.least = 0, .most = 0};
    for (size_t i = 0; i < count; i++)
        if (values[i] > scale.most)
            scale.most = values[i];
    scale.least = scale.most;
    for (size_t i = 0; i < count; i++)
        if (values[i] > scale.most / HTML_SCALE_SPAN && values[i] < scale.least)
            scale.least = values[i];
    return scale;
}

unsigned char html_scale_byte(const struct html_scale *scale, double value)
{
    if (isnan(value))
        return 0;
    if (value <= 0 || value < scale->least)
        return NOTHING;
    if (scale->most <= scale->least || value >= scale->most)
        return LAST;
    double part = log(value / scale->least) / log(scale->most / scale->least);
    return (unsigned char)(FIRST + lround(part * (LAST - FIRST)));
}

/* Writes a pending run of zeros. */
static int put_zeros(struct buffer *bytes, size_t *zeros)
{
    if (*zeros && (buffer_append_byte(bytes, 0) || buffer_append_byte(bytes, (char)*zeros)))
        return -1;
    *zeros = 0;
    return 0;
}

static int put_difference(struct buffer *bytes, unsigned char difference, size_t *zeros)
{
    if (difference)
        return put_zeros(bytes, zeros) || buffer_append_byte(bytes, (char)difference) ? -1 : 0;
    return ++*zeros == LAST ? put_zeros(bytes, zeros) : 0;
}

int html_add_cells(struct buffer *data, const double *values, size_t rows, size_t columns,
                   const struct html_scale *scale)
{
    struct buffer bytes = BUFFER_INIT;
    size_t zeros = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < rows * columns; i++) {
        unsigned char above = i >= columns ? html_scale_byte(scale, values[i - columns]) : 0;
        failed = put_difference(&bytes, (unsigned char)(html_scale_byte(scale, values[i]) - above), &zeros);
    }
    failed = failed || put_zeros(&bytes, &zeros) || base64_append(data, bytes.data, bytes.length);
    buffer_release(&bytes);
    return failed ? -1 : 0;
}

/* Limits of the static picture, beyond which rows and columns are merged; sizes in pixels. */
enum {
    STILL_ROWS = 64,
    STILL_COLUMNS = 200,
    ROW = 14,
    LABEL = 96,
    REASON = 66,
    PICTURE = 620,
    HEAD = 18,
    MOST_ROWS = 8192
};

/* The static picture of a layer. */
struct still {
    struct heat_map map;
    const char *const *reasons; /* per row; NULL: its rows were not chosen */
    int label;                  /* width of the labels of rows */
};

/* Appends a label, and the reason for a row that was chosen. */
static int append_row(const struct still *still, size_t row, struct buffer *text)
{
    const char *reason = still->reasons ? still->reasons[row] : NULL;
    return heat_row_label(&still->map, &still->map.rows[row], text) ||
           (reason && buffer_printf(text, ", %s", reason));
}

static int put_labels(struct buffer *page, const struct still *still)
{
    const struct heat_map *map = &still->map;
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t row = 0; !failed && row < map->row_count; row++)
        failed = buffer_printf(page, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">", still->label - 6,
                               HEAD + row * ROW + ROW - 3) ||
                 append_row(still, row, &text) || html_put(page, "tspan", &text) ||
                 buffer_append_text(page, "</text>\n");
    double width = (double)PICTURE / (double)map->columns;
    size_t each = 1;
    while ((double)each * width < 40)
        each++;
    for (size_t column = 0; !failed && column < map->columns; column += each)
        failed = buffer_printf(page, "<text x=\"%.1f\" y=\"12\" text-anchor=\"middle\">%lld</text>\n",
                               still->label + ((double)column + 0.5) * width,
                               (long long)heat_map_step(map, column));
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Draws frames around the cells that findings cover. */
static int put_frames(struct buffer *page, const struct still *still)
{
    const struct heat_map *map = &still->map;
    double width = (double)PICTURE / (double)map->columns;
    for (size_t row = 0; row < map->row_count; row++)
        for (struct heat_span span = {0}; heat_map_next_marked(map, row, &span);)
            if (buffer_printf(page,
                              "<rect class=\"frame\" x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\"/>\n",
                              still->label + (double)span.first * width, HEAD + row * ROW,
                              (double)(span.end - span.first) * width, (int)ROW))
                return -1;
    return 0;
}

static int put_picture(struct buffer *page, const struct still *still, const char *title)
{
    const struct heat_map *map = &still->map;
    size_t height = HEAD + map->row_count * ROW + 4;
    return buffer_append_text(page, "<figure class=\"heat\">\n") || html_element(page, "figcaption", title) ||
                   buffer_printf(page, "<div class=\"scroll\"><svg viewBox=\"0 0 %d %zu\" role=\"img\"",
                                 still->label + PICTURE + 4, height) ||
                   html_attribute(page, "aria-label", title) ||
                   buffer_printf(page,
                                 ">\n<text x=\"%d\" y=\"12\" text-anchor=\"end\" class=\"axis\">step</text>\n"
                                 "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
                                 "preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n",
                                 still->label - 6, still->label, (int)HEAD, (int)PICTURE,
                                 map->row_count * ROW, map->columns, map->row_count) ||
                   html_add_levels(page, map) || buffer_append_text(page, "</svg>\n") ||
                   put_labels(page, still) || put_frames(page, still) ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

static int put_still(struct buffer *page, const struct html_heat *heat, size_t layer)
{
    struct still still = {.label = LABEL};
    int failed = heat->make(&still.map, heat->context, layer, 0);
    if (!failed && heat->chosen_count && still.map.row_count > STILL_ROWS) {
        failed = heat_map_pick_rows(&still.map, heat->chosen, heat->chosen_count);
        still.reasons = heat->reasons;
        still.label = LABEL + REASON;
    }
    failed = failed || heat_map_fold_rows(&still.map, STILL_ROWS);
    if (!failed) {
        heat_map_fold_steps(&still.map, STILL_COLUMNS);
        failed = put_picture(page, &still, heat->layers[layer].title);
    }
    heat_map_release(&still.map);
    return failed ? -1 : 0;
}

/* Draws the meaning of the colours of layers that are multiples of a baseline, if there are any. */
static int put_legend_of_multiples(struct buffer *page, const struct html_heat *heat)
{
    size_t layer = 0;
    while (layer < heat->layer_count && heat->layers[layer].scale != &heat_times_baseline)
        layer++;
    return layer < heat->layer_count &&
           (buffer_append_text(page,
                               "<p class=\"keys\">Network wait, relative to the baseline of the link: ") ||
            html_add_level_keys(page, &heat_times_baseline, NULL));
}

/* Draws the meaning of the colours. */
static int put_legend(struct buffer *page, const struct html_heat *heat)
{
    struct buffer text = BUFFER_INIT;
    int is_usual = heat->usual_ns != TIME_UNKNOWN;
    int failed = buffer_append_text(page, "<p class=\"keys\">In % of ") ||
                 buffer_append_text(page, is_usual ? "the baseline step (" : "the largest value") ||
                 (is_usual && (text_time(&text, heat->usual_ns) || html_text(page, text.data) ||
                               buffer_append_byte(page, ')'))) ||
                 buffer_append_text(page, ": ") ||
                 html_add_level_keys(page, &heat_share_of_step, "part of a finding") ||
                 put_legend_of_multiples(page, heat);
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int add_layer(struct buffer *data, const struct html_heat *heat, size_t layer, struct heat_map *map)
{
    struct html_scale scale;
    int failed = heat->make(map, heat->context, layer, 1) || heat_map_fold_rows(map, MOST_ROWS);
    if (failed)
        return -1;
    size_t most = heat->most_cells / map->row_count;
    heat_map_fold_steps(map, most ? most : 1);
    scale = html_scale_of(map->values, map->row_count * map->columns);
    const double *levels = map->scale->least;
    return buffer_append_text(data, layer ? ",{" : "{") ||
                   text_json_string(data, "key", heat->layers[layer].key) ||
                   text_json_string(data, "title", heat->layers[layer].title) ||
                   buffer_printf(data, ",\"unit\":%.3f,\"levels\":[%g,%g,%g,%g,%g]", map->unit_us, levels[0],
                                 levels[1], levels[2], levels[3], levels[4]) ||
                   buffer_printf(data, ",\"least\":%.9g,\"most\":%.9g,\"cells\":\"", scale.least,
                                 scale.most) ||
                   html_add_cells(data, map->values, map->row_count, map->columns, &scale) ||
                   buffer_append_text(data, "\"}")
               ? -1
               : 0;
}

/* Appends the rows: "ranks", and "hosts" as indexes of texts. */
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

/* If rows contain several ranks, the row of a mark is found by counting the ranks before it. */
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

/* The chosen rows as pairs of a rank and a reason. */
static int add_chosen(struct buffer *data, const struct html_heat *heat)
{
    int failed = buffer_append_text(data, ",\"chosen\":[");
    for (size_t i = 0; !failed && i < heat->chosen_count; i++)
        failed = buffer_printf(data, "%s[%zu,", i ? "," : "", heat->chosen[i]) ||
                 text_json_quote(data, heat->reasons[i] ? heat->reasons[i] : "") ||
                 buffer_append_byte(data, ']');
    return failed || buffer_append_byte(data, ']') ? -1 : 0;
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
    for (size_t layer = 0; !failed && layer < heat->layer_count; layer++) {
        heat_map_release(&map);
        failed = add_layer(data, heat, layer, &map);
    }
    failed = failed || buffer_append_byte(data, ']') ||
             text_json_integer(data, "fold", map.steps_in_column) ||
             text_json_integer(data, "shown", (int64_t)heat->shown) || add_rows(data, &map) ||
             (map.row_count == heat->rank_count && (add_marks(data, heat) || add_chosen(data, heat))) ||
             buffer_append_byte(data, '}');
    heat_map_release(&map);
    return failed ? -1 : 0;
}

static int put_figure(struct buffer *page, const struct html_heat *heat)
{
    if (buffer_printf(page, "<div class=\"live\" id=\"heat-%lld\"></div>\n<div class=\"still\">\n",
                      (long long)heat->run))
        return -1;
    for (size_t layer = 0; layer < heat->layer_count; layer++)
        if (put_still(page, heat, layer))
            return -1;
    return buffer_append_text(page, "</div>\n");
}

int html_add_heat(struct buffer *page, struct buffer *data, const struct html_heat *heat)
{
    return put_legend(page, heat) || put_figure(page, heat) || add_data(data, heat) ? -1 : 0;
}
