#include "diagnose/baseline.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

/*
 * Outstanding values at a place of the step: the definitions of ncclprof-rules(7), computed in the
 * simplest way.
 */

enum { RANKS = 5, STEPS = 41 };

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int64_t sorted_at(int64_t *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, by_value);
    return values[(size_t)((double)(count - 1) * part)];
}

/* The greater of the others' median in the step and the lowest decile of the rank's steps. */
static int64_t usual_of(int64_t value[RANKS][STEPS], size_t rank, size_t step, size_t first_step)
{
    int64_t list[STEPS], peers = INT64_MIN, own;
    size_t count = 0;
    for (size_t i = first_step; i < STEPS; i++)
        if (value[rank][i] != TIME_UNKNOWN)
            list[count++] = value[rank][i];
    own = sorted_at(list, count, 0.1);
    count = 0;
    for (size_t i = 0; i < RANKS; i++)
        if (i != rank && value[i][step] != TIME_UNKNOWN)
            list[count++] = value[i][step];
    if (count)
        peers = sorted_at(list, count, 0.5);
    return own > peers ? own : peers;
}

static int64_t measure(int64_t value[RANKS][STEPS], struct place *place, size_t first_step)
{
    assert_int_equal(place_init(place, RANKS, STEPS), 0);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < STEPS; step++)
            place->value[rank * STEPS + step] = value[rank][step];
    return place_measure(place, RANKS, (int32_t)first_step, STEPS);
}

/* Close to normal: the sum of twelve uniform draws. */
static int64_t draw(unsigned *seed, double sigma)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)rand_r(seed) / RAND_MAX;
    return llround(sum * sigma);
}

static void fill(int64_t value[RANKS][STEPS], unsigned *seed, double sigma)
{
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < STEPS; step++)
            value[rank][step] = 1000000 + draw(seed, sigma);
}

/* The residual: the value minus the rank's own median, the lower of two. */
static void check_apart(int64_t value[RANKS][STEPS], const struct place *place, size_t rank, size_t step)
{
    int64_t list[STEPS], apart = place->apart[rank * STEPS + step];
    size_t count = 0;
    for (size_t i = 1; i < STEPS; i++)
        if (value[rank][i] != TIME_UNKNOWN)
            list[count++] = value[rank][i];
    if (value[rank][step] == TIME_UNKNOWN)
        assert_true(apart == TIME_UNKNOWN);
    else
        assert_int_equal(apart, value[rank][step] - sorted_at(list, count, 0.5));
}

static void excess_is_by_definition(void **state)
{
    unsigned seed = 3;
    int64_t value[RANKS][STEPS];
    for (int round = 0; round < 50; round++) {
        struct place place;
        fill(value, &seed, 20000);
        for (int i = 0; i < 30; i++)
            value[rand_r(&seed) % RANKS][rand_r(&seed) % STEPS] = TIME_UNKNOWN;
        measure(value, &place, 1);
        for (size_t rank = 0; rank < RANKS; rank++)
            for (size_t step = 1; step < STEPS; step++) {
                int64_t excess = place.value[rank * STEPS + step];
                if (value[rank][step] == TIME_UNKNOWN)
                    assert_true(excess == TIME_UNKNOWN);
                else
                    assert_int_equal(excess, value[rank][step] - usual_of(value, rank, step, 1));
                check_apart(value, &place, rank, step);
            }
        place_release(&place);
    }
}

/* The own lower quartile is included: the rest of a rank is slightly less than the spread of all. */
static void sigma_is_about_the_spread(void **state)
{
    unsigned seed = 4;
    int64_t value[RANKS][STEPS];
    double sum = 0;
    for (int round = 0; round < 50; round++) {
        struct place place;
        fill(value, &seed, 10000);
        int64_t sigma = measure(value, &place, 1);
        sum += (double)sigma;
        assert_true(sigma > 4000 && sigma < 20000);
        place_release(&place);
    }
    assert_true(sum / 50 > 7000 && sum / 50 < 14000);
}

/* A fault of one rank in a third of the steps neither hides itself nor widens the spread. */
static void a_fault_stands_out(void **state)
{
    unsigned seed = 5;
    int64_t value[RANKS][STEPS];
    struct place place;
    fill(value, &seed, 10000);
    for (size_t step = 10; step < 24; step++)
        value[2][step] += 300000;
    int64_t sigma = measure(value, &place, 1);
    assert_true(sigma < 20000);
    for (size_t step = 10; step < 24; step++) {
        assert_true(place.value[2 * STEPS + step] > 6 * sigma);
        assert_true(llabs(place.value[2 * STEPS + step] - 300000) < 60000);
        assert_true(place.value[1 * STEPS + step] < 6 * sigma);
    }
    place_release(&place);
}

/* What all ranks do in a step, and what a rank does in every step, is no fault. */
static void what_all_do_and_what_one_always_does(void **state)
{
    unsigned seed = 6;
    int64_t value[RANKS][STEPS];
    struct place place;
    fill(value, &seed, 10000);
    for (size_t rank = 0; rank < RANKS; rank++)
        value[rank][7] += 5000000;
    for (size_t step = 0; step < STEPS; step++)
        value[4][step] += 800000;
    int64_t sigma = measure(value, &place, 1);
    for (size_t rank = 0; rank < RANKS - 1; rank++)
        for (size_t step = 1; step < STEPS; step++)
            assert_true(place.value[rank * STEPS + step] < 6 * sigma);
    for (size_t step = 1; step < STEPS; step++)
        if (step != 7)
            assert_true(place.value[4 * STEPS + step] < 6 * sigma);
    place_release(&place);
}

static int64_t measure_alike(int64_t value[RANKS][STEPS], struct place *place, const int32_t *owner)
{
    assert_int_equal(place_init(place, RANKS, STEPS), 0);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < STEPS; step++)
            place->value[rank * STEPS + step] = value[rank][step];
    return place_measure_alike(place, RANKS, 1, STEPS, 6, 2, owner);
}

/* One that is always three times as slow as four others is compared with them; one of half as much is not. */
static void one_unlike_the_others(void **state)
{
    unsigned seed = 7;
    int64_t value[RANKS][STEPS];
    for (int times = 0; times < 2; times++) {
        struct place place;
        fill(value, &seed, 10000);
        for (size_t step = 0; step < STEPS; step++)
            value[4][step] += times ? 2000000 : 800000;
        int64_t sigma = measure_alike(value, &place, NULL);
        for (size_t step = 1; step < STEPS; step++)
            assert_int_equal(place.value[4 * STEPS + step] > 6 * sigma, times);
        place_release(&place);
    }
}

/*
 * Two that differ from the others may be two kinds of place, and are ignored unless both belong to one rank;
 * more than a quarter always are.
 */
static void two_unlike_the_others(void **state)
{
    enum { MORE = 9 };
    unsigned seed = 8;
    for (int unlike = 2; unlike <= 3; unlike++)
        for (int same = 0; same < 2; same++) {
            struct place place;
            int32_t owner[MORE];
            assert_int_equal(place_init(&place, MORE, STEPS), 0);
            for (int row = 0; row < MORE; row++) {
                owner[row] = same ? row / 3 : row;
                for (size_t step = 0; step < STEPS; step++)
                    place.value[(size_t)row * STEPS + step] =
                        1000000 + draw(&seed, 10000) + (row < unlike ? 2000000 : 0);
            }
            int64_t sigma = place_measure_alike(&place, MORE, 1, STEPS, 6, 2, owner);
            for (size_t step = 1; step < STEPS; step++)
                assert_int_equal(place.value[step] > 6 * sigma, same && unlike == 2);
            place_release(&place);
        }
}

/*
 * Each of two is slow in sixteen of forty steps, sometimes by a fifth and sometimes by more than half, and
 * the other one is not: of eighty values 48 have a spread of 10000. Compared with its slow peer a normal row
 * would be early, by 200000 to 600000, and that would determine the spread.
 */
static void two_that_are_slow_in_turn(void **state)
{
    enum { TWO = 2 };
    unsigned seed = 9;
    struct place place;
    assert_int_equal(place_init(&place, TWO, STEPS), 0);
    for (size_t row = 0; row < TWO; row++)
        for (size_t step = 0; step < STEPS; step++)
            place.value[row * STEPS + step] =
                1000000 + draw(&seed, 10000) + (step % 5 / 2 == row ? 200000 + rand_r(&seed) % 400000 : 0);
    int64_t sigma = place_measure(&place, TWO, 1, STEPS);
    assert_true(sigma < 2 * 10000);
    for (size_t row = 0; row < TWO; row++)
        for (size_t step = 1; step < STEPS; step++)
            assert_int_equal(place.value[row * STEPS + step] > 6 * sigma, step % 5 / 2 == row);
    place_release(&place);
}

/*
 * All but four of forty steps of one row of two or of five: the four are its baseline, as the others have
 * theirs.
 */
static void a_fault_in_most_steps(void **state)
{
    for (size_t rows = 2; rows <= RANKS; rows += RANKS - 2)
        for (int alike = 0; alike < 2; alike++) {
            unsigned seed = 10;
            struct place place;
            assert_int_equal(place_init(&place, rows, STEPS), 0);
            for (size_t row = 0; row < rows; row++)
                for (size_t step = 0; step < STEPS; step++)
                    place.value[row * STEPS + step] =
                        1000000 + draw(&seed, 10000) + (row == 1 && step > 4 ? 300000 : 0);
            int64_t sigma = alike ? place_measure_alike(&place, rows, 1, STEPS, 6, 2, NULL)
                                  : place_measure(&place, rows, 1, STEPS);
            for (size_t row = 0; row < rows; row++)
                for (size_t step = 1; step < STEPS; step++)
                    assert_int_equal(place.value[row * STEPS + step] > 6 * sigma, row == 1 && step > 4);
            place_release(&place);
        }
}

/*
 * If rows may differ by design, a row has only its own other steps: its baseline is what it does in most of
 * them.
 */
static void what_one_alone_mostly_does(void **state)
{
    unsigned seed = 11;
    struct place place;
    assert_int_equal(place_init(&place, 1, STEPS), 0);
    for (size_t step = 0; step < STEPS; step++)
        place.value[step] = 1000000 + draw(&seed, 10000) + (step > 4 ? 300000 : 0);
    int64_t sigma = place_measure_alike(&place, 1, 1, STEPS, 6, 2, NULL);
    for (size_t step = 1; step < STEPS; step++)
        assert_true(place.value[step] < 6 * sigma);
    place_release(&place);
}

/*
 * Rows that are slow in each step, and must be equal within six sigma. Returns whether the first stands out
 * in all.
 */
static int first_stands_out(const int64_t *rows, size_t count)
{
    struct place place;
    size_t out = 0;
    assert_int_equal(place_init(&place, count, STEPS), 0);
    for (size_t i = 0; i < count * STEPS; i++)
        place.value[i] = rows[i / STEPS];
    place_measure_alike(&place, count, 1, STEPS, 6, 1, NULL);
    for (size_t i = 0; i < count * STEPS; i++)
        if (i % STEPS && place.value[i] > 0) {
            assert_int_equal(i / STEPS, 0);
            out++;
        }
    place_release(&place);
    assert_true(out == 0 || out == STEPS - 1);
    return out > 0;
}

/* With at least four, and by more than six times 14: 1.4826 times the median deviation of 10, from 1000. */
static void beyond_the_spread_of_the_others(void **state)
{
    assert_true(first_stands_out((const int64_t[]){1085, 980, 990, 1000, 1010, 1020}, 6));
    assert_false(first_stands_out((const int64_t[]){1084, 980, 990, 1000, 1010, 1020}, 6));
    assert_true(first_stands_out((const int64_t[]){1001, 1000, 1000, 1000}, 4));
    assert_false(first_stands_out((const int64_t[]){9000, 1000, 1000}, 3));
}

/* If another one stands out, too: twice as far from the median as that one. */
static void twice_as_far_as_the_next(void **state)
{
    assert_true(first_stands_out((const int64_t[]){1800, 1400, 1000, 1000, 1000, 1000, 1000, 1000}, 8));
    assert_false(first_stands_out((const int64_t[]){1799, 1400, 1000, 1000, 1000, 1000, 1000, 1000}, 8));
}

/* Transfers of several sizes. */
struct sized {
    int64_t value[RANKS][STEPS];
    int64_t bytes[RANKS][STEPS];
    int64_t evened[RANKS][STEPS]; /* the durations that a size of `small` would have had */
    struct place place;           /* the result */
};

static int64_t measure_sized(struct sized *sized, int64_t small, size_t first_step)
{
    assert_int_equal(place_init(&sized->place, RANKS, STEPS), 0);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < STEPS; step++) {
            sized->place.value[rank * STEPS + step] = sized->value[rank][step];
            sized->place.bytes[rank * STEPS + step] = sized->bytes[rank][step];
            sized->evened[rank][step] =
                step < first_step ? 0 : sized->value[rank][step] * small / sized->bytes[rank][step];
        }
    return place_measure(&sized->place, RANKS, (int32_t)first_step, STEPS);
}

/* The smaller of the excess of the times and that of the times for a small size. */
static void check_sized(struct sized *sized, int64_t small, size_t first_step)
{
    measure_sized(sized, small, first_step);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = first_step; step < STEPS; step++) {
            int64_t plain = sized->value[rank][step] - usual_of(sized->value, rank, step, first_step);
            int64_t even = sized->evened[rank][step] - usual_of(sized->evened, rank, step, first_step);
            assert_in_range(sized->place.value[rank * STEPS + step] - (plain < even ? plain : even) + 1, 0,
                            2);
        }
    place_release(&sized->place);
}

static void fill_sized(struct sized *sized, unsigned seed)
{
    fill(sized->value, &seed, 20000);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < STEPS; step++)
            sized->bytes[rank][step] = 1024 << (step + rank) % 3;
}

static void more_data_takes_longer(void **state)
{
    struct sized sized;
    fill_sized(&sized, 11);
    check_sized(&sized, 1024, 1);
    /* Less than a tenth are smaller, and smaller ones in the warm-up do not count. */
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 0; step < 20; step++)
            sized.bytes[rank][step] = step < 10 ? 64 : step < 13 ? 256 : sized.bytes[rank][step];
    check_sized(&sized, 1024, 10);
}

/* If one size is unknown, sizes are not used. */
static void a_size_that_is_not_known(void **state)
{
    struct sized sized;
    fill_sized(&sized, 12);
    sized.bytes[3][20] = 0;
    assert_int_equal(place_init(&sized.place, RANKS, STEPS), 0);
    for (size_t i = 0; i < RANKS * STEPS; i++) {
        sized.place.value[i] = sized.value[i / STEPS][i % STEPS];
        sized.place.bytes[i] = sized.bytes[i / STEPS][i % STEPS];
    }
    place_measure(&sized.place, RANKS, 1, STEPS);
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t step = 1; step < STEPS; step++)
            assert_int_equal(sized.place.value[rank * STEPS + step],
                             sized.value[rank][step] - usual_of(sized.value, rank, step, 1));
    place_release(&sized.place);
}

static int64_t plain_sigma(int64_t value[RANKS][STEPS])
{
    struct place place;
    int64_t sigma = measure(value, &place, 1);
    place_release(&place);
    return sigma;
}

/* The smaller excess must stand out from the wider spread: that of the times, or that for a small size. */
static void sigma_of_several_sizes(void **state)
{
    for (int by_size = 0; by_size < 2; by_size++) {
        struct sized sized;
        fill_sized(&sized, 13);
        for (size_t i = 0; by_size && i < RANKS * STEPS; i++)
            sized.value[i / STEPS][i % STEPS] *= sized.bytes[i / STEPS][i % STEPS] / 1024;
        int64_t sigma = measure_sized(&sized, 1024, 1);
        int64_t plain = plain_sigma(sized.value), even = plain_sigma(sized.evened);
        assert_int_equal(plain > even, by_size);
        assert_int_equal(sigma, by_size ? plain : even);
        place_release(&sized.place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excess_is_by_definition),
        cmocka_unit_test(sigma_is_about_the_spread),
        cmocka_unit_test(a_fault_stands_out),
        cmocka_unit_test(what_all_do_and_what_one_always_does),
        cmocka_unit_test(one_unlike_the_others),
        cmocka_unit_test(two_unlike_the_others),
        cmocka_unit_test(two_that_are_slow_in_turn),
        cmocka_unit_test(a_fault_in_most_steps),
        cmocka_unit_test(what_one_alone_mostly_does),
        cmocka_unit_test(more_data_takes_longer),
        cmocka_unit_test(beyond_the_spread_of_the_others),
        cmocka_unit_test(twice_as_far_as_the_next),
        cmocka_unit_test(a_size_that_is_not_known),
        cmocka_unit_test(sigma_of_several_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
