#include "model/model.h"
#include "report/buffers.h"
#include "support/cmocka_all.h"

enum { MIB = 1 << 20 };

/* Created before the AllReduce with number `made`. */
static void add_counted(struct ranges *ranges, uint64_t address, int64_t bytes, int64_t made, int64_t id)
{
    int64_t calls[FUNCTION_COUNT] = {[FUNCTION_ALL_REDUCE] = made};
    struct range range = {.id = id,
                          .alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                          .made = ranges_moment(ranges, calls),
                          .ended = RANGES_NO_CALLS};
    assert_int_equal(ranges_add(ranges, address, bytes, &range), 0);
}

static void add_timed(struct ranges *ranges, uint64_t address, int64_t bytes, int64_t from_ns, int64_t to_ns)
{
    struct range range = {.alive = {from_ns, to_ns}, .made = RANGES_NO_CALLS, .ended = RANGES_NO_CALLS};
    assert_int_equal(ranges_add(ranges, address, bytes, &range), 0);
}

static enum coverage by_number(const struct ranges *ranges, uint64_t address, uint64_t bytes, int64_t number)
{
    struct call_place place = {FUNCTION_ALL_REDUCE, number, TIME_UNKNOWN};
    return ranges_cover(ranges, address, bytes, &place);
}

static enum coverage at_time(const struct ranges *ranges, uint64_t address, uint64_t bytes, int64_t wall_ns)
{
    struct call_place place = {FUNCTION_ALL_REDUCE, 0, wall_ns};
    return ranges_cover(ranges, address, bytes, &place);
}

/* Two adjacent ranges, the second registered before AllReduce 3, nothing beyond. */
static void by_the_number_of_calls(void **state)
{
    struct ranges ranges = {NULL};
    add_counted(&ranges, 10 * MIB, 2 * MIB, 0, 1);
    add_counted(&ranges, 12 * MIB, 2 * MIB, 3, 2);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(by_number(&ranges, 10 * MIB, 2 * MIB, 0), COVERED);
    assert_int_equal(by_number(&ranges, 12 * MIB, 1, 2), COVERED_LATER);
    assert_int_equal(by_number(&ranges, 12 * MIB, 2 * MIB, 3), COVERED);
    assert_int_equal(by_number(&ranges, 11 * MIB, 2 * MIB, 3), COVERED_BY_TWO);
    assert_int_equal(by_number(&ranges, 11 * MIB, 2 * MIB, 2), COVERED_PARTLY);
    assert_int_equal(by_number(&ranges, 13 * MIB, 2 * MIB, 3), COVERED_PARTLY);
    assert_int_equal(by_number(&ranges, 9 * MIB, 2 * MIB, 3), COVERED_PARTLY);
    assert_int_equal(by_number(&ranges, 14 * MIB, 1, 3), COVERED_NOT);
    /* Unknown which came first: counts as registered. */
    assert_int_equal(by_number(&ranges, 12 * MIB, 1, COUNT_UNKNOWN), COVERED);
    ranges_release(&ranges);
}

/* A deregistration ends the range that contains the address, of those registered before it. */
static void an_end(void **state)
{
    struct ranges ranges = {NULL};
    int64_t calls[FUNCTION_COUNT] = {[FUNCTION_ALL_REDUCE] = 5};
    add_counted(&ranges, 10 * MIB, 2 * MIB, 0, 1);
    add_counted(&ranges, 20 * MIB, 2 * MIB, 7, 9);
    assert_int_equal(ranges_finish(&ranges), 0);
    ranges_end(&ranges, 11 * MIB, 2, ranges_moment(&ranges, calls));
    ranges_end(&ranges, 20 * MIB, 3, ranges_moment(&ranges, calls));
    assert_int_equal(by_number(&ranges, 10 * MIB, MIB, 4), COVERED);
    assert_int_equal(by_number(&ranges, 10 * MIB, MIB, 5), COVERED_EARLIER);
    assert_int_equal(by_number(&ranges, 20 * MIB, MIB, 8), COVERED);
    ranges_release(&ranges);
}

/*
 * NCCL prints no deregistration: if the same address is registered again with another size, the old range is
 * gone.
 */
static void what_comes_again(void **state)
{
    struct ranges ranges = {NULL};
    add_counted(&ranges, 10 * MIB, 8 * MIB, 0, 1);
    add_counted(&ranges, 10 * MIB, 2 * MIB, 4, 2);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(by_number(&ranges, 10 * MIB, 8 * MIB, 3), COVERED);
    assert_int_equal(by_number(&ranges, 10 * MIB, 8 * MIB, 4), COVERED_PARTLY);
    assert_int_equal(by_number(&ranges, 16 * MIB, MIB, 4), COVERED_EARLIER);
    ranges_release(&ranges);
}

static void by_time(void **state)
{
    struct ranges ranges = {NULL};
    add_timed(&ranges, 10 * MIB, 2 * MIB, 1000, 2000);
    add_timed(&ranges, 20 * MIB, 2 * MIB, TIME_UNKNOWN, 2000);
    add_timed(&ranges, 30 * MIB, 2 * MIB, 1000, TIME_UNKNOWN);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(at_time(&ranges, 10 * MIB, MIB, 999), COVERED_LATER);
    assert_int_equal(at_time(&ranges, 10 * MIB, MIB, 1000), COVERED);
    assert_int_equal(at_time(&ranges, 10 * MIB, MIB, 2000), COVERED_EARLIER);
    assert_int_equal(at_time(&ranges, 20 * MIB, MIB, 1), COVERED);
    assert_int_equal(at_time(&ranges, 30 * MIB, MIB, INT64_MAX), COVERED);
    assert_int_equal(at_time(&ranges, 10 * MIB, MIB, TIME_UNKNOWN), COVERED);
    ranges_release(&ranges);
}

/* NCCL rounds registrations to pages of the host, of at least 4096 bytes. */
static void pages(void **state)
{
    struct ranges ranges = {NULL};
    add_timed(&ranges, 10 * MIB + 100, 100, TIME_UNKNOWN, TIME_UNKNOWN);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(at_time(&ranges, 10 * MIB, 4096, 0), COVERED);
    assert_int_equal(at_time(&ranges, 10 * MIB, 4097, 0), COVERED_PARTLY);
    ranges_release(&ranges);
}

static void sizes_that_overflow(void **state)
{
    struct ranges ranges = {NULL};
    add_timed(&ranges, UINT64_MAX - 4096, INT64_MAX, TIME_UNKNOWN, TIME_UNKNOWN);
    add_timed(&ranges, 10 * MIB, -1, TIME_UNKNOWN, TIME_UNKNOWN);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(at_time(&ranges, UINT64_MAX - 10, UINT64_MAX, 0), COVERED);
    assert_int_equal(at_time(&ranges, 10 * MIB, 1, 0), COVERED_NOT);
    assert_int_equal(at_time(&ranges, 1, UINT64_MAX, 0), COVERED_PARTLY);
    ranges_release(&ranges);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(at_time(&ranges, 1, 1, 0), COVERED_NOT);
    ranges_release(&ranges);
}

static void an_expandable_segment(void **state)
{
    struct ranges ranges = {NULL};
    struct range range = {.alive = {TIME_UNKNOWN, TIME_UNKNOWN},
                          .made = RANGES_NO_CALLS,
                          .ended = RANGES_NO_CALLS,
                          .is_expandable = 1};
    assert_int_equal(ranges_add(&ranges, 10 * MIB, 2 * MIB, &range), 0);
    assert_int_equal(ranges_finish(&ranges), 0);
    assert_int_equal(at_time(&ranges, 10 * MIB, MIB, 0), COVERED_EXPANDABLE);
    ranges_release(&ranges);
}

/* nccl.h: the bytes that each function reads and writes on a rank, with 4 ranks and a count of 8 bytes. */
static void what_functions_need(void **state)
{
    static const struct {
        enum function function;
        int is_root;
        struct needs needs;
    } all[] = {
        {FUNCTION_ALL_REDUCE, 0, {8, 8}},
        {FUNCTION_ALL_GATHER, 0, {8, 32}},
        {FUNCTION_REDUCE_SCATTER, 0, {32, 8}},
        {FUNCTION_ALL_TO_ALL, 0, {32, 32}},
        {FUNCTION_GATHER, 0, {8, 0}},
        {FUNCTION_GATHER, 1, {8, 32}},
        {FUNCTION_SCATTER, 0, {0, 8}},
        {FUNCTION_SCATTER, 1, {32, 8}},
        {FUNCTION_BROADCAST, 0, {0, 8}},
        {FUNCTION_BROADCAST, 1, {8, 8}},
        {FUNCTION_REDUCE, 0, {8, 0}},
        {FUNCTION_REDUCE, 1, {8, 8}},
        {FUNCTION_SEND, 0, {8, 0}},
        {FUNCTION_RECV, 0, {0, 8}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct needs needs = call_buffer_sizes(all[i].function, 8, 4, all[i].is_root);
        assert_int_equal(needs.send_bytes, all[i].needs.send_bytes);
        assert_int_equal(needs.receive_bytes, all[i].needs.receive_bytes);
    }
    assert_true(call_buffer_sizes(FUNCTION_ALL_GATHER, INT64_MAX, 4, 0).receive_bytes == UINT64_MAX);
    assert_int_equal(call_buffer_sizes(FUNCTION_ALL_REDUCE, COUNT_UNKNOWN, 4, 0).send_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_number_of_calls),
        cmocka_unit_test(an_end),
        cmocka_unit_test(what_comes_again),
        cmocka_unit_test(by_time),
        cmocka_unit_test(pages),
        cmocka_unit_test(sizes_that_overflow),
        cmocka_unit_test(an_expandable_segment),
        cmocka_unit_test(what_functions_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
