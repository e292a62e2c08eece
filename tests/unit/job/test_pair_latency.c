#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Ranks 0 and 1 are on one host, 2 and 3 on another, whose clock is ahead by an unknown offset and drifts. In
 * each round, rank 0 sends to 2 and 1 to 3, and then they send back. A kernel that sends takes SENT_NS, its
 * data arrive after TOOK_NS, and the receiver has been there for long.
 */
enum { RANKS = 4, ROUNDS = 32, PAIRS = 4 * ROUNDS };
enum { SENT_NS = 200000, TOOK_NS = 230000, SLOW_NS = 3000000, THERE_NS = 5000000, ROUND_NS = 20000000 };
static const int64_t OFFSET_NS = 700000000;
static const double DRIFT = 2e-5;

struct pairs {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[2 * PAIRS];
    struct job_instance instances[PAIRS];
    int32_t members[2 * PAIRS];
    int32_t count;
};

/* A time on the clock of the rank's host. `jump_ns`: what the second clock has jumped by at this time. */
static int64_t by_clock(int rank, int64_t time_ns, int64_t jump_ns)
{
    return rank < 2 ? time_ns : time_ns + OFFSET_NS + (int64_t)(DRIFT * (double)time_ns) + jump_ns;
}

static void add(struct pairs *pairs, int sender, int receiver, int64_t sent_ns, int64_t took_ns,
                int64_t there_ns, int64_t jump_ns)
{
    int32_t number = pairs->count++, send = 2 * number, receive = send + 1;
    pairs->instances[number] = (struct job_instance){.function = FUNCTION_SEND,
                                                     .sender = sender,
                                                     .receiver = receiver,
                                                     .members = 2,
                                                     .expected = 2,
                                                     .first_member = (uint32_t)send,
                                                     .transfer_ns = SENT_NS};
    pairs->members[send] = send;
    pairs->members[receive] = receive;
    pairs->operations[send] = (struct job_operation){.rank = sender,
                                                     .function = FUNCTION_SEND,
                                                     .instance = number,
                                                     .group = send,
                                                     .ends = ENDS_BY_KERNEL,
                                                     .start_ns = by_clock(sender, sent_ns, jump_ns),
                                                     .end_ns = by_clock(sender, sent_ns + SENT_NS, jump_ns)};
    pairs->operations[receive] =
        (struct job_operation){.rank = receiver,
                               .function = FUNCTION_RECV,
                               .instance = number,
                               .group = receive,
                               .ends = ENDS_BY_KERNEL,
                               .start_ns = by_clock(receiver, sent_ns + took_ns - there_ns, jump_ns),
                               .end_ns = by_clock(receiver, sent_ns + took_ns, jump_ns)};
}

/* What rank 0 sends to rank 2 is slow from `slow_from` on; the second clock jumps by `jump_ns` in the middle.
 */
static void set_up(struct pairs *pairs, int slow_from, int64_t there_ns, int64_t jump_ns, int is_back)
{
    memset(pairs, 0, sizeof *pairs);
    for (int rank = 0; rank < RANKS; rank++)
        pairs->ranks[rank] = (struct job_rank){.clock = rank / 2, .clock_method = CLOCK_CONTRADICTORY};
    for (int round = 0; round < ROUNDS; round++) {
        int64_t at_ns = (int64_t)round * ROUND_NS, now_ns = round >= ROUNDS / 2 ? jump_ns : 0;
        int64_t slow_ns = round >= slow_from ? SLOW_NS : 0;
        add(pairs, 0, 2, at_ns, TOOK_NS + slow_ns, there_ns, now_ns);
        add(pairs, 1, 3, at_ns, TOOK_NS + round % 3 * 1000, there_ns, now_ns);
        for (int rank = 0; is_back && rank < 2; rank++)
            add(pairs, rank + 2, rank, at_ns + ROUND_NS / 2, TOOK_NS + round % 5 * 1000, there_ns, now_ns);
    }
    pairs->job = (struct job){.rank_count = RANKS,
                              .ranks = pairs->ranks,
                              .operations = pairs->operations,
                              .operation_count = 2 * (size_t)pairs->count,
                              .instances = pairs->instances,
                              .instance_count = (size_t)pairs->count,
                              .instance_members = pairs->members};
}

static void measure(struct pairs *pairs)
{
    assert_int_equal(job_measure_latencies(&pairs->job), 0);
}

static void play(struct pairs *pairs, int slow_from, int64_t there_ns, int64_t jump_ns, int is_back)
{
    set_up(pairs, slow_from, there_ns, jump_ns, is_back);
    measure(pairs);
}

/* The transfer from one rank to another in a round, within the drift of a round. */
static void assert_took(const struct pairs *pairs, int sender, int round, int64_t expected_ns)
{
    for (int32_t i = 0, seen = 0; i < pairs->count; i++)
        if (pairs->instances[i].sender == sender && seen++ == round) {
            int64_t apart_ns = pairs->instances[i].transfer_ns - expected_ns;
            assert_true(apart_ns > -20000 && apart_ns < 20000);
            assert_int_equal(pairs->instances[i].by_latency, pairs->instances[i].transfer_ns > SENT_NS);
        }
}

static void the_fastest_pair_shows_the_offset(void **state)
{
    static struct pairs pairs;
    (void)state;
    play(&pairs, 10, THERE_NS, 0, 1);
    assert_took(&pairs, 0, 9, TOOK_NS);
    assert_took(&pairs, 0, 10, TOOK_NS + SLOW_NS);
    assert_took(&pairs, 0, ROUNDS - 1, TOOK_NS + SLOW_NS);
    assert_took(&pairs, 1, ROUNDS - 1, TOOK_NS);
    assert_took(&pairs, 2, ROUNDS - 1, TOOK_NS);
}

/* The pair of ranks 1 and 3 crosses the same hosts. */
static void a_pair_may_be_slow_from_the_start(void **state)
{
    static struct pairs pairs;
    (void)state;
    play(&pairs, 0, THERE_NS, 0, 1);
    assert_took(&pairs, 0, 0, TOOK_NS + SLOW_NS);
    assert_took(&pairs, 1, 0, TOOK_NS);
}

/* In groups without kernel times, each has its own duration, and dumps place it. */
static void pairs_of_groups_have_their_own_times(void **state)
{
    static struct pairs pairs;
    for (int is_stamped = 0; is_stamped < 2; is_stamped++) {
        set_up(&pairs, 10, THERE_NS, 0, 1);
        for (int32_t i = 0; i < 2 * pairs.count; i++) {
            pairs.operations[i].group = i / 4 * 4;
            pairs.operations[i].stamped = (unsigned)is_stamped;
        }
        measure(&pairs);
        assert_took(&pairs, 0, 9, is_stamped ? TOOK_NS : SENT_NS);
        assert_took(&pairs, 0, 10, is_stamped ? TOOK_NS + SLOW_NS : SENT_NS);
    }
}

/* Each side may have been earlier by the interval between its dumps. */
static void what_dumps_cannot_tell_is_no_latency(void **state)
{
    static struct pairs pairs;
    enum { INTERVAL_NS = 100000 };
    set_up(&pairs, 10, THERE_NS, 0, 1);
    for (int32_t i = 0; i < 2 * pairs.count; i++)
        pairs.operations[i].stamped = 1;
    for (int rank = 0; rank < RANKS; rank++)
        pairs.ranks[rank].dump_interval_ns = INTERVAL_NS;
    measure(&pairs);
    assert_took(&pairs, 0, 9, SENT_NS);
    assert_took(&pairs, 0, 10, TOOK_NS + SLOW_NS - 2 * INTERVAL_NS);
}

/* A receiver that came late did not wait longer than it was there. */
static void the_receive_limits_the_transfer(void **state)
{
    static struct pairs pairs;
    (void)state;
    play(&pairs, 10, SLOW_NS / 2, 0, 1);
    assert_took(&pairs, 0, 10, SLOW_NS / 2);
}

static void a_clock_that_jumps_shows_nothing(void **state)
{
    static struct pairs pairs;
    (void)state;
    play(&pairs, ROUNDS, THERE_NS, SLOW_NS, 1);
    for (int32_t i = 0; i < pairs.count; i++)
        assert_int_equal(pairs.instances[i].transfer_ns, SENT_NS);
    play(&pairs, ROUNDS, THERE_NS, -SLOW_NS, 1);
    for (int32_t i = 0; i < pairs.count; i++)
        assert_int_equal(pairs.instances[i].transfer_ns, SENT_NS);
}

/* Then a jump cannot be told from a slow link. */
static void one_direction_shows_nothing(void **state)
{
    static struct pairs pairs;
    (void)state;
    play(&pairs, 10, THERE_NS, 0, 0);
    for (int32_t i = 0; i < pairs.count; i++)
        assert_int_equal(pairs.instances[i].transfer_ns, SENT_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_fastest_pair_shows_the_offset),
                                       cmocka_unit_test(a_pair_may_be_slow_from_the_start),
                                       cmocka_unit_test(pairs_of_groups_have_their_own_times),
                                       cmocka_unit_test(what_dumps_cannot_tell_is_no_latency),
                                       cmocka_unit_test(the_receive_limits_the_transfer),
                                       cmocka_unit_test(a_clock_that_jumps_shows_nothing),
                                       cmocka_unit_test(one_direction_shows_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
