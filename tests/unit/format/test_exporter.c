#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/format.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define GPU "00000000:86:00.0"
#define LABELS \
    "{gpu=\"1\",UUID=\"GPU-6b\",pci_bus_id=\"00000000:86:00.0\",modelName=\"H100\",Hostname=\"node1\"} "

/* Two scrapes of DCGM: the first has times, a date stands before the second. */
static void dcgm(void **state)
{
    struct recording recording;
    told_by(&recording, "dcgm.txt",
            "# HELP DCGM_FI_DEV_SM_CLOCK SM clock\n# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
            "DCGM_FI_DEV_SM_CLOCK" LABELS
            "345 1795687872000\n"
            "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" LABELS
            "7 1795687872000\n"
            "DCGM_FI_DEV_THERMAL_VIOLATION" LABELS
            "0 1795687872000\n"
            "DCGM_FI_DEV_XID_ERRORS" LABELS
            "31 1795687872000\n"
            "DCGM_FI_DEV_POWER_USAGE" LABELS
            "NaN 1795687872000\n"
            "2026-11-26T10:11:32Z\n"
            "DCGM_FI_DEV_SM_CLOCK" LABELS
            "345\n"
            "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" LABELS
            "19\n"
            "DCGM_FI_DEV_THERMAL_VIOLATION" LABELS
            "5e9\n"
            "DCGM_FI_DEV_XID_ERRORS" LABELS "79\n");
    const int64_t later = MOMENT + 20 * SECOND;
    assert_string_equal(recording.dialect, "exporter");
    check_sample(told_sample(&recording, GPU, NODE_SM_CLOCK, 0), MOMENT, MOMENT, 345);
    check_sample(told_sample(&recording, GPU, NODE_SM_CLOCK, 1), MOMENT, later, 345);
    check_sample(told_sample(&recording, GPU, NODE_PCIE_REPLAYS, 0), TIME_UNKNOWN, MOMENT, 7);
    check_sample(told_sample(&recording, GPU, NODE_PCIE_REPLAYS, 1), MOMENT, later, 12);
    check_sample(told_sample(&recording, GPU, NODE_THROTTLE_HW_THERMAL, 1), MOMENT, later, 0.25);
    assert_string_equal(told_sample(&recording, GPU, NODE_SM_CLOCK, 0)->host, "node1");
    /* When the first Xid came is not known; the second came between the scrapes. */
    assert_int_equal(told_event(&recording, 0)->number, 31);
    assert_int_equal(told_event(&recording, 0)->at_ns, TIME_UNKNOWN);
    assert_int_equal(told_event(&recording, 1)->number, 79);
    assert_int_equal(told_event(&recording, 1)->at_ns, later);
    assert_int_equal(told_event(&recording, 1)->error_ns, 20 * SECOND);
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 1);
    assert_int_equal(recording_notes(&recording, TELEMETRY_NOTE_OTHER_METRIC), 1);
    recording_release(&recording);
}

#define NODE(time, idle, user, waiting, errors)                                \
    "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} " idle                    \
    "\nnode_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} " idle                  \
    "\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} " user                  \
    "\nnode_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 5\n"                  \
    "node_disk_io_time_seconds_total{device=\"nvme0n1\"} 1\n"                  \
    "node_infiniband_symbol_error_total{device=\"mlx5_1\",port=\"2\"} " errors \
    "\nnode_load1 31\nnode_network_receive_errs_total{device=\"veth12\"} 5\n"  \
    "node_network_receive_errs_total{device=\"eth0\"} " errors                 \
    "\nnode_pressure_cpu_waiting_seconds_total " waiting                       \
    "\nnode_procs_running 32\n"                                                \
    "node_time_seconds " time "\nnode_uname_info{nodename=\"node2.example\",release=\"6\"} 1\n"

/* The scrape's own time counts, and the name that the node has. A reset of a counter gives no increase. */
static void node(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.prom",
            NODE("1.795687872e+09", "100", "50", "10", "7") NODE("1.795687882e+09", "105", "65", "14", "307")
                NODE("1.795687892e+09", "105", "65", "14", "5"));
    const int64_t first = MOMENT, second = MOMENT + 10 * SECOND, third = MOMENT + 20 * SECOND;
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 0), TIME_UNKNOWN, first, 7);
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 1), first, second, 300);
    check_sample(told_sample(&recording, "mlx5_1/2", NODE_SYMBOL_ERRORS, 2), TIME_UNKNOWN, third, 5);
    check_sample(told_sample(&recording, "eth0", NODE_RECEIVE_ERRORS, 1), first, second, 300);
    check_sample(told_sample(&recording, NULL, NODE_CPU_PRESSURE, 1), first, second, 0.4);
    check_sample(told_sample(&recording, NULL, NODE_CPU_PRESSURE, 2), second, third, 0);
    /* 15 s of 2 cores in 10 s. */
    check_sample(told_sample(&recording, NULL, NODE_CPU_BUSY, 1), first, second, 0.75);
    check_sample(told_sample(&recording, NULL, NODE_CORES, 0), first, first, 2);
    check_sample(told_sample(&recording, NULL, NODE_RUNNABLE_TASKS, 0), first, first, 32);
    check_sample(told_sample(&recording, "nvme0n1", NODE_DISK_BUSY, 1), first, second, 0);
    assert_null(told_sample(&recording, "veth12", NODE_RECEIVE_ERRORS, 0));
    assert_string_equal(told_sample(&recording, "eth0", NODE_RECEIVE_ERRORS, 0)->host, "node2.example");
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* Without a time in it: that of the name. */
static void time_of_the_name(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.20261126-101112.prom", "node_procs_running 32\n");
    const struct node_sample *sample = told_sample(&recording, NULL, NODE_RUNNABLE_TASKS, 0);
    check_sample(sample, MOMENT, MOMENT, 32);
    assert_int_equal(sample->error_ns, SECOND);
    assert_string_equal(sample->host, "node1");
    recording_release(&recording);
}

static void damaged(void **state)
{
    struct recording recording;
    told_by(&recording, "a.prom",
            "node_procs_running 32\nnode_procs_running{ 4\nnode_disk_io_time_seconds_total{device=x} 4\n"
            "node_network_receive_errs_total{device=\"eth0\"} -5\nnode_network_up 1e400\nx\n");
    assert_int_equal(recording_damage(&recording), 3);
    assert_int_equal(told_samples(&recording, NULL, NODE_RUNNABLE_TASKS), 1);
    assert_int_equal(told_samples(&recording, "eth0", NODE_RECEIVE_ERRORS), 0);
    recording_release(&recording);
    damage_told("a.prom", NODE("1.795687872e+09", "100", "50", "10", "7"));
}

/* node_exporter gives -1 Mbit/s for an interface whose speed it does not know. */
static void impossible_values(void **state)
{
    struct recording recording;
    told_by(&recording, "node1.prom",
            "node_network_speed_bytes{device=\"eth0\"} -125000 1795687872000\n"
            "node_network_carrier{device=\"eth0\"} 7 1795687872000\n"
            "node_pressure_cpu_waiting_seconds_total -3 1795687872000\n"
            "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 250 1795687872000\n"
            "node_network_speed_bytes{device=\"eth1\"} 5e10 1795687872000\n");
    assert_int_equal(recording_count(&recording, EVENT_NODE_SAMPLE), 1);
    check_sample(told_sample(&recording, "eth1", NODE_LINK_SPEED, 0), MOMENT, MOMENT, 400000);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_IMPOSSIBLE), 4);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_values), cmocka_unit_test(dcgm),    cmocka_unit_test(node),
        cmocka_unit_test(time_of_the_name),  cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
