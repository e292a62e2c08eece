/* Draws which steps of a job something shows in, as a narrow row of steps. */
#include "base/base.h"
#include "output/html.h"
#include "output/output.h"

#include <stdio.h>

enum { WIDTH = 720, HEIGHT = 22, BAR = 10 };

/* Draws each run of consecutive steps as one rectangle. */
static int put_runs(struct buffer *page, const struct html_strip *strip, const unsigned char *has,
                    const char *class, int height)
{
    double width = (double)WIDTH / (double)strip->steps;
    for (size_t i = 0, end; i < strip->steps; i = end + 1) {
        for (end = i; end < strip->steps && has[end]; end++)
            ;
        if (end > i &&
            buffer_printf(page, "<rect class=\"%s\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\"/>\n",
                          class, width * (double)i, width * (double)(end - i), height))
            return -1;
    }
    return 0;
}

static int put_number(struct buffer *page, int64_t step, int x, const char *anchor)
{
    return buffer_printf(page, "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">step %lld</text>\n",
                         x, (int)HEIGHT - 1, anchor, (long long)step);
}

int html_add_strip(struct buffer *page, const struct html_strip *strip)
{
    if (!strip->steps)
        return 0;
    int64_t last = strip->first_step + (int64_t)strip->steps - 1;
    return buffer_append_text(page, "<figure class=\"chart strip\">\n") ||
                   html_element(page, "figcaption", strip->text) ||
                   buffer_append_text(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\"") ||
                   html_attribute(page, "aria-label", strip->text) ||
                   buffer_printf(page, "><svg viewBox=\"0 0 %d %d\" role=\"img\"", (int)WIDTH, (int)HEIGHT) ||
                   html_attribute(page, "aria-label", strip->text) ||
                   buffer_printf(page, ">\n<rect class=\"unmarked\" width=\"%d\" height=\"%d\"/>\n",
                                 (int)WIDTH, (int)BAR) ||
                   put_runs(page, strip, strip->shaded, "marked", BAR) ||
                   put_runs(page, strip, strip->marked, "cause", BAR / 2) ||
                   put_number(page, strip->first_step, 0, "start") || put_number(page, last, WIDTH, "end") ||
                   buffer_append_text(page, "</svg></div></figure>\n")
               ? -1
               : 0;
}
