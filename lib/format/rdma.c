/*
 * The format "rdma": counters of the ports of RDMA devices, as `rdma statistic show` prints them, as text or
 * (-j) as JSON on one line; one snapshot or several in a file, with lines of `date` between them.
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

struct rdma_file {
    struct telemetry telemetry;
    struct log_time time; /* of the snapshot; that of the file before the first date */
    struct json json;
    char port[64];    /* of the counters that follow: "mlx5_0/1" */
    struct text name; /* of a counter whose value follows; empty: none */
    char kept[64];    /* that name, if the value is on the next line */
};

static int take_counter(struct rdma_file *file, struct text name, double value, const struct input_line *line,
                        struct error *error)
{
    const struct metric_name *metric = metric_of(METRIC_OF_RDMA, name);
    struct measured of = {.place = NODE_PORT,
                          .device = file->port,
                          .metric = metric ? metric->metric : NODE_METRIC_OTHER,
                          .at_ns = file->time.at_ns,
                          .error_ns = file->time.error_ns,
                          .offset = line->offset};
    if (metric)
        return telemetry_total(&file->telemetry, &of, value, error);
    return file->telemetry.sink->note(file->telemetry.sink->context, TELEMETRY_NOTE_OTHER_METRIC, 0,
                                      line->offset, name.data, name.length, error);
}

/* "link mlx5_0/1 rx_write_requests 0 out_of_sequence 12", which mail programs and terminals wrap. */
static int take_words(struct rdma_file *file, struct text text, const struct input_line *line,
                      struct error *error)
{
    struct text name = {file->kept, strlen(file->kept)};
    for (struct text word = text_next(&text); word.length; word = text_next(&text)) {
        if (text_is(word, "link")) {
            text_copy(text_next(&text), file->port, sizeof file->port);
            name.length = 0;
        } else if (!name.length) {
            name = word;
        } else {
            double value = telemetry_number(word);
            if (isnan(value))
                return telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
            if (take_counter(file, name, value, line, error))
                return -1;
            name.length = 0;
        }
    }
    char kept[64] = "";
    text_copy(name, kept, sizeof kept);
    memcpy(file->kept, kept, sizeof kept);
    return 0;
}

/* {"ifname":"mlx5_0","port":1,"rx_write_requests":0} */
static int take_object(struct rdma_file *file, const struct value *object, const struct input_line *line,
                       struct error *error)
{
    const char *device = json_text(json_member(object, "ifname"));
    int64_t port = COUNT_UNKNOWN;
    (void)json_int64(json_member(object, "port"), &port);
    if (!device || port < 0 || strlen(device) > 32)
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
    snprintf(file->port, sizeof file->port, "%s/%lld", device, (long long)port);
    for (const struct value *at = value_begin(object); at < value_end(object); at += 2) {
        struct text name = {at->text, at->length};
        if (at->kind != VALUE_TEXT || at[1].kind != VALUE_DECIMAL || text_is(name, "port") ||
            text_is(name, "ifindex"))
            continue;
        struct text number = {at[1].text, at[1].length};
        if (take_counter(file, name, telemetry_number(number), line, error))
            return -1;
    }
    return 0;
}

static int take_json(struct rdma_file *file, struct text text, const struct input_line *line,
                     struct error *error)
{
    enum json_status status = json_parse(&file->json, text.data, text.length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status != JSON_OK || file->json.root.kind != VALUE_LIST)
        return telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
    for (const struct value *at = value_begin(&file->json.root); at < value_end(&file->json.root); at++)
        if (at->kind == VALUE_DICTIONARY && take_object(file, at, line, error))
            return -1;
    return 0;
}

static int take_line(void *context, const struct input_line *line, struct error *error)
{
    struct rdma_file *file = context;
    struct text text;
    int whole = telemetry_line(&file->telemetry, line, &text, error);
    text = text_trim(text);
    if (whole < 1 || !text.length)
        return whole < 0 ? -1 : 0;
    int is_date =
        file->kept[0] ? 0 : telemetry_is_date(&file->telemetry, text, line->offset, &file->time, error);
    if (is_date || text_contains(text, "rdma stat"))
        return is_date < 0 ? -1 : 0;
    if (text.data[0] == '[')
        return take_json(file, text, line, error);
    return text_begins(text, "link ") || file->port[0]
               ? take_words(file, text, line, error)
               : telemetry_note(&file->telemetry, TELEMETRY_NOTE_UNREADABLE, 1, line, error);
}

static int rdma_read(struct input *input, const struct format_sink *sink, char *dialect, size_t dialect_bytes,
                     struct error *error)
{
    struct rdma_file file = {.port = ""};
    telemetry_init(&file.telemetry, sink, input);
    file.time = telemetry_file_time(&file.telemetry);
    json_init(&file.json);
    snprintf(dialect, dialect_bytes, "rdma");
    int status = telemetry_lines(input, &file, take_line, error);
    json_release(&file.json);
    telemetry_release(&file.telemetry);
    return status;
}

enum { SURE = 80 };

/* The port, and a counter that drivers of all vendors or of NVIDIA have. */
static int rdma_sniff(const char *bytes, size_t length, const char *path)
{
    static const char *const counters[] = {"rx_write_requests",
                                           "out_of_sequence",
                                           "packet_seq_err",
                                           "local_ack_timeout_err",
                                           "lifespan",
                                           "rx_bytes",
                                           "tx_bytes",
                                           "rx_pkts",
                                           NULL};
    (void)path;
    for (const char *end = bytes + length; bytes < end;) {
        const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        struct text line = {bytes, line_end ? (size_t)(line_end - bytes) : (size_t)(end - bytes)};
        bytes += line.length + 1;
        int is_text = text_begins(line, "link ") && memchr(line.data, '/', line.length);
        int is_json = text_begins(line, "[{\"if") && text_contains(line, "\"port\":");
        if ((is_text || is_json) && text_contains_any(line, counters))
            return SURE;
    }
    return 0;
}

const struct format format_rdma = {
    .name = "rdma",
    .version = 2,
    .description = "counters of RDMA ports (rdma statistic show)",
    .unknown = TELEMETRY_NOTE_OTHER_METRIC,
    .name_counts = 1,
    .sniff = rdma_sniff,
    .read = rdma_read,
};
