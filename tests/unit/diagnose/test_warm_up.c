#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* The steps of a job, normally of 10 ns, of which step 0 is warm-up: returns how many after it are, too. */
static int32_t started(int64_t *step_ns)
{
    struct baseline baseline = {.first_step = 1, .step_count = 8, .step_ns = step_ns, .median_step_ns = 10};
    assert_int_equal(warm_up_find_first(&baseline), 0);
    assert_int_equal(baseline.warm_up_count, baseline.started_step - 1);
    for (size_t i = 0; i < baseline.warm_up_count; i++)
        assert_int_equal(baseline.warm_up[i], i + 1);
    free(baseline.warm_up);
    return baseline.started_step;
}

/* They take more than twice the baseline, at most four of them: what continues longer belongs to the job. */
static void long_steps_that_a_job_begins_with(void **state)
{
    assert_int_equal(started((int64_t[]){90, 10, 10, 10, 10, 10, 10, 10}), 1);
    assert_int_equal(started((int64_t[]){90, 21, 10, 10, 10, 10, 10, 10}), 1);
    assert_int_equal(started((int64_t[]){90, 22, 10, 10, 10, 10, 10, 10}), 2);
    assert_int_equal(started((int64_t[]){90, 90, 30, 10, 90, 10, 10, 10}), 3);
    assert_int_equal(started((int64_t[]){90, 90, 90, 90, 90, 10, 10, 10}), 5);
    assert_int_equal(started((int64_t[]){90, 90, 90, 90, 90, 90, 10, 10}), 1);
    assert_int_equal(started((int64_t[]){90, TIME_UNKNOWN, 90, 10, 10, 10, 10, 10}), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_steps_that_a_job_begins_with)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
