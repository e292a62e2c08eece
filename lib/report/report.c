/*
 * The command report: bandwidth and latency of instances, by group. Two times are kept apart: transfer time,
 * the shortest device duration over the ranks, which contains no wait; and effective time, the longest. Sizes
 * and bus bandwidth are those of nccl-tests (doc/PERFORMANCE.md). Percentiles are nearest-rank, over the
 * instances of a group.
 */
#include "report/report.h"
#include "base/base.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_BY, OPTION_BY_TAG, OPTION_CROSS_NODE, OPTION_CALLS, OPTION_SAMPLES, OPTION_RUN };

static const struct analysis_option options[] = {
    {"by", 0, "KEY,...",
     "group by these keys, in this order: tag, function, communicator, size, algorithm, protocol, rank, "
     "step, run, registered, source, gpu_serial, vm, device, host, peer, time",
     "function,size"},
    {"by-tag", 0, NULL, "the same as --by tag,function", NULL},
    {"cross-node", 0, NULL, "only operations between different hosts", NULL},
    {"call-bandwidth", 0, NULL,
     "also show bandwidth as defined by call descriptions (ncclprof-formats(5)); implied by --by source",
     NULL},
    {"samples", 0, NULL, "show averages from Prometheus text instead of single operations", NULL},
    RUN_OPTION,
};

static const char *const key_names[KEY_COUNT] = {
    "tag",        "function", "communicator", "size", "algorithm", "protocol", "rank", "step", "run",
    "registered", "source",   "gpu_serial",   "vm",   "device",    "host",     "peer", "time"};

static const struct column key_columns[KEY_COUNT] = {
    TAG_COLUMN,
    {.name = "function", .type = CELL_TEXT, .description = "collective, or Send for a send with its receive"},
    COMMUNICATOR_COLUMN,
    SIZE_COLUMN,
    {.name = "algorithm", .type = CELL_TEXT, .description = "algorithm that NCCL chose"},
    {.name = "protocol", .type = CELL_TEXT, .description = "protocol that NCCL chose"},
    RANK_COLUMN,
    STEP_COLUMN,
    RUN_COLUMN,
    {.name = "registered",
     .type = CELL_TEXT,
     .description = "whether the buffers were registered with NCCL; for the reasons, see ncclprof buffers"},
    {.name = "source", .type = CELL_TEXT, .description = "line of the program that made the call"},
    {.name = "gpu_serial", .type = CELL_TEXT, .description = "serial number or UUID of the rank's GPU"},
    {.name = "vm", .type = CELL_TEXT, .description = "virtual machine of the rank"},
    {.name = "device", .type = CELL_INTEGER, .description = "CUDA device number of the rank's GPU"},
    {.name = "host", .type = CELL_TEXT, .description = "host of the rank"},
    {.name = "peer", .type = CELL_INTEGER, .description = "global rank of the peer of a send or receive"},
    {.name = "time", .type = CELL_TEXT, .description = "time at which the samples were written, UTC"},
};

/* Stands beside the rank. */
static const struct column process_column = PROCESS_COLUMN;

static const struct column value_columns[] = {
    {.name = "instances", .type = CELL_INTEGER, .description = "operations joined across ranks"},
    {.name = "operations", .type = CELL_INTEGER, .detail = 1, .description = "records of single ranks"},
    {.name = "bytes",
     .type = CELL_INTEGER,
     .unit = "bytes",
     .detail = 1,
     .description = "sum of the instances' sizes"},
    {.name = "transfer_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "transfer time: shortest duration on the device over the ranks; median"},
    {.name = "effective_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "longest duration on the device over the ranks, including wait time; with --by rank, the "
                    "duration of that rank; median"},
    {.name = "effective_us_p99",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "as effective_us_p50, but the 99th percentile"},
    {.name = "transfer_busbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bus bandwidth during the transfer time; median"},
    {.name = "effective_busbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bus bandwidth, including wait time; median"},
};

/* Follows, if ranks have rows of their own. */
static const struct column wait_column = {
    .name = "wait_us_p50",
    .type = CELL_REAL,
    .unit = "us",
    .decimals = 1,
    .description = "wait time for other ranks: duration of the rank minus the transfer time; median"};

/* Follow, if a tag was set under which a rank has no operation. */
static const struct column phase_columns[] = {
    {.name = "phase_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description =
         "time per step from a tag without operations to the next tag, over ranks and steps; median"},
    {.name = "phase_us_p99",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "as phase_us_p50, but the 99th percentile"},
};

enum { PHASE_COUNT = sizeof phase_columns / sizeof *phase_columns };

/* Follow, if groups of one size differ in algorithm or protocol. */
static const struct column comparison_columns[] = {
    {.name = "slower_percent",
     .type = CELL_REAL,
     .unit = "%",
     .decimals = 1,
     .description = "how much longer the median transfer is than with the fastest algorithm and protocol"},
    {.name = "significant",
     .type = CELL_TEXT,
     .description =
         "yes: the difference is more than chance (95 %); in the row of the fastest: the next one is slower"},
    {.name = "fastest",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "algorithm and protocol with the shortest median transfer of the same data"},
};

enum { COMPARISON_COUNT = sizeof comparison_columns / sizeof *comparison_columns };

/* Follow, if --calls is given. */
static const struct column call_columns[] = {
    {.name = "message_bytes",
     .type = CELL_INTEGER,
     .unit = "bytes",
     .detail = 1,
     .description =
         "sum of message sizes as defined by call descriptions: without data that stays on the rank"},
    {.name = "transfer_callbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bandwidth during the transfer time, as defined by call descriptions; median"},
    {.name = "effective_callbw_gbs_p50",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "the same, including wait time; median"},
};

/* Follow, for averages from Prometheus text. */
static const struct column sample_columns[] = {
    {.name = "effective_busbw_gbs_mean",
     .type = CELL_REAL,
     .unit = "GB/s",
     .decimals = 2,
     .description = "bus bandwidth: geometric mean of the averages, which are geometric means themselves"},
    {.name = "samples",
     .type = CELL_INTEGER,
     .description = "number of averages, each over an unknown number of operations"},
};

enum { CALL_COUNT = sizeof call_columns / sizeof *call_columns };
enum { VALUE_COUNT = sizeof value_columns / sizeof *value_columns };

static int parse_keys(struct report_groups *report, const struct analysis_request *request,
                      struct error *error)
{
    size_t numbers[KEY_COUNT];
    int by_tag = request->values[OPTION_BY_TAG] != NULL;
    if (by_tag && option_is_given(request, options, OPTION_BY))
        return error_set(error, "use only one of --by and --by-tag");
    int failed = option_keys(by_tag ? "tag,function" : request->values[OPTION_BY], key_names, KEY_COUNT,
                             numbers, &report->by_count, error);
    for (size_t i = 0; i < report->by_count; i++)
        report->by[i] = (enum report_key)numbers[i];
    return failed;
}

/* If the number of a rank is not known, its name identifies it. */
static int show_rank(const struct report_groups *report, int64_t value, size_t column, struct table *table,
                     struct error *error)
{
    if (report->numbers[value] >= 0)
        table_set_integer(table, column, report->numbers[value]);
    return table_set_text(table, column + 1, intern_text(&report->texts, value), error);
}

static int show_key(const struct report_groups *report, enum report_key key, int64_t value, size_t column,
                    struct table *table, struct error *error)
{
    if (value < 0)
        return 0;
    if (key == KEY_RANK)
        return show_rank(report, value, column, table, error);
    if (key != KEY_SIZE && key != KEY_STEP && key != KEY_RUN && key != KEY_DEVICE && key != KEY_PEER)
        return table_set_text(table, column, intern_text(&report->texts, value), error);
    table_set_integer(table, column, value);
    return 0;
}

static void show_time(struct table *table, size_t column, struct samples *samples, double part)
{
    if (samples->count)
        table_set_real(table, column, (double)samples_percentile(samples, part) / 1e3);
}

static void show_bandwidth(struct table *table, size_t column, struct samples *samples)
{
    if (samples->count)
        table_set_real(table, column, samples_real(samples_percentile(samples, 0.5)));
}

/* Whether rows are of single ranks. */
static int has_waits(const struct report_groups *report)
{
    return report_groups_is_by(report, KEY_RANK) || filter_is_of_ranks(report->filter);
}

/* Shows the algorithm and protocol, like "NVLS SIMPLE"; leaves out what is no key or not known. */
static int show_fastest(const struct report_groups *report, const struct report_group *group, size_t column,
                        struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0; i < report->by_count && !failed; i++)
        if ((report->by[i] == KEY_ALGORITHM || report->by[i] == KEY_PROTOCOL) && group->key[i] >= 0)
            failed = buffer_printf(&text, "%s%s", text.length ? " " : "",
                                   intern_text(&report->texts, group->key[i]));
    failed = failed ? error_no_memory(error) : 0;
    if (!failed && text.length)
        failed = table_set_text(table, column, text.data, error);
    buffer_release(&text);
    return failed;
}

static int show_comparison(const struct report_groups *report, const struct report_comparison *comparison,
                           size_t column, struct table *table, struct error *error)
{
    if (!comparison->is_compared)
        return 0;
    table_set_real(table, column, comparison->slower * 100);
    if (table_set_text(table, column + 1, comparison->is_significant ? "yes" : "no", error))
        return -1;
    return show_fastest(report, &report->groups[comparison->fastest], column + 2, table, error);
}

static int show_group(const struct report_groups *report, struct report_group *group,
                      const struct report_comparison *comparison, struct table *table, struct error *error)
{
    size_t at = 0;
    if (table_add_row(table, error))
        return -1;
    for (size_t i = 0; i < report->by_count; i++) {
        if (show_key(report, report->by[i], group->key[i], at, table, error))
            return -1;
        at += report->by[i] == KEY_RANK ? 2 : 1;
    }
    table_set_integer(table, at, group->instances);
    table_set_integer(table, at + 1, group->operations);
    table_set_integer(table, at + 2, group->bytes);
    show_time(table, at + 3, &group->transfer_ns, 0.5);
    show_time(table, at + 4, &group->effective_ns, 0.5);
    show_time(table, at + 5, &group->effective_ns, 0.99);
    show_bandwidth(table, at + 6, &group->transfer_gbs);
    show_bandwidth(table, at + 7, &group->effective_gbs);
    at += VALUE_COUNT;
    if (has_waits(report))
        show_time(table, at++, &group->wait_ns, 0.5);
    if (report->has_phases) {
        show_time(table, at, &group->phase_ns, 0.5);
        show_time(table, at + 1, &group->phase_ns, 0.99);
        at += PHASE_COUNT;
    }
    if (report->has_calls) {
        table_set_integer(table, at, group->message_bytes);
        show_bandwidth(table, at + 1, &group->transfer_message_gbs);
        show_bandwidth(table, at + 2, &group->effective_message_gbs);
        at += CALL_COUNT;
    }
    if (report->has_samples && group->sample_bandwidths)
        table_set_real(table, at, exp(group->logarithms / (double)group->sample_bandwidths));
    if (report->has_samples)
        table_set_integer(table, at + 1, group->samples);
    return comparison ? show_comparison(report, comparison, at, table, error) : 0;
}

static int add_key_columns(const struct report_groups *report, struct table *table, struct error *error)
{
    int unnumbered = 0;
    for (size_t i = 0; i < report->count; i++)
        for (size_t j = 0; j < report->by_count; j++)
            unnumbered |= report->by[j] == KEY_RANK && report->groups[i].key[j] >= 0 &&
                          report->numbers[report->groups[i].key[j]] < 0;
    struct column process = process_column;
    process.hidden = !unnumbered;
    for (size_t i = 0; i < report->by_count; i++)
        if (table_add_column(table, key_columns[report->by[i]], error) ||
            (report->by[i] == KEY_RANK && table_add_column(table, process, error)))
            return -1;
    return 0;
}

static int warn_of_unhashed(struct store *store, int64_t run_id, struct table *table, struct error *error)
{
    struct statement *statement = store_prepare_for(store, schema_analysis_report_unhashed, run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    int failed = row != 1 || caution_unhashed(0, statement_integer(statement, 0), table, error);
    statement_free(statement);
    return failed ? -1 : 0;
}

static int warn_of_lacking(const struct report_groups *report, struct table *table, struct error *error)
{
    return report->lacking ? table_add_warning(table, error,
                                               "%lld of %lld operations lack records of some ranks; their "
                                               "transfer times may include the wait for those ranks",
                                               (long long)report->lacking, (long long)report->instances)
                           : 0;
}

static int warn_of_snapshots(const struct report_groups *report, struct table *table, struct error *error)
{
    return report->by_assumed_hook ? caution_snapshot_rule(report->by_assumed_hook, table, error) : 0;
}

/* Adds the run as a key, so that runs of different jobs do not share a row. */
static void separate_runs(struct report_groups *report, const struct runs *runs)
{
    if (runs->count > 1 && !report_groups_is_by(report, KEY_RUN))
        report->by[report->by_count++] = KEY_RUN;
}

static int show_groups(struct report_groups *report, const struct report_comparison *comparisons,
                       struct table *table, struct error *error)
{
    for (size_t i = 0; i < report->count; i++)
        if (show_group(report, &report->groups[i], comparisons ? &comparisons[i] : NULL, table, error))
            return -1;
    return 0;
}

static int compare_and_show(struct report_groups *report, struct table *table, struct error *error)
{
    size_t mixed;
    struct report_comparison *comparisons = report_compare(report, &mixed);
    int failed = comparisons ? show_groups(report, comparisons, table, error) : error_no_memory(error);
    free(comparisons);
    if (failed || !mixed)
        return failed;
    return table_add_warning(table, error,
                             "%zu row%s several functions or communicators and cannot be compared with "
                             "others; separate them with --by function,communicator,size,algorithm,protocol",
                             mixed, mixed == 1 ? " combines" : "s combine");
}

/* Adds columns; of descriptions, only their number and their message sizes are shown as text. */
static int add_columns(const struct report_groups *report, const struct column *columns_added, size_t count,
                       struct table *table, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct column column = columns_added[i];
        int is_shown = strcmp(column.name, "operations") == 0 || strcmp(column.name, "message_bytes") == 0;
        if (report->has_descriptions) {
            column.hidden = !is_shown;
            column.detail = 0;
        }
        if (table_add_column(table, column, error))
            return -1;
    }
    return 0;
}

static int show(struct report_groups *report, struct table *table, struct error *error)
{
    int is_compared = !report->has_samples && !report->has_descriptions && report_is_compared(report);
    if (add_key_columns(report, table, error) ||
        add_columns(report, value_columns, VALUE_COUNT, table, error) ||
        (has_waits(report) && add_columns(report, &wait_column, 1, table, error)) ||
        (report->has_phases && add_columns(report, phase_columns, PHASE_COUNT, table, error)) ||
        (report->has_calls && add_columns(report, call_columns, CALL_COUNT, table, error)) ||
        (report->has_samples &&
         table_add_columns(table, sample_columns, sizeof sample_columns / sizeof *sample_columns, error)) ||
        (is_compared && table_add_columns(table, comparison_columns, COMPARISON_COUNT, error)))
        return -1;
    report_groups_sort(report);
    return is_compared ? compare_and_show(report, table, error) : show_groups(report, NULL, table, error);
}

static int warn_of_undecided(const struct report_groups *report, struct table *table, struct error *error)
{
    return report->undecided
               ? table_add_warning(table, error,
                                   "%lld operation%s left out because it is unknown whether %s between hosts",
                                   (long long)report->undecided, report->undecided == 1 ? " is" : "s are",
                                   report->undecided == 1 ? "it is" : "they are")
               : 0;
}

/* Uses averages if there are no operations, or if --samples is given. */
static int group_samples(struct report_groups *report, const struct analysis_request *request,
                         const struct sample_counts *counts, struct table *table, struct error *error)
{
    report->has_samples = 1;
    report->has_calls = 0;
    return report_samples_read(report, request->store, error) || show(report, table, error) ||
           (counts->jobs > 1 &&
            table_add_warning(
                table, error,
                "the rows contain averages of %lld jobs; names of different jobs may be the same",
                (long long)counts->jobs)) ||
           table_add_warning(table, error,
                             "these are averages from Prometheus text, including wait time; they do not show "
                             "which rank was waited for") ||
           caution_dropped_samples(counts, table, error);
}

/* Without --by, descriptions are grouped by source line, function and rank. */
static int group_descriptions(struct report_groups *report, const struct analysis_request *request,
                              struct table *table, struct error *error)
{
    static const enum report_key keys[] = {KEY_SOURCE, KEY_FUNCTION, KEY_RANK};
    if (!option_is_given(request, options, OPTION_BY) && !request->values[OPTION_BY_TAG]) {
        memcpy(report->by, keys, sizeof keys);
        report->by_count = sizeof keys / sizeof *keys;
    }
    report->has_descriptions = 1;
    report->has_calls = 1;
    return report_descriptions_read(report, request->store, error) || show(report, table, error) ||
           table_add_warning(table, error,
                             "these are calls that the program described, without a trace of the operations; "
                             "their times are unknown");
}

static int group_and_show(struct report_groups *report, const struct analysis_request *request,
                          const struct runs *runs, struct table *table, struct error *error)
{
    struct sample_counts counts;
    int64_t descriptions;
    if (report_samples_count(request->store, &counts, error) ||
        report_descriptions_count(request->store, &descriptions, error))
        return -1;
    int64_t samples = counts.samples;
    if (request->values[OPTION_SAMPLES] || (samples && !runs->count))
        return group_samples(report, request, &counts, table, error);
    if (descriptions && !runs->count)
        return group_descriptions(report, request, table, error);
    separate_runs(report, runs);
    return report_groups_read(report, request->store, runs->only, error) ||
           report_phases_read(report, request->store, runs, error) || show(report, table, error) ||
           warn_of_unhashed(request->store, runs->only, table, error) ||
           warn_of_lacking(report, table, error) || warn_of_undecided(report, table, error) ||
           (samples &&
            table_add_warning(table, error, "%lld average%s from Prometheus text %s not shown; use --samples",
                              (long long)samples, samples == 1 ? "" : "s", samples == 1 ? "is" : "are")) ||
           warn_of_snapshots(report, table, error) || caution_records(request->store, runs, table, error) ||
           (runs->count && caution_bare_calls(request->store, runs->only, table, error)) ||
           caution_no_operations(request->store, runs, table, error);
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct report_groups report;
    struct runs runs = {0};
    report_groups_init(&report);
    if (request->filter)
        report.filter = request->filter;
    *usage = parse_keys(&report, request, error);
    report.cross_node = request->values[OPTION_CROSS_NODE] != NULL;
    report.has_calls = request->values[OPTION_CALLS] != NULL || report_groups_is_by(&report, KEY_SOURCE);
    int failed = *usage || runs_choose(&runs, request, OPTION_RUN, &result->table, error) ||
                 group_and_show(&report, request, &runs, &result->table, error);
    runs_release(&runs);
    report_groups_release(&report);
    return failed ? -1 : 0;
}

static const char *option_word(size_t option, size_t number)
{
    return option == OPTION_BY && number < KEY_COUNT ? key_names[number] : NULL;
}

/* It measures what the filters select. */
static int reads_filters(const struct analysis_request *request)
{
    return 1;
}

const struct analysis analysis_report = {
    .name = "report",
    .summary = "show bandwidth and latency by tag, function, size, rank ...",
    .description =
        "Sizes and bus bandwidth are defined as in nccl-tests (doc/PERFORMANCE.md); 1 GB is 1e9 bytes. "
        "Columns named transfer use the shortest device duration over the ranks, the time to move the data. "
        "Columns named effective use the longest duration, which includes the time spent waiting for other "
        "ranks.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .word = option_word,
    .is_kept = 1,
    .reads_filters = reads_filters,
    .filters_itself = 1,
    .run = run,
};
