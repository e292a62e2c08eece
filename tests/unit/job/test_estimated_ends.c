#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <string.h>

/* The estimated ends of kernels without a recorded stop. All ranks share a clock. */

enum { RANKS = 3, CALLS = 3, ALL = RANKS * CALLS };

struct play {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[ALL];
    int64_t free_ns[ALL];
    struct job_instance instances[ALL];
    int32_t members[ALL];
    int64_t delays[RANKS];
    int estimated;
};

/* Three AllReduces of all ranks, which begin at 0, 1000 and 2000. */
static void play_init(struct play *play)
{
    memset(play, 0, sizeof *play);
    play->job = (struct job){.ranks = play->ranks,
                             .rank_count = RANKS,
                             .operations = play->operations,
                             .operation_count = ALL,
                             .drafts = {.free_ns = play->free_ns},
                             .instances = play->instances,
                             .instance_count = CALLS,
                             .instance_members = play->members};
    for (int rank = 0; rank < RANKS; rank++)
        play->ranks[rank] = (struct job_rank){.first = (size_t)rank * CALLS,
                                              .count = CALLS,
                                              .delays_ns = &play->delays[rank],
                                              .clock_scale = 1,
                                              .clock_method = rank ? CLOCK_SHARED : CLOCK_REFERENCE};
    for (int i = 0; i < ALL; i++) {
        int call = i % CALLS, rank = i / CALLS;
        play->operations[i] = (struct job_operation){.rank = rank,
                                                     .instance = call,
                                                     .group = i,
                                                     .previous = call ? i - 1 : -1,
                                                     .function = FUNCTION_ALL_REDUCE,
                                                     .start_ns = call * 1000,
                                                     .end_ns = TIME_UNKNOWN,
                                                     .incomplete = 1};
        play->free_ns[i] = TIME_UNKNOWN;
        play->members[call * RANKS + rank] = i;
    }
    for (int call = 0; call < CALLS; call++)
        play->instances[call] = (struct job_instance){.members = RANKS,
                                                      .expected = RANKS,
                                                      .first_member = (uint32_t)(call * RANKS),
                                                      .function = FUNCTION_ALL_REDUCE};
}

static void estimate(struct play *play)
{
    assert_int_equal(job_estimate_ends(&play->job, &play->estimated), 0);
}

static struct job_operation *at(struct play *play, int rank, int call)
{
    return &play->operations[rank * CALLS + call];
}

/* Rank 1 is late for the second: the starts of the others show when the first was over for it, too. */
static void the_first_to_go_on_tells(void **state)
{
    struct play play;
    play_init(&play);
    at(&play, 1, 1)->start_ns = 1400;
    at(&play, 2, 1)->start_ns = 1100;
    estimate(&play);
    assert_true(play.estimated);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(at(&play, rank, 0)->end_ns, 1000);
        assert_int_equal(play.free_ns[rank * CALLS], 1000);
        assert_int_equal(at(&play, rank, 0)->ends, ENDS_ESTIMATED);
        assert_int_equal(at(&play, rank, 1)->end_ns, 2000);
        /* No operation began after the last. */
        assert_int_equal(at(&play, rank, 2)->end_ns, TIME_UNKNOWN);
    }
}

/* Recorded ends stay, and are evidence for the others. */
static void a_member_that_tells_its_end(void **state)
{
    struct play play;
    play_init(&play);
    struct job_operation *told = at(&play, 2, 0);
    told->end_ns = play.free_ns[told - play.operations] = 300;
    told->ends = ENDS_BY_KERNEL;
    estimate(&play);
    assert_int_equal(told->end_ns, 300);
    assert_int_equal(told->ends, ENDS_BY_KERNEL);
    assert_int_equal(at(&play, 0, 0)->end_ns, 300);
    assert_int_equal(at(&play, 1, 0)->end_ns, 300);
}

/* No operation ends before it began, whatever the clocks show. */
static void not_before_its_begin(void **state)
{
    struct play play;
    play_init(&play);
    at(&play, 1, 0)->start_ns = 1200;
    at(&play, 1, 1)->start_ns = 1500;
    estimate(&play);
    assert_int_equal(at(&play, 0, 0)->end_ns, 1000);
    assert_int_equal(at(&play, 1, 0)->end_ns, 1201);
}

/*
 * If clocks are not aligned, a member is not recorded, or a function lets ranks go early, nothing is
 * estimated.
 */
static void where_nothing_tells(void **state)
{
    struct play play;
    for (int why = 0; why < 4; why++) {
        play_init(&play);
        if (why == 0)
            for (int rank = 0; rank < RANKS; rank++)
                play.ranks[rank].clock_method = CLOCK_CONTRADICTORY;
        for (int call = 0; call < CALLS; call++) {
            play.instances[call].expected += why == 1;
            if (why == 2)
                play.instances[call].function = FUNCTION_BROADCAST;
        }
        for (int i = 0; i < ALL; i++)
            play.operations[i].incomplete = why != 3; /* no kernel is recorded */
        estimate(&play);
        assert_false(play.estimated);
        assert_int_equal(at(&play, 0, 0)->end_ns, TIME_UNKNOWN);
    }
}

/* If at least half of the kernels have an end, the others are not changed. */
static void where_most_tell(void **state)
{
    struct play play;
    for (int told = 4; told <= 5; told++) {
        play_init(&play);
        for (int i = 0; i < told; i++)
            play.operations[ALL - 1 - i].end_ns = play.free_ns[ALL - 1 - i] = 2500;
        estimate(&play);
        assert_int_equal(play.estimated, told == 4);
    }
}

/*
 * An exchange between all ranks, each a group of two pairs: both ranks of a pair have finished when the first
 * continues, and a group when its last pair has. Rank 1 is 400 later than the next.
 */
static void a_group_of_pairs(void **state)
{
    struct play play;
    play_init(&play);
    static const int64_t next[RANKS] = {1000, 1500, 1100};
    for (int rank = 0; rank < RANKS; rank++) {
        for (int call = 0; call < 2; call++)
            *at(&play, rank, call) = (struct job_operation){.rank = rank,
                                                            .group = rank * CALLS,
                                                            .previous = -1,
                                                            .start_ns = 0,
                                                            .end_ns = TIME_UNKNOWN,
                                                            .incomplete = 1};
        at(&play, rank, 2)->start_ns = next[rank];
        at(&play, rank, 2)->previous = rank * CALLS;
    }
    /* Rank r sends to r + 1: its first operation; its second receives. */
    for (int rank = 0; rank < RANKS; rank++) {
        int to = (rank + 1) % RANKS;
        at(&play, rank, 0)->instance = at(&play, to, 1)->instance = rank;
        play.members[2 * rank] = rank * CALLS;
        play.members[2 * rank + 1] = to * CALLS + 1;
        play.instances[rank] = (struct job_instance){.function = FUNCTION_SEND,
                                                     .members = 2,
                                                     .expected = 2,
                                                     .sender = rank,
                                                     .receiver = to,
                                                     .first_member = (uint32_t)(2 * rank)};
    }
    for (int rank = 0; rank < RANKS; rank++)
        at(&play, rank, 2)->instance = -1;
    estimate(&play);
    assert_int_equal(at(&play, 0, 0)->end_ns, 1000);
    assert_int_equal(at(&play, 1, 0)->end_ns, 1100);
    assert_int_equal(at(&play, 1, 1)->end_ns, 1100);
    assert_int_equal(at(&play, 2, 1)->end_ns, 1100);
}

/*
 * Rank 0 sends to rank 1 again and again, alone in its kernel. A transfer takes 100 after the later side
 * began. Only after every second one, a side goes on at once; after the others, both compute for 700 and
 * more.
 */
enum { SENDS = 8 };

struct pair_play {
    struct job job;
    struct job_rank ranks[2];
    struct job_operation operations[2 * SENDS];
    int64_t free_ns[2 * SENDS];
    struct job_instance instances[SENDS];
    int32_t members[2 * SENDS];
    int64_t delays[2];
    int estimated;
};

/* When both sides have begun. */
static int64_t both_began(int number)
{
    return number * 1000 + 40;
}

static void pair_play_init(struct pair_play *play)
{
    memset(play, 0, sizeof *play);
    play->job = (struct job){.ranks = play->ranks,
                             .rank_count = 2,
                             .operations = play->operations,
                             .operation_count = 2 * SENDS,
                             .drafts = {.free_ns = play->free_ns},
                             .instances = play->instances,
                             .instance_count = SENDS,
                             .instance_members = play->members};
    for (int i = 0; i < 2 * SENDS; i++) {
        int rank = i / SENDS, number = i % SENDS;
        play->ranks[rank] = (struct job_rank){.first = (size_t)rank * SENDS,
                                              .count = SENDS,
                                              .delays_ns = &play->delays[rank],
                                              .clock_scale = 1,
                                              .clock_method = rank ? CLOCK_SHARED : CLOCK_REFERENCE};
        /* The receiver begins last; after every second pair the sender begins the next one at once. */
        int64_t start_ns = rank                   ? both_began(number)
                           : number % 2 && number ? both_began(number - 1) + 100
                                                  : both_began(number) - 40;
        play->operations[i] = (struct job_operation){.rank = rank,
                                                     .instance = number,
                                                     .group = i,
                                                     .previous = number ? i - 1 : -1,
                                                     .function = rank ? FUNCTION_RECV : FUNCTION_SEND,
                                                     .start_ns = start_ns,
                                                     .end_ns = TIME_UNKNOWN,
                                                     .bytes = 4096,
                                                     .incomplete = 1};
        play->free_ns[i] = TIME_UNKNOWN;
        play->members[2 * number + rank] = i;
        play->instances[number] = (struct job_instance){.function = FUNCTION_SEND,
                                                        .members = 2,
                                                        .expected = 2,
                                                        .sender = 0,
                                                        .receiver = 1,
                                                        .first_member = (uint32_t)(2 * number)};
    }
}

/* What a side computes after a pair is its own time, and not part of the pair. */
static void a_pair_takes_its_usual_time(void **state)
{
    struct pair_play play;
    pair_play_init(&play);
    assert_int_equal(job_estimate_ends(&play.job, &play.estimated), 0);
    assert_true(play.estimated);
    for (int number = 0; number + 1 < SENDS; number++) {
        assert_int_equal(play.operations[number].end_ns, both_began(number) + 100);
        assert_int_equal(play.operations[SENDS + number].end_ns, both_began(number) + 100);
        /* Own time counts from when a side could go on. */
        int64_t free_ns = number % 2 ? both_began(number + 1) - 40 : both_began(number) + 100;
        assert_int_equal(play.free_ns[number], free_ns);
        assert_int_equal(play.free_ns[SENDS + number], free_ns);
    }
}

/* A pair of another size may take longer, and what a kernel records is not changed. */
static void only_pairs_alike_and_unrecorded(void **state)
{
    struct pair_play play;
    pair_play_init(&play);
    play.operations[1].bytes = play.operations[SENDS + 1].bytes = 8192;
    play.operations[SENDS + 3].end_ns = play.free_ns[SENDS + 3] = both_began(3) + 500;
    assert_int_equal(job_estimate_ends(&play.job, &play.estimated), 0);
    assert_int_equal(play.operations[1].end_ns, both_began(2) - 40);
    assert_int_equal(play.operations[3].end_ns, both_began(3) + 500);
    assert_int_equal(play.operations[5].end_ns, both_began(5) + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_to_go_on_tells),
        cmocka_unit_test(a_member_that_tells_its_end),
        cmocka_unit_test(not_before_its_begin),
        cmocka_unit_test(where_nothing_tells),
        cmocka_unit_test(a_group_of_pairs),
        cmocka_unit_test(where_most_tell),
        cmocka_unit_test(a_pair_takes_its_usual_time),
        cmocka_unit_test(only_pairs_alike_and_unrecorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
