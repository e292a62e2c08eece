/*
 * Reads members of parsed JSON objects, with types and ranges checked, for all formats that use lib/input's
 * JSON reader; and the records of the bundled plugin about its own recording.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* -1 microsecond: copy-engine operations print it for "never". */
enum { NEVER_NS = -1000 };

static int is_there(const struct value *node)
{
    return node && node->kind != VALUE_NULL;
}

static const struct value *of_kind(struct json *json, const struct value *object, const char *key,
                                   enum value_kind kind)
{
    const struct value *node = json_member(object, key);
    if (!is_there(node))
        return NULL;
    if (node->kind == kind)
        return node;
    json->misread = 1;
    return NULL;
}

const struct value *member_object(struct json *json, const struct value *object, const char *key)
{
    return of_kind(json, object, key, VALUE_DICTIONARY);
}

const struct value *member_array(struct json *json, const struct value *object, const char *key)
{
    return of_kind(json, object, key, VALUE_LIST);
}

const char *member_text(struct json *json, const struct value *object, const char *key)
{
    return json_text(of_kind(json, object, key, VALUE_TEXT));
}

int64_t member_integer(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    json->misread |= is_there(node) && json_int64(node, &otherwise);
    return otherwise;
}

int64_t member_natural(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    int64_t value = 0;
    if (!is_there(node))
        return otherwise;
    if (!json_int64(node, &value) && value >= 0)
        return value;
    json->misread = 1;
    return otherwise;
}

int64_t member_natural_or_none(struct json *json, const struct value *object, const char *key)
{
    int64_t value = member_integer(json, object, key, COUNT_UNKNOWN);
    json->misread |= value < COUNT_UNKNOWN;
    return value < COUNT_UNKNOWN ? COUNT_UNKNOWN : value;
}

uint64_t member_unsigned(struct json *json, const struct value *object, const char *key)
{
    const struct value *node = json_member(object, key);
    uint64_t value = 0;
    json->misread |= is_there(node) && json_uint64(node, &value);
    return value;
}

uint64_t member_hexadecimal(struct json *json, const struct value *object, const char *key)
{
    const char *text = member_text(json, object, key);
    uint64_t value = 0;
    json->misread |= text && number_hexadecimal(text, strlen(text), &value);
    return value;
}

static int is_nan(const struct value *node)
{
    const char *text = json_text(node);
    return text && (strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0);
}

int64_t member_nanoseconds(struct json *json, const struct value *object, const char *key, int64_t otherwise)
{
    const struct value *node = json_member(object, key);
    int64_t ns = 0;
    if (!is_there(node) || is_nan(node))
        return otherwise;
    if (!json_microseconds_ns(node, &ns) && ns >= 0)
        return ns;
    json->misread = 1;
    return otherwise;
}

int64_t member_moment(struct json *json, const struct value *object, const char *key)
{
    const struct value *node = json_member(object, key);
    int64_t ns = 0;
    if (is_there(node) && !is_nan(node))
        json->misread |= json_microseconds_ns(node, &ns) || (ns < 0 && ns != NEVER_NS);
    return ns > 0 ? ns : TIME_UNKNOWN;
}

/*
 * Reason of a note that is no damage: the recorder stopped while its process went on. What the process did
 * later is not in the file.
 */
#define FORMAT_NOTE_STOPPED "recording stopped"

static const char *const drop_keys[RECORDER_DROP_KINDS] = {"ring",    "lost",    "evicted",      "late",
                                                           "orphans", "unknown", "communicators"};

const char *const recorder_drop_meanings[RECORDER_DROP_KINDS] = {
    "events dropped because the ring of their thread was full",
    "events dropped because the writer's memory was full",
    "operations written unfinished to free memory",
    "ends that arrived after their operation was written",
    "events with an unknown parent",
    "events of an unknown kind",
    "communicators beyond the plugin's limit; their operations have no communicator",
};

void recorder_drops_read(struct json *json, const struct value *object, int64_t totals[RECORDER_DROP_KINDS])
{
    for (int i = 0; i < RECORDER_DROP_KINDS; i++)
        totals[i] = member_natural(json, object, drop_keys[i], 0);
}

static int append_clock_time(struct buffer *text, int64_t realtime_ns)
{
    char said[40];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    if (realtime_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        strftime(said, sizeof said, "%Y-%m-%d %H:%M:%S UTC: ", &parts) == 0)
        return buffer_append_text(text, "time unknown: ");
    return buffer_append_text(text, said);
}

static int append_reason(struct buffer *text, struct json *json, const struct value *object)
{
    const char *reason = member_text(json, object, "reason");
    const char *error = member_text(json, object, "error");
    uint64_t bytes = member_unsigned(json, object, "bytes");
    if (reason && strcmp(reason, "limit") == 0)
        return buffer_printf(text, "limit of %" PRIu64 " bytes reached", bytes);
    if (reason && strcmp(reason, "space") == 0)
        return buffer_printf(text, "less than %" PRIu64 " bytes free on the file system", bytes);
    return buffer_append_text(text, error ? error : reason ? reason : "no reason given");
}

int recorder_stop_note(struct json *json, const struct value *object, const struct format_sink *sink,
                       uint64_t offset, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed =
        append_clock_time(&text, member_integer(json, object, "realtime_ns", 0)) ||
                append_reason(&text, json, object)
            ? error_no_memory(error)
            : sink->note(sink->context, FORMAT_NOTE_STOPPED, 0, offset, text.data, text.length, error);
    buffer_release(&text);
    return failed ? -1 : 0;
}
