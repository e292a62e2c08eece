/*
 * The format "inspector": JSON lines of NVIDIA's Inspector plugin and of the bundled plugin. Finds the source
 * process of each line and makes events; line.c and scan.c read single lines, transfers.c assembles proxy
 * operations.
 */
#include "format/inspector/inspector.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first key of every record up to format v4.2, and of the records after a marker in later formats. */
static const char first_key[] = "\"header\"";
static const char *const other_keys[] = {"\"coll_perf\"", "\"p2p_perf\"", "\"proxy_trace\"", NULL};

/* The latest known version of the format. */
enum { KNOWN_MAJOR = 4, KNOWN_MINOR = 4 };

struct inspector_file {
    const struct format_sink *sink;
    struct json json;
    struct inspector_scanner scanner;
    struct inspector_line *line;
    struct inspector_source_processes source_processes;
    struct inspector_transfers transfers;
    int64_t source_process; /* source process of the marker that lines without a header belong to; -1: none */
    int64_t dumped_ns;      /* when that marker was written; TIME_UNKNOWN */
    int64_t left;           /* how many such lines are still to come; COUNT_UNKNOWN: not given */
    int traces_proxies;
    struct buffer version; /* version of the format in the last header */
    int goes_on;           /* this is not the first part of a split file */
    int is_begun;          /* a header has been seen */
    struct buffer host;    /* texts of the event, each with a NUL */
    struct buffer communicator_name;
    struct buffer tag;
    struct scan_text previous; /* the previous line; NULL: none */
    struct buffer kept;        /* copy of the previous line, when its input buffer is gone */
    struct event event;        /* members that all lines share are set once */
    int64_t next_ordinal;
    char revision[24]; /* of the first record */
};

/* The content is usually the same as for the previous line, and is then not copied. */
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
    struct scan_text name = file->line->identity.communicator_name;
    if (name.length == 7 && memcmp(name.text, "unknown", 7) == 0)
        name.length = 0;
    return set_text(&file->host, file->line->identity.host, error) ||
                   set_text(&file->communicator_name, name, error) ||
                   set_text(&file->tag, file->line->tag, error)
               ? -1
               : 0;
}

/* "v2.30.7" becomes "2.30"; other words stay as they are, if they have only plain characters. */
static void keep_revision(struct inspector_file *file)
{
    struct scan_text revision = file->line->identity.revision;
    size_t length = 0;
    int dots = 0;
    int is_version = revision.length > 1 && revision.text[0] == 'v' && is_digit(revision.text[1]);
    for (size_t at = (size_t)is_version; at < revision.length && length < sizeof file->revision - 1; at++) {
        char byte = revision.text[at];
        dots += byte == '.';
        if (is_version && dots == 2)
            break;
        int plain = is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                    byte == '.' || byte == '-';
        file->revision[length++] = (char)(plain ? byte : '_');
    }
    file->revision[length] = '\0';
}

/*
 * An end before the begin is left from an earlier use of the slot, and becomes unknown. Returns 1 in that
 * case.
 */
static size_t forget_stale_end(struct interval_ns *interval)
{
    if (interval->end_ns >= interval->begin_ns || interval->end_ns == TIME_UNKNOWN)
        return 0;
    interval->end_ns = TIME_UNKNOWN;
    return 1;
}

/*
 * The end of an operation without kernel times: it ended before its record was dumped. Without the time of
 * the dump, a duration measured on the host counts from the call.
 */
static void bound_end(const struct inspector_line *line, struct operation *operation)
{
    if (operation->device.begin_ns == TIME_UNKNOWN && line->dumped_ns != TIME_UNKNOWN) {
        operation->end_source = END_DUMP;
        operation->device.end_ns = line->dumped_ns;
        return;
    }
    if (line->timing != TIMING_OPERATION_CPU || line->duration_ns == COUNT_UNKNOWN)
        return;
    operation->end_source = END_HOST;
    if (line->enqueue.begin_ns != TIME_UNKNOWN && line->enqueue.begin_ns <= INT64_MAX - line->duration_ns)
        operation->device.end_ns = line->enqueue.begin_ns + line->duration_ns;
}

/* When the operation ran: from the channels that have both ends. Returns the number of stale ends. */
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
    bound_end(line, operation);
    return stale;
}

/* Sets what no line gives. */
static void begin_event(struct event *event)
{
    *event = (struct event){
        .kind = EVENT_OPERATION,
        .operation = {.count = COUNT_UNKNOWN, .root = COUNT_UNKNOWN, .api = {TIME_UNKNOWN, TIME_UNKNOWN}}};
}

static void fill_origin(const struct inspector_file *file, uint64_t offset, struct origin *origin)
{
    const struct inspector_identity *identity = &file->line->identity;
    origin->host = text_or_null(&file->host);
    origin->pid = identity->pid;
    origin->communicator_hash = identity->communicator_hash;
    origin->rank = identity->rank;
    origin->communicator_name = text_or_null(&file->communicator_name);
    origin->communicator_size = identity->communicator_size > 0 ? identity->communicator_size : 0;
    origin->node_count = identity->node_count > 0 ? identity->node_count : 0;
    origin->offset = offset;
}

/* Returns the number of stale ends. */
static size_t fill_operation(struct inspector_file *file, struct operation *operation)
{
    struct inspector_line *line = file->line;
    operation->ordinal = file->next_ordinal++;
    operation->kind = line->is_point_to_point ? OPERATION_POINT_TO_POINT : OPERATION_COLLECTIVE;
    operation->function = line->function;
    /* The sequence number of an unknown kind of call would match calls on other ranks by mistake. */
    int is_known = line->is_point_to_point == function_is_point_to_point(line->function);
    operation->sequence = is_known ? line->sequence : COUNT_UNKNOWN;
    operation->bytes = line->bytes;
    operation->algorithm = line->algorithm;
    operation->protocol = line->protocol;
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

/* Adds the operation as a possible parent of proxy operations. */
static int keep_parent(struct inspector_file *file, struct error *error)
{
    int64_t source_process = file->line->has_identity
                                 ? inspector_source_process(&file->source_processes, &file->line->identity)
                                 : file->source_process;
    return source_process < 0
               ? error_no_memory(error)
               : inspector_transfers_parent(&file->transfers, source_process, &file->event.operation, error);
}

static int emit(struct inspector_file *file, uint64_t offset, struct error *error)
{
    if (set_texts(file, error))
        return -1;
    if (file->next_ordinal == 0)
        keep_revision(file);
    fill_origin(file, offset, &file->event.origin);
    size_t stale = fill_operation(file, &file->event.operation);
    if ((stale > 0 && note_stale_ends(file, stale, offset, error)) ||
        (file->traces_proxies && keep_parent(file, error)))
        return -1;
    return file->sink->event(file->sink->context, &file->event, error);
}

/* Lines usually differ at their end, the figures of the operation, so this is compared first. */
static int is_repeated(const struct inspector_file *file, const char *text, size_t length)
{
    enum { FIGURE_BYTES = 16 };
    const char *previous = file->previous.text;
    if (!previous || file->previous.length != length)
        return 0;
    if (length >= FIGURE_BYTES &&
        memcmp(previous + length - FIGURE_BYTES, text + length - FIGURE_BYTES, FIGURE_BYTES) != 0)
        return 0;
    return memcmp(previous, text, length) == 0;
}

/* Keeps the line just read, for comparison with the next one. */
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

/* What was lost of a record that was read; NULL: nothing. */
static const char *misreading(const struct json *json)
{
    /* Bandwidth over no time prints as inf; that loses nothing. */
    if (json->has_misfit)
        return "number out of range";
    return json->misread ? "unreadable value" : NULL;
}

/* Whether the version is later than the latest known one. */
static int is_newer(struct scan_text version)
{
    uint64_t number[2] = {0, 0};
    size_t at = version.length > 0 && version.text[0] == 'v';
    for (int part = 0; part < 2; part++, at++)
        for (; at < version.length && is_digit(version.text[at]); at++)
            number[part] = number[part] > UINT32_MAX ? number[part]
                                                     : number[part] * 10 + (uint64_t)(version.text[at] - '0');
    return number[0] > KNOWN_MAJOR || (number[0] == KNOWN_MAJOR && number[1] > KNOWN_MINOR);
}

/*
 * Noted where the version begins: a later part of a file begins with the version at the end of the previous
 * part.
 */
static int look_at_version(struct inspector_file *file, uint64_t offset, struct error *error)
{
    struct scan_text version = file->line->identity.version;
    int is_same = file->version.length == version.length &&
                  (version.length == 0 || memcmp(file->version.data, version.text, version.length) == 0);
    if (is_same)
        return 0;
    if (set_text(&file->version, version, error))
        return -1;
    int goes_on = !file->is_begun && file->goes_on;
    file->is_begun = 1;
    if (goes_on || !is_newer(version))
        return 0;
    return file->sink->note(file->sink->context, FORMAT_NOTE_NEWER, 0, offset, version.text, version.length,
                            error);
}

/* Finds the source process of a line: its own, or that of its marker. Returns 0 if neither gives it. */
static int claim(struct inspector_file *file)
{
    if (file->line->has_identity) {
        file->source_process = -1;
        return 1;
    }
    if (file->source_process < 0 || file->left == 0)
        return 0;
    file->left -= file->left > 0;
    file->line->dumped_ns = file->dumped_ns;
    file->line->identity = inspector_identity_of(&file->source_processes, file->source_process);
    return 1;
}

/* The lines without a header after a marker belong to it, as many as it counts. */
static int take_marker(struct inspector_file *file, uint64_t offset, struct error *error)
{
    const struct inspector_stats *stats = &file->line->stats;
    file->source_process = inspector_source_process(&file->source_processes, &file->line->identity);
    if (file->source_process < 0)
        return error_no_memory(error);
    file->left = stats->records;
    file->dumped_ns = file->line->dumped_ns;
    file->traces_proxies |= stats->traces_proxies;
    return inspector_source_process_count(&file->source_processes, file->source_process, stats, file->sink,
                                          offset, error) ||
                   inspector_transfers_settle(&file->transfers, error)
               ? -1
               : 0;
}

/* Takes a part of a proxy operation. Without its number and direction it cannot be used. */
static int take_proxy(struct inspector_file *file, const char *text, size_t length, uint64_t offset,
                      struct error *error)
{
    const struct inspector_proxy *proxy = &file->line->proxy;
    if (proxy->part == PART_UNKNOWN)
        return note(file, "unknown record", 0, offset, text, length, error);
    if (proxy->number == COUNT_UNKNOWN || proxy->is_receive == COUNT_UNKNOWN)
        return note(file, "impossible proxy operation", 1, offset, text, length, error);
    int64_t source_process = file->line->has_identity
                                 ? inspector_source_process(&file->source_processes, &file->line->identity)
                                 : file->source_process;
    if (source_process < 0)
        return error_no_memory(error);
    file->traces_proxies = 1;
    return inspector_transfers_add(&file->transfers, source_process, &file->json, proxy, offset, error);
}

static int note_unkept(const struct inspector_file *file, uint64_t offset, struct error *error)
{
    const struct inspector_line *line = file->line;
    int failed = 0;
    for (int64_t i = 0; i < line->unkept && !failed; i++)
        failed = note(file, "timestamps that are not stored", 0, offset, line->first_unkept.text,
                      line->first_unkept.length, error) < 0;
    return failed ? -1 : 0;
}

/*
 * Losses of the whole process. The totals are repeated in several lines, and parts of a file are read
 * separately.
 */
static int take_drops(struct inspector_file *file, uint64_t offset, struct error *error)
{
    int64_t totals[RECORDER_DROP_KINDS];
    struct event event = {.kind = EVENT_LOSS};
    if (set_texts(file, error))
        return -1;
    fill_origin(file, offset, &event.origin);
    event.origin.communicator_hash = 0;
    event.origin.communicator_name = NULL;
    event.origin.rank = COUNT_UNKNOWN;
    recorder_drops_read(&file->json, file->line->own_drops, totals);
    for (int i = 0; i < RECORDER_DROP_KINDS; i++) {
        event.loss = (struct loss){.events = totals[i], .what = recorder_drop_meanings[i], .is_total = 1};
        if (totals[i] > 0 && file->sink->event(file->sink->context, &event, error))
            return -1;
    }
    return 0;
}

static int take_own(struct inspector_file *file, uint64_t offset, struct error *error)
{
    const struct inspector_line *line = file->line;
    if (line->own_drops && take_drops(file, offset, error))
        return -1;
    return line->own_stop ? recorder_stop_note(&file->json, line->own_stop, file->sink, offset, error) : 0;
}

static int take_record(struct inspector_file *file, const char *text, size_t length, uint64_t offset,
                       struct error *error)
{
    const struct inspector_line *line = file->line;
    if (line->has_identity && look_at_version(file, offset, error))
        return -1;
    if (line->record == INSPECTOR_MARKER) {
        if (line->is_unknown_record && note(file, "unknown record", 0, offset, text, length, error) < 0)
            return -1;
        return take_marker(file, offset, error);
    }
    if (line->record == INSPECTOR_OWN)
        return take_own(file, offset, error);
    if (!claim(file))
        return note(file, "record without a communicator", 1, offset, text, length, error);
    if (line->unkept > 0 && note_unkept(file, offset, error))
        return -1;
    return line->record == INSPECTOR_PROXY ? take_proxy(file, text, length, offset, error)
                                           : emit(file, offset, error);
}

/* An unknown record counts as one of its marker's lines. */
static int pass_over(struct inspector_file *file, const char *text, size_t length, uint64_t offset,
                     struct error *error)
{
    file->left -= file->left > 0;
    return note(file, "unknown record", 0, offset, text, length, error);
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
    if (status == INSPECTOR_UNKNOWN_RECORD)
        return pass_over(file, text, length, offset, error);
    if (is_repeated(file, text, length))
        return note(file, "duplicate record", 0, offset, NULL, 0, error);
    if (keep(file, (struct scan_text){text, length}, error) ||
        take_record(file, text, length, offset, error) < 0)
        return -1;
    const char *reason = is_exact ? NULL : misreading(&file->json);
    return reason ? note(file, reason, 1, offset, text, length, error) : 1;
}

/* An unreadable line may have been a marker, so the source process of the following lines is unknown. */
static int note_unreadable(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                           size_t detail_length, struct error *error)
{
    static const char *const keys[] = {"\"header\"", "\"metadata\"", "\"dump_stats\""};
    struct inspector_file *file = context;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (memmem(detail, detail_length, keys[i], strlen(keys[i])))
            file->source_process = -1;
    return file->sink->note(file->sink->context, reason, damage, offset, detail, detail_length, error);
}

/*
 * Reads a line that the scanner knows. Returns where it ends, after its newline; NULL if it is no such line.
 */
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
    return take_record(file, text, length, offset, error) < 0 ? -1 : 0;
}

/* Reads lines as long as the scanner knows them. */
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
    buffer_release(&file->version);
    inspector_transfers_release(&file->transfers);
    inspector_source_processes_release(&file->source_processes);
    free(file->line);
}

/* Whether this is a part of a split file other than the first. */
static int begins_late(struct input *input, struct error *error)
{
    const char *bytes;
    size_t length;
    uint64_t offset = 0;
    if (input_peek(input, &bytes, 1, error) == 1)
        input_ahead(input, &length, &offset);
    return offset > 0;
}

static void begin(struct inspector_file *file)
{
    json_init(&file->json);
    inspector_scanner_init(&file->scanner);
    inspector_source_processes_init(&file->source_processes);
    inspector_transfers_init(&file->transfers, file->sink, &file->source_processes);
    begin_event(&file->event);
}

/*
 * The recorder writes during the job: if the last line is incomplete, the job is still running or was killed.
 * (Parts of a split file end with a whole record.)
 */
static int note_cut_line(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    const struct inspector_file *file = context;
    if (memchr(text, '\n', length))
        return note_unreadable(context, "unreadable text", 1, offset, text, length, error);
    return file->sink->note(file->sink->context, "incomplete last line", 0, offset, text, length, error) ||
                   file->sink->note(file->sink->context, FORMAT_NOTE_OPEN, 0, offset, NULL, 0, error)
               ? -1
               : 0;
}

static int inspector_read(struct input *input, const struct format_sink *sink, char *dialect,
                          size_t dialect_bytes, struct error *error)
{
    struct inspector_file file = {.sink = sink, .line = calloc(1, sizeof *file.line), .source_process = -1};
    const struct format_sink unreadable = {.context = &file, .note = note_unreadable};
    const struct objects objects = {.first_key = first_key,
                                    .other_keys = other_keys,
                                    .context = &file,
                                    .object = read_record,
                                    .lines = read_known_lines,
                                    .cut = note_cut_line,
                                    .sink = &unreadable};
    struct objects_end end = {.offset = 0};
    begin(&file);
    file.goes_on = begins_late(input, error);
    int status = file.line ? objects_read(&objects, input, &end, error) : error_no_memory(error);
    status = status || inspector_transfers_end(&file.transfers, end.reading_failed ? NULL : error);
    snprintf(dialect, dialect_bytes, "inspector%s%s", file.revision[0] ? "-" : "", file.revision);
    release(&file);
    return status || end.reading_failed ? -1 : 0;
}

const struct format format_inspector = {
    .name = "inspector",
    .version = 2,
    .description = "JSON lines of NVIDIA's Inspector profiler plugin",
    .unknown = "unknown record",
    .sniff = inspector_sniff,
    .cut = inspector_cut,
    .read = inspector_read,
    .why_nothing = inspector_why_nothing,
};
