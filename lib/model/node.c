/*
 * Words for what a node says of itself, and which values are possible.
 *
 * A new metric takes its enumerator in lib/model/node.h, at the end, and a row below; a name ends in its
 * unit unless it counts something, and OF_... says what its values can be. A new kind of message takes the
 * same in `events`. Stores keep the numbers.
 */

#include "base/base.h"
#include "model/event.h"
#include "model/model.h"

#include <string.h>

enum metric_kind { GAUGE, COUNTER };

/*
 * What a value can be; anything else is an error of the program that wrote it, or stands for "unknown". The
 * limits are far beyond what hardware does. Two times of day that do not quite fit make a share a little more
 * than 1, and the speed of a fan may be above its nominal one.
 */
#define OF_SHARE 0, 1.02
#define OF_FLAG 0, 1
#define OF_FAN 0, 2
#define OF_CORES 0, 65536
#define OF_TASKS 0, 4194304
#define OF_BYTES 0, 1e18
#define OF_MHZ 0, 100000
#define OF_CELSIUS -100, 300
#define OF_WATTS 0, 20000
#define OF_LANES 0, 64
#define OF_MBPS 0, 1e8
/* DCGM writes 0x7ffffffffffffff0 and more for an unknown total. */
#define OF_TOTAL 0, 9.2e18

static const struct {
    const char *name;
    enum metric_kind kind;
    double least, most; /* of a counter: of a total and of an increase */
} metrics[NODE_METRIC_COUNT] = {
    [NODE_METRIC_OTHER] = {"other", GAUGE, OF_TOTAL},
    [NODE_CPU_BUSY] = {"cpu_busy_share", GAUGE, OF_SHARE},
    [NODE_CPU_PRESSURE] = {"cpu_pressure_share", GAUGE, OF_SHARE},
    [NODE_IO_PRESSURE] = {"io_pressure_share", GAUGE, OF_SHARE},
    [NODE_MEMORY_PRESSURE] = {"memory_pressure_share", GAUGE, OF_SHARE},
    [NODE_RUNNABLE_TASKS] = {"runnable_tasks", GAUGE, OF_TASKS},
    [NODE_CORES] = {"cores", GAUGE, OF_CORES},
    [NODE_MEMORY_AVAILABLE] = {"memory_available_bytes", GAUGE, OF_BYTES},
    [NODE_CPU_SHARE] = {"cpu_share", GAUGE, OF_CORES},
    [NODE_RUN_WAIT] = {"run_wait_share", GAUGE, OF_CORES},
    [NODE_INVOLUNTARY_SWITCHES] = {"involuntary_switches", COUNTER, OF_TOTAL},
    [NODE_MAJOR_FAULTS] = {"major_faults", COUNTER, OF_TOTAL},
    [NODE_CPU_STOLEN] = {"cpu_stolen_share", GAUGE, OF_SHARE},
    [NODE_CPU_QUOTA_WAIT] = {"cpu_quota_wait_share", GAUGE, OF_SHARE},
    [NODE_GPU_UTILIZATION] = {"gpu_utilization_share", GAUGE, OF_SHARE},
    [NODE_SM_CLOCK] = {"sm_clock_mhz", GAUGE, OF_MHZ},
    [NODE_MEMORY_CLOCK] = {"memory_clock_mhz", GAUGE, OF_MHZ},
    [NODE_TEMPERATURE] = {"temperature_c", GAUGE, OF_CELSIUS},
    [NODE_MEMORY_TEMPERATURE] = {"memory_temperature_c", GAUGE, OF_CELSIUS},
    [NODE_POWER] = {"power_w", GAUGE, OF_WATTS},
    [NODE_POWER_LIMIT] = {"power_limit_w", GAUGE, OF_WATTS},
    [NODE_FAN] = {"fan_share", GAUGE, OF_FAN},
    [NODE_THROTTLE_HW_THERMAL] = {"throttle_hw_thermal_share", GAUGE, OF_SHARE},
    [NODE_THROTTLE_HW_POWER_BRAKE] = {"throttle_hw_power_brake_share", GAUGE, OF_SHARE},
    [NODE_THROTTLE_HW_SLOWDOWN] = {"throttle_hw_slowdown_share", GAUGE, OF_SHARE},
    [NODE_THROTTLE_SW_THERMAL] = {"throttle_sw_thermal_share", GAUGE, OF_SHARE},
    [NODE_THROTTLE_SW_POWER_CAP] = {"throttle_sw_power_cap_share", GAUGE, OF_SHARE},
    [NODE_ECC_CORRECTED] = {"ecc_corrected", COUNTER, OF_TOTAL},
    [NODE_ECC_UNCORRECTED] = {"ecc_uncorrected", COUNTER, OF_TOTAL},
    [NODE_REMAPPED_ROWS] = {"remapped_rows", COUNTER, OF_TOTAL},
    [NODE_RETIRED_PAGES] = {"retired_pages", COUNTER, OF_TOTAL},
    [NODE_PCIE_REPLAYS] = {"pcie_replays", COUNTER, OF_TOTAL},
    [NODE_PCIE_GENERATION] = {"pcie_generation", GAUGE, OF_LANES},
    [NODE_PCIE_WIDTH] = {"pcie_width", GAUGE, OF_LANES},
    [NODE_NVLINK_CRC_ERRORS] = {"nvlink_crc_errors", COUNTER, OF_TOTAL},
    [NODE_NVLINK_REPLAY_ERRORS] = {"nvlink_replay_errors", COUNTER, OF_TOTAL},
    [NODE_NVLINK_RECOVERY_ERRORS] = {"nvlink_recovery_errors", COUNTER, OF_TOTAL},
    [NODE_GPU_MEMORY_USED] = {"gpu_memory_used_bytes", GAUGE, OF_BYTES},
    [NODE_OTHER_GPU_SHARE] = {"other_gpu_share", GAUGE, OF_SHARE},
    [NODE_OTHER_GPU_MEMORY] = {"other_gpu_memory_bytes", GAUGE, OF_BYTES},
    [NODE_RECEIVED_BYTES] = {"received_bytes", COUNTER, OF_TOTAL},
    [NODE_SENT_BYTES] = {"sent_bytes", COUNTER, OF_TOTAL},
    [NODE_RECEIVE_ERRORS] = {"receive_errors", COUNTER, OF_TOTAL},
    [NODE_SEND_ERRORS] = {"send_errors", COUNTER, OF_TOTAL},
    [NODE_DROPS] = {"drops", COUNTER, OF_TOTAL},
    [NODE_TCP_RETRANSMITS] = {"tcp_retransmits", COUNTER, OF_TOTAL},
    [NODE_LINK_SPEED] = {"link_speed_mbps", GAUGE, OF_MBPS},
    [NODE_LINK_UP] = {"link_up", GAUGE, OF_FLAG},
    [NODE_SYMBOL_ERRORS] = {"symbol_errors", COUNTER, OF_TOTAL},
    [NODE_LINK_DOWNED] = {"link_downed", COUNTER, OF_TOTAL},
    [NODE_LINK_RECOVERIES] = {"link_recoveries", COUNTER, OF_TOTAL},
    [NODE_LOCAL_LINK_INTEGRITY_ERRORS] = {"local_link_integrity_errors", COUNTER, OF_TOTAL},
    [NODE_RECEIVE_PORT_ERRORS] = {"receive_port_errors", COUNTER, OF_TOTAL},
    [NODE_TRANSMIT_WAIT] = {"transmit_wait", COUNTER, OF_TOTAL},
    [NODE_OUT_OF_SEQUENCE] = {"out_of_sequence", COUNTER, OF_TOTAL},
    [NODE_PACKET_SEQUENCE_ERRORS] = {"packet_sequence_errors", COUNTER, OF_TOTAL},
    [NODE_ACK_TIMEOUTS] = {"ack_timeouts", COUNTER, OF_TOTAL},
    [NODE_RNR_NAK_RETRIES] = {"rnr_nak_retries", COUNTER, OF_TOTAL},
    [NODE_CNP_SENT] = {"cnp_sent", COUNTER, OF_TOTAL},
    [NODE_CNP_HANDLED] = {"cnp_handled", COUNTER, OF_TOTAL},
    [NODE_ECN_MARKED] = {"ecn_marked", COUNTER, OF_TOTAL},
    [NODE_DISK_BUSY] = {"disk_busy_share", GAUGE, OF_SHARE},
    [NODE_DISK_FREE] = {"disk_free_bytes", GAUGE, OF_BYTES},
    [NODE_STOPPED] = {"stopped_share", GAUGE, OF_SHARE},
    [NODE_BLOCKED] = {"blocked_share", GAUGE, OF_SHARE},
    [NODE_FROZEN] = {"frozen_share", GAUGE, OF_SHARE},
};

static const char *const places[NODE_PLACES] = {
    [NODE_WHOLE] = "node", [NODE_GPU] = "gpu",         [NODE_INTERFACE] = "interface", [NODE_PORT] = "port",
    [NODE_DISK] = "disk",  [NODE_PROCESS] = "process", [NODE_THREAD] = "thread"};

static const char *const events[NODE_EVENT_COUNT] = {
    [NODE_EVENT_OTHER] = "other",
    [NODE_EVENT_XID] = "xid",
    [NODE_EVENT_SXID] = "sxid",
    [NODE_EVENT_GPU_FELL_OFF_BUS] = "gpu_fell_off_bus",
    [NODE_EVENT_GPU_NO_ANSWER] = "gpu_no_answer",
    [NODE_EVENT_NVLINK_ERROR] = "nvlink_error",
    [NODE_EVENT_AER_CORRECTED] = "aer_corrected",
    [NODE_EVENT_AER_UNCORRECTED] = "aer_uncorrected",
    [NODE_EVENT_LINK_DOWN] = "link_down",
    [NODE_EVENT_LINK_UP] = "link_up",
    [NODE_EVENT_NETWORK_TIMEOUT] = "network_timeout",
    [NODE_EVENT_OOM_KILL] = "oom_kill",
    [NODE_EVENT_HUNG_TASK] = "hung_task",
    [NODE_EVENT_SOFT_LOCKUP] = "soft_lockup",
    [NODE_EVENT_MACHINE_CHECK] = "machine_check",
    [NODE_EVENT_MEMORY_ERROR] = "memory_error",
    [NODE_EVENT_DISK_ERROR] = "disk_error",
    [NODE_EVENT_FILE_SERVER] = "file_server",
    [NODE_EVENT_THERMAL] = "thermal",
    [NODE_EVENT_STACK] = "stack",
    [NODE_EVENT_DISK_FULL] = "disk_full",
    [NODE_EVENT_JOB_PROCESS] = "job_process",
    [NODE_EVENT_OTHER_PROCESS] = "other_process",
};

const char *node_place_name(enum node_place place)
{
    return (unsigned)place < NODE_PLACES ? places[place] : NULL;
}

const char *node_metric_name(enum node_metric metric)
{
    return (unsigned)metric < NODE_METRIC_COUNT ? metrics[metric].name : NULL;
}

const char *node_event_name(enum node_event_code code)
{
    return (unsigned)code < NODE_EVENT_COUNT ? events[code] : NULL;
}

enum node_metric node_metric_of(const char *name)
{
    for (int metric = NODE_METRIC_OTHER + 1; metric < NODE_METRIC_COUNT; metric++)
        if (strcmp(metrics[metric].name, name) == 0)
            return (enum node_metric)metric;
    return NODE_METRIC_OTHER;
}

int node_metric_is_counter(enum node_metric metric)
{
    return (unsigned)metric < NODE_METRIC_COUNT && metrics[metric].kind == COUNTER;
}

int node_metric_can_be(enum node_metric metric, double value)
{
    return (unsigned)metric < NODE_METRIC_COUNT && value >= metrics[metric].least &&
           value <= metrics[metric].most;
}
