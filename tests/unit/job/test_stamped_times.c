#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/*
 * Operations with a duration and the time of the dump that recorded them. One rank; all times in
 * microseconds, converted to nanoseconds. Two steps of four operations, dumps every 100.
 */

enum { COUNT = 8 };

struct play {
    struct job job;
    struct job_rank rank;
    struct job_operation operations[COUNT];
    int64_t free_ns[COUNT];
    int64_t durations_ns[COUNT];
    int64_t stamps_ns[COUNT];
};

static void play_init(struct play *play, const int64_t stamps_us[COUNT], int64_t duration_us)
{
    memset(play, 0, sizeof *play);
    play->job = (struct job){.ranks = &play->rank,
                             .rank_count = 1,
                             .operations = play->operations,
                             .operation_count = COUNT,
                             .drafts = {.free_ns = play->free_ns,
                                        .durations_ns = play->durations_ns,
                                        .stamps_ns = play->stamps_ns}};
    play->rank = (struct job_rank){.count = COUNT};
    for (int i = 0; i < COUNT; i++) {
        play->operations[i] = (struct job_operation){.group = i,
                                                     .previous = i - 1,
                                                     .step = i / 4,
                                                     .function = FUNCTION_SEND,
                                                     .enqueued_ns = 0,
                                                     .start_ns = TIME_UNKNOWN,
                                                     .end_ns = TIME_UNKNOWN};
        play->free_ns[i] = TIME_UNKNOWN;
        play->durations_ns[i] = duration_us * 1000;
        play->stamps_ns[i] = stamps_us[i] * 1000;
    }
}

static void place(struct play *play)
{
    assert_int_equal(job_measure_dumps(&play->job, &play->rank), 0);
    assert_int_equal(job_place_by_stamps(&play->job, &play->rank), 0);
}

static void assert_times(const struct play *play, int at, int64_t start_us, int64_t end_us)
{
    assert_int_equal(play->operations[at].start_ns, start_us * 1000);
    assert_int_equal(play->operations[at].end_ns, end_us * 1000);
    assert_int_equal(play->free_ns[at], end_us * 1000);
    assert_true(play->operations[at].stamped);
    assert_true(play->operations[at].inferred);
}

static const int64_t even_us[COUNT] = {100, 200, 300, 400, 1100, 1200, 1300, 1400};

/* Each ended when it was dumped; what shares a dump ended before the next one began. */
static void an_end_is_bounded_by_its_dump_and_by_the_next_start(void **state)
{
    struct play play;
    const int64_t stamps_us[COUNT] = {100, 300, 300, 400, 1100, 1200, 1300, 1400};
    play_init(&play, stamps_us, 20);
    place(&play);
    assert_times(&play, 0, 80, 100);
    assert_times(&play, 1, 260, 280);
    assert_times(&play, 2, 280, 300);
    assert_times(&play, 7, 1380, 1400);
}

/* A kernel time after it is a bound, too, and stays. */
static void a_recorded_start_is_a_bound(void **state)
{
    struct play play;
    play_init(&play, even_us, 20);
    play.operations[2].start_ns = 190000;
    play.operations[2].end_ns = 290000;
    place(&play);
    assert_times(&play, 1, 170, 190);
    assert_int_equal(play.operations[2].start_ns, 190000);
    assert_false(play.operations[2].stamped);
}

/* The operations of a group begin together, as early as the stamp of each allows. */
static void a_group_begins_together(void **state)
{
    struct play play;
    play_init(&play, even_us, 20);
    play.operations[2].group = 1;
    play.operations[2].previous = 0;
    play.operations[2].function = FUNCTION_RECV;
    play.durations_ns[2] = 150000;
    place(&play);
    assert_times(&play, 1, 150, 170);
    assert_times(&play, 2, 150, 300);
}

/* Its members are over when their own durations are, so its times are not those of one kernel. */
static void members_of_a_group_have_their_own_times(void **state)
{
    struct play play;
    play_init(&play, even_us, 20);
    play.operations[2].group = 1;
    assert_true(job_is_grouped(&play.job, 1) && job_is_grouped(&play.job, 2));
    place(&play);
    assert_false(job_is_grouped(&play.job, 1) || job_is_grouped(&play.job, 2));
}

static void dumps_tell_their_interval_and_the_latest_end(void **state)
{
    struct play play;
    play_init(&play, even_us, 20);
    assert_int_equal(job_stamped_end(&play.job, 1), TIME_UNKNOWN);
    place(&play);
    assert_int_equal(play.rank.dump_interval_ns, 100000);
    play_init(&play, even_us, 20);
    assert_int_equal(job_measure_dumps(&play.job, &play.rank), 0);
    assert_int_equal(job_stamped_end(&play.job, 1), 200000);
    play.operations[1].start_ns = 150000;
    assert_int_equal(job_stamped_end(&play.job, 1), TIME_UNKNOWN);
}

/* Without the stamp or the duration of one of a group, the kernel's start is not known. */
static void a_group_needs_all_of_its_times(void **state)
{
    for (int lacks_duration = 0; lacks_duration < 2; lacks_duration++) {
        struct play play;
        play_init(&play, even_us, 20);
        play.operations[2].group = 1;
        play.operations[2].previous = 0;
        (lacks_duration ? play.durations_ns : play.stamps_ns)[2] = TIME_UNKNOWN;
        place(&play);
        assert_int_equal(play.operations[1].start_ns, TIME_UNKNOWN);
        assert_false(play.operations[1].stamped);
    }
}

/* If dumps are as far apart as steps, stamps do not tell the gaps of a step. */
static void rare_dumps_tell_nothing(void **state)
{
    struct play play;
    const int64_t stamps_us[COUNT] = {500, 500, 1000, 1000, 1500, 1500, 2000, 2000};
    play_init(&play, stamps_us, 20);
    place(&play);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(play.operations[i].start_ns, TIME_UNKNOWN);
}

/* Lines of one dump are written some microseconds apart. Those are not dumps that follow each other soon. */
static void lines_of_one_dump_are_no_dumps(void **state)
{
    struct play play;
    const int64_t stamps_us[COUNT] = {500, 508, 1000, 1008, 1500, 1508, 2000, 2008};
    play_init(&play, stamps_us, 20);
    place(&play);
    assert_int_equal(play.operations[0].start_ns, TIME_UNKNOWN);
}

/* Not before the operation before it was over, nor before it was enqueued, whatever the stamp says. */
static void not_before_its_stream_was_free(void **state)
{
    struct play play;
    play_init(&play, even_us, 20);
    place(&play);
    play.operations[0].end_ns = 195000;
    job_delay_stamped(&play.job, &play.rank, 1);
    assert_times(&play, 1, 195, 215);
    play.operations[4].enqueued_ns = 1090000;
    job_delay_stamped(&play.job, &play.rank, 4);
    assert_times(&play, 4, 1090, 1110);
    job_delay_stamped(&play.job, &play.rank, 6);
    assert_times(&play, 6, 1280, 1300);
}

/*
 * Two ranks of a host with twenty collectives, far apart; each rank dumps every 500, at its own times, so
 * that the distances of dumps do not tell the interval.
 */
enum { MEETINGS = 40 };

struct pair {
    struct job job;
    struct job_rank ranks[2];
    struct job_operation operations[2 * MEETINGS];
    struct job_instance instances[MEETINGS];
    int32_t members[2 * MEETINGS];
    int64_t durations_ns[2 * MEETINGS];
    int64_t stamps_ns[2 * MEETINGS];
};

static char first_host[] = "node7", other_host[] = "node8";

static void pair_init(struct pair *pair)
{
    memset(pair, 0, sizeof *pair);
    pair->job = (struct job){.ranks = pair->ranks,
                             .rank_count = 2,
                             .operations = pair->operations,
                             .operation_count = 2 * MEETINGS,
                             .instances = pair->instances,
                             .instance_count = MEETINGS,
                             .instance_members = pair->members,
                             .drafts = {.durations_ns = pair->durations_ns, .stamps_ns = pair->stamps_ns}};
    for (int32_t i = 0; i < 2 * MEETINGS; i++) {
        int32_t rank = i / MEETINGS, number = i % MEETINGS, late_us = (rank ? 37 : 23) * number % 50 * 10;
        pair->ranks[rank] = (struct job_rank){
            .first = (size_t)rank * MEETINGS, .count = MEETINGS, .facts = {.host = first_host}};
        pair->operations[i] = (struct job_operation){.rank = rank,
                                                     .step = number,
                                                     .instance = number,
                                                     .function = FUNCTION_ALL_REDUCE,
                                                     .start_ns = TIME_UNKNOWN};
        pair->durations_ns[i] = 1000000;
        pair->stamps_ns[i] = (10000 * (int64_t)(number + 1) + late_us) * 1000;
        pair->members[2 * number + rank] = i;
        pair->instances[number] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                        .members = 2,
                                                        .expected = 2,
                                                        .first_member = (uint32_t)(2 * number)};
    }
}

static void members_of_a_host_tell_the_interval(void **state)
{
    struct pair pair;
    pair_init(&pair);
    assert_int_equal(job_measure_dumps(&pair.job, &pair.ranks[0]), 0);
    assert_in_range(pair.ranks[0].dump_interval_ns, 350000, 650000);
    /* On two hosts, nothing tells it: steps are as far apart as dumps. */
    pair.ranks[1].facts.host = other_host;
    assert_int_equal(job_measure_dumps(&pair.job, &pair.ranks[0]), 0);
    assert_int_equal(pair.ranks[0].dump_interval_ns, 0);
}

/* The leaf of a tree always ends 2 ms earlier, which is no interval between dumps; of one size only. */
static void a_leaf_of_a_tree_tells_the_interval(void **state)
{
    struct pair pair;
    pair_init(&pair);
    for (int i = 0; i < MEETINGS; i++) {
        pair.operations[i].bytes = pair.operations[MEETINGS + i].bytes = i % 2 ? 4096 : 8192;
        pair.stamps_ns[MEETINGS + i] -= i % 2 ? 0 : 2000000;
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(job_measure_dumps(&pair.job, &pair.ranks[i]), 0);
        assert_in_range(pair.ranks[i].dump_interval_ns, 400000, 800000);
    }
}

/* Its dumps were 5 ms late: the next operation of the stream shows when each of the others was over. */
static void late_dumps_are_late_notices(void **state)
{
    struct play play;
    const int64_t stamps_us[COUNT] = {100, 5200, 5200, 5200, 6000, 6100, 6200, 6300};
    play_init(&play, stamps_us, 90);
    play.job.step_count = 2;
    play.durations_ns[3] = 4900000;
    place(&play);
    assert_int_equal(play.rank.dump_interval_ns, 100000);
    assert_int_equal(job_note_dump_lags(&play.job), 0);
    assert_int_equal(play.job.services[0].late, 1);
    assert_int_equal(play.job.services[1].late, 0);
    assert_true(play.job.services[1].samples > 0);
    free(play.job.services);
}

/* An operation that overlaps with others seems to show that these were over before the dumps before. */
static void what_overlaps_is_no_late_dump(void **state)
{
    struct play play;
    const int64_t stamps_us[COUNT] = {1000, 1100, 1200, 1300, 2000, 2100, 2200, 2300};
    play_init(&play, stamps_us, 20);
    play.job.step_count = 2;
    play.durations_ns[3] = 1200000;
    place(&play);
    assert_times(&play, 2, 80, 100);
    assert_int_equal(job_note_dump_lags(&play.job), 0);
    assert_int_equal(play.job.services[0].late + play.job.services[1].late, 0);
    free(play.job.services);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_is_bounded_by_its_dump_and_by_the_next_start),
        cmocka_unit_test(a_recorded_start_is_a_bound),
        cmocka_unit_test(a_group_begins_together),
        cmocka_unit_test(members_of_a_group_have_their_own_times),
        cmocka_unit_test(dumps_tell_their_interval_and_the_latest_end),
        cmocka_unit_test(a_group_needs_all_of_its_times),
        cmocka_unit_test(rare_dumps_tell_nothing),
        cmocka_unit_test(lines_of_one_dump_are_no_dumps),
        cmocka_unit_test(not_before_its_stream_was_free),
        cmocka_unit_test(members_of_a_host_tell_the_interval),
        cmocka_unit_test(a_leaf_of_a_tree_tells_the_interval),
        cmocka_unit_test(late_dumps_are_late_notices),
        cmocka_unit_test(what_overlaps_is_no_late_dump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
