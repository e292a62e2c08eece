/*
 * The names that programs give to what they measure, and the metric of each. A name without a row is of no
 * use for causes of slow or stuck jobs; readers count it. Factors turn a figure into the unit in the name of
 * the metric (lib/model/node.c).
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

#define PERCENT 0.01
#define MEBIBYTE 1048576.0
#define SECONDS 1e9
#define BYTES_TO_MBPS 8e-6

/* Columns of nvidia-smi --query-gpu, without their unit. Old and new spellings. */
static const struct metric_name smi[] = {
    {"clocks.sm", NODE_GPU, NODE_SM_CLOCK, METRIC_VALUE, 1},
    {"clocks.current.sm", NODE_GPU, NODE_SM_CLOCK, METRIC_VALUE, 1},
    {"clocks.mem", NODE_GPU, NODE_MEMORY_CLOCK, METRIC_VALUE, 1},
    {"clocks.current.memory", NODE_GPU, NODE_MEMORY_CLOCK, METRIC_VALUE, 1},
    {"temperature.gpu", NODE_GPU, NODE_TEMPERATURE, METRIC_VALUE, 1},
    {"temperature.memory", NODE_GPU, NODE_MEMORY_TEMPERATURE, METRIC_VALUE, 1},
    {"utilization.gpu", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, PERCENT},
    {"power.draw", NODE_GPU, NODE_POWER, METRIC_VALUE, 1},
    {"power.draw.instant", NODE_GPU, NODE_POWER, METRIC_VALUE, 1},
    {"power.limit", NODE_GPU, NODE_POWER_LIMIT, METRIC_VALUE, 1},
    {"enforced.power.limit", NODE_GPU, NODE_POWER_LIMIT, METRIC_VALUE, 1},
    {"fan.speed", NODE_GPU, NODE_FAN, METRIC_VALUE, PERCENT},
    {"memory.used", NODE_GPU, NODE_GPU_MEMORY_USED, METRIC_VALUE, MEBIBYTE},
    {"clocks_throttle_reasons.active", NODE_GPU, NODE_METRIC_OTHER, METRIC_REASONS, 1},
    {"clocks_event_reasons.active", NODE_GPU, NODE_METRIC_OTHER, METRIC_REASONS, 1},
    {"clocks_throttle_reasons.hw_slowdown", NODE_GPU, NODE_THROTTLE_HW_SLOWDOWN, METRIC_VALUE, 1},
    {"clocks_event_reasons.hw_slowdown", NODE_GPU, NODE_THROTTLE_HW_SLOWDOWN, METRIC_VALUE, 1},
    {"clocks_throttle_reasons.hw_thermal_slowdown", NODE_GPU, NODE_THROTTLE_HW_THERMAL, METRIC_VALUE, 1},
    {"clocks_event_reasons.hw_thermal_slowdown", NODE_GPU, NODE_THROTTLE_HW_THERMAL, METRIC_VALUE, 1},
    {"clocks_throttle_reasons.hw_power_brake_slowdown", NODE_GPU, NODE_THROTTLE_HW_POWER_BRAKE, METRIC_VALUE,
     1},
    {"clocks_event_reasons.hw_power_brake_slowdown", NODE_GPU, NODE_THROTTLE_HW_POWER_BRAKE, METRIC_VALUE, 1},
    {"clocks_throttle_reasons.sw_thermal_slowdown", NODE_GPU, NODE_THROTTLE_SW_THERMAL, METRIC_VALUE, 1},
    {"clocks_event_reasons.sw_thermal_slowdown", NODE_GPU, NODE_THROTTLE_SW_THERMAL, METRIC_VALUE, 1},
    {"clocks_throttle_reasons.sw_power_cap", NODE_GPU, NODE_THROTTLE_SW_POWER_CAP, METRIC_VALUE, 1},
    {"clocks_event_reasons.sw_power_cap", NODE_GPU, NODE_THROTTLE_SW_POWER_CAP, METRIC_VALUE, 1},
    {"ecc.errors.corrected.volatile.total", NODE_GPU, NODE_ECC_CORRECTED, METRIC_TOTAL, 1},
    {"ecc.errors.uncorrected.volatile.total", NODE_GPU, NODE_ECC_UNCORRECTED, METRIC_TOTAL, 1},
    {"retired_pages.double_bit.count", NODE_GPU, NODE_RETIRED_PAGES, METRIC_TOTAL, 1},
    {"retired_pages.dbe", NODE_GPU, NODE_RETIRED_PAGES, METRIC_TOTAL, 1},
    {"remapped_rows.uncorrectable", NODE_GPU, NODE_REMAPPED_ROWS, METRIC_TOTAL, 1},
    {"pcie.link.gen.current", NODE_GPU, NODE_PCIE_GENERATION, METRIC_VALUE, 1},
    {"pcie.link.gen.gpucurrent", NODE_GPU, NODE_PCIE_GENERATION, METRIC_VALUE, 1},
    {"pcie.link.width.current", NODE_GPU, NODE_PCIE_WIDTH, METRIC_VALUE, 1},
    {NULL, 0, 0, 0, 0},
};

/* Columns of nvidia-smi dmon, drivers 450 to 580. */
static const struct metric_name dmon[] = {
    {"pwr", NODE_GPU, NODE_POWER, METRIC_VALUE, 1},
    {"temp", NODE_GPU, NODE_TEMPERATURE, METRIC_VALUE, 1},
    {"gtemp", NODE_GPU, NODE_TEMPERATURE, METRIC_VALUE, 1},
    {"mtemp", NODE_GPU, NODE_MEMORY_TEMPERATURE, METRIC_VALUE, 1},
    {"sm", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, PERCENT},
    {"mclk", NODE_GPU, NODE_MEMORY_CLOCK, METRIC_VALUE, 1},
    {"pclk", NODE_GPU, NODE_SM_CLOCK, METRIC_VALUE, 1},
    {"pviol", NODE_GPU, NODE_THROTTLE_SW_POWER_CAP, METRIC_VALUE, PERCENT},
    {"tviol", NODE_GPU, NODE_THROTTLE_HW_THERMAL, METRIC_VALUE, 1},
    {"fb", NODE_GPU, NODE_GPU_MEMORY_USED, METRIC_VALUE, MEBIBYTE},
    {"sbecc", NODE_GPU, NODE_ECC_CORRECTED, METRIC_TOTAL, 1},
    {"dbecc", NODE_GPU, NODE_ECC_UNCORRECTED, METRIC_TOTAL, 1},
    {"pci", NODE_GPU, NODE_PCIE_REPLAYS, METRIC_TOTAL, 1},
    {NULL, 0, 0, 0, 0},
};

/* Short names of DCGM's fields, as dcgmi dmon prints them. */
static const struct metric_name dcgmi[] = {
    {"SMCLK", NODE_GPU, NODE_SM_CLOCK, METRIC_VALUE, 1},
    {"MMCLK", NODE_GPU, NODE_MEMORY_CLOCK, METRIC_VALUE, 1},
    {"TMPTR", NODE_GPU, NODE_TEMPERATURE, METRIC_VALUE, 1},
    {"MMTMP", NODE_GPU, NODE_MEMORY_TEMPERATURE, METRIC_VALUE, 1},
    {"POWER", NODE_GPU, NODE_POWER, METRIC_VALUE, 1},
    {"GPUTL", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, PERCENT},
    {"GRACT", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, 1},
    {"DVCCTR", NODE_GPU, NODE_METRIC_OTHER, METRIC_REASONS, 1},
    {"ESVTL", NODE_GPU, NODE_ECC_CORRECTED, METRIC_TOTAL, 1},
    {"EDVTL", NODE_GPU, NODE_ECC_UNCORRECTED, METRIC_TOTAL, 1},
    {"RPCTR", NODE_GPU, NODE_PCIE_REPLAYS, METRIC_TOTAL, 1},
    {"FBUSD", NODE_GPU, NODE_GPU_MEMORY_USED, METRIC_VALUE, MEBIBYTE},
    {"PMLMT", NODE_GPU, NODE_POWER_LIMIT, METRIC_VALUE, 1},
    {"XIDER", NODE_GPU, NODE_METRIC_OTHER, METRIC_XID, 1},
    {"PCILG", NODE_GPU, NODE_PCIE_GENERATION, METRIC_VALUE, 1},
    {"PCILW", NODE_GPU, NODE_PCIE_WIDTH, METRIC_VALUE, 1},
    {"PVIOL", NODE_GPU, NODE_THROTTLE_SW_POWER_CAP, METRIC_DURATION, 1},
    {"TVIOL", NODE_GPU, NODE_THROTTLE_HW_THERMAL, METRIC_DURATION, 1},
    {"RPDBE", NODE_GPU, NODE_RETIRED_PAGES, METRIC_TOTAL, 1},
    {"URMPS", NODE_GPU, NODE_REMAPPED_ROWS, METRIC_TOTAL, 1},
    {"NFELT", NODE_GPU, NODE_NVLINK_CRC_ERRORS, METRIC_TOTAL, 1},
    {"NRELT", NODE_GPU, NODE_NVLINK_REPLAY_ERRORS, METRIC_TOTAL, 1},
    {"NRCLT", NODE_GPU, NODE_NVLINK_RECOVERY_ERRORS, METRIC_TOTAL, 1},
    {NULL, 0, 0, 0, 0},
};

/*
 * dcgm-exporter and node_exporter. DCGM's violations are nanoseconds in its documentation, while the help
 * line of dcgm-exporter says microseconds; taken as nanoseconds, a share is never too large.
 */
static const struct metric_name exporter[] = {
    {"DCGM_FI_DEV_SM_CLOCK", NODE_GPU, NODE_SM_CLOCK, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_MEM_CLOCK", NODE_GPU, NODE_MEMORY_CLOCK, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_GPU_TEMP", NODE_GPU, NODE_TEMPERATURE, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_MEMORY_TEMP", NODE_GPU, NODE_MEMORY_TEMPERATURE, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_POWER_USAGE", NODE_GPU, NODE_POWER, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_POWER_MGMT_LIMIT", NODE_GPU, NODE_POWER_LIMIT, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_GPU_UTIL", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, PERCENT},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", NODE_GPU, NODE_GPU_UTILIZATION, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_FB_USED", NODE_GPU, NODE_GPU_MEMORY_USED, METRIC_VALUE, MEBIBYTE},
    {"DCGM_FI_DEV_XID_ERRORS", NODE_GPU, NODE_METRIC_OTHER, METRIC_XID, 1},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", NODE_GPU, NODE_METRIC_OTHER, METRIC_REASONS, 1},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", NODE_GPU, NODE_METRIC_OTHER, METRIC_REASONS, 1},
    {"DCGM_FI_DEV_THERMAL_VIOLATION", NODE_GPU, NODE_THROTTLE_HW_THERMAL, METRIC_DURATION, 1},
    {"DCGM_FI_DEV_POWER_VIOLATION", NODE_GPU, NODE_THROTTLE_SW_POWER_CAP, METRIC_DURATION, 1},
    {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", NODE_GPU, NODE_ECC_CORRECTED, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", NODE_GPU, NODE_ECC_UNCORRECTED, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_RETIRED_DBE", NODE_GPU, NODE_RETIRED_PAGES, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", NODE_GPU, NODE_REMAPPED_ROWS, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", NODE_GPU, NODE_PCIE_REPLAYS, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_PCIE_LINK_GEN", NODE_GPU, NODE_PCIE_GENERATION, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_PCIE_LINK_WIDTH", NODE_GPU, NODE_PCIE_WIDTH, METRIC_VALUE, 1},
    {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", NODE_GPU, NODE_NVLINK_CRC_ERRORS, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", NODE_GPU, NODE_NVLINK_REPLAY_ERRORS, METRIC_TOTAL, 1},
    {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", NODE_GPU, NODE_NVLINK_RECOVERY_ERRORS, METRIC_TOTAL, 1},
    {"node_time_seconds", NODE_WHOLE, NODE_METRIC_OTHER, METRIC_CLOCK, SECONDS},
    {"node_cpu_seconds_total", NODE_WHOLE, NODE_CPU_BUSY, METRIC_IDLE, SECONDS},
    {"node_procs_running", NODE_WHOLE, NODE_RUNNABLE_TASKS, METRIC_VALUE, 1},
    {"node_memory_MemAvailable_bytes", NODE_WHOLE, NODE_MEMORY_AVAILABLE, METRIC_VALUE, 1},
    {"node_pressure_cpu_waiting_seconds_total", NODE_WHOLE, NODE_CPU_PRESSURE, METRIC_DURATION, SECONDS},
    {"node_pressure_io_waiting_seconds_total", NODE_WHOLE, NODE_IO_PRESSURE, METRIC_DURATION, SECONDS},
    {"node_pressure_memory_waiting_seconds_total", NODE_WHOLE, NODE_MEMORY_PRESSURE, METRIC_DURATION,
     SECONDS},
    {"node_vmstat_pgmajfault", NODE_WHOLE, NODE_MAJOR_FAULTS, METRIC_TOTAL, 1},
    {"node_netstat_Tcp_RetransSegs", NODE_WHOLE, NODE_TCP_RETRANSMITS, METRIC_TOTAL, 1},
    {"node_network_receive_bytes_total", NODE_INTERFACE, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"node_network_transmit_bytes_total", NODE_INTERFACE, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {"node_network_receive_errs_total", NODE_INTERFACE, NODE_RECEIVE_ERRORS, METRIC_TOTAL, 1},
    {"node_network_transmit_errs_total", NODE_INTERFACE, NODE_SEND_ERRORS, METRIC_TOTAL, 1},
    {"node_network_receive_drop_total", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"node_network_up", NODE_INTERFACE, NODE_LINK_UP, METRIC_VALUE, 1},
    {"node_network_carrier", NODE_INTERFACE, NODE_LINK_UP, METRIC_VALUE, 1},
    {"node_network_speed_bytes", NODE_INTERFACE, NODE_LINK_SPEED, METRIC_VALUE, BYTES_TO_MBPS},
    {"node_infiniband_port_data_received_bytes_total", NODE_PORT, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"node_infiniband_port_data_transmitted_bytes_total", NODE_PORT, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {"node_infiniband_symbol_error_total", NODE_PORT, NODE_SYMBOL_ERRORS, METRIC_TOTAL, 1},
    {"node_infiniband_link_downed_total", NODE_PORT, NODE_LINK_DOWNED, METRIC_TOTAL, 1},
    {"node_infiniband_link_error_recovery_total", NODE_PORT, NODE_LINK_RECOVERIES, METRIC_TOTAL, 1},
    {"node_infiniband_local_link_integrity_errors_total", NODE_PORT, NODE_LOCAL_LINK_INTEGRITY_ERRORS,
     METRIC_TOTAL, 1},
    {"node_infiniband_port_errors_received_total", NODE_PORT, NODE_RECEIVE_PORT_ERRORS, METRIC_TOTAL, 1},
    {"node_infiniband_port_transmit_wait_total", NODE_PORT, NODE_TRANSMIT_WAIT, METRIC_TOTAL, 1},
    {"node_infiniband_port_discards_transmitted_total", NODE_PORT, NODE_DROPS, METRIC_TOTAL, 1},
    {"node_infiniband_rate_bytes_per_second", NODE_PORT, NODE_LINK_SPEED, METRIC_VALUE, BYTES_TO_MBPS},
    {"node_disk_io_time_seconds_total", NODE_DISK, NODE_DISK_BUSY, METRIC_DURATION, SECONDS},
    {NULL, 0, 0, 0, 0},
};

/*
 * Statistics of drivers (mlx5, ice, bnxt_en, ena, virtio_net and generic names), of an interface as a whole;
 * with "#" for a number those of a queue. Those of one metric are added up.
 */
static const struct metric_name ethtool[] = {
    {"rx_bytes", NODE_INTERFACE, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"tx_bytes", NODE_INTERFACE, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {"rx_errors", NODE_INTERFACE, NODE_RECEIVE_ERRORS, METRIC_TOTAL, 1},
    {"tx_errors", NODE_INTERFACE, NODE_SEND_ERRORS, METRIC_TOTAL, 1},
    {"rx_crc_errors_phy", NODE_INTERFACE, NODE_RECEIVE_ERRORS, METRIC_TOTAL, 1},
    {"tx_errors_phy", NODE_INTERFACE, NODE_SEND_ERRORS, METRIC_TOTAL, 1},
    {"rx_dropped", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"tx_dropped", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"rx_discards_phy", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"tx_discards_phy", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"rx_symbol_err_phy", NODE_INTERFACE, NODE_SYMBOL_ERRORS, METRIC_TOTAL, 1},
    {"link_down_events_phy", NODE_INTERFACE, NODE_LINK_DOWNED, METRIC_TOTAL, 1},
    /* bnxt_en */
    {"rx_fcs_err_frames", NODE_INTERFACE, NODE_RECEIVE_ERRORS, METRIC_TOTAL, 1},
    {"tx_err", NODE_INTERFACE, NODE_SEND_ERRORS, METRIC_TOTAL, 1},
    {"rx_total_discard_pkts", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"tx_total_discard_pkts", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"link_down_events", NODE_INTERFACE, NODE_LINK_DOWNED, METRIC_TOTAL, 1},
    /* virtio_net and ena have no totals. */
    {"rx_queue_#_bytes", NODE_INTERFACE, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"tx_queue_#_bytes", NODE_INTERFACE, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {"rx_queue_#_drops", NODE_INTERFACE, NODE_DROPS, METRIC_TOTAL, 1},
    {"queue_#_rx_bytes", NODE_INTERFACE, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"queue_#_tx_bytes", NODE_INTERFACE, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {NULL, 0, 0, 0, 0},
};

/* Counters of RDMA devices: names of the kernel's hw_counters (mlx5) and counters. */
static const struct metric_name rdma[] = {
    {"out_of_sequence", NODE_PORT, NODE_OUT_OF_SEQUENCE, METRIC_TOTAL, 1},
    {"packet_seq_err", NODE_PORT, NODE_PACKET_SEQUENCE_ERRORS, METRIC_TOTAL, 1},
    {"local_ack_timeout_err", NODE_PORT, NODE_ACK_TIMEOUTS, METRIC_TOTAL, 1},
    {"rnr_nak_retry_err", NODE_PORT, NODE_RNR_NAK_RETRIES, METRIC_TOTAL, 1},
    {"np_cnp_sent", NODE_PORT, NODE_CNP_SENT, METRIC_TOTAL, 1},
    {"rp_cnp_handled", NODE_PORT, NODE_CNP_HANDLED, METRIC_TOTAL, 1},
    {"np_ecn_marked_roce_packets", NODE_PORT, NODE_ECN_MARKED, METRIC_TOTAL, 1},
    {"rx_bytes", NODE_PORT, NODE_RECEIVED_BYTES, METRIC_TOTAL, 1},
    {"tx_bytes", NODE_PORT, NODE_SENT_BYTES, METRIC_TOTAL, 1},
    {"rx_drops", NODE_PORT, NODE_DROPS, METRIC_TOTAL, 1},
    {"symbol_error", NODE_PORT, NODE_SYMBOL_ERRORS, METRIC_TOTAL, 1},
    {"link_downed", NODE_PORT, NODE_LINK_DOWNED, METRIC_TOTAL, 1},
    {"link_error_recovery", NODE_PORT, NODE_LINK_RECOVERIES, METRIC_TOTAL, 1},
    {"local_link_integrity_errors", NODE_PORT, NODE_LOCAL_LINK_INTEGRITY_ERRORS, METRIC_TOTAL, 1},
    {"port_rcv_errors", NODE_PORT, NODE_RECEIVE_PORT_ERRORS, METRIC_TOTAL, 1},
    {"port_xmit_wait", NODE_PORT, NODE_TRANSMIT_WAIT, METRIC_TOTAL, 1},
    {NULL, 0, 0, 0, 0},
};

static const struct metric_name *const tables[] = {
    [METRIC_OF_SMI] = smi,           [METRIC_OF_DMON] = dmon,       [METRIC_OF_DCGMI] = dcgmi,
    [METRIC_OF_EXPORTER] = exporter, [METRIC_OF_ETHTOOL] = ethtool, [METRIC_OF_RDMA] = rdma,
};

const struct metric_name *metric_of(enum metric_source source, struct text name)
{
    const struct metric_name *row = tables[source];
    while (row->name && !text_is(name, row->name))
        row++;
    return row->name ? row : NULL;
}
