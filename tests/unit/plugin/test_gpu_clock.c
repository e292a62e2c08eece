/* The offset between a GPU clock and the host clock, from the data of a poll. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/tree/node.c"
#include "plugin/tree/tree.h"

/* host = gpu + OFFSET, by definition of this test. */
#define OFFSET (-5000000000)

static uint64_t gpu(uint64_t host_ns)
{
    return host_ns - (uint64_t)(int64_t)OFFSET;
}

static void bounds_hold_the_truth(void **state)
{
    (void)state;
    struct gpu_clock clock = {0};
    static const uint64_t delays[] = {900, 5000000, 120, 3000};
    for (int i = 0; i < 4; i++) {
        uint64_t start_ns = 10000000000u + (uint64_t)i * 1000000;
        gpu_clock_noticed(&clock, start_ns + delays[i], gpu(start_ns));
        gpu_clock_not_before(&clock, start_ns - 10000 * (uint64_t)(i + 1), gpu(start_ns));
    }
    struct gpu_clock_bounds bounds = gpu_clock_bounds(&clock);
    assert_int_equal(bounds.highest_ns, (int64_t)OFFSET + 120);
    assert_int_equal(bounds.lowest_ns, (int64_t)OFFSET - 10000);
    assert_int_equal(bounds.samples, 4);
    assert_int_equal(gpu_clock_host_ns(&clock, gpu(777)), 777 + 120);
}

static void forgets_windows_but_the_last(void **state)
{
    (void)state;
    struct gpu_clock clock = {0};
    static const uint64_t delays[] = {10, 500, 400};
    for (int i = 0; i < 3; i++) {
        gpu_clock_noticed(&clock, 1000000 + delays[i], gpu(1000000));
        gpu_clock_turn(&clock, 1);
    }
    gpu_clock_noticed(&clock, 1000000 + 600, gpu(1000000));
    assert_int_equal(gpu_clock_bounds(&clock).highest_ns, (int64_t)OFFSET + 400);
}

static void keeps_a_window_that_holds_too_little(void **state)
{
    (void)state;
    struct gpu_clock clock = {0};
    gpu_clock_noticed(&clock, 1000000 + 10, gpu(1000000));
    for (int i = 0; i < 3; i++)
        gpu_clock_turn(&clock, 2);
    gpu_clock_noticed(&clock, 1000000 + 600, gpu(1000000));
    assert_int_equal(gpu_clock_bounds(&clock).highest_ns, (int64_t)OFFSET + 10);
}

static void says_when_it_does_not_know(void **state)
{
    (void)state;
    struct gpu_clock clock = {0};
    gpu_clock_noticed(&clock, 1000, 0); /* an API version without GPU times */
    assert_int_equal(gpu_clock_bounds(&clock).samples, 0);
    assert_int_equal(gpu_clock_host_ns(&clock, 12345), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_the_truth),
        cmocka_unit_test(forgets_windows_but_the_last),
        cmocka_unit_test(keeps_a_window_that_holds_too_little),
        cmocka_unit_test(says_when_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
