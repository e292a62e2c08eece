/* Writes metrics in Prometheus' text format. */
#include "base/base.h"
#include "output/internal.h"
#include "output/output.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { METRIC_LABELS = 9 };

static const struct {
    const char *name;
    const char *help;
} families[METRIC_COUNT] = {
    [METRIC_RANKS] = {"ncclprof_ranks", "Ranks with a trace."},
    [METRIC_EXPECTED_RANKS] = {"ncclprof_expected_ranks", "Ranks of the job, or a lower bound."},
    [METRIC_STEPS] = {"ncclprof_steps", "Recorded training steps."},
    [METRIC_STEP_MEDIAN] = {"ncclprof_step_median_seconds", "Time of a training step, median."},
    [METRIC_STEP_USUAL] = {"ncclprof_step_usual_seconds", "Time of a training step, baseline."},
    [METRIC_COMMUNICATION] = {"ncclprof_communication_ratio",
                              "Share of step time with an operation on the GPU, mean over ranks."},
    [METRIC_WAITING] = {"ncclprof_waiting_ratio",
                        "Share of step time spent waiting for other ranks, mean over ranks."},
    [METRIC_TIME] = {"ncclprof_steps_seconds", "Total time of the analyzed steps."},
    [METRIC_LOST] = {"ncclprof_lost_seconds", "Time lost: step time above the baseline."},
    [METRIC_EXPLAINED] = {"ncclprof_explained_seconds", "Part of the time lost that findings explain."},
    [METRIC_UNEXPLAINED_STEPS] = {"ncclprof_unexplained_longer_steps",
                                  "1: steps became longer and no finding explains it."},
    [METRIC_STOPPED] = {"ncclprof_stopped", "1: a finding reports that the job stopped."},
    [METRIC_FINDINGS] = {"ncclprof_findings", "Findings of ncclprof diagnose."},
    [METRIC_FINDING_LOST] = {"ncclprof_finding_lost_seconds", "Cost of a finding to the job; 0 if unknown."},
    [METRIC_FINDING_FIRST_STEP] = {"ncclprof_finding_first_step", "First training step of a finding."},
    [METRIC_FINDING_LAST_STEP] = {"ncclprof_finding_last_step", "Last training step of a finding so far."},
    [METRIC_FINDING_CAUSE] = {"ncclprof_finding_cause", "1: the node of a rank at fault shows this cause."},
    [METRIC_TRANSFER_BUSBW] = {"ncclprof_transfer_busbw_bytes_per_second",
                               "Bus bandwidth during the transfer time, as defined by nccl-tests, median."},
    [METRIC_EFFECTIVE_BUSBW] = {"ncclprof_effective_busbw_bytes_per_second",
                                "Bus bandwidth including wait time, as defined by nccl-tests, median."},
    [METRIC_OPERATIONS] = {"ncclprof_operations",
                           "Operations; a collective, or a send with its receive, is counted once."},
    [METRIC_OPERATION_BYTES] = {"ncclprof_operation_bytes",
                                "Sum of the sizes of these operations, as defined by nccl-tests."},
    [METRIC_RECORDS] = {"ncclprof_records",
                        "Operations of single ranks after the warm-up, including lost ones."},
    [METRIC_JUDGED] = {"ncclprof_judged_records",
                       "Part of these operations that was compared with a baseline."},
    [METRIC_MISSING] = {"ncclprof_missing_records", "Part of these operations that has no record."},
    [METRIC_DAMAGED_LINES] = {"ncclprof_damaged_lines", "Lines of trace files that could not be read."},
    [METRIC_LOST_EVENTS] = {"ncclprof_lost_events", "Events that recorders report as dropped."},
};

void metrics_init(struct metrics *metrics)
{
    *metrics = (struct metrics){.count = 0};
    intern_init(&metrics->seen);
}

void metrics_release(struct metrics *metrics)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        buffer_release(&metrics->samples[i]);
    intern_release(&metrics->seen);
}

/* Escapes backslash, quote and newline. The format is UTF-8. */
static int append_value(struct buffer *line, const char *value)
{
    int failed = 0;
    while (*value && !failed) {
        size_t length = strcspn(value, "\\\"\n");
        failed = escape_utf8(line, value, length);
        value += length;
        if (*value && !failed) {
            failed = buffer_append_byte(line, '\\') ||
                     buffer_append_byte(line, (char)(*value == '\n' ? 'n' : *value));
            value++;
        }
    }
    return failed;
}

static int append_series(struct buffer *line, enum metric metric, const struct metric_label *labels)
{
    int count = 0, failed = buffer_append_text(line, families[metric].name);
    for (; labels->name && !failed; labels++)
        if (labels->value && *labels->value)
            failed = buffer_append_byte(line, count++ ? ',' : '{') ||
                     buffer_append_text(line, labels->name) || buffer_append_text(line, "=\"") ||
                     append_value(line, labels->value) || buffer_append_byte(line, '"');
    return failed || (count && buffer_append_byte(line, '}'));
}

/* Returns -1 when out of memory. */
static int is_new(struct metrics *metrics, const struct buffer *series)
{
    size_t known = metrics->seen.count;
    if (intern_put(&metrics->seen, series->data, series->length) < 0)
        return -1;
    return metrics->seen.count > known;
}

int metrics_add(struct metrics *metrics, enum metric metric, const struct metric_label *labels, double value)
{
    char number[REAL_TEXT_BYTES];
    struct buffer line = BUFFER_INIT;
    if (!isfinite(value))
        return 0;
    int added = append_series(&line, metric, labels) ? -1 : is_new(metrics, &line);
    real_text(value, number);
    if (added == 1 && (buffer_printf(&line, " %s\n", number) ||
                       buffer_append(&metrics->samples[metric], line.data, line.length)))
        added = -1;
    metrics->count += added == 1;
    buffer_release(&line);
    return added < 0 ? -1 : 0;
}

int metrics_append(struct metrics *metrics, const struct metrics *others)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        if (others->samples[i].length &&
            buffer_append(&metrics->samples[i], others->samples[i].data, others->samples[i].length))
            return -1;
    metrics->count += others->count;
    return 0;
}

static int write_all(const struct metrics *metrics, struct output *output, struct error *error)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct buffer *samples = &metrics->samples[i];
        if (samples->length && (output_printf(output, error, "# HELP %s %s\n# TYPE %s gauge\n",
                                              families[i].name, families[i].help, families[i].name) ||
                                output_write(output, samples->data, samples->length, error)))
            return -1;
    }
    return 0;
}

int metrics_save(const struct metrics *metrics, const char *path, struct error *error)
{
    struct output *output = output_open(path, OUTPUT_PLAIN, error);
    if (output && write_all(metrics, output, error) == 0)
        return output_close(output, error);
    output_discard(output);
    return -1;
}
