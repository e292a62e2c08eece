#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* The loaded steps of a run of 40, and their numbers in the job, where a break takes one number. */

enum { STEPS = 40 };

static struct job make(void)
{
    static const struct job_excerpt some[] = {{0, 3, 0}, {10, 14, 0}, {15, 16, 0}, {38, 40, 0}};
    struct job job = {.step_count = STEPS};
    struct job_excerpt *excerpts = malloc(sizeof some);
    assert_non_null(excerpts);
    memcpy(excerpts, some, sizeof some);
    assert_int_equal(job_set_excerpts(&job, excerpts, sizeof some / sizeof *some), 0);
    return job;
}

/* The steps of the job as steps of the run; negative: a break before that step of the run. */
static const int32_t run_steps[] = {0, 1, 2, -3, 10, 11, 12, 13, -14, 15, -16, 38, 39};

enum { LOADED = sizeof run_steps / sizeof *run_steps };

static void steps_have_numbers_without_gaps(void **state)
{
    struct job job = make();
    (void)state;
    assert_int_equal(job.step_count, LOADED);
    assert_int_equal(job_run_steps(&job), STEPS);
    assert_int_equal(job_loaded_steps(&job), 10);
    for (int32_t step = 0; step < LOADED; step++) {
        assert_int_equal(job_is_break(&job, step), run_steps[step] < 0);
        assert_int_equal(job_run_step(&job, step), abs(run_steps[step]));
    }
    assert_int_equal(job_run_step(&job, -1), -1);
    job_release(&job);
}

static void what_is_not_loaded_has_no_number(void **state)
{
    struct job job = make();
    (void)state;
    for (int64_t run_step = -2; run_step < STEPS + 2; run_step++) {
        int32_t expected = -1;
        for (int32_t step = 0; step < LOADED; step++)
            if (run_steps[step] == run_step)
                expected = step;
        assert_int_equal(job_loaded_step(&job, run_step), expected);
    }
    assert_int_equal(job_loaded_step(&job, INT64_MAX), -1);
    assert_int_equal(job_loaded_step(&job, (INT64_C(1) << 32) + 1), -1);
    job_release(&job);
}

static void breaks_are_counted(void **state)
{
    struct job job = make();
    (void)state;
    for (int32_t first = 0; first < LOADED; first++) {
        int32_t breaks = 0;
        for (int32_t last = first; last < LOADED; last++) {
            breaks += run_steps[last] < 0;
            assert_int_equal(job_breaks_in(&job, first, last), breaks);
        }
    }
    assert_int_equal(job_breaks_in(&job, -1, 5), 0);
    assert_int_equal(job_breaks_in(&job, 5, -1), 0);
    job_release(&job);
}

static void periods_count_by_the_numbers_of_the_run(void **state)
{
    struct job job = make();
    (void)state;
    for (int32_t step = 0; step < LOADED; step++)
        assert_int_equal(job.step_numbers[step], run_steps[step] < 0 ? -1 : run_steps[step]);
    job_release(&job);
}

static void a_run_that_is_loaded_whole_keeps_its_numbers(void **state)
{
    struct job job = {.step_count = STEPS};
    (void)state;
    for (int32_t step = -1; step < STEPS; step++) {
        assert_int_equal(job_loaded_step(&job, step), step);
        assert_int_equal(job_run_step(&job, step), step);
        assert_false(job_is_break(&job, step));
    }
    assert_int_equal(job_loaded_step(&job, STEPS), -1);
    assert_int_equal(job_breaks_in(&job, 0, STEPS - 1), 0);
    assert_int_equal(job_loaded_steps(&job), STEPS);
    assert_int_equal(job_run_steps(&job), STEPS);
    assert_null(job.step_numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_numbers_without_gaps),
        cmocka_unit_test(what_is_not_loaded_has_no_number),
        cmocka_unit_test(breaks_are_counted),
        cmocka_unit_test(periods_count_by_the_numbers_of_the_run),
        cmocka_unit_test(a_run_that_is_loaded_whole_keeps_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
