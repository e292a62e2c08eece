#include "analyse/analyses.h"
#include "analyse/job.h"
#include "analyse/options.h"

#include "base/array.h"
#include "base/intern.h"
#include "schemas.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bandwidth and latency of instances, grouped. Two times are kept apart: transfer, the shortest device
 * duration over the ranks, when nobody waited for anybody; and effective, the longest. Sizes and bus
 * bandwidth are those of nccl-tests (doc/PERFORMANCE.md). Percentiles are nearest-rank, over the instances of
 * a group.
 */

enum { OPTION_BY, OPTION_BY_TAG, OPTION_RUN };

static const struct analysis_option options[] = {
    {"by", 0, "KEY,...",
     "group by these, in this order: tag, function, communicator, size, algorithm, protocol, rank, step, run",
     "function,size"},
    {"by-tag", 0, NULL, "the same as --by tag,function", NULL},
    {"run", 0, "N", "only this run of a store that holds several", NULL},
};

enum key {
    KEY_TAG,
    KEY_FUNCTION,
    KEY_COMMUNICATOR,
    KEY_SIZE,
    KEY_ALGORITHM,
    KEY_PROTOCOL,
    KEY_RANK,
    KEY_STEP,
    KEY_RUN,
    KEY_COUNT
};

static const char *const key_names[KEY_COUNT] = {"tag",      "function", "communicator", "size", "algorithm",
                                                 "protocol", "rank",     "step",         "run"};

static const struct column key_columns[KEY_COUNT] = {
    {.name = "tag", .type = CELL_TEXT, .description = "user tag in force when the operations were issued"},
    {.name = "function", .type = CELL_TEXT, .description = "collective, or Send for a send with its receive"},
    {.name = "communicator", .type = CELL_TEXT, .description = "its name, or the global ranks in it"},
    {.name = "size_bytes",
     .type = CELL_INTEGER,
     .unit = "bytes",
     .description = "size S as nccl-tests counts it"},
    {.name = "algorithm", .type = CELL_TEXT, .description = "algorithm that NCCL chose"},
    {.name = "protocol", .type = CELL_TEXT, .description = "protocol that NCCL chose"},
    {.name = "rank", .type = CELL_TEXT, .description = "global rank"},
    {.name = "step", .type = CELL_INTEGER, .description = "training step"},
    {.name = "run", .type = CELL_INTEGER, .description = "job, where the store holds several"},
};

static const struct column value_columns[] = {
    {.name = "instances", .type = CELL_INTEGER, .description = "operations joined across ranks"},
    {.name = "operations", .type = CELL_INTEGER, .description = "records of single ranks"},
    {.name = "bytes", .type = CELL_INTEGER, .unit = "bytes", .description = "sum of the instances' sizes"},
    {.name = "transfer_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "shortest device duration over the ranks: nobody waited; median"},
    {.name = "effective_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "longest device duration over the ranks, waiting included; median"},
    {.name = "effective_us_p99",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "the same, 99th percentile"},
    {.name = "transfer_busbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bus bandwidth of the transfer; median"},
    {.name = "effective_busbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bus bandwidth, waiting included; median"},
};

enum { VALUE_COUNT = sizeof value_columns / sizeof *value_columns };

/* Columns of the statements in schemas/analysis/report.sql. */
enum {
    AT_INSTANCE,
    AT_RUN,
    AT_TAG,
    AT_FUNCTION,
    AT_LABEL,
    AT_SIZE,
    AT_BYTES,
    AT_STEP,
    AT_MEMBERS,
    AT_TRANSFER,
    AT_EFFECTIVE,
    AT_ALGORITHM,
    AT_PROTOCOL,
    AT_RANK
};

struct samples {
    double *values; /* owned */
    size_t count;
    size_t capacity;
};

struct group {
    int64_t last_instance;
    int64_t instances;
    int64_t operations;
    int64_t bytes;
    double effective_total;
    struct samples transfer_us;
    struct samples effective_us;
    struct samples transfer_gbs;
    struct samples effective_gbs;
    size_t key; /* in report.keys: its texts, KEY_COUNT of them */
};

struct report {
    enum key by[KEY_COUNT];
    size_t by_count;
    struct intern texts;  /* of key values; number 0 is "not known" */
    struct intern groups; /* by their keys' numbers */
    struct group *items;  /* owned */
    size_t count;
    size_t capacity;
    int64_t *keys; /* owned: by_count numbers a group */
    size_t key_capacity;
};

static void report_release(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->items[i].transfer_us.values);
        free(report->items[i].effective_us.values);
        free(report->items[i].transfer_gbs.values);
        free(report->items[i].effective_gbs.values);
    }
    free(report->items);
    free(report->keys);
    intern_release(&report->texts);
    intern_release(&report->groups);
}

static int add_key(struct report *report, const char *name, size_t length, struct error *error)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strlen(key_names[i]) != length || memcmp(key_names[i], name, length) != 0)
            continue;
        for (size_t j = 0; j < report->by_count; j++)
            if (report->by[j] == (enum key)i)
                return error_set(error, "--by names '%s' twice", key_names[i]);
        report->by[report->by_count++] = (enum key)i;
        return 0;
    }
    return error_set(error,
                     "--by does not know the key '%.*s': it takes tag, function, communicator, size, "
                     "algorithm, protocol, rank, step and run",
                     (int)length, name);
}

static int parse_keys(struct report *report, const char *text, struct error *error)
{
    while (*text) {
        size_t length = strcspn(text, ",");
        if (add_key(report, text, length, error))
            return -1;
        text += length + (text[length] == ',');
    }
    return report->by_count ? 0 : error_set(error, "--by needs at least one key");
}

static int is_by(const struct report *report, enum key key)
{
    for (size_t i = 0; i < report->by_count; i++)
        if (report->by[i] == key)
            return 1;
    return 0;
}

static int samples_add(struct samples *samples, double value)
{
    if (array_reserve((void **)&samples->values, &samples->capacity, samples->count + 1,
                      sizeof *samples->values))
        return -1;
    samples->values[samples->count++] = value;
    return 0;
}

static int by_real(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Nearest rank: the least value that at least `part` of them do not exceed. */
static double percentile(struct samples *samples, double part)
{
    if (!samples->count)
        return NAN;
    qsort(samples->values, samples->count, sizeof *samples->values, by_real);
    size_t rank = (size_t)ceil(part * (double)samples->count);
    return samples->values[rank ? rank - 1 : 0];
}

static const char *word(struct statement *row, enum key key)
{
    switch (key) {
    case KEY_TAG:
        return statement_text(row, AT_TAG);
    case KEY_FUNCTION:
        return function_name((enum function)statement_integer(row, AT_FUNCTION));
    case KEY_COMMUNICATOR:
        return statement_text(row, AT_LABEL);
    case KEY_ALGORITHM:
        return algorithm_name((enum algorithm)statement_integer(row, AT_ALGORITHM));
    case KEY_PROTOCOL:
        return protocol_name((enum protocol)statement_integer(row, AT_PROTOCOL));
    case KEY_RANK:
        return statement_text(row, AT_RANK);
    default:
        return NULL;
    }
}

/* The key's value as a number: itself, or that of its text. -1: not known, -2: out of memory. */
static int64_t key_value(struct report *report, struct statement *row, enum key key)
{
    static const int columns[KEY_COUNT] = {[KEY_SIZE] = AT_BYTES, [KEY_STEP] = AT_STEP, [KEY_RUN] = AT_RUN};
    if (columns[key])
        return statement_is_null(row, columns[key]) ? -1 : statement_integer(row, columns[key]);
    const char *text = word(row, key);
    if (!text)
        return -1;
    int64_t number = intern_put(&report->texts, text, strlen(text));
    return number < 0 ? -2 : number;
}

static struct group *group_of(struct report *report, struct statement *row)
{
    char name[KEY_COUNT * sizeof(int64_t) * 2 + 1];
    int64_t values[KEY_COUNT];
    for (size_t i = 0; i < report->by_count; i++) {
        values[i] = key_value(report, row, report->by[i]);
        if (values[i] < -1)
            return NULL;
        for (size_t j = 0; j < sizeof(int64_t) * 2; j++)
            name[i * sizeof(int64_t) * 2 + j] = (char)('a' + ((uint64_t)values[i] >> (4 * j) & 15));
    }
    int64_t number = intern_put(&report->groups, name, report->by_count * sizeof(int64_t) * 2);
    if (number < 0 ||
        array_reserve((void **)&report->items, &report->capacity, (size_t)number + 1,
                      sizeof *report->items) ||
        array_reserve((void **)&report->keys, &report->key_capacity, ((size_t)number + 1) * KEY_COUNT,
                      sizeof *report->keys))
        return NULL;
    if ((size_t)number == report->count) {
        report->items[report->count++] =
            (struct group){.last_instance = -1, .key = (size_t)number * KEY_COUNT};
        memcpy(report->keys + (size_t)number * KEY_COUNT, values, sizeof values[0] * report->by_count);
    }
    return &report->items[number];
}

static int add_times(struct group *group, struct statement *row)
{
    enum function function = (enum function)statement_integer(row, AT_FUNCTION);
    int64_t size = statement_is_null(row, AT_BYTES) ? -1 : statement_integer(row, AT_BYTES);
    double factor = function_busbw_factor(function, statement_integer(row, AT_SIZE));
    struct samples *const us[] = {&group->transfer_us, &group->effective_us};
    struct samples *const gbs[] = {&group->transfer_gbs, &group->effective_gbs};
    static const int columns[] = {AT_TRANSFER, AT_EFFECTIVE};
    group->instances++;
    group->bytes += size > 0 ? size : 0;
    for (int i = 0; i < 2; i++) {
        if (statement_is_null(row, columns[i]))
            continue;
        double time_ns = (double)statement_integer(row, columns[i]);
        if (samples_add(us[i], time_ns / 1e3))
            return -1;
        /* Bytes a nanosecond are GB/s. */
        if (size >= 0 && time_ns > 0 && samples_add(gbs[i], (double)size / time_ns * factor))
            return -1;
        group->effective_total += i ? time_ns : 0;
    }
    return 0;
}

static int add_row(struct report *report, struct statement *row, struct error *error)
{
    struct group *group = group_of(report, row);
    if (!group)
        return error_no_memory(error);
    int64_t instance = statement_integer(row, AT_INSTANCE);
    group->operations += statement_integer(row, AT_MEMBERS);
    if (instance == group->last_instance)
        return 0;
    group->last_instance = instance;
    return add_times(group, row) ? error_no_memory(error) : 0;
}

static int read_rows(struct report *report, const struct analysis_request *request, struct error *error)
{
    int by_operation = is_by(report, KEY_ALGORITHM) || is_by(report, KEY_PROTOCOL) || is_by(report, KEY_RANK);
    struct statement *row = store_prepare(
        request->store, by_operation ? schema_analysis_report_operations : schema_analysis_report_instances,
        error);
    int64_t run = 0;
    int more = row ? 1 : -1;
    if (row && request->values[OPTION_RUN])
        more = option_integer(request->values[OPTION_RUN], "run", 1, INT64_MAX, &run, error) ||
                       statement_bind_integer(row, 1, run, error)
                   ? -1
                   : 1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (add_row(report, row, error))
            more = -1;
    statement_free(row);
    return more;
}

static int by_time(const void *a, const void *b)
{
    const struct group *left = a, *right = b;
    if (left->effective_total != right->effective_total)
        return left->effective_total > right->effective_total ? -1 : 1;
    return (left->key > right->key) - (left->key < right->key);
}

static int show_key(const struct report *report, const struct group *group, size_t at, struct table *table,
                    struct error *error)
{
    enum key key = report->by[at];
    int64_t value = report->keys[group->key + at];
    if (value < 0)
        return 0;
    if (key != KEY_SIZE && key != KEY_STEP && key != KEY_RUN)
        return table_set_text(table, at, intern_text(&report->texts, value), error);
    table_set_integer(table, at, value);
    return 0;
}

static int show_group(const struct report *report, struct group *group, struct table *table,
                      struct error *error)
{
    if (table_add_row(table, error))
        return -1;
    for (size_t i = 0; i < report->by_count; i++)
        if (show_key(report, group, i, table, error))
            return -1;
    size_t at = report->by_count;
    table_set_integer(table, at, group->instances);
    table_set_integer(table, at + 1, group->operations);
    table_set_integer(table, at + 2, group->bytes);
    table_set_real(table, at + 3, percentile(&group->transfer_us, 0.5));
    table_set_real(table, at + 4, percentile(&group->effective_us, 0.5));
    table_set_real(table, at + 5, percentile(&group->effective_us, 0.99));
    table_set_real(table, at + 6, percentile(&group->transfer_gbs, 0.5));
    table_set_real(table, at + 7, percentile(&group->effective_gbs, 0.5));
    return 0;
}

static int read_number(struct store *store, const char *sql, int64_t *number, struct error *error)
{
    struct statement *statement = store_prepare(store, sql, error);
    int row = statement ? statement_step(statement, error) : -1;
    if (row == 1)
        *number = statement_integer(statement, 0);
    statement_free(statement);
    return row == 1 ? 0 : -1;
}

/* Runs of different jobs never share a row. */
static int separate_runs(struct report *report, const struct analysis_request *request, struct error *error)
{
    int64_t runs;
    if (read_number(request->store, schema_analysis_report_runs, &runs, error))
        return -1;
    if (runs > 1 && !is_by(report, KEY_RUN) && !request->values[OPTION_RUN])
        report->by[report->by_count++] = KEY_RUN;
    return 0;
}

static int show(struct report *report, const struct analysis_request *request, struct table *table,
                struct error *error)
{
    int64_t unhashed;
    for (size_t i = 0; i < report->by_count; i++)
        if (table_add_column(table, key_columns[report->by[i]], error))
            return -1;
    if (table_add_columns(table, value_columns, VALUE_COUNT, error) ||
        read_number(request->store, schema_analysis_report_unhashed, &unhashed, error))
        return -1;
    if (report->count && !is_by(report, KEY_STEP))
        qsort(report->items, report->count, sizeof *report->items, by_time);
    for (size_t i = 0; i < report->count; i++)
        if (show_group(report, &report->items[i], table, error))
            return -1;
    if (unhashed)
        return table_add_warning(
            table, error,
            "%lld communicators have no hash (NCCL up to 2.26 behind a newer one): their "
            "operations cannot be joined across ranks",
            (long long)unhashed);
    return 0;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct report report = {0};
    const char *by = request->values[OPTION_BY_TAG] ? "tag,function" : request->values[OPTION_BY];
    int64_t run;
    if (parse_keys(&report, by, error) ||
        (request->values[OPTION_RUN] &&
         option_integer(request->values[OPTION_RUN], "run", 1, INT64_MAX, &run, error))) {
        *usage = 1;
        return -1;
    }
    intern_init(&report.texts);
    intern_init(&report.groups);
    int failed = separate_runs(&report, request, error) || read_rows(&report, request, error) ||
                 show(&report, request, &result->table, error);
    report_release(&report);
    return failed ? -1 : 0;
}

const struct analysis analysis_report = {
    .name = "report",
    .summary = "bandwidth and latency by tag, function, communicator, size ...",
    .description =
        "Bandwidth follows nccl-tests: GB are 1e9 bytes, sizes and bus bandwidth those of its "
        "doc/PERFORMANCE.md. Transfer is the shortest device duration over the ranks, effective the "
        "longest, waiting included.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .run = run,
};
