#include "report/comparison.h"

#include "support/cmocka_all.h"

/* Transfers of six steps, and own times in steps in which computation overlaps with them. */
static double net_us[] = {100, 110, 95, 120, 105, 90};

static double overlap_of(double slope, double noise)
{
    static const double about[] = {1, -1, -1, 1, 1, -1};
    struct network_parts parts = {.all_us = 103, .by_step = net_us};
    double own_us[6];
    for (int i = 0; i < 6; i++)
        own_us[i] = 1000 + slope * net_us[i] + noise * about[i];
    return network_parts_overlap(&parts, own_us, 6);
}

static void own_times_tell_what_goes_on_beside_transfers(void **state)
{
    assert_float_equal(overlap_of(-0.7, 0), 0.7, 1e-9);
    assert_float_equal(overlap_of(-1.5, 0), 1, 1e-9);
    assert_float_equal(overlap_of(0, 0), 0, 1e-9);
    assert_float_equal(overlap_of(0.4, 0), 0, 1e-9);
}

/* The less exactly the slope is known, the more may overlap with them. */
static void what_is_not_known_may_be(void **state)
{
    assert_true(overlap_of(0, 1) > 0);
    assert_true(overlap_of(0, 10) > overlap_of(0, 1));
    assert_true(overlap_of(0, 1000) <= 1);
    double few[] = {1, 2}, same[] = {100, 100, 100};
    struct network_parts parts = {.all_us = 103, .by_step = net_us}, none = {.all_us = 0, .by_step = net_us};
    assert_float_equal(network_parts_overlap(&parts, few, 2), 1, 0);
    assert_float_equal(network_parts_overlap(&none, few, 2), 0, 0);
    parts.by_step = same;
    assert_float_equal(network_parts_overlap(&parts, net_us, 3), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_times_tell_what_goes_on_beside_transfers),
        cmocka_unit_test(what_is_not_known_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
