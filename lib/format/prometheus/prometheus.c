#include "format/prometheus/prometheus.h"

#include "base/array.h"
#include "base/intern.h"
#include "base/scale.h"
#include "format/prometheus/sample_line.h"
#include "input/input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char other_metric[] = "unknown metric";

/* So many samples, of so many bytes of labels, wait for the other metric of theirs. */
enum { WAITING_MOST = 1 << 14, WAITING_BYTES_MOST = 16 << 20 };

/* What metrics with the same labels say; the labels have its number. */
struct waiting {
    uint64_t offset;
    int64_t at_ns;
    double busbw_gbs;
    int64_t duration_ns;
};

struct prometheus_file {
    const struct format_sink *sink;
    int64_t modified_ns;
    struct intern labels;
    size_t label_bytes;
    struct waiting *waiting; /* owned */
    size_t capacity;
    struct buffer texts;
};

static int emit(struct prometheus_file *file, size_t number, struct error *error)
{
    const char *labels = intern_text(&file->labels, (int64_t)number);
    const struct waiting *waiting = &file->waiting[number];
    struct event event = {.kind = EVENT_SAMPLE,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = waiting->offset}};
    struct text text = {labels, strlen(labels)};
    int failed = sample_labels_read(text, &file->texts, &event.sample);
    if (failed < 0)
        return error_no_memory(error);
    if (failed)
        return file->sink->note(file->sink->context, "unreadable labels", 1, waiting->offset, labels,
                                text.length, error);
    if (event.sample.at_ns == TIME_UNKNOWN)
        event.sample.at_ns = waiting->at_ns != TIME_UNKNOWN ? waiting->at_ns : file->modified_ns;
    event.sample.busbw_gbs = waiting->busbw_gbs;
    event.sample.duration_ns = waiting->duration_ns;
    return file->sink->event(file->sink->context, &event, error);
}

static int flush(struct prometheus_file *file, struct error *error)
{
    for (size_t i = 0; i < file->labels.count; i++)
        if (emit(file, i, error))
            return -1;
    intern_release(&file->labels);
    intern_init(&file->labels);
    file->label_bytes = 0;
    return 0;
}

static struct waiting *find(struct prometheus_file *file, const struct sample_line *line, uint64_t offset)
{
    size_t had = file->labels.count;
    int64_t number = intern_put(&file->labels, line->labels.data, line->labels.length);
    if (number < 0 ||
        array_reserve((void **)&file->waiting, &file->capacity, (size_t)number + 1, sizeof *file->waiting))
        return NULL;
    struct waiting *waiting = &file->waiting[number];
    if (file->labels.count > had) {
        file->label_bytes += line->labels.length;
        *waiting = (struct waiting){offset, TIME_UNKNOWN, -1, COUNT_UNKNOWN};
    }
    return waiting;
}

/* Averages that are modelled; 0: neither. */
enum measure { OTHER = 0, BANDWIDTH, DURATION };

static enum measure measure_of(struct text metric)
{
    if (text_is(metric, "nccl_bus_bandwidth_gbs") || text_is(metric, "nccl_p2p_bus_bandwidth_gbs"))
        return BANDWIDTH;
    if (text_is(metric, "nccl_collective_exec_time_microseconds") ||
        text_is(metric, "nccl_p2p_exec_time_microseconds"))
        return DURATION;
    return OTHER;
}

static int take_sample(struct prometheus_file *file, const struct sample_line *line, enum measure measure,
                       uint64_t offset, struct error *error)
{
    if ((file->labels.count >= WAITING_MOST || file->label_bytes >= WAITING_BYTES_MOST) && flush(file, error))
        return -1;
    struct waiting *waiting = find(file, line, offset);
    if (!waiting)
        return error_no_memory(error);
    if (line->at_ns != TIME_UNKNOWN)
        waiting->at_ns = line->at_ns;
    if (measure == BANDWIDTH)
        waiting->busbw_gbs = line->value;
    else
        waiting->duration_ns = scale(1000, line->value);
    return 0;
}

static int note(struct prometheus_file *file, const char *reason, int damage, const struct input_line *line,
                struct error *error)
{
    return file->sink->note(file->sink->context, reason, damage, line->offset, line->text, line->length,
                            error);
}

static int take_line(struct prometheus_file *file, const struct input_line *line, struct error *error)
{
    struct sample_line said;
    int is_whole = !line->continued && !line->goes_on && !memchr(line->text, '\0', line->length);
    int found = is_whole ? sample_line_read((struct text){line->text, line->length}, &said) : -1;
    if (found == 0)
        return 0;
    if (found < 0)
        return note(file, "unreadable line", 1, line, error);
    enum measure measure = measure_of(said.metric);
    if (measure == OTHER)
        return note(file, other_metric, 0, line, error);
    if (!isfinite(said.value) || said.value < 0)
        return note(file, "average that is not a number", 1, line, error);
    return take_sample(file, &said, measure, line->offset, error);
}

static int prometheus_read(struct input *input, const struct format_sink *sink, char *dialect,
                           size_t dialect_bytes, struct error *error)
{
    struct prometheus_file file = {
        .sink = sink, .modified_ns = input_modified_ns(input), .texts = BUFFER_INIT};
    struct error later = ERROR_INIT;
    struct input_line line;
    int more;
    intern_init(&file.labels);
    snprintf(dialect, dialect_bytes, "prometheus");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&file, &line, error)) {
            more = -2;
            break;
        }
    /* What was read before reading failed is handed over. */
    if (more > -2 && flush(&file, more ? &later : error))
        more = -1;
    error_clear(&later);
    intern_release(&file.labels);
    free(file.waiting);
    buffer_release(&file.texts);
    return more ? -1 : 0;
}

static int prometheus_sniff(const char *bytes, size_t length, const char *path)
{
    static const char *const metrics[] = {"nccl_bus_bandwidth_gbs{", "nccl_p2p_bus_bandwidth_gbs{",
                                          "nccl_collective_exec_time_microseconds{",
                                          "nccl_p2p_exec_time_microseconds{"};
    (void)path;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        const char *found = memmem(bytes, length, metrics[i], strlen(metrics[i]));
        if (found && (found == bytes || found[-1] == '\n'))
            return 90;
    }
    return 0;
}

const struct format format_prometheus = {
    .name = "prometheus",
    .version = 1,
    .description = "Prometheus text of NVIDIA's Inspector (averages)",
    .unknown = other_metric,
    .is_snapshot = 1,
    .sniff = prometheus_sniff,
    .read = prometheus_read,
};
