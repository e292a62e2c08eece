#include "base/base.h"
#include "diagnose/diagnose.h"
#include "report/comparison.h"

#include <stdio.h>

/* Prints the tables of rules and limits as JSON. `make golden` writes the manual from it; `make check`
 * compares the two. */

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
    failed = failed || buffer_append_text(&json, "]}") || puts(json.data) < 0;
    buffer_release(&json);
    return failed;
}
