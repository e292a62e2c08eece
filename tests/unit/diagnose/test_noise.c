#include "support/cmocka_all.h"
#include "support/strength_cells.h"

#include <math.h>
#include <stdlib.h>

/* The effect of noise, and values that are none. */

static const double CELLS = (double)RANKS * (STEPS - FIRST);

/*
 * If samples are given, they determine the baseline, not the few outstanding cells; those of the sequence
 * itself do not count.
 */
static void samples_say_what_is_usual(void **state)
{
    struct strength strength = start(RANKS);
    strength.samples = calloc(12, sizeof *strength.samples);
    assert_non_null(strength.samples);
    for (int i = 0; i < 10; i++)
        strength.samples[strength.sample_count++] = (struct sample){1500 + i, -1, 3};
    strength.samples[strength.sample_count++] = (struct sample){2000, 4, 9};
    strength.samples[strength.sample_count++] = (struct sample){900000, 7, 12};
    put(&strength, 4, 9, 2000);
    put(&strength, 7, 12, 900000);
    put(&strength, 7, 13, 900000);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 2);
    assert_true(suspects.items[0].chance > 1);
    assert_true(suspects.items[1].chance < 0.01);
    free(suspects.items);
}

/* Nor do outstanding cells of others in that step count against a rank. */
static void the_first_step_is_no_example(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 1, FIRST, 9000);
    put(&strength, 3, 5, 300);
    put(&strength, 3, 6, 300);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 2);
    assert_true(fabs(suspects.items[1].ahead - 300.0 / LEAST) < 1e-12);
    assert_true(fabs(suspects.items[1].chance - 1 / CELLS) < 1e-12);
    free(suspects.items);
}

/*
 * A pause of a whole step in step 5, and an outstanding cell of another rank in the same step: its victim, or
 * its cause.
 */
static void a_pause_has_victims(void **state)
{
    const int64_t beside[] = {9999, 10000};
    for (int i = 0; i < 2; i++) {
        struct strength strength = start(RANKS);
        strength.whole_ns = 5000;
        put(&strength, 0, 5, 20000);
        put(&strength, 1, 5, beside[i]);
        struct suspects suspects = find(&strength);
        assert_int_equal(suspects.count, 2);
        assert_true(fabs(suspects.items[0].ahead - (i ? 2 : 200)) < 1e-9);
        free(suspects.items);
    }
}

/*
 * Pauses of a whole step (5000) in `steps` steps, of this many ranks in turn; returns the chance and the lead
 * of the first.
 */
static struct suspect first_of_pauses(const int *steps, int count, int ranks)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    for (int i = 0; i < count; i++)
        put(&strength, i % ranks, steps[i], 20000);
    put(&strength, 9, 3, 200);
    struct suspects suspects = find(&strength);
    assert_true(suspects.count >= (size_t)count);
    struct suspect first = suspects.items[0];
    free(suspects.items);
    return first;
}

/*
 * What lasts longer than a step is no noise for another such pause, unless it is in the same step, or they
 * are frequent.
 */
static void pauses_do_not_doubt_each_other(void **state)
{
    const int apart[] = {5, 9}, together[] = {5, 5}, many[] = {5, 7, 9, 11, 13, 15}, once[] = {5, 9, 9, 9, 9};
    struct suspect alone = first_of_pauses(apart, 1, 1);
    struct suspect one_of_two = first_of_pauses(apart, 2, 2);
    assert_true(fabs(alone.ahead - 100) < 1e-9);
    assert_true(fabs(one_of_two.ahead - 100) < 1e-9);
    assert_true(fabs(one_of_two.chance - alone.chance) < 1e-12);
    assert_true(fabs(first_of_pauses(together, 2, 2).ahead - 1) < 1e-9);
    assert_true(fabs(first_of_pauses(many, 5, 4).ahead - 100) < 1e-9);
    assert_true(fabs(first_of_pauses(many, 6, 4).ahead - 1) < 1e-9);
    assert_true(fabs(first_of_pauses(once, 5, 5).ahead - 100) < 1e-9);
}

/*
 * Rank 0 pauses for four step lengths in steps 5 and 6, and rank 2 waits for it in 5. This proves nothing
 * about rank 1 in step 9, but much about it in step 6.
 */
static void a_long_fault_has_victims(void **state)
{
    const int steps[] = {9, 6};
    for (int i = 0; i < 2; i++) {
        struct strength strength = start(RANKS);
        strength.whole_ns = 5000;
        put(&strength, 0, 5, 20000);
        put(&strength, 0, 6, 20000);
        put(&strength, 2, 5, 4000);
        put(&strength, 1, steps[i], 4500);
        put(&strength, 4, 12, 150);
        struct suspects suspects = find(&strength);
        assert_int_equal(suspects.count, 4);
        assert_int_equal(suspects.items[1].rank, 1);
        assert_true(fabs(suspects.items[1].ahead - (i ? 4500.0 / 4000 : 4500.0 / 150)) < 1e-9);
        free(suspects.items);
    }
}

/* The same if rank 0 is late by less than a step in each: then no rank is its victim. */
static void a_shorter_fault_has_none(void **state)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    put(&strength, 0, 5, 4999);
    put(&strength, 0, 6, 4999);
    put(&strength, 2, 5, 4000);
    put(&strength, 1, 9, 4500);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 3);
    assert_int_equal(suspects.items[1].rank, 1);
    assert_true(fabs(suspects.items[1].ahead - 4500.0 / 4000) < 1e-9);
    free(suspects.items);
}

/*
 * Five pauses in twenty steps are not too many; a sixth within the steps of a long fault belongs to that one.
 */
static void pauses_beside_a_long_fault(void **state)
{
    struct strength strength = start(RANKS);
    strength.whole_ns = 5000;
    for (int i = 0; i < 5; i++)
        put(&strength, i % 3, 5 + 2 * i, 20000);
    put(&strength, 6, 15, 20000);
    put(&strength, 6, 16, 20000);
    put(&strength, 7, 15, 20000);
    put(&strength, 9, 3, 200);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 8);
    assert_int_equal(suspects.items[0].rank, 0);
    assert_true(fabs(suspects.items[0].ahead - 100) < 1e-9);
    free(suspects.items);
}

/*
 * Rank 0 pauses for two steps, and rank 1 waits: with ranks 2 and 3, once each, those are not three in turn.
 */
static void victims_take_no_turns(void **state)
{
    struct strength strength = start(4);
    strength.whole_ns = 5000;
    put(&strength, 0, 5, 20000);
    put(&strength, 0, 6, 20000);
    put(&strength, 1, 5, 10000);
    put(&strength, 2, 12, 7500);
    put(&strength, 3, 17, 15000);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 4);
    assert_int_equal(suspects.items[3].rank, 3);
    assert_true(fabs(suspects.items[3].ahead - 15000.0 / LEAST) < 1e-9);
    free(suspects.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_say_what_is_usual),  cmocka_unit_test(the_first_step_is_no_example),
        cmocka_unit_test(a_pause_has_victims),        cmocka_unit_test(pauses_do_not_doubt_each_other),
        cmocka_unit_test(a_long_fault_has_victims),   cmocka_unit_test(a_shorter_fault_has_none),
        cmocka_unit_test(pauses_beside_a_long_fault), cmocka_unit_test(victims_take_no_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
