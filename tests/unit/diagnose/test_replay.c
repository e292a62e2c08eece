#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>

/*
 * A job of three ranks computed by hand. Communicator A is ranks 0 and 1, B is ranks 0 and 2; every operation
 * is an AllReduce of 10. Ranks 1 and 2 wait for no other ranks.
 *
 *            rank 0           rank 1           rank 2
 *   A0       0 - 10           0 - 10
 *   A1       110 - 320        310 - 320        own 100; 300, baseline 100
 *   B0       420 - 430                         100 - 430
 *   A2       530 - 540        420 - 540        own 100; 100
 *
 * So 0 waits 200 for 1 in A1, and therefore 2 waits 320 for 0 in B0: 200 of it because of 1, the rest is
 * normal in this job. In A2 rank 1 waits 110 for 0, which has had an operation with it since and was not
 * delayed by any rank.
 */

enum { A0_0, A1_0, B0_0, A2_0, A0_1, A1_1, A2_1, B0_2, OPERATIONS };
enum { A0, A1, B0, A2, INSTANCES };

static const struct {
    int32_t rank, communicator, instance, previous;
    int64_t start_ns, end_ns, beyond_ns;
} PLAYED[OPERATIONS] = {
    [A0_0] = {0, 0, A0, -1, 0, 10, 0},      [A1_0] = {0, 0, A1, A0_0, 110, 320, 0},
    [B0_0] = {0, 1, B0, A1_0, 420, 430, 0}, [A2_0] = {0, 0, A2, B0_0, 530, 540, 0},
    [A0_1] = {1, 0, A0, -1, 0, 10, 0},      [A1_1] = {1, 0, A1, A0_1, 310, 320, 200},
    [A2_1] = {1, 0, A2, A1_1, 420, 540, 0}, [B0_2] = {2, 1, B0, -1, 100, 430, 0},
};
static const int32_t MEMBERS[INSTANCES][2] = {{A0_0, A0_1}, {A1_0, A1_1}, {B0_0, B0_2}, {A2_0, A2_1}};
static const int64_t SEQUENCE[INSTANCES] = {0, 1, 0, 2};

struct tiny {
    struct job job;
    struct job_rank ranks[3];
    struct job_operation operations[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[2 * INSTANCES];
};

static void tiny_init(struct tiny *tiny)
{
    *tiny = (struct tiny){.job = {.rank_count = 3,
                                  .communicator_count = 2,
                                  .operation_count = OPERATIONS,
                                  .instance_count = INSTANCES,
                                  .step_count = 1}};
    tiny->job.ranks = tiny->ranks;
    tiny->job.operations = tiny->operations;
    tiny->job.instances = tiny->instances;
    tiny->job.instance_members = tiny->members;
    tiny->ranks[0] = (struct job_rank){.first = A0_0, .count = 4};
    tiny->ranks[1] = (struct job_rank){.first = A0_1, .count = 3};
    tiny->ranks[2] = (struct job_rank){.first = B0_2, .count = 1};
    for (int32_t i = 0; i < OPERATIONS; i++) {
        int32_t previous = PLAYED[i].previous;
        tiny->operations[i] = (struct job_operation){
            .rank = PLAYED[i].rank,
            .communicator = PLAYED[i].communicator,
            .instance = PLAYED[i].instance,
            .previous = previous,
            .group = i,
            .start_ns = PLAYED[i].start_ns,
            .end_ns = PLAYED[i].end_ns,
            .own_ns = previous < 0 ? TIME_UNKNOWN : PLAYED[i].start_ns - PLAYED[previous].end_ns,
            .ends = ENDS_BY_KERNEL,
            .function = FUNCTION_ALL_REDUCE,
        };
    }
    for (int32_t i = 0; i < OPERATIONS; i++)
        tiny->excess[i] = (struct excess){.beyond_ns = PLAYED[i].beyond_ns};
    for (int32_t i = 0; i < INSTANCES; i++) {
        tiny->instances[i] = (struct job_instance){.sequence = SEQUENCE[i],
                                                   .transfer_ns = 10,
                                                   .communicator = i == B0,
                                                   .members = 2,
                                                   .expected = 2,
                                                   .first_member = 2 * (size_t)i,
                                                   .function = FUNCTION_ALL_REDUCE};
        tiny->transfers[i] = (struct transfer_excess){.beyond_ns = TIME_UNKNOWN};
        tiny->members[2 * i] = MEMBERS[i][0];
        tiny->members[2 * i + 1] = MEMBERS[i][1];
    }
}

/*
 * The start of rank 2 relative to the others is unknown, although it began 100 after them, so its first start
 * counts as its begin.
 */
static void played_as_it_was(void **state)
{
    struct tiny tiny;
    struct replay replay;
    struct error error = ERROR_INIT;
    tiny_init(&tiny);
    assert_int_equal(replay_init(&replay, &tiny.job, written_excess(tiny.excess), tiny.transfers, &error), 0);
    assert_int_equal(replay_run(&replay), 540);
    int32_t over = 0;
    for (size_t i = 0; i < replay.move_count; i++)
        if (replay.moves[i].is_last)
            assert_int_equal(replay.moves[i].instance, over++);
    assert_int_equal(over, INSTANCES);
    /* A second replay gives the same result. */
    assert_int_equal(replay_run(&replay), 540);
    replay_release(&replay);
}

/* Without the 200 that rank 1 lost, A1 ends at 120, B0 at 230, A2 at 340. */
static void who_was_waited_for_is_on_the_critical_path(void **state)
{
    struct tiny tiny;
    struct replay replay;
    struct error error = ERROR_INIT;
    int32_t path[OPERATIONS];
    tiny_init(&tiny);
    assert_int_equal(replay_init(&replay, &tiny.job, written_excess(tiny.excess), tiny.transfers, &error), 0);
    replay_run(&replay);
    assert_int_equal(replay_critical_path(&replay, path), 4);
    assert_int_equal(path[0], A2_0);
    assert_int_equal(path[1], B0_0);
    assert_int_equal(path[2], A1_1);
    assert_int_equal(tiny.operations[path[3]].instance, A0);
    replay_release(&replay);
}

static void without_the_fault(void **state)
{
    struct tiny tiny;
    struct replay replay;
    struct error error = ERROR_INIT;
    tiny_init(&tiny);
    assert_int_equal(replay_init(&replay, &tiny.job, written_excess(tiny.excess), tiny.transfers, &error), 0);
    replay.own_ns[A1_1] -= 200;
    assert_int_equal(replay_run(&replay), 340);
    replay.own_ns[A1_1] += 200;
    /* A transfer that takes 50 more delays the end by 50. */
    replay.transfer_ns[B0] += 50;
    assert_int_equal(replay_run(&replay), 590);
    /* Rank 1 has 110 to spare before A2. */
    replay.transfer_ns[B0] -= 50;
    replay.own_ns[A2_1] += 100;
    assert_int_equal(replay_run(&replay), 540);
    replay.own_ns[A2_1] += 20;
    assert_int_equal(replay_run(&replay), 550);
    replay_release(&replay);
}

static void blame_is_passed_on(void **state)
{
    struct tiny tiny;
    struct error error = ERROR_INIT;
    tiny_init(&tiny);
    const struct baseline baseline = {.excess = *written_excess(tiny.excess)};
    struct delay *delays = delays_measure(&tiny.job, &baseline, tiny.transfers, &error);
    assert_non_null(delays);
    /* A1: 0 waited 200 for 1, all of it own time of 1. */
    assert_int_equal(delays[1].own_ns, 200);
    assert_int_equal(delays[1].inherited_ns, 0);
    assert_int_equal(delays[1].unexplained_ns, 0);
    /* B0: 2 waited 320 for 0, 200 of it inherited from 1. A2: 1 waited 110 for 0, without a known cause. */
    assert_int_equal(delays[0].own_ns, 0);
    assert_int_equal(delays[0].inherited_ns, 200);
    assert_int_equal(delays[0].inherited_from, 1);
    assert_int_equal(delays[0].unexplained_ns, 120 + 110);
    assert_int_equal(delays[0].network_ns + delays[1].network_ns, 0);
    assert_int_equal(delays[1].caused_ns, 400);
    assert_int_equal(delays[0].caused_ns + delays[2].caused_ns, 0);
    /* Both arrived at A0 at the same time. */
    assert_int_equal(delays[0].times_last + delays[1].times_last, 3);
    assert_int_equal(delays[2].times_last, 0);
    assert_int_equal(delays[0].instances, 4);
    assert_int_equal(delays[2].inherited_from, -1);
    free(delays);
}

/* The order of a replay is found once: the delays are the same with it. */
static void blame_follows_a_known_order(void **state)
{
    struct tiny tiny;
    struct replay replay;
    struct error error = ERROR_INIT;
    tiny_init(&tiny);
    struct baseline baseline = {.excess = *written_excess(tiny.excess)};
    struct delay *delays = delays_measure(&tiny.job, &baseline, tiny.transfers, &error);
    assert_non_null(delays);
    assert_int_equal(replay_init(&replay, &tiny.job, &baseline.excess, tiny.transfers, &error), 0);
    baseline.order = replay.moves;
    struct delay *again = delays_measure(&tiny.job, &baseline, tiny.transfers, &error);
    assert_non_null(again);
    assert_memory_equal(again, delays, tiny.job.rank_count * sizeof *again);
    replay_release(&replay);
    free(again);
    free(delays);
}

/*
 * A transfer that took longer than its baseline delays its ranks: waits of others for them are then the
 * network's.
 */
static void slow_transfers_are_the_networks(void **state)
{
    struct tiny tiny;
    struct error error = ERROR_INIT;
    tiny_init(&tiny);
    tiny.excess[A1_1].beyond_ns = 0;
    tiny.operations[A2_1].start_ns = tiny.operations[A2_0].start_ns;
    tiny.transfers[A1].beyond_ns = 50;
    const struct baseline baseline = {.excess = *written_excess(tiny.excess)};
    struct delay *delays = delays_measure(&tiny.job, &baseline, tiny.transfers, &error);
    assert_non_null(delays);
    assert_int_equal(delays[1].unexplained_ns, 200);
    /* 2 waited 320 for 0. The part that 0 had waited for 1 without a cause stays without one. */
    assert_int_equal(delays[0].network_ns, 50);
    assert_int_equal(delays[0].unexplained_ns, 320 - 50);
    free(delays);
}

/* Two ranks that join in every operation: there are as many instances as each of them has operations. */
struct two {
    struct job job;
    struct job_rank ranks[2];
    int32_t members[6];
    struct excess excess[6];
    struct transfer_excess transfers[3];
};

static void two_init(struct two *two, struct job_operation *operations, struct job_instance *instances,
                     size_t count)
{
    *two = (struct two){.job = {.rank_count = 2,
                                .ranks = two->ranks,
                                .operation_count = 2 * count,
                                .operations = operations,
                                .instance_count = count,
                                .instances = instances,
                                .instance_members = two->members},
                        .ranks = {{.first = 0, .count = count}, {.first = count, .count = count}}};
    for (size_t i = 0; i < 2 * count; i++) {
        two->members[2 * operations[i].instance + operations[i].rank] = (int32_t)i;
        operations[i].group = (int32_t)i;
        operations[i].own_ns = TIME_UNKNOWN;
    }
    for (size_t i = 0; i < count; i++) {
        instances[i].members = instances[i].expected = 2;
        instances[i].first_member = 2 * (uint32_t)i;
    }
}

/*
 * Two ranks, two operations, X and Y, of 10 each; rank 0 executes X then Y, rank 1, by impossible times, Y
 * then X. Y begins 5 after X on rank 0, is over at 25, X begins 6 after that on rank 1 and is over at 41.
 */
static void a_circle_is_cut(void **state)
{
    enum { X_0, Y_0, Y_1, X_1 };
    struct job_operation operations[4] = {
        [X_0] = {.rank = 0, .instance = 0, .previous = -1, .start_ns = 0, .end_ns = 10},
        [Y_0] = {.rank = 0, .instance = 1, .previous = X_0, .start_ns = 15, .end_ns = 25},
        [Y_1] = {.rank = 1, .instance = 1, .previous = -1, .start_ns = 0, .end_ns = 14},
        [X_1] = {.rank = 1, .instance = 0, .previous = Y_1, .start_ns = 20, .end_ns = 30},
    };
    struct job_instance instances[2] = {{.transfer_ns = 10}, {.transfer_ns = 10}};
    struct two two;
    struct replay replay;
    struct error error = ERROR_INIT;
    for (int32_t i = 0; i < 4; i++)
        operations[i].function = FUNCTION_ALL_REDUCE;
    two_init(&two, operations, instances, 2);
    assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error), 0);
    assert_int_equal(replay.move_count, 4);
    assert_int_equal(replay_run(&replay), 41);
    /* X came after Y, Y after the part of X that was cut off: no chain leads to the beginning. */
    int32_t path[4];
    assert_int_equal(replay_critical_path(&replay, path), 0);
    replay_release(&replay);
}

/*
 * Both ranks started first what they called second, so every operation has one before it. The cycle is cut at
 * the operation that must come first anyway, and all of them are replayed.
 */
static void a_circle_with_nothing_before_it_is_cut(void **state)
{
    struct job_operation operations[6];
    struct job_instance instances[3] = {{.transfer_ns = 10}, {.transfer_ns = 10}, {.transfer_ns = 10}};
    struct two two;
    struct replay replay;
    struct error error = ERROR_INIT;
    static const int64_t starts[3] = {20, 0, 40};
    for (int32_t i = 0; i < 6; i++)
        operations[i] = (struct job_operation){.rank = i / 3,
                                               .instance = i % 3,
                                               .previous = i % 3 ? i - 1 : -1,
                                               .function = FUNCTION_ALL_REDUCE,
                                               .start_ns = starts[i % 3],
                                               .end_ns = starts[i % 3] + 10};
    two_init(&two, operations, instances, 3);
    assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error), 0);
    assert_int_equal(replay.move_count, 6);
    replay_release(&replay);
}

/*
 * Rank 0 sends for 100 and does not wait for rank 1, which receives at the same time; 10 later both have an
 * AllReduce of 10. With 80 less on the network the send takes 20, the receive is over at 20 and the AllReduce
 * at 40.
 */
static void a_send_that_leaves_alone_saves_too(void **state)
{
    enum { SEND, REDUCE_0, RECEIVE, REDUCE_1 };
    struct job_operation operations[4] = {
        [SEND] = {.rank = 0, .function = FUNCTION_SEND, .previous = -1, .end_ns = 100},
        [REDUCE_0] = {.rank = 0, .instance = 1, .previous = SEND, .start_ns = 110, .end_ns = 120},
        [RECEIVE] = {.rank = 1, .function = FUNCTION_RECV, .previous = -1, .end_ns = 100},
        [REDUCE_1] = {.rank = 1, .instance = 1, .previous = RECEIVE, .start_ns = 110, .end_ns = 120},
    };
    struct job_instance instances[2] = {{.function = FUNCTION_SEND, .transfer_ns = 100}, {.transfer_ns = 10}};
    struct two two;
    struct replay replay;
    struct error error = ERROR_INIT;
    operations[REDUCE_0].function = operations[REDUCE_1].function = FUNCTION_ALL_REDUCE;
    for (int32_t i = 0; i < 4; i++)
        operations[i].ends = ENDS_BY_KERNEL;
    two_init(&two, operations, instances, 2);
    assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error), 0);
    assert_int_equal(replay_run(&replay), 120);
    replay_change_transfer(&replay, 0, -80);
    assert_int_equal(replay_run(&replay), 40);
    replay_release(&replay);
}

/*
 * Rank 0 sends and then computes for 100. Rank 1 arrives late at a transfer of 80: its receive takes 20; it
 * computes for 20 before the common AllReduce of 10 at 100. With 15 less on the network rank 1 has more slack
 * and no rank gains; with nothing on the network and on rank 0, the computation of rank 1 remains. The stop
 * of a receive that shares its kernel shows nothing: its transfer counts in full.
 */
static void what_was_sent_ahead_has_come_a_part_of_the_way(void **state)
{
    enum { SEND, REDUCE_0, RECEIVE, REDUCE_1 };
    for (int grouped = 0; grouped < 2; grouped++) {
        struct job_operation operations[4] = {
            [SEND] = {.rank = 0, .function = FUNCTION_SEND, .previous = -1, .end_ns = 0},
            [REDUCE_0] = {.rank = 0, .instance = 1, .previous = SEND, .start_ns = 100, .end_ns = 110},
            [RECEIVE] = {.rank = 1, .function = FUNCTION_RECV, .previous = -1, .start_ns = 60, .end_ns = 80},
            [REDUCE_1] = {.rank = 1, .instance = 1, .previous = RECEIVE, .start_ns = 100, .end_ns = 110},
        };
        struct job_instance instances[2] = {{.function = FUNCTION_SEND, .transfer_ns = 80},
                                            {.transfer_ns = 10}};
        struct two two;
        struct replay replay;
        struct error error = ERROR_INIT;
        operations[REDUCE_0].function = operations[REDUCE_1].function = FUNCTION_ALL_REDUCE;
        for (int32_t i = 0; i < 4; i++)
            operations[i].ends = ENDS_BY_KERNEL;
        two_init(&two, operations, instances, 2);
        if (grouped)
            operations[REDUCE_1].group = RECEIVE;
        assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error),
                         0);
        assert_int_equal(replay.transfer_ns[0], grouped ? 80 : 20);
        if (!grouped) {
            replay_change_transfer(&replay, 0, -15);
            assert_int_equal(replay_run(&replay), 110);
            /* No transfer has a negative duration. */
            replay_change_transfer(&replay, 0, -1000);
            replay.own_ns[REDUCE_0] = 0;
            assert_int_equal(replay_run(&replay), 20 + 10);
        }
        replay_release(&replay);
    }
}

/*
 * An AllReduce of two ranks that a link of rank 0 made slow: 100 there, 10 by the stop of rank 1, whose
 * stream was occupied until 100 nevertheless; both compute for 5 before the next one, which takes 10. Without
 * the 90 of the link, both are done at 25; if rank 1 had computed from 10 to 105 by itself, no rank would
 * gain.
 */
static void a_held_stream_is_free_with_its_network(void **state)
{
    enum { SLOW_0, NEXT_0, SLOW_1, NEXT_1 };
    for (int held = 0; held < 2; held++) {
        struct job_operation operations[4] = {
            [SLOW_0] = {.rank = 0, .previous = -1, .end_ns = 100},
            [NEXT_0] = {.rank = 0, .instance = 1, .previous = SLOW_0, .start_ns = 105, .end_ns = 115},
            [SLOW_1] = {.rank = 1, .previous = -1, .end_ns = 10},
            [NEXT_1] = {.rank = 1, .instance = 1, .previous = SLOW_1, .start_ns = 105, .end_ns = 115},
        };
        struct job_instance instances[2] = {{.transfer_ns = 10}, {.transfer_ns = 10}};
        struct two two;
        struct replay replay;
        struct error error = ERROR_INIT;
        for (int32_t i = 0; i < 4; i++) {
            operations[i].function = FUNCTION_ALL_REDUCE;
            operations[i].ends = ENDS_BY_KERNEL;
        }
        two_init(&two, operations, instances, 2);
        two.transfers[0] = (struct transfer_excess){.slow_ns = 90, .some_ns = 90};
        operations[NEXT_0].own_ns = 5;
        operations[NEXT_1].own_ns = held ? 5 : 95;
        operations[SLOW_1].held = (uint8_t)held;
        assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error),
                         0);
        assert_int_equal(replay_run(&replay), 115);
        replay_change_transfer(&replay, 0, -90);
        assert_int_equal(replay_run(&replay), held ? 25 : 115);
        replay_release(&replay);
    }
}

/*
 * An AllReduce of 10 occupied the stream of rank 1 until 100, and no link is known to have been slow. Rank 1
 * arrives at the next at 115 and rank 0, which computed all the time, at 105: that is over at 125, and at 120
 * if rank 1 had taken 5 less.
 */
static void a_hold_of_nobodys_stays(void **state)
{
    enum { HOLD_0, NEXT_0, HOLD_1, NEXT_1 };
    struct job_operation operations[4] = {
        [HOLD_0] = {.rank = 0, .previous = -1, .end_ns = 10},
        [NEXT_0] = {.rank = 0, .instance = 1, .previous = HOLD_0, .start_ns = 105, .end_ns = 125},
        [HOLD_1] = {.rank = 1, .previous = -1, .end_ns = 10},
        [NEXT_1] = {.rank = 1, .instance = 1, .previous = HOLD_1, .start_ns = 115, .end_ns = 125},
    };
    struct job_instance instances[2] = {{.transfer_ns = 10}, {.transfer_ns = 10}};
    struct two two;
    struct replay replay;
    struct error error = ERROR_INIT;
    for (int32_t i = 0; i < 4; i++) {
        operations[i].function = FUNCTION_ALL_REDUCE;
        operations[i].ends = ENDS_BY_KERNEL;
    }
    two_init(&two, operations, instances, 2);
    operations[NEXT_0].own_ns = 95;
    operations[NEXT_1].own_ns = 15;
    operations[HOLD_1].held = 1;
    assert_int_equal(replay_init(&replay, &two.job, written_excess(two.excess), two.transfers, &error), 0);
    assert_int_equal(replay_run(&replay), 125);
    replay.own_ns[NEXT_1] -= 5;
    assert_int_equal(replay_run(&replay), 120);
    replay_release(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(played_as_it_was),
        cmocka_unit_test(who_was_waited_for_is_on_the_critical_path),
        cmocka_unit_test(without_the_fault),
        cmocka_unit_test(a_circle_is_cut),
        cmocka_unit_test(a_circle_with_nothing_before_it_is_cut),
        cmocka_unit_test(a_send_that_leaves_alone_saves_too),
        cmocka_unit_test(blame_is_passed_on),
        cmocka_unit_test(blame_follows_a_known_order),
        cmocka_unit_test(slow_transfers_are_the_networks),
        cmocka_unit_test(what_was_sent_ahead_has_come_a_part_of_the_way),
        cmocka_unit_test(a_held_stream_is_free_with_its_network),
        cmocka_unit_test(a_hold_of_nobodys_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
