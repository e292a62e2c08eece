#include "format/inspector_line.h"

#include "input/number.h"

#include <string.h>

static int64_t integer(const struct json *json, const struct json_node *object, const char *key,
                       int64_t otherwise)
{
    json_int64(json, json_member(object, key), &otherwise);
    return otherwise;
}

static struct scan_text text_of(const struct json_node *object, const char *key)
{
    const char *text = json_text(json_member(object, key));
    return (struct scan_text){text, text ? strlen(text) : 0};
}

/* Whole microseconds since the epoch; 0 is unknown. */
static int64_t moment(const struct json *json, const struct json_node *object, const char *key)
{
    int64_t ns = 0;
    json_microseconds_ns(json, json_member(object, key), &ns);
    return ns > 0 ? ns : TIME_UNKNOWN;
}

static void read_header(const struct json *json, const struct json_node *root, struct inspector_line *line)
{
    const struct json_node *header = json_member(root, "header");
    const struct json_node *metadata = json_member(root, "metadata");
    struct scan_text id = text_of(header, "id");
    line->communicator_hash = 0;
    if (id.text)
        number_hexadecimal(id.text, id.length, &line->communicator_hash);
    line->communicator_name = text_of(header, "comm_name");
    line->rank = integer(json, header, "rank", COUNT_UNKNOWN);
    line->communicator_size = integer(json, header, "n_ranks", 0);
    line->node_count = integer(json, header, "nnodes", 0);
    line->revision = text_of(metadata, "git_rev");
    line->host = text_of(metadata, "hostname");
    line->pid = integer(json, metadata, "pid", COUNT_UNKNOWN);
}

enum inspector_timing inspector_timing_from_text(const char *text, size_t length)
{
    static const struct {
        const char *text;
        enum inspector_timing timing;
    } words[] = {{"kernel_gpu", TIMING_KERNEL_GPU},
                 {"kernel_cpu", TIMING_KERNEL_CPU},
                 {"collective_cpu", TIMING_OPERATION_CPU}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i].text) && memcmp(text, words[i].text, length) == 0)
            return words[i].timing;
    return TIMING_UNKNOWN;
}

static void read_channels(const struct json *json, const struct json_node *events,
                          struct inspector_line *line)
{
    const struct json_node *event = json_first(json_kind(events) == JSON_ARRAY ? events : NULL);
    for (; event && line->channel_count < INSPECTOR_CHANNELS; event = json_next(event)) {
        int64_t channel = integer(json, event, "channel_id", -1);
        if (channel < 0 || channel > INT32_MAX)
            continue;
        line->channels[line->channel_count++] = (struct kernel_channel){
            .channel = (int32_t)channel,
            .host = {moment(json, event, "kernel_start_ts"), moment(json, event, "kernel_stop_ts")},
        };
    }
}

/* Collectives and point-to-point operations have the same members under other names. */
struct keys {
    const char *record, *function, *sequence, *peer, *bytes, *duration, *timing, *start, *stop;
};

static const struct keys all_keys[] = {
    {"coll_perf", "coll", "coll_sn", "", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source",
     "coll_start_ts", "coll_stop_ts"},
    {"p2p_perf", "p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source",
     "p2p_start_ts", "p2p_stop_ts"},
};

static void read_record(const struct json *json, const struct json_node *record, const struct keys *keys,
                        struct inspector_line *line)
{
    const struct json_node *times = json_member(record, "event_trace_ts");
    struct scan_text function = text_of(record, keys->function);
    struct scan_text timing = text_of(record, keys->timing);
    int64_t duration_ns = 0;
    line->function = function_from_text(function.text ? function.text : "", function.length);
    line->sequence = integer(json, record, keys->sequence, COUNT_UNKNOWN);
    line->peer = integer(json, record, keys->peer, COUNT_UNKNOWN);
    line->bytes = integer(json, record, keys->bytes, COUNT_UNKNOWN);
    json_microseconds_ns(json, json_member(record, keys->duration), &duration_ns);
    line->duration_ns = duration_ns > 0 ? duration_ns : COUNT_UNKNOWN;
    line->timing = timing.text ? inspector_timing_from_text(timing.text, timing.length) : TIMING_UNKNOWN;
    line->tag = text_of(record, "user_tag");
    line->enqueue.begin_ns = moment(json, times, keys->start);
    line->enqueue.end_ns = moment(json, times, keys->stop);
    line->channel_count = 0;
    read_channels(json, json_member(times, "kernel_events"), line);
}

enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line)
{
    enum json_status status = json_parse(json, text, length);
    if (status == JSON_INVALID)
        status = json_parse_lenient(json, text, length);
    if (status == JSON_NO_MEMORY)
        return INSPECTOR_NO_MEMORY;
    if (status != JSON_OK || json_kind(json_root(json)) != JSON_OBJECT)
        return INSPECTOR_UNREADABLE;
    for (int i = 0; i < 2; i++) {
        const struct json_node *record = json_member(json_root(json), all_keys[i].record);
        if (!record)
            continue;
        line->is_point_to_point = i;
        read_header(json, json_root(json), line);
        read_record(json, record, &all_keys[i], line);
        return INSPECTOR_LINE;
    }
    return INSPECTOR_STRANGE;
}
