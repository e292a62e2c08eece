#include "base/base.h"
#include "diagnose/finding.h"
#include "support/cmocka_all.h"
#include "support/spoken.h"

static struct rule_results of(double reading)
{
    struct rule_results rule_results = {0};
    rule_results_add(&rule_results, FINDING_HOST, RULE_SILENCE, reading);
    return rule_results;
}

/* A host that is silent for five times as long as any other time is not one of this job's usual ones. */
static void limit_of_silences(void **state)
{
    struct rule_results usual = of(4.99), far = of(5);
    (void)state;
    assert_speaks(&usual, RULE_SILENCE);
    assert_quiet(&far, RULE_SILENCE);
    assert_int_equal(allowed_confidence(&usual), CONFIDENCE_LOW);
    assert_limit(LIMIT_PAUSE, 3);
    assert_limit(LIMIT_CALLS_AHEAD, 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_silences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
