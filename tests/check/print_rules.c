#include "base/base.h"
#include "diagnose/diagnose.h"
#include "report/comparison.h"

#include <stdio.h>

/* Prints the tables of rules, limits and causes as JSON. `make golden` writes the manual from it; `make
 * check` compares the two. */

static int add_kinds(struct buffer *json, unsigned kinds)
{
    int failed = text_json_key(json, "kinds") || buffer_append_byte(json, '['), count = 0;
    for (int kind = FINDING_COMPUTE; !failed && kind < FINDING_KINDS; kind++)
        if (kinds >> kind & 1)
            failed = (count++ && buffer_append_byte(json, ',')) ||
                     text_json_quote(json, finding_kind_name((enum finding_kind)kind));
    return failed || buffer_append_byte(json, ']');
}

static int add_rule(struct buffer *json, const struct rule *rule)
{
    return buffer_append_byte(json, '{') || text_json_string(json, "name", rule->name) ||
           add_kinds(json, rule->kinds) ||
           text_json_string(json, "at_most", confidence_name(rule->at_most)) ||
           text_json_string(json, "side", rule_side_name(rule->side)) ||
           text_json_string(json, "limit", limits[rule->limit].name) ||
           text_json_string(json, "needs", rule->needs) || text_json_string(json, "measure", rule->measure) ||
           text_json_string(json, "says", rule->says) || buffer_append_byte(json, '}');
}

static int add_limit(struct buffer *json, const struct limit *limit)
{
    return buffer_append_byte(json, '{') || text_json_string(json, "name", limit->name) ||
           text_json_key(json, "value") || buffer_printf(json, "%.4g", limit->value) ||
           text_json_string(json, "unit", limit->unit) || text_json_string(json, "found", limit->found) ||
           buffer_append_byte(json, '}');
}

static int add_compared(struct buffer *json, const struct compare_rule_text *rule)
{
    int failed = buffer_append_byte(json, '{') || text_json_string(json, "name", rule->name) ||
                 text_json_integer(json, "is_bar", rule->is_bar) || text_json_key(json, "kinds") ||
                 buffer_append_byte(json, '['),
        count = 0;
    for (int kind = 0; !failed && kind < COMPARED_KINDS; kind++)
        if (rule->kinds >> kind & 1)
            failed = (count++ && buffer_append_byte(json, ',')) ||
                     text_json_quote(json, kind == SERIES_RANK ? "own of a rank" : comparison_name(kind));
    return failed || buffer_append_byte(json, ']') || text_json_key(json, "limit") ||
           buffer_printf(json, "%.4g", rule->limit) || text_json_string(json, "unit", rule->unit) ||
           text_json_string(json, "found", rule->found) || text_json_string(json, "says", rule->says) ||
           buffer_append_byte(json, '}');
}

static int add_names(struct buffer *json, const char *const names[CAUSE_EXPLAINS])
{
    int failed = buffer_append_byte(json, '[');
    for (int i = 0; !failed && i < CAUSE_EXPLAINS && names[i]; i++)
        failed = (i && buffer_append_byte(json, ',')) || text_json_quote(json, names[i]);
    return failed || buffer_append_byte(json, ']');
}

static int add_cause(struct buffer *json, const struct cause_rule *cause)
{
    static const char *const places[] = {[CAUSE_ON_GPU] = "GPU",
                                         [CAUSE_ON_HOST] = "host",
                                         [CAUSE_ON_PROCESS] = "process",
                                         [CAUSE_ON_PROXY] = "proxy thread",
                                         [CAUSE_ON_NETWORK] = "network card"};
    static const char *const sides[] = {[CAUSE_GREATER] = "greater",
                                        [CAUSE_LESS] = "less",
                                        [CAUSE_MORE] = "more",
                                        [CAUSE_MESSAGE] = "message",
                                        [CAUSE_STACK] = "stack"};
    int is_message = cause->side == CAUSE_MESSAGE || cause->side == CAUSE_STACK;
    int failed =
        buffer_append_byte(json, '{') || text_json_string(json, "name", cause->name) ||
        text_json_string(json, "place", places[cause->place]) ||
        text_json_string(json, "side", sides[cause->side]) ||
        text_json_string(json, "of",
                         is_message ? node_event_name(cause->code) : node_metric_name(cause->metric)) ||
        text_json_key(json, "numbers") || buffer_append_byte(json, '[');
    for (int i = 0; !failed && cause->numbers && i < CAUSE_NUMBERS && cause->numbers[i]; i++)
        failed = buffer_printf(json, i ? ",%d" : "%d", cause->numbers[i]);
    return failed || buffer_append_byte(json, ']') || add_kinds(json, cause->kinds) ||
           text_json_key(json, "floor") || buffer_printf(json, "%.4g", cause->floor) ||
           text_json_key(json, "times") || buffer_printf(json, "%.4g", cause->times) ||
           text_json_string(json, "becomes",
                            cause->settles ? finding_kind_name((enum finding_kind)cause->becomes) : NULL) ||
           text_json_integer(json, "is_statement", cause->is_statement) ||
           text_json_integer(json, "is_per_core", cause->is_per_core) ||
           text_json_integer(json, "needs_before", cause->needs_before) ||
           text_json_string(json, "unless", cause->unless ? node_metric_name(cause->unless) : NULL) ||
           text_json_key(json, "explains") || add_names(json, cause->explains) ||
           text_json_string(json, "unit", cause->unit) || text_json_string(json, "found", cause->found) ||
           text_json_string(json, "says", cause->says) || buffer_append_byte(json, '}');
}

int main(void)
{
    struct buffer json = BUFFER_INIT;
    int failed = buffer_append_text(&json, "{\"rules\":[");
    for (int i = 0; !failed && i < RULE_COUNT; i++)
        failed = (i && buffer_append_byte(&json, ',')) || add_rule(&json, &rules[i]);
    failed = failed || buffer_append_text(&json, "],\"limits\":[");
    for (int i = 0; !failed && i < LIMIT_COUNT; i++)
        failed = (i && buffer_append_byte(&json, ',')) || add_limit(&json, &limits[i]);
    failed = failed || buffer_append_text(&json, "]") || add_kinds(&json, ~0U) ||
             buffer_append_text(&json, ",\"comparison\":[");
    for (int i = 0; !failed && i < COMPARE_RULES; i++)
        failed = (i && buffer_append_byte(&json, ',')) || add_compared(&json, &compare_rules[i]);
    failed = failed || buffer_append_text(&json, "],\"causes\":[");
    for (size_t i = 0; !failed && i < cause_rule_count; i++)
        failed = (i && buffer_append_byte(&json, ',')) || add_cause(&json, &cause_rules[i]);
    failed = failed || buffer_append_text(&json, "]}") || puts(json.data) < 0;
    buffer_release(&json);
    return failed;
}
