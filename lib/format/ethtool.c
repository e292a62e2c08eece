/*
 * The format "ethtool": counters of network interfaces, as `ethtool -S eth0` prints them, one snapshot or
 * several in a file. A line with the command or the name of the file names the interface; a line of `date`
 * between snapshots says when they were taken.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

struct ethtool_file {
    struct telemetry telemetry;
    struct log_time time; /* of the snapshot */
    int has_date;         /* a date stands before it */
    int snapshots;        /* without a date */
    char interface[64];
};

static const char begin[] = "NIC statistics:";

/* "$ ethtool -S eth0", "ethtool --statistics eth0" */
static int take_command(struct ethtool_file *file, struct text line)
{
    struct text behind = text_after(line, "ethtool -S ");
    if (!behind.data)
        behind = text_after(line, "ethtool --statistics ");
    if (!behind.data)
        return 0;
    struct text name = text_next(&behind);
    text_copy(name, file->interface, sizeof file->interface);
    return 1;
}

/* Of several snapshots without a date, only the first can have the time of the file. */
static void begin_snapshot(struct ethtool_file *file)
{
    if (!file->has_date)
        file->time = file->snapshots++ ? (struct log_time){.at_ns = TIME_UNKNOWN}
                                       : telemetry_file_time(&file->telemetry);
    file->has_date = 0;
}

/* "     rx_errors: 12" */
static int take_counter(struct ethtool_file *file, struct text text, const struct input_line *line,
                        struct error *error)
{
    struct text name = text_part(&text, ':');
    const struct metric_name *metric = metric_of(METRIC_OF_ETHTOOL, name);
    struct measured of = {.place = NODE_INTERFACE,
                          .device = file->interface,
                          .metric = metric ? metric->metric : NODE_METRIC_OTHER,
                          .at_ns = file->time.at_ns,
                          .error_ns = file->time.error_ns,
                          .offset = line->offset};
    if (!metric)
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_OTHER_METRIC, 0, line, error);
    if (!file->interface[0])
        return telemetry_note(&file->telemetry, "counters of an interface without a name", 0, line, error);
    return telemetry_total(&file->telemetry, &of, telemetry_number(text), error);
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct ethtool_file *file = context;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    text = text_trim(text);
    if (whole < 1 || !text.length)
        return whole < 0 ? -1 : 0;
    int is_date = telemetry_is_date(&file->telemetry, text, line->offset, &file->time, error);
    if (is_date) {
        file->has_date = 1;
        return is_date < 0 ? -1 : 0;
    }
    if (take_command(file, text))
        return 0;
    if (text_is(text, begin)) {
        begin_snapshot(file);
        return 0;
    }
    return memchr(text.data, ':', text.length)
               ? take_counter(file, text, line, error)
               : telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
}

static int ethtool_read(struct input *input, const struct format_sink *sink, char *dialect,
                        size_t dialect_bytes, struct error *error)
{
    struct ethtool_file file = {.time = {.at_ns = TIME_UNKNOWN}};
    telemetry_init(&file.telemetry, sink, input);
    (void)telemetry_interface_of_path(input_path(input), file.interface);
    snprintf(dialect, dialect_bytes, "ethtool");
    int status = telemetry_lines(input, &file, take_line, error);
    telemetry_release(&file.telemetry);
    return status;
}

enum { SURE = 80 };

static int ethtool_sniff(const char *bytes, size_t length, const char *path)
{
    const char *found = memmem(bytes, length, begin, sizeof begin - 1);
    const char *past = found ? found + sizeof begin - 1 : NULL;
    (void)path;
    return found && (found == bytes || found[-1] == '\n') && past < bytes + length && sniff_is_space(*past)
               ? SURE
               : 0;
}

const struct format format_ethtool = {
    .name = "ethtool",
    .version = 1,
    .description = "counters of network interfaces (ethtool -S)",
    .unknown = TELEMETRY_NOTE_OTHER_METRIC,
    .name_counts = 1,
    .sniff = ethtool_sniff,
    .read = ethtool_read,
};
