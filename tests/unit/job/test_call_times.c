#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"
#include "support/cmocka_all.h"

#include <string.h>

/* Two ranks; in each step an AllReduce on communicator 0, and one on communicator `other`. */
enum { RANKS = 2, STEPS = 4, CALLS = 2, COUNT = RANKS * STEPS * CALLS, STEP_NS = 1000 };

struct play {
    struct job job;
    struct job_operation operations[COUNT];
    int64_t issued_ns[COUNT];
    int64_t durations_ns[COUNT];
    struct job_instance instances[STEPS * CALLS];
    int32_t members[COUNT];
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[2];
};

static int32_t place(int rank, int step, int call)
{
    return (rank * STEPS + step) * CALLS + call;
}

/* Rank 1 is 300 late for all first calls of a step, which take 100; steps are called `apart_ns` apart. */
static void lay_out(struct play *play, int32_t other, int64_t apart_ns)
{
    memset(play, 0, sizeof *play);
    play->job = (struct job){.operations = play->operations,
                             .operation_count = COUNT,
                             .drafts = {.issued_ns = play->issued_ns, .durations_ns = play->durations_ns},
                             .instances = play->instances,
                             .instance_count = STEPS * CALLS,
                             .instance_members = play->members,
                             .ranks = play->ranks,
                             .rank_count = RANKS,
                             .communicators = play->communicators,
                             .communicator_count = 2};
    for (int rank = 0; rank < RANKS; rank++) {
        play->ranks[rank] = (struct job_rank){.first = (size_t)place(rank, 0, 0), .count = STEPS * CALLS};
        for (int i = 0; i < STEPS * CALLS; i++) {
            int step = i / CALLS, call = i % CALLS;
            int32_t communicator = call ? other : 0;
            play->operations[place(rank, step, call)] = (struct job_operation){.rank = rank,
                                                                               .communicator = communicator,
                                                                               .instance = i,
                                                                               .step = step,
                                                                               .start_ns = TIME_UNKNOWN,
                                                                               .end_ns = TIME_UNKNOWN};
            play->issued_ns[place(rank, step, call)] = 5000 + step * apart_ns + call * 10;
            play->durations_ns[place(rank, step, call)] = call || rank ? 100 : 400;
            play->instances[i] = (struct job_instance){.communicator = communicator,
                                                       .step = step,
                                                       .members = RANKS,
                                                       .first_member = (uint32_t)i * RANKS,
                                                       .kind = OPERATION_COLLECTIVE,
                                                       .function = FUNCTION_ALL_REDUCE};
            play->members[i * RANKS + rank] = place(rank, step, call);
        }
    }
    assert_int_equal(job_time_calls(&play->job), 0);
}

/*
 * Rank 0 began when it called and waited for rank 1, which arrived 300 later, or 200 if it left 100 earlier.
 */
static void hosts_that_wait_each_step_place_operations(void **state)
{
    struct play play;
    lay_out(&play, 0, STEP_NS);
    for (int step = 0; step < STEPS; step++) {
        int64_t called_ns = 5000 + step * STEP_NS;
        assert_int_equal(play.operations[place(0, step, 0)].start_ns, called_ns);
        assert_int_equal(play.operations[place(1, step, 0)].start_ns, called_ns + 200);
        for (int rank = 0; rank < RANKS; rank++) {
            assert_int_equal(play.operations[place(rank, step, 0)].end_ns, called_ns + 400);
            assert_int_equal(play.operations[place(rank, step, 1)].end_ns, called_ns + 500);
        }
    }
    assert_int_equal(play.job.timed_operations, COUNT);
    assert_false(play.job.calls_lack_gpu_times);
}

static void assert_untimed(const struct play *play)
{
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(play->operations[i].start_ns, TIME_UNKNOWN);
        assert_int_equal(play->operations[i].end_ns, TIME_UNKNOWN);
    }
    assert_int_equal(play->job.timed_operations, 0);
    assert_true(play->job.calls_lack_gpu_times);
}

/* The time between the operations of two communicators may be a wait in one of them. */
static void several_communicators_place_none(void **state)
{
    struct play play;
    lay_out(&play, 1, STEP_NS);
    assert_untimed(&play);
}

static void hosts_ahead_of_their_gpus_place_none(void **state)
{
    struct play play;
    lay_out(&play, 0, 20);
    assert_untimed(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_that_wait_each_step_place_operations),
        cmocka_unit_test(several_communicators_place_none),
        cmocka_unit_test(hosts_ahead_of_their_gpus_place_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
