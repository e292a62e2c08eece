#include "format/inspector/decode.h"

#include "format/inspector/decode_proxy.h"
#include "format/member.h"

#include <string.h>

static struct scan_text text_of(struct json *json, const struct value *object, const char *key)
{
    const char *text = member_text(json, object, key);
    return (struct scan_text){text, text ? strlen(text) : 0};
}

/* Neither a communicator nor a rank: that is nobody. */
static void read_identity(struct json *json, const struct value *root, struct inspector_line *line)
{
    const struct value *header = member_object(json, root, "header");
    const struct value *metadata = member_object(json, root, "metadata");
    struct inspector_identity *identity = &line->identity;
    identity->communicator_hash = member_hexadecimal(json, header, "id");
    identity->communicator_name = text_of(json, header, "comm_name");
    identity->rank = member_natural(json, header, "rank", COUNT_UNKNOWN);
    identity->communicator_size = member_natural_or_none(json, header, "n_ranks");
    identity->node_count = member_natural_or_none(json, header, "nnodes");
    identity->version = text_of(json, metadata, "inspector_output_format_version");
    identity->revision = text_of(json, metadata, "git_rev");
    identity->host = text_of(json, metadata, "hostname");
    identity->pid = member_natural(json, metadata, "pid", COUNT_UNKNOWN);
    line->has_identity = header && (identity->communicator_hash || identity->rank != COUNT_UNKNOWN);
}

/* A channel that has no number, or one too many, is lost. */
static void read_channel(struct json *json, const struct value *event, const struct value *times,
                         struct inspector_line *line)
{
    int64_t channel = member_integer(json, event, "channel_id", -1);
    if (channel < 0 || channel > INT32_MAX || line->channel_count == INSPECTOR_CHANNELS) {
        json->misread = 1;
        return;
    }
    line->channels[line->channel_count++] = (struct kernel_channel){
        .channel = (int32_t)channel,
        .host = {member_moment(json, times, "kernel_start_ts"), member_moment(json, times, "kernel_stop_ts")},
    };
}

static void read_channels(struct json *json, const struct value *events, struct inspector_line *line)
{
    for (const struct value *event = value_begin(events); event < value_end(events); event++)
        read_channel(json, event, event, line);
}

/* Some recorders list the events below an operation, each with its own times; channels are among them. */
static void read_events(struct json *json, const struct value *events, struct inspector_line *line)
{
    for (const struct value *event = value_begin(events); event < value_end(events); event++) {
        const char *type = member_text(json, event, "event_type");
        const struct value *times = member_object(json, event, "event_trace_ts");
        if (type && strcmp(type, "KernelCh") == 0)
            read_channel(json, event, times ? times : event, line);
        else
            inspector_leave_out(line, "events");
    }
}

/* Collectives and point-to-point operations have the same members under other names. */
struct keys {
    const char *record, *function, *algorithm, *protocol, *sequence, *peer, *bytes, *duration, *timing,
        *start, *stop;
};

static const struct keys all_keys[] = {
    {"coll_perf", "coll", "coll_algo", "coll_proto", "coll_sn", "", "coll_msg_size_bytes",
     "coll_exec_time_us", "coll_timing_source", "coll_start_ts", "coll_stop_ts"},
    {"p2p_perf", "p2p", "p2p_algo", "p2p_proto", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes",
     "p2p_exec_time_us", "p2p_timing_source", "p2p_start_ts", "p2p_stop_ts"},
};

static int ends_in(const char *key, const char *end)
{
    size_t length = strlen(key);
    return length > strlen(end) && strcmp(key + length - strlen(end), end) == 0;
}

/* A time by its name, or something that may hold times. */
static int carries_times(const char *key, const struct value *value)
{
    return value->kind == VALUE_DICTIONARY || value->kind == VALUE_LIST ||
           (value->kind == VALUE_DECIMAL &&
            (ends_in(key, "_ts") || ends_in(key, "_us") || ends_in(key, "_ns")));
}

/* Counts what carries times and is none of the members that are kept. */
static void look_for_others(const struct value *object, const char *const *kept, size_t count,
                            struct inspector_line *line)
{
    for (const struct value *member = value_begin(object); member < value_end(object); member += 2) {
        size_t at = 0;
        while (at < count && strcmp(member->text, kept[at]) != 0)
            at++;
        if (at == count && carries_times(member->text, member + 1))
            inspector_leave_out(line, member->text);
    }
}

static void look_for_other_times(const struct value *record, const struct value *times,
                                 const struct keys *keys, struct inspector_line *line)
{
    const char *const of_record[] = {keys->duration, "event_trace_sn", "event_trace_ts", "events"};
    const char *const of_times[] = {keys->start, keys->stop, "kernel_events"};
    look_for_others(record, of_record, sizeof of_record / sizeof *of_record, line);
    look_for_others(times, of_times, sizeof of_times / sizeof *of_times, line);
}

static void read_record(struct json *json, const struct value *record, const struct keys *keys,
                        struct inspector_line *line)
{
    const struct value *times = member_object(json, record, "event_trace_ts");
    struct scan_text function = text_of(json, record, keys->function);
    struct scan_text timing = text_of(json, record, keys->timing);
    struct scan_text algorithm = text_of(json, record, keys->algorithm);
    struct scan_text protocol = text_of(json, record, keys->protocol);
    int64_t duration_ns = member_nanoseconds(json, record, keys->duration, 0);
    line->function = function_from_text(function.text ? function.text : "", function.length);
    line->algorithm =
        algorithm.text ? inspector_algorithm_from_text(algorithm.text, algorithm.length) : ALGORITHM_UNKNOWN;
    line->protocol =
        protocol.text ? inspector_protocol_from_text(protocol.text, protocol.length) : PROTOCOL_UNKNOWN;
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
    read_events(json, member_array(json, record, "events"), line);
    look_for_other_times(record, times, keys, line);
}

/* The one of the two that is there; a line has no room for both. */
static const struct value *find_operation(struct json *json, int *which)
{
    const struct value *found = member_object(json, &json->root, all_keys[0].record);
    const struct value *other = member_object(json, &json->root, all_keys[1].record);
    *which = !found;
    json->misread |= found && other;
    return found ? found : other;
}

/* Whether a line holds something besides header and metadata. */
static int has_other(const struct value *root)
{
    const struct value *member = value_begin(root);
    while (member < value_end(root) && (value_is(member, "header") || value_is(member, "metadata")))
        member += 2;
    return member < value_end(root);
}

/* No operation: a marker, part of a proxy operation, or nothing that is known. */
static enum inspector_status read_other(struct json *json, struct inspector_line *line)
{
    const struct value *proxy = member_object(json, &json->root, "proxy_trace");
    const struct value *stats = member_object(json, &json->root, "dump_stats");
    if (proxy) {
        line->record = INSPECTOR_PROXY;
        inspector_decode_proxy(json, proxy, line);
        return INSPECTOR_LINE;
    }
    line->own_drops = member_object(json, &json->root, "ncclprof_drops");
    line->own_stop = member_object(json, &json->root, "ncclprof_stopped");
    if (line->own_drops || line->own_stop) {
        line->record = INSPECTOR_OWN;
        return INSPECTOR_LINE;
    }
    if (!line->has_identity)
        return INSPECTOR_STRANGE;
    line->record = INSPECTOR_MARKER;
    line->is_strange = !stats && has_other(&json->root);
    inspector_decode_stats(json, stats, &line->stats);
    return INSPECTOR_LINE;
}

enum inspector_status inspector_decode(struct json *json, const char *text, size_t length,
                                       struct inspector_line *line)
{
    enum json_status status = json_parse(json, text, length);
    if (status == JSON_INVALID)
        status = json_parse_lenient(json, text, length);
    if (status == JSON_NO_MEMORY)
        return INSPECTOR_NO_MEMORY;
    if (status != JSON_OK || json->root.kind != VALUE_DICTIONARY)
        return INSPECTOR_UNREADABLE;
    const struct value *operation = find_operation(json, &line->is_point_to_point);
    line->unkept = 0;
    read_identity(json, &json->root, line);
    if (!operation)
        return read_other(json, line);
    line->record = INSPECTOR_OPERATION;
    read_record(json, operation, &all_keys[line->is_point_to_point], line);
    return INSPECTOR_LINE;
}
