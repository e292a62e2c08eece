#include "format/flight_recorder/flight_recorder.h"

#include "base/buffer.h"
#include "format/flight_recorder/dump.h"
#include "format/flight_recorder/emit.h"
#include "format/flight_recorder/json.h"
#include "format/flight_recorder/rank.h"
#include "format/path_rank.h"
#include "format/sniff.h"
#include "format/text.h"
#include "input/unpickle.h"
#include "input/whole.h"

#include <stdio.h>
#include <string.h>

/* A dump of 100,000 calls with deep stacks is shorter; the default is 2,000 calls. */
enum { DUMP_BYTES_MOST = 64 << 20 };

/* What values take beside what comes of the file's own bytes. */
enum { VALUES_BYTES_LEAST = 4 << 20 };

static int is_pickle(const char *bytes, size_t length)
{
    return length > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

/* What Ray writes where a rank could not be dumped is short: {"ok": false, "reason": "..."}. */
enum { FAILURE_BYTES_MOST = 4096 };

static int is_failure(struct text text)
{
    return text_begins(text, "{") && text.length < FAILURE_BYTES_MOST && text_holds(text, "\"ok\"") &&
           text_holds(text, "\"reason\"") && text_holds(text, "false");
}

/* A profiler's trace has pg_config, too: among what it says of the job. */
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
    if (at == length || (bytes[at] != '{' && bytes[at] != '[') || text_holds_any(text, others))
        return 0;
    if (is_failure((struct text){bytes + at, length - at}))
        return 80;
    if (text_holds(text, "\"profiling_name\"") || text_holds(text, "\"time_created_ns\""))
        return 95;
    return bytes[at] == '{' && text_holds_any(text, marks) && text_holds(text, "\"version\"") ? 80 : 0;
}

static int sniff(const char *bytes, size_t length, const char *path)
{
    static const char *const marks[] = {"profiling_name", "pg_config", "pg_status", "comm_lib_version", NULL};
    const struct text text = {bytes, length};
    (void)path;
    if (!is_pickle(bytes, length))
        return sniff_json(bytes, length);
    return text_holds_any(text, marks) ? 95 : text_holds(text, "entries") ? 40 : 0;
}

/* What a file holds, for as long as it is read. */
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
    /* Where reading failed, that is told, not that the pickle ends there. */
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
    reading->is_json = !is_pickle(bytes, (size_t)length);
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
        if ((version->text[i] < '0' || version->text[i] > '9') && version->text[i] != '.')
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

/* Its name alone tells which rank's dump there is not. */
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

/* What came before reading failed is good. */
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
    .version = 1,
    .description = "dumps of PyTorch's Flight Recorder, pickled or JSON",
    .unknown = "unknown record",
    .sniff = sniff,
    .read = flight_recorder_read,
    .why_nothing = why_nothing,
};
