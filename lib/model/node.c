/*
 * Words for what a node says of itself.
 *
 * A new metric takes its enumerator in lib/model/node.h, at the end, and a row below; a name ends in its
 * unit unless it counts something. A new kind of message takes the same in `events`. Stores keep the numbers.
 */

#include "base/base.h"
#include "model/event.h"
#include "model/model.h"

#include <string.h>

enum metric_kind { GAUGE, COUNTER };

static const struct {
    const char *name;
    enum metric_kind kind;
} metrics[NODE_METRIC_COUNT] = {
    [NODE_METRIC_OTHER] = {"other", GAUGE},
    [NODE_CPU_BUSY] = {"cpu_busy_share", GAUGE},
    [NODE_CPU_PRESSURE] = {"cpu_pressure_share", GAUGE},
    [NODE_IO_PRESSURE] = {"io_pressure_share", GAUGE},
    [NODE_MEMORY_PRESSURE] = {"memory_pressure_share", GAUGE},
    [NODE_RUNNABLE_TASKS] = {"runnable_tasks", GAUGE},
    [NODE_CORES] = {"cores", GAUGE},
    [NODE_MEMORY_AVAILABLE] = {"memory_available_bytes", GAUGE},
    [NODE_CPU_SHARE] = {"cpu_share", GAUGE},
    [NODE_RUN_WAIT] = {"run_wait_share", GAUGE},
    [NODE_INVOLUNTARY_SWITCHES] = {"involuntary_switches", COUNTER},
    [NODE_MAJOR_FAULTS] = {"major_faults", COUNTER},
    [NODE_CPU_STOLEN] = {"cpu_stolen_share", GAUGE},
    [NODE_CPU_QUOTA_WAIT] = {"cpu_quota_wait_share", GAUGE},
    [NODE_GPU_UTILIZATION] = {"gpu_utilization_share", GAUGE},
    [NODE_SM_CLOCK] = {"sm_clock_mhz", GAUGE},
    [NODE_MEMORY_CLOCK] = {"memory_clock_mhz", GAUGE},
    [NODE_TEMPERATURE] = {"temperature_c", GAUGE},
    [NODE_MEMORY_TEMPERATURE] = {"memory_temperature_c", GAUGE},
    [NODE_POWER] = {"power_w", GAUGE},
    [NODE_POWER_LIMIT] = {"power_limit_w", GAUGE},
    [NODE_FAN] = {"fan_share", GAUGE},
    [NODE_THROTTLE_HW_THERMAL] = {"throttle_hw_thermal_share", GAUGE},
    [NODE_THROTTLE_HW_POWER_BRAKE] = {"throttle_hw_power_brake_share", GAUGE},
    [NODE_THROTTLE_HW_SLOWDOWN] = {"throttle_hw_slowdown_share", GAUGE},
    [NODE_THROTTLE_SW_THERMAL] = {"throttle_sw_thermal_share", GAUGE},
    [NODE_THROTTLE_SW_POWER_CAP] = {"throttle_sw_power_cap_share", GAUGE},
    [NODE_ECC_CORRECTED] = {"ecc_corrected", COUNTER},
    [NODE_ECC_UNCORRECTED] = {"ecc_uncorrected", COUNTER},
    [NODE_REMAPPED_ROWS] = {"remapped_rows", COUNTER},
    [NODE_RETIRED_PAGES] = {"retired_pages", COUNTER},
    [NODE_PCIE_REPLAYS] = {"pcie_replays", COUNTER},
    [NODE_PCIE_GENERATION] = {"pcie_generation", GAUGE},
    [NODE_PCIE_WIDTH] = {"pcie_width", GAUGE},
    [NODE_NVLINK_CRC_ERRORS] = {"nvlink_crc_errors", COUNTER},
    [NODE_NVLINK_REPLAY_ERRORS] = {"nvlink_replay_errors", COUNTER},
    [NODE_NVLINK_RECOVERY_ERRORS] = {"nvlink_recovery_errors", COUNTER},
    [NODE_GPU_MEMORY_USED] = {"gpu_memory_used_bytes", GAUGE},
    [NODE_OTHER_GPU_SHARE] = {"other_gpu_share", GAUGE},
    [NODE_OTHER_GPU_MEMORY] = {"other_gpu_memory_bytes", GAUGE},
    [NODE_RECEIVED_BYTES] = {"received_bytes", COUNTER},
    [NODE_SENT_BYTES] = {"sent_bytes", COUNTER},
    [NODE_RECEIVE_ERRORS] = {"receive_errors", COUNTER},
    [NODE_SEND_ERRORS] = {"send_errors", COUNTER},
    [NODE_DROPS] = {"drops", COUNTER},
    [NODE_TCP_RETRANSMITS] = {"tcp_retransmits", COUNTER},
    [NODE_LINK_SPEED] = {"link_speed_mbps", GAUGE},
    [NODE_LINK_UP] = {"link_up", GAUGE},
    [NODE_SYMBOL_ERRORS] = {"symbol_errors", COUNTER},
    [NODE_LINK_DOWNED] = {"link_downed", COUNTER},
    [NODE_LINK_RECOVERIES] = {"link_recoveries", COUNTER},
    [NODE_LOCAL_LINK_INTEGRITY_ERRORS] = {"local_link_integrity_errors", COUNTER},
    [NODE_RECEIVE_PORT_ERRORS] = {"receive_port_errors", COUNTER},
    [NODE_TRANSMIT_WAIT] = {"transmit_wait", COUNTER},
    [NODE_OUT_OF_SEQUENCE] = {"out_of_sequence", COUNTER},
    [NODE_PACKET_SEQUENCE_ERRORS] = {"packet_sequence_errors", COUNTER},
    [NODE_ACK_TIMEOUTS] = {"ack_timeouts", COUNTER},
    [NODE_RNR_NAK_RETRIES] = {"rnr_nak_retries", COUNTER},
    [NODE_CNP_SENT] = {"cnp_sent", COUNTER},
    [NODE_CNP_HANDLED] = {"cnp_handled", COUNTER},
    [NODE_ECN_MARKED] = {"ecn_marked", COUNTER},
    [NODE_DISK_BUSY] = {"disk_busy_share", GAUGE},
    [NODE_DISK_FREE] = {"disk_free_bytes", GAUGE},
    [NODE_STOPPED] = {"stopped_share", GAUGE},
    [NODE_BLOCKED] = {"blocked_share", GAUGE},
    [NODE_FROZEN] = {"frozen_share", GAUGE},
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
