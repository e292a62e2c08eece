#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* Medians and the excess over them, at one place of the step, by hand. */

enum { RANKS = 5, STEPS = 4, CELLS = RANKS * STEPS, SLOW = 4 };

/* Step 0 is the warm-up. Rank 4 takes 60 more in step 1 than in the others. */
static const int64_t own_times[RANKS][STEPS] = {{TIME_UNKNOWN, 100, 100, 100},
                                                {TIME_UNKNOWN, 110, 110, 110},
                                                {TIME_UNKNOWN, 120, 120, 120},
                                                {TIME_UNKNOWN, 130, 130, 130},
                                                {TIME_UNKNOWN, 200, 140, 140}};

/* All of one role, at its only place. */
struct place_of_five {
    struct role role;
    struct baseline baseline;
    int32_t ranks[RANKS];
    int32_t communicator[CELLS];
    unsigned char explained[CELLS];
    struct place_matrix_source source;
    int64_t own[CELLS], pace[CELLS], late[CELLS], bound[CELLS];
    unsigned char open[CELLS];
    struct place_times times;
    /* Blocks of the given number of ranks. */
    struct partition partition;
    size_t first[RANKS + 1];
    int32_t unit_of[RANKS];
    int32_t within[2]; /* of both communicators */
    struct middles middles[STEPS];
    struct middles late_middles[STEPS];
    struct place_matrix place_matrix;
};

static void five_init(struct place_of_five *five, int32_t block)
{
    *five = (struct place_of_five){.role = {.ranks = five->ranks, .rank_count = RANKS, .length = 1},
                                   .within = {-1, -1}};
    five->baseline =
        (struct baseline){.roles = &five->role, .role_count = 1, .first_step = 1, .step_count = STEPS};
    five->source = (struct place_matrix_source){.baseline = &five->baseline, .explained = five->explained};
    five->times = (struct place_times){.ranks = RANKS,
                                       .steps = STEPS,
                                       .place = five->ranks,
                                       .own = five->own,
                                       .pace = five->pace,
                                       .late = five->late,
                                       .bound = five->bound,
                                       .communicator = five->communicator,
                                       .open = five->open};
    five->partition = (struct partition){.kind = block > 1 ? UNIT_BLOCK : UNIT_RANK,
                                         .count = (size_t)((RANKS + block - 1) / block),
                                         .first = five->first,
                                         .ranks = five->ranks,
                                         .unit_of = five->unit_of,
                                         .within = five->within};
    for (int32_t cell = 0; cell < CELLS; cell++) {
        int32_t rank = cell / STEPS;
        five->own[cell] = five->pace[cell] = own_times[rank][cell % STEPS];
        five->bound[cell] = INT64_MAX;
    }
    for (int32_t rank = 0; rank < RANKS; rank++) {
        five->ranks[rank] = rank;
        five->unit_of[rank] = rank / block;
        five->first[rank / block + 1] = (size_t)rank + 1;
    }
}

static void measure(struct place_of_five *five)
{
    assert_int_equal(place_matrix_init(&five->place_matrix, &five->source, &five->partition, &five->times, 0),
                     0);
    place_matrix_measure(&five->place_matrix, &five->source, 0, five->middles, five->late_middles);
}

static int64_t others_of(const struct place_of_five *five, size_t unit, size_t step)
{
    return five->place_matrix.others[unit * STEPS + step];
}

/* Of four others the lower of the two in the middle. */
static void the_others_are_all_but_oneself(void **state)
{
    struct place_of_five five;
    five_init(&five, 1);
    measure(&five);
    assert_int_equal(others_of(&five, 0, 1), 120); /* of 110, 120, 130, 200 */
    assert_int_equal(others_of(&five, 1, 1), 120); /* of 100, 120, 130, 200 */
    assert_int_equal(others_of(&five, 2, 1), 110); /* of 100, 110, 130, 200 */
    assert_int_equal(others_of(&five, SLOW, 1), 110);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, 0, 1), 100 - 120);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 1), 200 - 110);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 2), 140 - 110);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 0), TIME_UNKNOWN);
    assert_int_equal(five.place_matrix.quiet[SLOW], 30);
    assert_int_equal(five.place_matrix.quiet_pace[SLOW], 140);
    place_matrix_release(&five.place_matrix);
}

/* For the explained one, all that are not explained are others. */
static void what_is_explained_is_no_measure(void **state)
{
    struct place_of_five five;
    five_init(&five, 1);
    five.explained[SLOW * STEPS + 1] = 1;
    five.own[2 * STEPS + 3] = TIME_UNKNOWN;
    measure(&five);
    assert_int_equal(others_of(&five, 0, 1), 120);    /* of 110, 120, 130 */
    assert_int_equal(others_of(&five, 3, 1), 110);    /* of 100, 110, 120 */
    assert_int_equal(others_of(&five, SLOW, 1), 110); /* of 100, 110, 120, 130 */
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 1), 200 - 110);
    assert_int_equal(others_of(&five, 3, 3), 110); /* of 100, 110, 140 */
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, 2, 3), TIME_UNKNOWN);
    place_matrix_release(&five.place_matrix);
}

/* The excess over the normal steps is at most the longest wait of others. */
static void nobody_waited_for_more(void **state)
{
    struct place_of_five five;
    five_init(&five, 1);
    five.bound[SLOW * STEPS + 1] = 45;
    measure(&five);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 1), 30 + 45);
    place_matrix_release(&five.place_matrix);
}

/*
 * A rank that spends 50 less in the previous operation has 50 more own time, and did not become slower
 * because of it.
 */
static void it_grew_by_no_more(void **state)
{
    struct place_of_five five;
    five_init(&five, 1);
    five.pace[SLOW * STEPS + 1] = 140 + 10;
    measure(&five);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, SLOW, 1), 30 + 10);
    place_matrix_release(&five.place_matrix);
}

/* Enqueued later than the median of the others by 25; half of the excess is the host's then. */
static void later_than_the_others(void **state)
{
    struct place_of_five five;
    five_init(&five, 1);
    for (int rank = 0; rank < RANKS; rank++)
        five.late[rank * STEPS + 1] = rank == SLOW ? 30 : 5;
    measure(&five);
    assert_int_equal(five.place_matrix.late_more[SLOW * STEPS + 1], 25);
    assert_int_equal(five.place_matrix.late_more[0 * STEPS + 1], 0);
    assert_true(place_matrix_lateness_is(&five.place_matrix, 25, 50));
    assert_false(place_matrix_lateness_is(&five.place_matrix, 25, 52));
    assert_false(place_matrix_lateness_is(&five.place_matrix, 0, 50));
    five.times.within = 1;
    assert_true(place_matrix_lateness_is(&five.place_matrix, 25, 200));
    assert_false(place_matrix_lateness_is(&five.place_matrix, TIME_UNKNOWN, 0));
    place_matrix_release(&five.place_matrix);
}

/* Ranks 0 and 1, 2 and 3, 4: of two the smaller, and none if only one of them is known. */
static void several_ranks_are_one_unit(void **state)
{
    struct place_of_five five;
    five_init(&five, 2);
    five.own[3 * STEPS + 2] = TIME_UNKNOWN;
    five.open[1 * STEPS + 3] = 1;
    measure(&five);
    assert_int_equal(five.place_matrix.units, 3);
    assert_int_equal(five.place_matrix.value[0 * STEPS + 1], 100);
    assert_int_equal(five.place_matrix.value[1 * STEPS + 1], 120);
    assert_int_equal(five.place_matrix.value[1 * STEPS + 2], TIME_UNKNOWN);
    assert_int_equal(others_of(&five, 2, 1), 100); /* of 100, 120 */
    assert_int_equal(others_of(&five, 0, 2), 140); /* 120 is unknown */
    assert_int_equal(others_of(&five, 1, 2), 100); /* of 100, 140 */
    assert_true(place_matrix_open(&five.place_matrix, 0, 3));
    assert_false(place_matrix_open(&five.place_matrix, 0, 2));
    place_matrix_release(&five.place_matrix);
}

/* Of four the smallest, so three more show as much; as others they count with their median. */
static void three_of_four_have_to_show_it(void **state)
{
    struct place_of_five five;
    five_init(&five, 4);
    measure(&five);
    assert_int_equal(five.place_matrix.value[1], 100);
    assert_int_equal(others_of(&five, 1, 1), 110);
    assert_int_equal(place_matrix_unit_excess(&five.place_matrix, 0, 1), 100 - 200);
    place_matrix_release(&five.place_matrix);
}

/* Communicator 1 is ranks 0 and 1 alone: a wait in it stays inside the unit. */
static void who_waits_within_says_nothing(void **state)
{
    struct place_of_five five;
    five_init(&five, 2);
    five.within[1] = 0;
    for (int cell = 0; cell < CELLS; cell++)
        five.bound[cell] = 7;
    five.communicator[0 * STEPS + 1] = five.communicator[1 * STEPS + 1] = 1;
    measure(&five);
    assert_int_equal(five.place_matrix.waited[0 * STEPS + 1], INT64_MAX);
    assert_int_equal(five.place_matrix.waited[0 * STEPS + 2], 7);
    assert_int_equal(five.place_matrix.waited[1 * STEPS + 1], 7);
    place_matrix_release(&five.place_matrix);
}

/* Compared with stored values of the others: the same result as with all of them in memory. */
static void alone_it_is_the_same(void **state)
{
    for (int32_t block = 1; block <= 3; block++) {
        struct place_of_five five;
        five_init(&five, block);
        five.explained[1 * STEPS + 2] = five.explained[SLOW * STEPS + 1] = 1;
        five.bound[SLOW * STEPS + 1] = 45;
        measure(&five);
        for (size_t unit = 0; unit < five.partition.count; unit++) {
            struct place_times own = five.times;
            struct place_matrix alone;
            size_t first = five.first[unit];
            own.ranks = five.first[unit + 1] - first;
            own.place += first;
            own.own += first * STEPS;
            own.pace += first * STEPS;
            own.late += first * STEPS;
            own.bound += first * STEPS;
            own.communicator += first * STEPS;
            assert_int_equal(place_matrix_init(&alone, &five.source, &five.partition, &own, 0), 0);
            place_matrix_measure_alone(&alone, &five.source, 0, five.middles, five.late_middles);
            assert_int_equal(alone.units, 1);
            for (size_t step = 1; step < STEPS; step++) {
                assert_int_equal(alone.others[step], others_of(&five, unit, step));
                assert_int_equal(place_matrix_unit_excess(&alone, 0, step),
                                 place_matrix_unit_excess(&five.place_matrix, unit, step));
            }
            place_matrix_release(&alone);
        }
        place_matrix_release(&five.place_matrix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_others_are_all_but_oneself),
                                       cmocka_unit_test(what_is_explained_is_no_measure),
                                       cmocka_unit_test(nobody_waited_for_more),
                                       cmocka_unit_test(it_grew_by_no_more),
                                       cmocka_unit_test(later_than_the_others),
                                       cmocka_unit_test(several_ranks_are_one_unit),
                                       cmocka_unit_test(three_of_four_have_to_show_it),
                                       cmocka_unit_test(who_waits_within_says_nothing),
                                       cmocka_unit_test(alone_it_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
