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
    struct rule_results less = worth(FINDING_COMPUTE, 3, 89), enough = worth(FINDING_COMPUTE, 3, 90),
                        almost = worth(FINDING_COMPUTE, 3, 179), twice = worth(FINDING_COMPUTE, 3, 180);
    assert_speaks(&less, RULE_WORTH);
    assert_quiet(&enough, RULE_WORTH);
    assert_speaks(&almost, RULE_WORTH_SURE);
    assert_quiet(&twice, RULE_WORTH_SURE);
}

static void of_a_step_alone(void **state)
{
    struct rule_results less = worth(FINDING_HOST, 1, 29), enough = worth(FINDING_HOST, 1, 30),
                        moment = worth(FINDING_NETWORK, 1, 499), longer = worth(FINDING_NETWORK, 1, 500);
    assert_speaks(&less, RULE_WORTH);
    assert_quiet(&enough, RULE_WORTH);
    assert_speaks(&moment, RULE_WORTH_MOMENT);
    assert_quiet(&longer, RULE_WORTH_MOMENT);
    assert_not_asked(&enough, RULE_WORTH_MOMENT);
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
    struct rule_results less = in_steps(FINDING_COMPUTE, 1, 899), enough = in_steps(FINDING_COMPUTE, 1, 900),
                        but_one = in_steps(FINDING_COMPUTE, 2, 799), host = in_steps(FINDING_HOST, 3, 699),
                        fewer = in_steps(FINDING_HOST, 4, 599), network = in_steps(FINDING_NETWORK, 5, 499),
                        half = in_steps(FINDING_NETWORK, 6, 399);
    assert_speaks(&less, RULE_BY_DESIGN);
    assert_quiet(&enough, RULE_BY_DESIGN);
    assert_not_asked(&but_one, RULE_BY_DESIGN);
    assert_limit(LIMIT_NEARLY_ALL, 0.75);
    assert_speaks(&host, RULE_BY_DESIGN);
    assert_not_asked(&fewer, RULE_BY_DESIGN);
    assert_speaks(&network, RULE_BY_DESIGN);
    assert_not_asked(&half, RULE_BY_DESIGN);
}

static struct suspect in_all_steps(int32_t rank, int64_t total_ns)
{
    struct suspect suspect = steps_of(FINDING_COMPUTE, 9, 450, 0.001, 9);
    suspect.rank = rank;
    suspect.first_step = 1;
    suspect.last_step = 9;
    suspect.total_ns = total_ns;
    return suspect;
}

/*
 * One rank of four that do the same work; of three; beside another one that is late by half as much, by less,
 * or in fewer of its steps.
 */
static void alone_among_ranks_that_do_the_same(void **state)
{
    const struct suspect half = in_all_steps(2, 450), less = in_all_steps(2, 441);
    struct suspect seldom = half, suspect = in_all_steps(1, 900);
    seldom.last_step = 4;
    seldom.total_ns = 200;
    const struct besides four = {.same_work = 4}, three = {.same_work = 3},
                         with_half = {.same_work = 4, .other = &half},
                         with_less = {.same_work = 4, .other = &less},
                         with_seldom = {.same_work = 4, .other = &seldom};
    struct rule_results of_four = judged_readings(suspect, &four),
                        of_three = judged_readings(suspect, &three),
                        two = judged_readings(suspect, &with_half),
                        one = judged_readings(suspect, &with_less),
                        at_times = judged_readings(suspect, &with_seldom);
    assert_not_asked(&of_four, RULE_BY_DESIGN);
    assert_limit(LIMIT_RANKS_OF_ROLE, 3);
    assert_speaks(&of_three, RULE_BY_DESIGN);
    assert_speaks(&two, RULE_BY_DESIGN);
    assert_not_asked(&one, RULE_BY_DESIGN);
    assert_not_asked(&at_times, RULE_BY_DESIGN);
    /* For a network, which may be slower by design, the ranks that do the same work are no evidence. */
    suspect.kind = FINDING_NETWORK;
    struct rule_results network = judged_readings(suspect, &four);
    assert_speaks(&network, RULE_BY_DESIGN);
}

/* Late by 20 % of a step with almost no gain: a tenth of 3 % of two steps is 6. */
static struct rule_results gains(int64_t gain_ns, const struct besides *besides)
{
    struct suspect suspect = steps_of(FINDING_HOST, 2, gain_ns, 0.001, 9);
    suspect.margin_ns = suspect.total_ns = 400;
    return judged_readings(suspect, besides);
}

static void no_gain_in_the_replay(void **state)
{
    const struct suspect other = {.rank = 2, .first_step = 3, .last_step = 6, .gain_ns = 20000, .ahead = 100};
    struct suspect weaker = other;
    weaker.gain_ns = 19996;
    const struct besides gaps = {.lost_events = 1}, longer = {.lost_events = 1, .suspects_steps_ns = 1100},
                         shadow = {.other = &other}, light = {.other = &weaker};
    struct rule_results none = gains(5, &gaps), little = gains(6, &gaps), shown = gains(5, &longer),
                        whole = gains(5, &nothing), hidden = gains(5, &shadow), lit = gains(5, &light);
    assert_speaks(&none, RULE_NO_GAIN);
    assert_quiet(&little, RULE_NO_GAIN);
    assert_not_asked(&shown, RULE_NO_GAIN);
    assert_not_asked(&whole, RULE_NO_GAIN);
    assert_limit(LIMIT_SHADOW, 25);
    assert_speaks(&hidden, RULE_NO_GAIN);
    assert_not_asked(&lit, RULE_NO_GAIN);
}

/* Two steps longer by five times its excess of 160, or by more. */
static void beside_a_rank_without_a_trace(void **state)
{
    struct suspect suspect = steps_of(FINDING_COMPUTE, 2, 600, 0.001, 9);
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

/* A quarter of a rank's worth: 150 of 600. */
static void what_steps_show_of_a_late_rank(void **state)
{
    struct rule_results quarter = longer_by(FINDING_COMPUTE, 600, 1075, 0),
                        less = longer_by(FINDING_COMPUTE, 600, 1074, 0);
    assert_quiet(&quarter, RULE_NOT_IN_STEPS_OF_LATE);
    assert_speaks(&less, RULE_NOT_IN_STEPS_OF_LATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_that_counts),
        cmocka_unit_test(of_a_step_alone),
        cmocka_unit_test(in_so_many_steps),
        cmocka_unit_test(alone_among_ranks_that_do_the_same),
        cmocka_unit_test(no_gain_in_the_replay),
        cmocka_unit_test(beside_a_rank_without_a_trace),
        cmocka_unit_test(what_steps_show_of_a_network),
        cmocka_unit_test(what_steps_show_of_a_late_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
