#include "hang/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/*
 * Two communicators in turn on one rank; in every step communicator 0 has four calls: an AllReduce of 4, an
 * AllGather of 8, an AllReduce of 4, a Broadcast of 1.
 */
enum { STEPS = 5, A_STEP = 8, OPERATIONS = STEPS * A_STEP };

static const struct {
    uint8_t function;
    int64_t bytes;
} CALLS[A_STEP / 2] = {
    {FUNCTION_ALL_REDUCE, 4}, {FUNCTION_ALL_GATHER, 8}, {FUNCTION_ALL_REDUCE, 4}, {FUNCTION_BROADCAST, 1}};

struct rank {
    struct job job;
    struct job_rank ranks[2];
    struct job_operation operations[OPERATIONS];
    int32_t positions[OPERATIONS];
};

static void rank_init(struct rank *rank, int has_positions)
{
    *rank = (struct rank){.ranks = {{.count = 0}, {.count = OPERATIONS}}};
    rank->job = (struct job){.ranks = rank->ranks, .rank_count = 2, .operations = rank->operations};
    for (int32_t i = 0; i < OPERATIONS; i++)
        rank->positions[i] = has_positions ? i % A_STEP : -1;
    for (int32_t i = 0; i < OPERATIONS; i++)
        rank->operations[i] = (struct job_operation){.rank = 1,
                                                     .communicator = i % 2,
                                                     .function = CALLS[i % A_STEP / 2].function,
                                                     .bytes = CALLS[i % A_STEP / 2].bytes};
}

static void what_always_follows(void **state)
{
    struct rank rank;
    rank_init(&rank, 1);
    for (int32_t i = A_STEP + 2; i < OPERATIONS; i++)
        assert_int_equal(call_pattern_at(&rank.job, rank.positions, i), CALL_PATTERN_KEPT);
}

static void another_size_or_function(void **state)
{
    struct rank rank;
    for (int32_t place = 0; place < A_STEP; place += 2)
        for (int32_t what = 0; what < 2; what++) {
            int32_t at = 3 * A_STEP + place;
            rank_init(&rank, 1);
            if (what)
                rank.operations[at].bytes *= 2;
            else
                rank.operations[at].function = FUNCTION_REDUCE;
            assert_int_equal(call_pattern_at(&rank.job, rank.positions, at), CALL_PATTERN_BROKEN);
        }
}

/* In place of an omitted call, the call comes that usually follows it. */
static void a_call_left_out(void **state)
{
    struct rank rank;
    rank_init(&rank, 1);
    for (int32_t i = 3 * A_STEP + 2; i < OPERATIONS - 2; i++) {
        rank.operations[i] = rank.operations[i + 2];
        rank.positions[i] = rank.positions[i + 2];
    }
    assert_int_equal(call_pattern_at(&rank.job, rank.positions, 3 * A_STEP + 2), CALL_PATTERN_BROKEN);
}

/* Without positions, an AllReduce of 4 is followed by an AllGather as often as by a Broadcast. */
static void without_positions(void **state)
{
    struct rank rank;
    rank_init(&rank, 0);
    assert_int_equal(call_pattern_at(&rank.job, rank.positions, 3 * A_STEP), CALL_PATTERN_KEPT);
    assert_int_equal(call_pattern_at(&rank.job, rank.positions, 3 * A_STEP + 2), CALL_PATTERN_UNKNOWN);
    rank.operations[3 * A_STEP].bytes = 8;
    assert_int_equal(call_pattern_at(&rank.job, rank.positions, 3 * A_STEP), CALL_PATTERN_BROKEN);
}

static void what_never_came_before(void **state)
{
    struct rank rank;
    rank_init(&rank, 1);
    for (int32_t i = 0; i < A_STEP; i++)
        assert_int_equal(call_pattern_at(&rank.job, rank.positions, i), CALL_PATTERN_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_always_follows),    cmocka_unit_test(another_size_or_function),
        cmocka_unit_test(a_call_left_out),        cmocka_unit_test(without_positions),
        cmocka_unit_test(what_never_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
