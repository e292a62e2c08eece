#include "diagnose/diagnose.h"

#include "support/cmocka_all.h"
#include "support/spoken.h"
#include "support/suspicions.h"

/* Whether a suspicion costs enough: 3 % of a step of 1000, which is 30. */

static const struct besides nothing = {0};

static struct rule_results worth(enum finding_kind kind, int32_t steps, int64_t gain_ns)
{
    return judged_readings(steps_of(kind, steps, gain_ns, 0.001, 9), &nothing);
}

static void the_least_that_counts(void **state)
{
    struct rule_results less = worth(FINDING_NETWORK, 3, 89), enough = worth(FINDING_NETWORK, 3, 90),
                        almost = worth(FINDING_NETWORK, 3, 179), twice = worth(FINDING_NETWORK, 3, 180);
    assert_speaks(&less, RULE_WORTH);
    assert_quiet(&enough, RULE_WORTH);
    assert_speaks(&almost, RULE_WORTH_SURE);
    assert_quiet(&twice, RULE_WORTH_SURE);
}

static void of_a_step_alone(void **state)
{
    struct rule_results less = worth(FINDING_NETWORK, 1, 29), enough = worth(FINDING_NETWORK, 1, 30),
                        moment = worth(FINDING_NETWORK, 1, 499), longer = worth(FINDING_NETWORK, 1, 500);
    assert_speaks(&less, RULE_WORTH);
    assert_quiet(&enough, RULE_WORTH);
    assert_speaks(&moment, RULE_WORTH_MOMENT);
    assert_quiet(&longer, RULE_WORTH_MOMENT);
}

static struct rule_results in_steps(enum finding_kind kind, int32_t first, int64_t gain_ns)
{
    struct suspect suspect = steps_of(kind, 10 - first, gain_ns, 0.001, 9);
    suspect.first_step = first;
    suspect.last_step = 9;
    return judged_readings(suspect, &nothing);
}

/* All of nine steps; for a host seven, which is more than three of four; for a network five. */
static void in_so_many_steps(void **state)
{
    struct rule_results less = in_steps(FINDING_NETWORK, 1, 899), enough = in_steps(FINDING_NETWORK, 1, 900),
                        most = in_steps(FINDING_NETWORK, 5, 499), half = in_steps(FINDING_NETWORK, 6, 399);
    assert_speaks(&less, RULE_BY_DESIGN);
    assert_quiet(&enough, RULE_BY_DESIGN);
    assert_speaks(&most, RULE_BY_DESIGN);
    assert_not_asked(&half, RULE_BY_DESIGN);
}

/* Two steps longer by five times its excess of 160, or by more. */
static void beside_a_rank_without_a_trace(void **state)
{
    struct suspect suspect = steps_of(FINDING_NETWORK, 2, 600, 0.001, 9);
    suspect.total_ns = 160;
    struct besides besides = {.silent = 1, .suspects_steps_ns = 1400};
    struct rule_results five = judged_readings(suspect, &besides);
    besides.suspects_steps_ns = 1402;
    struct rule_results more = judged_readings(suspect, &besides);
    assert_quiet(&five, RULE_SILENT_RANK);
    assert_speaks(&more, RULE_SILENT_RANK);
}

static struct rule_results longer_by(enum finding_kind kind, int64_t gain_ns, int64_t length_ns,
                                     int64_t uneven_ns)
{
    return judged_readings(steps_of(kind, 2, gain_ns, 0.001, 9),
                           &(struct besides){.suspects_steps_ns = length_ns, .uneven_ns = uneven_ns});
}

/* A third of a network's gain: 200 of 600; two standard errors: 82 (test_verdict.c), in two steps. */
static void what_steps_show_of_a_network(void **state)
{
    struct rule_results third = longer_by(FINDING_NETWORK, 600, 1100, 0),
                        less = longer_by(FINDING_NETWORK, 600, 1099, 0),
                        inside = longer_by(FINDING_NETWORK, 60, 1041, 20),
                        beyond = longer_by(FINDING_NETWORK, 60, 1042, 20);
    assert_quiet(&third, RULE_NOT_IN_STEPS);
    assert_speaks(&less, RULE_NOT_IN_STEPS);
    assert_speaks(&inside, RULE_WITHIN_SPREAD);
    assert_quiet(&beyond, RULE_WITHIN_SPREAD);
    /* Steps of equal duration are at most shorter than that. */
    struct rule_results shorter = longer_by(FINDING_NETWORK, 600, 999, 0);
    assert_speaks(&shorter, RULE_WITHIN_SPREAD);
    assert_not_asked(&third, RULE_WITHIN_SPREAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_least_that_counts),
                                       cmocka_unit_test(of_a_step_alone), cmocka_unit_test(in_so_many_steps),
                                       cmocka_unit_test(beside_a_rank_without_a_trace),
                                       cmocka_unit_test(what_steps_show_of_a_network)

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
