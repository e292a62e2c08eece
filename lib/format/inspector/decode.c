#include "format/inspector/line.h"

#include "format/member.h"

#include <string.h>

static struct scan_text text_of(struct json *json, const struct json_node *object, const char *key)
{
    const char *text = member_text(json, object, key);
    return (struct scan_text){text, text ? strlen(text) : 0};
}

static void read_header(struct json *json, const struct json_node *root, struct inspector_line *line)
{
    const struct json_node *header = member_object(json, root, "header");
    const struct json_node *metadata = member_object(json, root, "metadata");
    line->communicator_hash = member_hexadecimal(json, header, "id");
    line->communicator_name = text_of(json, header, "comm_name");
    line->rank = member_natural(json, header, "rank", COUNT_UNKNOWN);
    line->communicator_size = member_natural_or_none(json, header, "n_ranks");
    line->node_count = member_natural_or_none(json, header, "nnodes");
    line->revision = text_of(json, metadata, "git_rev");
    line->host = text_of(json, metadata, "hostname");
    line->pid = member_natural(json, metadata, "pid", COUNT_UNKNOWN);
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

/* A channel that has no number, or one too many, is lost. */
static void read_channels(struct json *json, const struct json_node *events, struct inspector_line *line)
{
    for (const struct json_node *event = json_first(events); event; event = json_next(event)) {
        int64_t channel = member_integer(json, event, "channel_id", -1);
        if (channel < 0 || channel > INT32_MAX || line->channel_count == INSPECTOR_CHANNELS) {
            json->misread = 1;
            continue;
        }
        line->channels[line->channel_count++] = (struct kernel_channel){
            .channel = (int32_t)channel,
            .host = {member_moment(json, event, "kernel_start_ts"),
                     member_moment(json, event, "kernel_stop_ts")},
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

static void read_record(struct json *json, const struct json_node *record, const struct keys *keys,
                        struct inspector_line *line)
{
    const struct json_node *times = member_object(json, record, "event_trace_ts");
    struct scan_text function = text_of(json, record, keys->function);
    struct scan_text timing = text_of(json, record, keys->timing);
    int64_t duration_ns = member_nanoseconds(json, record, keys->duration, 0);
    line->function = function_from_text(function.text ? function.text : "", function.length);
    line->sequence = member_natural(json, record, keys->sequence, COUNT_UNKNOWN);
    line->peer = member_natural_or_none(json, record, keys->peer);
    line->bytes = member_natural(json, record, keys->bytes, COUNT_UNKNOWN);
    line->duration_ns = duration_ns > 0 ? duration_ns : COUNT_UNKNOWN;
    line->timing = timing.text ? inspector_timing_from_text(timing.text, timing.length) : TIMING_UNKNOWN;
    line->tag = text_of(json, record, "user_tag");
    line->enqueue.begin_ns = member_moment(json, times, keys->start);
    line->enqueue.end_ns = member_moment(json, times, keys->stop);
    line->channel_count = 0;
    read_channels(json, member_array(json, times, "kernel_events"), line);
}

/* The one of the two that is there; a line has no room for both. */
static const struct json_node *find_record(struct json *json, int *which)
{
    const struct json_node *found = member_object(json, json_root(json), all_keys[0].record);
    const struct json_node *other = member_object(json, json_root(json), all_keys[1].record);
    *which = !found;
    json->misread |= found && other;
    return found ? found : other;
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
    const struct json_node *record = find_record(json, &line->is_point_to_point);
    if (!record)
        return INSPECTOR_STRANGE;
    read_header(json, json_root(json), line);
    read_record(json, record, &all_keys[line->is_point_to_point], line);
    return INSPECTOR_LINE;
}
