#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/*
 * Rank 0 sends to rank 1 once per step, 1000 bytes that take 1000 ns, except in step 4: returns by how much
 * that link was busy above its baseline there.
 */
enum { STEPS = 10 };

static int64_t over_when(int64_t bytes, int64_t busy_ns)
{
    struct job_operation operations[STEPS];
    struct job_instance instances[STEPS];
    int32_t members[STEPS], role_of_rank[2] = {0, -1};
    struct edge items[STEPS];
    for (int i = 0; i < STEPS; i++) {
        members[i] = i;
        operations[i] = (struct job_operation){.instance = i, .bytes = i == 4 ? bytes : 1000};
        instances[i] = (struct job_instance){.first_member = (size_t)i, .members = 1};
        items[i] = (struct edge){
            .instance = i, .receiver = 1, .step = i, .steps = 1, .busy_ns = i == 4 ? busy_ns : 1000};
    }
    const struct job job = {.operations = operations,
                            .operation_count = STEPS,
                            .instances = instances,
                            .instance_count = STEPS,
                            .instance_members = members};
    const struct baseline baseline = {
        .role_of_rank = role_of_rank, .rank_count = 2, .first_step = 1, .step_count = STEPS};
    struct edges edges = {.items = items, .count = STEPS};
    assert_int_equal(edges_measure_busy(&edges, &job, &baseline, 6), 0);
    for (int i = 0; i < STEPS; i++)
        if (i != 4)
            assert_int_equal(items[i].over_ns, 0);
    return items[4].over_ns;
}

static void slow_for_its_size(void **state)
{
    assert_int_equal(over_when(1000, 3000), 2000);
    assert_int_equal(over_when(1000, 1000), 0);
}

/* More data takes longer, if that holds in other steps; what counts is the excess, for the usual size. */
static void more_data(void **state)
{
    assert_int_equal(over_when(3000, 3000), 0);
    assert_int_equal(over_when(3000, 6000), 1000);
    assert_int_equal(over_when(500, 1000), 0);
    assert_int_equal(over_when(COUNT_UNKNOWN, 3000), 2000);
}

/*
 * Eight links at one place, busy for 1000 in each step, except the first two: by how much those were busy
 * above the baseline in step 4. Two more are at another place, and two belong to ranks without a role, each
 * busy for 9000.
 */
enum { LINKS = 12 };

static int64_t over_of_two(const int32_t senders[2], const int32_t receivers[2], int64_t busy_ns)
{
    struct job_operation operation = {.bytes = 1000};
    struct job_instance instance = {.members = 1};
    int32_t member = 0, role_of_rank[] = {0, 0, 0, 0, 0, 0, 0, 0, -1};
    struct edge items[LINKS * STEPS];
    for (int32_t i = 0; i < LINKS * STEPS; i++) {
        int32_t link = i / STEPS;
        items[i] = (struct edge){.sender = link < 2    ? senders[link]
                                           : link < 8  ? link
                                           : link < 10 ? link - 8
                                                       : 8,
                                 .receiver = link < 2 ? receivers[link] : (link + 1) % 8,
                                 .position = link == 8 || link == 9,
                                 .step = i % STEPS,
                                 .steps = 1,
                                 .busy_ns = link < 2   ? busy_ns
                                            : link < 8 ? 1000
                                                       : 9000};
    }
    const struct job job = {.operations = &operation,
                            .operation_count = 1,
                            .instances = &instance,
                            .instance_count = 1,
                            .instance_members = &member};
    const struct baseline baseline = {
        .role_of_rank = role_of_rank, .rank_count = 9, .first_step = 1, .step_count = STEPS};
    struct edges edges = {.items = items, .count = LINKS * STEPS};
    assert_int_equal(edges_measure_busy(&edges, &job, &baseline, 6), 0);
    assert_int_equal(items[0].over_ns, 0);
    for (int32_t i = 2 * STEPS; i < LINKS * STEPS; i++)
        assert_int_equal(items[i].over_ns, 0);
    assert_int_equal(items[4].over_ns, items[STEPS + 4].over_ns);
    return items[4].over_ns;
}

/* In every step, a quarter of the links: of one sender or one receiver, and more than twice as long. */
static void always_slow_at_one_end(void **state)
{
    assert_int_equal(over_of_two((const int32_t[]){0, 0}, (const int32_t[]){5, 6}, 2001), 1001);
    assert_int_equal(over_of_two((const int32_t[]){0, 1}, (const int32_t[]){5, 5}, 2001), 1001);
    assert_int_equal(over_of_two((const int32_t[]){0, 0}, (const int32_t[]){5, 6}, 2000), 0);
    assert_int_equal(over_of_two((const int32_t[]){0, 1}, (const int32_t[]){5, 6}, 2001), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slow_for_its_size), cmocka_unit_test(more_data),
                                       cmocka_unit_test(always_slow_at_one_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
