/*
 * The format "exporter": the text that dcgm-exporter and node_exporter answer to Prometheus, one scrape or
 * several in a row. Names of its metrics and labels are also those of series that Prometheus kept
 * (query_range.c).
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep(char *into, size_t bytes, const char *text)
{
    if (!into[0])
        snprintf(into, bytes, "%s", text);
}

/* "node017:9400" without its port. */
static void keep_instance(struct series_labels *labels, const char *text)
{
    const char *colon = strrchr(text, ':');
    struct text host = {text, colon && !strchr(text, ']') ? (size_t)(colon - text) : strlen(text)};
    if (host.length && host.length < sizeof labels->instance)
        text_copy(host, labels->instance, sizeof labels->instance);
}

static void keep_label(struct series_labels *labels, struct text name, const char *text)
{
    static const char *const hosts[] = {"Hostname",  "hostname",        "nodename",      "node", "host",
                                        "node_name", "kubernetes_node", "exported_node", NULL};
    struct text value = {text, strlen(text)};
    for (const char *const *host = hosts; *host; host++)
        if (text_is(name, *host))
            keep(labels->host, sizeof labels->host, text);
    if (text_is(name, "__name__"))
        keep(labels->name, sizeof labels->name, text);
    else if (text_is(name, "instance"))
        keep_instance(labels, text);
    else if (text_is(name, "gpu"))
        labels->gpu_index = text_leading_number(value);
    else if (text_is(name, "UUID") || text_is(name, "uuid"))
        keep(labels->uuid, sizeof labels->uuid, text);
    else if (text_is(name, "pci_bus_id"))
        (void)telemetry_bus_id(value, labels->bus);
    else if (text_is(name, "modelName"))
        keep(labels->model, sizeof labels->model, text);
    else if (text_is(name, "device"))
        keep(labels->device, sizeof labels->device, text);
    else if (text_is(name, "port"))
        keep(labels->port, sizeof labels->port, text);
    else if (text_is(name, "mode"))
        keep(labels->mode, sizeof labels->mode, text);
    else if (text_is(name, "cpu"))
        keep(labels->cpu, sizeof labels->cpu, text);
}

void series_labels_begin(struct series_labels *labels)
{
    *labels = (struct series_labels){.gpu_index = COUNT_UNKNOWN};
}

void series_labels_add(struct series_labels *labels, struct text name, const char *value)
{
    keep_label(labels, name, value);
}

/* Interfaces inside of the node, and virtual ones of containers. */
static int is_inner(const char *device)
{
    static const char *const begins[] = {"lo", "veth", "cali", "docker", "cni", "virbr", "lxc", "br-", NULL};
    for (const char *const *begin = begins; *begin; begin++)
        if (strncmp(device, *begin, strlen(*begin)) == 0)
            return 1;
    return 0;
}

int series_labels_place(const struct series_labels *labels, enum node_place place, char device[160])
{
    device[0] = '\0';
    if (place == NODE_WHOLE)
        return 1;
    if (place == NODE_GPU && (labels->bus[0] || labels->uuid[0]))
        snprintf(device, 160, "%s", labels->bus[0] ? labels->bus : labels->uuid);
    else if (place == NODE_GPU && labels->gpu_index != COUNT_UNKNOWN)
        snprintf(device, 160, "index %lld", (long long)labels->gpu_index);
    else if (place == NODE_PORT && labels->device[0] && labels->port[0])
        snprintf(device, 160, "%s/%s", labels->device, labels->port);
    else if ((place == NODE_INTERFACE || place == NODE_DISK) && !is_inner(labels->device))
        snprintf(device, 160, "%s", labels->device);
    return device[0] != '\0';
}

const char *series_labels_host(const struct series_labels *labels)
{
    return labels->host[0] ? labels->host : labels->instance[0] ? labels->instance : NULL;
}

int series_tell_gpu(struct telemetry *telemetry, struct intern *told, const struct series_labels *labels,
                    const char *device, uint64_t offset, struct error *error)
{
    size_t had = told->count;
    const char *host = series_labels_host(labels);
    char key[512];
    if ((labels->bus[0] != '\0') + (labels->uuid[0] != '\0') + (labels->gpu_index != COUNT_UNKNOWN) < 2)
        return 0;
    snprintf(key, sizeof key, "%s %s", host ? host : "", device);
    if (intern_put(told, key, strlen(key)) < 0)
        return error_no_memory(error);
    return told->count == had
               ? 0
               : telemetry_gpu(telemetry, host, labels->gpu_index, labels->bus[0] ? labels->bus : NULL,
                               labels->uuid[0] ? labels->uuid : NULL, labels->model[0] ? labels->model : NULL,
                               offset, error);
}

/* NVIDIA's kinds of Xid are numbered up to some hundreds. */
enum { XID_MOST = 10000 };

/* The last Xid of a GPU: when it changes between two scrapes, it came in between. */
static int take_xid(struct telemetry *telemetry, const struct measured *of, double value, struct error *error)
{
    struct telemetry_series before;
    struct measured last = *of;
    if (value < 0 || value > XID_MOST)
        return telemetry_impossible(telemetry, of, value, error);
    /* A series of its own, which no sample has. */
    last.metric = NODE_METRIC_COUNT;
    int followed = telemetry_follow(telemetry, &last, value, &before, error);
    if (followed < 1 || value < 1)
        return followed < 0 ? -1 : 0;
    int is_first = before.of.at_ns == TIME_UNKNOWN;
    if (!is_first && before.value == value)
        return 0;
    struct node_event event = {.host = of->host,
                               .place = NODE_GPU,
                               .device = of->device,
                               .code = NODE_EVENT_XID,
                               .number = (int64_t)value,
                               .at_ns = is_first ? TIME_UNKNOWN : of->at_ns,
                               .since_boot_ns = TIME_UNKNOWN,
                               .error_ns = is_first ? 0 : of->at_ns - before.of.at_ns,
                               .pid = COUNT_UNKNOWN,
                               .text = is_first ? "last Xid of the GPU, at an unknown time"
                                                : "last Xid of the GPU"};
    return telemetry_event(telemetry, &event, of->offset, error);
}

int series_take(struct telemetry *telemetry, const struct metric_name *metric, const struct measured *of,
                double value, struct error *error)
{
    switch (metric->way) {
    case METRIC_VALUE:
        return telemetry_gauge(telemetry, of, value * metric->factor, error);
    case METRIC_TOTAL:
        return telemetry_total(telemetry, of, value * metric->factor, error);
    case METRIC_DURATION:
        return telemetry_duration(telemetry, of, value * metric->factor, error);
    case METRIC_REASONS:
        return telemetry_throttle_bits(telemetry, of, value, error);
    case METRIC_XID:
        return take_xid(telemetry, of, value, error);
    default:
        return 0;
    }
}

/* A scrape may not have more lines of use than this; then those before are taken as one scrape. */
enum { PENDING_MOST = 1 << 16 };

/* A sample of a scrape whose time may follow. */
struct pending {
    const struct metric_name *metric;
    int64_t labels; /* their number in the scrape's names */
    int64_t at_ns;
    double value;
    uint64_t offset;
};

struct exporter_file {
    struct telemetry telemetry;
    struct intern seen; /* "metric labels" of the scrape */
    struct intern told;
    struct pending *pending; /* owned; as many as `seen` has */
    size_t capacity;
    struct log_time time; /* of the scrape */
    struct buffer texts;
    struct buffer key;
    double busy_ns; /* of all cores */
    int64_t cores;
};

static int read_labels(struct exporter_file *file, struct text text, struct series_labels *labels,
                       struct error *error)
{
    const char *at = text.data, *end = text.data + text.length;
    series_labels_begin(labels);
    while (at < end) {
        struct text name;
        int64_t place;
        buffer_clear(&file->texts);
        int failed = sample_label_take(&at, end, &file->texts, &name, &place);
        if (failed)
            return failed < 0 ? error_no_memory(error) : 1;
        if (place >= 0)
            series_labels_add(labels, name, file->texts.data + place);
    }
    return 0;
}

/* The sum of what the cores did; the modes of guests are contained in others. */
static void add_core(struct exporter_file *file, const struct series_labels *labels, double value_ns)
{
    static const char *const busy[] = {"user", "nice", "system", "irq", "softirq", "steal", NULL};
    file->cores += strcmp(labels->mode, "idle") == 0;
    for (const char *const *mode = busy; *mode; mode++)
        if (strcmp(labels->mode, *mode) == 0)
            file->busy_ns += value_ns;
}

static int hand_over(struct exporter_file *file, const struct pending *pending, struct error *error)
{
    const char *text = intern_text(&file->seen, pending->labels), *blank = strchr(text, ' ');
    struct series_labels labels;
    char device[160];
    int damaged = read_labels(file, (struct text){blank + 1, strlen(blank + 1)}, &labels, error);
    const struct metric_name *metric = pending->metric;
    if (damaged)
        return damaged < 0 ? -1
                           : file->telemetry.sink->note(file->telemetry.sink->context, "unreadable labels", 1,
                                                        pending->offset, text, strlen(text), error);
    if (metric->way == METRIC_IDLE) {
        add_core(file, &labels, pending->value * metric->factor);
        return 0;
    }
    if (!series_labels_place(&labels, metric->place, device))
        return 0;
    struct measured of = {.host = series_labels_host(&labels),
                          .place = metric->place,
                          .device = device[0] ? device : NULL,
                          .metric = metric->metric,
                          .at_ns = pending->at_ns != TIME_UNKNOWN ? pending->at_ns : file->time.at_ns,
                          .error_ns = pending->at_ns != TIME_UNKNOWN ? 0 : file->time.error_ns,
                          .offset = pending->offset};
    if (metric->place == NODE_GPU &&
        series_tell_gpu(&file->telemetry, &file->told, &labels, device, pending->offset, error))
        return -1;
    return series_take(&file->telemetry, metric, &of, pending->value, error);
}

/* The share of time in which the cores were busy, and their number. */
static int hand_over_cores(struct exporter_file *file, struct error *error)
{
    struct measured of = {.place = NODE_WHOLE,
                          .metric = NODE_CORES,
                          .at_ns = file->time.at_ns,
                          .error_ns = file->time.error_ns};
    if (!file->cores)
        return 0;
    if (telemetry_gauge(&file->telemetry, &of, (double)file->cores, error))
        return -1;
    of.metric = NODE_CPU_BUSY;
    return telemetry_duration(&file->telemetry, &of, file->busy_ns / (double)file->cores, error);
}

/* The end of a scrape. Without a time in it, the name of the file or its last change gives it. */
static int end_scrape(struct exporter_file *file, struct error *error)
{
    if (file->time.at_ns == TIME_UNKNOWN)
        file->time = telemetry_file_time(&file->telemetry);
    for (size_t i = 0; i < file->seen.count; i++)
        if (hand_over(file, &file->pending[i], error))
            return -1;
    if (hand_over_cores(file, error))
        return -1;
    intern_release(&file->seen);
    intern_init(&file->seen);
    file->time = (struct log_time){.at_ns = TIME_UNKNOWN};
    file->busy_ns = 0;
    file->cores = 0;
    return 0;
}

/* A line with a time between scrapes. */
static int take_time(struct exporter_file *file, struct text line, uint64_t offset, struct error *error)
{
    struct log_time time;
    int is_date = telemetry_is_date(&file->telemetry, line, offset, &time, error);
    if (is_date == 1 && end_scrape(file, error))
        return -1;
    if (is_date == 1)
        file->time = time;
    return is_date;
}

static int add_pending(struct exporter_file *file, const struct sample_line *said,
                       const struct metric_name *metric, uint64_t offset, struct error *error)
{
    buffer_clear(&file->key);
    if (buffer_append(&file->key, said->metric.data, said->metric.length) ||
        buffer_append_byte(&file->key, ' ') ||
        buffer_append(&file->key, said->labels.data, said->labels.length))
        return error_no_memory(error);
    if ((file->seen.count >= PENDING_MOST || intern_find(&file->seen, file->key.data) >= 0) &&
        end_scrape(file, error))
        return -1;
    int64_t number = intern_put(&file->seen, file->key.data, file->key.length);
    if (number < 0 ||
        array_reserve((void **)&file->pending, &file->capacity, file->seen.count, sizeof *file->pending))
        return error_no_memory(error);
    file->pending[number] = (struct pending){metric, number, said->at_ns, said->value, offset};
    return 0;
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct exporter_file *file = context;
    struct sample_line said;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    if (whole < 1 || !text_trim(text).length)
        return whole < 0 ? -1 : 0;
    int is_time = take_time(file, text, line->offset, error);
    if (is_time)
        return is_time < 0 ? -1 : 0;
    int found = sample_line_read(text, &said);
    if (found < 1)
        return found ? telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error) : 0;
    const struct metric_name *metric = metric_of(METRIC_OF_EXPORTER, said.metric);
    if (text_is(said.metric, "node_uname_info")) {
        struct series_labels labels;
        if (read_labels(file, said.labels, &labels, error) < 0)
            return -1;
        snprintf(file->telemetry.host, sizeof file->telemetry.host, "%s", labels.host);
        return 0;
    }
    if (!metric || !isfinite(said.value))
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_OTHER_METRIC, 0, line, error);
    if (metric->way != METRIC_CLOCK)
        return add_pending(file, &said, metric, line->offset, error);
    if (said.value > 0 && said.value < 4e9 && file->time.at_ns == TIME_UNKNOWN)
        file->time = (struct log_time){.at_ns = scale(1, said.value * metric->factor)};
    return 0;
}

static int exporter_read(struct input *input, const struct format_sink *sink, char *dialect,
                         size_t dialect_bytes, struct error *error)
{
    struct exporter_file file = {.time = {.at_ns = TIME_UNKNOWN}, .texts = BUFFER_INIT, .key = BUFFER_INIT};
    struct error later = ERROR_INIT;
    telemetry_init(&file.telemetry, sink, input);
    intern_init(&file.seen);
    intern_init(&file.told);
    snprintf(dialect, dialect_bytes, "exporter");
    int status = telemetry_lines(input, &file, take_line, error);
    /* What was read before reading failed is handed over. */
    if (end_scrape(&file, status ? &later : error))
        status = -1;
    error_clear(&later);
    intern_release(&file.seen);
    intern_release(&file.told);
    free(file.pending);
    buffer_release(&file.texts);
    buffer_release(&file.key);
    telemetry_release(&file.telemetry);
    return status;
}

/* Less than Inspector's text, which may lie in the same scrape. */
enum { SURE = 80 };

static int exporter_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes)};
        struct sample_line said;
        bytes += line.length + 1;
        if ((text_begins(line, "node_") || text_begins(line, "DCGM_")) &&
            sample_line_read(line, &said) == 1 && metric_of(METRIC_OF_EXPORTER, said.metric))
            return SURE;
    }
    return 0;
}

const struct format format_exporter = {
    .name = "exporter",
    .version = 2,
    .description = "text of dcgm-exporter and node_exporter for Prometheus",
    .unknown = TELEMETRY_NOTE_OTHER_METRIC,
    .name_counts = 1,
    .sniff = exporter_sniff,
    .read = exporter_read,
};
