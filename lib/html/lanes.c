#include "html/lanes.h"

#include "base/json_text.h"
#include "base/time_text.h"
#include "html/text.h"

/* In pixels. */
enum { WIDTH = 640, LABEL = 76, HEAD = 18, LANE = 20, BAR = 14, TICKS = 5 };

static double x_of(const struct html_lanes *lanes, int64_t time_ns)
{
    double whole = (double)(lanes->end_ns - lanes->begin_ns);
    double part = whole > 0 ? (double)(time_ns - lanes->begin_ns) / whole : 0;
    return WIDTH * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static int put_piece(struct buffer *page, double from, double to, size_t lane)
{
    double width = to - from < 0.3 ? 0.3 : to - from;
    return buffer_printf(page, "M%.1f %zuh%.1fv%dh-%.1fz", from, HEAD + lane * LANE + (LANE - BAR) / 2, width,
                         (int)BAR, width);
}

enum part { MOVING, WAITING, OPEN };

/* All bars' parts of one kind as one path. */
static int put_part(struct buffer *page, const struct html_lanes *lanes, enum part part, const char *name)
{
    if (buffer_printf(page, "<path class=\"%s\" d=\"", name))
        return -1;
    for (size_t i = 0; i < lanes->count; i++)
        for (size_t j = 0; j < lanes->lanes[i].count; j++) {
            const struct html_lane_bar *bar = &lanes->lanes[i].bars[j];
            int64_t waited_ns = bar->begin_ns + bar->waiting_ns;
            int is_it =
                part == OPEN ? bar->is_open : !bar->is_open && (part == MOVING || bar->waiting_ns > 0);
            if (is_it && put_piece(page, x_of(lanes, part == MOVING ? waited_ns : bar->begin_ns),
                                   x_of(lanes, part == WAITING ? waited_ns : bar->end_ns), i))
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
            html_text(page, lane->name) || buffer_append_text(page, "</text>\n") ||
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
    for (int i = 0; !failed && i <= TICKS; i++) {
        int64_t at_ns = (lanes->end_ns - lanes->begin_ns) / TICKS * i;
        int x = WIDTH / TICKS * i;
        failed = buffer_printf(page,
                               "<path class=\"grid\" d=\"M%d %dv%zu\"/><text x=\"%d\" y=\"12\" "
                               "text-anchor=\"%s\">",
                               x, (int)HEAD, lanes->count * LANE, x,
                               i == TICKS ? "end"
                               : i        ? "middle"
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
                         (int)LABEL, LABEL + WIDTH + 8, HEAD + lanes->count * LANE + 4) ||
                   html_attribute(page, "aria-label", lanes->title) || buffer_append_text(page, ">\n") ||
                   put_axis(page, lanes) || put_part(page, lanes, MOVING, "moving") ||
                   put_part(page, lanes, WAITING, "waiting") || put_part(page, lanes, OPEN, "open") ||
                   put_labels(page, lanes) || buffer_append_text(page, "</svg></div>\n")
               ? -1
               : 0;
}

/* Begins are since the begin before, lengths and waits are what they are: 100 ns each. Last: 1 where it never
 * ended, 2 where its end is not known. */
static int add_bars(struct buffer *data, const struct html_lanes *lanes, const struct html_lane *lane)
{
    enum { UNIT_NS = 100 };
    int64_t before = 0;
    for (size_t i = 0; i < lane->count; i++) {
        const struct html_lane_bar *bar = &lane->bars[i];
        int64_t begin = (bar->begin_ns - lanes->begin_ns) / UNIT_NS;
        if (buffer_printf(data, "%s%lld,%lld,%lld,%d,%d,%d", i ? "," : "", (long long)(begin - before),
                          (long long)((bar->end_ns - bar->begin_ns) / UNIT_NS),
                          (long long)(bar->waiting_ns / UNIT_NS), (int)bar->name, (int)bar->group,
                          bar->is_open      ? 1
                          : bar->is_endless ? 2
                                            : 0))
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
