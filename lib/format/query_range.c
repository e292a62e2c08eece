/*
 * The format "query-range": what Prometheus kept, as its HTTP interface answers (/api/v1/query_range and
 * /api/v1/query): JSON with the values of each series over time.
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

/* What is read of the answer. The labels of a series come before its values. */
enum { LABELS, VALUES, VALUE };

static const char *const paths[] = {[LABELS] = "data.result[].metric",
                                    [VALUES] = "data.result[].values[]",
                                    [VALUE] = "data.result[].value",
                                    NULL};

struct query_file {
    struct telemetry telemetry;
    struct tokens tokens;
    struct intern told;
    struct json json;
    struct series_labels labels;
    const struct metric_name *metric; /* of the series; NULL: of no use */
    char device[160];
};

static int note(struct query_file *file, const char *reason, int damage, const struct tokens_value *value,
                struct error *error)
{
    const struct format_sink *sink = file->telemetry.sink;
    return sink->note(sink->context, reason, damage, value->offset, value->value.text, value->value.length,
                      error);
}

/* The labels of the series that begins. */
static int take_labels(struct query_file *file, const struct tokens_value *value, struct error *error)
{
    struct json *json = &file->json;
    enum json_status status = json_parse(json, value->value.text, value->value.length);
    series_labels_begin(&file->labels);
    file->metric = NULL;
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status != JSON_OK || json->root.kind != VALUE_DICTIONARY)
        return note(file, TELEMETRY_NOTE_UNREADABLE, 1, value, error);
    for (const struct value *at = value_begin(&json->root); at < value_end(&json->root); at += 2) {
        const char *text = json_text(at + 1);
        if (at->kind == VALUE_TEXT && text)
            series_labels_add(&file->labels, (struct text){at->text, at->length}, text);
    }
    const struct text name = {file->labels.name, strlen(file->labels.name)};
    file->metric = metric_of(METRIC_OF_EXPORTER, name);
    /* Of a core only, and a clock is of no use beside times. */
    if (file->metric && (file->metric->way == METRIC_IDLE || file->metric->way == METRIC_CLOCK))
        file->metric = NULL;
    if (!file->metric)
        return note(file, name.length ? TELEMETRY_NOTE_OTHER_METRIC : "series without the name of a metric",
                    0, value, error);
    if (!series_labels_place(&file->labels, file->metric->place, file->device))
        file->metric = NULL;
    return file->metric && file->metric->place == NODE_GPU
               ? series_tell_gpu(&file->telemetry, &file->told, &file->labels, file->device, value->offset,
                                 error)
               : 0;
}

/* Seconds since 1970 as JSON writes them, whole or with milliseconds. */
static int64_t moment_of(struct raw_json text)
{
    struct log_time time;
    struct text moment = {text.text, text.length};
    return log_time_read(moment, TIME_UNKNOWN, &time) == moment.length ? time.at_ns : TIME_UNKNOWN;
}

/* "[1795687872.123,"1980"]" */
static int take_value(struct query_file *file, const struct tokens_value *value, struct error *error)
{
    struct raw_json_cursor cursor;
    struct raw_json key, moment, number, content;
    if (!file->metric)
        return 0;
    raw_json_enter(&cursor, value->value);
    if (raw_json_next(&cursor, &key, &moment) != 1 || raw_json_next(&cursor, &key, &number) != 1 ||
        raw_json_string(number, &content))
        return note(file, TELEMETRY_NOTE_UNREADABLE, 1, value, error);
    struct measured of = {.host = series_labels_host(&file->labels),
                          .place = file->metric->place,
                          .device = file->device[0] ? file->device : NULL,
                          .metric = file->metric->metric,
                          .at_ns = moment_of(moment),
                          .offset = value->offset};
    double read = telemetry_number((struct text){content.text, content.length});
    return series_take(&file->telemetry, file->metric, &of, read, error);
}

static int take(struct query_file *file, const struct tokens_value *value, struct error *error)
{
    switch (value->kind) {
    case TOKENS_VALUE:
        return value->path == LABELS ? take_labels(file, value, error) : take_value(file, value, error);
    case TOKENS_CUT:
        return note(file, FORMAT_NOTE_OPEN, 0, value, error);
    case TOKENS_END:
        return 0;
    default:
        return note(file, TELEMETRY_NOTE_UNREADABLE, 1, value, error);
    }
}

static int query_range_read(struct input *input, const struct format_sink *sink, char *dialect,
                            size_t dialect_bytes, struct error *error)
{
    struct query_file file = {.metric = NULL};
    struct tokens_value value = {.kind = TOKENS_VALUE};
    int status = 0;
    telemetry_init(&file.telemetry, sink, input);
    intern_init(&file.told);
    json_init(&file.json);
    series_labels_begin(&file.labels);
    tokens_init(&file.tokens, input, paths);
    snprintf(dialect, dialect_bytes, "query-range");
    while (!status && value.kind != TOKENS_END)
        if (tokens_next(&file.tokens, &value, error) < 0 || take(&file, &value, error))
            status = -1;
    json_release(&file.json);
    intern_release(&file.told);
    telemetry_release(&file.telemetry);
    return status;
}

enum { SURE = 80 };

static int query_range_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    return sniff_find(bytes, length, bytes, "\"resultType\"", "\"status\"") &&
                   sniff_find(bytes, length, bytes, "\"result\"", "\"status\"") &&
                   sniff_find(bytes, length, bytes, "\"metric\"", "\"status\"")
               ? SURE
               : 0;
}

const struct format format_query_range = {
    .name = "query-range",
    .version = 2,
    .description = "answers of Prometheus (/api/v1/query_range): series of DCGM and node_exporter",
    .unknown = TELEMETRY_NOTE_OTHER_METRIC,
    .sniff = query_range_sniff,
    .read = query_range_read,
};
