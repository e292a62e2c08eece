#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Three ranks, each with its own clock, that had an AllReduce until 1000 on a common clock, then send to each
 * other twice, in one call each time, and continue. Their true starts and ends on the common clock:
 *
 *            rank 0          rank 1          rank 2          all there
 * call 0   1100            1400            1100            1400
 * call 1   1450            1450            1650            1650
 * next     1700            1690            1680
 *
 * Each kernel records its stop 10 after its start.
 */
enum { RANKS = 3, CALLS = 2, PAIRS = 2 * (RANKS - 1), EACH = 1 + CALLS * PAIRS + 1 };
enum { OPERATIONS = RANKS * EACH, INSTANCES = 2 + CALLS * RANKS * RANKS, MET_NS = 1000, NOTED_NS = 10 };

static const int64_t starts[CALLS + 1][RANKS] = {{1100, 1400, 1100}, {1450, 1450, 1650}, {1700, 1690, 1680}};
static const int64_t clocks[RANKS] = {0, 5000, -3000};

struct exchange {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[1];
    struct job_operation operations[OPERATIONS];
    int64_t free_ns[OPERATIONS];
    struct job_instance instances[INSTANCES];
    int32_t members[2 * RANKS + 2 * INSTANCES];
};

static int collective_of(int rank, int is_last)
{
    return rank * EACH + (is_last ? EACH - 1 : 0);
}

/* From a rank's call with a peer: the send, or the receive. */
static int pair_of(int call, int rank, int peer, int is_receive)
{
    int place = peer - (peer > rank);
    return rank * EACH + 1 + call * PAIRS + 2 * place + is_receive;
}

static int instance_of(int call, int sender, int receiver)
{
    return 2 + (call * RANKS + sender) * RANKS + receiver;
}

static void put(struct exchange *exchange, int number, int rank, int64_t start_ns, int64_t end_ns)
{
    exchange->operations[number] = (struct job_operation){.rank = rank,
                                                          .start_ns = start_ns + clocks[rank],
                                                          .end_ns = end_ns + clocks[rank],
                                                          .group = number,
                                                          .previous = -1,
                                                          .ends = ENDS_BY_KERNEL};
    exchange->free_ns[number] = end_ns + clocks[rank];
}

static void put_pairs(struct exchange *exchange, int call, int rank)
{
    for (int i = 0; i < PAIRS; i++) {
        int number = rank * EACH + 1 + call * PAIRS + i, peer = i / 2 + (i / 2 >= rank);
        int instance = i % 2 ? instance_of(call, peer, rank) : instance_of(call, rank, peer);
        put(exchange, number, rank, starts[call][rank], starts[call][rank] + NOTED_NS);
        struct job_operation *operation = &exchange->operations[number];
        operation->function = i % 2 ? FUNCTION_RECV : FUNCTION_SEND;
        operation->group = rank * EACH + 1 + call * PAIRS;
        operation->previous = operation->group - 1;
        operation->instance = instance;
        exchange->instances[instance] =
            (struct job_instance){.members = 2,
                                  .expected = 2,
                                  .function = FUNCTION_SEND,
                                  .sender = i % 2 ? peer : rank,
                                  .receiver = i % 2 ? rank : peer,
                                  .first_member = 2 * RANKS + 2 * (uint32_t)instance};
        exchange->members[2 * RANKS + 2 * instance + i % 2] = number;
    }
}

static void exchange_init(struct exchange *exchange)
{
    memset(exchange, 0, sizeof *exchange);
    for (int last = 0; last < 2; last++)
        exchange->instances[last] = (struct job_instance){
            .members = RANKS, .function = FUNCTION_ALL_REDUCE, .first_member = (uint32_t)last * RANKS};
    for (int rank = 0; rank < RANKS; rank++) {
        exchange->ranks[rank] = (struct job_rank){.first = (size_t)rank * EACH, .count = EACH};
        put(exchange, collective_of(rank, 0), rank, 900, MET_NS);
        put(exchange, collective_of(rank, 1), rank, starts[CALLS][rank], 1800);
        for (int call = 0; call < CALLS; call++)
            put_pairs(exchange, call, rank);
        exchange->operations[collective_of(rank, 1)].previous = collective_of(rank, 1) - 1;
        for (int last = 0; last < 2; last++) {
            exchange->operations[collective_of(rank, last)].function = FUNCTION_ALL_REDUCE;
            exchange->operations[collective_of(rank, last)].instance = last;
            exchange->members[last * RANKS + rank] = collective_of(rank, last);
        }
    }
    exchange->job = (struct job){.ranks = exchange->ranks,
                                 .rank_count = RANKS,
                                 .communicators = exchange->communicators,
                                 .communicator_count = 1,
                                 .operations = exchange->operations,
                                 .operation_count = OPERATIONS,
                                 .drafts = {.free_ns = exchange->free_ns},
                                 .instances = exchange->instances,
                                 .instance_count = INSTANCES,
                                 .instance_members = exchange->members};
}

static int correct(struct exchange *exchange)
{
    int mended = 0;
    struct error error = ERROR_INIT;
    assert_int_equal(job_correct_shared_kernels(&exchange->job, &mended, &error), 0);
    return mended;
}

/* When the data that a rank received from a peer had arrived, on the common clock. */
static int64_t received_at(const struct exchange *exchange, int call, int rank, int peer)
{
    int number = pair_of(call, rank, peer, 1);
    assert_int_equal(exchange->operations[number].end_ns, exchange->free_ns[number]);
    return exchange->operations[number].end_ns - clocks[rank];
}

static void a_receive_ends_when_its_sender_came(void **state)
{
    struct exchange exchange;
    exchange_init(&exchange);
    assert_true(correct(&exchange));
    assert_int_equal(received_at(&exchange, 0, 0, 1), 1400);
    assert_int_equal(received_at(&exchange, 0, 2, 1), 1400);
    assert_int_equal(received_at(&exchange, 1, 0, 2), 1650);
    /* Rank 1 has the end of its first call from its own stop: 10 after all were there. */
    assert_int_equal(received_at(&exchange, 1, 1, 2), 1650 + NOTED_NS);
    assert_int_equal(exchange.operations[pair_of(1, 1, 2, 1)].ends, ENDS_BY_SENDER);
    /* From peers that were there, and from the rank that arrived last: as recorded. */
    assert_int_equal(received_at(&exchange, 0, 0, 2), 1100 + NOTED_NS);
    assert_int_equal(received_at(&exchange, 0, 1, 0), 1400 + NOTED_NS);
    assert_int_equal(received_at(&exchange, 1, 2, 0), 1650 + NOTED_NS);
    assert_int_equal(exchange.operations[pair_of(0, 1, 0, 1)].ends, ENDS_BY_KERNEL);
}

static void not_after_the_next_began(void **state)
{
    struct exchange exchange;
    exchange_init(&exchange);
    exchange.operations[collective_of(0, 1)].start_ns = 1600;
    assert_true(correct(&exchange));
    assert_int_equal(received_at(&exchange, 1, 0, 2), 1600);
}

/*
 * A channel without a stop has no end: then its data came with its sender, if that arrived later; else the
 * sender is known to have come, but not when the data did.
 */
static void without_a_stop(void **state)
{
    struct exchange exchange;
    exchange_init(&exchange);
    for (int peer = 0; peer < RANKS; peer += 2)
        for (int call = 0; call < CALLS; call++) {
            struct job_operation *receive = &exchange.operations[pair_of(call, 1, peer, 1)];
            receive->end_ns = exchange.free_ns[receive - exchange.operations] = TIME_UNKNOWN;
            receive->ends = ENDS_UNKNOWN;
        }
    assert_true(correct(&exchange));
    assert_int_equal(received_at(&exchange, 1, 1, 2), 1650 + NOTED_NS);
    assert_int_equal(exchange.operations[pair_of(0, 1, 0, 1)].end_ns, TIME_UNKNOWN);
    /*
     * Rank 0 arrived later by the same amount by which rank 1 had left the first call later, by its own stop.
     */
    assert_int_equal(received_at(&exchange, 1, 1, 0), 1450 + NOTED_NS);
    assert_int_equal(exchange.operations[pair_of(0, 1, 2, 1)].end_ns, TIME_UNKNOWN);
    assert_int_equal(exchange.operations[pair_of(0, 1, 2, 1)].ends, ENDS_BY_SENDER);
}

/* The network steps show when its data arrived. */
static void what_is_told_stays(void **state)
{
    struct exchange exchange;
    exchange_init(&exchange);
    exchange.operations[pair_of(0, 0, 1, 1)].all_taken = 1;
    assert_true(correct(&exchange));
    assert_int_equal(received_at(&exchange, 0, 0, 1), 1100 + NOTED_NS);
    assert_int_equal(received_at(&exchange, 0, 2, 1), 1400);
}

static void send_to_itself(struct exchange *exchange, int call, int number)
{
    struct job_operation *operation = &exchange->operations[number];
    int32_t instance = instance_of(call, operation->rank, operation->rank);
    operation->function = FUNCTION_SEND;
    operation->instance = instance;
    exchange->instances[instance].sender = exchange->instances[instance].receiver = operation->rank;
}

/* Without an earlier collective, it is unknown how far apart they were when they began. */
static void who_did_not_meet_cannot_be_compared(void **state)
{
    struct exchange exchange;
    exchange_init(&exchange);
    exchange.instances[0].function = FUNCTION_BROADCAST;
    for (int rank = 0; rank < RANKS; rank++)
        exchange.operations[collective_of(rank, 0)].function = FUNCTION_BROADCAST;
    correct(&exchange);
    assert_int_equal(received_at(&exchange, 0, 0, 1), 1100 + NOTED_NS);
    /* Nor in a ring, in which each sends to the next: the sender may have waited for another rank. */
    exchange_init(&exchange);
    for (int call = 0; call < CALLS; call++)
        for (int rank = 0; rank < RANKS; rank++) {
            send_to_itself(&exchange, call, pair_of(call, rank, (rank + RANKS - 1) % RANKS, 0));
            send_to_itself(&exchange, call, pair_of(call, rank, (rank + 1) % RANKS, 1));
        }
    assert_true(correct(&exchange));
    assert_int_equal(received_at(&exchange, 0, 2, 1), 1400);
    assert_int_equal(received_at(&exchange, 1, 1, 0), 1450 + NOTED_NS);
}

/*
 * NCCL launches one kernel per communicator. The end of the first launch was noted after the second call had
 * begun.
 */
static void calls_on_two_communicators_share_no_kernel(void **state)
{
    int64_t issued_ns[] = {100, 104};
    struct job_operation pair[] = {{.function = FUNCTION_SEND, .enqueued_ns = 106},
                                   {.function = FUNCTION_RECV, .enqueued_ns = 112}};
    struct job job = {.operations = pair, .operation_count = 2, .drafts = {.issued_ns = issued_ns}};
    assert_true(job_same_group(&job, 0, 1));
    pair[1].communicator = 1;
    assert_false(job_same_group(&job, 0, 1));
    /* One call: they are put in the same order on all ranks. */
    issued_ns[1] = 100;
    assert_true(job_same_group(&job, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_two_communicators_share_no_kernel),
        cmocka_unit_test(a_receive_ends_when_its_sender_came),
        cmocka_unit_test(not_after_the_next_began),
        cmocka_unit_test(without_a_stop),
        cmocka_unit_test(what_is_told_stays),
        cmocka_unit_test(who_did_not_meet_cannot_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
