/*
 * The format "kernel-log": messages of the Linux kernel as dmesg, /dev/kmsg, journalctl and syslog write
 * them. Messages that can explain a slow or stuck job (kernel_message.c) become events of the node; others
 * are counted.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define OTHER_MESSAGE "other kernel message"
#define OTHER_PROGRAM "message of another program"
#define OTHER_LINE "line of no kernel log"

static const int64_t MICROSECOND_NS = 1000;

/* How a line begins, and what it says. */
struct kernel_line {
    struct log_time time;
    struct text host; /* empty: not said */
    struct text message;
    int is_of_kernel; /* 0: of another program */
};

/* "<4>" of klogd, and "kern  :warn  : " of dmesg -x. */
static struct text skip_level(struct text line)
{
    struct text rest = line;
    if (text_begins(line, "<")) {
        struct text level = text_part(&rest, '>');
        return level.length <= 4 && rest.length ? rest : line;
    }
    if (text_begins(line, "kern ")) {
        (void)text_part(&rest, ':');
        (void)text_part(&rest, ':');
        return text_trim(rest);
    }
    return line;
}

/* "[    T1] " and "[   C12] ", the caller, which some kernels print after the time. */
static struct text skip_caller(struct text message)
{
    struct text rest = message;
    if (!text_begins(message, "["))
        return message;
    struct text caller = text_skip(text_part(&rest, ']'), 1);
    caller = text_trim(caller);
    return caller.length > 1 && caller.length < 12 && strchr("TC", caller.data[0]) && is_digit(caller.data[1])
               ? text_trim(rest)
               : message;
}

/* "[ 1234.567890] message", "[Thu Nov 26 10:11:12 2026] message" */
static int read_bracket(struct text line, struct kernel_line *said)
{
    struct text rest = text_skip(line, 1);
    struct text moment = text_part(&rest, ']');
    if (!text_begins(line, "[") || !moment.length || moment.length > 40)
        return 0;
    int64_t since_ns = is_digit(moment.data[0]) ? text_seconds_ns(moment) : TIME_UNKNOWN;
    if (since_ns != TIME_UNKNOWN && memchr(moment.data, '.', moment.length))
        said->time = (struct log_time){.at_ns = TIME_UNKNOWN, .since_boot_ns = since_ns};
    else if (log_time_read(moment, TIME_UNKNOWN, &said->time) != moment.length ||
             said->time.at_ns == TIME_UNKNOWN)
        return 0;
    said->message = skip_caller(text_trim(rest));
    said->is_of_kernel = 1;
    return 1;
}

/* "6,1234,5678901,-;message", as /dev/kmsg gives it; the time is in microseconds. */
static int read_kmsg(struct text line, struct kernel_line *said)
{
    struct text rest = line;
    int64_t since_us;
    if (!line.length || !is_digit(line.data[0]) || text_leading_number(text_part(&rest, ',')) > 1023 ||
        text_leading_number(text_part(&rest, ',')) == COUNT_UNKNOWN)
        return 0;
    struct text moment = text_part(&rest, ',');
    if (!moment.length || number_int64(moment.data, moment.length, &since_us) || since_us < 0 ||
        since_us > NUMBER_MOST_NS / MICROSECOND_NS || !memchr(rest.data, ';', rest.length))
        return 0;
    (void)text_part(&rest, ';');
    said->time = (struct log_time){.at_ns = TIME_UNKNOWN, .since_boot_ns = since_us * MICROSECOND_NS};
    said->message = rest;
    said->is_of_kernel = 1;
    return 1;
}

/*
 * "Nov 26 10:11:12 node017 kernel: message", with any date of log_time.c, perhaps with the time since boot in
 * brackets before the message; "2026-11-26T10:11:12,345678+00:00 message" of dmesg --time-format iso, whose
 * comma journals do not write.
 */
static int read_dated(struct text line, int64_t modified_ns, struct kernel_line *said)
{
    size_t length = log_time_read(line, modified_ns, &said->time);
    struct text rest = text_skip(line, length), program;
    struct kernel_line inner;
    if (!length || !text_begins(rest, " "))
        return 0;
    said->message = text_trim(rest);
    said->is_of_kernel = 1;
    if (memchr(line.data, ',', length))
        return 1;
    rest = text_trim(rest);
    said->host = text_next(&rest);
    program = text_next(&rest);
    if (program.length < 2 || program.data[program.length - 1] != ':')
        return 0;
    said->is_of_kernel = text_is(program, "kernel:");
    said->message = text_trim(rest);
    if (said->is_of_kernel && read_bracket(said->message, &inner) && inner.time.at_ns == TIME_UNKNOWN) {
        said->time.since_boot_ns = inner.time.since_boot_ns;
        said->message = inner.message;
    }
    return 1;
}

/* Returns 0 for a line of none of the layouts. */
static int kernel_line_read(struct text line, int64_t modified_ns, struct kernel_line *said)
{
    *said = (struct kernel_line){.host = {NULL, 0}};
    line = skip_level(line);
    return read_bracket(line, said) || read_kmsg(line, said) || read_dated(line, modified_ns, said);
}

struct kernel_log {
    struct telemetry telemetry;
    struct json json;
    char host[HOST_BYTES];
    char boot_id[64]; /* the last one that was told */
    /* The message before, which may go on in lines without a time: its time, host and first PCI address. */
    int has_before;
    struct log_time time_before;
    char host_before[HOST_BYTES];
    char bus_before[64];
};

static const char *host_of(struct kernel_log *log, struct text host)
{
    return text_copy(host, log->host, sizeof log->host);
}

static int emit_message(struct kernel_log *log, const struct kernel_line *line,
                        const struct kernel_message *message, uint64_t offset, struct error *error)
{
    char text[NODE_TEXT_BYTES + 1];
    struct node_event event = {.host = host_of(log, line->host),
                               .place = message->place,
                               .device = message->device[0] ? message->device : NULL,
                               .code = message->code,
                               .number = message->number,
                               .at_ns = line->time.at_ns,
                               .since_boot_ns = line->time.since_boot_ns,
                               .error_ns = line->time.at_ns == TIME_UNKNOWN ? 0 : line->time.error_ns,
                               .pid = message->pid,
                               .process = message->process[0] ? message->process : NULL,
                               .text = text_copy(line->message, text, sizeof text)};
    const struct format_sink *sink = log->telemetry.sink;
    if (line->time.at_ns == TIME_UNKNOWN && line->time.is_of_year &&
        sink->note(sink->context, LOG_NOTE_NO_TIME, 0, offset, line->message.data, line->message.length,
                   error))
        return -1;
    return telemetry_doubt(&log->telemetry, &line->time, offset, error) ||
                   telemetry_event(&log->telemetry, &event, offset, error)
               ? -1
               : 0;
}

/* Keeps what the lines of a message that goes on need of its first one. */
static void keep_before(struct kernel_log *log, const struct kernel_line *said)
{
    log->has_before = said->is_of_kernel;
    log->time_before = said->time;
    log->host_before[0] = log->bus_before[0] = '\0';
    text_copy(said->host, log->host_before, sizeof log->host_before);
    if (text_begins(said->message, "NVRM: "))
        kernel_message_bus_id(said->message, log->bus_before);
}

static int take_message(struct kernel_log *log, const struct kernel_line *said, uint64_t offset,
                        struct error *error)
{
    struct kernel_message message;
    const struct format_sink *sink = log->telemetry.sink;
    if (!said->is_of_kernel)
        return sink->note(sink->context, OTHER_PROGRAM, 0, offset, said->message.data, said->message.length,
                          error);
    if (!kernel_message_read(said->message, &message))
        return sink->note(sink->context, OTHER_MESSAGE, 0, offset, said->message.data, said->message.length,
                          error);
    if (message.place == NODE_GPU && !message.device[0])
        snprintf(message.device, sizeof message.device, "%s", log->bus_before);
    if (message.uuid[0])
        return telemetry_gpu(&log->telemetry, host_of(log, said->host), COUNT_UNKNOWN, message.device,
                             message.uuid, NULL, offset, error);
    return emit_message(log, said, &message, offset, error);
}

/* A number of microseconds in quotes, as journals write them; TIME_UNKNOWN. */
static int64_t microseconds_of(struct json *json, const char *key)
{
    const char *text = json_text(json_member(&json->root, key));
    int64_t us;
    return text && number_int64(text, strlen(text), &us) == 0 && us >= 0 &&
                   us <= NUMBER_MOST_NS / MICROSECOND_NS
               ? us * MICROSECOND_NS
               : TIME_UNKNOWN;
}

/* Hands over one moment on both clocks, once per boot. */
static int tell_boot(struct kernel_log *log, const char *boot_id, int64_t monotonic_ns, int64_t realtime_ns,
                     uint64_t offset, struct error *error)
{
    if (!boot_id || monotonic_ns == TIME_UNKNOWN || realtime_ns == TIME_UNKNOWN ||
        strncmp(boot_id, log->boot_id, sizeof log->boot_id - 1) == 0)
        return 0;
    snprintf(log->boot_id, sizeof log->boot_id, "%s", boot_id);
    struct node_fact fact = {.host = json_text(json_member(&log->json.root, "_HOSTNAME")),
                             .boot_id = boot_id,
                             .cores = COUNT_UNKNOWN,
                             .memory_bytes = COUNT_UNKNOWN,
                             .monotonic_ns = monotonic_ns,
                             .realtime_ns = realtime_ns,
                             .gpu_index = COUNT_UNKNOWN};
    return telemetry_fact(&log->telemetry, &fact, offset, error);
}

/* An entry of journalctl -o json. The kernel's own time is more exact than that of its arrival. */
static int take_entry(struct kernel_log *log, struct text line, const struct input_line *of,
                      struct error *error)
{
    struct json *json = &log->json;
    enum json_status status = json_parse(json, line.data, line.length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    const char *message = status == JSON_OK ? json_text(json_member(&json->root, "MESSAGE")) : NULL;
    if (!message)
        return telemetry_note(&log->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, of, error);
    const char *host = json_text(json_member(&json->root, "_HOSTNAME"));
    const char *transport = json_text(json_member(&json->root, "_TRANSPORT"));
    int64_t realtime_ns = microseconds_of(json, "__REALTIME_TIMESTAMP");
    int64_t monotonic_ns = microseconds_of(json, "__MONOTONIC_TIMESTAMP");
    int64_t source_ns = microseconds_of(json, "_SOURCE_MONOTONIC_TIMESTAMP");
    struct kernel_line said = {.time = {.at_ns = realtime_ns, .since_boot_ns = source_ns},
                               .host = {host, host ? strlen(host) : 0},
                               .message = {message, strlen(message)},
                               .is_of_kernel = transport && strcmp(transport, "kernel") == 0};
    if (realtime_ns != TIME_UNKNOWN && monotonic_ns != TIME_UNKNOWN && source_ns != TIME_UNKNOWN)
        said.time.at_ns = realtime_ns - monotonic_ns + source_ns;
    return tell_boot(log, json_text(json_member(&json->root, "_BOOT_ID")), monotonic_ns, realtime_ns,
                     of->offset, error) ||
                   take_message(log, &said, of->offset, error)
               ? -1
               : 0;
}

/* Lines that journalctl puts between entries, and the details of an entry of /dev/kmsg. */
static int is_in_between(struct text line)
{
    return !line.length || text_begins(line, "-- ") || text_begins(line, " SUBSYSTEM=") ||
           text_begins(line, " DEVICE=");
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct kernel_log *log = context;
    struct kernel_line said;
    struct text text;
    int whole = telemetry_line(&log->telemetry, line, &text, error);
    if (whole < 1)
        return whole;
    if (is_in_between(text))
        return 0;
    if (text.data[0] == '{')
        return take_entry(log, text, line, error);
    if (kernel_line_read(text, log->telemetry.modified_ns, &said)) {
        keep_before(log, &said);
        return take_message(log, &said, line->offset, error);
    }
    if (text.data[0] != ' ' || !log->has_before)
        return telemetry_note(&log->telemetry, OTHER_LINE, 0, line, error);
    /* A message of several lines. */
    said = (struct kernel_line){.time = log->time_before,
                                .host = {log->host_before, strlen(log->host_before)},
                                .message = text_trim(text),
                                .is_of_kernel = 1};
    return take_message(log, &said, line->offset, error);
}

static int kernel_log_read(struct input *input, const struct format_sink *sink, char *dialect,
                           size_t dialect_bytes, struct error *error)
{
    struct kernel_log log = {.host = ""};
    telemetry_init(&log.telemetry, sink, input);
    json_init(&log.json);
    snprintf(dialect, dialect_bytes, "kernel-log");
    int status = telemetry_lines(input, &log, take_line, error);
    json_release(&log.json);
    telemetry_release(&log.telemetry);
    return status;
}

/* Below an NCCL log, whose lines may be mixed with those of the kernel. */
enum { LIKELY = 55 };

/* Words of nearly every kernel log. Other programs write times in brackets, too. */
static int is_typical(struct text message)
{
    static const char *const words[] = {"Linux version ", "Command line: ", "NVRM: ",
                                        "nvidia-",        "pci 0000:",      "mlx5_core ",
                                        "BIOS-",          "systemd[1]: ",   NULL};
    struct kernel_message said;
    return text_contains_any(message, words) || kernel_message_read(message, &said);
}

static int kernel_log_sniff(const char *bytes, size_t length, const char *path)
{
    size_t lines = 0, fitting = 0, typical = 0;
    (void)path;
    if (memchr(bytes, '\0', length))
        return 0;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes)};
        struct kernel_line said;
        bytes += line.length + 1;
        if (is_in_between(line) || (!line_end && lines) || (fitting && text_begins(line, "  ")))
            continue;
        lines++;
        if (line.data[0] == '{') {
            int is_entry =
                text_contains(line, "\"__REALTIME_TIMESTAMP\"") && text_contains(line, "\"MESSAGE\"");
            fitting += (size_t)is_entry;
            typical += (size_t)(is_entry && text_contains(line, "\"kernel\""));
        } else if (kernel_line_read(line, TIME_UNKNOWN, &said)) {
            fitting++;
            typical += (size_t)(said.is_of_kernel && (said.host.length || is_typical(said.message)));
        }
    }
    return typical && fitting * 2 > lines ? LIKELY : 0;
}

const struct format format_kernel_log = {
    .name = "kernel-log",
    .version = 1,
    .description = "messages of the Linux kernel (dmesg, journalctl -k, syslog)",
    .unknown = OTHER_LINE,
    .sniff = kernel_log_sniff,
    .read = kernel_log_read,
};
