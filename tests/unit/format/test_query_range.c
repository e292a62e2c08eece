#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/format.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define ANSWER(series) \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" series "]}}\n"
#define PORT                                                                                           \
    "{\"metric\":{\"__name__\":\"node_infiniband_symbol_error_total\",\"device\":\"mlx5_1\",\"port\":" \
    "\"2\",\"instance\":\"node2:9100\"},\"values\":[[1795687872,\"7\"],[1795687887.5,\"307\"],"        \
    "[1795687902,\"5\"],[1795687917,\"NaN\"]]}"
#define CLOCK                                                                                           \
    "{\"metric\":{\"__name__\":\"DCGM_FI_DEV_SM_CLOCK\",\"gpu\":\"0\",\"UUID\":\"GPU-1\",\"Hostname\":" \
    "\"node1\",\"instance\":\"10.0.0.1:9400\"},\"values\":[[1795687872,\"1980\"],[1795687887,\"345\"]]}"
#define OTHER "{\"metric\":{\"instance\":\"node2:9100\"},\"values\":[[1795687872,\"7\"]]}"

static void series(void **state)
{
    struct recording recording;
    told_by(&recording, "a.json", ANSWER(PORT "," CLOCK "," OTHER));
    const int64_t second = MOMENT + 31 * SECOND / 2;
    assert_string_equal(recording.dialect, "query-range");
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 0), TIME_UNKNOWN, MOMENT, 7);
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 1), MOMENT, second, 300);
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 2), TIME_UNKNOWN,
                 MOMENT + 30 * SECOND, 5);
    assert_int_equal(told_samples(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS), 3);
    assert_string_equal(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 0)->host, "node2");
    check_sample(told_sample(&recording, "GPU-1", NODE_SM_CLOCK, 1), MOMENT + 15 * SECOND,
                 MOMENT + 15 * SECOND, 345);
    assert_string_equal(told_sample(&recording, "GPU-1", NODE_SM_CLOCK, 0)->host, "node1");
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 1);
    assert_int_equal(recording_notes(&recording, "series without the name of a metric"), 1);
    recording_release(&recording);
}

/* The answer to /api/v1/query has one value of each series. */
static void one_value(void **state)
{
    struct recording recording;
    told_by(
        &recording, "a.json",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"__name__\":"
        "\"node_procs_running\",\"instance\":\"node2:9100\"},\"value\":[1795687872.5,\"32\"]}]}}");
    check_sample(told_sample(&recording, NULL, NODE_RUNNABLE_TASKS, 0), MOMENT + SECOND / 2,
                 MOMENT + SECOND / 2, 32);
    recording_release(&recording);
}

static void damaged(void **state)
{
    damage_told("a.json", ANSWER(PORT "," CLOCK "," OTHER));
}

static void impossible_values(void **state)
{
    struct recording recording;
    told_by(
        &recording, "a.json",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"__name__\":"
        "\"DCGM_FI_DEV_POWER_USAGE\",\"gpu\":\"1\",\"Hostname\":\"node2\"},\"values\":[[1795687872,\"1e22\"],"
        "[1795687873,\"-1\"],[1795687874,\"700\"]]}]}}");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 1);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 2);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series),
        cmocka_unit_test(one_value),
        cmocka_unit_test(impossible_values),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
