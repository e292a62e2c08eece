#include "verdict/readings.h"

void readings_note(struct readings *readings, enum finding_kind kind, enum rule_id rule, double reading)
{
    if (isnan(reading) || !(rules[rule].kinds >> kind & 1))
        return;
    readings->values[rule] = reading;
    readings->asked[rule] = 1;
}

void readings_forget(struct readings *readings, const struct rule_set *off)
{
    for (int i = 0; i < RULE_COUNT; i++)
        if (off->has[i])
            readings->asked[i] = 0;
}

int readings_speak(const struct readings *readings, enum rule_id rule)
{
    return readings->asked[rule] && rule_speaks(rule, readings->values[rule]);
}

enum confidence readings_allow(const struct readings *readings)
{
    enum confidence allowed = CONFIDENCE_HIGH;
    for (int i = 0; i < RULE_COUNT; i++)
        if (rules[i].at_most < allowed && readings_speak(readings, (enum rule_id)i))
            allowed = rules[i].at_most;
    return allowed;
}
