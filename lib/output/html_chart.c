/*
 * Draws two figures of the HTML report as SVG: the time of a rank per step beside its peers, and operations
 * of ranks over time (lanes).
 */
#include "base/base.h"
#include "model/model.h"
#include "output/html.h"
#include "output/output.h"

#include <math.h>
#include <stdlib.h>

/* In pixels. */
enum {
    WIDTH = 720,
    HEIGHT = 200,
    LEFT = 62,
    RIGHT = 12,
    TOP = 14,
    BOTTOM = 24,
    MOST_DOTS = 360,
    TICKS = 4,
    STEP_WIDTH = 44,
    ARROW_TEXT = 64,
    LINE = 16
};

/* One dot for several neighbouring steps, if there are more steps than dots. */
struct dot {
    int64_t first_step;
    int64_t last_step;
    int64_t mine_ns; /* the largest of these steps */
    int64_t peers_ns;
    int64_t low_ns;
    int64_t high_ns;
    int marked;
};

struct plot {
    const struct html_chart *chart;
    struct dot *dots; /* owned */
    size_t count;
    double top_ns; /* top of the axis */
    double tick_ns;
    int is_cut; /* some dots are beyond the top */
};

static int64_t greater(int64_t a, int64_t b)
{
    return a == TIME_UNKNOWN || (b != TIME_UNKNOWN && b > a) ? b : a;
}

static int64_t less(int64_t a, int64_t b)
{
    return a == TIME_UNKNOWN || (b != TIME_UNKNOWN && b < a) ? b : a;
}

static int64_t time_at(const int64_t *list, size_t step)
{
    return list ? list[step] : TIME_UNKNOWN;
}

static void add_step(struct dot *dot, const struct html_chart *chart, size_t step)
{
    dot->last_step = chart->first_step + (int64_t)step;
    dot->mine_ns = greater(dot->mine_ns, time_at(chart->mine_ns, step));
    dot->peers_ns = greater(dot->peers_ns, time_at(chart->peers_ns, step));
    dot->low_ns = less(dot->low_ns, time_at(chart->low_ns, step));
    dot->high_ns = greater(dot->high_ns, time_at(chart->high_ns, step));
    dot->marked |= chart->marked && chart->marked[step];
}

static int64_t height_of(const struct dot *dot)
{
    return greater(dot->mine_ns, greater(dot->high_ns, dot->peers_ns));
}

/*
 * The largest value that the axis has to show. If few dots, at most a tenth, are more than CUT times as high
 * as all others, the axis ends above the others: a single step of 10 s would hide all others.
 */
static int64_t axis_end(struct plot *plot, int64_t *heights)
{
    enum { CUT = 4, FEWEST = 6, TENTH = 10 };
    size_t known = 0;
    for (size_t i = 0; i < plot->count; i++)
        if (height_of(&plot->dots[i]) != TIME_UNKNOWN)
            heights[known++] = height_of(&plot->dots[i]);
    if (!known)
        return 1;
    sort_integers(heights, known);
    size_t few = known / TENTH > 1 ? known / TENTH : 1;
    int64_t most_ns = heights[known - 1] > 1 ? heights[known - 1] : 1;
    if (known < FEWEST || heights[known - 1 - few] <= 0 || most_ns / CUT <= heights[known - 1 - few])
        return most_ns;
    /* Of the few, those that fit are shown whole. */
    size_t shown = known - 1 - few;
    while (shown + 1 < known && heights[shown + 1] / CUT <= heights[known - 1 - few])
        shown++;
    if (heights[shown] > INT64_MAX / CUT)
        return most_ns;
    plot->is_cut = 1;
    return heights[shown] + heights[shown] / CUT;
}

/* Chooses ticks of 1, 2 or 5 times a power of ten, so that several fit below the largest value. */
static void choose_axis(struct plot *plot, int64_t most_ns)
{
    int64_t least_ns = most_ns / TICKS + (most_ns % TICKS != 0), power = 1;
    while (power <= least_ns / 10)
        power *= 10;
    double times = (double)least_ns / (double)power;
    plot->tick_ns = (double)power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    plot->top_ns = plot->tick_ns * ceil((double)most_ns / plot->tick_ns);
}

static int plot_init(struct plot *plot, const struct html_chart *chart)
{
    size_t together = (chart->steps + MOST_DOTS - 1) / MOST_DOTS;
    int64_t *heights = array_new(MOST_DOTS + 1, sizeof *heights);
    *plot = (struct plot){.chart = chart, .dots = array_new(MOST_DOTS + 1, sizeof *plot->dots)};
    if (!plot->dots || !heights) {
        free(heights);
        return -1;
    }
    for (size_t step = 0; step < chart->steps; step++) {
        if (step % together == 0)
            plot->dots[plot->count++] = (struct dot){.first_step = chart->first_step + (int64_t)step,
                                                     .mine_ns = TIME_UNKNOWN,
                                                     .peers_ns = TIME_UNKNOWN,
                                                     .low_ns = TIME_UNKNOWN,
                                                     .high_ns = TIME_UNKNOWN};
        add_step(&plot->dots[plot->count - 1], chart, step);
    }
    choose_axis(plot, axis_end(plot, heights));
    free(heights);
    return 0;
}

static double width_of(const struct plot *plot)
{
    return (double)(WIDTH - LEFT - RIGHT) / (double)plot->count;
}

static double x_of(const struct plot *plot, size_t dot)
{
    return LEFT + ((double)dot + 0.5) * width_of(plot);
}

static double y_of(const struct plot *plot, double time_ns)
{
    double part = fmin(fmax(time_ns / plot->top_ns, 0), 1);
    return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP);
}

/* Shades the highlighted steps. */
static int put_shades(struct buffer *page, const struct plot *plot)
{
    for (size_t i = 0, end; i < plot->count; i = end + 1) {
        for (end = i; end < plot->count && plot->dots[end].marked; end++)
            ;
        if (end > i &&
            buffer_printf(page, "<rect class=\"marked\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                          x_of(plot, i) - width_of(plot) / 2, (int)TOP, width_of(plot) * (double)(end - i),
                          HEIGHT - BOTTOM - TOP))
            return -1;
    }
    return 0;
}

/* Appends "20 ms": ticks are round numbers. */
static int append_tick(struct buffer *text, double time_ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    for (; unit < 3 && time_ns >= 999.5; unit++)
        time_ns /= 1e3;
    return time_ns > 0 ? buffer_printf(text, "%.4g %s", time_ns, units[unit]) : buffer_append_byte(text, '0');
}

static int put_times(struct buffer *page, const struct plot *plot)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (int i = 0; !failed && i * plot->tick_ns <= plot->top_ns * 1.001; i++) {
        double ns = i * plot->tick_ns;
        double y = y_of(plot, ns);
        failed = buffer_printf(page,
                               "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                               "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                               (int)LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4) ||
                 append_tick(&text, ns) || html_put(page, "tspan", &text) ||
                 buffer_append_text(page, "</text>\n");
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Draws as many round step numbers as fit. */
static int put_steps(struct buffer *page, const struct plot *plot)
{
    static const int times[] = {2, 5, 10};
    int64_t together = plot->dots[0].last_step - plot->dots[0].first_step + 1, each = 1, power = 1;
    for (int i = 0; (double)each / (double)together * width_of(plot) < STEP_WIDTH; i = (i + 1) % 3) {
        each = power * times[i];
        power *= times[i] == 10 ? 10 : 1;
    }
    for (size_t i = 0; i < plot->count; i++) {
        int64_t step = plot->dots[i].last_step / each * each;
        if (step >= plot->dots[i].first_step &&
            buffer_printf(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%lld</text>\n",
                          x_of(plot, i), HEIGHT - BOTTOM + LINE, (long long)step))
            return -1;
    }
    return buffer_printf(page, "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"end\">step</text>\n",
                         LEFT - 6, HEIGHT - BOTTOM + LINE);
}

/* Draws the range: along its upper side and back along its lower side, once for each part without a gap. */
static int put_range(struct buffer *page, const struct plot *plot)
{
    for (size_t i = 0, end; i < plot->count; i = end + 1) {
        for (end = i; end < plot->count && plot->dots[end].low_ns != TIME_UNKNOWN; end++)
            ;
        if (end == i)
            continue;
        if (buffer_append_text(page, "<path class=\"range\" d=\""))
            return -1;
        for (size_t at = i; at < end; at++)
            if (buffer_printf(page, "%c%.1f %.1f", at == i ? 'M' : 'L', x_of(plot, at),
                              y_of(plot, (double)plot->dots[at].high_ns)))
                return -1;
        for (size_t at = end; at > i; at--)
            if (buffer_printf(page, "L%.1f %.1f", x_of(plot, at - 1),
                              y_of(plot, (double)plot->dots[at - 1].low_ns)))
                return -1;
        if (buffer_append_text(page, "Z\"/>\n"))
            return -1;
    }
    return 0;
}

static int put_line(struct buffer *page, const struct plot *plot, const char *name, size_t offset)
{
    int is_down = 0;
    if (buffer_printf(page, "<path class=\"%s\" d=\"", name))
        return -1;
    for (size_t i = 0; i < plot->count; i++) {
        int64_t time_ns = *(const int64_t *)(const void *)((const char *)&plot->dots[i] + offset);
        if (time_ns != TIME_UNKNOWN && buffer_printf(page, "%c%.1f %.1f", is_down ? 'L' : 'M', x_of(plot, i),
                                                     y_of(plot, (double)time_ns)))
            return -1;
        is_down = time_ns != TIME_UNKNOWN;
    }
    return buffer_append_text(page, "\"/>\n");
}

static int append_dot(struct buffer *text, const struct plot *plot, const struct dot *dot)
{
    int failed = dot->first_step == dot->last_step
                     ? buffer_printf(text, "step %lld: ", (long long)dot->first_step)
                     : buffer_printf(text, "steps %lld to %lld: ", (long long)dot->first_step,
                                     (long long)dot->last_step);
    failed = failed || text_time(text, dot->mine_ns);
    if (!failed && dot->peers_ns != TIME_UNKNOWN)
        failed = buffer_printf(text, "; %s ", plot->chart->peers_name) || text_time(text, dot->peers_ns);
    return failed ? -1 : 0;
}

/* Draws a dot that is beyond the top as an arrow with its value. */
static int put_arrow(struct buffer *page, const struct plot *plot, size_t i)
{
    const struct dot *dot = &plot->dots[i];
    struct buffer text = BUFFER_INIT;
    double x = x_of(plot, i);
    int is_right = x > WIDTH - RIGHT - ARROW_TEXT;
    int failed = text_time(&text, dot->mine_ns) ||
                 buffer_printf(page,
                               "<path class=\"%s\" d=\"M%.1f %dl-5 9h10z\"/><text x=\"%.1f\" y=\"%d\" "
                               "text-anchor=\"%s\">",
                               dot->marked ? "arrow out" : "arrow", x, TOP - 4, x + (is_right ? -9 : 9),
                               TOP + 6, is_right ? "end" : "start") ||
                 html_put(page, "tspan", &text) || buffer_append_text(page, "</text>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_arrows(struct buffer *page, const struct plot *plot)
{
    double free_from = 0;
    for (size_t i = 0; plot->is_cut && i < plot->count; i++) {
        const struct dot *dot = &plot->dots[i];
        if (dot->mine_ns == TIME_UNKNOWN || (double)dot->mine_ns <= plot->top_ns || x_of(plot, i) < free_from)
            continue;
        free_from = x_of(plot, i) + ARROW_TEXT;
        if (put_arrow(page, plot, i))
            return -1;
    }
    return 0;
}

static int put_dots(struct buffer *page, const struct plot *plot)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    double radius = width_of(plot) >= 9 ? 4 : width_of(plot) >= 4 ? 2.5 : 1.5;
    for (size_t i = 0; !failed && i < plot->count; i++) {
        const struct dot *dot = &plot->dots[i];
        if (dot->mine_ns == TIME_UNKNOWN)
            continue;
        failed = buffer_printf(page, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">",
                               dot->marked ? "mine out" : "mine", x_of(plot, i),
                               y_of(plot, (double)dot->mine_ns), radius) ||
                 append_dot(&text, plot, dot) || html_put(page, "title", &text) ||
                 buffer_append_text(page, "</circle>\n");
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Draws a sample of a mark, and its meaning. */
static int put_key(struct buffer *page, const char *sample, const char *name)
{
    return buffer_printf(page,
                         "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\">%s</svg> ",
                         sample) ||
                   html_text(page, name) || buffer_append_text(page, "</span> ")
               ? -1
               : 0;
}

static int put_caption(struct buffer *page, const struct plot *plot)
{
    const struct html_chart *chart = plot->chart;
    int is_marked = 0;
    for (size_t i = 0; i < plot->count; i++)
        is_marked |= plot->dots[i].marked;
    return html_element(page, "figcaption", chart->title) || buffer_append_text(page, "<p class=\"keys\">") ||
                   put_key(page, "<circle class=\"mine\" cx=\"12\" cy=\"6\" r=\"4\"/>", chart->mine_name) ||
                   (is_marked && put_key(page,
                                         "<rect class=\"marked\" width=\"24\" height=\"12\"/>"
                                         "<circle class=\"mine out\" cx=\"12\" cy=\"6\" r=\"4\"/>",
                                         chart->marked_name)) ||
                   (chart->peers_ns &&
                    put_key(page,
                            chart->low_ns ? "<rect class=\"range\" width=\"24\" height=\"12\"/>"
                                            "<path class=\"peers\" d=\"M0 6H24\"/>"
                                          : "<path class=\"peers\" d=\"M0 6H24\"/>",
                            chart->peers_name)) ||
                   (plot->is_cut && buffer_append_text(page, "arrow: beyond the axis")) ||
                   buffer_append_text(page, "</p>\n")
               ? -1
               : 0;
}

static int put_plot(struct buffer *page, const struct plot *plot)
{
    return buffer_append_text(page, "<figure class=\"chart\">\n") || put_caption(page, plot) ||
                   buffer_printf(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\"") ||
                   html_attribute(page, "aria-label", plot->chart->title) ||
                   buffer_printf(page, "><svg viewBox=\"0 0 %d %d\" role=\"img\"", (int)WIDTH, (int)HEIGHT) ||
                   html_attribute(page, "aria-label", plot->chart->title) ||
                   buffer_append_text(page, ">\n") || put_shades(page, plot) || put_times(page, plot) ||
                   put_steps(page, plot) || put_range(page, plot) ||
                   put_line(page, plot, "peers", offsetof(struct dot, peers_ns)) ||
                   put_line(page, plot, "mine", offsetof(struct dot, mine_ns)) || put_dots(page, plot) ||
                   put_arrows(page, plot) || buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}

static int is_known(const struct html_chart *chart)
{
    for (size_t i = 0; i < chart->steps; i++)
        if (chart->mine_ns[i] != TIME_UNKNOWN)
            return 1;
    return 0;
}

int html_add_chart(struct buffer *page, const struct html_chart *chart)
{
    struct plot plot;
    if (!is_known(chart))
        return 0;
    int failed = plot_init(&plot, chart) || put_plot(page, &plot);
    free(plot.dots);
    return failed ? -1 : 0;
}

/* In pixels. */
enum { LANES_WIDTH = 640, LABEL = 140, HEAD = 18, LANE = 20, BAR = 14, STRIP = 4, LANES_TICKS = 5 };

static double lanes_x_of(const struct html_lanes *lanes, int64_t time_ns)
{
    double whole = (double)(lanes->end_ns - lanes->begin_ns);
    double part = whole > 0 ? (double)(time_ns - lanes->begin_ns) / whole : 0;
    return LANES_WIDTH * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* Draws the lowest pixels of a bar, `height` of them. */
static int put_piece(struct buffer *page, double from, double to, size_t lane, int height)
{
    double width = to - from < 0.3 ? 0.3 : to - from;
    return buffer_printf(page, "M%.1f %zuh%.1fv%dh-%.1fz", from,
                         HEAD + lane * LANE + (LANE - BAR) / 2 + (size_t)(BAR - height), width, height,
                         width);
}

enum part { MOVING, WAITING, OPEN, SLOW };

static int has_part(const struct html_lane_bar *bar, enum part part)
{
    return part == OPEN   ? bar->is_open
           : bar->is_open ? 0
           : part == SLOW ? bar->slow_ns > 0
                          : part == MOVING || bar->waiting_ns > 0;
}

/* Draws one kind of part of all bars as a single path. */
static int put_part(struct buffer *page, const struct html_lanes *lanes, enum part part, const char *name)
{
    if (buffer_printf(page, "<path class=\"%s\" d=\"", name))
        return -1;
    for (size_t i = 0; i < lanes->count; i++)
        for (size_t j = 0; j < lanes->lanes[i].count; j++) {
            const struct html_lane_bar *bar = &lanes->lanes[i].bars[j];
            int64_t waited_ns = bar->begin_ns + bar->waiting_ns;
            int is_late = part == MOVING || part == SLOW;
            if (has_part(bar, part) && put_piece(page, lanes_x_of(lanes, is_late ? waited_ns : bar->begin_ns),
                                                 lanes_x_of(lanes, part == WAITING ? waited_ns : bar->end_ns),
                                                 i, part == SLOW ? STRIP : BAR))
                return -1;
        }
    return buffer_append_text(page, "\"/>\n");
}

static int put_labels(struct buffer *page, const struct html_lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        const struct html_lane *lane = &lanes->lanes[i];
        size_t y = HEAD + i * LANE + LANE - 6;
        if (buffer_printf(page, "<text x=\"-6\" y=\"%zu\" text-anchor=\"end\"%s>", y,
                          lane->is_accused ? " class=\"accused\"" : "") ||
            html_text(page, lane->name) ||
            (lane->reason && (buffer_append_text(page, ", ") || html_text(page, lane->reason))) ||
            buffer_append_text(page, "</text>\n") ||
            (lane->missing && (buffer_printf(page, "<text x=\"4\" y=\"%zu\" class=\"axis\">", y) ||
                               html_text(page, lane->missing) || buffer_append_text(page, "</text>\n"))))
            return -1;
    }
    return 0;
}

static int put_axis(struct buffer *page, const struct html_lanes *lanes)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (int i = 0; !failed && i <= LANES_TICKS; i++) {
        int64_t at_ns = (lanes->end_ns - lanes->begin_ns) / LANES_TICKS * i;
        int x = LANES_WIDTH / LANES_TICKS * i;
        failed = buffer_printf(page,
                               "<path class=\"grid\" d=\"M%d %dv%zu\"/><text x=\"%d\" y=\"12\" "
                               "text-anchor=\"%s\">",
                               x, (int)HEAD, lanes->count * LANE, x,
                               i == LANES_TICKS ? "end"
                               : i              ? "middle"
                                                : "start") ||
                 text_time(&text, at_ns) || html_text(page, i ? text.data : "0") ||
                 buffer_append_text(page, "</text>\n");
        buffer_clear(&text);
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_still(struct buffer *page, const struct html_lanes *lanes)
{
    return buffer_printf(page, "<div class=\"scroll still\"><svg viewBox=\"-%d 0 %d %zu\" role=\"img\"",
                         (int)LABEL, LABEL + LANES_WIDTH + 8, HEAD + lanes->count * LANE + 4) ||
                   html_attribute(page, "aria-label", lanes->title) || buffer_append_text(page, ">\n") ||
                   put_axis(page, lanes) || put_part(page, lanes, MOVING, "moving") ||
                   put_part(page, lanes, WAITING, "waiting") || put_part(page, lanes, OPEN, "open") ||
                   put_part(page, lanes, SLOW, "slow") || put_labels(page, lanes) ||
                   buffer_append_text(page, "</svg></div>\n")
               ? -1
               : 0;
}

/*
 * Appends the bars of a lane. Each beginning is relative to the previous one; lengths and waits are absolute;
 * the unit is 100 ns. The sixth number is 1 if the operation never ended, 2 if its end is unknown; the last
 * one is the mean wait of its slow network steps.
 */
static int add_bars(struct buffer *data, const struct html_lanes *lanes, const struct html_lane *lane)
{
    enum { UNIT_NS = 100 };
    int64_t before = 0;
    for (size_t i = 0; i < lane->count; i++) {
        const struct html_lane_bar *bar = &lane->bars[i];
        int64_t begin = (bar->begin_ns - lanes->begin_ns) / UNIT_NS;
        if (buffer_printf(data, "%s%lld,%lld,%lld,%d,%d,%d,%lld", i ? "," : "", (long long)(begin - before),
                          (long long)((bar->end_ns - bar->begin_ns) / UNIT_NS),
                          (long long)(bar->waiting_ns / UNIT_NS), (int)bar->name, (int)bar->group,
                          bar->is_open      ? 1
                          : bar->is_endless ? 2
                                            : 0,
                          (long long)(bar->slow_ns / UNIT_NS)))
            return -1;
        before = begin;
    }
    return 0;
}

static int add_data(struct buffer *data, const struct html_lanes *lanes)
{
    int failed = buffer_append_byte(data, '{') || text_json_string(data, "id", lanes->id) ||
                 text_json_string(data, "title", lanes->title) ||
                 buffer_printf(data, ",\"length\":%.1f", (double)(lanes->end_ns - lanes->begin_ns) / 1e3) ||
                 buffer_append_text(data, ",\"texts\":[");
    for (size_t i = 0; !failed && i < lanes->texts->count; i++)
        failed = (i && buffer_append_byte(data, ',')) ||
                 text_json_quote(data, intern_text(lanes->texts, (int64_t)i));
    failed = failed || buffer_append_text(data, "],\"lanes\":[");
    for (size_t i = 0; !failed && i < lanes->count; i++) {
        const struct html_lane *lane = &lanes->lanes[i];
        failed = buffer_append_text(data, i ? ",{" : "{") || text_json_string(data, "name", lane->name) ||
                 text_json_string(data, "reason", lane->reason) ||
                 text_json_integer(data, "accused", lane->is_accused) ||
                 text_json_string(data, "missing", lane->missing) ||
                 buffer_append_text(data, ",\"bars\":[") || add_bars(data, lanes, lane) ||
                 buffer_append_text(data, "]}");
    }
    return failed || buffer_append_text(data, "]}") ? -1 : 0;
}

int html_add_lanes(struct buffer *page, struct buffer *data, const struct html_lanes *lanes)
{
    return buffer_append_text(page, "<figure class=\"lanes\">\n") ||
                   html_element(page, "figcaption", lanes->title) ||
                   buffer_printf(page, "<div class=\"live\" id=\"%s\"></div>\n", lanes->id) ||
                   put_still(page, lanes) || buffer_append_text(page, "</figure>\n") || add_data(data, lanes)
               ? -1
               : 0;
}
