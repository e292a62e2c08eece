#include "base/base.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Offsets from common operations with known truth. The second computation is Floyd-Warshall over the
 * constraints of all pairs.
 */

enum { CLOCKS = 8, MEETINGS = 40 };

static const int64_t FAR = INT64_MAX / 4;

struct world {
    int64_t offset[CLOCKS]; /* true = scale x local + offset */
    double scale[CLOCKS];
    struct align_visit visits[CLOCKS * MEETINGS];
    struct align_meeting meetings[MEETINGS];
    struct align_problem problem;
};

static int64_t local_of(const struct world *world, int32_t clock, int64_t true_ns)
{
    return llround((double)(true_ns - world->offset[clock]) / world->scale[clock]);
}

static void world_init(struct world *world, int32_t clocks)
{
    memset(world, 0, sizeof *world);
    for (int32_t i = 0; i < CLOCKS; i++)
        world->scale[i] = 1;
    world->problem = (struct align_problem){
        .visits = world->visits, .meetings = world->meetings, .clock_count = clocks, .reference = 0};
}

static void add_visit(struct world *world, int32_t clock, int64_t come_ns, int64_t leave_ns)
{
    struct align_meeting *meeting = &world->meetings[world->problem.meeting_count - 1];
    world->visits[meeting->first + meeting->count++] =
        (struct align_visit){.clock = clock,
                             .come_ns = local_of(world, clock, come_ns),
                             .leave_ns = local_of(world, clock, leave_ns)};
}

/* Records when the last visit stopped. */
static void add_stop(struct world *world, int64_t stop_ns)
{
    const struct align_meeting *meeting = &world->meetings[world->problem.meeting_count - 1];
    struct align_visit *visit = &world->visits[meeting->first + meeting->count - 1];
    visit->stop_ns = local_of(world, visit->clock, stop_ns);
    visit->has_stop = 1;
}

static void add_meeting(struct world *world)
{
    size_t count = world->problem.meeting_count++, first = 0;
    if (count)
        first = world->meetings[count - 1].first + world->meetings[count - 1].count;
    world->meetings[count] = (struct align_meeting){.first = first};
}

static void solve(const struct world *world, struct align_clock *clocks)
{
    struct error error = ERROR_INIT;
    assert_int_equal(align_solve(&world->problem, clocks, &error), 0);
}

/*
 * By hand. Clock 1 shows 1000 less than clock 0. They have one common operation: 0 is in it from 0 to 100, 1
 * from 50 to 100, true time. The end of 0 at 100 bounds the offset by 100 - (-950) = 1050, the end of 1 at
 * -900 by 0 - (-900).
 */
static void one_meeting(void **state)
{
    struct world world;
    struct align_clock clocks[2];
    world_init(&world, 2);
    world.offset[1] = 1000;
    add_meeting(&world);
    add_visit(&world, 0, 0, 100);
    add_visit(&world, 1, 50, 100);
    solve(&world, clocks);
    assert_int_equal(clocks[0].state, ALIGN_SOLVED);
    assert_int_equal(clocks[0].offset_ns, 0);
    assert_int_equal(clocks[0].uncertainty_ns, 0);
    assert_int_equal(clocks[1].state, ALIGN_SOLVED);
    assert_int_equal(clocks[1].offset_ns, 975);
    assert_int_equal(clocks[1].uncertainty_ns, 75);
    assert_true(clocks[1].scale == 1);
}

/*
 * By hand. Clock 1 shows 1000 less than clock 0. The common operation bounds the offset to 900..1050, as
 * above. What 0 sends from 40 on is there at 60, true time, which is -940 on clock 1: 980 or more. What 1
 * sends from 10 on (-990) is there at 25: 1015 or less. The other times of such a meeting do not count.
 */
static void one_way_meetings(void **state)
{
    struct world world;
    struct align_clock clocks[2];
    world_init(&world, 2);
    world.offset[1] = 1000;
    add_meeting(&world);
    add_visit(&world, 0, 0, 100);
    add_visit(&world, 1, 50, 100);
    add_meeting(&world);
    add_visit(&world, 0, 40, 0);
    add_visit(&world, 1, 5000, 60);
    add_meeting(&world);
    add_visit(&world, 1, 10, 0);
    add_visit(&world, 0, 5000, 25);
    world.meetings[1].is_one_way = world.meetings[2].is_one_way = 1;
    solve(&world, clocks);
    assert_int_equal(clocks[1].state, ALIGN_SOLVED);
    assert_int_equal(clocks[1].uncertainty_ns, 18);
    assert_int_equal(clocks[1].offset_ns, 980 + (1015 - 980) / 2);
    assert_true(clocks[1].scale == 1);
}

/* Clock 2 has no common operation with 0: its error bound is that of 1 plus that of its own with 1. */
static void doubt_adds_up_along_a_chain(void **state)
{
    struct world world;
    struct align_clock clocks[4];
    world_init(&world, 4);
    world.offset[1] = -500;
    world.offset[2] = 70;
    add_meeting(&world);
    add_visit(&world, 0, 0, 10);
    add_visit(&world, 1, 0, 10);
    add_meeting(&world);
    add_visit(&world, 1, 100, 120);
    add_visit(&world, 2, 100, 120);
    solve(&world, clocks);
    assert_int_equal(clocks[1].uncertainty_ns, 10);
    assert_int_equal(clocks[2].offset_ns, 70);
    assert_int_equal(clocks[2].uncertainty_ns, 30);
    assert_int_equal(clocks[3].state, ALIGN_UNREACHED);
}

static void draw_world(struct world *world, unsigned *seed, int64_t late_ns)
{
    world_init(world, CLOCKS);
    for (int32_t i = 1; i < CLOCKS; i++)
        world->offset[i] = (int64_t)(rand_r(seed) % 2000001) - 1000000;
    for (size_t i = 0; i < MEETINGS; i++) {
        int64_t begin = (int64_t)i * 100000, leave = begin + 5000 + rand_r(seed) % 3000;
        add_meeting(world);
        for (int32_t clock = 0; clock < CLOCKS; clock++) {
            if (i >= CLOCKS && rand_r(seed) % 2)
                continue;
            /* Not all ranks have to leave at the same time. */
            int64_t come = begin + rand_r(seed) % 5000,
                    reports_after_pending = late_ns ? rand_r(seed) % late_ns : 0;
            add_visit(world, clock, come + reports_after_pending, leave + rand_r(seed) % 500);
        }
    }
}

/* greatest[j]: the most by which offset j can exceed offset i, for all pairs. */
static void close_constraints(const struct align_problem *problem, int64_t greatest[CLOCKS][CLOCKS])
{
    for (int i = 0; i < CLOCKS; i++)
        for (int j = 0; j < CLOCKS; j++)
            greatest[i][j] = i == j ? 0 : FAR;
    for (size_t m = 0; m < problem->meeting_count; m++) {
        const struct align_visit *visits = problem->visits + problem->meetings[m].first;
        for (size_t i = 0; i < problem->meetings[m].count; i++)
            for (size_t j = 0; j < problem->meetings[m].count; j++) {
                int64_t bound = visits[i].leave_ns - (visits[j].come_ns - problem->slack_ns);
                if (bound < greatest[visits[i].clock][visits[j].clock])
                    greatest[visits[i].clock][visits[j].clock] = bound;
            }
    }
    for (int k = 0; k < CLOCKS; k++)
        for (int i = 0; i < CLOCKS; i++)
            for (int j = 0; j < CLOCKS; j++)
                if (greatest[i][k] + greatest[k][j] < greatest[i][j])
                    greatest[i][j] = greatest[i][k] + greatest[k][j];
}

static void check_world(const struct world *world)
{
    struct align_clock clocks[CLOCKS];
    int64_t greatest[CLOCKS][CLOCKS];
    solve(world, clocks);
    close_constraints(&world->problem, greatest);
    for (int i = 0; i < CLOCKS; i++) {
        int64_t most = greatest[0][i], least = -greatest[i][0];
        assert_int_equal(clocks[i].state, ALIGN_SOLVED);
        assert_true(llabs(world->offset[i] - clocks[i].offset_ns) <= clocks[i].uncertainty_ns);
        assert_true(llabs(2 * clocks[i].offset_ns - (most + least)) <= 1);
        assert_in_range(2 * clocks[i].uncertainty_ns, most - least, most - least + 1);
    }
}

static void random_worlds(void **state)
{
    unsigned seed = 11;
    struct world world;
    for (int round = 0; round < 300; round++) {
        draw_world(&world, &seed, 0);
        check_world(&world);
    }
}

static void slack_grants_late_news(void **state)
{
    unsigned seed = 12;
    struct world world;
    for (int round = 0; round < 300; round++) {
        draw_world(&world, &seed, 4000);
        world.problem.slack_ns = 4000;
        check_world(&world);
    }
}

/* Clock 3 jumps between two meetings. */
static enum align_state state_after_jump(unsigned seed, int64_t jump_ns)
{
    struct world world;
    struct align_clock clocks[CLOCKS];
    draw_world(&world, &seed, 0);
    for (size_t i = 0; i < world.meetings[MEETINGS - 1].first; i++)
        if (world.visits[i].clock == 3 && i > world.meetings[MEETINGS / 2].first) {
            world.visits[i].come_ns += jump_ns;
            world.visits[i].leave_ns += jump_ns;
        }
    solve(&world, clocks);
    return clocks[3].state;
}

/* A jump by a millisecond may be an arrival that a busy host recorded late. */
static void a_jump_contradicts(void **state)
{
    assert_int_equal(state_after_jump(13, 1000000), ALIGN_ROUGH);
    assert_int_equal(state_after_jump(13, 20000000), ALIGN_CONTRADICTORY);
}

/* Records the arrivals of the first visitor of each `every`-th meeting late by 2 ms. */
static void solve_with_late(struct world *world, size_t every, struct align_clock *clocks)
{
    unsigned seed = 14;
    draw_world(world, &seed, 0);
    for (size_t i = 1; i < MEETINGS; i += every)
        world->visits[world->meetings[i].first].come_ns += 2000000;
    solve(world, clocks);
}

/* One late arrival contradicts all others, and is left out. */
static void late_news_are_left_out(void **state)
{
    struct world world;
    struct align_clock clocks[CLOCKS];
    solve_with_late(&world, MEETINGS, clocks);
    for (int i = 1; i < CLOCKS; i++) {
        assert_int_equal(clocks[i].state, ALIGN_SOLVED);
        assert_true(llabs(clocks[i].offset_ns - world.offset[i]) <= clocks[i].uncertainty_ns + 1);
    }
}

/* Many late arrivals agree with slack. Then the offset is wrong by no more than the slack. */
static void late_news_make_it_rough(void **state)
{
    struct world world;
    struct align_clock clocks[CLOCKS];
    solve_with_late(&world, 2, clocks);
    for (int i = 1; i < CLOCKS; i++) {
        assert_int_equal(clocks[i].state, ALIGN_ROUGH);
        assert_true(llabs(clocks[i].offset_ns - world.offset[i]) < 6000000);
    }
}

/* For a clock that is fast by 1 in 1000 over 4 s, no offset fits; with a scale it does. */
static void drift_is_fitted(void **state)
{
    struct world world;
    struct align_clock clocks[2];
    world_init(&world, 2);
    world.scale[1] = 1.001;
    world.offset[1] = 123456789;
    for (int64_t i = 0; i < MEETINGS; i++) {
        add_meeting(&world);
        add_visit(&world, 0, i * 100000000 + (i % 7) * 20000, i * 100000000 + 200000);
        add_visit(&world, 1, i * 100000000 + (i % 5) * 20000, i * 100000000 + 200000);
    }
    solve(&world, clocks);
    assert_int_equal(clocks[1].state, ALIGN_SOLVED);
    assert_true(fabs(clocks[1].scale - 1.001) < 1e-7);
    for (int64_t true_ns = 0; true_ns < 4000000000; true_ns += 500000000) {
        int64_t since = local_of(&world, 1, true_ns) - clocks[1].origin_ns;
        int64_t told = llround(clocks[1].scale * (double)since) + clocks[1].origin_ns + clocks[1].offset_ns;
        assert_true(llabs(told - true_ns) <= clocks[1].uncertainty_ns + 10);
    }
}

/*
 * Clock 1 always comes 3000 before clock 0, and clock 2 meets only clock 1. Meetings take 200, every second
 * one 1000, and participants stop `apart` before or after the others.
 */
static void solve_stops(struct world *world, int64_t meetings, int64_t apart_ns, struct align_clock *clocks)
{
    world_init(world, 3);
    world->offset[1] = 700;
    world->offset[2] = -400;
    for (int64_t i = 0; i < meetings; i++) {
        int64_t last = i * 100000 + 3000, end = last + (i % 2 ? 1000 : 200);
        int64_t off = i % 4 < 2 ? apart_ns : -apart_ns;
        for (int32_t first = 0; first < 2; first++) {
            add_meeting(world);
            add_visit(world, first, first ? last - 3000 : last, end);
            add_stop(world, end);
            add_visit(world, first + 1, last - 3000, end + off);
            add_stop(world, end + off);
        }
    }
    solve(world, clocks);
}

/* The middle of the interval of clock 1 is off by half of what it comes earlier; its stops are not. */
static void stops_tell_more_than_the_middle(void **state)
{
    struct world world;
    struct align_clock clocks[3];
    solve_stops(&world, 10, 0, clocks);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(clocks[i].state, ALIGN_SOLVED);
        assert_true(llabs(clocks[i].offset_ns - world.offset[i]) > 1000);
        assert_int_equal(clocks[i].offset_ns + clocks[i].nearer_ns, world.offset[i]);
        assert_int_equal(clocks[i].doubt_ns, 0);
    }
    assert_int_equal(clocks[0].nearer_ns, 0);
    assert_int_equal(clocks[0].doubt_ns, 0);
}

/* Stops that are 100 apart leave as much doubt, which adds up along a chain. */
static void doubt_is_how_much_stops_differ(void **state)
{
    struct world world;
    struct align_clock clocks[3];
    solve_stops(&world, 12, 50, clocks);
    assert_true(llabs(clocks[1].offset_ns + clocks[1].nearer_ns - world.offset[1]) <= 50);
    assert_in_range(clocks[1].doubt_ns, 50, 100);
    assert_in_range(clocks[2].doubt_ns, clocks[1].doubt_ns + 50, clocks[1].doubt_ns + 100);
}

/* The middle stays where there are few stops, or where they do not agree. */
static void where_stops_do_not_tell(void **state)
{
    struct world world;
    struct align_clock clocks[3];
    for (int few = 0; few < 2; few++) {
        solve_stops(&world, few ? 4 : 12, few ? 0 : 900, clocks);
        assert_int_equal(clocks[1].state, ALIGN_SOLVED);
        assert_int_equal(clocks[1].nearer_ns, 0);
        assert_int_equal(clocks[1].doubt_ns, clocks[1].uncertainty_ns);
    }
}

/* Stops that are recorded wrongly, all by as much, agree with each other and not with the constraints. */
static void not_beyond_the_interval(void **state)
{
    struct world world;
    struct align_clock clocks[3];
    solve_stops(&world, 10, 0, clocks);
    for (size_t i = 0; i < 2 * 10; i++)
        world.visits[world.meetings[i].first + 1].stop_ns += 100000;
    solve(&world, clocks);
    assert_int_equal(llabs(clocks[1].nearer_ns), clocks[1].uncertainty_ns);
}

static void nobody_meets(void **state)
{
    struct world world;
    struct align_clock clocks[2];
    world_init(&world, 2);
    solve(&world, clocks);
    assert_int_equal(clocks[1].state, ALIGN_UNREACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_meeting),
        cmocka_unit_test(one_way_meetings),
        cmocka_unit_test(doubt_adds_up_along_a_chain),
        cmocka_unit_test(random_worlds),
        cmocka_unit_test(slack_grants_late_news),
        cmocka_unit_test(a_jump_contradicts),
        cmocka_unit_test(drift_is_fitted),
        cmocka_unit_test(nobody_meets),
        cmocka_unit_test(stops_tell_more_than_the_middle),
        cmocka_unit_test(where_stops_do_not_tell),
        cmocka_unit_test(doubt_is_how_much_stops_differ),
        cmocka_unit_test(not_beyond_the_interval),
        cmocka_unit_test(late_news_make_it_rough),
        cmocka_unit_test(late_news_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
