#include "watch/change_line.h"

#include "base/escape.h"
#include "base/json_text.h"

#include <string.h>
#include <time.h>

enum { SECOND_NS = 1000 * 1000 * 1000 };

/* "2026-11-25T10:12:04Z" */
static int append_time(struct buffer *line, int64_t at_ns)
{
    char text[32];
    struct tm utc;
    time_t seconds = (time_t)(at_ns / SECOND_NS);
    if (!gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return buffer_append_text(line, "-");
    return buffer_append_text(line, text);
}

static int append_escaped(struct buffer *line, const char *text)
{
    return escape_terminal(line, text, strlen(text));
}

int change_line_text(enum change change, const struct noted *noted, int64_t at_ns, int names_run,
                     struct buffer *line)
{
    return append_time(line, at_ns) ||
                   buffer_printf(line, " %s: ", change == CHANGE_OVER ? "ended" : change_name(change)) ||
                   (names_run && noted->run &&
                    (append_escaped(line, noted->run) || buffer_append_text(line, ": "))) ||
                   buffer_printf(line, "%s (%s confidence): ", noted->kind, noted->confidence) ||
                   append_escaped(line, noted->text) || buffer_append_byte(line, '\n')
               ? -1
               : 0;
}

static int append_step(struct buffer *line, const char *name, int64_t step)
{
    return step < 0 ? text_json_key(line, name) || buffer_append_text(line, "null")
                    : text_json_integer(line, name, step);
}

int change_line_json(enum change change, const struct noted *noted, int64_t at_ns, struct buffer *line)
{
    struct buffer time = BUFFER_INIT;
    int failed =
        append_time(&time, at_ns) || buffer_append_byte(line, '{') ||
        text_json_string(line, "time", time.data) || text_json_string(line, "change", change_name(change)) ||
        text_json_string(line, "run", noted->run) || text_json_string(line, "kind", noted->kind) ||
        text_json_string(line, "unit", noted->unit) || text_json_string(line, "tag", noted->phase) ||
        text_json_string(line, "confidence", noted->confidence) ||
        append_step(line, "first_step", noted->first_step) ||
        append_step(line, "last_step", noted->last_step) || text_json_key(line, "lost_us") ||
        buffer_printf(line, "%.3f", (double)noted->lost_ns / 1e3) || text_json_key(line, "stopped") ||
        buffer_append_text(line, noted->stops_job ? "true" : "false") ||
        text_json_string(line, "text", noted->text) || buffer_append_text(line, "}\n");
    buffer_release(&time);
    return failed ? -1 : 0;
}
