#include "job/internal.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* Blocks of steps of a run, and the loaded steps of each. */

enum { STEPS = 40, MOST_ROWS = 8 };

static struct job load(const struct step_rows *rows, size_t row)
{
    struct job job = {.step_count = STEPS, .first_step = rows->first_step};
    size_t count;
    struct job_excerpt *excerpts = step_row_excerpts(rows, row, &count);
    assert_non_null(excerpts);
    assert_int_equal(excerpts[0].first, 0);
    if (count == 2)
        assert_true(excerpts[0].end < excerpts[1].first);
    assert_int_equal(job_set_excerpts(&job, excerpts, count), 0);
    return job;
}

static int is_loaded(const struct job *job, int32_t run_step)
{
    return run_step < 0 || run_step >= STEPS || job_loaded_step(job, run_step) >= 0;
}

/* How often each step is in a block, and its context; [STEPS]: how many have none. */
static void count_steps(const struct step_rows *rows, int *times)
{
    for (size_t row = 0; row < rows->count; row++) {
        struct job job = load(rows, row);
        int32_t first, end;
        step_row_steps(rows, row, &job, &first, &end);
        times[STEPS] += first <= -1 && -1 < end;
        for (int32_t step = 0; step < STEPS; step++) {
            int32_t at = job_loaded_step(&job, step);
            if (at < 0 || at < first || at >= end)
                continue;
            times[step]++;
            assert_true(is_loaded(&job, step - 1));
            assert_true(is_loaded(&job, step + 1));
        }
        for (int32_t step = 0; step <= rows->first_step && step < STEPS; step++)
            assert_true(is_loaded(&job, step));
        job_release(&job);
    }
}

static void each_step_is_in_one_row_and_not_alone(void **state)
{
    static const int32_t cuts[][MOST_ROWS] = {
        {40}, {1, 40}, {39, 40}, {1, 2, 3, 4, 40}, {2, 4, 40}, {13, 26, 40}, {36, 37, 38, 39, 40}};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        for (int32_t first_step = 0; first_step <= STEPS; first_step += first_step < 3 ? 1 : 12) {
            int32_t ends[MOST_ROWS];
            struct step_rows rows = {.ends = ends, .first_step = first_step};
            while (rows.count < MOST_ROWS && cuts[i][rows.count]) {
                ends[rows.count] = cuts[i][rows.count];
                rows.count++;
            }
            int times[STEPS + 1] = {0};
            count_steps(&rows, times);
            for (int32_t step = 0; step <= STEPS; step++)
                assert_int_equal(times[step], 1);
        }
}

static int64_t needed(int64_t each, int32_t steps, int64_t with_each, int64_t most)
{
    const struct step_sizes sizes = {.in_steps = each * steps, .with_each = with_each, .step_count = steps};
    return step_rows_needed(&sizes, most);
}

/*
 * A block has space for what is left of the memory besides the steps that are loaded with each, and three
 * steps.
 */
static void rows_are_as_few_as_memory_holds(void **state)
{
    (void)state;
    assert_int_equal(needed(99, 1000, 0, 1000000), 1);
    assert_int_equal(needed(99, 1000, 0, 99300), 2);
    assert_int_equal(needed(99, 1000, 4700, 15000), 10);
}

/* Each block takes a pass over the whole run. */
static void rows_are_few_whatever_is_loaded_with_each(void **state)
{
    (void)state;
    assert_int_equal(needed(99, 1000, 1000000, 15000), 99000 / (15000 / 4) + 1);
    assert_int_equal(needed(5000, 1000, 1000000, 15000), 1000);
    assert_int_equal(needed(50000, 4, 0, 15000), 4);
    assert_int_equal(needed(0, 4, 0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_in_one_row_and_not_alone),
        cmocka_unit_test(rows_are_as_few_as_memory_holds),
        cmocka_unit_test(rows_are_few_whatever_is_loaded_with_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
