/*
 * The format "nccl_ras": reports of NCCL's RAS subsystem (`ncclras`) as JSON or text. Finds the reports in a
 * file and reads the JSON ones; report.c reads the text, monitor.c events.
 */
#include "format/nccl_ras/nccl_ras.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* The values that are read, in the order in which a communicator has them. */
enum { PATH_HASH, PATH_SIZE, PATH_RANK, PATH_MISSING, PATH_TIME };
static const char *const paths[] = {
    [PATH_HASH] = "communicators[].hash",
    [PATH_SIZE] = "communicators[].size",
    [PATH_RANK] = "communicators[].ranks[]",
    [PATH_MISSING] = "communicators[].missing_ranks[]",
    [PATH_TIME] = "timestamp",
    NULL,
};

/* A dump begins within the first LINES_BEFORE lines of a file, in at most BEGIN_BYTES. */
enum { LINES_BEFORE = 16, BEGIN_BYTES = 4096 };

static const char first_key[] = "\"nccl_version\"";

struct ras_file {
    const struct format_sink *sink;
    struct json json;
    struct buffer mended; /* an object with the missing comma added */
    struct ras_members member_list;
};

static int note(const struct ras_file *file, const char *reason, int damage, const struct tokens_value *value,
                struct error *error)
{
    return file->sink->note(file->sink->context, reason, damage, value->offset, value->value.text,
                            value->value.length, error);
}

static int take_hash(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    struct raw_json text;
    uint64_t hash = 0;
    file->member_list.communicator_size = 0;
    int failed = raw_json_string(value->value, &text) || number_hexadecimal(text.text, text.length, &hash);
    file->member_list.communicator_hash = failed ? 0 : hash;
    return failed ? note(file, "unreadable value", 1, value, error) : 0;
}

static int take_size(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int64_t size = 0;
    int failed = number_int64(value->value.text, value->value.length, &size) || size < 0;
    file->member_list.communicator_size = failed ? 0 : size;
    return failed ? note(file, "unreadable value", 1, value, error) : 0;
}

/*
 * NCCL 2.28.7 to 2.28.9 omit the comma before "status" of a rank that did not answer. Returns where it is
 * missing; NULL if it is there.
 */
static const char *missing_comma(struct raw_json object)
{
    static const char key[] = "\"status\"";
    const char *at = memmem(object.text, object.length, key, sizeof key - 1);
    while (at && at > object.text && sniff_is_space(at[-1]))
        at--;
    return at && at > object.text && at[-1] != ',' && at[-1] != '{' ? at : NULL;
}

static enum json_status parse_mended(struct ras_file *file, struct raw_json object, const char *at)
{
    size_t before = (size_t)(at - object.text);
    buffer_clear(&file->mended);
    if (buffer_append(&file->mended, object.text, before) || buffer_append_text(&file->mended, ",") ||
        buffer_append(&file->mended, at, object.length - before))
        return JSON_NO_MEMORY;
    return json_parse(&file->json, file->mended.data, file->mended.length);
}

/* Returns 1 if the object can be read, 0 if it was noted as unreadable, -1 to stop. */
static int parse(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    enum json_status status = json_parse(&file->json, value->value.text, value->value.length);
    const char *comma = status == JSON_INVALID ? missing_comma(value->value) : NULL;
    if (comma)
        status = parse_mended(file, value->value, comma);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (comma && status == JSON_OK && note(file, "missing comma before status", 0, value, error))
        return -1;
    if (status == JSON_OK && file->json.root.kind == VALUE_DICTIONARY)
        return 1;
    return note(file, "unreadable text", 1, value, error) ? -1 : 0;
}

static int add_member(struct ras_file *file, const struct tokens_value *value, enum warning_kind missing,
                      struct error *error)
{
    if (file->member_list.count >= RAS_MEMBERS_MOST)
        return note(file, "more ranks than a job can have", 1, value, error);
    if (ras_members_add(&file->member_list, &file->json, missing, value->offset))
        return error_no_memory(error);
    int is_misread = file->json.misread || file->json.has_misfit;
    return is_misread ? note(file, "unreadable value", 1, value, error) : 0;
}

static int take_rank(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int is_object = parse(file, value, error);
    return is_object < 1 ? is_object : add_member(file, value, WARNING_OTHER, error);
}

/*
 * A rank without a report: its progress is unknown. Its process may have answered, and the rank may have
 * left.
 */
static int take_missing(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int is_object = parse(file, value, error);
    if (is_object < 1)
        return is_object;
    const struct value *status = json_member(&file->json.root, "status");
    if (json_is_true(json_member(status, "considered_dead")))
        return add_member(file, value, WARNING_DEAD, error);
    if (json_is_true(json_member(status, "unresponsive")))
        return add_member(file, value, WARNING_SILENT, error);
    return note(file, "rank not yet or no longer in its communicator", 0, value, error);
}

static int take_time(struct ras_file *file, const struct tokens_value *value)
{
    struct raw_json text;
    if (raw_json_string(value->value, &text) == 0)
        file->member_list.at_ns = ras_moment_of(text.text, text.length);
    return 0;
}

static int take_value(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    switch (value->path) {
    case PATH_HASH:
        return take_hash(file, value, error);
    case PATH_SIZE:
        return take_size(file, value, error);
    case PATH_RANK:
        return take_rank(file, value, error);
    case PATH_MISSING:
        return take_missing(file, value, error);
    default:
        return take_time(file, value);
    }
}

enum dump { DUMP_NONE, DUMP_JSON, DUMP_REPORT, DUMP_EVENTS, DUMP_JSON_EVENTS };

static enum dump dump_at(const char *at, const char *end)
{
    if (ras_report_begins(at, (size_t)(end - at)))
        return DUMP_REPORT;
    enum ras_monitor monitor = ras_monitor_at(at, end);
    if (monitor != RAS_MONITOR_NONE)
        return monitor == RAS_MONITOR_TEXT ? DUMP_EVENTS : DUMP_JSON_EVENTS;
    const char *first = *at == '{' ? raw_json_skip_space(at + 1, end) : end;
    return (size_t)(end - first) >= sizeof first_key && memcmp(first, first_key, sizeof first_key - 1) == 0
               ? DUMP_JSON
               : DUMP_NONE;
}

/*
 * Finds where a dump or the first event begins in the first lines: RAS's socket answers "OK" before it,
 * ncclras prints a banner before events, and scripts print the time. NULL if there is none.
 */
static const char *find_dump(const char *bytes, size_t length, enum dump *dump)
{
    const char *at = bytes, *end = bytes + length;
    for (int lines = 0; at && at < end && lines < LINES_BEFORE; lines++) {
        *dump = dump_at(at, end);
        if (*dump != DUMP_NONE)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return NULL;
}

/* Skips the lines before the dump. */
static int skip_to_dump(struct input *input, enum dump *dump, struct error *error)
{
    const char *bytes;
    int64_t length = input_peek(input, &bytes, BEGIN_BYTES, error);
    *dump = DUMP_NONE;
    const char *begin = length > 0 ? find_dump(bytes, (size_t)length, dump) : NULL;
    for (size_t left = begin ? (size_t)(begin - bytes) : 0; left > 0;) {
        struct input_line line;
        if (input_line(input, &line, error) < 1)
            return -1;
        left -= left < line.length + 1 ? left : line.length + 1;
    }
    return length < 0 ? -1 : 0;
}

static int take_damage(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    const char *reason = value->kind == TOKENS_CUT        ? "file ends within its text"
                         : value->kind == TOKENS_TOO_LONG ? "value too long"
                                                          : "unreadable text";
    return note(file, reason, 1, value, error);
}

/* A file may contain several dumps, one after the other. */
static int begins_another(struct tokens *tokens, struct input *input)
{
    enum dump dump = DUMP_NONE;
    struct error error = ERROR_INIT;
    int failed = !tokens_leave(tokens) || skip_to_dump(input, &dump, &error);
    error_clear(&error);
    if (failed || dump != DUMP_JSON)
        return 0;
    tokens_init(tokens, input, paths);
    return 1;
}

static int read_values(struct ras_file *file, struct input *input, struct error *error)
{
    struct tokens tokens;
    struct tokens_value value;
    int failed = 0;
    tokens_init(&tokens, input, paths);
    while (!failed && !(failed = tokens_next(&tokens, &value, error)) && value.kind != TOKENS_END) {
        if (value.kind == TOKENS_VALUE)
            failed = take_value(file, &value, error);
        else if (value.kind == TOKENS_DAMAGE && begins_another(&tokens, input))
            failed = ras_members_next(&file->member_list, file->sink, error);
        else
            failed = take_damage(file, &value, error);
    }
    return failed;
}

static int read_content(struct ras_file *file, enum dump dump, struct input *input, struct error *error)
{
    switch (dump) {
    case DUMP_REPORT:
        return ras_report_read(&file->member_list, input, file->sink, error);
    case DUMP_EVENTS:
        return ras_monitor_read(&file->member_list, RAS_MONITOR_TEXT, input, file->sink, error);
    case DUMP_JSON_EVENTS:
        return ras_monitor_read(&file->member_list, RAS_MONITOR_JSON, input, file->sink, error);
    default:
        return read_values(file, input, error);
    }
}

static int read_dump(struct ras_file *file, struct input *input, struct error *error)
{
    enum dump dump;
    int failed = skip_to_dump(input, &dump, error) || read_content(file, dump, input, error);
    return failed || ras_members_end(&file->member_list, file->sink, error) ? -1 : 0;
}

static int ras_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                    struct error *error)
{
    struct ras_file file = {.sink = sink, .mended = BUFFER_INIT};
    snprintf(dialect, dialect_bytes, "nccl-ras");
    json_init(&file.json);
    ras_members_init(&file.member_list);
    int status = read_dump(&file, input, error);
    ras_members_release(&file.member_list);
    json_release(&file.json);
    buffer_release(&file.mended);
    return status;
}

enum { SURE = 90 };

static int ras_sniff(const char *bytes, size_t length, const char *path)
{
    enum dump dump = DUMP_NONE;
    (void)path;
    const char *begin = find_dump(bytes, length, &dump);
    if (dump != DUMP_NONE && dump != DUMP_JSON)
        return SURE;
    if (begin)
        return memmem(begin, length - (size_t)(begin - bytes), "\"communicators_count\"", 21) ? SURE : 0;
    return sniff_find(bytes, length, bytes, "\"communicators_count\"", first_key) &&
                   sniff_find(bytes, length, bytes, first_key, first_key)
               ? SURE
               : 0;
}

static const char *ras_why_nothing(const char *path, uint64_t bytes)
{
    (void)path;
    return bytes == 0 ? NULL
                      : "RAS counted no operations, or this is its text output, which lists only the ranks "
                        "that differ; run ncclras -f json (NCCL 2.28.7 or later)";
}

const struct format format_nccl_ras = {
    .name = "nccl-ras",
    .version = 2,
    .description = "status of a running job from NCCL's RAS (ncclras, text or -f json)",
    .unknown = "unknown record",
    .sniff = ras_sniff,
    .read = ras_read,
    .why_nothing = ras_why_nothing,
};
