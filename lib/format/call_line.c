/*
 * Finds and reads call descriptions in a line of any text. The formats call, nccl and torch use it for
 * program output, chrome for marks of the program.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Call descriptions (from lit-gpt's monitor_collectives) are JSON objects like
 *
 *     [rank3]: {"name": "all_reduce", "rank": 3, "source_line": "train.py:43", "message_size": 4096, ...}
 *
 * with any text before, between and after them. Each is on one line and contains no lists or objects except
 * the list of the group's ranks.
 */

/* Reason of a note: a description that is truncated or has members of an unexpected type. */
#define CALL_NOTE_UNREADABLE "call description that cannot be read"

/* Keys that every description has, and no other output. */
static const char size_key[] = "\"message_size\"";
static const char source_key[] = "\"source_line\"";

/*
 * How many braces before these keys are tried as the beginning of the object: its texts may contain braces.
 */
enum { BEGINNINGS_MOST = 8 };

void call_reader_init(struct call_reader *reader, int damage)
{
    *reader = (struct call_reader){.damage = damage};
    json_init(&reader->json);
}

void call_reader_release(struct call_reader *reader)
{
    json_release(&reader->json);
    free(reader->group);
    reader->group = NULL;
}

int call_line_is_candidate(struct text line)
{
    return text_contains(line, size_key) || text_contains(line, source_key);
}

/* Returns where the object that begins at `at` ends, after its closing brace; NULL if not before `end`. */
static const char *object_end(const char *at, const char *end)
{
    int in_text = 0;
    for (at++; at < end; at++) {
        if (in_text && *at == '\\')
            at++;
        else if (*at == '"')
            in_text = !in_text;
        else if (!in_text && *at == '{')
            return NULL;
        else if (!in_text && *at == '}')
            return at + 1;
    }
    return NULL;
}

int call_line_correct(struct text cut, struct buffer *mended)
{
    size_t whole = 0;
    int in_text = 0, in_list = 0;
    buffer_clear(mended);
    for (size_t i = 0; i < cut.length; i++) {
        char byte = cut.data[i];
        if (in_text && byte == '\\')
            i++;
        else if (byte == '"')
            in_text = !in_text;
        else if (!in_text && (byte == '[' || byte == ']'))
            in_list = byte == '[';
        else if (!in_text && !in_list && byte == ',')
            whole = i;
    }
    if (!whole)
        return 1;
    return buffer_append(mended, cut.data, whole) || buffer_append_byte(mended, '}') ? -1 : 0;
}

/* Seconds as a number; fractions are kept to the millisecond. */
static int64_t seconds(const struct value *node)
{
    const int64_t most = INT64_MAX / 1000000;
    int64_t milliseconds_ns;
    if (json_microseconds_ns(node, &milliseconds_ns) || milliseconds_ns <= 0 || milliseconds_ns > most)
        return TIME_UNKNOWN;
    return milliseconds_ns * 1000000;
}

/* Ranks of a group, none negative. Returns 0; 1 if it is not such a list; -1 if memory is out. */
static int read_group(struct call_reader *reader, const struct value *object)
{
    const struct value *list = json_member(object, "group_ranks");
    reader->group_count = 0;
    if (!list || list->kind == VALUE_NULL)
        return 0;
    if (list->kind != VALUE_LIST)
        return 1;
    for (const struct value *node = value_begin(list); node < value_end(list); node++) {
        int64_t rank;
        if (json_int64(node, &rank) || rank < 0)
            return 1;
        if (array_reserve((void **)&reader->group, &reader->group_capacity, reader->group_count + 1,
                          sizeof *reader->group))
            return -1;
        reader->group[reader->group_count++] = rank;
    }
    return reader->group_count == 0;
}

static const char *correlation_of(struct call_reader *reader, const struct value *object)
{
    const struct value *node = json_member(object, "correlation_id");
    if (json_text(node))
        return json_text(node);
    if (!value_is_of(node, VALUE_DECIMAL) || node->length >= sizeof reader->correlation)
        return NULL;
    memcpy(reader->correlation, node->text, node->length);
    reader->correlation[node->length] = '\0';
    return reader->correlation;
}

/* Returns 0; 1 if the object is not a description; -1 if memory is out. */
static int read_object(struct call_reader *reader, const char *text, size_t length,
                       struct call_description *call)
{
    struct json *json = &reader->json;
    enum json_status status = json_parse(json, text, length);
    if (status != JSON_OK)
        return status == JSON_NO_MEMORY ? -1 : 1;
    const struct value *object = &json->root;
    int failed = read_group(reader, object);
    if (failed)
        return failed;
    *call = (struct call_description){
        .name = member_text(json, object, "name"),
        .rank = member_natural(json, object, "rank", COUNT_UNKNOWN),
        .source = member_text(json, object, "source_line"),
        .message_bytes = member_natural(json, object, "message_size", COUNT_UNKNOWN),
        .device = member_natural(json, object, "device", COUNT_UNKNOWN),
        .said_ns = seconds(json_member(object, "timestamp")),
        .gpu_serial = member_text(json, object, "gpu_serial"),
        .vm = member_text(json, object, "vm_id"),
        .group = reader->group_count ? reader->group : NULL,
        .group_count = reader->group_count,
        .peer = member_natural_or_none(json, object, "peer_rank"),
        .root = member_natural_or_none(json, object, "root_rank"),
        .correlation = correlation_of(reader, object),
        .at_ns = TIME_UNKNOWN,
    };
    return !call->name || !call->name[0] || call->rank < 0 || json->misread;
}

/* The part of a line around a key, up to the next description's key. */
struct piece {
    const char *begin;
    const char *key;
    const char *end;
};

/*
 * Finds the object around the key and where it ends. Returns 1; 0 if there is no description; -1 if memory is
 * out.
 */
static int find_object(struct call_reader *reader, struct piece piece, const char **begin, const char **end,
                       struct call_description *call)
{
    const char *at = piece.key;
    for (int i = 0; i < BEGINNINGS_MOST; i++) {
        at = memrchr(piece.begin, '{', (size_t)(at - piece.begin));
        if (!at)
            return 0;
        *begin = at;
        *end = object_end(at, piece.end);
        int other = *end ? read_object(reader, at, (size_t)(*end - at), call) : 1;
        if (other <= 0)
            return other < 0 ? -1 : 1;
    }
    return 0;
}

static const char *find(const char *from, const char *end, const char *key)
{
    return memmem(from, (size_t)(end - from), key, strlen(key));
}

/* A description truncated before its size is recognized by its source line. */
static const char *next_key(const char *from, const char *end)
{
    const char *key = find(from, end, size_key);
    return key ? key : find(from, end, source_key);
}

int call_line_read(struct call_reader *reader, struct text line, uint64_t offset, const struct origin *origin,
                   int64_t at_ns, int is_cut, const struct format_sink *sink, size_t *taken,
                   struct error *error)
{
    const char *end = line.data + line.length, *from = line.data, *key;
    struct event event = {.kind = EVENT_CALL_DESCRIPTION, .origin = *origin};
    event.origin.offset = offset;
    *taken = 0;
    while (from < end && (key = next_key(from, end))) {
        const char *behind = key + strlen(source_key) - 1;
        const char *next = behind < end ? find(behind, end, size_key) : NULL;
        struct piece piece = {from, key, next ? next : end};
        const char *begin, *past;
        int found = find_object(reader, piece, &begin, &past, &event.call);
        if (found < 0)
            return error_no_memory(error);
        const char *first = found ? find(from, begin, source_key) : NULL;
        if (first) {
            found = 0; /* two descriptions run into each other: the first is truncated */
            key = first < key ? first : key;
            piece.end = begin;
        }
        event.call.at_ns = at_ns;
        event.call.group_is_cut = is_cut && !event.call.group_count;
        if (found ? sink->event(sink->context, &event, error)
                  : sink->note(sink->context, CALL_NOTE_UNREADABLE, reader->damage, offset, key,
                               (size_t)(piece.end - key), error))
            return -1;
        from = found ? past : piece.end;
        (*taken)++;
    }
    return 0;
}
