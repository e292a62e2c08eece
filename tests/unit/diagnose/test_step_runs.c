#include "support/cmocka_all.h"
#include "support/strength_cells.h"

#include <math.h>
#include <stdlib.h>

/* Sequences of strong steps, and where they end. */

static const double CELLS = (double)RANKS * (STEPS - FIRST);

static void nothing_strong(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, LEAST - 1);
    put(&strength, 3, 0, 1000 * LEAST); /* warm-up */
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 0);
    free(suspects.items);
}

static void a_run(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 200);
    put(&strength, 3, 6, 150);
    put(&strength, 3, 7, 400);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 1);
    const struct suspect *run = &suspects.items[0];
    assert_int_equal(run->kind, FINDING_NETWORK);
    assert_int_equal(run->rank, 3);
    assert_int_equal(run->first_step, 5);
    assert_int_equal(run->last_step, 7);
    assert_int_equal(run->weakest_ns, 150);
    assert_int_equal(run->total_ns, 750);
    /* No step stands alone: N (1/N)^3. */
    assert_true(fabs(run->chance - 1 / CELLS / CELLS) < 1e-12);
    free(suspects.items);
}

static void a_weak_step_does_not_end_a_run(void **state)
{
    struct strength strength = start(RANKS);
    for (int step = 4; step <= 9; step++)
        put(&strength, 0, step, step == 7 ? 20 : 300);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 1);
    assert_int_equal(suspects.items[0].first_step, 4);
    assert_int_equal(suspects.items[0].last_step, 9);
    assert_int_equal(suspects.items[0].weakest_ns, 300);
    free(suspects.items);
}

static void two_weak_steps_end_it(void **state)
{
    struct strength strength = start(RANKS);
    for (int step = 4; step <= 10; step++)
        put(&strength, 0, step, step == 7 || step == 8 ? 20 : 300);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 2);
    assert_int_equal(suspects.items[0].last_step, 6);
    assert_int_equal(suspects.items[1].first_step, 9);
    free(suspects.items);
}

/*
 * An end with less than a quarter of the strongest step is something else, and does not weaken the sequence.
 */
static void weak_ends_are_dropped(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 110);
    put(&strength, 3, 6, 1000);
    put(&strength, 3, 7, 900);
    put(&strength, 3, 8, 249);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 1);
    assert_int_equal(suspects.items[0].first_step, 6);
    assert_int_equal(suspects.items[0].last_step, 7);
    assert_int_equal(suspects.items[0].weakest_ns, 900);
    assert_int_equal(suspects.items[0].total_ns, 1900);
    free(suspects.items);
}

static void is_run(const struct suspect *run, int32_t first_step, int32_t last_step, int64_t total_ns)
{
    assert_int_equal(run->rank, 3);
    assert_int_equal(run->first_step, first_step);
    assert_int_equal(run->last_step, last_step);
    assert_int_equal(run->total_ns, total_ns);
}

/* An end of several steps is a sequence by itself: a lasting fault next to a moment that was far worse. */
static void several_weak_ends_are_a_run(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 200);
    put(&strength, 3, 6, 210);
    put(&strength, 3, 7, 5000);
    for (int step = 8; step <= 10; step++)
        put(&strength, 3, step, 300);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 3);
    is_run(&suspects.items[0], 5, 6, 410);
    is_run(&suspects.items[1], 7, 7, 5000);
    is_run(&suspects.items[2], 8, 10, 900);
    free(suspects.items);
}

/* Also over a step between them that is below the minimum. */
static void an_end_behind_a_weak_step(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 5000);
    put(&strength, 3, 6, 4000);
    put(&strength, 3, 8, 300);
    put(&strength, 3, 9, 300);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 2);
    is_run(&suspects.items[0], 5, 6, 9000);
    is_run(&suspects.items[1], 8, 9, 600);
    free(suspects.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_strong),
                                       cmocka_unit_test(a_run),
                                       cmocka_unit_test(a_weak_step_does_not_end_a_run),
                                       cmocka_unit_test(two_weak_steps_end_it),
                                       cmocka_unit_test(weak_ends_are_dropped),
                                       cmocka_unit_test(several_weak_ends_are_a_run),
                                       cmocka_unit_test(an_end_behind_a_weak_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
