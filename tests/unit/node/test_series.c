#include "support/cmocka_all.h"
#include "support/node_lines.h"

#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* lib/model is not called by the sampler, so the names are written twice. */
static void names_of_metrics_are_those_of_the_model(void **state)
{
    for (int metric = 0; metric < SERIES_METRICS; metric++) {
        assert_non_null(node_series_metric((enum node_metric_id)metric));
        assert_int_not_equal(node_metric_of(node_series_metric((enum node_metric_id)metric)),
                             NODE_METRIC_OTHER);
    }
}

static void a_gauge_is_written_where_it_differs(void **state)
{
    struct node_lines lines;
    int32_t id = 0;
    node_lines_begin(&lines);
    node_lines_next(&lines);
    node_put(&lines.writer, &id, KIND_GPU, "00000000:3b:00.0", SERIES_GPU_UTILIZATION, 0.5);
    assert_string_equal(node_lines_finish(&lines),
                        "{\"ms\":1000,\"of\":1000,\"new\":{\"1\":[\"gpu\",\"00000000:3b:00.0\","
                        "\"gpu_utilization_share\"]},\"v\":{\"1\":0.5}}\n");
    node_lines_next(&lines);
    node_put(&lines.writer, &id, KIND_GPU, "00000000:3b:00.0", SERIES_GPU_UTILIZATION, 0.58);
    assert_string_equal(node_lines_finish(&lines), "{\"ms\":2000}\n");
    node_lines_next(&lines);
    node_put(&lines.writer, &id, KIND_GPU, "00000000:3b:00.0", SERIES_GPU_UTILIZATION, 0.6123);
    assert_string_equal(node_lines_finish(&lines), "{\"ms\":3000,\"of\":1000,\"v\":{\"1\":0.61}}\n");
    node_lines_next(&lines);
    node_end(&lines.writer, &id);
    assert_string_equal(node_lines_finish(&lines), "{\"ms\":4000,\"gone\":[\"1\"]}\n");
    node_lines_end(&lines);
}

/* Equal increases are written each time; none is written once. */
static void a_counter_is_written_where_it_increases(void **state)
{
    struct node_lines lines;
    struct node_counter counter = {0};
    static const uint64_t totals[] = {5, 5, 12, 19, 19, 3, 4};
    static const double written[] = {NAN, 0, 7, 7, NAN, NAN, 1};
    node_lines_begin(&lines);
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        buffer_clear(&lines.text);
        node_lines_next(&lines);
        node_count(&lines.writer, &counter, KIND_PORT, "mlx5_0/1", SERIES_SYMBOL_ERRORS, totals[i]);
        const char *value = strstr(node_lines_finish(&lines), "\"v\":{\"1\":");
        assert_int_equal(value == NULL, isnan(written[i]));
        if (value)
            assert_true(strtod(value + strlen("\"v\":{\"1\":"), NULL) == written[i]);
    }
    node_lines_end(&lines);
}

/* Texts of devices come from the system: names of threads may be anything. */
static void names_are_escaped(void **state)
{
    struct node_lines lines;
    int32_t id = 0;
    node_lines_begin(&lines);
    node_lines_next(&lines);
    node_put(&lines.writer, &id, KIND_THREAD, "1/2 a\"b\n\xff", SERIES_CPU_SHARE, 1);
    assert_non_null(strstr(node_lines_finish(&lines), "[\"thread\",\"1/2 a\\\"b\\n"));
    node_lines_end(&lines);
}

static void the_number_of_series_is_limited(void **state)
{
    struct node_lines lines;
    int32_t ids[3] = {0};
    node_lines_begin(&lines);
    lines.writer.most = 2;
    node_lines_next(&lines);
    for (int i = 0; i < 3; i++)
        node_put(&lines.writer, &ids[i], KIND_PROCESS, "7", SERIES_CPU_SHARE, 1);
    node_lines_finish(&lines);
    assert_int_equal(ids[1], 2);
    assert_int_equal(ids[2], 0);
    node_lines_end(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_metrics_are_those_of_the_model),
        cmocka_unit_test(a_gauge_is_written_where_it_differs),
        cmocka_unit_test(a_counter_is_written_where_it_increases),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(the_number_of_series_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
