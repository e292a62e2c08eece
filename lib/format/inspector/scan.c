/*
 * The fast way to read the lines that NCCL's Inspector prints of operations, and how Inspector files are
 * recognized and split.
 */
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static const struct inspector_identity inspector_nobody = {.rank = COUNT_UNKNOWN,
                                                           .communicator_size = COUNT_UNKNOWN,
                                                           .node_count = COUNT_UNKNOWN,
                                                           .pid = COUNT_UNKNOWN};

#define FIELD(words, type, member)                                       \
    {                                                                    \
        SCAN_WORDS(words), type, offsetof(struct inspector_line, member) \
    }
#define SKIP(words, type)          \
    {                              \
        SCAN_WORDS(words), type, 0 \
    }
#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

#define HEAD(words, type, member)                                                 \
    {                                                                             \
        SCAN_WORDS(words), type, offsetof(struct inspector_head, identity.member) \
    }

static const struct scan_field id_fields[] = {
    HEAD("{\"header\":{\"id\":\"0x", SCAN_HEXADECIMAL, communicator_hash)};

static const struct scan_field name_fields[] = {HEAD("\",\"comm_name\":\"", SCAN_TEXT, communicator_name)};

static const struct scan_field head_fields[] = {
    HEAD("\",\"rank\":", SCAN_NATURAL, rank),
    HEAD(",\"n_ranks\":", SCAN_NATURAL_OR_NONE, communicator_size),
    HEAD(",\"nnodes\":", SCAN_NATURAL_OR_NONE, node_count),
    HEAD("},\"metadata\":{\"inspector_output_format_version\":\"", SCAN_TEXT, version),
    HEAD("\",\"git_rev\":\"", SCAN_TEXT, revision),
    SKIP("\",\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":", SCAN_NOTHING),
};

static const struct scan_field writer_fields[] = {
    FIELD("", SCAN_MICROSECONDS, dumped_ns),
    FIELD(",\"hostname\":\"", SCAN_TEXT, identity.host),
    FIELD("\",\"pid\":", SCAN_NATURAL, identity.pid),
    SKIP("},", SCAN_NOTHING),
};

static const struct scan_field collective_fields[] = {
    FIELD("\"coll_perf\":{\"coll\":\"", SCAN_FUNCTION, function),
};

/* Since format v4.1. */
struct ways {
    struct scan_text algorithm;
    struct scan_text protocol;
};

static const struct scan_field way_fields[] = {
    {SCAN_WORDS("\",\"coll_algo\":\""), SCAN_TEXT, offsetof(struct ways, algorithm)},
    {SCAN_WORDS("\",\"coll_proto\":\""), SCAN_TEXT, offsetof(struct ways, protocol)},
};

static const struct scan_field collective_figure_fields[] = {
    FIELD("\",\"coll_sn\":", SCAN_NATURAL, sequence),
    FIELD(",\"coll_msg_size_bytes\":", SCAN_NATURAL, bytes),
    FIELD(",\"coll_exec_time_us\":", SCAN_MICROSECONDS, duration_ns),
    FIELD(",\"coll_timing_source\":\"", SCAN_TEXT, tag), /* borrowed temporarily */
    SKIP("\",\"coll_algobw_gbs\":", SCAN_SKIP_DECIMAL),
    SKIP(",\"coll_busbw_gbs\":", SCAN_SKIP_DECIMAL),
};

static const struct scan_field pair_fields[] = {
    FIELD("\"p2p_perf\":{\"p2p\":\"", SCAN_FUNCTION, function),
    FIELD("\",\"p2p_sn\":", SCAN_NATURAL, sequence),
    FIELD(",\"p2p_peer\":", SCAN_NATURAL_OR_NONE, peer),
    FIELD(",\"p2p_msg_size_bytes\":", SCAN_NATURAL, bytes),
    FIELD(",\"p2p_exec_time_us\":", SCAN_MICROSECONDS, duration_ns),
    FIELD(",\"p2p_timing_source\":\"", SCAN_TEXT, tag),
    SKIP("\",\"p2p_algobw_gbs\":", SCAN_SKIP_DECIMAL),
    SKIP(",\"p2p_busbw_gbs\":", SCAN_SKIP_DECIMAL),
};

static const struct scan_field tag_fields[] = {FIELD(",\"user_tag\":\"", SCAN_TEXT, tag),
                                               SKIP("\"", SCAN_NOTHING)};

/* The order of events within an operation, which is skipped; then their times. */
static const struct scan_field collective_order_fields[] = {
    SKIP(",\"event_trace_sn\":{\"coll_start_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"coll_stop_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"kernel_events\":[", SCAN_NOTHING),
};

static const struct scan_field collective_time_fields[] = {
    FIELD("]},\"event_trace_ts\":{\"coll_start_ts\":", SCAN_MICROSECONDS, enqueue.begin_ns),
    FIELD(",\"coll_stop_ts\":", SCAN_MICROSECONDS, enqueue.end_ns),
    SKIP(",\"kernel_events\":[", SCAN_NOTHING),
};

static const struct scan_field pair_order_fields[] = {
    SKIP(",\"event_trace_sn\":{\"p2p_start_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"p2p_stop_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"kernel_events\":[", SCAN_NOTHING),
};

static const struct scan_field pair_time_fields[] = {
    FIELD("]},\"event_trace_ts\":{\"p2p_start_ts\":", SCAN_MICROSECONDS, enqueue.begin_ns),
    FIELD(",\"p2p_stop_ts\":", SCAN_MICROSECONDS, enqueue.end_ns),
    SKIP(",\"kernel_events\":[", SCAN_NOTHING),
};

static const struct scan_field channel_order_fields[] = {
    SKIP("{\"channel_id\":", SCAN_SKIP_INTEGER),
    SKIP(",\"kernel_start_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"kernel_stop_sn\":", SCAN_SKIP_INTEGER),
    SKIP(",\"kernel_record_sn\":", SCAN_SKIP_INTEGER),
    SKIP("}", SCAN_NOTHING),
};

/* A channel as printed in its line, before its range is checked. */
struct channel {
    int64_t number;
    struct interval_ns host;
};

static const struct scan_field channel_time_fields[] = {
    {SCAN_WORDS("{\"channel_id\":"), SCAN_INTEGER, offsetof(struct channel, number)},
    {SCAN_WORDS(",\"kernel_start_ts\":"), SCAN_MICROSECONDS, offsetof(struct channel, host.begin_ns)},
    {SCAN_WORDS(",\"kernel_stop_ts\":"), SCAN_MICROSECONDS, offsetof(struct channel, host.end_ns)},
    SKIP(",\"kernel_record_ts\":", SCAN_SKIP_UNSIGNED),
    SKIP("}", SCAN_NOTHING),
};

void inspector_scanner_init(struct inspector_scanner *scanner)
{
    for (int i = 0; i < INSPECTOR_HEADS; i++)
        scanner->heads[i].length = 0;
    scanner->latest = 0;
}

static const char *scan_new_head(const char *at, const char *end, struct inspector_head *head)
{
    const char *past;
    head->identity = inspector_nobody;
    at = scan_fields(at, end, id_fields, COUNT(id_fields), head);
    if (!at)
        return NULL;
    past = scan_fields(at, end, name_fields, COUNT(name_fields), head);
    return scan_fields(past ? past : at, end, head_fields, COUNT(head_fields), head);
}

/* Finds a known line beginning, or replaces the oldest with the one from the text. */
static const struct inspector_head *find_head(struct inspector_scanner *scanner, const char *at,
                                              const char *end)
{
    for (unsigned i = 0; i < INSPECTOR_HEADS; i++) {
        unsigned number = (scanner->latest + i) % INSPECTOR_HEADS;
        const struct inspector_head *head = &scanner->heads[number];
        if (head->length && scan_words(at, end, head->text, head->length)) {
            scanner->latest = number;
            return head;
        }
    }
    unsigned oldest = (scanner->latest + INSPECTOR_HEADS - 1) % INSPECTOR_HEADS;
    struct inspector_head *head = &scanner->heads[oldest];
    const char *past = scan_new_head(at, end, head);
    head->length = 0;
    if (!past || past - at > INSPECTOR_HEAD_BYTES)
        return NULL;
    head->length = (size_t)(past - at);
    memcpy(head->text, at, head->length);
    scan_new_head(head->text, head->text + head->length, head);
    scanner->latest = oldest;
    return head;
}

static const char *scan_header(struct inspector_scanner *scanner, const char *at, const char *end,
                               struct inspector_line *line)
{
    const struct inspector_head *head = find_head(scanner, at, end);
    if (!head)
        return NULL;
    line->identity = head->identity;
    return scan_table(at + head->length, end, writer_fields, COUNT(writer_fields), line);
}

static const char *scan_collective(const char *at, const char *end, struct inspector_line *line)
{
    struct ways ways = {{NULL, 0}, {NULL, 0}};
    at = scan_table(at, end, collective_fields, COUNT(collective_fields), line);
    const char *past = at ? scan_table(at, end, way_fields, COUNT(way_fields), &ways) : NULL;
    if (past) {
        line->algorithm = inspector_algorithm_from_text(ways.algorithm.text, ways.algorithm.length);
        line->protocol = inspector_protocol_from_text(ways.protocol.text, ways.protocol.length);
        at = past;
    }
    return at ? scan_table(at, end, collective_figure_fields, COUNT(collective_figure_fields), line) : NULL;
}

static const char *scan_record(const char *at, const char *end, struct inspector_line *line)
{
    line->peer = COUNT_UNKNOWN;
    line->algorithm = ALGORITHM_UNKNOWN;
    line->protocol = PROTOCOL_UNKNOWN;
    at = line->is_point_to_point ? scan_table(at, end, pair_fields, COUNT(pair_fields), line)
                                 : scan_collective(at, end, line);
    if (!at)
        return NULL;
    if (line->duration_ns == TIME_UNKNOWN)
        line->duration_ns = COUNT_UNKNOWN;
    line->timing = inspector_timing_from_text(line->tag.text, line->tag.length);
    line->tag = (struct scan_text){NULL, 0};
    return at;
}

static int begins_object(const char *at, const char *end)
{
    return at < end && *at == '{';
}

/* Whether another object follows. Moves past the comma before it. */
static int goes_on(const char **at, const char *end)
{
    int does = *at < end && **at == ',' && begins_object(*at + 1, end);
    *at += does;
    return does;
}

static const char *scan_orders(const char *at, const char *end, struct inspector_line *line)
{
    int more = begins_object(at, end);
    while (more) {
        at = scan_table(at, end, channel_order_fields, COUNT(channel_order_fields), line);
        if (!at)
            return NULL;
        more = goes_on(&at, end);
    }
    return at;
}

static const char *scan_channels(const char *at, const char *end, struct inspector_line *line)
{
    struct channel channel;
    int more = begins_object(at, end);
    while (more) {
        at = scan_table(at, end, channel_time_fields, COUNT(channel_time_fields), &channel);
        if (!at || channel.number < 0 || channel.number > INT32_MAX ||
            line->channel_count == INSPECTOR_CHANNELS)
            return NULL;
        line->channels[line->channel_count++] =
            (struct kernel_channel){.channel = (int32_t)channel.number, .host = channel.host};
        more = goes_on(&at, end);
    }
    return scan_words(at, end, SCAN_WORDS("]}"));
}

/* Reads the order of events and their times, which only verbose files have. */
static const char *scan_trace(const char *at, const char *end, struct inspector_line *line)
{
    at = line->is_point_to_point
             ? scan_table(at, end, pair_order_fields, COUNT(pair_order_fields), line)
             : scan_table(at, end, collective_order_fields, COUNT(collective_order_fields), line);
    if (at)
        at = scan_orders(at, end, line);
    if (at)
        at = line->is_point_to_point
                 ? scan_table(at, end, pair_time_fields, COUNT(pair_time_fields), line)
                 : scan_table(at, end, collective_time_fields, COUNT(collective_time_fields), line);
    return at ? scan_channels(at, end, line) : NULL;
}

/* Reads up to the key of the record. */
static const char *scan_beginning(struct inspector_scanner *scanner, const char *text, const char *end,
                                  struct inspector_line *line)
{
    if (end - text < 4 || *text != '{')
        return NULL;
    line->has_identity = text[2] == 'h';
    if (line->has_identity)
        return scan_header(scanner, text, end, line);
    line->identity = inspector_nobody;
    line->dumped_ns = TIME_UNKNOWN;
    return text + 1;
}

const char *inspector_scan(struct inspector_scanner *scanner, const char *text, const char *end,
                           struct inspector_line *line)
{
    const char *at = scan_beginning(scanner, text, end, line);
    const char *past;
    if (!at || end - at < 2)
        return NULL;
    line->record = INSPECTOR_OPERATION;
    line->unkept = 0;
    line->is_point_to_point = at[1] == 'p';
    line->channel_count = 0;
    line->enqueue = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    at = scan_record(at, end, line);
    if (!at)
        return NULL;
    past = scan_table(at, end, tag_fields, COUNT(tag_fields), line);
    if (past)
        at = past;
    else
        line->tag = (struct scan_text){NULL, 0};
    if (at < end && *at == ',' && !(at = scan_trace(at, end, line)))
        return NULL;
    return scan_words(at, end, SCAN_WORDS("}}"));
}

static int has(const char *bytes, size_t length, const char *what, const char *first_key)
{
    return sniff_find(bytes, length, bytes, what, first_key) != NULL;
}

/* Rotation may have removed the beginning of a log, and with it the marker of the first remaining lines. */

/* <host>-pid<pid>.log, and the names that log rotation makes of it. */
const char *inspector_why_nothing(const char *path, uint64_t bytes)
{
    const char *slash = strrchr(path, '/');
    const char *pid = strstr(slash ? slash : path, "-pid");
    return pid && strstr(pid, ".log") ? "NVIDIA's Inspector writes when a communicator ends, or periodically "
                                        "if NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS is set (to 500, "
                                        "for example); without that, a job that is killed leaves nothing"
                                      : NULL;
}

int inspector_sniff(const char *bytes, size_t length, const char *path)
{
    static const struct {
        const char *key, *member;
    } records[] = {{"\"coll_perf\"", "\"coll_sn\""},
                   {"\"p2p_perf\"", "\"p2p_sn\""},
                   {"\"proxy_trace\"", "\"record_type\""}};
    if (has(bytes, length, "\"inspector_output_format_version\"", "\"header\""))
        return 100;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (has(bytes, length, records[i].key, "\"header\"") ||
            has(bytes, length, records[i].member, records[i].key))
            return 60;
    return 0;
}

static const char line_begin[] = "{\"header\"";

static int begins_with(const char *bytes, size_t length, const char *words)
{
    return length >= strlen(words) && memcmp(bytes, words, strlen(words)) == 0;
}

/* The length of the whole line at this place, with its newline; 0 if it is not a known record. */
static size_t own_line(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    size_t line = newline ? (size_t)(newline - bytes) : 0;
    if (line < sizeof line_begin || memcmp(newline - 2, "}}", 2) != 0 ||
        !(begins_with(bytes, line, line_begin) || begins_with(bytes, line, "{\"coll_perf\"") ||
          begins_with(bytes, line, "{\"p2p_perf\"")))
        return 0;
    return line + 1;
}

/*
 * Whether the line is a single record that can be compared with the next one. `whose`: it has an identity of
 * its own, and if it is not a marker, no later line belongs to it.
 */
static int is_record(const char *text, size_t length, int whose)
{
    struct json json;
    struct inspector_line *line = calloc(1, sizeof *line);
    json_init(&json);
    int is = line && inspector_decode(&json, text, length, line) == INSPECTOR_LINE &&
             (!whose || line->has_identity);
    json_release(&json);
    free(line);
    return is;
}

/*
 * Proxy operations come in several records, far apart from each other and from their operation, so such a
 * file cannot be split.
 */
static int traces_proxies(const char *bytes, size_t length)
{
    static const char *const words[] = {"\"proxy_records\"", "\"proxy_trace\""};
    return memmem(bytes, length, words[0], strlen(words[0])) ||
           memmem(bytes, length, words[1], strlen(words[1]));
}

/* The format version in the header of a line, as it stands there; without text if the line has no header. */
static struct scan_text version_in(const char *line, size_t length)
{
    static const char key[] = "\"inspector_output_format_version\"";
    const char *begin = memmem(line, length, key, strlen(key));
    const char *end = begin ? memchr(begin, ',', (size_t)(line + length - begin)) : NULL;
    return end ? (struct scan_text){begin, (size_t)(end - begin)} : (struct scan_text){NULL, 0};
}

/*
 * Between two different lines with one record each, the only state is the source process of the following
 * lines, which the second line sets again, and the format version, which is noted where it changes. So a
 * place where the version is known to stay is preferred, and one where it changes is none.
 */
size_t inspector_cut(const char *bytes, size_t length)
{
    const char *newline = traces_proxies(bytes, length) ? NULL : memchr(bytes, '\n', length);
    struct scan_text version = {NULL, 0};
    size_t uncertain = 0;
    while (newline) {
        size_t at = (size_t)(newline + 1 - bytes);
        size_t first = own_line(bytes + at, length - at);
        size_t second = first ? own_line(bytes + at + first, length - at - first) : 0;
        const char *next = bytes + at + first;
        int differ = first != second || memcmp(bytes + at, next, first) != 0;
        struct scan_text before = version_in(bytes + at, first), after = version_in(next, second);
        version = before.text ? before : version;
        if (second && differ && is_record(bytes + at, first, 0) && is_record(next, second, 1)) {
            if (after.length && version.length == after.length &&
                memcmp(version.text, after.text, after.length) == 0)
                return at + first;
            if (!version.text && !uncertain)
                uncertain = at + first;
        }
        newline = memchr(bytes + at, '\n', length - at);
    }
    return uncertain;
}
