#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/written.h"

/*
 * Three ranks in a ring: in each of four rounds every rank sends to the next and receives from the previous
 * one, both in one kernel. A transfer takes 10, a round begins 90 after the last one. In round 2 rank 1 is
 * late by 1000: the kernel of rank 0 is occupied by the send to it, that of rank 2 by the receive from it, so
 * both sides of the send from 2 to 0 take 1010, although both ranks were there.
 */
enum { RANKS = 3, ROUNDS = 4, LATE = 1000, OPERATIONS = RANKS * ROUNDS * 2, INSTANCES = RANKS * ROUNDS };

struct ring {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[OPERATIONS];
    struct excess excess[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[INSTANCES * 2];
    struct replay replay;
};

/* The first operation of `rank` in a round is its receive; its send comes after that. */
static int32_t first_of(int rank, int round)
{
    return (rank * ROUNDS + round) * 2;
}

static int64_t begin_of(int rank, int round)
{
    return round * 100 + (round > 2 || (round == 2 && rank == 1) ? LATE : 0);
}

static void put(struct ring *ring, int rank, int round, int is_receive)
{
    int32_t first = first_of(rank, round), at = first + !is_receive;
    int sender = is_receive ? (rank + RANKS - 1) % RANKS : rank, instance = sender * ROUNDS + round;
    ring->operations[at] =
        (struct job_operation){.rank = rank,
                               .instance = instance,
                               .bytes = 64,
                               .previous = round ? first - 1 : -1,
                               .group = first,
                               .start_ns = begin_of(rank, round),
                               .end_ns = begin_of(1, round) + 10,
                               .own_ns = round ? 90 + (round == 2 && rank == 1 ? LATE : 0) : TIME_UNKNOWN,
                               .ends = ENDS_BY_KERNEL,
                               .function = is_receive ? FUNCTION_RECV : FUNCTION_SEND};
    ring->members[instance * 2 + is_receive] = at;
}

static void ring_init(struct ring *ring)
{
    *ring = (struct ring){.job = {.rank_count = RANKS,
                                  .operation_count = OPERATIONS,
                                  .instance_count = INSTANCES,
                                  .step_count = ROUNDS}};
    ring->job.ranks = ring->ranks;
    ring->job.operations = ring->operations;
    ring->job.instances = ring->instances;
    ring->job.instance_members = ring->members;
    for (int rank = 0; rank < RANKS; rank++) {
        ring->ranks[rank] = (struct job_rank){.first = (size_t)rank * ROUNDS * 2, .count = ROUNDS * 2};
        for (int round = 0; round < ROUNDS; round++) {
            put(ring, rank, round, 0);
            put(ring, rank, round, 1);
            ring->transfers[rank * ROUNDS + round] = (struct transfer_excess){.culprit = -1};
            ring->instances[rank * ROUNDS + round] =
                (struct job_instance){.transfer_ns = rank == 2 && round == 2 ? LATE + 10 : 10,
                                      .members = 2,
                                      .expected = 2,
                                      .first_member = (uint32_t)(rank * ROUNDS + round) * 2,
                                      .sender = rank,
                                      .receiver = (rank + 1) % RANKS,
                                      .function = FUNCTION_SEND};
        }
    }
}

/* The end of the last operation, with the delay of rank 1 or without. */
static int64_t played(struct ring *ring, int is_late)
{
    struct error error = ERROR_INIT;
    assert_int_equal(
        replay_init(&ring->replay, &ring->job, written_excess(ring->excess), ring->transfers, &error), 0);
    if (!is_late)
        ring->replay.own_ns[first_of(1, 2)] -= LATE;
    int64_t end_ns = replay_run(&ring->replay);
    replay_release(&ring->replay);
    return end_ns;
}

static void nobody_holds_who_waited_for_another(void **state)
{
    struct ring ring;
    ring_init(&ring);
    assert_int_equal(played(&ring, 1), 310 + LATE);
    assert_int_equal(played(&ring, 0), 310);
}

/* A link that is known to have been slow is believed. */
static void a_slow_link(void **state)
{
    struct ring ring;
    ring_init(&ring);
    ring.transfers[2 * ROUNDS + 2].slow_ns = LATE;
    ring.transfers[2 * ROUNDS + 2].has_slow_link = 1;
    assert_int_equal(played(&ring, 0), 310 + LATE);
    ring.transfers[2 * ROUNDS + 2].has_slow_link = 0;
    assert_int_equal(played(&ring, 0), 310);
}

/* Sizes differ: a transfer that usually takes longer is no wait. */
static void pairs_are_told_apart(void **state)
{
    struct ring ring;
    ring_init(&ring);
    ring.operations[first_of(2, 2) + 1].bytes = 4096;
    assert_int_equal(played(&ring, 0), 310 + LATE);
    /* The sizes of an exchange differ slightly. */
    ring.operations[first_of(2, 2) + 1].bytes = 96;
    assert_int_equal(played(&ring, 0), 310);
}

#define TRANSFER(of_rank, of_function, of_instance, in_group, after, begin)                           \
    {                                                                                                 \
        .rank = (of_rank), .function = (of_function), .instance = (of_instance), .group = (in_group), \
        .previous = (after), .start_ns = (begin), .end_ns = (begin) + 10, .own_ns = TIME_UNKNOWN,     \
        .ends = ENDS_BY_KERNEL                                                                        \
    }

/*
 * Rank 0 sends to 2 and 1 in one kernel, and 10 later to 2 again; rank 1 receives 1000 later. No rank waits
 * for that: an operation whose kernel contains only sends is done when its data is in buffers.
 */
static void a_group_of_sends(void **state)
{
    struct job_operation operations[] = {
        TRANSFER(0, FUNCTION_SEND, 1, 0, -1, 0), TRANSFER(0, FUNCTION_SEND, 0, 0, -1, 0),
        TRANSFER(0, FUNCTION_SEND, 2, 2, 1, 20), TRANSFER(1, FUNCTION_RECV, 0, 3, -1, 1000),
        TRANSFER(2, FUNCTION_RECV, 1, 4, -1, 0), TRANSFER(2, FUNCTION_RECV, 2, 5, 4, 20),
    };
    struct job_rank ranks[RANKS] = {
        {.first = 0, .count = 3}, {.first = 3, .count = 1}, {.first = 4, .count = 2}};
    struct job_instance instances[3];
    int32_t members[] = {1, 3, 0, 4, 2, 5};
    struct job job = {.rank_count = RANKS,
                      .ranks = ranks,
                      .operation_count = 6,
                      .operations = operations,
                      .instance_count = 3,
                      .instances = instances,
                      .instance_members = members,
                      .step_count = 1};
    struct excess excess[6] = {{0}};
    const struct transfer_excess transfers[3] = {{.culprit = -1}, {.culprit = -1}, {.culprit = -1}};
    struct replay replay;
    struct error error = ERROR_INIT;
    for (uint32_t i = 0; i < 3; i++)
        instances[i] = (struct job_instance){
            .transfer_ns = 10, .members = 2, .expected = 2, .first_member = 2 * i, .function = FUNCTION_SEND};
    assert_int_equal(replay_init(&replay, &job, written_excess(excess), transfers, &error), 0);
    replay.own_ns[3] += 1000;
    assert_int_equal(replay_run(&replay), 1010);
    assert_int_equal(replay.latest_ns[0], 1000);
    assert_int_equal(replay.latest_ns[2], 20);
    replay_release(&replay);
}

/*
 * In two rounds two ranks exchange data. What rank 1 sends takes 100, and holds both kernels; what it
 * receives takes 10. The second round begins 90 after the first.
 */
static void each_direction_has_its_own_time(void **state)
{
    struct job_operation operations[] = {
        TRANSFER(0, FUNCTION_SEND, 0, 0, -1, 0),  TRANSFER(0, FUNCTION_RECV, 1, 0, -1, 0),
        TRANSFER(0, FUNCTION_SEND, 2, 2, 1, 190), TRANSFER(0, FUNCTION_RECV, 3, 2, 1, 190),
        TRANSFER(1, FUNCTION_RECV, 0, 4, -1, 0),  TRANSFER(1, FUNCTION_SEND, 1, 4, -1, 0),
        TRANSFER(1, FUNCTION_RECV, 2, 6, 5, 190), TRANSFER(1, FUNCTION_SEND, 3, 6, 5, 190),
    };
    struct job_rank ranks[2] = {{.first = 0, .count = 4}, {.first = 4, .count = 4}};
    struct job_instance instances[4];
    int32_t members[] = {0, 4, 1, 5, 2, 6, 3, 7};
    struct job job = {.rank_count = 2,
                      .ranks = ranks,
                      .operation_count = 8,
                      .operations = operations,
                      .instance_count = 4,
                      .instances = instances,
                      .instance_members = members,
                      .step_count = 1};
    struct excess excess[8] = {{0}};
    const struct transfer_excess transfers[4] = {
        {.culprit = -1}, {.culprit = -1}, {.culprit = -1}, {.culprit = -1}};
    struct replay replay;
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < 8; i++)
        operations[i].end_ns += 90;
    for (uint32_t i = 0; i < 4; i++)
        instances[i] = (struct job_instance){.transfer_ns = i % 2 ? 100 : 10,
                                             .members = 2,
                                             .expected = 2,
                                             .first_member = 2 * i,
                                             .sender = (int32_t)i % 2,
                                             .receiver = 1 - (int32_t)i % 2,
                                             .function = FUNCTION_SEND};
    assert_int_equal(replay_init(&replay, &job, written_excess(excess), transfers, &error), 0);
    assert_int_equal(replay_run(&replay), 290);
    replay_release(&replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_holds_who_waited_for_another),
        cmocka_unit_test(a_slow_link),
        cmocka_unit_test(pairs_are_told_apart),
        cmocka_unit_test(a_group_of_sends),
        cmocka_unit_test(each_direction_has_its_own_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
