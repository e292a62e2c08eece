#include "support/spoken.h"

#include "support/cmocka_all.h"

void assert_speaks(const struct rule_results *rule_results, enum rule_id rule)
{
    if (!rule_results_fail(rule_results, rule))
        fail_msg("rule %s is not violated (applied: %d, value: %g)", rules[rule].name,
                 rule_results->asked[rule], rule_results->values[rule]);
}

void assert_quiet(const struct rule_results *rule_results, enum rule_id rule)
{
    if (!rule_results->asked[rule] || rule_results_fail(rule_results, rule))
        fail_msg("rule %s does not pass (applied: %d, value: %g)", rules[rule].name,
                 rule_results->asked[rule], rule_results->values[rule]);
}

void assert_not_asked(const struct rule_results *rule_results, enum rule_id rule)
{
    if (rule_results->asked[rule])
        fail_msg("rule %s was applied (value: %g)", rules[rule].name, rule_results->values[rule]);
}

void assert_limit(enum limit_id limit, double value)
{
    if (limit_of(limit) < value || limit_of(limit) > value)
        fail_msg("limit %s is %g", limits[limit].name, limit_of(limit));
}

enum confidence allowed_confidence(const struct rule_results *rule_results)
{
    enum confidence allowed = CONFIDENCE_HIGH;
    for (int i = 0; i < RULE_COUNT; i++)
        if (rules[i].at_most < allowed && rule_results_fail(rule_results, (enum rule_id)i))
            allowed = rules[i].at_most;
    return allowed;
}
