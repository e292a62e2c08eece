#include "format/memory_snapshot/memory_snapshot.h"

#include "base/buffer.h"
#include "format/memory_snapshot/history.h"
#include "format/path_rank.h"
#include "format/sniff.h"
#include "format/text.h"
#include "input/json.h"
#include "input/tokens.h"
#include "input/unpickle.h"
#include "input/whole.h"

#include <stdio.h>
#include <string.h>

/* A history of 100,000 allocations with stacks is shorter; values take at most so much beside it. */
enum { SNAPSHOT_BYTES_MOST = 256 << 20, VALUES_BYTES_MOST = 512 << 20, VALUES_BYTES_LEAST = 4 << 20 };

static int is_pickle(const char *bytes, size_t length)
{
    return length > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

/* Words of a snapshot that nothing else has: torch writes the segments first, and more of a segment than
 * users keep. */
static int sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    size_t at = 0;
    while (at < length && sniff_is_space(bytes[at]))
        at++;
    int is_json = at < length && (bytes[at] == '{' || bytes[at] == '[');
    if (!is_json && !is_pickle(bytes, length))
        return 0;
    const struct text text = {bytes, length};
    int has_segments = text_holds(text, is_json ? "\"total_size\"" : "total_size") &&
                       text_holds(text, is_json ? "\"segment" : "segment");
    int has_traces = text_holds(text, is_json ? "\"device_traces\"" : "device_traces");
    return has_segments ? 90 : has_traces ? 80 : 0;
}

/* A snapshot while it is read. */
struct reading {
    struct history history;
    const struct format_sink *sink;
    size_t left; /* so many more values there can be: what a pickle shares often was written once */
};

static int note_damage(const struct reading *reading, uint64_t offset, const char *what, size_t length,
                       struct error *error)
{
    return reading->sink->note(reading->sink->context, "unreadable part of the snapshot", 1, offset, what,
                               length, error);
}

static uint64_t offset_of(const struct value *value)
{
    return value->kind == VALUE_DICTIONARY || value->kind == VALUE_LIST ? value->items->offset : 0;
}

static int take_list(struct reading *reading, const struct value_items *list,
                     int (*take)(struct history *, const struct value *, uint64_t, struct error *),
                     struct error *error)
{
    int failed = 0;
    for (size_t i = 0; list && !failed && i < list->count; i++) {
        if (reading->left == 0)
            return note_damage(reading, list->offset, NULL, 0, error);
        reading->left--;
        failed = take(&reading->history, &list->items[i], offset_of(&list->items[i]), error);
    }
    return failed;
}

/* Older versions wrote the list of segments alone. */
static int take_root(struct reading *reading, const struct value *root, struct error *error)
{
    const struct value *segments = root->kind == VALUE_LIST ? root : value_member(root, "segments");
    const struct value_items *devices = value_list(value_member(root, "device_traces"));
    history_set(&reading->history, value_member(root, "allocator_settings"));
    int failed = take_list(reading, value_list(segments), history_list, error);
    for (size_t i = 0; devices && !failed && i < devices->count; i++)
        failed = take_list(reading, value_list(&devices->items[i]), history_tell, error);
    return failed;
}

static int read_pickle(struct reading *reading, struct input *input, struct error *error)
{
    struct buffer bytes = BUFFER_INIT;
    struct values values;
    struct value root;
    struct unpickle_damage damage = {.what = NULL};
    struct error failure = ERROR_INIT;
    int cut = input_whole(input, SNAPSHOT_BYTES_MOST, &bytes, &failure);
    int failed = cut && failure.is_no_memory;
    size_t most = bytes.length < VALUES_BYTES_MOST / UNPICKLE_BYTES_A_BYTE
                      ? bytes.length * UNPICKLE_BYTES_A_BYTE
                      : VALUES_BYTES_MOST;
    reading->left = bytes.length;
    values_init(&values, VALUES_BYTES_LEAST + most);
    failed = failed || unpickle(&values, bytes.data, bytes.length, &root, &damage, &failure) ||
             take_root(reading, &root, &failure) ||
             (!cut && damage.what &&
              note_damage(reading, damage.offset, damage.what, strlen(damage.what), &failure));
    values_release(&values);
    buffer_release(&bytes);
    if (failed || cut)
        *error = failure;
    return failed || cut ? -1 : 0;
}

enum { PATH_SEGMENT, PATH_ENTRY, PATH_SETTINGS, PATH_ITEM };

static int take_value(struct reading *reading, const struct tokens_value *token, const struct value *value,
                      struct error *error)
{
    if (token->path == PATH_ENTRY)
        return history_tell(&reading->history, value, token->offset, error);
    if (token->path != PATH_SETTINGS)
        return history_list(&reading->history, value, token->offset, error);
    history_set(&reading->history, value);
    return 0;
}

static int take_token(struct reading *reading, const struct tokens_value *token, struct error *error)
{
    struct values values;
    struct value value;
    if (token->kind != TOKENS_VALUE)
        return note_damage(reading, token->offset, token->value.text, token->value.length, error);
    values_init(&values, VALUES_BYTES_LEAST + token->value.length * UNPICKLE_BYTES_A_BYTE);
    int status =
        json_to_values(&values, token->value.text, token->value.length, token->offset, &value, error);
    int failed = status < 0;
    if (status > 0)
        failed = note_damage(reading, token->offset, token->value.text, token->value.length, error);
    else if (!failed)
        failed = take_value(reading, token, &value, error);
    values_release(&values);
    return failed ? -1 : 0;
}

static int read_json(struct reading *reading, struct input *input, struct error *error)
{
    static const char *const paths[] = {"segments[]", "device_traces[][]", "allocator_settings", "[]", NULL};
    struct tokens tokens;
    struct tokens_value token = {.kind = TOKENS_VALUE};
    tokens_init(&tokens, input, paths);
    for (;;) {
        if (tokens_next(&tokens, &token, error))
            return -1;
        if (token.kind == TOKENS_END)
            return 0;
        if (take_token(reading, &token, error))
            return -1;
    }
}

/* What came before reading failed is good. */
static int snapshot_read(struct input *input, const struct format_sink *sink, char *dialect,
                         size_t dialect_bytes, struct error *error)
{
    struct reading reading = {.sink = sink};
    struct error failure = ERROR_INIT;
    const char *bytes;
    int64_t length = input_peek(input, &bytes, 4, error);
    if (length < 0)
        return -1;
    int pickled = is_pickle(bytes, (size_t)length);
    snprintf(dialect, dialect_bytes, "memory-snapshot");
    history_init(&reading.history, sink);
    int cut = pickled ? read_pickle(&reading, input, &failure) : read_json(&reading, input, &failure);
    int failed = cut && failure.is_no_memory;
    if (!failed && !history_is_empty(&reading.history) &&
        history_emit(&reading.history, rank_named_in_path(input_path(input)), error))
        failed = 1;
    else if (cut && error)
        *error = failure;
    history_release(&reading.history);
    return failed || cut ? -1 : 0;
}

const struct format format_memory_snapshot = {
    .name = "memory-snapshot",
    .version = 1,
    .description = "snapshots of PyTorch's CUDA allocator, pickled or JSON",
    .unknown = "unknown record",
    .sniff = sniff,
    .read = snapshot_read,
};
