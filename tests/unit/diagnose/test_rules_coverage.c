#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"
#include "support/suspicions.h"

/* Missing data, and what a suspicion can be compared with. */

static struct rule_results read_of(enum finding_kind kind, int32_t steps, const struct besides *besides)
{
    return judged_readings(steps_of(kind, steps, 100 * steps, 0.001, 2), besides);
}

/* Five of nine steps are more than half; the missing operations may be those that make up the role. */
static void who_plays_the_role(void **state)
{
    const struct besides alone = {.alone = 1}, lost = {.alone = 1, .lost_events = 1}, peers = {0};
    struct rule_results most = read_of(FINDING_COMPUTE, 5, &alone),
                        half = read_of(FINDING_COMPUTE, 4, &alone), gaps = read_of(FINDING_HOST, 4, &lost),
                        four = read_of(FINDING_COMPUTE, 5, &peers),
                        network = read_of(FINDING_NETWORK, 5, &alone);
    assert_speaks(&most, RULE_ALONE_IN_ROLE);
    assert_not_asked(&half, RULE_ALONE_IN_ROLE);
    assert_speaks(&gaps, RULE_ALONE_IN_ROLE);
    assert_quiet(&four, RULE_ALONE_IN_ROLE);
    assert_not_asked(&network, RULE_ALONE_IN_ROLE);
}

static void how_many_steps_are_alike(void **state)
{
    struct rule_results half = read_of(FINDING_COMPUTE, 4, &(struct besides){.irregular = 0.5}),
                        less = read_of(FINDING_COMPUTE, 4, &(struct besides){.irregular = 0.51});
    assert_quiet(&half, RULE_IRREGULAR);
    assert_speaks(&less, RULE_IRREGULAR);
}

/* From step 1 on, which follows the warm-up, to the last; and without the first. */
static void all_steps_there_are(void **state)
{
    const struct besides none = {0};
    struct suspect suspect = steps_of(FINDING_COMPUTE, 9, 900, 0.001, 9);
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
    struct rule_results none = read_of(FINDING_HOST, 3, &(struct besides){.missing_of_100 = 2}),
                        lines = read_of(FINDING_HOST, 3, &(struct besides){.damaged_lines = 1}),
                        events = read_of(FINDING_HOST, 3, &(struct besides){.lost_events = 1}),
                        gaps = read_of(FINDING_HOST, 3, &(struct besides){.missing_of_100 = 3});
    assert_quiet(&none, RULE_DAMAGED_LINES);
    assert_speaks(&lines, RULE_DAMAGED_LINES);
    assert_quiet(&none, RULE_LOST_EVENTS);
    assert_speaks(&events, RULE_LOST_EVENTS);
    assert_quiet(&none, RULE_GAPS);
    assert_speaks(&gaps, RULE_GAPS);
}

/* Clocks that are off by the same amount in all steps; all but the first step are better evidence. */
static void ends_that_are_estimated(void **state)
{
    struct suspect suspect = steps_of(FINDING_COMPUTE, 9, 900, 0.001, 9);
    suspect.first_step = 1;
    suspect.last_step = 9;
    struct rule_results finding_snapshot = judged_readings(suspect, &(struct besides){0});
    suspect.on_estimates = 1;
    struct rule_results all = judged_readings(suspect, &(struct besides){0});
    suspect.first_step = 2;
    suspect.gain_ns = 800;
    struct rule_results less = judged_readings(suspect, &(struct besides){0});
    assert_quiet(&finding_snapshot, RULE_ESTIMATED);
    assert_not_asked(&finding_snapshot, RULE_ESTIMATED_STEADY);
    assert_speaks(&all, RULE_ESTIMATED);
    assert_speaks(&all, RULE_ESTIMATED_STEADY);
    assert_quiet(&less, RULE_ESTIMATED_STEADY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_plays_the_role),      cmocka_unit_test(how_many_steps_are_alike),
        cmocka_unit_test(ends_that_are_estimated), cmocka_unit_test(all_steps_there_are),
        cmocka_unit_test(what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
