#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <string.h>

/*
 * Which member of slow transfers joined operations later. Ranks of one role, one operation a step each, of
 * 5 ms; they take 10 ms in the steps from FIRST to LAST. Microseconds.
 */

enum { RANKS = 6, STEPS = 20, FIRST = 8, LAST = 15, LEAST = 5 };

struct play {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[RANKS * STEPS];
    struct baseline baseline;
    struct role role;
    int32_t of_role[RANKS];
    struct slow_network found;
    unsigned char may[RANKS];
};

static void play_init(struct play *play)
{
    memset(play, 0, sizeof *play);
    play->job = (struct job){.ranks = play->ranks,
                             .rank_count = RANKS,
                             .operations = play->operations,
                             .operation_count = RANKS * STEPS,
                             .step_count = STEPS};
    play->role = (struct role){.ranks = play->of_role, .rank_count = RANKS};
    play->baseline = (struct baseline){.roles = &play->role,
                                       .role_count = 1,
                                       .step_count = STEPS,
                                       .first_step = 1,
                                       .median_step_ns = 20000000};
    play->found = (struct slow_network){
        .may = play->may, .count = RANKS, .steps = {.first = FIRST, .last = LAST, .period = 1}};
    for (int32_t i = 0; i < RANKS * STEPS; i++) {
        int32_t rank = i / STEPS, step = i % STEPS, noise_us = (rank * 7 + step * 5) % 11 * 4;
        int64_t start_ns = step * INT64_C(20000000), stay_us = step >= FIRST && step <= LAST ? 10000 : 5000;
        play->of_role[rank] = rank;
        play->may[rank] = 1;
        play->operations[i] = (struct job_operation){.rank = rank,
                                                     .step = step,
                                                     .start_ns = start_ns,
                                                     .end_ns = start_ns + (stay_us + noise_us) * 1000};
    }
}

/* A rank joins later in the slow steps, and so is in its operation for less time than the others. */
static void join_later(struct play *play, int32_t rank, int64_t later_us)
{
    for (int32_t step = FIRST; step <= LAST; step++)
        play->operations[rank * STEPS + step].start_ns += later_us * 1000;
}

static void find(struct play *play)
{
    assert_int_equal(slow_member_find(&play->job, &play->baseline, LEAST, &play->found), 0);
}

static void assert_none(const struct play *play)
{
    assert_int_equal(play->found.count, RANKS);
    assert_int_equal(play->found.later_ns, 0);
}

static void the_member_that_joins_later(void **state)
{
    struct play play;
    play_init(&play);
    find(&play);
    assert_none(&play);
    join_later(&play, 4, 1000);
    find(&play);
    assert_int_equal(play.found.count, 1);
    assert_true(play.may[4]);
    assert_false(play.may[0]);
    assert_in_range(play.found.later_ns, 900000, 1100000);
}

/* Half as much in another rank is what such transfers do by themselves, in whichever direction. */
static void not_one_of_several(void **state)
{
    static const int64_t other_us[] = {550, -550};
    for (int i = 0; i < 2; i++) {
        struct play play;
        play_init(&play);
        join_later(&play, 4, 1000);
        join_later(&play, 1, other_us[i]);
        find(&play);
        assert_none(&play);
    }
}

static void not_by_chance(void **state)
{
    struct play play;
    play_init(&play);
    join_later(&play, 4, 60);
    find(&play);
    assert_none(&play);
}

static void only_a_candidate(void **state)
{
    struct play play;
    play_init(&play);
    join_later(&play, 4, 1000);
    play.may[4] = 0;
    find(&play);
    assert_none(&play);
}

/* In all steps, it is what this rank does. */
static void only_in_these_steps(void **state)
{
    struct play play;
    play_init(&play);
    for (int32_t step = 0; step < STEPS; step++)
        play.operations[4 * STEPS + step].start_ns += 1000000;
    find(&play);
    assert_none(&play);
}

/* Three ranks have no median of others. */
static void only_among_enough_ranks(void **state)
{
    struct play play;
    play_init(&play);
    join_later(&play, 1, 1000);
    play.role.rank_count = 3;
    find(&play);
    assert_none(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_member_that_joins_later),
        cmocka_unit_test(not_one_of_several),
        cmocka_unit_test(not_by_chance),
        cmocka_unit_test(only_a_candidate),
        cmocka_unit_test(only_in_these_steps),
        cmocka_unit_test(only_among_enough_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
