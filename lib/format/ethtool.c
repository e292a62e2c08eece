/*
 * The format "ethtool": counters of network interfaces, as `ethtool -S eth0` prints them, one snapshot or
 * several in a file. A line with the command or the name of the file names the interface; a line of `date`
 * between snapshots says when they were taken. A metric is the sum of its counters in a snapshot: those of
 * the interface, or of its queues if the driver has no total.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The counters of one metric in a snapshot. */
struct ethtool_sum {
    int has_whole, has_queues;
    double whole, of_queues;
    struct log_time time;
    uint64_t offset;
};

struct ethtool_file {
    struct telemetry telemetry;
    struct ethtool_sum sums[NODE_METRIC_COUNT];
    struct log_time time; /* of the snapshot */
    int has_date;         /* a date stands before it */
    int snapshots;        /* without a date */
    char interface[64];
};

static const char begin[] = "NIC statistics:";

/* Hands over the sums of the snapshot before. */
static int end_snapshot(struct ethtool_file *file, struct error *error)
{
    for (int metric = 0; metric < NODE_METRIC_COUNT; metric++) {
        struct ethtool_sum sum = file->sums[metric];
        struct measured of = {.place = NODE_INTERFACE,
                              .device = file->interface,
                              .metric = (enum node_metric)metric,
                              .at_ns = sum.time.at_ns,
                              .error_ns = sum.time.error_ns,
                              .offset = sum.offset};
        file->sums[metric] = (struct ethtool_sum){.has_whole = 0};
        if ((sum.has_whole || sum.has_queues) &&
            telemetry_total(&file->telemetry, &of, sum.has_whole ? sum.whole : sum.of_queues, error))
            return -1;
    }
    return 0;
}

/* "$ ethtool -S eth0", "ethtool --statistics eth0". Returns 1 for such a line, -1 to stop. */
static int take_command(struct ethtool_file *file, struct text line, struct error *error)
{
    struct text behind = text_after(line, "ethtool -S ");
    if (!behind.data)
        behind = text_after(line, "ethtool --statistics ");
    if (!behind.data)
        return 0;
    if (end_snapshot(file, error))
        return -1;
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

/* The metric of "queue_12_rx_bytes", by its name "queue_#_rx_bytes"; NULL. */
static const struct metric_name *metric_of_queue(struct text name)
{
    char collapsed[64];
    size_t length = 0;
    for (size_t i = 0; i < name.length && length + 1 < sizeof collapsed; i++)
        if (!is_digit(name.data[i]))
            collapsed[length++] = name.data[i];
        else if (!length || collapsed[length - 1] != '#')
            collapsed[length++] = '#';
    return metric_of(METRIC_OF_ETHTOOL, (struct text){collapsed, length});
}

static void add(struct ethtool_file *file, enum node_metric metric, int is_whole, double value,
                uint64_t offset)
{
    struct ethtool_sum *sum = &file->sums[metric];
    *(is_whole ? &sum->whole : &sum->of_queues) += value;
    *(is_whole ? &sum->has_whole : &sum->has_queues) = 1;
    sum->time = file->time;
    sum->offset = offset;
}

/* "     rx_errors: 12" */
static int take_counter(struct ethtool_file *file, struct text text, const struct input_line *line,
                        struct error *error)
{
    struct text name = text_part(&text, ':');
    const struct metric_name *whole = metric_of(METRIC_OF_ETHTOOL, name),
                             *metric = whole ? whole : metric_of_queue(name);
    double value = telemetry_number(text);
    if (!metric)
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_OTHER_METRIC, 0, line, error);
    if (!file->interface[0])
        return telemetry_note(&file->telemetry, "counters of an interface without a name", 0, line, error);
    if (isnan(value))
        return 0;
    if (node_metric_can_be(metric->metric, value)) {
        add(file, metric->metric, whole != NULL, value, line->offset);
        return 0;
    }
    struct measured of = {.metric = metric->metric, .offset = line->offset};
    return telemetry_impossible(&file->telemetry, &of, value, error);
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
        return is_date < 0 ? -1 : end_snapshot(file, error);
    }
    int is_command = take_command(file, text, error);
    if (is_command)
        return is_command < 0 ? -1 : 0;
    if (text_is(text, begin)) {
        int failed = end_snapshot(file, error);
        begin_snapshot(file);
        return failed;
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
    struct error later = ERROR_INIT;
    int status = telemetry_lines(input, &file, take_line, error);
    /* What was read before reading failed is handed over. */
    if (end_snapshot(&file, status ? &later : error))
        status = -1;
    error_clear(&later);
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
    .version = 2,
    .description = "counters of network interfaces (ethtool -S)",
    .unknown = TELEMETRY_NOTE_OTHER_METRIC,
    .name_counts = 1,
    .sniff = ethtool_sniff,
    .read = ethtool_read,
};
