#include "support/cmocka_all.h"
#include "support/strength_cells.h"

#include <math.h>
#include <stdlib.h>

/* How likely noise makes sequences of strong steps. */

static const double CELLS = (double)RANKS * (STEPS - FIRST);

/*
 * Four steps stand alone elsewhere, at least three of them as strong as the weakest of the sequence: N
 * (4/N)^2.
 */
static void chance_comes_from_steps_that_stand_alone(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 1, 3, 150);
    put(&strength, 2, 8, 250);
    put(&strength, 5, 12, 300);
    put(&strength, 6, 15, 5000);
    put(&strength, 8, 10, 200);
    put(&strength, 8, 11, 700);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 5);
    assert_true(fabs(suspects.items[4].chance - 16 / CELLS) < 1e-12);
    free(suspects.items);
}

/* The stronger a single step, and the fewer there are, the less likely is chance. */
static void one_step_alone(void **state)
{
    double chance[3];
    const int64_t excess[] = {LEAST, 10 * LEAST, 100 * LEAST};
    for (int i = 0; i < 3; i++) {
        struct strength strength = start(RANKS);
        put(&strength, 4, 9, excess[i]);
        struct suspects suspects = find(&strength);
        assert_int_equal(suspects.count, 1);
        chance[i] = suspects.items[0].chance;
        free(suspects.items);
    }
    assert_true(fabs(chance[0] - 1) < 1e-12);
    assert_true(chance[1] <= 0.1 && chance[2] <= chance[1] / 10);
}

static double chance_at(const struct suspects *suspects, int32_t step)
{
    const struct suspect *found = NULL;
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->items[i].first_step == step)
            found = &suspects->items[i];
    assert_non_null(found);
    return found->chance;
}

/* Ten others from 101 to 110, others below the minimum, the step itself 2000: k (u / x)^power, by hand. */
static void one_step_beyond_a_tail(void **state)
{
    struct strength strength = start(RANKS);
    double logs = 2;
    for (int i = 0; i < 10; i++) {
        put(&strength, i, 2 * (i % 5) + 3, 101 + i);
        put(&strength, i, 2 * (i % 5) + 4, 1 + i);
        logs += log((101.0 + i) / LEAST);
    }
    put(&strength, 0, 15, 2000);
    struct suspects suspects = find(&strength);
    assert_true(fabs(chance_at(&suspects, 15) / (10 * pow(LEAST / 2000.0, 12 / logs)) - 1) < 1e-9);
    free(suspects.items);
}

/* Of thirty others, from 101 to 130, the largest twenty. */
static void the_greatest_twenty_are_the_tail(void **state)
{
    struct strength strength = start(RANKS);
    double logs = 2;
    for (int i = 0; i < 30; i++) {
        put(&strength, i % 10, 2 * (i / 10) + 3, 101 + i);
        if (i >= 10)
            logs += log((101.0 + i) / 111);
    }
    put(&strength, 0, 15, 2000);
    struct suspects suspects = find(&strength);
    assert_true(fabs(chance_at(&suspects, 15) / (20 * pow(111 / 2000.0, 22 / logs)) - 1) < 1e-9);
    free(suspects.items);
}

/*
 * The lead of a sequence over others depends on its weakest step, and not on its own single steps; at least
 * on the minimum.
 */
static void ahead_of_all_others(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 2, 5, 900);
    put(&strength, 2, 6, 600);
    put(&strength, 4, 9, 150);
    put(&strength, 5, 9, 50);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, 2);
    assert_int_equal(suspects.items[0].counted_steps, 2);
    assert_true(fabs(suspects.items[0].ahead - 4) < 1e-12);
    assert_int_equal(suspects.items[1].counted_steps, 1);
    assert_true(fabs(suspects.items[1].ahead - 1.5) < 1e-12);
    free(suspects.items);
}

/* A sequence that begins directly after the warm-up is as likely as what comes after its first step. */
static void the_first_step_speaks_for_nothing(void **state)
{
    double chance[2];
    for (int first = 0; first < 2; first++) {
        struct strength strength = start(RANKS);
        for (int step = 2 - first; step <= 3; step++)
            put(&strength, 5, step, 900);
        put(&strength, 1, 8, 1200);
        struct suspects suspects = find(&strength);
        assert_int_equal(suspects.count, 2);
        assert_int_equal(suspects.items[1].after_warm_up, first);
        chance[first] = suspects.items[1].chance;
        free(suspects.items);
    }
    assert_true(fabs(chance[0] - 4 / CELLS) < 1e-12);
    assert_true(fabs(chance[1] - chance[0]) < 1e-12);
}

/*
 * A step that was skipped, without operations or weak, is not the weakest of a sequence and does not count,
 * like its first one: 300 against 150 is twice as much.
 */
static void what_was_let_pass_measures_nothing(void **state)
{
    for (int begin = FIRST; begin <= FIRST + 1; begin++)
        for (int weak = 0; weak <= 20; weak += 20) {
            struct strength strength = start(RANKS);
            for (int step = begin; step < begin + 6; step++)
                put(&strength, 3, step, step == begin + 3 ? weak : 300);
            put(&strength, 5, 12, 150);
            struct suspects suspects = find(&strength);
            assert_int_equal(suspects.count, 2);
            assert_int_equal(suspects.items[0].rank, 3);
            assert_int_equal(suspects.items[0].counted_steps, begin == FIRST ? 4 : 5);
            assert_true(fabs(suspects.items[0].ahead - 2) < 1e-12);
            free(suspects.items);
        }
}

/* Ten times the minimum, and nothing else: by the power of a tail that hardly has a mean, or 1.5. */
static void a_tail_of_which_nothing_is_known(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 4, 9, 10 * LEAST);
    struct suspects suspects = find(&strength);
    assert_true(fabs(suspects.items[0].chance - 0.1) < 1e-12);
    free(suspects.items);
}

static void put_run(struct strength *strength, int rank, int step, int steps, int64_t excess_ns)
{
    for (int i = 0; i < steps; i++)
        put(strength, rank, step + i, excess_ns);
}

/* The chance of consecutive steps of rank 0 besides sequences of 3, 2 and 2 steps: the last as given. */
static double chance_of_row(int steps, int rank, int step, int64_t excess_ns)
{
    struct strength strength = start(RANKS);
    put_run(&strength, 0, 10, steps, 1000);
    put_run(&strength, 1, 3, 3, 500);
    put_run(&strength, 2, 16, 2, 500);
    put_run(&strength, rank, step, 2, excess_ns);
    put(&strength, 6, 15, 500); /* no row */
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.items[0].rank, 0);
    double chance = suspects.items[rank == 0 && step < 10].chance;
    free(suspects.items);
    return chance;
}

static double chance_beside(int rank, int step, int64_t excess_ns)
{
    return chance_of_row(4, rank, step, excess_ns);
}

/*
 * Whether two steps of rank 3 are limited because of the same number of steps of the given number of others,
 * of sixteen ranks.
 */
static int is_doubted(int others, int64_t excess_ns, int64_t of_others_ns, int64_t whole_ns)
{
    struct strength strength = start(16);
    strength.whole_ns = whole_ns;
    for (int i = 0; i <= others; i++)
        put_run(&strength, 3 * i, 3 * i + 3, 2, i == 1 ? excess_ns : of_others_ns);
    struct suspects suspects = find(&strength);
    assert_int_equal(suspects.count, others + 1);
    int doubted = suspects.items[1].chance > 0.05;
    free(suspects.items);
    return doubted;
}

/* Of sixteen ranks three are not enough, and four are; a delay of a whole step is no noise. */
static void faults_of_several(void **state)
{
    assert_false(is_doubted(3, 1000, 1000, 0));
    assert_true(is_doubted(4, 1000, 1000, 0));
    assert_true(is_doubted(4, 1000, 1000, 1001));
    assert_false(is_doubted(4, 1000, 1000, 1000));
    assert_false(is_doubted(4, 1000, 600, 900));
}

/*
 * Three sequences of others, in which 4 of 7 steps continue: 3 (4/7)^3 of at least this length are expected.
 */
static void late_steps_in_rows(void **state)
{
    assert_true(fabs(chance_beside(3, 18, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(fabs(chance_beside(1, 18, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(fabs(chance_of_row(1, 3, 18, 500) - 3) < 1e-9);
    /* Too weak, of the same rank, at the same time, part of the warm-up. */
    assert_true(chance_beside(3, 18, 499) < 1e-3);
    assert_true(chance_beside(0, 18, 500) < 1e-3);
    assert_true(chance_beside(0, 5, 500) < 1e-3);
    assert_true(chance_beside(3, 13, 500) < 1e-3);
    assert_true(chance_beside(3, 9, 500) < 1e-3);
    assert_true(fabs(chance_beside(3, 8, 500) - 3 * pow(4.0 / 7, 3)) < 1e-9);
    assert_true(chance_beside(3, FIRST, 500) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chance_comes_from_steps_that_stand_alone),
                                       cmocka_unit_test(one_step_alone),
                                       cmocka_unit_test(one_step_beyond_a_tail),
                                       cmocka_unit_test(the_greatest_twenty_are_the_tail),
                                       cmocka_unit_test(ahead_of_all_others),
                                       cmocka_unit_test(the_first_step_speaks_for_nothing),
                                       cmocka_unit_test(what_was_let_pass_measures_nothing),
                                       cmocka_unit_test(a_tail_of_which_nothing_is_known),
                                       cmocka_unit_test(faults_of_several),
                                       cmocka_unit_test(late_steps_in_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
