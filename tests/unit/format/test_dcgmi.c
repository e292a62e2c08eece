#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/format.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define AT(second) "2026-11-26T10:11:" second "Z "

/* Lines with a date of ts before each. 72 are the reasons "hardware slowdown" and "hardware thermal". */
static void dated(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.txt",
            AT("12") "#Entity   SMCLK     TMPTR     XYZ       POWER     DVCCTR    XIDER\n" AT(
                "12") "ID                  C\n" AT("12") "GPU 1     1980      61        1         640.118   0  "
                                                         "       0\n" AT(
                "13") "GPU 1     345       91        1         N/A       72        63\n" AT("13") "Switch 3  1\n");
    const int64_t later = MOMENT + SECOND;
    assert_string_equal(recording.dialect, "dcgmi");
    check_sample(told_sample(&recording, "index 1", NODE_SM_CLOCK, 1), later, later, 345);
    check_sample(told_sample(&recording, "index 1", NODE_POWER, 0), MOMENT, MOMENT, 640.118);
    assert_int_equal(told_samples(&recording, "index 1", NODE_POWER), 1);
    check_sample(told_sample(&recording, "index 1", NODE_THROTTLE_HW_THERMAL, 1), later, later, 1);
    check_sample(told_sample(&recording, "index 1", NODE_THROTTLE_HW_SLOWDOWN, 1), later, later, 1);
    check_sample(told_sample(&recording, "index 1", NODE_THROTTLE_SW_POWER_CAP, 1), MOMENT, later, 0);
    assert_int_equal(told_event(&recording, 0)->number, 63);
    assert_int_equal(told_event(&recording, 0)->at_ns, later);
    assert_int_equal(recording_notes(&recording, "row of no GPU"), 1);
    recording_release(&recording);
}

static void impossible_values(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.txt",
            AT("12") "#Entity SMCLK TMPTR POWER PVIOL RPCTR DVCCTR XIDER GRACT\n" AT(
                "12") "GPU 0 -1 1e9 140737488355328 -5 9223372036854775792 -1 2147483632 0.5\n");
    assert_int_equal(recording.event_count, 1);
    check_sample(told_sample(&recording, "index 0", NODE_GPU_UTILIZATION, 0), MOMENT, MOMENT, 0.5);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 7);
    recording_release(&recording);
}

/* As dcgmi prints it there is no time, and nothing can be joined. */
static void no_time(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.txt", "# Entity  SMCLK     TMPTR\n    Id\nGPU 0     1980      61\n");
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_notes(&recording, LOG_NOTE_NO_TIME), 2);
    recording_release(&recording);
}

static void damaged(void **state)
{
    damage_told("a.txt",
                AT("12") "#Entity   SMCLK     TMPTR\nID\nGPU 1     1980      61\n1795687892\nGPU 1 1 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dated),
        cmocka_unit_test(impossible_values),
        cmocka_unit_test(no_time),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
