#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

/* The table of rules: on which side of its limit each is violated. */

static void the_side_of_the_limit(void **state)
{
    for (int i = 0; i < RULE_COUNT; i++) {
        double limit = limit_of(rules[i].limit);
        double below = nextafter(limit, -1), above = nextafter(limit, INFINITY);
        assert_int_equal(rule_is_violated((enum rule_id)i, below), rules[i].side == SPEAKS_BELOW);
        assert_int_equal(rule_is_violated((enum rule_id)i, limit), rules[i].side == SPEAKS_FROM);
        assert_int_equal(rule_is_violated((enum rule_id)i, above), rules[i].side != SPEAKS_BELOW);
        assert_false(rule_is_violated((enum rule_id)i, NAN));
    }
}

/* Each has a unique name, and a violated rule has an effect. */
static void every_line_is_whole(void **state)
{
    for (int i = 0; i < RULE_COUNT; i++) {
        assert_int_equal(rule_find(rules[i].name, strlen(rules[i].name)), i);
        assert_true(rules[i].kinds && rules[i].measure && rules[i].says);
        assert_true(rules[i].at_most < CONFIDENCE_HIGH);
    }
    for (int i = 0; i < LIMIT_COUNT; i++)
        assert_true(limits[i].name && limits[i].unit && limits[i].found);
}

static void rules_by_name(void **state)
{
    assert_int_equal(rule_find("worth,steady", 5), RULE_WORTH);
    assert_int_equal(rule_find("wort", 4), -1);
    assert_int_equal(rule_find("", 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_side_of_the_limit),
                                       cmocka_unit_test(every_line_is_whole),
                                       cmocka_unit_test(rules_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
