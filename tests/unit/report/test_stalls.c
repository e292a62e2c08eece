#include "base/base.h"
#include "model/model.h"
#include "report/stalls.h"
#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdlib.h>

static const char *reading(enum direction direction, int64_t posted, int64_t ready, int64_t transmitted,
                           int64_t done)
{
    const struct proxy_operation proxy = {.direction = direction,
                                          .step_count = 8,
                                          .has_states = 1,
                                          .state = {{posted, 1}, {ready, 2}, {transmitted, 3}, {done, 4}}};
    return stalls_pending_state(&proxy);
}

/* The step that is furthest along blocks the others. */
static void test_counters_of_a_send(void **state)
{
    (void)state;
    assert_string_equal(reading(DIRECTION_SEND, 8, 8, 8, 8), "all done");
    assert_string_equal(reading(DIRECTION_SEND, 3, 3, 3, 3), "waiting for the GPU");
    assert_string_equal(reading(DIRECTION_SEND, 4, 3, 3, 3), "waiting for receiver credit or for data");
    assert_string_equal(reading(DIRECTION_SEND, 4, 4, 4, 3), "in flight, not acknowledged");
    assert_string_equal(reading(DIRECTION_SEND, 5, 4, 4, 3),
                        "in flight, not acknowledged; then waiting for receiver credit or for data");
}

static void test_counters_of_a_receive(void **state)
{
    (void)state;
    assert_string_equal(reading(DIRECTION_RECV, 8, 8, 8, 8), "all done");
    assert_string_equal(reading(DIRECTION_RECV, 3, 3, 3, 3), "waiting for the GPU");
    assert_string_equal(reading(DIRECTION_RECV, 4, 3, 3, 3), "no data arrived");
    assert_string_equal(reading(DIRECTION_RECV, 8, 4, 3, 3), "arrived, not flushed");
    assert_string_equal(reading(DIRECTION_RECV, 8, 8, 4, 3), "arrived, not consumed by the GPU");
}

/* Nearest rank: the lower of two in the middle. */
static void test_median(void **state)
{
    (void)state;
    uint32_t items[] = {500, 100, UINT32_MAX, 300};
    struct stalls_waits waits = {.items = items, .count = 4, .capacity = 4};
    assert_true(stalls_median_us(&waits) == 3.0);
    waits.count = 0;
    assert_true(stalls_median_us(&waits) < 0);
}

static struct stalls_edge an_edge(int32_t sender, int32_t receiver)
{
    return (struct stalls_edge){.sender = sender,
                                .receiver = receiver,
                                .communicator = 0,
                                .channel = -1,
                                .first_step = -1,
                                .last_step = -1};
}

enum { STEPS = 10, EDGES = 2 };

/* Two links, one operation per training step with four network steps that wait `wait_ns` each. */
static void fill(struct stalls *stalls, const int64_t (*wait_ns)[STEPS])
{
    stalls_init(stalls);
    stalls->runs = calloc(1, sizeof *stalls->runs);
    stalls->edges = calloc(EDGES, sizeof *stalls->edges);
    stalls->cells = calloc(EDGES * STEPS, sizeof *stalls->cells);
    stalls->member_list = calloc(3, sizeof *stalls->member_list);
    assert_true(stalls->runs && stalls->edges && stalls->cells && stalls->member_list);
    stalls->runs[0] = (struct stalls_run){.id = 1, .step_count = STEPS, .first_step = 1};
    stalls->run_count = 1;
    stalls->member_list_count = 3;
    stalls->edge_count = EDGES;
    stalls->edges[0] = an_edge(0, 1);
    stalls->edges[1] = an_edge(0, 2);
    for (int32_t edge = 0; edge < EDGES; edge++)
        for (int32_t step = 0; step < STEPS; step++) {
            int64_t wait = wait_ns[edge][step];
            stalls->cells[stalls->cell_count++] =
                (struct stalls_cell){.edge = edge,
                                     .step = step,
                                     .operations = 1,
                                     .steps = 4,
                                     .wait_ns = 4 * wait,
                                     .busy_ns = {[STALLS_NETWORK] = 4 * wait}};
        }
}

/* The baseline is the lower quartile of the steps after the warm-up: a fault in three of nine does not move
 * it. */
static void test_baseline(void **state)
{
    (void)state;
    static const int64_t wait_ns[EDGES][STEPS] = {
        {90000, 10000, 11000, 10000, 50000, 50000, 50000, 9000, 10000, 10000},
        {90000, 20000, 22000, 20000, 19000, 20000, 20000, 19000, 20000, 20000}};
    struct stalls stalls;
    struct error error = ERROR_INIT;
    fill(&stalls, wait_ns);
    assert_int_equal(stalls_learn(&stalls, &error), 0);
    for (size_t i = 0; i < stalls.cell_count; i++) {
        int64_t usual_ns = stalls.cells[i].edge ? 80000 : 40000;
        assert_int_equal(stalls.cells[i].usual_wait_ns, usual_ns);
        assert_int_equal(stalls.cells[i].usual_ns[STALLS_NETWORK], usual_ns);
    }
    assert_int_equal(stalls.edges[0].verdict, STALLS_OK);
    stalls_release(&stalls);
}

static void test_too_little_to_compare_with(void **state)
{
    (void)state;
    static const int64_t wait_ns[EDGES][STEPS] = {{10000, 10000, 90000}, {10000, 10000, 10000}};
    struct stalls stalls;
    struct error error = ERROR_INIT;
    fill(&stalls, wait_ns);
    stalls.runs[0].step_count = 3;
    for (size_t i = 0, kept = 0; i < EDGES * STEPS; i++)
        if (stalls.cells[i].step < 3) {
            stalls.cells[kept++] = stalls.cells[i];
            stalls.cell_count = kept;
        }
    assert_int_equal(stalls_learn(&stalls, &error), 0);
    assert_int_equal(stalls.edges[0].verdict, STALLS_UNKNOWN);
    stalls_release(&stalls);
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    struct stalls stalls;
    struct error error = ERROR_INIT;
    stalls_init(&stalls);
    assert_int_equal(stalls_learn(&stalls, &error), 0);
    stalls_release(&stalls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_of_a_send),
        cmocka_unit_test(test_counters_of_a_receive),
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_too_little_to_compare_with),
        cmocka_unit_test(test_nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
