#include "format/inspector/decode_proxy.h"

#include "format/member.h"

#include <string.h>

static int64_t add(int64_t left, int64_t right)
{
    return left > INT64_MAX - right ? INT64_MAX : left + right;
}

/* Lines of whatever kind belong to a marker: "coll_records", "p2p_records", "proxy_records" and what may
 * come. */
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

void inspector_decode_stats(struct json *json, const struct value *stats, struct inspector_stats *into)
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

/* 1 or 0 for one of two words; COUNT_UNKNOWN for any other. */
static int which_word(struct json *json, const struct value *object, const char *key, const char *yes,
                      const char *no)
{
    const char *text = member_text(json, object, key);
    if (!text)
        return COUNT_UNKNOWN;
    return strcmp(text, yes) == 0 ? 1 : strcmp(text, no) == 0 ? 0 : COUNT_UNKNOWN;
}

/* A record that says durations only cannot be placed in time. */
static void look_for_durations(const struct value *record, struct inspector_line *line)
{
    for (const struct value *member = value_begin(record); member < value_end(record); member += 2)
        if (member[1].kind == VALUE_DECIMAL && member->length > 3 &&
            strcmp(member->text + member->length - 3, "_us") == 0)
            inspector_leave_out(line, member->text);
}

void inspector_decode_proxy(struct json *json, const struct value *record, struct inspector_line *line)
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

/* The states of a step, in the order in which they are entered, and what each waits for. */
struct state {
    const char *key;
    enum wait_kind wait;
};

enum { STATES = 3 };

static const struct state send_states[STATES] = {
    {"send_gpu_wait_ts", WAIT_GPU}, {"send_peer_wait_ts", WAIT_PEER}, {"send_wait_ts", WAIT_NETWORK}};
static const struct state receive_states[STATES] = {
    {"recv_wait_ts", WAIT_NETWORK}, {"recv_flush_wait_ts", WAIT_FLUSH}, {"recv_gpu_wait_ts", WAIT_GPU}};

/* A wait ends where the next state is entered. Where that was not noted, or the clock went back: unknown. */
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
