#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <string.h>

/* The coverage of a job: counted by hand for a job of two ranks, ten steps, two calls per step. */

enum { RANKS = 2, STEPS = 10, CALLS = 2, OF_RANK = STEPS * CALLS, ALL = RANKS * OF_RANK };

struct play {
    struct job job;
    struct baseline baseline;
    struct job_rank ranks[RANKS];
    struct job_operation operations[ALL];
    int32_t positions[ALL];
    int32_t role_of_rank[RANKS];
    struct role role;
    struct scope scope;
};

static void play_init(struct play *play)
{
    memset(play, 0, sizeof *play);
    play->role = (struct role){.rank_count = RANKS, .length = CALLS};
    play->job = (struct job){.ranks = play->ranks,
                             .rank_count = RANKS,
                             .expected_ranks = RANKS,
                             .operations = play->operations,
                             .operation_count = ALL,
                             .timed_operations = ALL,
                             .step_count = STEPS};
    play->baseline = (struct baseline){.positions = play->positions,
                                       .roles = &play->role,
                                       .role_count = 1,
                                       .rank_count = RANKS,
                                       .role_of_rank = play->role_of_rank,
                                       .first_step = 1,
                                       .started_step = 1,
                                       .step_count = STEPS,
                                       .regular = 1};
    for (size_t rank = 0; rank < RANKS; rank++)
        play->ranks[rank] =
            (struct job_rank){.first = rank * OF_RANK, .count = OF_RANK, .tail_step = INT32_MAX};
    for (int i = 0; i < ALL; i++) {
        play->operations[i] = (struct job_operation){.rank = i / OF_RANK,
                                                     .step = i % OF_RANK / CALLS,
                                                     .group = i,
                                                     .start_ns = i % OF_RANK * 100,
                                                     .end_ns = i % OF_RANK * 100 + 50};
        play->positions[i] = i % CALLS;
    }
}

static const struct scope *measure(struct play *play)
{
    scope_measure(&play->scope, &play->job, &play->baseline);
    return &play->scope;
}

/* All but the warm-up, for which nothing is reported. */
static void a_whole_job(void **state)
{
    struct play play;
    play_init(&play);
    const struct scope *scope = measure(&play);
    assert_int_equal(scope->operations, ALL);
    assert_int_equal(scope->warm_up, RANKS * CALLS);
    assert_int_equal(scope->judged, ALL - RANKS * CALLS);
    assert_int_equal(scope->judged_ranks, RANKS);
    assert_int_equal(scope->first_step, 1);
    assert_int_equal(scope->last_step, STEPS - 1);
    /* From the first call of step 1 to the last of step 9: 17 gaps of 100 in each rank. */
    assert_int_equal(scope->time_ns, RANKS * 1700);
    assert_int_equal(scope->judged_ns, RANKS * 1700);
    assert_int_equal(scope->blindness, BLIND_NOT);
    assert_false(scope_is_partial(scope));
}

/* Of 36 operations after the warm-up a tenth is 3: three may be missing, four may not. */
static void a_tenth_may_be_lacking(void **state)
{
    struct play play;
    play_init(&play);
    for (int lacking = 1; lacking <= 4; lacking++) {
        play.operations[OF_RANK - lacking].end_ns = TIME_UNKNOWN;
        assert_int_equal(measure(&play)->gaps[GAP_NO_TIME], lacking);
        assert_int_equal(scope_is_partial(&play.scope), lacking > 3);
        assert_int_equal(play.scope.judged, ALL - RANKS * CALLS - lacking);
    }
}

/* Lost operations are missing as much as those that cannot be analyzed. */
static void what_is_not_there(void **state)
{
    struct play play;
    play_init(&play);
    play.job.missing_sequence = 5;
    play.job.left_out = 3;
    play.job.bare_calls = 7;
    play.job.damaged_lines = 1;
    play.job.lost_events = 2;
    play.ranks[1].count -= 6;
    play.job.operation_count -= 6;
    const struct scope *scope = measure(&play);
    assert_int_equal(scope->gaps[GAP_LOST], 2);
    assert_int_equal(scope->gaps[GAP_LEFT_OUT], 3);
    assert_int_equal(scope->gaps[GAP_NO_OPERATION], 7);
    assert_int_equal(scope->gaps[GAP_DAMAGED], 3);
    /* The six operations of rank 1 that are not recorded, from step 7 on. */
    assert_int_equal(scope->gaps[GAP_ENDED_EARLY], 6);
    assert_int_equal(scope->operations, ALL - 6 + 2 + 3 + 7 + 3 + 6);
    assert_true(scope_is_partial(scope));
    /* If others got past it earlier, its own records of those steps count. */
    play.ranks[1].tail_step = 5;
    assert_int_equal(measure(&play)->gaps[GAP_ENDED_EARLY], 6);
}

/*
 * The operations of rank 1 before its record begins, in the steps after the warm-up. Two of its 18 are more
 * than a tenth, although they are not of all 36; operations without a step that it recorded before are not
 * missing.
 */
static void what_began_late(void **state)
{
    struct play play;
    play_init(&play);
    for (int begun = 1; begun <= 5; begun++) {
        play.ranks[1].first = OF_RANK + (size_t)begun * CALLS;
        play.ranks[1].count = OF_RANK - (size_t)begun * CALLS;
        const struct scope *scope = measure(&play);
        assert_int_equal(scope->gaps[GAP_BEGAN_LATE], (begun - 1) * CALLS);
        assert_int_equal(scope->cut_ranks, begun > 1);
        assert_int_equal(scope_is_partial(scope), begun > 1);
        assert_int_equal(scope->operations - scope->warm_up, ALL - RANKS * CALLS);
    }
    for (size_t i = 0; i < CALLS; i++)
        play.operations[play.ranks[1].first + i].step = -1;
    assert_int_equal(measure(&play)->gaps[GAP_NO_STEP], CALLS);
    assert_int_equal(play.scope.gaps[GAP_BEGAN_LATE], 4 * CALLS);
}

/* A rank without a file, however complete the other is. */
static void ranks_without_files(void **state)
{
    struct play play;
    play_init(&play);
    play.job.expected_ranks = 4;
    assert_int_equal(measure(&play)->blindness, BLIND_NOT);
    assert_true(scope_is_partial(&play.scope));
    play.job.expected_ranks = 5;
    assert_int_equal(measure(&play)->blindness, BLIND_LITTLE);
}

/* Undetected steps are no warm-up, although they were counted as one. */
static void a_warm_up_that_is_none(void **state)
{
    struct play play;
    play_init(&play);
    for (int i = 0; i < ALL; i++)
        if (play.operations[i].step < 5) {
            play.operations[i].step = 0;
            play.positions[i] = i % OF_RANK < CALLS ? i % CALLS : -1;
        }
    const struct scope *scope = measure(&play);
    assert_int_equal(scope->gaps[GAP_NO_STEP], RANKS * 4 * CALLS);
    assert_int_equal(scope->warm_up, RANKS * CALLS);
    assert_true(scope_is_partial(scope));
}

static void where_nothing_can_be_judged(void **state)
{
    struct play play;
    play_init(&play);
    for (int i = 0; i < ALL; i++)
        play.operations[i].end_ns = TIME_UNKNOWN;
    assert_int_equal(measure(&play)->blindness, BLIND_NO_ENDS);
    assert_int_equal(play.scope.judged, 0);
    play.job.timed_operations = 0;
    assert_int_equal(measure(&play)->blindness, BLIND_NO_TIMES);
    /* Network steps have their own times, for slow links only. */
    play.job.traffic_count = 1;
    assert_int_equal(measure(&play)->blindness, BLIND_NOT);
    assert_true(scope_is_partial(&play.scope));
    play_init(&play);
    play.ranks[1].count = 0;
    assert_int_equal(measure(&play)->blindness, BLIND_ONE_RANK);
    play_init(&play);
    play.job.step_count = 2;
    assert_int_equal(measure(&play)->blindness, BLIND_FEW_STEPS);
    play_init(&play);
    play.baseline.regular = 0.4;
    assert_int_equal(measure(&play)->blindness, BLIND_IRREGULAR);
    play_init(&play);
    play.job.operation_count = play.ranks[0].count = play.ranks[1].count = 0;
    assert_int_equal(measure(&play)->blindness, BLIND_NO_OPERATIONS);
}

/*
 * Steps of a later round count once, and what each round loads does not: the first step, and operations in no
 * step.
 */
static void of_several_rounds(void **state)
{
    struct play play;
    (void)state;
    play_init(&play);
    play.operations[ALL - 1].step = -1;
    play.job.is_later_round = 1;
    play.baseline.first_step = 0;
    const struct scope later = *measure(&play);
    assert_int_equal(later.judged, ALL - RANKS * CALLS - 1);
    assert_int_equal(later.gaps[GAP_NO_STEP], 0);
    play_init(&play);
    play.operations[2].start_ns = TIME_UNKNOWN;
    struct scope first = *measure(&play);
    int64_t judged = first.judged, gaps = first.gaps[GAP_NO_TIME], operations = first.operations;
    assert_int_equal(gaps, 1);
    scope_add_round(&first, &later);
    assert_int_equal(first.rounds, 2);
    assert_int_equal(first.judged, judged + later.judged);
    assert_int_equal(first.operations, operations + later.judged);
    assert_int_equal(first.gaps[GAP_NO_TIME], gaps);
    assert_int_equal(first.last_step, STEPS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_several_rounds),      cmocka_unit_test(a_whole_job),
        cmocka_unit_test(a_tenth_may_be_lacking), cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(what_began_late),        cmocka_unit_test(ranks_without_files),
        cmocka_unit_test(a_warm_up_that_is_none), cmocka_unit_test(where_nothing_can_be_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
