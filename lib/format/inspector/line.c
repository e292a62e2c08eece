/*
 * Reads one line of an Inspector file from any JSON: the members of operations, markers and proxy records.
 * Slow, but complete; scan.c reads most lines.
 */
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

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

static int is_unknown_word(const char *text, size_t length)
{
    return length == 7 && memcmp(text, "unknown", 7) == 0;
}

enum algorithm inspector_algorithm_from_text(const char *text, size_t length)
{
    return is_unknown_word(text, length) ? ALGORITHM_UNKNOWN : algorithm_from_text(text, length);
}

enum protocol inspector_protocol_from_text(const char *text, size_t length)
{
    return is_unknown_word(text, length) ? PROTOCOL_UNKNOWN : protocol_from_text(text, length);
}

/* Counts a member that contains times and is not stored. */
static void inspector_skip(struct inspector_line *line, const char *key)
{
    if (line->unkept++ == 0)
        line->first_unkept = (struct scan_text){key, strlen(key)};
}

static int64_t add(int64_t left, int64_t right)
{
    return left > INT64_MAX - right ? INT64_MAX : left + right;
}

/* All kinds of lines belong to a marker: "coll_records", "p2p_records", "proxy_records" and future kinds. */
static int64_t count_records(struct json *json, const struct value *stats)
{
    static const char end[] = "_records";
    int64_t records = COUNT_UNKNOWN;
    for (const struct value *member = value_begin(stats); member < value_end(stats); member += 2) {
        const char *key = member->text;
        size_t length = member->length;
        if (length < sizeof end || strcmp(key + length - (sizeof end - 1), end) != 0)
            continue;
        int64_t count = member_natural(json, stats, key, COUNT_UNKNOWN);
        if (count >= 0)
            records = add(records < 0 ? 0 : records, count);
    }
    return records;
}

/* Members of a line: the counts of a marker, and the members of a proxy record. */
static void inspector_decode_stats(struct json *json, const struct value *stats, struct inspector_stats *into)
{
    static const struct {
        const char *total, *since;
    } keys[INSPECTOR_DROPS] = {
        [DROP_COLLECTIVE] = {"coll_dropped_total", "coll_dropped_since_last_dump"},
        [DROP_PAIR] = {"p2p_dropped_total", "p2p_dropped_since_last_dump"},
        [DROP_PROXY_RECORD] = {"proxy_dropped_total", "proxy_dropped_since_last_dump"},
        [DROP_PROXY_OPERATION] = {"proxy_ops_dropped_total", "proxy_ops_dropped_since_last_dump"},
        [DROP_FOREIGN_PROXY] = {"proxy_pxn_skipped_process_total", ""},
    };
    into->records = count_records(json, stats);
    into->traces_proxies = member_natural(json, stats, "proxy_records", COUNT_UNKNOWN) != COUNT_UNKNOWN;
    for (int i = 0; i < INSPECTOR_DROPS; i++) {
        into->dropped[i].total = member_natural(json, stats, keys[i].total, COUNT_UNKNOWN);
        into->dropped[i].since = member_natural(json, stats, keys[i].since, COUNT_UNKNOWN);
    }
}

static enum inspector_part part_from_text(const char *text)
{
    static const struct {
        const char *text;
        enum inspector_part part;
    } words[] = {{"proxy_op_start", PART_START},
                 {"proxy_op_segment", PART_SEGMENT},
                 {"proxy_step", PART_STEP},
                 {"proxy_op", PART_END}};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i].text) == 0)
            return words[i].part;
    return PART_UNKNOWN;
}

/* Returns 1 or 0 for one of two words; COUNT_UNKNOWN for any other. */
static int which_word(struct json *json, const struct value *object, const char *key, const char *yes,
                      const char *no)
{
    const char *text = member_text(json, object, key);
    if (!text)
        return COUNT_UNKNOWN;
    return strcmp(text, yes) == 0 ? 1 : strcmp(text, no) == 0 ? 0 : COUNT_UNKNOWN;
}

/* A record with durations but no times cannot be placed on the time axis. */
static void look_for_durations(const struct value *record, struct inspector_line *line)
{
    for (const struct value *member = value_begin(record); member < value_end(record); member += 2)
        if (member[1].kind == VALUE_DECIMAL && member->length > 3 &&
            strcmp(member->text + member->length - 3, "_us") == 0)
            inspector_skip(line, member->text);
}

static void inspector_decode_proxy(struct json *json, const struct value *record, struct inspector_line *line)
{
    struct inspector_proxy *proxy = &line->proxy;
    const struct value *times = member_object(json, record, "event_trace_ts");
    const struct value *steps = member_array(json, record, "steps");
    *proxy = (struct inspector_proxy){
        .part = part_from_text(member_text(json, record, "record_type")),
        .parent_is_pair = which_word(json, record, "parent_type", "p2p", "coll"),
        .parent_sequence = member_natural(json, record, "parent_sn", COUNT_UNKNOWN),
        .number = member_natural(json, record, "proxy_op_sn", COUNT_UNKNOWN),
        .channel = member_natural(json, record, "channel_id", COUNT_UNKNOWN),
        .peer = member_natural_or_none(json, record, "peer"),
        .is_receive = which_word(json, record, "direction", "recv", "send"),
        .step_count = member_natural(json, record, "n_steps", COUNT_UNKNOWN),
        .chunk_bytes = member_natural(json, record, "chunk_size_bytes", COUNT_UNKNOWN),
        .transferred_bytes = member_natural(json, record, "trans_size_bytes", COUNT_UNKNOWN),
        .dropped_steps = member_natural(json, record, "n_steps_dropped", 0),
        .begin_ns = member_moment(json, times, "proxy_op_start_ts"),
        .progress_ns = member_moment(json, times, "proxy_op_in_progress_ts"),
        .end_ns = member_moment(json, times, "proxy_op_stop_ts"),
        .steps = value_begin(steps),
        .steps_end = value_end(steps),
    };
    if (proxy->part == PART_STEP) {
        proxy->steps = record;
        proxy->steps_end = record + 1;
    }
    if (!times && proxy->part != PART_SEGMENT)
        look_for_durations(record, line);
}

/* The states of a step, in the order in which they are entered, and the wait in each. */
struct state {
    const char *key;
    enum wait_kind wait;
};

enum { STATES = 3 };

static const struct state send_states[STATES] = {
    {"send_gpu_wait_ts", WAIT_GPU}, {"send_peer_wait_ts", WAIT_PEER}, {"send_wait_ts", WAIT_NETWORK}};
static const struct state receive_states[STATES] = {
    {"recv_wait_ts", WAIT_NETWORK}, {"recv_flush_wait_ts", WAIT_FLUSH}, {"recv_gpu_wait_ts", WAIT_GPU}};

/* A wait ends when the next state is entered. Unknown if that time is missing, or if the clock went back. */
static void read_waits(struct json *json, const struct value *times, const struct state *states,
                       struct inspector_step *step)
{
    int64_t next_ns = step->end_ns;
    for (int i = STATES - 1; i >= 0; i--) {
        struct interval_ns *wait = &step->step.wait[states[i].wait];
        wait->begin_ns = member_moment(json, times, states[i].key);
        wait->end_ns = wait->begin_ns != TIME_UNKNOWN && next_ns >= wait->begin_ns ? next_ns : TIME_UNKNOWN;
        next_ns = wait->begin_ns;
    }
}

void inspector_step(struct json *json, const struct inspector_proxy *proxy, const struct value *node,
                    struct inspector_step *step)
{
    const struct value *times = member_object(json, node, "event_trace_ts");
    *step = (struct inspector_step){.step.step = member_natural(json, node, "step", 0)};
    for (int i = 0; i < WAIT_KINDS; i++)
        step->step.wait[i] = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    step->begin_ns = member_moment(json, times, "proxy_step_start_ts");
    step->end_ns = member_moment(json, times, "proxy_step_stop_ts");
    read_waits(json, times, proxy->is_receive == 1 ? receive_states : send_states, step);
}

static struct scan_text text_of(struct json *json, const struct value *object, const char *key)
{
    const char *text = member_text(json, object, key);
    return (struct scan_text){text, text ? strlen(text) : 0};
}

/* Without a communicator or a rank there is no identity. */
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
    line->dumped_ns = member_moment(json, metadata, "dump_timestamp_us");
    line->has_identity = header && (identity->communicator_hash || identity->rank != COUNT_UNKNOWN);
}

/* A channel without a number, or beyond the limit, is lost. */
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

/* Some recorders list all events of an operation, each with its times; kernel channels are among them. */
static void read_events(struct json *json, const struct value *events, struct inspector_line *line)
{
    for (const struct value *event = value_begin(events); event < value_end(events); event++) {
        const char *type = member_text(json, event, "event_type");
        const struct value *times = member_object(json, event, "event_trace_ts");
        if (type && strcmp(type, "KernelCh") == 0)
            read_channel(json, event, times ? times : event, line);
        else
            inspector_skip(line, "events");
    }
}

/* Collectives and point-to-point operations have the same members under different names. */
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

/* Whether a member is a time, by its name, or may contain times. */
static int carries_times(const char *key, const struct value *value)
{
    return value->kind == VALUE_DICTIONARY || value->kind == VALUE_LIST ||
           (value->kind == VALUE_DECIMAL &&
            (ends_in(key, "_ts") || ends_in(key, "_us") || ends_in(key, "_ns")));
}

/* Counts members that contain times and are not in `kept`. */
static void look_for_others(const struct value *object, const char *const *kept, size_t count,
                            struct inspector_line *line)
{
    for (const struct value *member = value_begin(object); member < value_end(object); member += 2) {
        size_t at = 0;
        while (at < count && strcmp(member->text, kept[at]) != 0)
            at++;
        if (at == count && carries_times(member->text, member + 1))
            inspector_skip(line, member->text);
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

/* The operation under either of the two keys; a line is read as only one. */
static const struct value *find_operation(struct json *json, int *which)
{
    const struct value *found = member_object(json, &json->root, all_keys[0].record);
    const struct value *other = member_object(json, &json->root, all_keys[1].record);
    *which = !found;
    json->misread |= found && other;
    return found ? found : other;
}

/* Whether a line has anything besides header and metadata. */
static int has_other(const struct value *root)
{
    const struct value *member = value_begin(root);
    while (member < value_end(root) && (value_is(member, "header") || value_is(member, "metadata")))
        member += 2;
    return member < value_end(root);
}

/* Reads a line without an operation: a marker, a part of a proxy operation, or an unknown record. */
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
        return INSPECTOR_UNKNOWN_RECORD;
    line->record = INSPECTOR_MARKER;
    line->is_unknown_record = !stats && has_other(&json->root);
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
