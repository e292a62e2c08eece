#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <stdlib.h>

/* Ranks that came late by themselves, and how much of that is sure to be theirs. */

/* The only one there is; releases the job. */
static struct suspect suspicion_of(struct small *small)
{
    struct suspects suspects = {0};
    struct error error = ERROR_INIT;
    const struct baseline baseline = {.first_step = 1, .step_count = STEPS, .median_step_ns = 10000};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    assert_int_equal(suspect_own(&suspects, &small->job, &baseline, &options, &error), 0);
    assert_int_equal(suspects.count, 1);
    struct suspect suspect = suspects.items[0];
    free(suspects.items);
    small_release(small);
    return suspect;
}

/*
 * Rank 1 is late by 1000 before the first operation of steps 1 to 3, by its host or not, and by 1500 before
 * the second, whose own time nobody knows and which had been enqueued long before: that does not say whose it
 * is.
 */
static enum finding_kind kind_where(int by_host)
{
    struct small small;
    small_init(&small);
    for (int step = 1; step <= 3; step++) {
        struct job_operation *known = at(&small, 1, step, 0), *hidden = at(&small, 1, step, 1);
        known->excess_ns = 1000;
        known->late_beyond_ns = by_host ? 900 : 0;
        hidden->excess_ns = 1500;
        hidden->own_ns = TIME_UNKNOWN;
        hidden->start_ns = 50000;
        hidden->enqueued_ns = 0;
    }
    return suspicion_of(&small).kind;
}

static void known_own_time_says_whose_it_is(void **state)
{
    assert_int_equal(kind_where(1), FINDING_HOST);
    assert_int_equal(kind_where(0), FINDING_COMPUTE);
}

/*
 * Late by 1000 of its own before the first operation of steps 1 to 3; who waits for it in the second, which
 * is on another communicator, waits for 1500 that nobody knows the origin of: 1000 of it are known already.
 * On the same communicator they met since, and it is 1500 more.
 */
static int64_t late_where(int32_t communicator, int64_t hidden_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 0; step < STEPS; step++)
        at(&small, 1, step, 1)->communicator = communicator;
    for (int step = 1; step <= 3; step++) {
        at(&small, 1, step, 0)->excess_ns = 1000;
        at(&small, 1, step, 1)->hidden_ns = hidden_ns;
        at(&small, 1, step, 1)->own_ns = TIME_UNKNOWN;
    }
    return suspicion_of(&small).total_ns / 3;
}

static void hidden_lateness_counts_once(void **state)
{
    assert_int_equal(late_where(1, 1500), 1500);
    assert_int_equal(late_where(0, 1500), 2500);
    assert_int_equal(late_where(1, 600), 1000);
    /* More than four times what is known is not this rank's. */
    assert_int_equal(late_where(1, 4001), 1000);
}

static int is_doubtful_after_groups(uint8_t ends, int finished_only)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = finished_only;
    small_group(&small, FUNCTION_SEND, ends);
    for (int step = 1; step <= 3; step++)
        at(&small, 1, step, 0)->excess_ns = 1000;
    return suspicion_of(&small).ambiguous;
}

/* Late in three steps in a row after calls whose last to end nobody knows. */
static void own_time_after_a_call_with_an_open_end(void **state)
{
    assert_true(is_doubtful_after_groups(ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_KERNEL, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_HOST, 0));
}

/*
 * Rank 1 is late after an operation in step 2, and so in step 3, or not; and by three times as much in one
 * whose own time nobody knows, which says nothing by itself.
 */
static int is_doubtful_after(uint8_t function, uint8_t ends, int steps)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step < 2 + steps; step++) {
        struct job_operation *before = at(&small, 1, step, 0), *late = at(&small, 1, step, 1);
        before->function = function;
        before->ends = ends;
        before->own_ns = TIME_UNKNOWN;
        before->start_ns = 50000;
        before->enqueued_ns = 0;
        before->hidden_ns = 3000;
        late->excess_ns = 1000;
    }
    return suspicion_of(&small).ambiguous;
}

/* In one step alone it may as well have waited for a send or a receive that was not over yet. */
static void own_time_after_a_rough_end(void **state)
{
    assert_true(is_doubtful_after(FUNCTION_SEND, ENDS_BY_HOST, 1));
    assert_true(is_doubtful_after(FUNCTION_SEND, ENDS_BY_PROXY, 1));
    assert_true(is_doubtful_after(FUNCTION_RECV, ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after(FUNCTION_RECV, ENDS_BY_PROXY, 1));
    assert_false(is_doubtful_after(FUNCTION_SEND, ENDS_BY_KERNEL, 1));
    assert_false(is_doubtful_after(FUNCTION_ALL_REDUCE, ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after(FUNCTION_SEND, ENDS_BY_HOST, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_own_time_says_whose_it_is),
        cmocka_unit_test(hidden_lateness_counts_once),
        cmocka_unit_test(own_time_after_a_call_with_an_open_end),
        cmocka_unit_test(own_time_after_a_rough_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
