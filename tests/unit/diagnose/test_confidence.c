#include "support/cmocka_all.h"
#include "support/judged.h"

/* The confidence of suspicions. */

static enum confidence judged_with(struct suspect suspect, const struct besides *besides)
{
    struct findings findings = {0};
    judge_suspect(suspect, besides, &findings);
    assert_int_equal(findings.count, besides->other ? 2 : 1);
    enum confidence confidence = findings.items[0].confidence;
    findings_release(&findings);
    return confidence;
}

static enum confidence judged_by(struct suspect suspect, int finished_only, const struct slow *slow)
{
    return judged_with(suspect, &(struct besides){.finished_only = finished_only, .slow = slow});
}

static enum confidence judged(struct suspect suspect, int finished_only)
{
    return judged_by(suspect, finished_only, NULL);
}

/* In every step, whatever was recorded: only its peers are evidence. */
static void always(void **state)
{
    struct suspect suspect = {.kind = FINDING_NETWORK,
                              .first_step = 1,
                              .last_step = 9,
                              .counted_steps = 9,
                              .gain_ns = 900,
                              .ahead = 9};
    assert_int_equal(judged(suspect, 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(suspect, 1), CONFIDENCE_MEDIUM);
    /* Ranks differ by design: less than a tenth of a step is no fault. */
    suspect.gain_ns = 899;
    assert_int_equal(judged(suspect, 0), CONFIDENCE_LOW);
}

/*
 * From the first step to the last but one: it ended, so its other steps distinguish it from a difference by
 * design.
 */
static void until_it_was_over(void **state)
{
    struct suspect suspect = {.kind = FINDING_NETWORK,
                              .first_step = 1,
                              .last_step = 8,
                              .counted_steps = 8,
                              .gain_ns = 800,
                              .ahead = 9};
    assert_int_equal(judged(suspect, 0), CONFIDENCE_HIGH);
    suspect.last_step = 9;
    suspect.counted_steps = 9;
    suspect.gain_ns = 900;
    assert_int_equal(judged(suspect, 0), CONFIDENCE_MEDIUM);
}

static struct suspect two_steps(enum finding_kind kind, double ahead)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 5,
                            .counted_steps = 2,
                            .gain_ns = 600,
                            .chance = 0.01,
                            .ahead = ahead};
}

static struct suspect one_step(enum finding_kind kind, int64_t gain_ns, double chance, double ahead)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 4,
                            .counted_steps = 1,
                            .gain_ns = gain_ns,
                            .chance = chance,
                            .ahead = ahead};
}

/*
 * Three steps in total over one or two steps are a pause, whatever else there is; two of three quarters each
 * are no moment.
 */
static void paused(void **state)
{
    struct suspect two = two_steps(FINDING_NETWORK, 0.5);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 3000, 0.5, 0.5), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 2999, 0.5, 0.5), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 30000, 0.5, 0.5), 0), CONFIDENCE_HIGH);
    two.gain_ns = 1500;
    assert_int_equal(judged(two, 0), CONFIDENCE_MEDIUM);
    two.gain_ns = 1499;
    assert_int_equal(judged(two, 0), CONFIDENCE_LOW);
    two.gain_ns = 2999;
    two.chance = 0.5;
    assert_int_equal(judged(two, 0), CONFIDENCE_LOW);
    two.gain_ns = 3000;
    assert_int_equal(judged(two, 0), CONFIDENCE_MEDIUM);
    /* Three steps are a sequence, and are compared with the chance of one. */
    struct suspect three = two;
    three.last_step = 6;
    three.counted_steps = 3;
    three.gain_ns = 9000;
    assert_int_equal(judged(three, 0), CONFIDENCE_LOW);
    three.chance = 0.05;
    assert_int_equal(judged(three, 0), CONFIDENCE_MEDIUM);
}

/*
 * One or two steps of a slow network: five times as slow as the baseline, or operations of twice the
 * duration.
 */
static void slow_for_a_moment(void **state)
{
    const struct suspect one = one_step(FINDING_NETWORK, 900, 0.0001, 250);
    const struct suspect two = two_steps(FINDING_NETWORK, 30);
    assert_int_equal(judged_by(one, 0, &(struct slow){4.9, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(one, 0, &(struct slow){5, 1.9}), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(one, 0, &(struct slow){4.9, 2}), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(two, 0, &(struct slow){4.9, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(two, 0, &(struct slow){5, 1.9}), CONFIDENCE_MEDIUM);
    /* The waits of other ranks' links, and its own if another rank is blamed for them, are no evidence. */
    assert_int_equal(judged_with(one, &(struct besides){.slow = &(struct slow){4.9, 1.9}, .others = 1}),
                     CONFIDENCE_LOW);
    /* Nor are operations without times. */
    assert_int_equal(judged_with(one, &(struct besides){.slow = &(struct slow){4.9, 2}, .untimed = 1}),
                     CONFIDENCE_LOW);
    assert_int_equal(judged_with(two, &(struct besides){.slow = &(struct slow){4.9, 2}, .untimed = 1}),
                     CONFIDENCE_LOW);
    assert_int_equal(judged_with(one, &(struct besides){.slow = &(struct slow){5, 2}, .untimed = 1}),
                     CONFIDENCE_HIGH);
}

/* Network steps are recorded and none of its links waited longer: its operations alone must show it. */
static void slow_without_a_slow_edge(void **state)
{
    const struct suspect one = one_step(FINDING_NETWORK, 900, 0.0001, 250);
    assert_int_equal(judged_by(one, 0, &(struct slow){1, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(one, 0, &(struct slow){1, 2}), CONFIDENCE_HIGH);
}

static struct suspect three_steps(int64_t gain_ns, double ahead)
{
    return (struct suspect){.kind = FINDING_NETWORK,
                            .first_step = 4,
                            .last_step = 6,
                            .counted_steps = 3,
                            .gain_ns = gain_ns,
                            .chance = 0.00001,
                            .ahead = ahead};
}

/*
 * For three or more steps: as slow as that, or a quarter of a step, or a tenth and far ahead of others; or
 * three times as slow, and far ahead of others, or a tenth of a step and as strong as any other.
 */
static void slow_for_long(void **state)
{
    const struct slow some = {3, 1.5}, less = {2.9, 1.5}, much = {5, 1.5};
    assert_int_equal(judged_by(three_steps(300, 1), 0, &some), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(300, 1), 0, &less), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(300, 0.99), 0, &some), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(300, 0.99), 0, &much), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(297, 1), 0, &some), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(297, 1), 0, &much), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(297, 5), 0, &some), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(297, 4.9), 0, &some), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(297, 5), 0, &less), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(300, 5), 0, &less), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(300, 4.9), 0, &less), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(750, 1), 0, &less), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(747, 1), 0, &less), CONFIDENCE_LOW);
}

static struct suspect some_steps(enum finding_kind kind, int32_t steps)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 3 + steps,
                            .counted_steps = steps,
                            .gain_ns = 100 * steps,
                            .chance = 0.001,
                            .ahead = 2};
}

/* Three steps that cost 3 % of a step each, or 6 %. */
static void worth_the_least_gain_or_twice(void **state)
{
    struct suspect row = some_steps(FINDING_NETWORK, 3);
    row.gain_ns = 180;
    assert_int_equal(judged(row, 0), CONFIDENCE_HIGH);
    row.gain_ns = 179;
    assert_int_equal(judged(row, 0), CONFIDENCE_MEDIUM);
    row.gain_ns = 90;
    assert_int_equal(judged(row, 0), CONFIDENCE_MEDIUM);
    row.gain_ns = 89;
    assert_int_equal(judged(row, 0), CONFIDENCE_LOW);
}

/* A cost of 0.3 of a step in each step, of which half would be enough if it were not slow in all of them. */
static void slow_in_every_step(void **state)
{
    struct suspect suspect = {.kind = FINDING_NETWORK,
                              .first_step = 1,
                              .last_step = 9,
                              .counted_steps = 9,
                              .gain_ns = 2700,
                              .chance = 0.001,
                              .ahead = 9};
    assert_int_equal(judged_by(suspect, 0, &(struct slow){4.9, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(suspect, 0, &(struct slow){5, 1.9}), CONFIDENCE_MEDIUM);
    assert_int_equal(judged_by(suspect, 0, &(struct slow){4.9, 2}), CONFIDENCE_MEDIUM);
    suspect.first_step = 2;
    suspect.counted_steps = 8;
    assert_int_equal(judged_by(suspect, 0, &(struct slow){2.5, 1.5}), CONFIDENCE_HIGH);
}

/*
 * A network that is slow in most steps has little to compare with, and any rank if not all operations are
 * listed: a cost of a tenth of a step in each.
 */
static void slow_in_most_steps(void **state)
{
    const struct slow much = {5, 2};
    struct suspect five = some_steps(FINDING_NETWORK, 5), four = some_steps(FINDING_NETWORK, 4);
    assert_int_equal(judged_by(five, 0, &much), CONFIDENCE_HIGH);
    five.gain_ns = 499;
    assert_int_equal(judged_by(five, 0, &much), CONFIDENCE_LOW);
    four.gain_ns = 399;
    assert_int_equal(judged_by(four, 0, &much), CONFIDENCE_HIGH);
    five = some_steps(FINDING_NETWORK, 5);
    assert_int_equal(judged(five, 1), CONFIDENCE_HIGH);
    five.gain_ns = 499;
    assert_int_equal(judged(five, 1), CONFIDENCE_LOW);
}

/* Damage, and more than 2 % missing operations, leave room for another explanation. */
static void where_something_is_missing(void **state)
{
    const struct suspect suspect = some_steps(FINDING_NETWORK, 4);
    assert_int_equal(judged_with(suspect, &(struct besides){.damaged_lines = 1}), CONFIDENCE_MEDIUM);
    assert_int_equal(judged_with(suspect, &(struct besides){.missing_of_100 = 2}), CONFIDENCE_HIGH);
    assert_int_equal(judged_with(suspect, &(struct besides){.missing_of_100 = 3}), CONFIDENCE_MEDIUM);
}

/* A network is also believed because its steps were longer, if its worth is at least a fifth of that. */
static void a_network_that_steps_show(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 9);
    suspect.gain_ns = 40;
    suspect.total_ns = 160;
    assert_int_equal(judged_with(suspect, &(struct besides){0}), CONFIDENCE_LOW);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1400}), CONFIDENCE_MEDIUM);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1402}), CONFIDENCE_LOW);
    /*
     * If no file is lost, its worth is at most its excess: 59 are too little, except if three in a hundred
     * are lost.
     */
    suspect.total_ns = 59;
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1147}), CONFIDENCE_LOW);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1147, .lacks_files = 1}),
                     CONFIDENCE_MEDIUM);
    suspect.total_ns = 60;
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1147}), CONFIDENCE_MEDIUM);
}

/* If its steps were longer by far more than its excess, a rank without a trace may be the cause. */
static void beside_a_rank_without_a_trace(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 30);
    suspect.total_ns = 160;
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1402}), CONFIDENCE_MEDIUM);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1402, .silent = 1}),
                     CONFIDENCE_LOW);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1400, .silent = 1}),
                     CONFIDENCE_MEDIUM);
}

/* At least half of the steps must be complete to compare places in different steps. */
static void where_steps_differ(void **state)
{
    const struct suspect suspect = some_steps(FINDING_NETWORK, 4);
    assert_int_equal(judged_with(suspect, &(struct besides){.irregular = 0.5}), CONFIDENCE_HIGH);
    assert_int_equal(judged_with(suspect, &(struct besides){.irregular = 0.51}), CONFIDENCE_LOW);
}

/*
 * The cost of a network must show in the steps by a third: 200 in two steps; and there is no other evidence.
 */
static void a_networks_cost_that_does_not_show(void **state)
{
    struct suspect suspect = two_steps(FINDING_NETWORK, 3);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1100}), CONFIDENCE_MEDIUM);
    assert_int_equal(judged_with(suspect, &(struct besides){.suspects_steps_ns = 1099}), CONFIDENCE_LOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(always),
                                       cmocka_unit_test(until_it_was_over),
                                       cmocka_unit_test(paused),
                                       cmocka_unit_test(slow_without_a_slow_edge),
                                       cmocka_unit_test(slow_for_a_moment),
                                       cmocka_unit_test(slow_for_long),
                                       cmocka_unit_test(worth_the_least_gain_or_twice),
                                       cmocka_unit_test(slow_in_every_step),
                                       cmocka_unit_test(slow_in_most_steps),
                                       cmocka_unit_test(where_something_is_missing),
                                       cmocka_unit_test(a_network_that_steps_show),
                                       cmocka_unit_test(beside_a_rank_without_a_trace),
                                       cmocka_unit_test(where_steps_differ),
                                       cmocka_unit_test(a_networks_cost_that_does_not_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
