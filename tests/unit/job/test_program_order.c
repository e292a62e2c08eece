#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * The order of calls of ranks of which only dumps are known. Each step has two operations of communicator 0,
 * numbers 0 and 1, and one of communicator 1, number 2. A rank has eight steps, a millisecond apart. Dumps in
 * microseconds since the step began.
 */

enum { CALLS = 3, STEPS = 8, RANKS = 2, COUNT = RANKS * STEPS * CALLS };

struct play {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[2];
    struct job_operation operations[COUNT];
    struct job_instance instances[1];
    int64_t issued_ns[COUNT];
    int64_t durations_ns[COUNT];
    int64_t stamps_ns[COUNT];
    int32_t order[COUNT]; /* in the order of the dumps; later, of the calls */
};

static int by_dump(const struct play *play, int32_t before, int32_t after)
{
    return play->stamps_ns[before] <= play->stamps_ns[after];
}

/* Sorts the operations of each step. */
static void sort_by_dumps(struct play *play)
{
    for (int32_t first = 0; first < COUNT; first += CALLS)
        for (int32_t i = first; i < first + CALLS; i++) {
            int32_t at = i;
            for (; at > first && !by_dump(play, play->order[at - 1], i); at--)
                play->order[at] = play->order[at - 1];
            play->order[at] = i;
        }
}

/* `dumps_us`: of each rank, in steps in which a digit of `steps` is '0', and in the others. */
static void play_init(struct play *play, const int dumps_us[RANKS][2][CALLS], const char *steps)
{
    memset(play, 0, sizeof *play);
    play->communicators[0].size = play->communicators[1].size = 2;
    play->job = (struct job){.ranks = play->ranks,
                             .rank_count = RANKS,
                             .communicators = play->communicators,
                             .communicator_count = 2,
                             .operations = play->operations,
                             .operation_count = COUNT,
                             .instances = play->instances,
                             .drafts = {.issued_ns = play->issued_ns,
                                        .durations_ns = play->durations_ns,
                                        .stamps_ns = play->stamps_ns}};
    for (int32_t i = 0; i < COUNT; i++) {
        int32_t call = i % CALLS, step = i / CALLS % STEPS, rank = i / CALLS / STEPS;
        play->ranks[rank] = (struct job_rank){.first = (size_t)rank * STEPS * CALLS, .count = STEPS * CALLS};
        play->operations[i] = (struct job_operation){.rank = rank,
                                                     .step = step,
                                                     .communicator = call == 2,
                                                     .function = FUNCTION_ALL_REDUCE,
                                                     .start_ns = TIME_UNKNOWN};
        play->issued_ns[i] = TIME_UNKNOWN;
        play->stamps_ns[i] = (1000 * (int64_t)step + dumps_us[rank][steps[step] != '0'][call]) * 1000;
    }
    sort_by_dumps(play);
}

/* The order of the calls in a step of a rank, as a number of three digits. */
static int order_of(const struct play *play, int rank, int step)
{
    const int32_t *order = &play->order[(rank * STEPS + step) * CALLS];
    return order[0] % CALLS * 100 + order[1] % CALLS * 10 + order[2] % CALLS;
}

static void assert_orders(const struct play *play, int rank, const int expected[STEPS])
{
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(order_of(play, rank, step), expected[step]);
}

/* The call of the other communicator mostly ends between the two of its own. */
static void steps_have_one_order(void **state)
{
    static const int dumps_us[RANKS][2][CALLS] = {{{100, 300, 200}, {100, 200, 300}},
                                                  {{100, 300, 200}, {100, 200, 300}}};
    static const int before[STEPS] = {21, 21, 12, 21, 21, 12, 21, 21},
                     after[STEPS] = {21, 21, 21, 21, 21, 21, 21, 21};
    struct play play;
    play_init(&play, dumps_us, "00100100");
    assert_orders(&play, 0, before);
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, after);
    assert_orders(&play, 1, after);
}

/* By its own dumps, the second rank has another order, but hardly ever. */
static void ranks_with_the_same_calls_have_one_order(void **state)
{
    static const int alike_us[RANKS][2][CALLS] = {{{100, 300, 200}, {100, 200, 300}},
                                                  {{100, 260, 200}, {100, 200, 900}}};
    static const int one[STEPS] = {21, 21, 21, 21, 21, 21, 21, 21},
                     other[STEPS] = {12, 12, 12, 12, 12, 12, 12, 12};
    struct play play;
    play_init(&play, alike_us, "00100000");
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, one);
    assert_orders(&play, 1, one);
    /* If that reverses more than a tenth of its calls, it does something else. */
    static const int unlike_us[RANKS][2][CALLS] = {{{100, 300, 200}, {100, 200, 300}},
                                                   {{100, 200, 300}, {100, 300, 200}}};
    play_init(&play, unlike_us, "00100000");
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, one);
    assert_orders(&play, 1, other);
}

/* Lines of one dump have no order: a difference of some microseconds reverses nothing. */
static void one_dump_reverses_nothing(void **state)
{
    static const int dumps_us[RANKS][2][CALLS] = {{{100, 230, 200}, {100, 200, 230}},
                                                  {{100, 230, 200}, {100, 200, 230}}};
    static const int before[STEPS] = {21, 21, 12, 21, 21, 12, 21, 21};
    struct play play;
    play_init(&play, dumps_us, "00100100");
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, before);
}

/* If calls or kernels have times, these tell the order. */
static void recorded_times_tell_the_order(void **state)
{
    static const int dumps_us[RANKS][2][CALLS] = {{{100, 300, 200}, {100, 200, 300}},
                                                  {{100, 300, 200}, {100, 200, 300}}};
    static const int before[STEPS] = {21, 21, 12, 21, 21, 12, 21, 21};
    struct play play;
    play_init(&play, dumps_us, "00100100");
    play.issued_ns[5] = 5;
    play.operations[STEPS * CALLS + 5].start_ns = 5;
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, before);
    assert_orders(&play, 1, before);
}

/* A step with other calls keeps its order, and two steps show none. */
static void other_steps_keep_their_order(void **state)
{
    static const int dumps_us[RANKS][2][CALLS] = {{{100, 300, 200}, {100, 200, 300}},
                                                  {{100, 300, 200}, {100, 200, 300}}};
    static const int before[STEPS] = {21, 21, 12, 21, 21, 12, 21, 21},
                     after[STEPS] = {21, 21, 12, 21, 21, 21, 21, 21};
    struct play play;
    play_init(&play, dumps_us, "00100100");
    play.operations[2 * CALLS].function = FUNCTION_BROADCAST;
    for (int i = 0; i < STEPS; i++) /* each step of the second rank is different */
        for (int call = 0; call < CALLS; call++)
            play.operations[(STEPS + i) * CALLS + call].function =
                i >> call & 1 ? FUNCTION_BROADCAST : FUNCTION_REDUCE;
    assert_int_equal(job_order_programs(&play.job, play.order), 0);
    assert_orders(&play, 0, after);
    assert_orders(&play, 1, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_one_order),
        cmocka_unit_test(ranks_with_the_same_calls_have_one_order),
        cmocka_unit_test(one_dump_reverses_nothing),
        cmocka_unit_test(recorded_times_tell_the_order),
        cmocka_unit_test(other_steps_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
