#include "support/cmocka_all.h"

#include "model/model.h"

#include <math.h>

/* Values that hardware has, and values that only a broken program writes, of each kind of metric. */
static void ranges(void **state)
{
    static const struct {
        enum node_metric metric;
        double can[2], cannot[2];
    } rows[] = {
        {NODE_CPU_BUSY, {0, 1.01}, {-0.01, 1.5}},
        {NODE_CPU_SHARE, {0, 256}, {-1, 1e6}},
        {NODE_FAN, {0, 1.1}, {-0.1, 3}},
        {NODE_SM_CLOCK, {0, 3000}, {-1, 1e6}},
        {NODE_TEMPERATURE, {-20, 110}, {-300, 1e9}},
        {NODE_POWER, {0, 2700}, {-1, 1e22}},
        {NODE_LINK_SPEED, {0, 1600000}, {-1, 4294967295}},
        {NODE_LINK_UP, {0, 1}, {-1, 2}},
        {NODE_GPU_MEMORY_USED, {0, 4e11}, {-1, 1e19}},
        {NODE_ECC_CORRECTED, {0, 1e18}, {-1, 9223372036854775792.0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < 2; j++) {
            assert_true(node_metric_can_be(rows[i].metric, rows[i].can[j]));
            assert_false(node_metric_can_be(rows[i].metric, rows[i].cannot[j]));
        }
}

/* Zero is possible everywhere; no metric was forgotten. */
static void every_metric(void **state)
{
    for (int metric = 0; metric < NODE_METRIC_COUNT; metric++) {
        assert_true(node_metric_can_be((enum node_metric)metric, 0));
        assert_true(node_metric_can_be((enum node_metric)metric, 1));
        assert_false(node_metric_can_be((enum node_metric)metric, INFINITY));
        assert_false(node_metric_can_be((enum node_metric)metric, -INFINITY));
        assert_false(node_metric_can_be((enum node_metric)metric, NAN));
    }
    assert_false(node_metric_can_be(NODE_METRIC_COUNT, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(every_metric),
    };
    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
