/*
 * Lines of the record. A new metric takes an enumerator in node/internal.h, a row in `metrics` with the name
 * that lib/model/node.c has, and a line in ncclprof-formats(5), NODE RECORD.
 */
#include "node/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a value is written. */
enum form {
    SHARE,  /* with two decimals */
    WHOLE,  /* without decimals */
    ROUGH,  /* with three significant digits */
    EVENTS, /* an increase: written whenever it is not 0, exactly */
    AMOUNT  /* the same with three significant digits */
};

/*
 * A gauge is written again if it differs by more than `step` and by more than `part` of what the record has.
 * The steps keep the record of a busy node of 8 GPUs below about 1 MB an hour; each is well below what
 * matters in a diagnosis.
 */
static const struct {
    const char *name;
    enum form form;
    double step;
    double part;
} metrics[SERIES_METRICS] = {
    [SERIES_CPU_BUSY] = {"cpu_busy_share", SHARE, 0.05, 0.1},
    [SERIES_CPU_STOLEN] = {"cpu_stolen_share", SHARE, 0.02, 0.2},
    [SERIES_CPU_PRESSURE] = {"cpu_pressure_share", SHARE, 0.05, 0.2},
    [SERIES_IO_PRESSURE] = {"io_pressure_share", SHARE, 0.05, 0.2},
    [SERIES_MEMORY_PRESSURE] = {"memory_pressure_share", SHARE, 0.02, 0.2},
    [SERIES_RUNNABLE] = {"runnable_tasks", WHOLE, 2, 0.25},
    [SERIES_MEMORY_AVAILABLE] = {"memory_available_bytes", ROUGH, 1 << 28, 0.1},
    [SERIES_QUOTA_WAIT] = {"cpu_quota_wait_share", SHARE, 0.02, 0.2},
    [SERIES_TCP_RETRANSMITS] = {"tcp_retransmits", EVENTS, 0, 0},
    [SERIES_CPU_SHARE] = {"cpu_share", SHARE, 0.1, 0.2},
    [SERIES_RUN_WAIT] = {"run_wait_share", SHARE, 0.05, 0.35},
    [SERIES_SWITCHES] = {"involuntary_switches", AMOUNT, 0, 0},
    [SERIES_MAJOR_FAULTS] = {"major_faults", EVENTS, 0, 0},
    [SERIES_STOPPED] = {"stopped_share", SHARE, 0.02, 0.2},
    [SERIES_BLOCKED] = {"blocked_share", SHARE, 0.02, 0.2},
    [SERIES_FROZEN] = {"frozen_share", SHARE, 0.02, 0.2},
    [SERIES_GPU_UTILIZATION] = {"gpu_utilization_share", SHARE, 0.1, 0},
    [SERIES_SM_CLOCK] = {"sm_clock_mhz", WHOLE, 30, 0.04},
    [SERIES_MEMORY_CLOCK] = {"memory_clock_mhz", WHOLE, 30, 0.02},
    [SERIES_TEMPERATURE] = {"temperature_c", WHOLE, 2, 0},
    [SERIES_POWER] = {"power_w", WHOLE, 20, 0.15},
    [SERIES_HW_THERMAL] = {"throttle_hw_thermal_share", SHARE, 0.02, 0.2},
    [SERIES_HW_POWER_BRAKE] = {"throttle_hw_power_brake_share", SHARE, 0.02, 0.2},
    [SERIES_HW_SLOWDOWN] = {"throttle_hw_slowdown_share", SHARE, 0.02, 0.2},
    [SERIES_SW_THERMAL] = {"throttle_sw_thermal_share", SHARE, 0.02, 0.2},
    [SERIES_SW_POWER_CAP] = {"throttle_sw_power_cap_share", SHARE, 0.1, 0.25},
    [SERIES_ECC_CORRECTED] = {"ecc_corrected", EVENTS, 0, 0},
    [SERIES_ECC_UNCORRECTED] = {"ecc_uncorrected", EVENTS, 0, 0},
    [SERIES_REMAPPED_ROWS] = {"remapped_rows", EVENTS, 0, 0},
    [SERIES_PCIE_REPLAYS] = {"pcie_replays", EVENTS, 0, 0},
    [SERIES_PCIE_GENERATION] = {"pcie_generation", WHOLE, 0, 0},
    [SERIES_PCIE_WIDTH] = {"pcie_width", WHOLE, 0, 0},
    [SERIES_NVLINK_CRC] = {"nvlink_crc_errors", EVENTS, 0, 0},
    [SERIES_NVLINK_REPLAY] = {"nvlink_replay_errors", EVENTS, 0, 0},
    [SERIES_NVLINK_RECOVERY] = {"nvlink_recovery_errors", EVENTS, 0, 0},
    [SERIES_GPU_MEMORY] = {"gpu_memory_used_bytes", ROUGH, 1 << 28, 0.05},
    [SERIES_OTHER_SHARE] = {"other_gpu_share", SHARE, 0.05, 0.2},
    [SERIES_OTHER_MEMORY] = {"other_gpu_memory_bytes", ROUGH, 1 << 26, 0.05},
    [SERIES_RECEIVED] = {"received_bytes", AMOUNT, 0, 0},
    [SERIES_SENT] = {"sent_bytes", AMOUNT, 0, 0},
    [SERIES_RECEIVE_ERRORS] = {"receive_errors", EVENTS, 0, 0},
    [SERIES_SEND_ERRORS] = {"send_errors", EVENTS, 0, 0},
    [SERIES_DROPS] = {"drops", EVENTS, 0, 0},
    [SERIES_LINK_SPEED] = {"link_speed_mbps", WHOLE, 0, 0},
    [SERIES_LINK_UP] = {"link_up", WHOLE, 0, 0},
    [SERIES_SYMBOL_ERRORS] = {"symbol_errors", EVENTS, 0, 0},
    [SERIES_LINK_DOWNED] = {"link_downed", EVENTS, 0, 0},
    [SERIES_LINK_RECOVERIES] = {"link_recoveries", EVENTS, 0, 0},
    [SERIES_INTEGRITY_ERRORS] = {"local_link_integrity_errors", EVENTS, 0, 0},
    [SERIES_PORT_ERRORS] = {"receive_port_errors", EVENTS, 0, 0},
    [SERIES_TRANSMIT_WAIT] = {"transmit_wait", AMOUNT, 0, 0},
    [SERIES_OUT_OF_SEQUENCE] = {"out_of_sequence", EVENTS, 0, 0},
    [SERIES_PACKET_SEQUENCE] = {"packet_sequence_errors", EVENTS, 0, 0},
    [SERIES_ACK_TIMEOUTS] = {"ack_timeouts", EVENTS, 0, 0},
    [SERIES_RNR_RETRIES] = {"rnr_nak_retries", EVENTS, 0, 0},
    [SERIES_CNP_SENT] = {"cnp_sent", AMOUNT, 0, 0},
    [SERIES_CNP_HANDLED] = {"cnp_handled", AMOUNT, 0, 0},
    [SERIES_ECN_MARKED] = {"ecn_marked", AMOUNT, 0, 0},
    [SERIES_DISK_BUSY] = {"disk_busy_share", SHARE, 0.1, 0.2},
    [SERIES_DISK_FREE] = {"disk_free_bytes", ROUGH, 1 << 28, 0.1},
};

static const char *const kinds[KINDS] = {
    [KIND_NODE] = "node", [KIND_GPU] = "gpu",         [KIND_INTERFACE] = "interface", [KIND_PORT] = "port",
    [KIND_DISK] = "disk", [KIND_PROCESS] = "process", [KIND_THREAD] = "thread"};

/* Jobs that start threads all the time do not fill memory and record. */
enum { SERIES_MOST = 50000 };

const char *node_series_metric(enum node_metric_id metric)
{
    return metrics[metric].name;
}

void node_writer_init(struct node_writer *writer, const char *prefix, node_output output, void *context)
{
    *writer =
        (struct node_writer){.prefix = prefix, .most = SERIES_MOST, .output = output, .context = context};
    writer->zero_ns = node_monotonic_ns();
    writer->realtime_ns = node_realtime_ns();
}

void node_writer_release(struct node_writer *writer)
{
    free(writer->series);
    buffer_release(&writer->fresh);
    buffer_release(&writer->values);
    buffer_release(&writer->gone);
    buffer_release(&writer->more);
    buffer_release(&writer->line);
}

void node_line_begin(struct node_writer *writer, int64_t since_ns, int64_t now_ns)
{
    writer->since_ns = since_ns;
    writer->now_ns = now_ns;
    buffer_clear(&writer->fresh);
    buffer_clear(&writer->values);
    buffer_clear(&writer->gone);
    buffer_clear(&writer->more);
}

static void check(struct node_writer *writer, int outcome)
{
    writer->has_failed |= outcome != 0;
}

/* Without a device for KIND_NODE. */
static int32_t open_series(struct node_writer *writer, enum node_kind kind, const char *device,
                           enum node_metric_id metric)
{
    if (writer->count >= writer->most || writer->has_failed)
        return 0;
    if (array_reserve((void **)&writer->series, &writer->capacity, writer->count + 1,
                      sizeof *writer->series)) {
        writer->has_failed = 1;
        return 0;
    }
    writer->series[writer->count++].last = NAN;
    int32_t id = (int32_t)writer->count;
    check(writer, buffer_printf(&writer->fresh, "%s\"%s%d\":[\"%s\",", writer->fresh.length ? "," : "",
                                writer->prefix, (int)id, kinds[kind]));
    if (device)
        check(writer, text_json_quote(&writer->fresh, device) || buffer_append_byte(&writer->fresh, ','));
    check(writer, buffer_printf(&writer->fresh, "\"%s\"]", metrics[metric].name));
    return id;
}

static void write_value(struct node_writer *writer, int32_t id, enum form form, double value)
{
    char text[64];
    switch (form) {
    case SHARE:
        real_text(round(value * 100) / 100, text);
        break;
    case WHOLE:
    case EVENTS:
        real_text(round(value), text);
        break;
    case ROUGH:
    case AMOUNT:
        snprintf(text, sizeof text, "%.3g", value);
        break;
    }
    check(writer, buffer_printf(&writer->values, "%s\"%s%d\":%s", writer->values.length ? "," : "",
                                writer->prefix, (int)id, text));
}

void node_put(struct node_writer *writer, int32_t *id, enum node_kind kind, const char *device,
              enum node_metric_id metric, double value)
{
    enum form form = metrics[metric].form;
    int is_counter = form == EVENTS || form == AMOUNT;
    if (!isfinite(value) || writer->is_silent)
        return;
    if (*id == 0)
        *id = open_series(writer, kind, device, metric);
    if (*id == 0)
        return;
    double *last = &writer->series[*id - 1].last, distance = fabs(value - *last);
    int is_news = isnan(*last) || (is_counter && value != 0) ||
                  (distance > metrics[metric].step && distance > metrics[metric].part * fabs(*last));
    if (!is_news)
        return;
    write_value(writer, *id, form, value);
    *last = is_counter ? 0 : value;
}

void node_end(struct node_writer *writer, int32_t *id)
{
    if (*id)
        check(writer, buffer_printf(&writer->gone, "%s\"%s%d\"", writer->gone.length ? "," : "",
                                    writer->prefix, (int)*id));
    *id = 0;
}

void node_line_add(struct node_writer *writer, const char *name, const char *json)
{
    check(writer, buffer_printf(&writer->more, ",\"%s\":%s", name, json));
}

void node_line_alone(struct node_writer *writer, int64_t at_ns, const char *name, const char *json)
{
    struct buffer line = BUFFER_INIT;
    if (buffer_printf(&line, "{\"ms\":%lld,\"%s\":%s}\n", (long long)((at_ns - writer->zero_ns) / 1000000),
                      name, json) ||
        writer->output(writer->context, line.data, line.length))
        writer->has_failed = 1;
    buffer_release(&line);
}

void node_line_finish(struct node_writer *writer, int is_needed)
{
    struct buffer *line = &writer->line;
    if (!is_needed && !writer->fresh.length && !writer->values.length && !writer->gone.length &&
        !writer->more.length)
        return;
    buffer_clear(line);
    check(writer,
          buffer_printf(line, "{\"ms\":%lld", (long long)((writer->now_ns - writer->zero_ns) / 1000000)));
    if (writer->values.length)
        check(writer, buffer_printf(line, ",\"of\":%lld",
                                    (long long)((writer->now_ns - writer->since_ns) / 1000000)));
    if (writer->fresh.length)
        check(writer, buffer_printf(line, ",\"new\":{%s}", writer->fresh.data));
    if (writer->values.length)
        check(writer, buffer_printf(line, ",\"v\":{%s}", writer->values.data));
    if (writer->gone.length)
        check(writer, buffer_printf(line, ",\"gone\":[%s]", writer->gone.data));
    if (writer->more.length)
        check(writer, buffer_append_text(line, writer->more.data));
    check(writer, buffer_append_text(line, "}\n"));
    if (!writer->has_failed)
        check(writer, writer->output(writer->context, line->data, line->length));
}

void node_count(struct node_writer *writer, struct node_counter *counter, enum node_kind kind,
                const char *device, enum node_metric_id metric, uint64_t value)
{
    if (counter->is_known && value >= counter->last)
        node_put(writer, &counter->id, kind, device, metric, (double)(value - counter->last));
    counter->last = value;
    counter->is_known = 1;
}
