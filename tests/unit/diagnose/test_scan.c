#include "diagnose/score.h"

#include "support/cmocka_all.h"

#include <math.h>

/*
 * Sets of steps for which a row of residuals is evidence: 40 steps, in sigma; about one where nothing is
 * wrong.
 */

enum { STEPS = 40 };
static const double TAIL = 2;

/* Noise without a period: independent in each step. */
static void quiet(double *row)
{
    static const double noise[] = {0.3, -0.8, 0.1, 0.9, -0.2, -1.1, 0.6, 0.0, -0.4, 0.7, -0.6, 0.2, 1.0};
    for (int step = 0; step < STEPS; step++)
        row[step] = noise[step * step % 13];
}

static struct step_set best_of(const double *row)
{
    struct step_set best;
    assert_int_equal(scan_row(row, NULL, STEPS, TAIL, &best), 0);
    return best;
}

static void assert_set(struct step_set set, int first, int last, int period)
{
    assert_int_equal(set.first, first);
    assert_int_equal(set.last, last);
    assert_int_equal(set.period, period);
}

static void an_interval(void **state)
{
    double row[STEPS];
    quiet(row);
    for (int step = 12; step <= 17; step++)
        row[step] += 9;
    struct step_set set = best_of(row);
    assert_set(set, 12, 17, 1);
    assert_true(set.size > 7 && set.size < 12);
}

/* Of the recurring sets, the one with the shortest period has the most occurrences. */
static void a_period_and_its_phase(void **state)
{
    for (int phase = 1; phase < 6; phase += 2) {
        double row[STEPS];
        quiet(row);
        int last = phase;
        for (int step = phase; step < STEPS; step += 6) {
            row[step] += 12;
            last = step;
        }
        assert_set(best_of(row), phase, last, 6);
    }
}

/*
 * If steps are missing, a period counts them, too; and steps at one distance among the remaining ones are no
 * set.
 */
static void a_period_goes_by_numbers(void **state)
{
    double row[STEPS];
    int32_t numbers[STEPS];
    (void)state;
    /*
     * 0 to 9, 17 to 26, 34 to 43, 51 to 57, with one number missing between steps: seven are missing each
     * time.
     */
    for (int step = 0; step < STEPS; step++)
        numbers[step] = step % 11 == 10 ? -1 : step / 11 * 17 + step % 11;
    quiet(row);
    for (int step = 0; step < STEPS; step++)
        if (numbers[step] < 0)
            row[step] = NAN;
        else if (numbers[step] % 5 == 3)
            row[step] += 12;
    struct step_set set;
    assert_int_equal(scan_row(row, numbers, STEPS, TAIL, &set), 0);
    assert_int_equal(numbers[set.first], 3);
    assert_int_equal(numbers[set.last], 53);
    assert_int_equal(set.period, 5);
    int count = 0;
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(step_set_has(&set, step), numbers[step] >= 0 && numbers[step] % 5 == 3);
        count += numbers[step] >= 0 && numbers[step] % 5 == 3;
    }
    assert_int_equal(step_set_count(&set), count);
    double score = set.score;
    scan_set(row, TAIL, &set);
    assert_true(fabs(set.score - score) < 1e-9);
}

/* One or two steps are no set, however strong; three are. */
static void three_occurrences(void **state)
{
    double row[STEPS];
    quiet(row);
    row[20] += 30;
    row[21] += 30;
    assert_true(best_of(row).score < 5);
    row[22] += 30;
    assert_set(best_of(row), 20, 22, 1);
}

/* More than three quarters of the steps leave none for a baseline: the best set is shorter. */
static void not_all_steps(void **state)
{
    double row[STEPS];
    for (int step = 0; step < STEPS; step++)
        row[step] = 10;
    struct step_set set = best_of(row);
    assert_true(set.last - set.first + 1 <= STEPS * 3 / 4);
}

/* The penalty for the number of sets exceeds what noise reaches. */
static void noise_pays_more_than_it_says(void **state)
{
    double row[STEPS];
    quiet(row);
    assert_true(best_of(row).score < scan_sets(STEPS));
    assert_true(scan_sets(2 * STEPS) > scan_sets(STEPS) + log(3));
}

/* Unknown steps are neither evidence nor do they break a set. */
static void gaps(void **state)
{
    double row[STEPS];
    quiet(row);
    for (int step = 12; step <= 17; step++)
        row[step] += 9;
    double whole = best_of(row).score;
    row[14] = NAN;
    struct step_set set = best_of(row);
    assert_set(set, 12, 17, 1);
    assert_true(set.score < whole && set.score > whole / 2);
}

/*
 * For one step x and a size m: (nu + 1) / 2 times the difference of log(1 + x^2 / nu) and log(1 + (x - m)^2 /
 * nu).
 */
static void the_score_of_a_set(void **state)
{
    double row[STEPS] = {[5] = 1.5, [7] = 1.5};
    struct step_set set = {.first = 5, .last = 7, .period = 2};
    scan_set(row, TAIL, &set);
    assert_true(fabs(set.size - 1.5) < 1e-9);
    assert_true(fabs(set.score - 2 * 1.5 * log1p(2.25 / 2)) < 1e-9);
}

/* Where sizes differ, the mean of the ratios over all sizes counts, and no single size explains the steps. */
static void a_size_that_differs(void **state)
{
    static const double sizes[] = {4, 90, 14, 250, 5, 40};
    double row[STEPS], one_size = 0;
    quiet(row);
    for (int step = 0; step < 6; step++)
        row[12 + step] = sizes[step];
    struct step_set set = best_of(row);
    assert_set(set, 12, 17, 1);
    assert_true(fabs(set.size - (4 + 90 + 14 + 250 + 5 + 40) / 6.0) < 1e-9);
    double size = 1;
    while (size < 512) {
        double score = 0;
        for (int step = 12; step <= 17; step++) {
            double left = row[step] - size;
            score += 1.5 * (log1p(row[step] * row[step] / 2) - log1p(left * left / 2));
        }
        one_size = fmax(one_size, score);
        size *= 1.5;
    }
    assert_true(set.score > one_size);
}

/* Noise after a fault of six steps, far less than in any of these. */
static void noise_beside_sizes_that_differ(void **state)
{
    double row[STEPS];
    quiet(row);
    for (int step = 12; step <= 17; step++)
        row[step] = step % 3 ? 60 : 300;
    row[18] = row[19] = 6;
    assert_set(best_of(row), 12, 17, 1);
}

enum { ROWS = 4, LENGTH = 8 };

/* Rows in which each value, with a standard deviation of one, lasts for `lasts` steps. */
static void rows_that_last(double rows[ROWS][STEPS], int lasts)
{
    uint32_t seed = 1;
    for (int row = 0; row < ROWS; row++)
        for (int step = 0; step < STEPS; step++) {
            double sum = 0;
            for (int i = 0; i < 12 && step % lasts == 0; i++) {
                seed = seed * 1664525 + 1013904223;
                sum += seed / 4294967296.0;
            }
            rows[row][step] = step % lasts ? rows[row][step - 1] : sum - 6;
        }
}

/* Of a set with a mean of `size` in the row. */
static double related_score_of(double size, const struct step_set *set, int lasts, size_t count)
{
    double row[STEPS] = {0}, rows[ROWS][STEPS], list[ROWS * STEPS];
    rows_that_last(rows, lasts);
    for (int step = set->first; step <= set->last; step++)
        row[step] = size;
    return scan_related_score(row, set, rows[0], count, STEPS, TAIL, list);
}

static double related_score(const struct step_set *set, int lasts, size_t count)
{
    return related_score_of(2, set, lasts, count);
}

/* Eight steps of noise that lasts for eight steps say as much as one; of independent noise, as much as eight.
 */
static void noise_that_lasts(void **state)
{
    const struct step_set set = {.score = 80, .size = 12, .first = 10, .last = 17, .period = 1};
    assert_true(related_score(&set, 1, ROWS) >= 40);
    double once = related_score(&set, LENGTH, ROWS);
    assert_true(once >= 5 && once <= 20);
    assert_true(related_score(&set, 2, ROWS) > once);
}

/* The greatest mean of eight steps of these rows is about 2; noise does not make five times that. */
static void what_is_far_ahead_of_noise(void **state)
{
    const struct step_set set = {.score = 80, .size = 12, .first = 10, .last = 17, .period = 1};
    assert_true(related_score_of(5, &set, LENGTH, ROWS) <= 20);
    assert_true(related_score_of(20, &set, LENGTH, ROWS) == 80);
}

/* Half of the steps leaves as many for another time; more does not. */
static void steps_that_leave_room(void **state)
{
    struct step_set set = {.score = 80, .size = 12, .first = 4, .last = 3 + STEPS / 2, .period = 1};
    assert_true(related_score_of(30, &set, LENGTH, ROWS) == 80);
    set.last++;
    assert_true(related_score_of(30, &set, LENGTH, ROWS) < 80);
}

/* The score of a set of `row` with a mean of 10, without other rows. */
static double score_alone(double row[STEPS], const struct step_set *set)
{
    double list[STEPS];
    for (int step = set->first; step <= set->last; step++)
        row[step] = 10;
    return scan_related_score(row, set, NULL, 0, STEPS, TAIL, list);
}

/* Without others, the other steps of the row tell how its noise is related: late or early for a while. */
static void other_steps_of_the_row(void **state)
{
    const struct step_set set = {.score = 80, .size = 12, .first = 10, .last = 17, .period = 1};
    double quiet_row[STEPS] = {0}, early[STEPS] = {0}, late[STEPS] = {0};
    for (int step = 18; step < STEPS; step++) {
        early[step] = step < 29 ? -5 : 0;
        late[step] = step < 29 ? 5 : 0;
    }
    assert_true(score_alone(quiet_row, &set) == 80);
    assert_true(score_alone(early, &set) < 20);
    assert_true(score_alone(late, &set) < 20);
}

/* Where hardly any other steps are known, nothing is certain. */
static void no_other_steps(void **state)
{
    const struct step_set set = {.score = 80, .size = 12, .first = 3, .last = STEPS - 3, .period = 1};
    double row[STEPS] = {0};
    assert_true(score_alone(row, &set) == 0);
}

/* Steps that recur lie apart; one other row may be the mirror image of the fault. */
static void noise_that_is_not_related(void **state)
{
    struct step_set set = {.score = 80, .size = 12, .first = 10, .last = 17, .period = 1};
    assert_true(related_score(&set, LENGTH, 1) == 80);
    set.period = 2;
    assert_true(related_score(&set, LENGTH, ROWS) == 80);
}

/* Noise spreads the mean of eight steps by one: a mean of six says more than the steps as one, not more than
 * all. */
static void a_mean_is_one_value(void **state)
{
    const struct step_set set = {.score = 8, .size = 12, .first = 10, .last = 17, .period = 1};
    double two = related_score_of(2, &set, LENGTH, ROWS), six = related_score_of(6, &set, LENGTH, ROWS);
    assert_true(six > two && six <= 8);
    assert_true(six > related_score_of(6, &set, LENGTH, 3));
}

/* One value of e times the greatest of the others: odds of e to the power of the tail. */
static void a_single_step(void **state)
{
    double row[STEPS] = {0}, greatest = 3;
    unsigned char marks[STEPS];
    struct step_set set;
    row[7] = greatest * exp(1);
    assert_float_equal(scan_peaks(row, STEPS, greatest, 8, TAIL, marks, &set), TAIL, 1e-9);
    assert_set(set, 7, 7, 1);
    assert_int_equal(step_set_count(&set), 1);
    row[7] = greatest;
    assert_float_equal(scan_peaks(row, STEPS, greatest, 8, TAIL, marks, &set), 0, 0);
}

/*
 * Two separate steps: the sum of both excesses is exceeded with a chance of e^-x (1 + x), and both are of one
 * of eight rows with a chance of 1 / 8. A step beside another one counts once.
 */
static void separate_steps(void **state)
{
    double row[STEPS] = {0}, greatest = 3, x = 2 * TAIL;
    unsigned char marks[STEPS];
    struct step_set set;
    row[7] = row[20] = greatest * exp(1);
    double two = scan_peaks(row, STEPS, greatest, 8, TAIL, marks, &set);
    assert_float_equal(two, x - log(1 + x) + log(8), 1e-9);
    assert_set(set, 7, 20, 1);
    assert_int_equal(step_set_count(&set), 2);
    assert_false(step_set_has(&set, 8));
    row[8] = row[7];
    assert_float_equal(scan_peaks(row, STEPS, greatest, 8, TAIL, marks, &set), two, 1e-9);
    assert_int_equal(step_set_count(&set), 3);
    row[8] = NAN;
    assert_float_equal(scan_peaks(row, STEPS, greatest, 8, TAIL, marks, &set), two, 1e-9);
}

/* The terms of a long sum are greater than any number. */
static void very_many_steps(void **state)
{
    enum { MANY = 4000 };
    static double row[MANY];
    static unsigned char marks[MANY];
    struct step_set set;
    for (int step = 0; step < MANY; step += 2)
        row[step] = 30;
    double odds = scan_peaks(row, MANY, 3, 8, TAIL, marks, &set);
    assert_true(isfinite(odds) && odds > 2000);
}

/* Several ranks: a value far beyond the noise says more than that of one rank, many small values do not. */
static void several_ranks_count_more_only_in_the_tail(void **state)
{
    double row[STEPS] = {0};
    struct step_set one = {.first = 10, .last = 29, .period = 1}, several = one;
    for (int step = 10; step < 30; step++)
        row[step] = 1.2;
    scan_set(row, SCAN_TAIL_OWN, &one);
    scan_set(row, SCAN_TAIL_SEVERAL, &several);
    assert_true(several.score < one.score * 1.1);
    for (int step = 10; step < 30; step++)
        row[step] = 50;
    scan_set(row, SCAN_TAIL_OWN, &one);
    scan_set(row, SCAN_TAIL_SEVERAL, &several);
    assert_true(several.score > one.score * 1.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_interval),
                                       cmocka_unit_test(several_ranks_count_more_only_in_the_tail),
                                       cmocka_unit_test(a_mean_is_one_value),
                                       cmocka_unit_test(a_single_step),
                                       cmocka_unit_test(separate_steps),
                                       cmocka_unit_test(very_many_steps),
                                       cmocka_unit_test(a_period_and_its_phase),
                                       cmocka_unit_test(a_period_goes_by_numbers),
                                       cmocka_unit_test(three_occurrences),
                                       cmocka_unit_test(not_all_steps),
                                       cmocka_unit_test(noise_pays_more_than_it_says),
                                       cmocka_unit_test(gaps),
                                       cmocka_unit_test(the_score_of_a_set),
                                       cmocka_unit_test(a_size_that_differs),
                                       cmocka_unit_test(noise_beside_sizes_that_differ),
                                       cmocka_unit_test(noise_that_lasts),
                                       cmocka_unit_test(what_is_far_ahead_of_noise),
                                       cmocka_unit_test(other_steps_of_the_row),
                                       cmocka_unit_test(no_other_steps),
                                       cmocka_unit_test(steps_that_leave_room),
                                       cmocka_unit_test(noise_that_is_not_related)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
