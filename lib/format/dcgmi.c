/*
 * The format "dcgmi": tables of `dcgmi dmon -e ...`. They have no times; lines are dated if each was passed
 * through ts of moreutils, or if a line of `date` stands before each round.
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

/* dcgmi takes at most 128 fields at once. */
enum { COLUMNS_MOST = 128 };

struct dcgmi_file {
    struct telemetry telemetry;
    struct log_time time; /* of the lines that follow */
    const struct metric_name *columns[COLUMNS_MOST];
    size_t count;
};

/* "#Entity   SMCLK   TMPTR", "# Entity  SMCLK" */
static int read_header(struct text line, const struct metric_name **columns, size_t *count)
{
    size_t found = 0;
    *count = 0;
    struct text first = text_next(&line);
    if (text_is(first, "#"))
        first = text_next(&line);
    if (!text_is(first, "#Entity") && !text_is(first, "Entity"))
        return 0;
    for (struct text name = text_next(&line); name.length && *count < COLUMNS_MOST; name = text_next(&line)) {
        columns[*count] = metric_of(METRIC_OF_DCGMI, name);
        found += columns[(*count)++] != NULL;
    }
    return found > 0;
}

/* "GPU 0     1980    45"; other entities (GPU-I, Switch) are of no use. */
static int take_row(struct dcgmi_file *file, struct text text, const struct input_line *line,
                    struct error *error)
{
    char device[64];
    struct text entity = text_next(&text);
    int64_t index = text_leading_number(text_next(&text));
    if (!text_is(entity, "GPU") || index == COUNT_UNKNOWN)
        return telemetry_note(&file->telemetry, "row of no GPU", 0, line, error);
    snprintf(device, sizeof device, "index %lld", (long long)index);
    for (size_t i = 0; i < file->count; i++) {
        const struct metric_name *metric = file->columns[i];
        struct text cell = text_next(&text);
        struct measured of = {.place = NODE_GPU,
                              .device = device,
                              .metric = metric ? metric->metric : NODE_METRIC_OTHER,
                              .at_ns = file->time.at_ns,
                              .error_ns = file->time.error_ns,
                              .offset = line->offset};
        double value = telemetry_number(cell);
        if (metric && !isnan(value) && series_take(&file->telemetry, metric, &of, value, error))
            return -1;
    }
    return 0;
}

/* A date before the rest of a line, which is then without it. */
static int take_date(struct dcgmi_file *file, struct text *text, uint64_t offset, struct error *error)
{
    struct log_time time;
    size_t length = log_time_read(*text, file->telemetry.modified_ns, &time);
    if (!length || time.at_ns == TIME_UNKNOWN)
        return 0;
    *text = text_trim(text_skip(*text, length));
    file->time = time;
    return telemetry_doubt(&file->telemetry, &time, offset, error);
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct dcgmi_file *file = context;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    text = text_trim(text);
    if (whole < 1 || !text.length)
        return whole < 0 ? -1 : 0;
    if (take_date(file, &text, line->offset, error))
        return -1;
    struct text rest = text;
    if (!text.length || text_is_like(text_next(&rest), "id"))
        return 0;
    const struct metric_name *columns[COLUMNS_MOST];
    size_t count;
    if (read_header(text, columns, &count)) {
        memcpy(file->columns, columns, sizeof columns);
        file->count = count;
        return 0;
    }
    return file->count ? take_row(file, text, line, error)
                       : telemetry_note(&file->telemetry, "line before the header", 0, line, error);
}

static int dcgmi_read(struct input *input, const struct format_sink *sink, char *dialect,
                      size_t dialect_bytes, struct error *error)
{
    struct dcgmi_file file = {.time = {.at_ns = TIME_UNKNOWN}};
    telemetry_init(&file.telemetry, sink, input);
    snprintf(dialect, dialect_bytes, "dcgmi");
    int status = telemetry_lines(input, &file, take_line, error);
    telemetry_release(&file.telemetry);
    return status;
}

enum { SURE = 85, LINES_OF_HEADER = 20 };

static int dcgmi_sniff(const char *bytes, size_t length, const char *path)
{
    const char *end = bytes + length;
    (void)path;
    for (int i = 0; i < LINES_OF_HEADER && bytes < end; i++) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes)};
        const struct metric_name *columns[COLUMNS_MOST];
        struct log_time time;
        size_t count;
        bytes += line.length + 1;
        line = text_skip(line, log_time_read(line, TIME_UNKNOWN, &time));
        if (read_header(line, columns, &count))
            return SURE;
    }
    return 0;
}

const struct format format_dcgmi = {
    .name = "dcgmi",
    .version = 2,
    .description = "tables of dcgmi dmon",
    .unknown = "line before the header",
    .sniff = dcgmi_sniff,
    .read = dcgmi_read,
};
