#include "output/output.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

static const struct metric_label run[] = {{"run", "a"}, {NULL, NULL}};

static void assert_samples(enum metric metric, const struct metric_label *labels, double value,
                           const char *expected)
{
    struct metrics metrics;
    metrics_init(&metrics);
    assert_int_equal(metrics_add(&metrics, metric, labels, value), 0);
    assert_string_equal(metrics.samples[metric].data ? metrics.samples[metric].data : "", expected);
    assert_int_equal(metrics.count, *expected != '\0');
    metrics_release(&metrics);
}

static void test_labels(void **state)
{
    const struct metric_label none[] = {{NULL, NULL}};
    const struct metric_label partly[] = {{"run", NULL}, {"tag", ""}, {"function", "Send"}, {NULL, NULL}};
    const struct metric_label hostile[] = {{"run", "a\\b\"c\nd\xff"}, {"tag", "}"}, {NULL, NULL}};
    assert_samples(METRIC_RANKS, run, 8, "ncclprof_ranks{run=\"a\"} 8\n");
    assert_samples(METRIC_RANKS, none, 0, "ncclprof_ranks 0\n");
    assert_samples(METRIC_OPERATIONS, partly, 1e15, "ncclprof_operations{function=\"Send\"} 1e+15\n");
    assert_samples(METRIC_RANKS, hostile, 1,
                   "ncclprof_ranks{run=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\",tag=\"}\"} 1\n");
}

static void test_what_is_no_number_is_left_out(void **state)
{
    assert_samples(METRIC_WAITING, run, (double)NAN, "");
    assert_samples(METRIC_WAITING, run, (double)INFINITY, "");
}

/* A collector refuses a file that contains a sample twice. */
static void test_each_once(void **state)
{
    const struct metric_label other[] = {{"run", "b"}, {NULL, NULL}};
    struct metrics metrics;
    metrics_init(&metrics);
    assert_int_equal(metrics_add(&metrics, METRIC_RANKS, run, 1), 0);
    assert_int_equal(metrics_add(&metrics, METRIC_RANKS, run, 2), 0);
    assert_int_equal(metrics_add(&metrics, METRIC_RANKS, other, 3), 0);
    assert_int_equal(metrics_add(&metrics, METRIC_STEPS, run, 4), 0);
    assert_string_equal(metrics.samples[METRIC_RANKS].data,
                        "ncclprof_ranks{run=\"a\"} 1\nncclprof_ranks{run=\"b\"} 3\n");
    assert_string_equal(metrics.samples[METRIC_STEPS].data, "ncclprof_steps{run=\"a\"} 4\n");
    assert_int_equal(metrics.count, 3);
    metrics_release(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_what_is_no_number_is_left_out),
        cmocka_unit_test(test_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
