/* Causes as sentences and in JSON, and the note about records of nodes that cannot be compared. */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Appends 18233 as "18,233". */
static int append_count(struct buffer *text, double value)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", value);
    for (int i = 0; i < length && i < (int)sizeof digits - 1; i++)
        if ((i && (length - i) % 3 == 0 && buffer_append_byte(text, ',')) ||
            buffer_append_byte(text, digits[i]))
            return -1;
    return 0;
}

static int ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* Whether the cause is of a moment, and has no value. */
static int is_moment(const struct cause_rule *rule)
{
    return rule->side == CAUSE_MESSAGE || rule->side == CAUSE_STACK;
}

/* The unit that a metric's name ends in. */
static const char *unit_of(const struct cause_rule *rule)
{
    static const struct {
        const char *end;
        const char *unit;
    } units[] = {{"_share", "share"}, {"_mhz", "MHz"}, {"_mbps", "Mbit/s"},
                 {"_bytes", "bytes"}, {"_c", "C"},     {"_w", "W"}};
    const char *name = is_moment(rule) ? "" : node_metric_name(rule->metric);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ends_in(name, units[i].end))
            return units[i].unit;
    return NULL;
}

static int append_value(struct buffer *text, const struct cause_rule *rule, double value)
{
    const char *unit = unit_of(rule);
    if (unit && strcmp(unit, "share") == 0)
        return buffer_printf(text, "%.*f %%", value > 0 && value < 0.0995, 100 * value);
    if (unit && strcmp(unit, "bytes") == 0)
        return buffer_printf(text, "%.1f GB", value / 1e9);
    return append_count(text, value) || (unit && buffer_printf(text, " %s", unit));
}

static int is_many(const struct cause *cause)
{
    return cause->rule->many && cause->value > 1;
}

/* Of a sum of shares above 1 the average number. */
static int append_share(struct buffer *text, const struct cause *cause, double value)
{
    return is_many(cause) ? buffer_printf(text, "%.1f", value) : append_value(text, cause->rule, value);
}

/* Appends the words of the rule, with the place for @, the value for #, the time for $ and the text for ~. */
static int append_words(const struct cause *cause, const char *place, struct buffer *text)
{
    int failed = 0;
    for (const char *at = is_many(cause) ? cause->rule->many : cause->rule->says; *at && !failed; at++)
        failed = *at == '@'   ? buffer_append_text(text, place)
                 : *at == '#' ? append_share(text, cause, cause->value)
                 : *at == '$' ? text_time(text, (int64_t)cause->lasted_ns)
                 : *at == '~' ? buffer_append_text(text, cause->text ? cause->text : "")
                              : buffer_append_byte(text, *at);
    return failed;
}

/* Appends " (usually 2 %)"; after a time, " (40 % of the time, usually 2 %)". */
static int append_usual(const struct cause *cause, struct buffer *text)
{
    int has_time = strchr(cause->rule->says, '$') != NULL, has_usual = !isnan(cause->usual);
    if (is_moment(cause->rule) || (!has_time && !has_usual))
        return 0;
    return buffer_append_text(text, " (") ||
           (has_time && (append_value(text, cause->rule, cause->value) ||
                         buffer_append_text(text, has_usual ? " of the time, " : " of the time"))) ||
           (has_usual && (buffer_append_text(text, "usually ") || append_share(text, cause, cause->usual))) ||
           buffer_append_byte(text, ')');
}

/* Appends "11:03:12". */
static int append_clock(struct buffer *text, int64_t at_ns)
{
    int64_t second = (at_ns / INT64_C(1000000000)) % 86400;
    if (second < 0)
        second += 86400;
    return buffer_printf(text, "%02d:%02d:%02d", (int)(second / 3600), (int)(second / 60 % 60),
                         (int)(second % 60));
}

/* A shorter time is not worth a word: records of nodes are hardly more exact. */
#define AT_ONCE_NS INT64_C(100000000)

static const char *fault_begin(int is_stop)
{
    return is_stop ? "the job stopped" : "the first slow step";
}

static int append_when(const struct cause *cause, int64_t first_ns, int is_stop, struct buffer *text)
{
    const char *said = is_moment(cause->rule) ? " at " : " from ";
    int64_t ahead_ns = first_ns - cause->begin_ns;
    if (cause->begin_ns == TIME_UNKNOWN)
        return 0;
    if (buffer_append_text(text, said) || append_clock(text, cause->begin_ns))
        return -1;
    if (first_ns == TIME_UNKNOWN || (ahead_ns < AT_ONCE_NS && ahead_ns > -AT_ONCE_NS))
        return 0;
    return buffer_append_text(text, ", ") || text_time(text, ahead_ns < 0 ? -ahead_ns : ahead_ns) ||
           buffer_append_text(text, ahead_ns < 0 ? " after " : " before ") ||
           buffer_append_text(text, fault_begin(is_stop));
}

int cause_word_end(struct finding *finding, const struct cause_places *places, size_t host,
                   const char *device, int64_t ahead_ns, int is_stop)
{
    struct buffer text = BUFFER_INIT;
    if (ahead_ns < AT_ONCE_NS)
        return 0;
    if (buffer_append_text(&text, "the records of ") ||
        cause_place_append(places, host, device ? NODE_GPU : NODE_WHOLE, device, &text) ||
        buffer_append_text(&text, " end ") || text_time(&text, ahead_ns) ||
        buffer_printf(&text, " before %s, so they cannot show its cause", fault_begin(is_stop))) {
        buffer_release(&text);
        return -1;
    }
    finding->records_end = text.data;
    return 0;
}

int cause_word(struct cause *cause, const char *place, int64_t cores, int64_t first_ns, int is_stop)
{
    struct buffer text = BUFFER_INIT;
    const struct cause_rule *rule = cause->rule;
    if (rule->is_per_core && cores > 0) {
        cause->value *= (double)cores;
        cause->usual *= (double)cores;
    }
    int failed = append_words(cause, place, &text) ||
                 (rule->is_per_core && buffer_printf(&text, " with %lld cores", (long long)cores));
    if (failed || append_usual(cause, &text) || append_when(cause, first_ns, is_stop, &text)) {
        buffer_release(&text);
        return -1;
    }
    cause->what = text.data;
    return 0;
}

static int add_number(struct buffer *json, const char *name, double value)
{
    return text_json_key(json, name) ||
           (isnan(value) ? buffer_append_text(json, "null") : buffer_printf(json, "%.6g", value));
}

static int add_time(struct buffer *json, int64_t at_ns)
{
    struct buffer time = BUFFER_INIT;
    int failed = (at_ns != TIME_UNKNOWN && text_utc(&time, at_ns)) ||
                 text_json_string(json, "time", time.length ? time.data : NULL);
    buffer_release(&time);
    return failed;
}

static int add_cause(const struct cause *cause, struct buffer *json)
{
    return text_json_string(json, "cause", cause->rule->name) ||
           text_json_string(json, "source", cause->source) || add_time(json, cause->begin_ns) ||
           text_json_string(json, "host", cause->host) || text_json_string(json, "device", cause->device) ||
           text_json_string(json, "what", cause->what) || add_number(json, "value", cause->value) ||
           add_number(json, "usual", cause->usual) || text_json_string(json, "unit", unit_of(cause->rule));
}

int causes_list_json(const char *name, const struct cause *causes, size_t count, struct buffer *json)
{
    int failed = text_json_key(json, name) || buffer_append_byte(json, '[');
    for (size_t i = 0; !failed && i < count; i++)
        failed = buffer_append_text(json, i ? ",{" : "{") || add_cause(&causes[i], json) ||
                 buffer_append_byte(json, '}');
    return failed || buffer_append_byte(json, ']') ? -1 : 0;
}

int causes_add_json(const struct finding *finding, struct buffer *json)
{
    return causes_list_json("because", finding->causes, finding->cause_count, json);
}

int causes_append(const struct finding *finding, const struct job *job, struct buffer *text)
{
    (void)job;
    for (size_t i = 0; i < finding->cause_count; i++)
        if ((i && buffer_append_text(text, "; ")) || buffer_append_text(text, finding->causes[i].what))
            return -1;
    return 0;
}

int observed_append(const struct observed_causes *observed, struct buffer *text)
{
    for (size_t i = 0; i < observed->count; i++)
        if (buffer_append_text(text, i ? "; " : ". At that time, ") ||
            buffer_append_text(text, observed->items[i].what))
            return -1;
    return observed->count
               ? buffer_append_text(text, ". No other place of the job shows this; it may be the reason")
               : 0;
}
