#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * An AllReduce of two ranks, twice. Rank 0 sends from 0 on and has network steps for 950; rank 1 arrives at
 * 900, and both are done at 1000, `end_ns` by the receiver's kernel. Then the next one begins at 1200.
 */
static int64_t busy_where(int64_t end_ns, int incomplete, enum end_kind ends, const struct job_traffic *heard,
                          size_t heard_count)
{
    struct job_rank ranks[2] = {{.first = 0, .count = 2}, {.first = 2, .count = 2}};
    struct job_operation operations[4] = {
        {.rank = 0, .start_ns = 0, .end_ns = 1000, .previous = -1, .ends = ENDS_BY_KERNEL},
        {.rank = 0, .instance = 1, .start_ns = 1200, .end_ns = 1300, .previous = 0, .ends = ENDS_BY_KERNEL},
        {.rank = 1, .start_ns = 900, .end_ns = end_ns, .previous = -1},
        {.rank = 1, .instance = 1, .start_ns = 1200, .end_ns = 1300, .previous = 2, .ends = ENDS_BY_KERNEL},
    };
    struct job_instance instances[2] = {{.members = 2, .expected = 2},
                                        {.members = 2, .expected = 2, .first_member = 2}};
    int32_t members[4] = {0, 2, 1, 3};
    struct job_traffic traffic[3] = {
        {.sender = 0, .receiver = 1, .steps = 4, .network_wait_ns = 950, .busy_ns = 950}};
    for (size_t i = 0; i < heard_count; i++)
        traffic[1 + i] = heard[i];
    int32_t role_of_rank[2] = {-1, -1}, positions[4] = {0};
    struct baseline baseline = {
        .positions = positions, .role_of_rank = role_of_rank, .rank_count = 2, .step_count = 1};
    struct job job = {.ranks = ranks,
                      .rank_count = 2,
                      .operations = operations,
                      .operation_count = 4,
                      .instances = instances,
                      .instance_count = 2,
                      .instance_members = members,
                      .traffic = traffic,
                      .traffic_count = 1 + heard_count,
                      .step_count = 1};
    struct edges edges;
    struct error error = ERROR_INIT;
    operations[2].incomplete = (uint8_t)incomplete;
    operations[2].ends = (uint8_t)ends;
    assert_int_equal(edges_init(&edges, &job, &baseline, 6, &error), 0);
    assert_int_equal(edges.count, 1);
    int64_t busy_ns = edges.items[0].busy_ns;
    edges_release(&edges);
    return busy_ns;
}

static int64_t busy_of_the_link(int64_t end_ns, int incomplete, enum end_kind ends)
{
    return busy_where(end_ns, incomplete, ends, NULL, 0);
}

static void busy_for_as_long_as_the_receiver_was_there(void **state)
{
    assert_int_equal(busy_of_the_link(1000, 0, ENDS_BY_KERNEL), 100);
    /* A channel without a stop: until the next one began, at most. */
    assert_int_equal(busy_of_the_link(1000, 1, ENDS_BY_KERNEL), 300);
}

static void where_no_kernel_says_it_counts_in_full(void **state)
{
    assert_int_equal(busy_of_the_link(1000, 0, ENDS_BY_PROXY), 950);
    assert_int_equal(busy_of_the_link(TIME_UNKNOWN, 0, ENDS_UNKNOWN), 950);
}

/*
 * The receiver's network steps waited for 60 and 80 on two channels: it was in the operation no longer than
 * that.
 */
static void or_for_as_long_as_the_receiver_waited(void **state)
{
    const struct job_traffic heard[2] = {
        {.sender = 0, .receiver = 1, .operation = 2, .by_receiver = 1, .steps = 4, .busy_ns = 60},
        {.sender = 0, .receiver = 1, .operation = 2, .by_receiver = 1, .steps = 4, .busy_ns = 80}};
    assert_int_equal(busy_where(TIME_UNKNOWN, 0, ENDS_UNKNOWN, heard, 2), 80);
    assert_int_equal(busy_where(1000, 0, ENDS_BY_KERNEL, heard, 2), 100);
    /* Data from another sender proves nothing about this link. */
    const struct job_traffic other = {
        .sender = 1, .receiver = 0, .operation = 2, .by_receiver = 1, .steps = 4, .busy_ns = 60};
    assert_int_equal(busy_where(TIME_UNKNOWN, 0, ENDS_UNKNOWN, &other, 1), 950);
}

/*
 * One operation in each of twelve steps, in which rank 0 sends; in the last `slow` of them it waits for 400
 * in each of its two network steps, else for 100. Returns the wait of the last one above the baseline.
 */
static int64_t extra_where(int32_t slow)
{
    enum { STEPS = 12 };
    struct job_rank ranks[2] = {{.first = 0, .count = STEPS}, {.first = STEPS, .count = 0}};
    struct job_operation operations[STEPS] = {{0}};
    struct job_instance instances[STEPS] = {{0}};
    struct job_traffic traffic[STEPS] = {{0}};
    int32_t members[STEPS];
    for (int32_t i = 0; i < STEPS; i++) {
        int64_t wait_ns = i >= STEPS - slow ? 800 : 200;
        operations[i] = (struct job_operation){.instance = i, .step = i, .previous = -1};
        instances[i] =
            (struct job_instance){.step = i, .members = 1, .expected = 1, .first_member = (size_t)i};
        traffic[i] = (struct job_traffic){
            .operation = i, .receiver = 1, .steps = 2, .network_wait_ns = wait_ns, .busy_ns = wait_ns};
        members[i] = i;
    }
    int32_t role_of_rank[2] = {-1, -1}, positions[STEPS] = {0};
    struct baseline baseline = {.positions = positions,
                                .role_of_rank = role_of_rank,
                                .rank_count = 2,
                                .first_step = 1,
                                .step_count = STEPS};
    struct job job = {.ranks = ranks,
                      .rank_count = 2,
                      .operations = operations,
                      .operation_count = STEPS,
                      .instances = instances,
                      .instance_count = STEPS,
                      .instance_members = members,
                      .traffic = traffic,
                      .traffic_count = STEPS,
                      .step_count = STEPS};
    struct edges edges;
    struct error error = ERROR_INIT;
    assert_int_equal(edges_init(&edges, &job, &baseline, 6, &error), 0);
    assert_int_equal(edges.count, STEPS);
    int64_t extra_ns = edges.items[STEPS - 1].extra_ns;
    edges_release(&edges);
    return extra_ns;
}

/* Steps 1 to 11 count: two normal ones are enough for a baseline, whatever the others are. */
static void slow_in_most_steps(void **state)
{
    assert_int_equal(extra_where(0), 0);
    assert_int_equal(extra_where(3), 600);
    assert_int_equal(extra_where(9), 600);
    assert_int_equal(extra_where(10), 0);
}

/* What stands out is summed by link and step; operations outside of steps are left out. */
static void slow_steps_of_links(void **state)
{
    struct edge items[] = {{.sender = 2, .receiver = 1, .step = 4, .over_ns = 10},
                           {.sender = 0, .receiver = 1, .step = 4, .over_ns = 20},
                           {.sender = 0, .receiver = 1, .step = 3, .over_ns = 0},
                           {.sender = 0, .receiver = 1, .step = -1, .over_ns = 50},
                           {.sender = 0, .receiver = 1, .step = 4, .over_ns = 30}};
    const struct edges edges = {.items = items, .count = sizeof items / sizeof *items};
    struct slow_step *slow;
    size_t count;
    (void)state;
    assert_int_equal(edges_slow_steps(&edges, &slow, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(slow[0].sender, 0);
    assert_int_equal(slow[0].step, 4);
    assert_int_equal(slow[0].over_ns, 50);
    assert_int_equal(slow[1].sender, 2);
    assert_int_equal(slow[1].over_ns, 10);
    free(slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_steps_of_links),
        cmocka_unit_test(busy_for_as_long_as_the_receiver_was_there),
        cmocka_unit_test(where_no_kernel_says_it_counts_in_full),
        cmocka_unit_test(or_for_as_long_as_the_receiver_waited),
        cmocka_unit_test(slow_in_most_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
