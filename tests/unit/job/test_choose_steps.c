#include "job/internal.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * Which steps of a run are loaded: 1,000 steps with 50 operations each, of 4 ranks that are there to the end.
 */

enum { STEPS = 1000, RANKS = 4, EACH = 50, FIRST = 12, LAST = 8 };

struct run {
    int64_t operations[STEPS];
    double stands_out[STEPS];
    int32_t last_step[RANKS];
    struct screening screening;
};

static struct run *make(void)
{
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    for (int i = 0; i < STEPS; i++) {
        run->operations[i] = EACH;
        /* Healthy jobs have some noise. */
        run->stands_out[i] = 0.5 + 0.5 * (i * 7919 % 101) / 101;
    }
    for (int i = 0; i < RANKS; i++)
        run->last_step[i] = STEPS - 1;
    run->screening = (struct screening){.step_count = STEPS,
                                        .operations = run->operations,
                                        .last_step = run->last_step,
                                        .rank_count = RANKS,
                                        .stands_out = run->stands_out,
                                        .is_told = 1};
    return run;
}

static struct chosen_steps choose(const struct run *run, int64_t most_operations)
{
    struct chosen_steps chosen;
    assert_int_equal(steps_choose(&run->screening, 0, most_operations, MOST_ROUNDS, &chosen), 0);
    assert_true(chosen.count > 0);
    unsigned char taken[STEPS] = {0};
    for (size_t round = 0; round < chosen.count; round++) {
        const struct step_round *here = &chosen.rounds[round];
        for (size_t i = 0; i < here->count; i++) {
            assert_true(here->excerpts[i].first < here->excerpts[i].end);
            /* No two blocks touch, and no step is in two rounds except the first. */
            assert_true(!i || here->excerpts[i - 1].end < here->excerpts[i].first);
            for (int32_t step = here->excerpts[i].first; step < here->excerpts[i].end; step++)
                assert_true(!taken[step]++ || !step);
        }
        /* Each begins with the first step of the run. */
        assert_int_equal(here->excerpts[0].first, 0);
    }
    /* And the first ends with the last step. */
    assert_int_equal(chosen.rounds[0].excerpts[chosen.rounds[0].count - 1].end, STEPS);
    return chosen;
}

static int round_has(const struct chosen_steps *chosen, size_t round, int32_t first, int32_t last)
{
    const struct step_round *here = &chosen->rounds[round];
    for (size_t i = 0; i < here->count; i++)
        if (here->excerpts[i].first <= first && last < here->excerpts[i].end)
            return 1;
    return 0;
}

static int has(const struct chosen_steps *chosen, int32_t first, int32_t last)
{
    for (size_t round = 0; round < chosen->count; round++)
        if (round_has(chosen, round, first, last))
            return 1;
    return 0;
}

static int count_in(const struct chosen_steps *chosen, size_t round)
{
    int steps = 0;
    for (size_t i = 0; i < chosen->rounds[round].count; i++)
        steps += chosen->rounds[round].excerpts[i].end - chosen->rounds[round].excerpts[i].first;
    return steps;
}

static int count(const struct chosen_steps *chosen)
{
    return count_in(chosen, 0);
}

static void they_fit_and_are_spread(void **state)
{
    struct run *run = make();
    struct chosen_steps chosen = choose(run, 200 * EACH);
    (void)state;
    assert_in_range(count(&chosen), 150, 200);
    assert_true(has(&chosen, 0, FIRST - 1));
    assert_true(has(&chosen, STEPS - LAST, STEPS - 1));
    /* No two hundred consecutive steps are skipped, and no block is too short for a baseline. */
    const struct step_round *round = &chosen.rounds[0];
    for (size_t i = 1; i < round->count; i++)
        assert_true(round->excerpts[i].first - round->excerpts[i - 1].end < 200);
    for (size_t i = 1; i + 1 < round->count; i++)
        assert_true(round->excerpts[i].end - round->excerpts[i].first >= 16);
    assert_int_equal(chosen.count, 1);
    assert_int_equal(chosen.unusual, 0);
    assert_int_equal(chosen.left_out, 0);
    chosen_steps_release(&chosen);
    free(run);
}

static void all_are_one_excerpt(void **state)
{
    struct run *run = make();
    struct chosen_steps chosen = choose(run, 10 * STEPS * EACH);
    (void)state;
    assert_int_equal(chosen.count, 1);
    assert_int_equal(chosen.rounds[0].count, 1);
    chosen_steps_release(&chosen);
    free(run);
}

static void ends_of_the_run_are_taken_whatever_they_need(void **state)
{
    struct run *run = make();
    struct chosen_steps chosen = choose(run, 0);
    (void)state;
    assert_int_equal(count(&chosen), 4);
    assert_int_equal(chosen.count, 1);
    assert_int_equal(chosen.rounds[0].count, 2);
    assert_true(has(&chosen, 0, 1));
    assert_true(has(&chosen, STEPS - 2, STEPS - 1));
    chosen_steps_release(&chosen);
    free(run);
}

/* Two blocks at each end, and the others as one block. */
static void little_room_goes_to_one_row(void **state)
{
    struct run *run = make();
    (void)state;
    struct chosen_steps chosen = choose(run, 12 * EACH);
    assert_in_range(count(&chosen), 9, 12);
    assert_int_equal(chosen.count, 1);
    assert_int_equal(chosen.rounds[0].count, 3);
    chosen_steps_release(&chosen);
    free(run);
}

/* If a round holds few steps, unusual steps have their own rounds, half of which are usual steps. */
static void little_room_is_used_again(void **state)
{
    struct run *run = make();
    (void)state;
    run->stands_out[700] = 30;
    for (int i = 403; i <= 655; i++)
        run->stands_out[i] += 5;
    struct chosen_steps chosen = choose(run, 8 * EACH);
    assert_int_equal(chosen.unusual, 3);
    assert_int_equal(chosen.left_out, 0);
    assert_int_equal(chosen.count, 4);
    /* In order of how unusual they are, changes first. */
    assert_true(round_has(&chosen, 1, 400, 405) || round_has(&chosen, 1, 653, 658));
    assert_true(round_has(&chosen, 2, 400, 405) || round_has(&chosen, 2, 653, 658));
    assert_true(has(&chosen, 400, 405));
    assert_true(has(&chosen, 653, 658));
    assert_true(round_has(&chosen, 3, 697, 702));
    for (size_t i = 0; i < chosen.count; i++)
        assert_in_range(count_in(&chosen, i), 4, 8);
    chosen_steps_release(&chosen);
    free(run);
}

/*
 * As many steps next to a place as fit, up to the number needed for a baseline there; none if a round holds
 * too few.
 */
static void a_round_is_filled(void **state)
{
    struct run *run = make();
    (void)state;
    run->stands_out[300] = run->stands_out[500] = run->stands_out[700] = 30;
    struct chosen_steps chosen = choose(run, 18 * EACH);
    assert_int_equal(chosen.count, 4);
    for (size_t i = 1; i < 4; i++) {
        int32_t place = 100 + 200 * (int32_t)i;
        assert_int_equal(count_in(&chosen, i), 1 + 16);
        assert_true(round_has(&chosen, i, place - 7, place + 7));
    }
    chosen_steps_release(&chosen);
    chosen = choose(run, 6 * EACH);
    assert_int_equal(chosen.count, 1);
    assert_int_equal(chosen.left_out, 2);
    chosen_steps_release(&chosen);
    free(run);
}

/* For a fault that is shorter than the distance of changes, its other end is looked for. */
static void where_a_change_is_undone_is_looked_at(void **state)
{
    struct run *run = make();
    (void)state;
    for (int i = 403; i <= 413; i++)
        run->stands_out[i] += 30;
    struct chosen_steps chosen = choose(run, 8 * EACH);
    assert_true(has(&chosen, 400, 405));
    assert_true(has(&chosen, 411, 416));
    chosen_steps_release(&chosen);
    free(run);
}

/* With one round there is one block, where most can be seen. */
static void one_round_takes_what_it_can(void **state)
{
    struct run *run = make();
    struct chosen_steps chosen;
    (void)state;
    run->stands_out[700] = 30;
    assert_int_equal(steps_choose(&run->screening, 0, 12 * EACH, 1, &chosen), 0);
    assert_int_equal(chosen.count, 1);
    assert_in_range(count(&chosen), 9, 12);
    assert_true(has(&chosen, 698, 702));
    chosen_steps_release(&chosen);
    free(run);
}

static void there_is_an_end_to_rounds(void **state)
{
    struct run *run = make();
    (void)state;
    for (int i = 20; i < STEPS - 20; i += 20)
        run->stands_out[i] = 20 + i % 7;
    struct chosen_steps chosen = choose(run, 8 * EACH);
    assert_int_equal(chosen.count, MOST_ROUNDS);
    assert_int_equal(chosen.unusual - chosen.left_out, MOST_ROUNDS - 1);
    chosen_steps_release(&chosen);
    free(run);
}

static void a_step_that_stands_out_is_taken_with_its_neighbours(void **state)
{
    struct run *run = make();
    (void)state;
    run->stands_out[431] = 30;
    run->stands_out[777] = 15;
    struct chosen_steps chosen = choose(run, 200 * EACH);
    assert_int_equal(chosen.unusual, 2);
    assert_int_equal(chosen.left_out, 0);
    assert_true(has(&chosen, 428, 434));
    assert_true(has(&chosen, 774, 780));
    chosen_steps_release(&chosen);
    free(run);
}

static void both_ends_of_a_change_are_taken(void **state)
{
    struct run *run = make();
    (void)state;
    for (int i = 403; i <= 655; i++)
        run->stands_out[i] += 5;
    struct chosen_steps chosen = choose(run, 200 * EACH);
    assert_int_equal(chosen.unusual, 2);
    assert_true(has(&chosen, 402, 403));
    assert_true(has(&chosen, 655, 656));
    chosen_steps_release(&chosen);
    free(run);
}

static void where_the_record_of_a_rank_ends_is_taken(void **state)
{
    struct run *run = make();
    (void)state;
    run->last_step[2] = 517;
    struct chosen_steps chosen = choose(run, 200 * EACH);
    assert_true(has(&chosen, 514, 520));
    chosen_steps_release(&chosen);
    free(run);
}

static void what_does_not_fit_is_counted(void **state)
{
    struct run *run = make();
    int unusual = 0, left_out = 0, first = STEPS;
    (void)state;
    for (int i = 5; i < STEPS; i += 10)
        run->stands_out[i] = 20 + i % 7;
    struct chosen_steps chosen = choose(run, 30 * EACH);
    for (int i = 5; i < STEPS; i += 10) {
        int is_left_out = !has(&chosen, i, i);
        unusual++;
        left_out += is_left_out;
        first = is_left_out && i < first ? i : first;
    }
    assert_int_equal(chosen.unusual, unusual);
    assert_true(left_out > 0);
    assert_int_equal(chosen.left_out, left_out);
    assert_int_equal(chosen.left_first, first);
    assert_true(count(&chosen) <= 100);
    chosen_steps_release(&chosen);
    free(run);
}

static void great_steps_leave_room_for_fewer(void **state)
{
    struct run *run = make();
    int64_t operations = 0;
    (void)state;
    for (int i = 300; i < 600; i++)
        run->operations[i] = EACH * 10;
    struct chosen_steps chosen = choose(run, 400 * EACH);
    const struct step_round *round = &chosen.rounds[0];
    for (size_t i = 0; i < round->count; i++)
        for (int32_t step = round->excerpts[i].first; step < round->excerpts[i].end; step++)
            operations += run->operations[step];
    assert_in_range(operations, 200 * EACH, 400 * EACH);
    chosen_steps_release(&chosen);
    free(run);
}

static void what_is_in_no_step_takes_room_too(void **state)
{
    struct run *run = make();
    (void)state;
    run->screening.in_no_step = 150 * EACH;
    struct chosen_steps chosen = choose(run, 200 * EACH);
    assert_true(count(&chosen) <= 50);
    chosen_steps_release(&chosen);
    free(run);
}

/* Whatever was measured, also values that no clock can have. */
static void anything_is_survived(void **state)
{
    struct run *run = make();
    (void)state;
    for (int i = 0; i < STEPS; i++)
        run->stands_out[i] = i % 3 ? 1e300 : i % 2 ? 1e-300 : 0;
    struct chosen_steps chosen = choose(run, 200 * EACH);
    assert_true(count(&chosen) <= 200);
    chosen_steps_release(&chosen);
    run->screening.step_count = 3;
    assert_int_equal(steps_choose(&run->screening, 0, 0, MOST_ROUNDS, &chosen), 0);
    assert_int_equal(count(&chosen), 3);
    chosen_steps_release(&chosen);
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_fit_and_are_spread),
        cmocka_unit_test(all_are_one_excerpt),
        cmocka_unit_test(ends_of_the_run_are_taken_whatever_they_need),
        cmocka_unit_test(little_room_goes_to_one_row),
        cmocka_unit_test(little_room_is_used_again),
        cmocka_unit_test(a_round_is_filled),
        cmocka_unit_test(where_a_change_is_undone_is_looked_at),
        cmocka_unit_test(one_round_takes_what_it_can),
        cmocka_unit_test(there_is_an_end_to_rounds),
        cmocka_unit_test(a_step_that_stands_out_is_taken_with_its_neighbours),
        cmocka_unit_test(both_ends_of_a_change_are_taken),
        cmocka_unit_test(where_the_record_of_a_rank_ends_is_taken),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(great_steps_leave_room_for_fewer),
        cmocka_unit_test(what_is_in_no_step_takes_room_too),
        cmocka_unit_test(anything_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
