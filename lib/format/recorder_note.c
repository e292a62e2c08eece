#include "format/recorder_note.h"

#include "base/buffer.h"
#include "format/member.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

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

static int say_time(struct buffer *text, int64_t realtime_ns)
{
    char said[40];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    if (realtime_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        strftime(said, sizeof said, "%Y-%m-%d %H:%M:%S UTC: ", &parts) == 0)
        return buffer_append_text(text, "time unknown: ");
    return buffer_append_text(text, said);
}

static int say_reason(struct buffer *text, struct json *json, const struct value *object)
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
        say_time(&text, member_integer(json, object, "realtime_ns", 0)) || say_reason(&text, json, object)
            ? error_no_memory(error)
            : sink->note(sink->context, FORMAT_NOTE_STOPPED, 0, offset, text.data, text.length, error);
    buffer_release(&text);
    return failed ? -1 : 0;
}
