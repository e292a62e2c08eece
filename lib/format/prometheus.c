/*
 * The format "prometheus": the text that Inspector writes for Prometheus (NCCL_INSPECTOR_PROM_DUMP), and the
 * labels of its metrics. A metric is an average over operations; bandwidth and duration with the same labels
 * form one sample. The counters of dropped operations (NCCL_INSPECTOR_PROM_DUMP_STATS) become losses.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "input/input.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NUMBER_BYTES = 64 };

static int is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static struct text skip_space(struct text text)
{
    while (text.length && is_space(text.data[0])) {
        text.data++;
        text.length--;
    }
    return text;
}

/* Takes the first word, up to a space. */
static struct text take_word(struct text *text)
{
    struct text word = {text->data, 0};
    while (word.length < text->length && !is_space(text->data[word.length]))
        word.length++;
    text->data += word.length;
    text->length -= word.length;
    *text = skip_space(*text);
    return word;
}

/* "1.5", "NaN", "+Inf". The latter two are unknown values. Returns -1 for anything else. */
static int read_value(struct text word, double *value)
{
    char digits[NUMBER_BYTES];
    char *end;
    if (!word.length || word.length >= sizeof digits)
        return -1;
    memcpy(digits, word.data, word.length);
    digits[word.length] = '\0';
    *value = strtod(digits, &end);
    return *end ? -1 : 0;
}

/* Reads a timestamp in milliseconds. */
static int64_t read_time(struct text word)
{
    int64_t ms, ns;
    return word.length && number_int64(word.data, word.length, &ms) == 0 && ms > 0 &&
                   !__builtin_mul_overflow(ms, INT64_C(1000000), &ns)
               ? ns
               : TIME_UNKNOWN;
}

/* Returns where the labels end, after their closing brace; NULL if they do not. */
static const char *labels_end(const char *at, const char *end)
{
    int in_value = 0;
    for (; at < end; at++) {
        if (in_value && *at == '\\')
            at++;
        else if (*at == '"')
            in_value = !in_value;
        else if (!in_value && *at == '}')
            return at + 1;
    }
    return NULL;
}

static int is_name(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) || byte == '_' ||
           byte == ':';
}

int sample_line_read(struct text line, struct sample_line *said)
{
    struct text rest = skip_space(line);
    if (!rest.length || rest.data[0] == '#')
        return 0;
    *said = (struct sample_line){.metric = {rest.data, 0}};
    while (rest.length && is_name(rest.data[0])) {
        rest.data++;
        rest.length--;
        said->metric.length++;
    }
    rest = skip_space(rest);
    if (rest.length && rest.data[0] == '{') {
        const char *past = labels_end(rest.data + 1, rest.data + rest.length);
        if (!past)
            return -1;
        said->labels = (struct text){rest.data + 1, (size_t)(past - rest.data) - 2};
        rest.length -= (size_t)(past - rest.data);
        rest.data = past;
        rest = skip_space(rest);
    }
    if (!said->metric.length || read_value(take_word(&rest), &said->value))
        return -1;
    said->at_ns = read_time(take_word(&rest));
    return rest.length ? -1 : 1;
}

/*
 * Copies the value of a label, from after its opening quote, without escapes, and adds a NUL. Returns its
 * place in `texts`; -1 if it does not end; -2 if memory is out.
 */
static int64_t unescape(const char **at, const char *end, struct buffer *texts)
{
    int64_t begin = (int64_t)texts->length;
    for (; *at < end && **at != '"'; (*at)++) {
        char byte = **at;
        if (byte == '\\' && *at + 1 < end) {
            (*at)++;
            byte = **at;
            if (byte == 'n')
                byte = '\n';
        }
        if (buffer_append_byte(texts, byte))
            return -2;
    }
    if (*at == end)
        return -1;
    (*at)++;
    return buffer_append_byte(texts, '\0') ? -2 : begin;
}

enum label {
    LABEL_JOB,
    LABEL_NODE,
    LABEL_GPU,
    LABEL_NAME,
    LABEL_ID,
    LABEL_NODES,
    LABEL_RANKS,
    LABEL_RANK,
    LABEL_COLLECTIVE,
    LABEL_PAIR,
    LABEL_SIZE,
    LABEL_ALGORITHM,
    LABEL_TAG,
    LABEL_SEQUENCE,
    LABEL_TIME,
    LABELS
};

/* The spellings of Inspector's versions: those of 2.28 after those of 2.30. */
static const struct {
    const char *name;
    enum label label;
} label_names[] = {
    {"slurm_job_id", LABEL_JOB},
    {"node", LABEL_NODE},
    {"hostname", LABEL_NODE},
    {"gpu", LABEL_GPU},
    {"gpu_device_id", LABEL_GPU},
    {"comm_name", LABEL_NAME},
    {"comm_id", LABEL_ID},
    {"n_nodes", LABEL_NODES},
    {"nranks", LABEL_RANKS},
    {"n_ranks", LABEL_RANKS},
    {"rank", LABEL_RANK},
    {"collective", LABEL_COLLECTIVE},
    {"p2p_operation", LABEL_PAIR},
    {"message_size", LABEL_SIZE},
    {"algo_proto", LABEL_ALGORITHM},
    {"user_tag", LABEL_TAG},
    {"coll_sn", LABEL_SEQUENCE},
    {"p2p_sn", LABEL_SEQUENCE},
    {"timestamp", LABEL_TIME},
};

static enum label label_of(struct text name)
{
    for (size_t i = 0; i < sizeof label_names / sizeof *label_names; i++)
        if (text_is(name, label_names[i].name))
            return label_names[i].label;
    return LABELS;
}

int sample_label_take(const char **at, const char *end, struct buffer *texts, struct text *name,
                      int64_t *place)
{
    *place = -1;
    while (*at < end && (is_space(**at) || **at == ','))
        (*at)++;
    *name = (struct text){*at, 0};
    while (*at < end && is_name(**at)) {
        (*at)++;
        name->length++;
    }
    while (*at < end && is_space(**at))
        (*at)++;
    if (*at == end)
        return name->length != 0;
    if (end - *at < 2 || (*at)[0] != '=' || (*at)[1] != '"')
        return 1;
    *at += 2;
    *place = unescape(at, end, texts);
    return *place >= 0 ? 0 : *place == -2 ? -1 : 1;
}

/* Takes one label. Returns 0; 1 if it is damaged; -1 if memory is out. */
static int take_label(const char **at, const char *end, struct buffer *texts, int64_t places[LABELS])
{
    struct text name;
    int64_t place;
    int failed = sample_label_take(at, end, texts, &name, &place);
    enum label label = failed || place < 0 ? LABELS : label_of(name);
    if (label < LABELS && places[label] < 0)
        places[label] = place;
    return failed;
}

static int64_t count_of(const char *text)
{
    int64_t count;
    return text && number_int64(text, strlen(text), &count) == 0 && count >= 0 ? count : COUNT_UNKNOWN;
}

/* "4-5MB", "2.00GB", "0B": the lower bound. Units are powers of 1024. */
static int64_t least_bytes(const char *text)
{
    static const char units[] = "BKMGTP";
    char *end;
    if (!text || !is_digit(text[0]))
        return COUNT_UNKNOWN;
    double bytes = strtod(text, &end);
    if (*end == '-')
        (void)strtod(end + 1, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (!unit || (*end != 'B' && end[1] != 'B'))
        return COUNT_UNKNOWN;
    for (const char *at = units; at < unit; at++)
        bytes *= 1024;
    return scale(1, bytes);
}

/* "2025-10-17T03:31:47Z" */
static int64_t moment_of(const char *text)
{
    struct tm tm = {0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    time_t seconds = end && strcmp(end, "Z") == 0 ? timegm(&tm) : -1;
    int64_t ns;
    return seconds > 0 && !__builtin_mul_overflow((int64_t)seconds, INT64_C(1000000000), &ns) ? ns
                                                                                              : TIME_UNKNOWN;
}

/* "RING_SIMPLE", "Ring_ll", "NVLS_TREE_SIMPLE" */
static void read_algorithm(const char *text, struct metric_sample *sample)
{
    const char *line = text ? strrchr(text, '_') : NULL;
    if (!line || strcmp(text, "unknown") == 0)
        return;
    sample->algorithm = algorithm_from_text(text, (size_t)(line - text));
    sample->protocol = protocol_from_text(line + 1, strlen(line + 1));
}

/* NULL for the words with which Inspector prints "unknown". */
static const char *said(const struct buffer *texts, const int64_t places[LABELS], enum label label)
{
    const char *text = places[label] < 0 ? NULL : texts->data + places[label];
    return text && text[0] && strcmp(text, "unknown") != 0 ? text : NULL;
}

int sample_labels_read(struct text labels, struct buffer *texts, struct metric_sample *sample)
{
    int64_t places[LABELS];
    const char *at = labels.data, *end = labels.data + labels.length;
    for (int i = 0; i < LABELS; i++)
        places[i] = -1;
    buffer_clear(texts);
    while (at < end) {
        int failed = take_label(&at, end, texts, places);
        if (failed)
            return failed;
    }
    const char *function = said(texts, places, LABEL_COLLECTIVE);
    function = function ? function : said(texts, places, LABEL_PAIR);
    const char *name = said(texts, places, LABEL_NAME);
    *sample = (struct metric_sample){.at_ns = moment_of(said(texts, places, LABEL_TIME)),
                                     .job = said(texts, places, LABEL_JOB),
                                     .node = said(texts, places, LABEL_NODE),
                                     .gpu = said(texts, places, LABEL_GPU),
                                     .communicator = name ? name : said(texts, places, LABEL_ID),
                                     .node_count = count_of(said(texts, places, LABEL_NODES)),
                                     .rank_count = count_of(said(texts, places, LABEL_RANKS)),
                                     .rank = count_of(said(texts, places, LABEL_RANK)),
                                     .message_size = said(texts, places, LABEL_SIZE),
                                     .least_bytes = least_bytes(said(texts, places, LABEL_SIZE)),
                                     .busbw_gbs = -1,
                                     .duration_ns = COUNT_UNKNOWN,
                                     .tag = said(texts, places, LABEL_TAG),
                                     .sequence = count_of(said(texts, places, LABEL_SEQUENCE))};
    if (!function)
        return 1;
    sample->function = function_from_text(function, strlen(function));
    read_algorithm(said(texts, places, LABEL_ALGORITHM), sample);
    return sample->function == FUNCTION_UNKNOWN;
}

static const char other_metric[] = "unknown metric";
static const char operation_counter[] = "number of operations";

/* Limits on the samples, and on the bytes of their labels, that wait for their other metric. */
enum { WAITING_MOST = 1 << 14, WAITING_BYTES_MOST = 16 << 20 };

/* The metrics with the same labels. The labels map to its number. */
struct waiting {
    uint64_t offset;
    int64_t at_ns;
    double busbw_gbs;
    int64_t duration_ns;
};

struct prometheus_file {
    const struct format_sink *sink;
    int64_t modified_ns;
    struct intern labels;
    size_t label_bytes;
    struct waiting *waiting; /* owned */
    size_t capacity;
    struct buffer texts;
};

static int emit(struct prometheus_file *file, size_t number, struct error *error)
{
    const char *labels = intern_text(&file->labels, (int64_t)number);
    const struct waiting *waiting = &file->waiting[number];
    struct event event = {.kind = EVENT_SAMPLE,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = waiting->offset}};
    struct text text = {labels, strlen(labels)};
    int failed = sample_labels_read(text, &file->texts, &event.sample);
    if (failed < 0)
        return error_no_memory(error);
    if (failed)
        return file->sink->note(file->sink->context, "unreadable labels", 1, waiting->offset, labels,
                                text.length, error);
    if (event.sample.at_ns == TIME_UNKNOWN)
        event.sample.at_ns = waiting->at_ns != TIME_UNKNOWN ? waiting->at_ns : file->modified_ns;
    event.sample.busbw_gbs = waiting->busbw_gbs;
    event.sample.duration_ns = waiting->duration_ns;
    return file->sink->event(file->sink->context, &event, error);
}

static int flush(struct prometheus_file *file, struct error *error)
{
    for (size_t i = 0; i < file->labels.count; i++)
        if (emit(file, i, error))
            return -1;
    intern_release(&file->labels);
    intern_init(&file->labels);
    file->label_bytes = 0;
    return 0;
}

static struct waiting *find(struct prometheus_file *file, const struct sample_line *line, uint64_t offset)
{
    size_t had = file->labels.count;
    int64_t number = intern_put(&file->labels, line->labels.data, line->labels.length);
    if (number < 0 ||
        array_reserve((void **)&file->waiting, &file->capacity, (size_t)number + 1, sizeof *file->waiting))
        return NULL;
    struct waiting *waiting = &file->waiting[number];
    if (file->labels.count > had) {
        file->label_bytes += line->labels.length;
        *waiting = (struct waiting){offset, TIME_UNKNOWN, -1, COUNT_UNKNOWN};
    }
    return waiting;
}

/* The averages and counters that are read. */
enum measure { OTHER = 0, BANDWIDTH, DURATION, OPERATIONS, DROPPED };

static const struct metric {
    const char *name;
    enum measure measure;
    const char *what; /* DROPPED: what was */
} metrics[] = {
    {"nccl_bus_bandwidth_gbs", BANDWIDTH, NULL},
    {"nccl_p2p_bus_bandwidth_gbs", BANDWIDTH, NULL},
    {"nccl_collective_exec_time_microseconds", DURATION, NULL},
    {"nccl_p2p_exec_time_microseconds", DURATION, NULL},
    {"nccl_collectives_total", OPERATIONS, NULL},
    {"nccl_p2p_total", OPERATIONS, NULL},
    {"nccl_collectives_dropped_total", DROPPED, "collectives overwritten before they were written"},
    {"nccl_p2p_dropped_total", DROPPED, "point-to-point operations overwritten before they were written"},
};

static const struct metric *metric_of(struct text name)
{
    static const struct metric other = {"", OTHER, NULL};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (text_is(name, metrics[i].name))
            return &metrics[i];
    return &other;
}

static int take_sample(struct prometheus_file *file, const struct sample_line *line, enum measure measure,
                       uint64_t offset, struct error *error)
{
    if ((file->labels.count >= WAITING_MOST || file->label_bytes >= WAITING_BYTES_MOST) && flush(file, error))
        return -1;
    struct waiting *waiting = find(file, line, offset);
    if (!waiting)
        return error_no_memory(error);
    if (line->at_ns != TIME_UNKNOWN)
        waiting->at_ns = line->at_ns;
    if (measure == BANDWIDTH)
        waiting->busbw_gbs = line->value;
    else
        waiting->duration_ns = scale(1000, line->value);
    return 0;
}

static int note(struct prometheus_file *file, const char *reason, int damage, const struct input_line *line,
                struct error *error)
{
    return file->sink->note(file->sink->context, reason, damage, line->offset, line->text, line->length,
                            error);
}

/*
 * Hands over how many operations a GPU's recorder has dropped so far. The text has no process, so the GPU
 * distinguishes those of a node.
 */
static int take_dropped(struct prometheus_file *file, const struct sample_line *said, const char *what,
                        const struct input_line *line, struct error *error)
{
    struct event event = {.kind = EVENT_LOSS,
                          .origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN, .offset = line->offset},
                          .loss = {.events = scale(1, said->value), .what = what, .is_total = 1}};
    struct metric_sample sample = {.node = NULL};
    if (sample_labels_read(said->labels, &file->texts, &sample) < 0)
        return error_no_memory(error);
    if (event.loss.events == 0)
        return 0;
    event.origin.host = sample.node;
    event.origin.started_ns =
        -1 - (int64_t)(communicator_hash_of(sample.gpu ? sample.gpu : "", NULL, 0) >> 1);
    return file->sink->event(file->sink->context, &event, error);
}

static int take_line(struct prometheus_file *file, const struct input_line *line, struct error *error)
{
    struct sample_line said;
    int is_whole = !line->continued && !line->goes_on && !memchr(line->text, '\0', line->length);
    int found = is_whole ? sample_line_read((struct text){line->text, line->length}, &said) : -1;
    if (found == 0)
        return 0;
    if (found < 0)
        return note(file, "unreadable line", 1, line, error);
    const struct metric *metric = metric_of(said.metric);
    if (metric->measure == OTHER || metric->measure == OPERATIONS)
        return note(file, metric->measure == OTHER ? other_metric : operation_counter, 0, line, error);
    if (!isfinite(said.value) || said.value < 0)
        return note(file, "metric that is not a number", 1, line, error);
    return metric->measure == DROPPED ? take_dropped(file, &said, metric->what, line, error)
                                      : take_sample(file, &said, metric->measure, line->offset, error);
}

static int prometheus_read(struct input *input, const struct format_sink *sink, char *dialect,
                           size_t dialect_bytes, struct error *error)
{
    struct prometheus_file file = {
        .sink = sink, .modified_ns = input_modified_ns(input), .texts = BUFFER_INIT};
    struct error later = ERROR_INIT;
    struct input_line line;
    int more;
    intern_init(&file.labels);
    snprintf(dialect, dialect_bytes, "prometheus");
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(&file, &line, error)) {
            more = -2;
            break;
        }
    /* What was read before reading failed is handed over. */
    if (more > -2 && flush(&file, more ? &later : error))
        more = -1;
    error_clear(&later);
    intern_release(&file.labels);
    free(file.waiting);
    buffer_release(&file.texts);
    return more ? -1 : 0;
}

static int prometheus_sniff(const char *bytes, size_t length, const char *path)
{
    (void)path;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        char mark[NUMBER_BYTES];
        int mark_length = snprintf(mark, sizeof mark, "%s{", metrics[i].name);
        const char *found = memmem(bytes, length, mark, (size_t)mark_length);
        if (found && (found == bytes || found[-1] == '\n'))
            return 90;
    }
    return 0;
}

const struct format format_prometheus = {
    .name = "prometheus",
    .version = 2,
    .description = "Prometheus text of NVIDIA's Inspector (averages)",
    .unknown = other_metric,
    .is_snapshot = 1,
    .sniff = prometheus_sniff,
    .read = prometheus_read,
};
