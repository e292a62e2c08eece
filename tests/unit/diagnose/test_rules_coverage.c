#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"
#include "support/suspicions.h"

/* Missing data, and what a suspicion can be compared with. */

static struct rule_results read_of(enum finding_kind kind, int32_t steps, const struct besides *besides)
{
    return judged_readings(steps_of(kind, steps, 100 * steps, 0.001, 2), besides);
}

static void how_many_steps_are_alike(void **state)
{
    struct rule_results half = read_of(FINDING_NETWORK, 4, &(struct besides){.irregular = 0.5}),
                        less = read_of(FINDING_NETWORK, 4, &(struct besides){.irregular = 0.51});
    assert_quiet(&half, RULE_IRREGULAR);
    assert_speaks(&less, RULE_IRREGULAR);
}

/* From step 1 on, which follows the warm-up, to the last; and without the first. */
static void all_steps_there_are(void **state)
{
    const struct besides none = {0};
    struct suspect suspect = steps_of(FINDING_NETWORK, 9, 900, 0.001, 9);
    suspect.first_step = 1;
    suspect.last_step = 9;
    struct rule_results all = judged_readings(suspect, &none);
    suspect.first_step = 2;
    suspect.gain_ns = 800;
    struct rule_results less = judged_readings(suspect, &none);
    assert_speaks(&all, RULE_STEADY);
    assert_quiet(&less, RULE_STEADY);
}

static void what_is_missing(void **state)
{
    struct rule_results none = read_of(FINDING_NETWORK, 3, &(struct besides){.missing_of_100 = 2}),
                        lines = read_of(FINDING_NETWORK, 3, &(struct besides){.damaged_lines = 1}),
                        events = read_of(FINDING_NETWORK, 3, &(struct besides){.lost_events = 1}),
                        gaps = read_of(FINDING_NETWORK, 3, &(struct besides){.missing_of_100 = 3});
    assert_quiet(&none, RULE_DAMAGED_LINES);
    assert_speaks(&lines, RULE_DAMAGED_LINES);
    assert_quiet(&none, RULE_LOST_EVENTS);
    assert_speaks(&events, RULE_LOST_EVENTS);
    assert_quiet(&none, RULE_GAPS);
    assert_speaks(&gaps, RULE_GAPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(how_many_steps_are_alike),
                                       cmocka_unit_test(all_steps_there_are),
                                       cmocka_unit_test(what_is_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
