#include "analyse/tails.h"

#include "support/cmocka_all.h"

/*
 * Two ranks that call one function once a step on a communicator of their own, rank 1 in its first steps
 * only; from which step on it lacks what was done with it.
 */
enum { RANKS = 2, STEPS = 6 };

static int32_t tail_of(uint8_t function, int steps, int finished_only)
{
    struct job_rank ranks[RANKS];
    struct job_operation operations[2 * STEPS];
    struct job_instance instances[STEPS];
    struct job job = {.ranks = ranks,
                      .rank_count = RANKS,
                      .operations = operations,
                      .instances = instances,
                      .instance_count = STEPS,
                      .finished_only = finished_only};
    for (int32_t rank = 0; rank < RANKS; rank++)
        for (int32_t step = 0; step < (rank ? steps : STEPS); step++) {
            instances[step] = (struct job_instance){.function = function, .sequence = step, .step = step};
            operations[job.operation_count++] =
                (struct job_operation){.rank = rank, .instance = step, .step = step, .function = function};
        }
    assert_int_equal(job_find_tails(&job), 0);
    assert_int_equal(ranks[0].tail_step, INT32_MAX);
    return ranks[1].tail_step;
}

/* One operation more is what a rank that stopped leaves to the others; two show that it took part in one. */
static void where_the_record_ends_before_the_others(void **state)
{
    assert_int_equal(tail_of(FUNCTION_ALL_REDUCE, STEPS, 0), INT32_MAX);
    assert_int_equal(tail_of(FUNCTION_ALL_REDUCE, STEPS - 1, 0), INT32_MAX);
    assert_int_equal(tail_of(FUNCTION_ALL_REDUCE, STEPS - 2, 0), 3);
    assert_int_equal(tail_of(FUNCTION_ALL_REDUCE, 1, 0), 0);
    assert_int_equal(tail_of(FUNCTION_BROADCAST, 1, 0), INT32_MAX);
    assert_int_equal(tail_of(FUNCTION_ALL_REDUCE, 1, 1), INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(where_the_record_ends_before_the_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
