#include "support/cmocka_all.h"
#include "support/strength_cells.h"

#include <stdlib.h>

/* Where a run of strong steps ends. */

/* An end with less than a quarter of the strongest step is another matter, and so does not weaken the run. */
static void weak_ends_are_dropped(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 110);
    put(&strength, 3, 6, 1000);
    put(&strength, 3, 7, 900);
    put(&strength, 3, 8, 249);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 1);
    assert_int_equal(suspects.items[0].first_step, 6);
    assert_int_equal(suspects.items[0].last_step, 7);
    assert_int_equal(suspects.items[0].weakest_ns, 900);
    assert_int_equal(suspects.items[0].total_ns, 1900);
    free(suspects.items);
}

static void is_run(const struct suspect *run, int32_t first_step, int32_t last_step, int64_t total_ns)
{
    assert_int_equal(run->rank, 3);
    assert_int_equal(run->first_step, first_step);
    assert_int_equal(run->last_step, last_step);
    assert_int_equal(run->total_ns, total_ns);
}

/* An end of several steps is a run by itself: a fault that lasted beside a moment that was far worse. */
static void several_weak_ends_are_a_run(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 200);
    put(&strength, 3, 6, 210);
    put(&strength, 3, 7, 5000);
    for (int step = 8; step <= 10; step++)
        put(&strength, 3, step, 300);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 3);
    is_run(&suspects.items[0], 5, 6, 410);
    is_run(&suspects.items[1], 7, 7, 5000);
    is_run(&suspects.items[2], 8, 10, 900);
    free(suspects.items);
}

/* Also over a step between them that is worth nothing. */
static void an_end_behind_a_weak_step(void **state)
{
    struct strength strength = start(RANKS);
    put(&strength, 3, 5, 5000);
    put(&strength, 3, 6, 4000);
    put(&strength, 3, 8, 300);
    put(&strength, 3, 9, 300);
    struct suspects suspects = find(&strength, FINDING_COMPUTE);
    assert_int_equal(suspects.count, 2);
    is_run(&suspects.items[0], 5, 6, 9000);
    is_run(&suspects.items[1], 8, 9, 600);
    free(suspects.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_ends_are_dropped),
        cmocka_unit_test(several_weak_ends_are_a_run),
        cmocka_unit_test(an_end_behind_a_weak_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
