#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/*
 * Two ranks that call a function once per step on each of two communicators. Only some steps of rank 1's
 * operations on each are recorded; rank 0's GPU began the given number of operations. Returns from which step
 * on rank 1 lacks something.
 */
enum { RANKS = 2, STEPS = 6, COMMUNICATORS = 2, EACH = STEPS * COMMUNICATORS };

struct played {
    uint8_t function;
    int recorded[COMMUNICATORS];
    int began;
    int finished_only;
};

static int32_t tail_of(struct played played)
{
    struct job_rank ranks[RANKS] = {{0}};
    struct job_operation operations[RANKS * EACH];
    struct job_instance instances[EACH];
    struct job job = {.ranks = ranks,
                      .rank_count = RANKS,
                      .communicator_count = COMMUNICATORS,
                      .operations = operations,
                      .instances = instances,
                      .instance_count = EACH,
                      .finished_only = (uint8_t)played.finished_only};
    for (int32_t rank = 0; rank < RANKS; rank++) {
        ranks[rank].first = job.operation_count;
        for (int32_t i = 0, last = -1; i < EACH; i++) {
            int32_t step = i / COMMUNICATORS, communicator = i % COMMUNICATORS;
            instances[i] = (struct job_instance){.function = played.function, .sequence = step, .step = step};
            if (rank && step >= played.recorded[communicator])
                continue;
            operations[job.operation_count] =
                (struct job_operation){.rank = rank,
                                       .instance = i,
                                       .communicator = communicator,
                                       .step = step,
                                       .function = played.function,
                                       .previous = last,
                                       .start_ns = rank || i < played.began ? i : TIME_UNKNOWN};
            last = (int32_t)job.operation_count++;
            ranks[rank].count++;
        }
    }
    struct extents extents;
    assert_int_equal(extents_init(&extents, &job), 0);
    job_find_tails(&job, &extents);
    extents_release(&extents);
    assert_int_equal(ranks[0].tail_step, INT32_MAX);
    return ranks[1].tail_step;
}

static int32_t tail_where(int first, int second)
{
    return tail_of(
        (struct played){.function = FUNCTION_ALL_REDUCE, .recorded = {first, second}, .began = EACH});
}

/* Rank 1 took part in operations that the other rank got past; no rank got past the last one. */
static void where_the_record_ends_before_the_others(void **state)
{
    assert_int_equal(tail_where(STEPS, STEPS), INT32_MAX);
    assert_int_equal(tail_where(STEPS, STEPS - 1), INT32_MAX);
    assert_int_equal(tail_where(STEPS, STEPS - 2), 3);
    assert_int_equal(tail_where(STEPS, 1), 0);
    assert_int_equal(tail_where(2, 3), 1);
    assert_int_equal(tail_where(3, 2), 1);
}

/* Hosts enqueue ahead: this shows no progress. */
static void not_where_the_other_one_waits(void **state)
{
    struct played played = {.function = FUNCTION_ALL_REDUCE, .recorded = {2, 2}, .began = 5};
    assert_int_equal(tail_of(played), INT32_MAX);
    played.began = 6;
    assert_int_equal(tail_of(played), 1);
}

static void not_where_it_does_not_tell(void **state)
{
    assert_int_equal(
        tail_of((struct played){.function = FUNCTION_BROADCAST, .recorded = {1, 1}, .began = EACH}),
        INT32_MAX);
    assert_int_equal(
        tail_of((struct played){
            .function = FUNCTION_ALL_REDUCE, .recorded = {1, 1}, .began = EACH, .finished_only = 1}),
        INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(where_the_record_ends_before_the_others),
                                       cmocka_unit_test(not_where_the_other_one_waits),
                                       cmocka_unit_test(not_where_it_does_not_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
