#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"
#include "support/suspicions.h"

/* Whether a suspicion may be noise. */

static const struct besides nothing = {0};

static struct rule_results read_of(enum finding_kind kind, int32_t steps, int64_t gain_ns, double chance,
                                   double ahead)
{
    return judged_readings(steps_of(kind, steps, gain_ns, chance, ahead), &nothing);
}

/* Three consecutive steps, as strong as any other single step. */
static void a_row(void **state)
{
    struct rule_results rare = read_of(FINDING_NETWORK, 3, 300, 0.05, 1),
                        common = read_of(FINDING_NETWORK, 3, 300, 0.051, 1),
                        sure = read_of(FINDING_NETWORK, 3, 300, 0.005, 1),
                        unsure = read_of(FINDING_NETWORK, 3, 300, 0.0051, 1);
    assert_quiet(&rare, RULE_CHANCE);
    assert_speaks(&common, RULE_CHANCE);
    assert_quiet(&sure, RULE_CHANCE_SURE);
    assert_speaks(&unsure, RULE_CHANCE_SURE);
    assert_not_asked(&rare, RULE_CHANCE_BEHIND);
}

/* Another single step was stronger than its weakest. */
static void a_row_behind_another_step(void **state)
{
    struct rule_results rare = read_of(FINDING_NETWORK, 3, 300, 0.0002, 0.99),
                        common = read_of(FINDING_NETWORK, 3, 300, 0.00021, 0.99);
    assert_quiet(&rare, RULE_CHANCE_BEHIND);
    assert_speaks(&common, RULE_CHANCE_BEHIND);
    assert_not_asked(&common, RULE_CHANCE);
    /* A network that made each step longer by this much exceeds such moments. */
    assert_limit(LIMIT_LONGER_TWO, 0.75);
    struct rule_results longer = read_of(FINDING_NETWORK, 3, 2250, 0.01, 0.99),
                        less = read_of(FINDING_NETWORK, 3, 2249, 0.01, 0.99);
    assert_quiet(&longer, RULE_CHANCE);
    assert_speaks(&less, RULE_CHANCE_BEHIND);
}

static void a_step_alone(void **state)
{
    struct rule_results rare = read_of(FINDING_NETWORK, 1, 60, 0.01, 24),
                        common = read_of(FINDING_NETWORK, 1, 60, 0.011, 24),
                        sure = read_of(FINDING_NETWORK, 1, 60, 0.001, 249),
                        unsure = read_of(FINDING_NETWORK, 1, 60, 0.0011, 249);
    assert_quiet(&rare, RULE_CHANCE_ALONE);
    assert_speaks(&common, RULE_CHANCE_ALONE);
    assert_quiet(&sure, RULE_CHANCE_ALONE_SURE);
    assert_speaks(&unsure, RULE_CHANCE_ALONE_SURE);
}

/* So far ahead that the tail of the distribution does not matter; for high confidence, ten times as far. */
static void a_step_far_ahead(void **state)
{
    assert_limit(LIMIT_FAR_AHEAD, 25);
    assert_limit(LIMIT_SURE, 0.1);
    struct rule_results far = read_of(FINDING_NETWORK, 1, 60, 0.5, 25),
                        less = read_of(FINDING_NETWORK, 1, 60, 0.5, 24.9),
                        sure = read_of(FINDING_NETWORK, 1, 60, 0.5, 250),
                        unsure = read_of(FINDING_NETWORK, 1, 60, 0.5, 249);
    assert_not_asked(&far, RULE_CHANCE_ALONE);
    assert_speaks(&less, RULE_CHANCE_ALONE);
    assert_not_asked(&sure, RULE_CHANCE_ALONE_SURE);
    assert_speaks(&unsure, RULE_CHANCE_ALONE_SURE);
}

static void two_steps(void **state)
{
    struct rule_results network = read_of(FINDING_NETWORK, 2, 600, 0.01, 3),
                        nearer = read_of(FINDING_NETWORK, 2, 600, 0.01, 2.9),
                        longer = read_of(FINDING_NETWORK, 2, 1500, 0.01, 2.9);
    assert_quiet(&network, RULE_AHEAD_NETWORK_TWO);
    assert_speaks(&nearer, RULE_AHEAD_NETWORK_TWO);
    assert_not_asked(&longer, RULE_AHEAD_NETWORK_TWO);
}

/*
 * A pause of three steps in total over one or two steps: chance does not apply. For high confidence it takes
 * ten times as much.
 */
static void a_pause_of_a_network(void **state)
{
    assert_limit(LIMIT_PAUSE, 3);
    struct rule_results pause = read_of(FINDING_NETWORK, 1, 3000, 0.5, 0.5),
                        less = read_of(FINDING_NETWORK, 1, 2999, 0.5, 0.5),
                        sure = read_of(FINDING_NETWORK, 1, 30000, 0.5, 0.5),
                        two = read_of(FINDING_NETWORK, 2, 3000, 0.5, 0.5);
    assert_not_asked(&pause, RULE_CHANCE_ALONE);
    assert_speaks(&less, RULE_CHANCE_ALONE);
    assert_speaks(&pause, RULE_CHANCE_ALONE_SURE);
    assert_not_asked(&sure, RULE_CHANCE_ALONE_SURE);
    assert_not_asked(&two, RULE_CHANCE);
    assert_not_asked(&two, RULE_AHEAD_NETWORK_TWO);
}

static struct rule_results slow(int32_t steps, int64_t gain_ns, double ahead, double wait, double transfer)
{
    return judged_readings(steps_of(FINDING_NETWORK, steps, gain_ns, 0.00001, ahead),
                           &(struct besides){.slow = &(struct slow){wait, transfer}});
}

/* One or two steps: five times as slow as the baseline, or operations of twice the duration. */
static void slow_for_a_moment(void **state)
{
    struct rule_results five = slow(1, 900, 250, 5, 1.9), less = slow(1, 900, 250, 4.9, 1.9),
                        twice = slow(1, 900, 250, 4.9, 2);
    assert_quiet(&five, RULE_NOT_SLOWER);
    assert_speaks(&less, RULE_NOT_SLOWER);
    assert_limit(LIMIT_SLOWER_OPERATIONS, 2);
    assert_not_asked(&twice, RULE_NOT_SLOWER);
}

/* Three or more steps: three times, if it is far ahead, or costs more and is as strong as any other. */
static void slow_for_long(void **state)
{
    struct rule_results three = slow(3, 300, 1, 3, 1.5), less = slow(3, 300, 1, 2.9, 1.5),
                        weak = slow(3, 300, 0.99, 4.9, 1.5), little = slow(3, 297, 1, 4.9, 1.5),
                        far = slow(3, 297, 5, 2.9, 1.5), both = slow(3, 300, 5, 2.9, 1.5),
                        longer = slow(3, 750, 1, 2.9, 1.5), shorter = slow(3, 747, 1, 2.9, 1.5);
    assert_quiet(&three, RULE_NOT_SLOWER_MANY);
    assert_speaks(&less, RULE_NOT_SLOWER_MANY);
    assert_speaks(&weak, RULE_NOT_SLOWER);
    assert_limit(LIMIT_LONGER_MANY, 0.1);
    assert_speaks(&little, RULE_NOT_SLOWER);
    assert_speaks(&far, RULE_NOT_SLOWER_MANY);
    assert_not_asked(&both, RULE_NOT_SLOWER_MANY);
    assert_limit(LIMIT_LONGER_STEPS, 0.25);
    assert_not_asked(&longer, RULE_NOT_SLOWER_MANY);
    assert_speaks(&shorter, RULE_NOT_SLOWER_MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row),
                                       cmocka_unit_test(a_row_behind_another_step),
                                       cmocka_unit_test(a_step_alone),
                                       cmocka_unit_test(a_step_far_ahead),
                                       cmocka_unit_test(two_steps),
                                       cmocka_unit_test(a_pause_of_a_network),
                                       cmocka_unit_test(slow_for_a_moment),
                                       cmocka_unit_test(slow_for_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
