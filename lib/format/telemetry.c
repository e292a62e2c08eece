/*
 * What the readers of operators' records share: words and numbers of their lines, and values that become
 * samples. The counters of these records are totals since some start, so each series keeps its last value.
 */
#include "format/telemetry.h"
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file may not have more series than this: a node has some thousands at most. */
enum { SERIES_MOST = 1 << 17, NUMBER_BYTES = 64 };

struct text text_skip(struct text text, size_t bytes)
{
    if (bytes > text.length)
        bytes = text.length;
    return (struct text){text.data + bytes, text.length - bytes};
}

struct text text_trim(struct text text)
{
    while (text.length && sniff_is_space(text.data[0]))
        text = text_skip(text, 1);
    while (text.length && sniff_is_space(text.data[text.length - 1]))
        text.length--;
    return text;
}

struct text text_part(struct text *text, char mark)
{
    const char *found = text->length ? memchr(text->data, mark, text->length) : NULL;
    size_t length = found ? (size_t)(found - text->data) : text->length;
    struct text part = {text->data, length};
    *text = text_skip(*text, found ? length + 1 : length);
    return text_trim(part);
}

struct text text_next(struct text *text)
{
    size_t length = 0;
    *text = text_trim(*text);
    while (length < text->length && !sniff_is_space(text->data[length]))
        length++;
    struct text word = {text->data, length};
    *text = text_skip(*text, length);
    return word;
}

int text_is_like(struct text text, const char *word)
{
    return text.length == strlen(word) && (!text.length || strncasecmp(text.data, word, text.length) == 0);
}

double telemetry_number(struct text text)
{
    char digits[NUMBER_BYTES];
    size_t length = 0;
    char *end;
    text = text_trim(text);
    for (size_t i = 0; i < text.length && length + 1 < sizeof digits; i++)
        if (text.data[i] == ' ' || text.data[i] == '%')
            break;
        else if (text.data[i] != ',')
            digits[length++] = text.data[i];
    digits[length] = '\0';
    /* "inf" and "nan" are words of strtod, but no values here. */
    const char *first = digits + (digits[0] == '-' || digits[0] == '+');
    if (!is_digit(*first) && *first != '.')
        return NAN;
    double value = strtod(digits, &end);
    return *end || !isfinite(value) ? NAN : value;
}

static size_t hexadecimal(struct text text)
{
    size_t digits = 0;
    while (digits < text.length && isxdigit((unsigned char)text.data[digits]))
        digits++;
    return digits;
}

int telemetry_bus_id(struct text text, char bus[BUS_ID_BYTES])
{
    size_t first = hexadecimal(text);
    unsigned function = 0;
    struct text rest = text_skip(text, first);
    char domain[9] = "0";
    bus[0] = '\0';
    if (first >= 4 && first <= 8 && text_begins(rest, ":")) {
        snprintf(domain, sizeof domain, "%.*s", (int)first, text.data);
        text = text_skip(rest, 1);
        first = hexadecimal(text);
        rest = text_skip(text, first);
    }
    if (first != 2 || !text_begins(rest, ":") || hexadecimal(text_skip(rest, 1)) != 2)
        return 0;
    struct text device = text_skip(rest, 1), after = text_skip(device, 2);
    if (text_begins(after, ".") && after.length > 1 && is_digit(after.data[1]))
        function = (unsigned)(after.data[1] - '0');
    snprintf(bus, BUS_ID_BYTES, "%08lx:%.2s:%.2s.%u", strtoul(domain, NULL, 16) & 0xffffffff, text.data,
             device.data, function);
    for (char *at = bus; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return 1;
}

/* Names that systemd, the kernel and NVIDIA's drivers give to interfaces. */
static int is_interface(struct text word)
{
    static const char *const begins[] = {"eth", "en", "ib",   "bond", "mlx", "roce",
                                         "hsn", "em", "rdma", "wl",   "vlan"};
    int has_digit = 0;
    for (size_t i = 0; i < word.length; i++)
        has_digit |= is_digit(word.data[i]);
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (has_digit && text_begins(word, begins[i]))
            return 1;
    return 0;
}

int telemetry_interface_of_path(const char *path, char name[64])
{
    const char *slash = strrchr(path, '/'), *at = slash ? slash + 1 : path;
    while (*at) {
        struct text word = {at, strcspn(at, "._-")};
        if (is_interface(word) && word.length < 64)
            return text_copy(word, name, 64) != NULL;
        at += word.length + (at[word.length] != '\0');
    }
    return 0;
}

/* What the names of files and directories say besides a host: words alone, and words with or without a
 * number. */
static const char *const words_alone[] = {
    "dmesg",      "kern",  "kernel",    "kmsg",     "journal", "journalctl", "syslog",  "messages",
    "nvidia",     "smi",   "dcgm",      "dcgmi",    "dmon",    "query",      "ethtool", "rdma",
    "stat",       "stats", "statistic", "node",     "host",    "exporter",   "metrics", "prom",
    "prometheus", "py",    "spy",       "pyspy",    "txt",     "csv",        "json",    "jsonl",
    "gz",         "out",   "slurm",     "counters", NULL};
static const char *const words_with_numbers[] = {
    "gpu",  "gpus",  "rank",   "local",    "pid",    "log",    "logs",  "run",   "runs", "job", "jobs",
    "step", "test",  "tests",  "trace",    "traces", "part",   "exp",   "trial", "seed", "v",   "t",
    "dump", "stack", "scrape", "snapshot", "snap",   "before", "after", "tmp",   "data", NULL};

static int is_among(struct text part, const char *const *words)
{
    for (; *words; words++)
        if (text_is_like(part, *words))
            return 1;
    return 0;
}

static int is_word_of_names(struct text part)
{
    if (is_among(part, words_alone))
        return 1;
    while (part.length && is_digit(part.data[part.length - 1]))
        part.length--;
    return !part.length || is_among(part, words_with_numbers);
}

/* Words for tools stand before or after a hyphen; "node-17" and "gpu-17" are names of hosts. */
static int is_word_beside(struct text part)
{
    size_t digits = 0;
    while (digits < part.length && is_digit(part.data[digits]))
        digits++;
    int is_date = digits == part.length && digits >= 6;
    return is_date ||
           (is_among(part, words_alone) && !text_is_like(part, "node") && !text_is_like(part, "host"));
}

/* Takes words and dates that stand before or after a hyphen off a part of a name. */
static struct text without_words(struct text part)
{
    static const char exporter[] = "node-exporter-", node[] = "node-";
    if (text_begins(part, exporter))
        part = text_skip(part, sizeof exporter - 1);
    /* "node-17" is a host. */
    else if (text_begins(part, "node-node"))
        part = text_skip(part, sizeof node - 1);
    for (;;) {
        struct text rest = part, first;
        const char *last = part.length ? memrchr(part.data, '-', part.length) : NULL;
        if (!last)
            return part;
        size_t before = (size_t)(last - part.data);
        first = text_part(&rest, '-');
        if (is_word_beside(first))
            part = rest;
        else if (is_word_beside(text_skip(part, before + 1)))
            part.length = before;
        else
            return part;
    }
}

/* "2026-11-26T10" and "20261126T101112Z" have letters, too. */
static int is_time(struct text part)
{
    size_t digits = 0;
    while (digits < part.length && is_digit(part.data[digits]))
        digits++;
    return digits >= 4;
}

static int host_of_name(struct text name, char host[HOST_BYTES])
{
    while (name.length) {
        size_t length = 0;
        int letters = 0, digits = 0;
        while (length < name.length && !strchr("._", name.data[length]))
            length++;
        struct text part = without_words((struct text){name.data, length});
        name = text_skip(name, length + (length < name.length));
        for (size_t i = 0; i < part.length; i++) {
            letters |= isalpha((unsigned char)part.data[i]) != 0;
            digits |= is_digit(part.data[i]);
        }
        if (letters && digits && !is_word_of_names(part) && !is_interface(part) && !is_time(part) &&
            part.length < HOST_BYTES)
            return text_copy(part, host, HOST_BYTES) != NULL;
    }
    return 0;
}

/*
 * Directories have all kinds of names. Those of hosts end in a number that is not the model of a GPU, as in
 * "run-h100".
 */
static int may_be_directory_of_host(const char *name)
{
    static const char *const models[] = {"a", "b", "gb", "h", "l", "mi", "t", "v", NULL};
    const char *last = strrchr(name, '-');
    struct text part = {last ? last + 1 : name, strlen(last ? last + 1 : name)};
    size_t digits = 0;
    while (part.length && is_digit(part.data[part.length - 1])) {
        part.length--;
        digits++;
    }
    return digits && !is_among(part, models);
}

int telemetry_host_of_path(const char *path, char host[HOST_BYTES])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    host[0] = '\0';
    if (host_of_name((struct text){name, strlen(name)}, host))
        return 1;
    const char *end = slash;
    while (slash && slash > path && slash[-1] != '/')
        slash--;
    if (end && host_of_name((struct text){slash, (size_t)(end - slash)}, host) &&
        may_be_directory_of_host(host))
        return 1;
    host[0] = '\0';
    return 0;
}

void telemetry_init(struct telemetry *telemetry, const struct format_sink *sink, const struct input *input)
{
    *telemetry = (struct telemetry){.sink = sink,
                                    .modified_ns = input_modified_ns(input),
                                    .named_ns = log_time_of_path(input_path(input)),
                                    .key = BUFFER_INIT};
    (void)telemetry_host_of_path(input_path(input), telemetry->host);
    intern_init(&telemetry->keys);
}

void telemetry_release(struct telemetry *telemetry)
{
    intern_release(&telemetry->keys);
    free(telemetry->series);
    buffer_release(&telemetry->key);
}

static const char *known_host(const struct telemetry *telemetry)
{
    return telemetry->host[0] ? telemetry->host : NULL;
}

int telemetry_event(struct telemetry *telemetry, const struct node_event *of, uint64_t offset,
                    struct error *error)
{
    struct event event = {.kind = EVENT_NODE_EVENT,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = offset},
                          .node_event = *of};
    if (!of->host)
        event.node_event.host = known_host(telemetry);
    return telemetry->sink->event(telemetry->sink->context, &event, error);
}

int telemetry_fact(struct telemetry *telemetry, const struct node_fact *of, uint64_t offset,
                   struct error *error)
{
    struct event event = {.kind = EVENT_NODE_FACT,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = offset},
                          .node_fact = *of};
    if (!of->host)
        event.node_fact.host = known_host(telemetry);
    return telemetry->sink->event(telemetry->sink->context, &event, error);
}

static int emit(struct telemetry *telemetry, const struct measured *of, int64_t begin_ns, double value,
                struct error *error)
{
    struct event event = {.kind = EVENT_NODE_SAMPLE,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = of->offset},
                          .node_sample = {.host = of->host ? of->host : known_host(telemetry),
                                          .place = of->place,
                                          .device = of->device,
                                          .metric = of->metric,
                                          .begin_ns = begin_ns,
                                          .at_ns = of->at_ns,
                                          .error_ns = of->error_ns,
                                          .value = value}};
    return telemetry->sink->event(telemetry->sink->context, &event, error);
}

static int note(struct telemetry *telemetry, const char *reason, int damage, uint64_t offset,
                struct text detail, struct error *error)
{
    return telemetry->sink->note(telemetry->sink->context, reason, damage, offset, detail.data, detail.length,
                                 error);
}

/* A value at no known time cannot be joined with anything. */
static int has_no_time(struct telemetry *telemetry, const struct measured *of, struct error *error)
{
    const char *name = node_metric_name(of->metric);
    return of->at_ns == TIME_UNKNOWN && note(telemetry, LOG_NOTE_NO_TIME, 0, of->offset,
                                             (struct text){name, name ? strlen(name) : 0}, error)
               ? -1
               : of->at_ns == TIME_UNKNOWN;
}

int telemetry_impossible(struct telemetry *telemetry, const struct measured *of, double value,
                         struct error *error)
{
    char text[96];
    const char *name = node_metric_name(of->metric);
    snprintf(text, sizeof text, "%s %g", name ? name : "", value);
    return note(telemetry, FORMAT_NOTE_IMPOSSIBLE, 0, of->offset, (struct text){text, strlen(text)}, error)
               ? -1
               : 0;
}

/* Follows a value that its metric can have; returns 0 for any other, which is noted. */
static int follow_possible(struct telemetry *telemetry, const struct measured *of, double value, int can_be,
                           struct telemetry_series *before, struct error *error)
{
    return can_be || isnan(value) ? telemetry_follow(telemetry, of, value, before, error)
                                  : telemetry_impossible(telemetry, of, value, error);
}

/* The series of a measurement; NULL if memory is out (*failed is -1) or there are too many. */
static struct telemetry_series *series_of(struct telemetry *telemetry, const struct measured *of, int *is_new,
                                          int *failed, struct error *error)
{
    size_t had = telemetry->keys.count;
    buffer_clear(&telemetry->key);
    *failed = 0;
    if (buffer_printf(&telemetry->key, "%d %d %s\t%s", (int)of->place, (int)of->metric,
                      of->host ? of->host : "", of->device ? of->device : "")) {
        *failed = error_no_memory(error);
        return NULL;
    }
    if (had >= SERIES_MOST && intern_find(&telemetry->keys, telemetry->key.data) < 0) {
        struct text key = {telemetry->key.data, telemetry->key.length};
        *failed = telemetry->has_told_too_many
                      ? 0
                      : note(telemetry, "more series than are followed", 1, of->offset, key, error);
        telemetry->has_told_too_many = 1;
        return NULL;
    }
    int64_t number = intern_put(&telemetry->keys, telemetry->key.data, telemetry->key.length);
    if (number < 0 || array_reserve((void **)&telemetry->series, &telemetry->capacity, (size_t)number + 1,
                                    sizeof *telemetry->series)) {
        *failed = error_no_memory(error);
        return NULL;
    }
    *is_new = telemetry->keys.count > had;
    return &telemetry->series[number];
}

int telemetry_follow(struct telemetry *telemetry, const struct measured *of, double value,
                     struct telemetry_series *before, struct error *error)
{
    int is_new = 0, failed = isnan(value) ? 1 : has_no_time(telemetry, of, error);
    if (failed)
        return failed < 0 ? -1 : 0;
    struct telemetry_series *series = series_of(telemetry, of, &is_new, &failed, error);
    if (!series)
        return failed ? -1 : 0;
    if (is_new)
        *series = (struct telemetry_series){.of = {.at_ns = TIME_UNKNOWN}};
    *before = *series;
    int is_later = of->at_ns > before->of.at_ns;
    if (is_later) {
        series->of = *of;
        series->of.host = series->of.device = NULL;
        series->value = value;
    }
    return is_later;
}

/* A gauge that is read again within this time, unchanged, is taken to have kept its value. */
static const int64_t GAUGE_HELD_MOST_NS = INT64_C(60) * 1000000000;

int telemetry_gauge(struct telemetry *telemetry, const struct measured *of, double value, struct error *error)
{
    struct telemetry_series before;
    int can_be = node_metric_can_be(of->metric, value);
    int followed = follow_possible(telemetry, of, value, can_be, &before, error);
    if (followed < 1)
        return followed;
    int is_held = before.of.at_ns != TIME_UNKNOWN && before.value == value &&
                  of->at_ns - before.of.at_ns <= GAUGE_HELD_MOST_NS;
    return emit(telemetry, of, is_held ? before.of.at_ns : of->at_ns, value, error);
}

int telemetry_total(struct telemetry *telemetry, const struct measured *of, double value, struct error *error)
{
    struct telemetry_series before;
    int can_be = node_metric_can_be(of->metric, value);
    int followed = follow_possible(telemetry, of, value, can_be, &before, error);
    if (followed < 1)
        return followed;
    if (before.of.at_ns == TIME_UNKNOWN || value < before.value)
        return emit(telemetry, of, TIME_UNKNOWN, value, error);
    return emit(telemetry, of, before.of.at_ns, value - before.value, error);
}

int telemetry_duration(struct telemetry *telemetry, const struct measured *of, double total_ns,
                       struct error *error)
{
    struct telemetry_series before;
    int can_be = total_ns >= 0 && total_ns <= (double)NUMBER_MOST_NS;
    int followed = follow_possible(telemetry, of, total_ns, can_be, &before, error);
    if (followed < 1)
        return followed;
    if (before.of.at_ns == TIME_UNKNOWN || total_ns < before.value)
        return emit(telemetry, of, TIME_UNKNOWN, total_ns, error);
    double share = (total_ns - before.value) / (double)(of->at_ns - before.of.at_ns);
    return emit(telemetry, of, before.of.at_ns, share > 1 ? 1 : share, error);
}

int telemetry_throttle_bits(struct telemetry *telemetry, const struct measured *of, double bits,
                            struct error *error)
{
    /* Bits of NVML (nvmlClocksEventReason*), the same in DCGM. */
    static const struct {
        uint64_t bit;
        enum node_metric metric;
    } reasons[] = {{0x4, NODE_THROTTLE_SW_POWER_CAP},
                   {0x8, NODE_THROTTLE_HW_SLOWDOWN},
                   {0x20, NODE_THROTTLE_SW_THERMAL},
                   {0x40, NODE_THROTTLE_HW_THERMAL},
                   {0x80, NODE_THROTTLE_HW_POWER_BRAKE}};
    /* More bits than a double holds exactly are no reasons. */
    if (isnan(bits) || bits < 0 || bits > 9007199254740992.0)
        return isnan(bits) ? 0 : telemetry_impossible(telemetry, of, bits, error);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        struct measured one = *of;
        one.metric = reasons[i].metric;
        if (telemetry_gauge(telemetry, &one, (uint64_t)bits & reasons[i].bit ? 1 : 0, error))
            return -1;
    }
    return 0;
}

int telemetry_gpu(struct telemetry *telemetry, const char *host, int64_t index, const char *bus_id,
                  const char *uuid, const char *name, uint64_t offset, struct error *error)
{
    struct node_fact fact = {.host = host,
                             .cores = COUNT_UNKNOWN,
                             .memory_bytes = COUNT_UNKNOWN,
                             .monotonic_ns = TIME_UNKNOWN,
                             .realtime_ns = TIME_UNKNOWN,
                             .gpu_index = index,
                             .gpu_bus_id = bus_id,
                             .gpu_uuid = uuid,
                             .gpu_name = name};
    return telemetry_fact(telemetry, &fact, offset, error);
}

int telemetry_doubt(struct telemetry *telemetry, const struct log_time *time, uint64_t offset,
                    struct error *error)
{
    static const struct text nothing = {NULL, 0};
    if (time->is_local && !telemetry->has_told_local) {
        telemetry->has_told_local = 1;
        if (note(telemetry, LOG_NOTE_LOCAL, 0, offset, nothing, error))
            return -1;
    }
    if (time->is_of_year && !telemetry->has_told_year) {
        telemetry->has_told_year = 1;
        return note(telemetry, LOG_NOTE_YEAR, 0, offset, nothing, error);
    }
    return 0;
}

int telemetry_is_date(struct telemetry *telemetry, struct text line, uint64_t offset, struct log_time *time,
                      struct error *error)
{
    struct log_time read;
    while (line.length && strchr("# =-", line.data[0]))
        line = text_skip(line, 1);
    while (line.length && strchr(" =-\r", line.data[line.length - 1]))
        line.length--;
    if (!line.length || log_time_read(line, telemetry->modified_ns, &read) != line.length ||
        read.at_ns == TIME_UNKNOWN)
        return 0;
    *time = read;
    return telemetry_doubt(telemetry, &read, offset, error) ? -1 : 1;
}

struct log_time telemetry_file_time(const struct telemetry *telemetry)
{
    static const int64_t SECOND_NS = 1000000000;
    return (struct log_time){.at_ns = telemetry->named_ns != TIME_UNKNOWN ? telemetry->named_ns
                                                                          : telemetry->modified_ns,
                             .since_boot_ns = TIME_UNKNOWN,
                             .error_ns = SECOND_NS};
}

int telemetry_note(struct telemetry *telemetry, const char *reason, int damage, const struct input_line *line,
                   struct error *error)
{
    return note(telemetry, reason, damage, line->offset, (struct text){line->text, line->length}, error);
}

int telemetry_line(struct telemetry *telemetry, const struct input_line *line, struct text *text,
                   struct error *error)
{
    *text = (struct text){line->text, line->length};
    if (!line->continued && !line->goes_on && !(line->length && memchr(line->text, '\0', line->length)))
        return 1;
    return telemetry_note(telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
}

int telemetry_lines(struct input *input, void *context,
                    int (*take)(void *context, const struct input_line *line, struct error *error),
                    struct error *error)
{
    struct input_line line;
    int more;
    while ((more = input_line(input, &line, error)) == 1)
        if (take(context, &line, error))
            return -1;
    return more;
}
