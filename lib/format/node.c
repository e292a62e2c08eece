/*
 * The format "node": what `record` writes down of the node while a job runs (ncclprof-formats(5), NODE
 * RECORD). The first line is the head; each other line has the values that changed. A gauge holds until its
 * next value, as long as the process that samples it is seen to be alive; a counter has increases, and none
 * where nothing is said.
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

/* The processes that write: the sampler, and those that ask GPUs and ports. */
enum node_speaker_id { SPEAKER_SAMPLER, SPEAKER_GPUS, SPEAKER_PORTS, SPEAKERS };

static const struct {
    const char *name; /* in the member `from` */
    char letter;      /* of its series */
} speakers[SPEAKERS] = {[SPEAKER_GPUS] = {"nvml", 'g'}, [SPEAKER_PORTS] = {"infiniband", 'i'}};

struct node_speaker {
    int has_rounds; /* it writes a line in each round, so that silence says that it did not look */
    int64_t interval_ms;
    int64_t alive_ms, alive_ns; /* its last line: in the record, and in UNIX time */
};

/* One metric of one device. */
struct node_line_series {
    enum node_speaker_id speaker;
    int32_t device; /* number in `texts`; -1: none */
    enum node_place place;
    enum node_metric metric;
    int is_open;
    double value;     /* of a gauge */
    int64_t begin_ns; /* of the value; of a counter, since when it has not increased */
    int64_t at_ns;    /* end of the interval in which the value was measured */
};

struct node_reader {
    const struct format_sink *sink; /* borrowed */
    struct json json;
    struct intern texts;
    struct intern names;             /* the names of series, "12" or "g3": number -> index in `series` */
    struct node_line_series *series; /* owned */
    size_t capacity;
    struct buffer host;
    int64_t realtime_ns; /* of the moment `anchor_ms` */
    int64_t anchor_ms;
    int64_t last_ns; /* of the latest line */
    struct node_speaker speakers[SPEAKERS];
    int64_t since_ns; /* after a silence: what is known of a moment only does not hold before; TIME_UNKNOWN */
    size_t looked_at; /* series, after silences */
    int has_head;
    int has_end;
    char bus_before[64]; /* PCI address in the last message of the driver; a message may have several lines */
    uint64_t offset;     /* of the line */
};

static int note(const struct node_reader *reader, const char *reason, int damage, const char *detail,
                struct error *error)
{
    return reader->sink->note(reader->sink->context, reason, damage, reader->offset, detail,
                              detail ? strlen(detail) : 0, error);
}

static int emit(const struct node_reader *reader, struct event *event, struct error *error)
{
    event->origin = (struct origin){.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = reader->offset};
    return reader->sink->event(reader->sink->context, event, error);
}

static const char *host_of(const struct node_reader *reader)
{
    return reader->host.length ? reader->host.data : NULL;
}

/* -------------------- samples -------------------- */

static int emit_sample(const struct node_reader *reader, const struct node_line_series *series, double value,
                       int64_t begin_ns, int64_t at_ns, struct error *error)
{
    struct event event = {
        .kind = EVENT_NODE_SAMPLE,
        .node_sample = {.host = host_of(reader),
                        .place = series->place,
                        .device = series->device < 0 ? NULL : intern_text(&reader->texts, series->device),
                        .metric = series->metric,
                        .begin_ns = begin_ns,
                        .at_ns = at_ns,
                        .value = value}};
    return at_ns > begin_ns ? emit(reader, &event, error) : 0;
}

/* The value so far, which held until `until_ns`. */
static int close_series(const struct node_reader *reader, struct node_line_series *series, int64_t until_ns,
                        struct error *error)
{
    double value = node_metric_is_counter(series->metric) ? 0 : series->value;
    int is_open = series->is_open;
    series->is_open = 0;
    return is_open ? emit_sample(reader, series, value, series->begin_ns, until_ns, error) : 0;
}

/* Until when the values of a series are known: the last line of what samples it. */
static int64_t known_until_ns(const struct node_reader *reader, const struct node_line_series *series)
{
    const struct node_speaker *speaker = &reader->speakers[series->speaker];
    return speaker->has_rounds ? speaker->alive_ns : reader->last_ns;
}

static int close_all(struct node_reader *reader, struct error *error)
{
    for (size_t i = 0; i < reader->names.count; i++)
        if (close_series(reader, &reader->series[i], known_until_ns(reader, &reader->series[i]), error))
            return -1;
    return 0;
}

/* -------------------- silence -------------------- */

/*
 * A process that has to wait for a core is late, but not by as much: it was stopped or frozen, or its driver
 * did not answer.
 */
enum { LATE_MS = 2000, DAY_MS = 24 * 3600 * 1000 };

/* All series are looked at after each silence: more than by ten thousand silences of a node with a thousand.
 */
enum { LOOKED_AT_MOST = 10000000 };

/* Whether a gauge is the average since the round before; others are known of the moment of a round. */
static int is_average(enum node_metric metric)
{
    static const enum node_metric averages[] = {
        NODE_CPU_BUSY,       NODE_CPU_STOLEN, NODE_CPU_PRESSURE, NODE_IO_PRESSURE, NODE_MEMORY_PRESSURE,
        NODE_CPU_QUOTA_WAIT, NODE_CPU_SHARE,  NODE_RUN_WAIT,     NODE_FROZEN,      NODE_DISK_BUSY};
    for (size_t i = 0; i < sizeof averages / sizeof *averages; i++)
        if (averages[i] == metric)
            return 1;
    return node_metric_is_counter(metric);
}

/* A gauge that was not written after a silence has its value again, but what it was meanwhile is not known.
 */
static int leave_out_silence(struct node_reader *reader, enum node_speaker_id speaker, struct error *error)
{
    int is_last = reader->looked_at > LOOKED_AT_MOST;
    reader->looked_at += reader->names.count;
    if (!is_last && reader->looked_at > LOOKED_AT_MOST &&
        note(reader, "too many silences of the sampler: later values of a moment are left out", 0, NULL,
             error))
        return -1;
    for (size_t i = 0; i < reader->names.count && !is_last; i++) {
        struct node_line_series *series = &reader->series[i];
        if (series->speaker != speaker || !series->is_open || is_average(series->metric))
            continue;
        if (close_series(reader, series, known_until_ns(reader, series), error))
            return -1;
        series->is_open = reader->looked_at <= LOOKED_AT_MOST;
        series->begin_ns = series->at_ns = reader->since_ns;
    }
    return 0;
}

static enum node_speaker_id speaker_of_series(const char *name)
{
    for (int i = 0; i < SPEAKERS; i++)
        if (speakers[i].name && name[0] == speakers[i].letter)
            return (enum node_speaker_id)i;
    return SPEAKER_SAMPLER;
}

/* Which process a line is from. */
static enum node_speaker_id speaker_of(struct json *json, const struct value *root)
{
    static const char *const lists[] = {"new", "v", "gone"};
    static const char *const of_gpus[] = {"gpu", "gpu_lost", "job_process", "other_process"};
    const char *from = json_member(root, "from") ? member_text(json, root, "from") : NULL;
    for (int i = 0; from && i < SPEAKERS; i++)
        if (speakers[i].name && strcmp(from, speakers[i].name) == 0)
            return (enum node_speaker_id)i;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct value *list = json_member(root, lists[i]), *first = list ? value_begin(list) : NULL;
        const char *name = first && first < value_end(list) ? json_text(first) : NULL;
        if (name)
            return speaker_of_series(name);
    }
    for (size_t i = 0; i < sizeof of_gpus / sizeof *of_gpus; i++)
        if (json_member(root, of_gpus[i]))
            return SPEAKER_GPUS;
    return SPEAKER_SAMPLER;
}

static void take_interval(struct node_reader *reader, struct node_speaker *speaker, const struct value *root)
{
    int64_t interval_ms = member_natural(&reader->json, root, "interval_ms", speaker->interval_ms);
    if (interval_ms <= DAY_MS)
        speaker->interval_ms = interval_ms;
}

/* Takes the sign of life that a line is, before its values. */
static int hear(struct node_reader *reader, const struct value *root, enum node_speaker_id id, int64_t ms,
                int64_t at_ns, struct error *error)
{
    struct node_speaker *speaker = &reader->speakers[id];
    int64_t silent_ms = ms - speaker->alive_ms;
    reader->since_ns = TIME_UNKNOWN;
    if (speaker->has_rounds && silent_ms > LATE_MS && silent_ms - LATE_MS > speaker->interval_ms) {
        int64_t interval_ns = speaker->interval_ms * 1000000;
        reader->since_ns = at_ns > interval_ns ? at_ns - interval_ns : 0;
        if (leave_out_silence(reader, id, error))
            return -1;
    }
    speaker->has_rounds |= json_member(root, "from") != NULL;
    take_interval(reader, speaker, root);
    return 0;
}

/* -------------------- facts -------------------- */

static struct event new_fact(const struct node_reader *reader)
{
    return (struct event){.kind = EVENT_NODE_FACT,
                          .node_fact = {.host = host_of(reader),
                                        .cores = COUNT_UNKNOWN,
                                        .memory_bytes = COUNT_UNKNOWN,
                                        .monotonic_ns = TIME_UNKNOWN,
                                        .realtime_ns = TIME_UNKNOWN,
                                        .gpu_index = COUNT_UNKNOWN}};
}

/* Each source that the sampler could not read is one note, so that its silence is not taken for health. */
static int take_absent(struct node_reader *reader, const struct value *absent, struct error *error)
{
    const struct value *end = value_end(absent);
    for (const struct value *name = value_begin(absent); name && name + 1 < end; name += 2) {
        char text[256];
        const char *what = json_text(name), *why = json_text(name + 1);
        snprintf(text, sizeof text, "%.100s: %.140s", what ? what : "", why ? why : "");
        if (note(reader, "not sampled", 0, text, error))
            return -1;
    }
    return 0;
}

/* Returns 1 if the line is a head, 0 if not. */
static int take_head(struct node_reader *reader, const struct value *root, struct error *error)
{
    struct json *json = &reader->json;
    int64_t version = member_natural(json, root, "ncclprof_node", 0);
    const char *host = member_text(json, root, "host");
    if (version == 0)
        return 0;
    char newer[24];
    snprintf(newer, sizeof newer, "%lld", (long long)version);
    if (version > 1 && note(reader, FORMAT_NOTE_NEWER, 0, newer, error))
        return -1;
    if (close_all(reader, error))
        return -1;
    buffer_clear(&reader->host);
    if (host && buffer_append_text(&reader->host, host))
        return error_no_memory(error);
    struct event event = new_fact(reader);
    event.node_fact.boot_id = member_text(json, root, "boot_id");
    event.node_fact.cores = member_natural(json, root, "cores", COUNT_UNKNOWN);
    event.node_fact.memory_bytes = member_natural(json, root, "memory_bytes", COUNT_UNKNOWN);
    event.node_fact.monotonic_ns = member_natural(json, root, "monotonic_ns", TIME_UNKNOWN);
    event.node_fact.realtime_ns = member_natural(json, root, "realtime_ns", TIME_UNKNOWN);
    reader->realtime_ns = event.node_fact.realtime_ns;
    reader->last_ns = reader->realtime_ns;
    reader->anchor_ms = 0;
    memset(reader->speakers, 0, sizeof reader->speakers);
    reader->speakers[SPEAKER_SAMPLER] =
        (struct node_speaker){.has_rounds = 1, .alive_ns = reader->realtime_ns};
    take_interval(reader, &reader->speakers[SPEAKER_SAMPLER], root);
    reader->has_head = reader->realtime_ns != TIME_UNKNOWN;
    if (emit(reader, &event, error) || take_absent(reader, member_object(json, root, "absent"), error))
        return -1;
    return 1;
}

static int take_gpu(struct node_reader *reader, const struct value *gpu, struct error *error)
{
    struct event event = new_fact(reader);
    event.node_fact.gpu_index = member_natural(&reader->json, gpu, "index", COUNT_UNKNOWN);
    event.node_fact.gpu_bus_id = member_text(&reader->json, gpu, "bus");
    event.node_fact.gpu_uuid = member_text(&reader->json, gpu, "uuid");
    event.node_fact.gpu_name = member_text(&reader->json, gpu, "name");
    return emit(reader, &event, error);
}

/* -------------------- values -------------------- */

static int take_value(const struct node_reader *reader, struct node_line_series *series, double value,
                      int64_t begin_ns, int64_t at_ns, struct error *error)
{
    if (begin_ns < reader->since_ns && !is_average(series->metric))
        begin_ns = reader->since_ns;
    /* What is known already is not said again for an earlier time. */
    if (series->is_open && begin_ns < series->at_ns)
        begin_ns = series->at_ns;
    if (at_ns < begin_ns)
        at_ns = begin_ns;
    if (!node_metric_can_be(series->metric, value)) {
        char text[96];
        snprintf(text, sizeof text, "%s %g", node_metric_name(series->metric), value);
        return note(reader, FORMAT_NOTE_IMPOSSIBLE, 0, text, error) ||
                       close_series(reader, series, begin_ns, error)
                   ? -1
                   : 0;
    }
    if (reader->looked_at > LOOKED_AT_MOST && !is_average(series->metric))
        return 0;
    int is_counter = node_metric_is_counter(series->metric),
        goes_on = is_counter && value == 0 && series->is_open;
    if (goes_on)
        return 0;
    if (close_series(reader, series, begin_ns, error))
        return -1;
    if (is_counter && value != 0 && emit_sample(reader, series, value, begin_ns, at_ns, error))
        return -1;
    series->is_open = 1;
    series->value = value;
    series->begin_ns = is_counter && value != 0 ? at_ns : begin_ns;
    series->at_ns = at_ns;
    return 0;
}

static int place_named(const char *name)
{
    for (int place = 0; name && place < NODE_PLACES; place++)
        if (strcmp(node_place_name((enum node_place)place), name) == 0)
            return place;
    return -1;
}

/* {"12":["thread","4711/4720 NCCL Progress 0","cpu_share"],"13":["node","cpu_busy_share"]} */
static int take_new(struct node_reader *reader, const struct value *fresh, struct error *error)
{
    const struct value *end = value_end(fresh);
    for (const struct value *name = value_begin(fresh); name && name + 1 < end; name += 2) {
        const struct value *parts = value_begin(name + 1);
        size_t count = (size_t)(value_end(name + 1) - parts);
        if (name[1].kind != VALUE_LIST || count < 2 || !json_text(&parts[0]) ||
            !json_text(&parts[count - 1]) || (count > 2 && !json_text(&parts[1]))) {
            reader->json.misread = 1;
            continue;
        }
        const char *key = json_text(name), *device = count > 2 ? json_text(&parts[1]) : NULL;
        int place = place_named(json_text(&parts[0]));
        enum node_metric metric = node_metric_of(json_text(&parts[count - 1]));
        if (place < 0 || metric == NODE_METRIC_OTHER) {
            if (note(reader, "unknown metric", 0, json_text(&parts[count - 1]), error))
                return -1;
            continue;
        }
        size_t before = reader->names.count;
        int64_t index = intern_put(&reader->names, key, strlen(key));
        int64_t text = device ? intern_put(&reader->texts, device, strlen(device)) : 0;
        if (index < 0 || text < 0 ||
            array_reserve((void **)&reader->series, &reader->capacity, reader->names.count,
                          sizeof *reader->series))
            return error_no_memory(error);
        struct node_line_series *series = &reader->series[index];
        if ((size_t)index < before && close_series(reader, series, known_until_ns(reader, series), error))
            return -1;
        *series = (struct node_line_series){.speaker = speaker_of_series(key),
                                            .device = device ? (int32_t)text : -1,
                                            .place = (enum node_place)place,
                                            .metric = metric};
    }
    return 0;
}

/* NULL for a series that was not introduced: its metric is unknown, or the beginning of the file is lost. */
static struct node_line_series *find_series(const struct node_reader *reader, const struct value *name)
{
    const char *key = json_text(name);
    int64_t index = key ? intern_find(&reader->names, key) : -1;
    return index < 0 ? NULL : &reader->series[index];
}

static int take_values(struct node_reader *reader, const struct value *values, int64_t begin_ns,
                       int64_t at_ns, struct error *error)
{
    const struct value *end = value_end(values);
    for (const struct value *name = value_begin(values); name && name + 1 < end; name += 2) {
        struct node_line_series *series = find_series(reader, name);
        char text[64];
        if (name[1].kind != VALUE_DECIMAL || name[1].length >= sizeof text) {
            reader->json.misread = 1;
            continue;
        }
        memcpy(text, name[1].text, name[1].length);
        text[name[1].length] = '\0';
        double value = strtod(text, NULL);
        if (!isfinite(value))
            reader->json.has_misfit = 1;
        else if (series && take_value(reader, series, value, begin_ns, at_ns, error))
            return -1;
    }
    return 0;
}

static int take_gone(struct node_reader *reader, const struct value *gone, int64_t at_ns, struct error *error)
{
    const struct value *end = value_end(gone);
    for (const struct value *name = value_begin(gone); name && name < end; name++) {
        struct node_line_series *series = find_series(reader, name);
        if (series && close_series(reader, series, at_ns, error))
            return -1;
    }
    return 0;
}

/* -------------------- messages -------------------- */

static struct event new_message(const struct node_reader *reader, enum node_event_code code, int64_t at_ns)
{
    return (struct event){.kind = EVENT_NODE_EVENT,
                          .node_event = {.host = host_of(reader),
                                         .place = NODE_WHOLE,
                                         .code = code,
                                         .number = COUNT_UNKNOWN,
                                         .at_ns = at_ns,
                                         .since_boot_ns = TIME_UNKNOWN,
                                         .pid = COUNT_UNKNOWN}};
}

/* What the message is about, borrowed from `message`. */
static void describe(struct node_event *event, const struct kernel_message *message)
{
    event->code = message->code;
    event->place = message->place;
    event->device = message->device[0] ? message->device : NULL;
    event->number = message->number;
    event->pid = message->pid;
    event->process = message->process[0] ? message->process : NULL;
}

/* The driver says which UUID a GPU has. */
static int emit_uuid(const struct node_reader *reader, const struct kernel_message *message,
                     struct error *error)
{
    struct event event = new_fact(reader);
    event.node_fact.gpu_bus_id = message->device;
    event.node_fact.gpu_uuid = message->uuid;
    return emit(reader, &event, error);
}

static int take_kernel(struct node_reader *reader, const struct value *said, int64_t at_ns,
                       struct error *error)
{
    const char *text = member_text(&reader->json, said, "text");
    struct event event = new_message(reader, NODE_EVENT_OTHER, at_ns);
    char cut[NODE_TEXT_BYTES + 1];
    if (!text)
        return 0;
    struct kernel_message message;
    struct text whole = {text, strlen(text)};
    int is_known = kernel_message_read(whole, &message);
    if (is_known && message.place == NODE_GPU && !message.device[0])
        snprintf(message.device, sizeof message.device, "%s", reader->bus_before);
    if (text_begins(whole, "NVRM: "))
        kernel_message_bus_id(whole, reader->bus_before);
    if (is_known && message.uuid[0])
        return emit_uuid(reader, &message, error);
    snprintf(cut, sizeof cut, "%s", text);
    event.node_event.text = cut;
    event.node_event.since_boot_ns = member_nanoseconds(&reader->json, said, "boot_us", TIME_UNKNOWN);
    if (is_known)
        describe(&event.node_event, &message);
    return emit(reader, &event, error);
}

/* The values of a process that stopped sampling are unknown from then on, if it does not tell its rounds. */
static int lose_series(struct node_reader *reader, const struct value *said, int64_t at_ns,
                       struct error *error)
{
    const char *from = member_text(&reader->json, said, "from");
    int64_t seconds = member_natural(&reader->json, said, "seconds", 0);
    at_ns = seconds <= at_ns / 1000000000 ? at_ns - seconds * 1000000000 : 0;
    for (size_t i = 0; said && from && i < reader->names.count; i++) {
        struct node_line_series *series = &reader->series[i];
        int64_t until_ns = at_ns > series->at_ns ? at_ns : series->at_ns;
        int is_its = speakers[series->speaker].name && strcmp(from, speakers[series->speaker].name) == 0;
        if (is_its && !reader->speakers[series->speaker].has_rounds &&
            close_series(reader, series, until_ns, error))
            return -1;
    }
    return 0;
}

/* A GPU that is lost tells nothing: its values end with the round before. */
static int lose_gpu(struct node_reader *reader, const struct value *said, struct error *error)
{
    const char *lost = member_text(&reader->json, said, "device");
    for (size_t i = 0; said && lost && i < reader->names.count; i++) {
        struct node_line_series *series = &reader->series[i];
        const struct node_speaker *speaker = &reader->speakers[SPEAKER_GPUS];
        const char *device = series->device < 0 ? "" : intern_text(&reader->texts, series->device);
        int64_t until_ns = speaker->alive_ns > series->at_ns ? speaker->alive_ns : series->at_ns;
        if (series->speaker == SPEAKER_GPUS && strcmp(device, lost) == 0 &&
            close_series(reader, series, until_ns, error))
            return -1;
    }
    return 0;
}

/* What the sampler itself found out about a device: the text is ours. */
static int take_report(struct node_reader *reader, const struct value *said, enum node_event_code code,
                       const char *form, int64_t at_ns, struct error *error)
{
    struct json *json = &reader->json;
    struct event event = new_message(reader, code, at_ns);
    const char *from = member_text(json, said, "from"), *name = member_text(json, said, "name");
    char text[NODE_TEXT_BYTES + 1];
    if (!said)
        return 0;
    int is_port = from && strcmp(from, "infiniband") == 0;
    event.node_event.device = member_text(json, said, "device");
    if (event.node_event.device)
        event.node_event.place = is_port ? NODE_PORT : NODE_GPU;
    event.node_event.pid = member_natural(json, said, "pid", COUNT_UNKNOWN);
    event.node_event.process = name;
    snprintf(text, sizeof text, "%s%s%.64s", form, from || name ? ": " : "", from ? from : name ? name : "");
    event.node_event.text = text;
    if (is_port)
        event.node_event.code = NODE_EVENT_OTHER;
    return emit(reader, &event, error);
}

static int take_messages(struct node_reader *reader, const struct value *root, int64_t at_ns,
                         struct error *error)
{
    static const struct {
        const char *key;
        enum node_event_code code;
        const char *form;
    } reports[] = {
        {"no_answer", NODE_EVENT_GPU_NO_ANSWER, "the driver did not answer the sampler"},
        {"answers_again", NODE_EVENT_OTHER, "the driver answers the sampler again"},
        {"crashed", NODE_EVENT_OTHER, "the process that samples these devices crashed"},
        {"gpu_lost", NODE_EVENT_GPU_FELL_OFF_BUS, "NVML says that the GPU is lost"},
        {"job_process", NODE_EVENT_JOB_PROCESS, "a process of the job on this GPU"},
        {"other_process", NODE_EVENT_OTHER_PROCESS, "another process on this GPU"},
    };
    if (lose_series(reader, member_object(&reader->json, root, "no_answer"), at_ns, error) ||
        lose_series(reader, member_object(&reader->json, root, "crashed"), at_ns, error) ||
        lose_gpu(reader, member_object(&reader->json, root, "gpu_lost"), error))
        return -1;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (take_report(reader, member_object(&reader->json, root, reports[i].key), reports[i].code,
                        reports[i].form, at_ns, error))
            return -1;
    const struct value *kernel = member_object(&reader->json, root, "kernel");
    if (kernel && take_kernel(reader, kernel, at_ns, error))
        return -1;
    const char *end = member_text(&reader->json, root, "end");
    if (end && strcmp(end, "disk") == 0) {
        struct event event = new_message(reader, NODE_EVENT_DISK_FULL, at_ns);
        event.node_event.text = "the disk of the record was nearly full";
        if (emit(reader, &event, error))
            return -1;
    }
    int64_t killed = member_natural(&reader->json, root, "oom_kills", 0);
    if (killed > 0) {
        struct event event = new_message(reader, NODE_EVENT_OOM_KILL, at_ns);
        event.node_event.text = "the kernel killed processes because memory was short (/proc/vmstat)";
        if (emit(reader, &event, error))
            return -1;
    }
    return 0;
}

/* -------------------- lines -------------------- */

static int take_notes(struct node_reader *reader, const struct value *root, struct error *error)
{
    const char *end = member_text(&reader->json, root, "end");
    reader->has_end |= end != NULL;
    if (end && strcmp(end, "limit") == 0 &&
        note(reader, "record of the node stopped at its limit", 0, NULL, error))
        return -1;
    if (end && strcmp(end, "disk") == 0 &&
        note(reader, "record of the node stopped because its disk was nearly full", 0, NULL, error))
        return -1;
    if (member_natural(&reader->json, root, "kernel_skipped", 0) > 0 &&
        note(reader, "kernel messages left out: too many in a minute", 0, NULL, error))
        return -1;
    return take_absent(reader, member_object(&reader->json, root, "absent"), error);
}

/* UNIX time of a moment of the record; TIME_UNKNOWN if it is out of range. */
static int64_t time_of(const struct node_reader *reader, int64_t ms)
{
    int64_t ns;
    return ms < 0 || __builtin_mul_overflow(ms - reader->anchor_ms, (int64_t)1000000, &ns) ||
                   __builtin_add_overflow(ns, reader->realtime_ns, &ns) || ns < 0 || ns > NUMBER_MOST_NS
               ? TIME_UNKNOWN
               : ns;
}

static int take_line(struct node_reader *reader, const struct value *root, struct error *error)
{
    struct json *json = &reader->json;
    int64_t ms = member_natural(json, root, "ms", -1), of = member_natural(json, root, "of", 0);
    int64_t realtime_ns = member_natural(json, root, "realtime_ns", TIME_UNKNOWN);
    if (realtime_ns != TIME_UNKNOWN && ms >= 0 && realtime_ns <= NUMBER_MOST_NS) {
        reader->realtime_ns = realtime_ns;
        reader->anchor_ms = ms;
    }
    int64_t at_ns = time_of(reader, ms);
    int64_t begin_ns = at_ns != TIME_UNKNOWN && of <= at_ns / 1000000 ? at_ns - of * 1000000 : at_ns;
    if (!json_member(root, "ms"))
        return take_notes(reader, root, error);
    if (at_ns == TIME_UNKNOWN)
        return note(reader, "impossible time", 1, NULL, error);
    if (at_ns > reader->last_ns)
        reader->last_ns = at_ns;
    const struct value *gpu = member_object(json, root, "gpu");
    enum node_speaker_id speaker = speaker_of(json, root);
    int failed = hear(reader, root, speaker, ms, at_ns, error) ||
                 take_new(reader, member_object(json, root, "new"), error) ||
                 take_values(reader, member_object(json, root, "v"), begin_ns, at_ns, error) ||
                 take_gone(reader, member_array(json, root, "gone"), at_ns, error) ||
                 take_messages(reader, root, at_ns, error) || take_notes(reader, root, error) ||
                 (gpu && take_gpu(reader, gpu, error));
    if (ms > reader->speakers[speaker].alive_ms) {
        reader->speakers[speaker].alive_ms = ms;
        reader->speakers[speaker].alive_ns = at_ns;
    }
    return failed ? -1 : 0;
}

/* Returns 1; 0 if the text is no object; -1 to stop. */
static int take(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    struct node_reader *reader = context;
    enum json_status status = json_parse(&reader->json, text, length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status != JSON_OK || reader->json.root.kind != VALUE_DICTIONARY)
        return 0;
    reader->offset = offset;
    int outcome = take_head(reader, &reader->json.root, error);
    if (outcome == 0)
        outcome = reader->has_head ? take_line(reader, &reader->json.root, error)
                                   : note(reader, "line before the first line of a record", 1, NULL, error);
    if (outcome < 0)
        return -1;
    if (reader->json.has_misfit || reader->json.misread)
        return note(reader, "unreadable value", 1, NULL, error) ? -1 : 1;
    return 1;
}

static int take_cut(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    /* The sampler writes while the job runs, and may have been killed with it. */
    (void)context;
    (void)text;
    (void)length;
    (void)offset;
    (void)error;
    return 0;
}

static int finish(struct node_reader *reader, struct error *error)
{
    if (close_all(reader, error))
        return -1;
    return reader->has_end ? 0 : note(reader, FORMAT_NOTE_OPEN, 0, NULL, error);
}

static const char first_key[] = "\"ms\"";
static const char *const other_keys[] = {"\"ncclprof_node\"", "\"end\"", NULL};

static int node_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                     struct error *error)
{
    struct node_reader reader = {.sink = sink, .last_ns = TIME_UNKNOWN, .since_ns = TIME_UNKNOWN};
    struct objects_end end = {.offset = 0};
    struct objects objects = {.first_key = first_key,
                              .other_keys = other_keys,
                              .context = &reader,
                              .object = take,
                              .cut = take_cut,
                              .sink = sink};
    snprintf(dialect, dialect_bytes, "node");
    json_init(&reader.json);
    intern_init(&reader.texts);
    intern_init(&reader.names);
    int status = objects_read(&objects, input, &end, error);
    if (status == 0 && !end.reading_failed)
        status = finish(&reader, error);
    json_release(&reader.json);
    intern_release(&reader.texts);
    intern_release(&reader.names);
    free(reader.series);
    buffer_release(&reader.host);
    return status || end.reading_failed ? -1 : 0;
}

enum { SURE = 95 };

static int node_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    return sniff_find(bytes, length, bytes, "\"ncclprof_node\"", first_key) ? SURE : 0;
}

const struct format format_node = {
    .name = "node",
    .version = 4,
    .description = "samples of a node that ncclprof record takes while a job runs",
    .unknown = "unknown metric",
    .sniff = node_sniff,
    .read = node_read,
};
