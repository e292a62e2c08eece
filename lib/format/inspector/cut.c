#include "format/inspector/cut.h"

#include "format/inspector/decode.h"
#include "format/sniff.h"

#include <stdlib.h>
#include <string.h>

static int has(const char *bytes, size_t length, const char *what, const char *first_key)
{
    return sniff_find(bytes, length, bytes, what, first_key) != NULL;
}

/* The beginning of a log may be gone, and with it the last marker before what is left. */
/* <host>-pid<pid>.log, and what rotation makes of it. */
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

/* The length of the whole line that begins here, its newline included; 0 when it is none of ours. */
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
 * One record and nothing else: whether the next one repeats it can be seen from it alone. `whose`: it says
 * itself whose it is; where it is no marker, no line that follows belongs to it.
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

/* Proxy operations come in several records, far from each other and from their operation: no cut is safe. */
static int traces_proxies(const char *bytes, size_t length)
{
    static const char *const words[] = {"\"proxy_records\"", "\"proxy_trace\""};
    return memmem(bytes, length, words[0], strlen(words[0])) ||
           memmem(bytes, length, words[1], strlen(words[1]));
}

/*
 * Between two lines that each hold a record, and not the same one, nothing is carried over but whose the next
 * lines are, and the second says so anew.
 */
size_t inspector_cut(const char *bytes, size_t length)
{
    const char *newline = traces_proxies(bytes, length) ? NULL : memchr(bytes, '\n', length);
    while (newline) {
        size_t at = (size_t)(newline + 1 - bytes);
        size_t first = own_line(bytes + at, length - at);
        size_t second = first ? own_line(bytes + at + first, length - at - first) : 0;
        const char *next = bytes + at + first;
        int differ = first != second || memcmp(bytes + at, next, first) != 0;
        if (second && differ && is_record(bytes + at, first, 0) && is_record(next, second, 1))
            return at + first;
        newline = memchr(bytes + at, '\n', length - at);
    }
    return 0;
}
