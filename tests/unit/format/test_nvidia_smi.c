#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/format.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define GPU "00000000:3b:00.0"
#define HEADER \
    "timestamp, index, pci.bus_id, uuid, name, clocks.sm [MHz], utilization.gpu [%], power.draw [W], "
#define REST "clocks_throttle_reasons.hw_thermal_slowdown, clocks_event_reasons.active, "
#define ECC "ecc.errors.corrected.volatile.total, driver_version\n"
#define ROW(second, values) \
    "2026/11/26 10:11:" second ".500, 0, 00000000:3B:00.0, GPU-1, NVIDIA H100, " values ", 550.54\n"

static void columns(void **state)
{
    struct recording recording;
    told_by(&recording, "smi.node1.csv",
            HEADER REST ECC ROW("12", "1980 MHz, 98 %, [N/A], Active, 0x44, 3")
                ROW("13", "345 MHz, 98 %, 300.25 W, Not Active, 0x0, 5")
                    ROW("14", "345 MHz, 98 %, 300.25 W, Not Active, 0x0, 1"));
    const int64_t half = SECOND / 2;
    assert_string_equal(recording.dialect, "nvidia-smi");
    assert_int_equal(recording_damage(&recording), 0);
    check_sample(told_sample(&recording, GPU, NODE_SM_CLOCK, 0), MOMENT + half, MOMENT + half, 1980);
    check_sample(told_sample(&recording, GPU, NODE_SM_CLOCK, 1), MOMENT + 3 * half, MOMENT + 3 * half, 345);
    check_sample(told_sample(&recording, GPU, NODE_SM_CLOCK, 2), MOMENT + 3 * half, MOMENT + 5 * half, 345);
    check_sample(told_sample(&recording, GPU, NODE_GPU_UTILIZATION, 0), MOMENT + half, MOMENT + half, 0.98);
    assert_int_equal(told_samples(&recording, GPU, NODE_POWER), 2);
    assert_string_equal(told_sample(&recording, GPU, NODE_POWER, 0)->host, "node1");
    /* Both a column and a bit say it. */
    assert_int_equal(told_samples(&recording, GPU, NODE_THROTTLE_HW_THERMAL), 3);
    check_sample(told_sample(&recording, GPU, NODE_THROTTLE_HW_THERMAL, 0), MOMENT + half, MOMENT + half, 1);
    check_sample(told_sample(&recording, GPU, NODE_THROTTLE_SW_POWER_CAP, 0), MOMENT + half, MOMENT + half,
                 1);
    /* A counter that was reset gives no increase. */
    check_sample(told_sample(&recording, GPU, NODE_ECC_CORRECTED, 0), TIME_UNKNOWN, MOMENT + half, 3);
    check_sample(told_sample(&recording, GPU, NODE_ECC_CORRECTED, 1), MOMENT + half, MOMENT + 3 * half, 2);
    check_sample(told_sample(&recording, GPU, NODE_ECC_CORRECTED, 2), TIME_UNKNOWN, MOMENT + 5 * half, 1);
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 1);
    const struct node_fact *fact = &recording_event(&recording, EVENT_NODE_FACT, 0)->node_fact;
    assert_int_equal(fact->gpu_index, 0);
    assert_string_equal(fact->gpu_bus_id, GPU);
    assert_string_equal(fact->gpu_uuid, "GPU-1");
    assert_string_equal(fact->gpu_name, "NVIDIA H100");
    assert_int_equal(recording_notes(&recording, LOG_NOTE_LOCAL), 1);
    recording_release(&recording);
}

/* With nounits; without a bus id the UUID names the GPU, else its index. */
static void names_of_gpus(void **state)
{
    struct recording recording;
    told_by(&recording, "a.csv", "timestamp, uuid, temperature.gpu\n2026/11/26 10:11:12.000, GPU-1, 61\n");
    check_sample(told_sample(&recording, "GPU-1", NODE_TEMPERATURE, 0), MOMENT, MOMENT, 61);
    recording_release(&recording);
    told_by(&recording, "a.csv", "index, temperature.gpu, timestamp\n7, 61, 2026/11/26 10:11:12.000\n");
    check_sample(told_sample(&recording, "index 7", NODE_TEMPERATURE, 0), MOMENT, MOMENT, 61);
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 0);
    recording_release(&recording);
}

static void no_time(void **state)
{
    struct recording recording;
    told_by(&recording, "a.csv", "index, temperature.gpu\n7, 61\n");
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_notes(&recording, LOG_NOTE_NO_TIME), 1);
    recording_release(&recording);
}

/* Values without names are refused, with what to do. */
static void no_header(void **state)
{
    static const char values[] =
        "2026/11/26 10:11:12.345, 0, 61, 98 %\n2026/11/26 10:11:13.345, 0, 61, 98 %\n";
    struct recording recording;
    recording_of_bytes(&recording, "a.csv", values, strlen(values));
    assert_int_equal(recording.status, -2);
    assert_non_null(strstr(recording.error.cause[0], "record it without noheader"));
    recording_release(&recording);
}

static void check_refused(const char *bytes, size_t length, const char *reason)
{
    struct recording recording;
    recording_of_bytes(&recording, "a.csv", bytes, length);
    assert_int_equal(recording.status, -2);
    assert_non_null(strstr(recording.error.cause[0], reason));
    recording_release(&recording);
}

/* What spreadsheets and PowerShell make of it is refused, with the reason. A UTF-8 mark changes nothing. */
static void of_other_programs(void **state)
{
    static const char wide[] =
        "\xff\xfe"
        "t\0i\0m\0e\0s\0t\0a\0m\0p\0,\0";
    static const char semicolons[] = "timestamp;index;power.draw [W]\n2026/11/26 10:11:12.345;0;300,25 W\n",
                      tabs[] = "timestamp\tindex\tpower.draw [W]\n2026/11/26 10:11:12.345\t0\t300,25 W\n";
    check_refused(wide, sizeof wide - 1,
                  "UTF-16 text, as PowerShell writes it; run: iconv -f UTF-16 -t UTF-8");
    check_refused(semicolons, strlen(semicolons), "nvidia-smi with semicolons or tabs");
    check_refused(tabs, strlen(tabs), "nvidia-smi with semicolons or tabs");
    struct recording recording;
    told_by(&recording, "a.csv",
            "\xef\xbb\xbf"
            "timestamp, index, power.draw [W]\r\n2026/11/26 10:11:12.000, 0, 300.25 W\r\n");
    check_sample(told_sample(&recording, "index 0", NODE_POWER, 0), MOMENT, MOMENT, 300.25);
    recording_release(&recording);
}

/* They are counted; the rest of the row is read. */
static void impossible_values(void **state)
{
    struct recording recording;
    told_by(&recording, "a.csv",
            "timestamp, index, clocks.sm [MHz], power.draw [W], utilization.gpu [%], temperature.gpu, "
            "memory.used [MiB], "
            "ecc.errors.corrected.volatile.total, clocks_event_reasons.active\n"
            "2026/11/26 10:11:12.000, 0, -1 MHz, 1e22 W, 250 %, 1e9, 1 MiB, -4, -1\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 1);
    check_sample(told_sample(&recording, "index 0", NODE_GPU_MEMORY_USED, 0), MOMENT, MOMENT, 1048576);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 6);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static void dmon(void **state)
{
    struct recording recording;
    told_by(
        &recording, "a.txt",
        "#Date       Time        gpu    pwr  gtemp  mtemp     sm   mclk   pclk  pviol  tviol  sbecc    pci\n"
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %    MHz    MHz      %   bool   errs   errs\n"
        " 20261126   10:11:12      1    655     63      -     99   2619   1980     20      0      0      0\n"
        " 20261126   10:11:13      1    300     91      -    100   2619    345      0      1      0      "
        "4\n");
    check_sample(told_sample(&recording, "index 1", NODE_SM_CLOCK, 1), MOMENT + SECOND, MOMENT + SECOND, 345);
    check_sample(told_sample(&recording, "index 1", NODE_THROTTLE_SW_POWER_CAP, 0), MOMENT, MOMENT, 0.2);
    check_sample(told_sample(&recording, "index 1", NODE_THROTTLE_HW_THERMAL, 1), MOMENT + SECOND,
                 MOMENT + SECOND, 1);
    check_sample(told_sample(&recording, "index 1", NODE_PCIE_REPLAYS, 1), MOMENT, MOMENT + SECOND, 4);
    assert_int_equal(told_samples(&recording, "index 1", NODE_MEMORY_TEMPERATURE), 0);
    recording_release(&recording);
}

static void damaged(void **state)
{
    struct recording recording;
    told_by(&recording, "a.csv",
            "timestamp, index, clocks.sm [MHz]\n2026/11/26 10:11:12.000, 0\n, , , ,\nx\n");
    assert_int_equal(recording.event_count, 0);
    assert_int_equal(recording_damage(&recording), 3);
    recording_release(&recording);
    damage_told("a.csv", HEADER REST ECC ROW("12", "1980 MHz, 98 %, [N/A], Active, 0x44, 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),   cmocka_unit_test(names_of_gpus),     cmocka_unit_test(no_time),
        cmocka_unit_test(no_header), cmocka_unit_test(of_other_programs), cmocka_unit_test(impossible_values),
        cmocka_unit_test(dmon),      cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
