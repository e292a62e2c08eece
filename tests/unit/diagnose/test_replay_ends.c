#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/written.h"

/* Small jobs replayed by hand: when an operation is over, and what comes after it. */
enum { RANKS = 2, OPERATIONS = 8, INSTANCES = 8 };

struct tiny {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[OPERATIONS];
    struct replay replay;
};

/*
 * By rank, in order of issue. The transfer of an instance is the shortest duration of its members unless
 * set.
 */
static void tiny_init(struct tiny *tiny, const struct job_operation *operations, size_t count)
{
    *tiny = (struct tiny){.job = {.rank_count = RANKS, .operation_count = count, .step_count = 1}};
    tiny->job.ranks = tiny->ranks;
    tiny->job.operations = tiny->operations;
    tiny->job.instances = tiny->instances;
    tiny->job.instance_members = tiny->members;
    for (size_t i = 0; i < count; i++) {
        struct job_operation *operation = &tiny->operations[i];
        *operation = operations[i];
        if (!tiny->ranks[operation->rank].count++)
            tiny->ranks[operation->rank].first = i;
        if ((size_t)operation->instance >= tiny->job.instance_count)
            tiny->job.instance_count = (size_t)operation->instance + 1;
    }
    uint32_t used = 0;
    for (size_t i = 0; i < tiny->job.instance_count; i++) {
        struct job_instance *instance = &tiny->instances[i];
        tiny->transfers[i] = (struct transfer_excess){.culprit = -1};
        *instance = (struct job_instance){.transfer_ns = INT64_MAX, .first_member = used};
        for (size_t j = 0; j < count; j++) {
            const struct job_operation *operation = &tiny->operations[j];
            if (operation->instance != (int32_t)i)
                continue;
            tiny->members[used++] = (int32_t)j;
            instance->members = ++instance->expected;
            instance->function = operation->function == FUNCTION_RECV ? FUNCTION_SEND : operation->function;
            if (operation->end_ns - operation->start_ns < instance->transfer_ns)
                instance->transfer_ns = operation->end_ns - operation->start_ns;
        }
    }
}

/* The end of the last operation. */
static int64_t played(struct tiny *tiny)
{
    struct error error = ERROR_INIT;
    assert_int_equal(
        replay_init(&tiny->replay, &tiny->job, written_excess(tiny->excess), tiny->transfers, &error), 0);
    return replay_run(&tiny->replay);
}

/* An operation of one of two ranks, from a begin to an end; each is its own group. */
#define REDUCE(number, of_rank, of_instance, after, begin, end)                               \
    {                                                                                         \
        .rank = (of_rank), .instance = (of_instance), .previous = (after), .group = (number), \
        .start_ns = (begin), .end_ns = (end), .own_ns = TIME_UNKNOWN, .ends = ENDS_BY_KERNEL, \
        .function = FUNCTION_ALL_REDUCE                                                       \
    }

/*
 * A is over at 100, B on another stream at 50; C comes after B on its stream and began at 110. It had waited
 * for A: if that were 40 shorter, C would be over 40 earlier.
 */
static void what_ended_last_on_whatever_stream(void **state)
{
    const struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 100), REDUCE(1, 0, 1, -1, 0, 50),
                                               REDUCE(2, 0, 2, 1, 110, 120)};
    struct tiny tiny;
    tiny_init(&tiny, operations, 3);
    assert_int_equal(played(&tiny), 120);
    replay_change_transfer(&tiny.replay, 0, -40);
    assert_int_equal(replay_run(&tiny.replay), 80);
    /* The duration of B makes no difference. */
    replay_change_transfer(&tiny.replay, 1, -50);
    assert_int_equal(replay_run(&tiny.replay), 80);
    replay_release(&tiny.replay);
}

/*
 * According to a proxy a send was over at 200; the next operation of its stream had begun by 110, and was
 * over at 120.
 */
static void a_send_is_over_before_the_next_begins(void **state)
{
    struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 200), REDUCE(1, 0, 1, 0, 110, 120)};
    struct tiny tiny;
    operations[0].function = FUNCTION_SEND;
    operations[0].ends = ENDS_BY_PROXY;
    tiny_init(&tiny, operations, 2);
    tiny.instances[0].transfer_ns = 100;
    assert_int_equal(played(&tiny), 120);
    replay_release(&tiny.replay);
}

/*
 * Time for which the stream is occupied longer than the receive's kernel shows is no own time: 5 of the 20
 * are.
 */
static void own_time_after_a_receive(void **state)
{
    struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 80), REDUCE(1, 0, 1, 0, 100, 110)};
    struct tiny tiny;
    operations[0].function = FUNCTION_RECV;
    operations[1].own_ns = 5;
    tiny_init(&tiny, operations, 2);
    played(&tiny);
    assert_int_equal(tiny.replay.own_ns[1], 5);
    replay_release(&tiny.replay);
}

/* The operation before it is unknown; the part that was found to be its own is its own. */
static void own_time_of_hidden_origin(void **state)
{
    struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 80), REDUCE(1, 0, 1, 0, 80, 90)};
    struct tiny tiny;
    tiny_init(&tiny, operations, 2);
    tiny.excess[1].excess_ns = 30;
    assert_int_equal(played(&tiny), 80 + 30 + 10);
    replay_release(&tiny.replay);
}

/* Both ranks began at 0; an unknown transfer time is the shorter of their durations. */
static void a_transfer_that_is_not_known(void **state)
{
    for (int first = 0; first < 2; first++) {
        const struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, first ? 40 : 70),
                                                   REDUCE(1, 1, 0, -1, 0, first ? 70 : 40)};
        struct tiny tiny;
        tiny_init(&tiny, operations, 2);
        tiny.instances[0].transfer_ns = TIME_UNKNOWN;
        assert_int_equal(played(&tiny), 40);
        replay_release(&tiny.replay);
    }
}

/*
 * A link of rank 0 took 90 longer than the transfer of 10. Only rank 0 shows that, and the job is over at
 * 100. The same for rank 1, whose stream was occupied by it: its next operation begins 5 later, and takes 10.
 */
static void a_slow_link_holds_who_shows_it(void **state)
{
    for (int held = 0; held < 2; held++) {
        struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 100), REDUCE(1, 1, 0, -1, 0, 10),
                                             REDUCE(2, 1, 1, 1, held ? 105 : 15, held ? 115 : 25)};
        struct tiny tiny;
        operations[1].held = (unsigned)held;
        operations[2].own_ns = 5;
        tiny_init(&tiny, operations, 3);
        tiny.transfers[0].slow_ns = 90;
        tiny.transfers[0].some_ns = 90;
        tiny.transfers[0].culprit = 0;
        assert_int_equal(played(&tiny), held ? 115 : 100);
        replay_change_transfer(&tiny.replay, 0, -90);
        assert_int_equal(replay_run(&tiny.replay), 25);
        replay_release(&tiny.replay);
    }
}

/*
 * Two operations of one call after A begin together, whatever ended in the meantime: 30 less before them
 * counts for both.
 */
static void a_group_begins_at_once(void **state)
{
    struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 50), REDUCE(1, 0, 1, 0, 60, 70),
                                         REDUCE(2, 0, 2, 0, 75, 100)};
    struct tiny tiny;
    operations[2].group = 1;
    tiny_init(&tiny, operations, 3);
    assert_int_equal(played(&tiny), 60 + 25);
    replay_change_transfer(&tiny.replay, 0, -30);
    assert_int_equal(replay_run(&tiny.replay), 30 + 25);
    /* Neither waits for the other. */
    replay_change_transfer(&tiny.replay, 1, 100);
    assert_int_equal(replay_run(&tiny.replay), 30 + 10 + 100);
    replay_release(&tiny.replay);
}

/* A send of rank 0 (instances 0 to 3) or its receive on rank 1, whose end no recorder shows. */
#define UNRECORDED(number, of_rank, begin)                                                                 \
    {                                                                                                      \
        .rank = (of_rank), .instance = (number)-4 * (of_rank), .previous = (number) % 4 ? (number)-1 : -1, \
        .group = (number), .start_ns = (begin), .end_ns = TIME_UNKNOWN, .own_ns = TIME_UNKNOWN,            \
        .function = (of_rank) ? FUNCTION_RECV : FUNCTION_SEND                                              \
    }

/*
 * Four pairs begin at 0, 100, 110 and 210. One was over after 10, because the next began. The others are
 * equal, so they were over after 10, too: the rest of the time until the next pair is its own time.
 */
static void a_pair_without_ends_is_not_over_when_the_next_begins(void **state)
{
    const struct job_operation operations[] = {
        UNRECORDED(0, 0, 0), UNRECORDED(1, 0, 100), UNRECORDED(2, 0, 110), UNRECORDED(3, 0, 210),
        UNRECORDED(4, 1, 0), UNRECORDED(5, 1, 100), UNRECORDED(6, 1, 110), UNRECORDED(7, 1, 210)};
    for (int is_aligned = 0; is_aligned < 2; is_aligned++) {
        struct tiny tiny;
        tiny_init(&tiny, operations, 8);
        for (int i = 0; i < RANKS; i++)
            tiny.ranks[i] = (struct job_rank){.first = (size_t)i * 4,
                                              .count = 4,
                                              .clock_scale = 1,
                                              .clock_method = is_aligned ? CLOCK_SHARED : CLOCK_NONE};
        for (int i = 0; i < 4; i++)
            tiny.instances[i].transfer_ns = TIME_UNKNOWN;
        assert_int_equal(played(&tiny), 210);
        assert_int_equal(tiny.replay.own_ns[1], is_aligned ? 90 : 0);
        assert_int_equal(tiny.replay.own_ns[6], 0);
        assert_int_equal(tiny.replay.own_ns[7], is_aligned ? 90 : 0);
        replay_release(&tiny.replay);
    }
}

/*
 * An operation of two ranks took 10. The next took rank 0 80, and rank 1 left no trace of it: if it is of the
 * same kind, it takes 10 as well, and the rest was waiting, which no shorter transfer avoids.
 */
static void a_wait_for_a_rank_without_a_trace_is_no_transfer(void **state)
{
    for (int is_alike = 0; is_alike < 2; is_alike++) {
        const struct job_operation operations[] = {REDUCE(0, 0, 0, -1, 0, 10), REDUCE(1, 0, 1, 0, 20, 100),
                                                   REDUCE(2, 1, 0, -1, 0, 10)};
        struct tiny tiny;
        tiny_init(&tiny, operations, 3);
        tiny.instances[1].expected = 2;
        tiny.operations[1].bytes = is_alike ? 0 : 8;
        assert_int_equal(played(&tiny), is_alike ? 30 : 100);
        replay_change_transfer(&tiny.replay, 1, -70);
        assert_int_equal(replay_run(&tiny.replay), 30);
        replay_change_transfer(&tiny.replay, 1, -5);
        assert_int_equal(replay_run(&tiny.replay), 25);
        replay_release(&tiny.replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ended_last_on_whatever_stream),
        cmocka_unit_test(a_send_is_over_before_the_next_begins),
        cmocka_unit_test(own_time_after_a_receive),
        cmocka_unit_test(own_time_of_hidden_origin),
        cmocka_unit_test(a_transfer_that_is_not_known),
        cmocka_unit_test(a_slow_link_holds_who_shows_it),
        cmocka_unit_test(a_group_begins_at_once),
        cmocka_unit_test(a_pair_without_ends_is_not_over_when_the_next_begins),
        cmocka_unit_test(a_wait_for_a_rank_without_a_trace_is_no_transfer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
