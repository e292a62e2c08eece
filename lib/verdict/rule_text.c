#include "verdict/rule_text.h"

#include "base/json_text.h"
#include "verdict/finding.h"

/* Six figures; null for what divides by an option of 0. */
static int add_number(struct buffer *json, const char *name, double value)
{
    return text_json_key(json, name) ||
           (isfinite(value) ? buffer_printf(json, "%.6g", value) : buffer_append_text(json, "null"));
}

static int add_rule(const struct readings *readings, enum rule_id id, struct buffer *json)
{
    const struct rule *rule = &rules[id];
    return buffer_append_text(json, json->data[json->length - 1] == '[' ? "{" : ",{") ||
           text_json_string(json, "name", rule->name) || add_number(json, "reading", readings->values[id]) ||
           add_number(json, "limit", limit_of(rule->limit)) ||
           text_json_string(json, "at_most", confidence_name(rule->at_most)) ||
           text_json_key(json, "speaks") ||
           buffer_append_text(json, readings_speak(readings, id) ? "true}" : "false}");
}

int readings_add_json(const struct readings *readings, struct buffer *json)
{
    int failed = text_json_key(json, "rules") || buffer_append_byte(json, '[');
    for (int i = 0; !failed && i < RULE_COUNT; i++)
        if (readings->asked[i])
            failed = add_rule(readings, (enum rule_id)i, json);
    return failed || buffer_append_byte(json, ']') ? -1 : 0;
}

static int explain(const struct readings *readings, enum rule_id id, struct buffer *out)
{
    const struct rule *rule = &rules[id];
    const struct limit *limit = &limits[rule->limit];
    double reading = readings->values[id];
    int speaks = readings_speak(readings, id);
    const char *at_most = confidence_name(rule->at_most);
    return (speaks ? buffer_printf(out, "    limits to %s  %s: %s: %.4g", at_most, rule->name, rule->says,
                                   reading)
                   : buffer_printf(out, "    passed  %s: %.4g", rule->name, reading)) ||
           buffer_printf(out, "%s%s (at most %s if %s %.4g)\n", *limit->unit ? " " : "", limit->unit, at_most,
                         rule_side_name(rule->side), limit->value);
}

int readings_explain(const struct readings *readings, struct buffer *out)
{
    int failed = 0, asked = 0;
    for (enum confidence at_most = CONFIDENCE_LOW; at_most < CONFIDENCE_HIGH; at_most++)
        for (int i = 0; !failed && i < RULE_COUNT; i++)
            if (rules[i].at_most == at_most && readings_speak(readings, (enum rule_id)i))
                failed = explain(readings, (enum rule_id)i, out);
    for (int i = 0; !failed && i < RULE_COUNT; i++) {
        asked += readings->asked[i];
        if (readings->asked[i] && !readings_speak(readings, (enum rule_id)i))
            failed = explain(readings, (enum rule_id)i, out);
    }
    return failed || (!asked && buffer_append_text(out, "    no check applies to this finding\n")) ? -1 : 0;
}
