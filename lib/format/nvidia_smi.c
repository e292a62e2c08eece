/*
 * The format "nvidia-smi": what nvidia-smi writes repeatedly, `nvidia-smi --query-gpu=... --format=csv` with
 * any columns, and `nvidia-smi dmon -o DT`. Each row is a moment of one GPU.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "input/input.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvidia-smi knows some 150 columns. */
enum { COLUMNS_MOST = 256 };

enum column_kind {
    COLUMN_OTHER,
    COLUMN_TIME,
    COLUMN_DATE, /* of dmon; the time of day follows */
    COLUMN_INDEX,
    COLUMN_BUS_ID,
    COLUMN_UUID,
    COLUMN_NAME,
    COLUMN_METRIC
};

struct smi_column {
    enum column_kind kind;
    const struct metric_name *metric; /* COLUMN_METRIC */
};

/* The columns of the rows that follow. */
struct smi_header {
    struct smi_column columns[COLUMNS_MOST];
    size_t count;
    int is_dmon;    /* words between spaces instead of values between commas */
    int of_gpu;     /* some column says which GPU */
    int of_metrics; /* the number of columns with a metric */
};

static const struct {
    const char *name;
    enum column_kind kind;
} known[] = {
    {"timestamp", COLUMN_TIME},    {"index", COLUMN_INDEX},   {"pci.bus_id", COLUMN_BUS_ID},
    {"gpu_bus_id", COLUMN_BUS_ID}, {"uuid", COLUMN_UUID},     {"gpu_uuid", COLUMN_UUID},
    {"name", COLUMN_NAME},         {"gpu_name", COLUMN_NAME}, {"gpu", COLUMN_INDEX},
    {"date", COLUMN_DATE},         {"time", COLUMN_TIME},
};

/* "clocks.current.sm [MHz]" without its unit. */
static struct text column_name(struct text text)
{
    const char *unit = text.length ? memchr(text.data, '[', text.length) : NULL;
    return unit ? text_trim((struct text){text.data, (size_t)(unit - text.data)}) : text;
}

static int is_name(struct text name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!(name.data[i] >= 'a' && name.data[i] <= 'z') && !is_digit(name.data[i]) &&
            !strchr("._", name.data[i]))
            return 0;
    return name.length > 0;
}

static struct smi_column column_of(struct text name, int is_dmon)
{
    const struct metric_name *metric = metric_of(is_dmon ? METRIC_OF_DMON : METRIC_OF_SMI, name);
    if (metric)
        return (struct smi_column){COLUMN_METRIC, metric};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is_like(name, known[i].name))
            return (struct smi_column){known[i].kind, NULL};
    return (struct smi_column){COLUMN_OTHER, NULL};
}

static void add_column(struct smi_header *header, struct text name)
{
    struct smi_column column = column_of(name, header->is_dmon);
    header->columns[header->count++] = column;
    header->of_gpu |= column.kind >= COLUMN_INDEX && column.kind <= COLUMN_UUID;
    header->of_metrics += column.kind == COLUMN_METRIC;
}

/* Returns 1 if the line is a header with metrics, or with names of GPUs. */
static int read_header(struct text line, struct smi_header *header)
{
    header->count = 0;
    header->of_gpu = header->of_metrics = 0;
    header->is_dmon = text_begins(line, "#");
    if (header->is_dmon)
        line = text_skip(line, 1);
    else if (!line.length || !memchr(line.data, ',', line.length))
        return 0;
    while (line.length && header->count < COLUMNS_MOST) {
        struct text name = header->is_dmon ? text_next(&line) : column_name(text_part(&line, ','));
        if (!name.length && header->is_dmon)
            break;
        if (!header->is_dmon && !is_name(name))
            return 0;
        add_column(header, name);
    }
    return header->of_gpu && (header->of_metrics > (header->is_dmon ? 1 : 0) || !header->is_dmon);
}

struct smi_file {
    struct telemetry telemetry;
    struct smi_header header; /* count is 0 before the first one */
    struct intern told;       /* GPUs of which facts were handed over */
};

/* What a row says of its GPU, and the values that wait for it. */
struct smi_row {
    struct log_time time;
    struct text date;
    int64_t index;
    char bus[BUS_ID_BYTES];
    char uuid[96];
    char name[96];
    char device[96];
    double values[COLUMNS_MOST];
};

/* "Active", "Not Active", "0x0000000000000004", "1980 MHz" */
static double value_of(struct text text, const struct metric_name *metric)
{
    if (text_is_like(text, "Active"))
        return 1;
    if (text_is_like(text, "Not Active"))
        return 0;
    return telemetry_number(text) * metric->factor;
}

/* The date of dmon stands in a column before the time. */
static void read_time(struct text text, struct smi_row *row, int64_t modified_ns)
{
    char joined[64];
    struct text whole = text;
    if (row->date.length) {
        snprintf(joined, sizeof joined, "%.*s %.*s", (int)(row->date.length < 20 ? row->date.length : 20),
                 row->date.data, (int)(text.length < 20 ? text.length : 20), text.data);
        whole = (struct text){joined, strlen(joined)};
    }
    if (log_time_read(whole, modified_ns, &row->time) != whole.length)
        row->time = (struct log_time){.at_ns = TIME_UNKNOWN};
}

static void read_cell(struct smi_file *file, size_t column, struct text text, struct smi_row *row)
{
    const struct smi_column *of = &file->header.columns[column];
    row->values[column] = NAN;
    if (of->kind == COLUMN_METRIC)
        row->values[column] = value_of(text, of->metric);
    else if (of->kind == COLUMN_DATE)
        row->date = text;
    else if (of->kind == COLUMN_TIME)
        read_time(text, row, file->telemetry.modified_ns);
    else if (of->kind == COLUMN_INDEX)
        row->index = text_leading_number(text);
    else if (of->kind == COLUMN_BUS_ID)
        (void)telemetry_bus_id(text, row->bus);
    else if (of->kind == COLUMN_UUID && text_begins(text, "GPU-"))
        text_copy(text, row->uuid, sizeof row->uuid);
    else if (of->kind == COLUMN_NAME)
        text_copy(text, row->name, sizeof row->name);
}

/* Returns the number of cells. */
static size_t read_cells(struct smi_file *file, struct text line, struct smi_row *row)
{
    const struct smi_header *header = &file->header;
    size_t count = 0;
    *row = (struct smi_row){.time = {.at_ns = TIME_UNKNOWN}, .index = COUNT_UNKNOWN};
    for (line = text_trim(line); line.length && count < header->count; count++)
        read_cell(file, count, header->is_dmon ? text_next(&line) : text_part(&line, ','), row);
    if (row->bus[0] || row->uuid[0])
        snprintf(row->device, sizeof row->device, "%s", row->bus[0] ? row->bus : row->uuid);
    else if (row->index != COUNT_UNKNOWN)
        snprintf(row->device, sizeof row->device, "index %lld", (long long)row->index);
    return line.length ? 0 : count;
}

/* Facts join the names that a GPU has in several records. */
static int tell_gpu(struct smi_file *file, const struct smi_row *row, uint64_t offset, struct error *error)
{
    size_t had = file->told.count;
    if ((row->bus[0] != '\0') + (row->uuid[0] != '\0') + (row->index != COUNT_UNKNOWN) < 2)
        return 0;
    if (intern_put(&file->told, row->device, strlen(row->device)) < 0)
        return error_no_memory(error);
    return file->told.count == had
               ? 0
               : telemetry_gpu(&file->telemetry, NULL, row->index, row->bus[0] ? row->bus : NULL,
                               row->uuid[0] ? row->uuid : NULL, row->name[0] ? row->name : NULL, offset,
                               error);
}

static int take_value(struct smi_file *file, const struct measured *of, const struct metric_name *metric,
                      double value, struct error *error)
{
    if (metric->way == METRIC_REASONS)
        return telemetry_throttle_bits(&file->telemetry, of, value, error);
    return metric->way == METRIC_TOTAL ? telemetry_total(&file->telemetry, of, value, error)
                                       : telemetry_gauge(&file->telemetry, of, value, error);
}

static int take_row(struct smi_file *file, struct text text, const struct input_line *line,
                    struct error *error)
{
    struct smi_row row;
    if (read_cells(file, text, &row) != file->header.count || !row.device[0])
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
    if (tell_gpu(file, &row, line->offset, error) ||
        telemetry_doubt(&file->telemetry, &row.time, line->offset, error))
        return -1;
    for (size_t i = 0; i < file->header.count; i++) {
        const struct metric_name *metric = file->header.columns[i].metric;
        struct measured of = {.place = NODE_GPU,
                              .device = row.device,
                              .metric = metric ? metric->metric : NODE_METRIC_OTHER,
                              .at_ns = row.time.at_ns,
                              .error_ns = row.time.error_ns,
                              .offset = line->offset};
        if (metric && take_value(file, &of, metric, row.values[i], error))
            return -1;
    }
    return 0;
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct smi_file *file = context;
    struct smi_header header;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    text = text_trim(text);
    if (whole < 1 || !text.length)
        return whole < 0 ? -1 : 0;
    if (read_header(text, &header)) {
        file->header = header;
        return 0;
    }
    /* The units of dmon. */
    if (text_begins(text, "#"))
        return 0;
    return file->header.count ? take_row(file, text, line, error)
                              : telemetry_note(&file->telemetry, "line before the header", 0, line, error);
}

static int nvidia_smi_read(struct input *input, const struct format_sink *sink, char *dialect,
                           size_t dialect_bytes, struct error *error)
{
    struct smi_file *file = calloc(1, sizeof *file);
    if (!file)
        return error_no_memory(error);
    telemetry_init(&file->telemetry, sink, input);
    intern_init(&file->told);
    snprintf(dialect, dialect_bytes, "nvidia-smi");
    int status = telemetry_lines(input, file, take_line, error);
    intern_release(&file->told);
    telemetry_release(&file->telemetry);
    free(file);
    return status;
}

enum { SURE = 85, LINES_OF_HEADER = 20 };

/* The header stands at the beginning, perhaps after some lines of a script. */
static int nvidia_smi_sniff(const char *bytes, size_t length, const char *path)
{
    struct smi_header header;
    const char *end = bytes + length;
    (void)path;
    for (int i = 0; i < LINES_OF_HEADER && bytes < end; i++) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes)};
        if (!memchr(bytes, '\0', line.length) && read_header(text_trim(line), &header) && header.of_metrics)
            return SURE;
        bytes += line.length + 1;
    }
    return 0;
}

/* A time as nvidia-smi writes it and only there, before values with commas. */
int nvidia_smi_has_no_header(const char *bytes, size_t length)
{
    const char *line_end = memchr(bytes, '\n', length);
    struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : length};
    struct log_time time;
    size_t of_time = log_time_read(line, TIME_UNKNOWN, &time);
    return of_time > 10 && line.data[4] == '/' && text_begins(text_skip(line, of_time), ", ");
}

int nvidia_smi_has_other_separators(const char *bytes, size_t length)
{
    const char *line_end = memchr(bytes, '\n', length);
    struct text line = text_trim((struct text){bytes, line_end ? (size_t)(line_end - bytes) : length});
    struct smi_header header;
    char copy[4096];
    if (!text_copy(line, copy, sizeof copy) || strchr(copy, ','))
        return 0;
    for (char *at = copy; *at; at++)
        if (*at == ';' || *at == '\t')
            *at = ',';
    return read_header((struct text){copy, strlen(copy)}, &header) && header.of_metrics && !header.is_dmon;
}

const struct format format_nvidia_smi = {
    .name = "nvidia-smi",
    .version = 2,
    .description = "nvidia-smi --query-gpu --format=csv, nvidia-smi dmon -o DT",
    .unknown = "line before the header",
    .sniff = nvidia_smi_sniff,
    .read = nvidia_smi_read,
};
