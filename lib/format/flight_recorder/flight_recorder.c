/*
 * The format "flight_recorder": dumps of PyTorch's Flight Recorder, as pickles or JSON, of any version:
 * process groups, calls in the order of their records, and the progress of each group. Keys are read if they
 * are there, independent of the version (torch/csrc/distributed/c10d/FlightRecorder.hpp). Values and texts
 * are borrowed from the parsed tree.
 */
#include "format/flight_recorder/flight_recorder.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump_rank {
    int64_t rank;          /* global; COUNT_UNKNOWN */
    int name_is_otherwise; /* the file's name ends with another number, which its content excludes */
};

/* In how many lists of group members each rank is. Groups that share a list are counted once. */
struct presence {
    const struct dump *dump;
    struct map lists_of; /* rank -> number of lists, and 1 + the last of them */
    int64_t lists;
};

enum { COUNT_SHIFT = 32 };

static int note_list(struct presence *presence, int32_t number)
{
    const struct rank_list *list = &presence->dump->shared.lists[number];
    for (size_t i = 0; i < list->count; i++) {
        int64_t *of = map_put(&presence->lists_of, (struct map_key){{(uint64_t)list->ranks[i]}}, 0, NULL);
        if (!of)
            return -1;
        if ((*of & UINT32_MAX) != (int64_t)number + 1)
            *of = (((*of >> COUNT_SHIFT) + 1) << COUNT_SHIFT) | ((int64_t)number + 1);
    }
    presence->lists++;
    return 0;
}

/* The lists of the groups, each once; one is_used flag per list. NULL if memory is out. */
static unsigned char *used_lists(const struct dump *dump)
{
    unsigned char *is_used = array_new(dump->shared.list_count, 1);
    for (size_t i = 0; is_used && i < dump->group_count; i++)
        if (dump->groups[i].list >= 0)
            is_used[dump->groups[i].list] = 1;
    return is_used;
}

static int note_lists(struct presence *presence, const unsigned char *is_used)
{
    for (size_t i = 0; i < presence->dump->shared.list_count; i++)
        if (is_used[i] && note_list(presence, (int32_t)i))
            return -1;
    return 0;
}

static int is_in(const struct rank_list *list, int64_t rank)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ranks[i] == rank)
            return 1;
    return 0;
}

static int is_in_all(const struct dump *dump, const unsigned char *is_used, int64_t rank)
{
    for (size_t i = 0; i < dump->shared.list_count; i++)
        if (is_used[i] && !is_in(&dump->shared.lists[i], rank))
            return 0;
    return 1;
}

/* The rank according to the names of its sends and receives. */
static int64_t rank_by_calls(const struct dump *dump)
{
    for (size_t i = 0; i < dump->group_count; i++) {
        const struct dump_group *group = &dump->groups[i];
        struct rank_list members = dump_members(dump, group);
        if (members.ranks && group->own_rank >= 0 && group->own_rank < (int64_t)members.count)
            return members.ranks[group->own_rank];
    }
    return COUNT_UNKNOWN;
}

static struct rank_list least_list(const struct dump *dump)
{
    struct rank_list least = {.ranks = NULL};
    for (size_t i = 0; i < dump->group_count; i++) {
        struct rank_list members = dump_members(dump, &dump->groups[i]);
        if (members.ranks && (!least.ranks || members.count < least.count))
            least = members;
    }
    return least;
}

/* The only rank that is in all groups. */
static int64_t only_common(const struct presence *presence)
{
    struct rank_list least = least_list(presence->dump);
    int64_t rank = COUNT_UNKNOWN;
    for (size_t i = 0; i < least.count; i++) {
        const int64_t *of = map_get(&presence->lists_of, (struct map_key){{(uint64_t)least.ranks[i]}});
        if (!of || *of >> COUNT_SHIFT != presence->lists)
            continue;
        if (rank != COUNT_UNKNOWN)
            return COUNT_UNKNOWN;
        rank = least.ranks[i];
    }
    return rank;
}

static int rank_by_groups(const struct dump *dump, const unsigned char *is_used, int64_t *rank)
{
    struct presence presence = {.dump = dump};
    map_init(&presence.lists_of);
    int failed = note_lists(&presence, is_used);
    *rank = only_common(&presence);
    map_release(&presence.lists_of);
    return failed;
}

/*
 * Finds the rank that wrote a dump, which the dump does not contain. torch's file names end with it. The
 * content can exclude that number: a send or receive has its own rank in its group, and the rank is a member
 * of every group in pg_config. If that leaves only one rank, it is this one. Returns -1 if memory is out.
 */
static int dump_rank(const struct dump *dump, const char *path, struct dump_rank *found)
{
    int64_t named = rank_of_path(path), rank = rank_by_calls(dump);
    unsigned char *is_used = used_lists(dump);
    if (!is_used)
        return -1;
    if (rank == COUNT_UNKNOWN && named != COUNT_UNKNOWN && is_in_all(dump, is_used, named))
        rank = named;
    int failed = rank == COUNT_UNKNOWN && rank_by_groups(dump, is_used, &rank);
    free(is_used);
    *found = (struct dump_rank){.rank = rank, .name_is_otherwise = named != COUNT_UNKNOWN && named != rank};
    return failed ? -1 : 0;
}

/* Limit on the memory for the values of a dump, which take about six times its bytes. */
enum { DUMP_VALUES_BYTES_MOST = 512 << 20 };

/* Kinds of values in a dump, by index of the paths below. */
enum { PATH_ENTRY, PATH_MEMBER, PATH_ITEM };

static const char *const paths[] = {"entries[]", "*", "[]", NULL};

struct json_reading {
    struct values *values;
    const struct format_sink *sink;
    struct value list;       /* the entries */
    struct value dictionary; /* everything else */
    int has_entries;
    int has_items; /* there are only entries: the list of torch 2.2 */
};

static int out_of(enum values_status status, struct error *error)
{
    return status == VALUES_NO_MEMORY ? error_no_memory(error) : error_set(error, "too many values");
}

static int begin(struct json_reading *reading, struct error *error)
{
    enum values_status status = values_container(reading->values, VALUE_LIST, 0, &reading->list);
    if (status == VALUES_OK)
        status = values_container(reading->values, VALUE_DICTIONARY, 0, &reading->dictionary);
    return status == VALUES_OK ? 0 : out_of(status, error);
}

static int note(const struct json_reading *reading, const char *reason, const struct tokens_value *token,
                struct error *error)
{
    return reading->sink->note(reading->sink->context, reason, 1, token->offset, token->value.text,
                               token->value.length, error);
}

/* Values for which there is no room are skipped. */
static int no_room(const struct json_reading *reading, const struct tokens_value *token,
                   enum values_status status, struct error *error)
{
    return status == VALUES_NO_MEMORY ? error_no_memory(error)
                                      : note(reading, "too many values", token, error);
}

static int add(struct json_reading *reading, const struct tokens_value *token, const struct value *value,
               struct error *error)
{
    enum values_status status;
    if (token->path == PATH_MEMBER) {
        struct value pair[2] = {{.kind = VALUE_TEXT, .length = (uint32_t)token->key.length}, *value};
        char *key = values_take(reading->values, token->key.length + 1);
        if (!key)
            return no_room(reading, token, values_why_none(reading->values, token->key.length + 1), error);
        memcpy(key, token->key.text, token->key.length);
        pair[0].text = key;
        status = values_add(reading->values, reading->dictionary.items, pair, 2);
    } else {
        reading->has_entries |= token->path == PATH_ENTRY;
        reading->has_items |= token->path == PATH_ITEM;
        status = values_add(reading->values, reading->list.items, value, 1);
    }
    return status == VALUES_OK ? 0 : no_room(reading, token, status, error);
}

static int take(struct json_reading *reading, const struct tokens_value *token, struct error *error)
{
    struct value value;
    int status =
        json_to_values(reading->values, token->value.text, token->value.length, token->offset, &value, error);
    if (status < 0)
        return -1;
    return status > 0 ? note(reading, "unreadable text", token, error) : add(reading, token, &value, error);
}

static int take_token(struct json_reading *reading, const struct tokens_value *token, struct error *error)
{
    switch (token->kind) {
    case TOKENS_VALUE:
        return take(reading, token, error);
    case TOKENS_CUT:
        reading->list.items->is_cut = 1;
        return note(reading, "unreadable rest of the dump", token, error);
    case TOKENS_DAMAGE:
        return note(reading, "unreadable text", token, error);
    default:
        return note(reading, "value too long", token, error);
    }
}

/* Joins the entries with everything else into one tree. */
static int finish(struct json_reading *reading, struct value *root, struct error *error)
{
    struct value pair[2] = {{.kind = VALUE_TEXT, .length = sizeof "entries" - 1, .text = "entries"},
                            reading->list};
    enum values_status status = VALUES_OK;
    /* What has been read is kept if there is no room for more. */
    reading->values->bytes_most += 1 << 16;
    *root = reading->has_items ? reading->list : reading->dictionary;
    if (!reading->has_items && reading->has_entries)
        status = values_add(reading->values, reading->dictionary.items, pair, 2);
    return status == VALUES_OK ? 0 : out_of(status, error);
}

/*
 * Reads a JSON dump into the same tree as its pickle. Unreadable parts are noted and skipped; entries are
 * skipped one by one. `*bytes` receives the length of the text. Returns -1 if memory is out, the sink stopped
 * it, or reading failed; in that case everything readable is in the tree.
 */
static int dump_read_json(struct input *input, struct values *values, struct value *root, size_t *bytes,
                          const struct format_sink *sink, struct error *error)
{
    struct json_reading reading = {.values = values, .sink = sink};
    struct tokens tokens;
    struct tokens_value token = {.kind = TOKENS_VALUE};
    size_t least = values->bytes_most;
    int failed = begin(&reading, error), ended_early = 0;
    tokens_init(&tokens, input, paths);
    while (!failed && token.kind != TOKENS_END) {
        ended_early = tokens_next(&tokens, &token, error);
        if (ended_early)
            break;
        *bytes = (size_t)token.offset + token.value.length;
        values->bytes_most = least + *bytes * UNPICKLE_BYTES_A_BYTE;
        if (values->bytes_most > DUMP_VALUES_BYTES_MOST)
            values->bytes_most = DUMP_VALUES_BYTES_MOST;
        if (token.kind != TOKENS_END)
            failed = take_token(&reading, &token, error);
    }
    failed = failed || finish(&reading, root, ended_early ? NULL : error);
    return failed || ended_early ? -1 : 0;
}

/* A dump of 100,000 calls with deep stacks is shorter; the default is 2,000 calls. */
enum { DUMP_BYTES_MOST = 64 << 20 };

/* Memory for values that does not depend on the size of the file. */
enum { VALUES_BYTES_LEAST = 4 << 20 };

/* Limit on Ray's message for a rank that could not be dumped: {"ok": false, "reason": "..."}. */
enum { FAILURE_BYTES_MOST = 4096 };

static int is_failure(struct text text)
{
    return text_begins(text, "{") && text.length < FAILURE_BYTES_MOST && text_contains(text, "\"ok\"") &&
           text_contains(text, "\"reason\"") && text_contains(text, "false");
}

/* A profiler's trace has pg_config, too, in its job information. */
static int sniff_json(const char *bytes, size_t length)
{
    const struct text text = {bytes, length};
    static const char *const others[] = {"\"traceEvents\"", "\"deviceProperties\"", "\"schemaVersion\"",
                                         NULL};
    static const char *const marks[] = {"\"pg_config\"",    "\"pg_status\"",       "\"comm_lib_version\"",
                                        "\"nccl_version\"", "\"nccl_comm_state\"", NULL};
    size_t at = 0;
    while (at < length && sniff_is_space(bytes[at]))
        at++;
    if (at == length || (bytes[at] != '{' && bytes[at] != '[') || text_contains_any(text, others))
        return 0;
    if (is_failure((struct text){bytes + at, length - at}))
        return 80;
    if (text_contains(text, "\"profiling_name\"") || text_contains(text, "\"time_created_ns\""))
        return 95;
    return bytes[at] == '{' && text_contains_any(text, marks) && text_contains(text, "\"version\"") ? 80 : 0;
}

static int sniff(const char *bytes, size_t length, const char *path)
{
    static const char *const marks[] = {"profiling_name", "pg_config", "pg_status", "comm_lib_version", NULL};
    const struct text text = {bytes, length};
    (void)path;
    if (!sniff_is_pickle(bytes, length))
        return sniff_json(bytes, length);
    return text_contains_any(text, marks) ? 95 : text_contains(text, "entries") ? 40 : 0;
}

/* What is kept while a file is read. */
struct reading {
    struct buffer bytes;
    struct values values;
    struct value root;
    size_t length; /* of the text or pickle */
    int is_json;
};

static int note_damage(const struct format_sink *sink, uint64_t offset, const char *what, struct error *error)
{
    return sink->note(sink->context, "unreadable rest of the dump", 1, offset, what, strlen(what), error);
}

static int read_pickle(struct reading *reading, struct input *input, const struct format_sink *sink,
                       struct error *error)
{
    struct buffer *bytes = &reading->bytes;
    struct unpickle_damage damage = {.what = NULL};
    int cut = input_whole(input, DUMP_BYTES_MOST, bytes, error);
    if (cut && error && error->is_no_memory)
        return -1;
    reading->length = bytes->length;
    reading->values.bytes_most += bytes->length * UNPICKLE_BYTES_A_BYTE;
    if (reading->values.bytes_most > DUMP_VALUES_BYTES_MOST)
        reading->values.bytes_most = DUMP_VALUES_BYTES_MOST;
    if (unpickle(&reading->values, bytes->data, bytes->length, &reading->root, &damage, error))
        return -1;
    /* If reading failed, that is reported instead of the truncated pickle. */
    return cut || (damage.what && note_damage(sink, damage.offset, damage.what, error)) ? -1 : 0;
}

static int read_values(struct reading *reading, struct input *input, const struct format_sink *sink,
                       struct error *error)
{
    const char *bytes;
    int64_t length = input_peek(input, &bytes, 4, error);
    values_init(&reading->values, VALUES_BYTES_LEAST);
    if (length < 0)
        return -1;
    reading->is_json = !sniff_is_pickle(bytes, (size_t)length);
    return reading->is_json
               ? dump_read_json(input, &reading->values, &reading->root, &reading->length, sink, error)
               : read_pickle(reading, input, sink, error);
}

static void name_dialect(const struct dump *dump, const struct reading *reading, char *dialect,
                         size_t dialect_bytes)
{
    const struct value *version = dump->version;
    size_t length = version && version->length < 8 ? version->length : 0;
    for (size_t i = 0; i < length; i++)
        if (!is_digit(version->text[i]) && version->text[i] != '.')
            length = 0;
    snprintf(dialect, dialect_bytes, "flight-recorder%s%.*s%s", length ? "-" : "", (int)length,
             length ? version->text : "", reading->is_json ? "-json" : "");
}

static int tell_rank(const struct dump_rank *rank, const char *path, const struct format_sink *sink,
                     struct error *error)
{
    if (rank->rank == COUNT_UNKNOWN)
        return sink->note(sink->context, "dump without its rank", 0, 0, path, strlen(path), error);
    return rank->name_is_otherwise
               ? sink->note(sink->context, "rank in the file name differs from the rank in the dump", 0, 0,
                            path, strlen(path), error)
               : 0;
}

/* Only the file's name gives the rank without a dump. */
static int read_failure(const struct dump *dump, const char *path, const struct format_sink *sink,
                        struct error *error)
{
    int64_t rank = rank_of_path(path);
    const struct value *reason = dump->no_dump;
    return sink->note(sink->context, "no dump", 0, 0, reason->text, reason->length, error) ||
                   (rank == COUNT_UNKNOWN
                        ? sink->note(sink->context, "dump without its rank", 0, 0, path, strlen(path), error)
                        : dump_emit_failure(dump, rank, sink, error))
               ? -1
               : 0;
}

static int read_dump(struct reading *reading, const char *path, const struct format_sink *sink, char *dialect,
                     size_t dialect_bytes, struct error *error)
{
    struct dump dump;
    dump_init(&dump);
    int failed = dump_take(&dump, &reading->root, reading->length, sink, error);
    name_dialect(&dump, reading, dialect, dialect_bytes);
    if (!failed && (dump.entry_count || dump.group_count)) {
        struct dump_rank rank;
        failed = dump_rank(&dump, path, &rank)
                     ? error_no_memory(error)
                     : tell_rank(&rank, path, sink, error) ||
                           dump_emit(&dump, rank.rank, reading->length, sink, error);
    }
    if (!failed && dump.no_dump)
        failed = read_failure(&dump, path, sink, error);
    dump_release(&dump);
    return failed ? -1 : 0;
}

/* What was read before reading failed is handed over. */
static int flight_recorder_read(struct input *input, const struct format_sink *sink, char *dialect,
                                size_t dialect_bytes, struct error *error)
{
    struct reading reading = {.bytes = BUFFER_INIT};
    struct error failure = ERROR_INIT;
    int cut = read_values(&reading, input, sink, &failure);
    int failed = cut && failure.is_no_memory;
    if (!failed && read_dump(&reading, input_path(input), sink, dialect, dialect_bytes, error))
        failed = 1;
    else if (cut && error)
        *error = failure;
    values_release(&reading.values);
    buffer_release(&reading.bytes);
    return failed || cut ? -1 : 0;
}

static const char *why_nothing(const char *path, uint64_t bytes)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!strstr(name, "nccl_trace_rank_") && !strstr(name, "comm_lib_trace_rank_"))
        return NULL;
    return bytes ? "no operation was recorded: TORCH_NCCL_TRACE_BUFFER_SIZE (or TORCH_FR_BUFFER_SIZE) is 0"
                 : "the process died while it wrote its Flight Recorder dump";
}

const struct format format_flight_recorder = {
    .name = "flight-recorder",
    .version = 2,
    .description = "dumps of PyTorch's Flight Recorder, pickled or JSON",
    .unknown = "unknown record",
    .sniff = sniff,
    .read = flight_recorder_read,
    .why_nothing = why_nothing,
};
