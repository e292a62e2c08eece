#include "base/base.h"
#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"

/* The results of rules, as text and as JSON. */

static void in_json(void **state)
{
    struct rule_results rule_results = {0};
    struct buffer json = BUFFER_INIT;
    rule_results_add(&rule_results, FINDING_HOST, RULE_SHARED_PROCESS, 1);
    rule_results_add(&rule_results, FINDING_HOST, RULE_WORTH, 1.25);
    rule_results_add(&rule_results, FINDING_HOST, RULE_WORTH_SURE, INFINITY);
    assert_int_equal(buffer_append_byte(&json, '{'), 0);
    assert_int_equal(rule_results_add_json(&rule_results, &json), 0);
    assert_string_equal(
        json.data,
        "{\"rules\":[{\"name\":\"shared-process\",\"reading\":1,\"limit\":1,\"at_most\":\"low\",\"speaks\":"
        "true},"
        "{\"name\":\"worth\",\"reading\":1.25,\"limit\":1,\"at_most\":\"low\",\"speaks\":false},"
        "{\"name\":\"worth-sure\",\"reading\":null,\"limit\":2,\"at_most\":\"medium\",\"speaks\":false}]");
    buffer_release(&json);
}

/* Violated rules come first, and the strictest of these before the others. */
static void in_words(void **state)
{
    struct rule_results rule_results = {0};
    struct buffer text = BUFFER_INIT;
    rule_results_add(&rule_results, FINDING_HOST, RULE_SHARED_PROCESS, 0);
    rule_results_add(&rule_results, FINDING_HOST, RULE_WORTH, 0.5);
    rule_results_add(&rule_results, FINDING_HOST, RULE_GAPS, 4);
    assert_int_equal(rule_results_explain(&rule_results, &text), 0);
    assert_string_equal(text.data,
                        "    limits to low  worth: the fault costs too little: 0.5 times --min-gain (at most "
                        "low if less than 1)\n"
                        "    limits to medium  gaps: the trace has gaps, which leave room for "
                        "another explanation: "
                        "4 per operation (at most medium if more than 0.02)\n"
                        "    passed  shared-process: 0 (at most low if at least 1)\n");
    buffer_release(&text);
}

static void of_none(void **state)
{
    struct rule_results rule_results = {0};
    struct buffer text = BUFFER_INIT;
    assert_int_equal(rule_results_explain(&rule_results, &text), 0);
    assert_string_equal(text.data, "    no check applies to this finding\n");
    buffer_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_json), cmocka_unit_test(in_words),
                                       cmocka_unit_test(of_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
