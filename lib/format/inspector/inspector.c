#include "format/inspector/inspector.h"

#include "base/buffer.h"
#include "format/inspector/line.h"
#include "format/objects.h"
#include "format/sniff.h"
#include "input/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every record begins with. */
static const char first_key[] = "\"header\"";

struct inspector_file {
    const struct format_sink *sink;
    struct json json;
    struct inspector_scanner scanner;
    struct inspector_line *line;
    struct buffer host; /* texts of the event, with their NULs */
    struct buffer communicator_name;
    struct buffer tag;
    struct scan_text previous; /* the line before; NULL: there was none */
    struct buffer kept;        /* that line, where what it was read from is gone */
    struct event event;        /* what all lines share is filled in once */
    int64_t next_ordinal;
    char revision[24]; /* of the first record */
};

/* The buffer's content is mostly the same from line to line. */
static int set_text(struct buffer *buffer, struct scan_text text, struct error *error)
{
    if (buffer->length == text.length && text.length > 0 && memcmp(buffer->data, text.text, text.length) == 0)
        return 0;
    buffer_clear(buffer);
    if (text.text && buffer_append(buffer, text.text, text.length))
        return error_no_memory(error);
    return 0;
}

static const char *text_or_null(const struct buffer *buffer)
{
    return buffer->length > 0 ? buffer->data : NULL;
}

/* NCCL prints "unknown" for a communicator without a name. */
static int set_texts(struct inspector_file *file, struct error *error)
{
    struct scan_text name = file->line->communicator_name;
    if (name.length == 7 && memcmp(name.text, "unknown", 7) == 0)
        name.length = 0;
    return set_text(&file->host, file->line->host, error) ||
                   set_text(&file->communicator_name, name, error) ||
                   set_text(&file->tag, file->line->tag, error)
               ? -1
               : 0;
}

/* "v2.30.7" as "2.30"; other words as they are, as far as they are plain. */
static void keep_revision(struct inspector_file *file)
{
    struct scan_text revision = file->line->revision;
    size_t length = 0;
    int dots = 0;
    int is_version =
        revision.length > 1 && revision.text[0] == 'v' && revision.text[1] >= '0' && revision.text[1] <= '9';
    for (size_t at = (size_t)is_version; at < revision.length && length < sizeof file->revision - 1; at++) {
        char byte = revision.text[at];
        dots += byte == '.';
        if (is_version && dots == 2)
            break;
        int plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                    (byte >= 'A' && byte <= 'Z') || byte == '.' || byte == '-';
        file->revision[length++] = (char)(plain ? byte : '_');
    }
    file->revision[length] = '\0';
}

/* An end before its begin is left from an earlier use of the slot, and unknown. 1 where it is so. */
static size_t forget_stale_end(struct interval_ns *interval)
{
    if (interval->end_ns >= interval->begin_ns || interval->end_ns == TIME_UNKNOWN)
        return 0;
    interval->end_ns = TIME_UNKNOWN;
    return 1;
}

/*
 * When it ran: by the channels that have both ends. Without any, the recorder measured from the call to the
 * last sign of life, on the host: a late end, and a duration that holds the time in the queue as well.
 * Returns how many ends were stale.
 */
static size_t measure(struct inspector_line *line, struct operation *operation)
{
    size_t stale = forget_stale_end(&line->enqueue);
    int64_t first_ns = TIME_UNKNOWN;
    for (size_t i = 0; i < line->channel_count; i++) {
        struct interval_ns *host = &line->channels[i].host;
        if (host->begin_ns == TIME_UNKNOWN)
            continue;
        if (host->end_ns >= host->begin_ns)
            interval_widen(&operation->device, *host);
        else
            stale += forget_stale_end(host);
        if (first_ns == TIME_UNKNOWN || host->begin_ns < first_ns)
            first_ns = host->begin_ns;
    }
    operation->enqueue = line->enqueue;
    if (operation->device.begin_ns == TIME_UNKNOWN)
        operation->device.begin_ns = first_ns;
    if (operation->device.end_ns != TIME_UNKNOWN) {
        operation->end_source = END_KERNEL;
        return stale;
    }
    if (line->timing != TIMING_OPERATION_CPU || line->duration_ns == COUNT_UNKNOWN)
        return stale;
    operation->end_source = END_HOST;
    if (line->enqueue.begin_ns != TIME_UNKNOWN && line->enqueue.begin_ns <= INT64_MAX - line->duration_ns)
        operation->device.end_ns = line->enqueue.begin_ns + line->duration_ns;
    return stale;
}

/* What no line tells. */
static void begin_event(struct event *event)
{
    *event = (struct event){
        .kind = EVENT_OPERATION,
        .operation = {.count = COUNT_UNKNOWN, .root = COUNT_UNKNOWN, .api = {TIME_UNKNOWN, TIME_UNKNOWN}}};
}

static void fill_origin(const struct inspector_file *file, uint64_t offset, struct origin *origin)
{
    const struct inspector_line *line = file->line;
    origin->host = text_or_null(&file->host);
    origin->pid = line->pid;
    origin->communicator_hash = line->communicator_hash;
    origin->rank = line->rank;
    origin->communicator_name = text_or_null(&file->communicator_name);
    origin->communicator_size = line->communicator_size > 0 ? line->communicator_size : 0;
    origin->node_count = line->node_count > 0 ? line->node_count : 0;
    origin->offset = offset;
}

/* Returns how many ends were stale. */
static size_t fill_operation(struct inspector_file *file, struct operation *operation)
{
    struct inspector_line *line = file->line;
    operation->ordinal = file->next_ordinal++;
    operation->kind = line->is_point_to_point ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE;
    operation->function = line->function;
    /* The number of a call of an unknown kind would pass for a key between ranks. */
    int is_known = line->is_point_to_point == function_is_point_to_point(line->function);
    operation->sequence = is_known ? line->sequence : COUNT_UNKNOWN;
    operation->bytes = line->bytes;
    operation->peer = line->is_point_to_point ? line->peer : COUNT_UNKNOWN;
    operation->channel_count = line->channel_count ? (int64_t)line->channel_count : COUNT_UNKNOWN;
    operation->device = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    operation->end_source = END_UNKNOWN;
    operation->duration_ns = line->duration_ns;
    operation->tag = text_or_null(&file->tag);
    operation->channels = line->channels;
    operation->kernel_channel_count = line->channel_count;
    return measure(line, operation);
}

static int note_stale_ends(const struct inspector_file *file, size_t count, uint64_t offset,
                           struct error *error)
{
    int failed = 0;
    while (!failed && count-- > 0)
        failed = file->sink->note(file->sink->context, "stale end", 0, offset, NULL, 0, error);
    return failed;
}

static int emit(struct inspector_file *file, uint64_t offset, struct error *error)
{
    if (set_texts(file, error))
        return -1;
    if (file->next_ordinal == 0)
        keep_revision(file);
    fill_origin(file, offset, &file->event.origin);
    size_t stale = fill_operation(file, &file->event.operation);
    if (stale > 0 && note_stale_ends(file, stale, offset, error))
        return -1;
    return file->sink->event(file->sink->context, &file->event, error);
}

static int is_repeated(const struct inspector_file *file, const char *text, size_t length)
{
    return file->previous.text && file->previous.length == length &&
           memcmp(file->previous.text, text, length) == 0;
}

/* What was read last has to be there when the next line comes. */
static int keep(struct inspector_file *file, struct scan_text line, struct error *error)
{
    buffer_clear(&file->kept);
    if (buffer_append(&file->kept, line.text, line.length))
        return error_no_memory(error);
    file->previous = (struct scan_text){file->kept.data, line.length};
    return 0;
}

static int note(const struct inspector_file *file, const char *reason, int damage, uint64_t offset,
                const char *text, size_t length, struct error *error)
{
    return file->sink->note(file->sink->context, reason, damage, offset, text, length, error) ? -1 : 1;
}

/* What is lost of a record that was read; NULL: nothing. */
static const char *misreading(const struct json *json)
{
    /* inf is what bandwidth comes to where no time passed: nothing is lost by it. */
    if (!json_numbers_fit(json))
        return "number that does not fit";
    return json->misread ? "value that cannot be read" : NULL;
}

static int read_record(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    struct inspector_file *file = context;
    enum inspector_status status = INSPECTOR_LINE;
    int is_exact = inspector_scan(&file->scanner, text, text + length, file->line) == text + length;
    if (!is_exact)
        status = inspector_decode(&file->json, text, length, file->line);
    if (status == INSPECTOR_NO_MEMORY)
        return error_no_memory(error);
    if (status == INSPECTOR_UNREADABLE)
        return 0;
    if (status == INSPECTOR_STRANGE)
        return note(file, "unknown record", 0, offset, text, length, error);
    if (is_repeated(file, text, length))
        return note(file, "duplicate record", 0, offset, NULL, 0, error);
    if (keep(file, (struct scan_text){text, length}, error))
        return -1;
    const char *reason = is_exact ? NULL : misreading(&file->json);
    if (reason && note(file, reason, 1, offset, text, length, error) < 0)
        return -1;
    return emit(file, offset, error) ? -1 : 1;
}

/* A line that the scanner knows, with its newline. NULL where there is none. */
static const char *scan_line(struct inspector_file *file, const char *at, const char *end)
{
    const char *limit = end - at > INPUT_LINE_BYTES ? at + INPUT_LINE_BYTES : end;
    const char *past = inspector_scan(&file->scanner, at, limit, file->line);
    return past && past < limit && *past == '\n' ? past + 1 : NULL;
}

static int take_line(struct inspector_file *file, const char *text, size_t length, uint64_t offset,
                     struct error *error)
{
    if (is_repeated(file, text, length))
        return note(file, "duplicate record", 0, offset, NULL, 0, error) < 0 ? -1 : 0;
    file->previous = (struct scan_text){text, length};
    return emit(file, offset, error);
}

/* Lines that the scanner knows, as long as they come. */
static int read_known_lines(void *context, const char *text, size_t length, uint64_t offset, size_t *taken,
                            struct error *error)
{
    struct inspector_file *file = context;
    const char *at = text, *past;
    int failed = 0;
    while (!failed && (past = scan_line(file, at, text + length))) {
        failed = take_line(file, at, (size_t)(past - at) - 1, offset + (uint64_t)(at - text), error);
        at = past;
    }
    *taken = (size_t)(at - text);
    int is_kept = file->previous.text == file->kept.data;
    return failed || (!is_kept && keep(file, file->previous, error)) ? -1 : 0;
}

static void release(struct inspector_file *file)
{
    json_release(&file->json);
    buffer_release(&file->host);
    buffer_release(&file->communicator_name);
    buffer_release(&file->tag);
    buffer_release(&file->kept);
    free(file->line);
}

static int inspector_read(struct input *input, const struct format_sink *sink, char *dialect,
                          size_t dialect_bytes, struct error *error)
{
    struct inspector_file file = {.sink = sink, .line = calloc(1, sizeof *file.line)};
    const struct objects objects = {.first_key = first_key,
                                    .context = &file,
                                    .object = read_record,
                                    .lines = read_known_lines,
                                    .sink = sink};
    struct objects_end end = {.offset = 0};
    json_init(&file.json);
    inspector_scanner_init(&file.scanner);
    begin_event(&file.event);
    int status = file.line ? objects_read(&objects, input, &end, error) : error_no_memory(error);
    snprintf(dialect, dialect_bytes, "inspector%s%s", file.revision[0] ? "-" : "", file.revision);
    release(&file);
    return status || end.reading_failed ? -1 : 0;
}

static int has(const char *bytes, size_t length, const char *what)
{
    return sniff_find(bytes, length, bytes, what, first_key) != NULL;
}

static int inspector_sniff(const char *bytes, size_t length, const char *path)
{
    if (has(bytes, length, "\"inspector_output_format_version\""))
        return 100;
    return has(bytes, length, "\"coll_perf\"") || has(bytes, length, "\"p2p_perf\"") ? 60 : 0;
}

static const char line_begin[] = "{\"header\"";

/* The length of the whole line that begins here, its newline included; 0 when it is none of ours. */
static size_t own_line(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    size_t line = newline ? (size_t)(newline - bytes) : 0;
    if (line < sizeof line_begin || memcmp(bytes, line_begin, sizeof line_begin - 1) != 0 ||
        memcmp(newline - 2, "}}", 2) != 0)
        return 0;
    return line + 1;
}

/* One record and nothing else: whether the next one repeats it can be seen from it alone. */
static int is_record(const char *text, size_t length)
{
    struct json json;
    struct inspector_line *line = calloc(1, sizeof *line);
    json_init(&json);
    int is = line && inspector_decode(&json, text, length, line) == INSPECTOR_LINE;
    json_release(&json);
    free(line);
    return is;
}

/* Between two lines that each hold a record, and not the same one, nothing is carried over. */
static size_t inspector_cut(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    while (newline) {
        size_t at = (size_t)(newline + 1 - bytes);
        size_t first = own_line(bytes + at, length - at);
        size_t second = first ? own_line(bytes + at + first, length - at - first) : 0;
        int differ = first != second || memcmp(bytes + at, bytes + at + first, first) != 0;
        if (second && differ && is_record(bytes + at, first) && is_record(bytes + at + first, second))
            return at + first;
        newline = memchr(bytes + at, '\n', length - at);
    }
    return 0;
}

const struct format format_inspector = {
    .name = "inspector",
    .description = "JSON lines of NVIDIA's Inspector profiler plugin",
    .sniff = inspector_sniff,
    .cut = inspector_cut,
    .read = inspector_read,
};
