#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"

/* The confidence of a finding: the lowest that a violated rule allows. */

static void the_strictest_that_speaks(void **state)
{
    struct findings findings = {.items = NULL};
    struct finding finding = {.kind = FINDING_HOST, .confidence = CONFIDENCE_HIGH};
    assert_false(finding_ask(&findings, &finding, RULE_SHARED_PROCESS, 0));
    assert_int_equal(finding.confidence, CONFIDENCE_HIGH);
    assert_true(finding_ask(&findings, &finding, RULE_GAPS, 1));
    assert_int_equal(finding.confidence, CONFIDENCE_MEDIUM);
    assert_true(finding_ask(&findings, &finding, RULE_SHARED_PROCESS, 2));
    assert_int_equal(finding.confidence, CONFIDENCE_LOW);
    finding_ask(&findings, &finding, RULE_GAPS, 1);
    assert_int_equal(finding.confidence, CONFIDENCE_LOW);
}

/* A rule that does not apply, or does not belong to the kind, is not measured. */
static void who_is_asked(void **state)
{
    struct rule_results rule_results = {0};
    rule_results_add(&rule_results, FINDING_HOST, RULE_SHARED_PROCESS, NOT_ASKED);
    rule_results_add(&rule_results, FINDING_NETWORK, RULE_SHARED_PROCESS, 9);
    assert_not_asked(&rule_results, RULE_SHARED_PROCESS);
    rule_results_add(&rule_results, FINDING_COMPUTE, RULE_SHARED_PROCESS, 9);
    assert_speaks(&rule_results, RULE_SHARED_PROCESS);
}

static void rules_that_are_off(void **state)
{
    struct findings findings = {.off = {.has = {[RULE_SHARED_PROCESS] = 1}}};
    struct finding finding = {.kind = FINDING_HOST, .confidence = CONFIDENCE_HIGH};
    assert_false(finding_ask(&findings, &finding, RULE_SHARED_PROCESS, 2));
    assert_not_asked(&finding.rule_results, RULE_SHARED_PROCESS);
    assert_true(finding_ask(&findings, &finding, RULE_GAPS, 1));
    assert_int_equal(finding.confidence, CONFIDENCE_MEDIUM);
}

static void shares(void **state)
{
    assert_true(ratio_of(1, 20) == 0.05);
    assert_true(ratio_of(3, 0) == 3);
    assert_true(ratio_of(-3, -1) == -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_strictest_that_speaks),
                                       cmocka_unit_test(who_is_asked), cmocka_unit_test(rules_that_are_off),
                                       cmocka_unit_test(shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
