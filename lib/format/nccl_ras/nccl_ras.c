#include "format/nccl_ras/nccl_ras.h"

#include "format/nccl_ras/seats.h"
#include "format/sniff.h"
#include "input/number.h"
#include "input/tokens.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* What is looked at, and in which order it stands in a communicator. */
enum { PATH_HASH, PATH_SIZE, PATH_RANK, PATH_MISSING, PATH_TIME };
static const char *const paths[] = {
    [PATH_HASH] = "communicators[].hash",
    [PATH_SIZE] = "communicators[].size",
    [PATH_RANK] = "communicators[].ranks[]",
    [PATH_MISSING] = "communicators[].missing_ranks[]",
    [PATH_TIME] = "timestamp",
    NULL,
};

/* A dump is of one job: more ranks, counted in each of their communicators, it does not have. */
enum { SEATS_MOST = 1 << 20 };

enum { NS_PER_S = 1000000000 };

struct ras_file {
    const struct format_sink *sink;
    struct json json;
    struct ras_seats seats;
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
    file->seats.communicator_size = 0;
    int failed = raw_json_string(value->value, &text) || number_hexadecimal(text.text, text.length, &hash);
    file->seats.communicator_hash = failed ? 0 : hash;
    return failed ? note(file, "value that cannot be read", 1, value, error) : 0;
}

static int take_size(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int64_t size = 0;
    int failed = number_int64(value->value.text, value->value.length, &size) || size < 0;
    file->seats.communicator_size = failed ? 0 : size;
    return failed ? note(file, "value that cannot be read", 1, value, error) : 0;
}

/* 1 where the object can be read, 0 where it was noted that it cannot; -1 to stop. */
static int parse(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    enum json_status status = json_parse(&file->json, value->value.text, value->value.length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status == JSON_OK && json_kind(json_root(&file->json)) == JSON_OBJECT)
        return 1;
    return note(file, "unreadable text", 1, value, error) ? -1 : 0;
}

static int add_seat(struct ras_file *file, const struct tokens_value *value, enum warning_kind missing,
                    struct error *error)
{
    if (file->seats.count >= SEATS_MOST)
        return note(file, "more ranks than a job has", 1, value, error);
    if (ras_seats_add(&file->seats, &file->json, missing, value->offset))
        return error_no_memory(error);
    int is_misread = file->json.misread || !json_numbers_fit(&file->json);
    return is_misread ? note(file, "value that cannot be read", 1, value, error) : 0;
}

static int take_rank(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int is_object = parse(file, value, error);
    return is_object < 1 ? is_object : add_seat(file, value, WARNING_OTHER, error);
}

/* A rank that RAS heard nothing of: how far it came is not known. Its process may answer, and have left. */
static int take_missing(struct ras_file *file, const struct tokens_value *value, struct error *error)
{
    int is_object = parse(file, value, error);
    if (is_object < 1)
        return is_object;
    const struct json_node *status = json_member(json_root(&file->json), "status");
    if (json_is_true(json_member(status, "considered_dead")))
        return add_seat(file, value, WARNING_DEAD, error);
    if (json_is_true(json_member(status, "unresponsive")))
        return add_seat(file, value, WARNING_SILENT, error);
    return note(file, "rank not in its communicator yet, or no more", 0, value, error);
}

/* "2025-12-19 13:06:53", of the clock on the wall there; TIME_UNKNOWN where it is none. */
static int64_t moment_of(struct raw_json text)
{
    static const char layout[] = "0000-00-00 00:00:00";
    int64_t part[6] = {0};
    size_t at = 0;
    if (text.length != sizeof layout - 1)
        return TIME_UNKNOWN;
    for (size_t i = 0; i < text.length; i++) {
        int is_digit = text.text[i] >= '0' && text.text[i] <= '9';
        if (layout[i] == '0' ? !is_digit : text.text[i] != layout[i])
            return TIME_UNKNOWN;
        if (is_digit)
            part[at] = part[at] * 10 + (text.text[i] - '0');
        else
            at++;
    }
    struct tm time = {.tm_year = (int)part[0] - 1900,
                      .tm_mon = (int)part[1] - 1,
                      .tm_mday = (int)part[2],
                      .tm_hour = (int)part[3],
                      .tm_min = (int)part[4],
                      .tm_sec = (int)part[5]};
    int64_t seconds = timegm(&time);
    return seconds > 0 && seconds < INT64_MAX / NS_PER_S ? seconds * NS_PER_S : TIME_UNKNOWN;
}

static int take_time(struct ras_file *file, const struct tokens_value *value)
{
    struct raw_json text;
    if (raw_json_string(value->value, &text) == 0)
        file->seats.at_ns = moment_of(text);
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

static int read_values(struct ras_file *file, struct input *input, struct error *error)
{
    struct tokens tokens;
    struct tokens_value value;
    int failed = 0;
    tokens_init(&tokens, input, paths);
    while (!failed && !(failed = tokens_next(&tokens, &value, error)) && value.kind != TOKENS_END) {
        if (value.kind == TOKENS_VALUE)
            failed = take_value(file, &value, error);
        else if (value.kind == TOKENS_CUT)
            failed = note(file, "file ends within its text", 1, &value, error);
        else
            failed = note(file, value.kind == TOKENS_TOO_LONG ? "value that is too long" : "unreadable text",
                          1, &value, error);
    }
    return failed;
}

static int ras_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                    struct error *error)
{
    struct ras_file file = {.sink = sink};
    snprintf(dialect, dialect_bytes, "nccl-ras");
    json_init(&file.json);
    ras_seats_init(&file.seats);
    int status = read_values(&file, input, error) || ras_seats_end(&file.seats, sink, error) ? -1 : 0;
    ras_seats_release(&file.seats);
    json_release(&file.json);
    return status;
}

enum { SURE = 90 };

static int ras_sniff(const char *bytes, size_t length, const char *path)
{
    static const char first_key[] = "\"nccl_version\"";
    (void)path;
    return sniff_find(bytes, length, bytes, "\"communicators_count\"", first_key) &&
                   sniff_find(bytes, length, bytes, "\"nccl_version\"", first_key)
               ? SURE
               : 0;
}

const struct format format_nccl_ras = {
    .name = "nccl-ras",
    .version = 1,
    .description = "what NCCL's RAS tells of a running job (ncclras -f json)",
    .unknown = "unknown record",
    .sniff = ras_sniff,
    .read = ras_read,
};
