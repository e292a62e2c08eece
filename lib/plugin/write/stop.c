#include "plugin/write/stop.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {[STOP_NOT] = "",
                                    [STOP_LIMIT] = "limit",
                                    [STOP_SPACE] = "space",
                                    [STOP_DELETED] = "deleted",
                                    [STOP_ERROR] = "error"};

static const char *error_text(const struct stop *stop, char *to, size_t size)
{
    return strerror_r(stop->error, to, size);
}

void stop_print(struct text *text, const struct stop *stop, uint64_t written_bytes)
{
    char reason[128];
    text_literal(text, "\"reason\": \"");
    text_string(text, names[stop->reason]);
    text_literal(text, "\", \"bytes\": ");
    text_unsigned(text, stop->bytes);
    text_literal(text, ", \"written_bytes\": ");
    text_unsigned(text, written_bytes);
    text_literal(text, ", \"realtime_ns\": ");
    text_unsigned(text, stop->realtime_ns);
    if (stop->reason != STOP_ERROR)
        return;
    text_literal(text, ", \"error\": \"");
    const char *error = error_text(stop, reason, sizeof(reason));
    text_escaped(text, error, strlen(error));
    text_literal(text, "\"");
}

void stop_describe(char *to, size_t size, const struct stop *stop)
{
    char reason[128];
    switch (stop->reason) {
    case STOP_LIMIT:
        snprintf(to, size, "limit of %llu bytes reached (NCCLPROF_MAX_BYTES)",
                 (unsigned long long)stop->bytes);
        break;
    case STOP_SPACE:
        snprintf(to, size, "less than %llu bytes free on the file system (NCCLPROF_MIN_FREE_BYTES)",
                 (unsigned long long)stop->bytes);
        break;
    case STOP_DELETED:
        snprintf(to, size, "the file was deleted");
        break;
    default:
        snprintf(to, size, "%s", error_text(stop, reason, sizeof(reason)));
        break;
    }
}
