#include "analyse/analyses.h"
#include "analyse/filter.h"
#include "analyse/judged_run.h"
#include "analyse/option.h"
#include "analyse/run_choice.h"
#include "analyse/run_metrics.h"
#include "base/escape.h"
#include "export/files.h"
#include "export/metrics.h"
#include "store/views.h"

#include <string.h>

/* What a store holds, as files for other tools. */

enum { OPTION_TO, OPTION_OUTPUT, OPTION_PROXY_STEPS, OPTION_GROUP_ROWS, OPTION_COMPRESSION, OPTION_RUN };

/* What a thread of an engine takes at once; memory grows with it. */
#define GROUP_ROWS "131072"

static const struct analysis_option options[] = {
    {"to", 0, "FORMAT",
     "output: sqlite (a file), csv or parquet (a directory), prometheus (a text file for node_exporter)",
     NULL},
    {"output", 'o', "FILE", "output file or directory; - for standard output (prometheus only)", NULL},
    {"proxy-steps", 0, NULL, "include table proxy_step, by far the largest (not with prometheus)", NULL},
    {"rows-per-group", 0, "N", "rows per Parquet row group", GROUP_ROWS},
    {"compression", 0, "NAME", "Parquet compression: gzip or none", "gzip"},
    RUN_OPTION,
};

static const struct column columns[] = {
    {.name = "table", .type = CELL_TEXT, .description = "what was written: the name of a view, or metrics"},
    {.name = "rows", .type = CELL_INTEGER, .description = "number of rows; of metrics, number of samples"},
    {.name = "file", .type = CELL_TEXT, .description = "file that was written"},
};

enum { AT_TABLE, AT_ROWS, AT_FILE, COLUMN_COUNT };

static int add_row(struct table *table, const char *name, const char *path, int64_t rows, struct error *error)
{
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, AT_ROWS, rows);
    return table_set_text(table, AT_TABLE, name, error) || table_set_text(table, AT_FILE, path, error) ? -1
                                                                                                       : 0;
}

static int tell(void *context, const struct view *view, const char *path, int64_t rows, struct error *error)
{
    return add_row(context, view->name, path, rows, error);
}

static int parquet_options(const struct analysis_request *request, struct parquet_options *parquet,
                           struct error *error)
{
    const char *compression = request->values[OPTION_COMPRESSION];
    parquet->is_compressed = strcmp(compression, "gzip") == 0;
    if (!parquet->is_compressed && strcmp(compression, "none") != 0)
        return error_set(error, "invalid --compression '%s': expected gzip or none", compression);
    return option_integer(request->values[OPTION_GROUP_ROWS], "rows-per-group", 1, INT64_MAX,
                          &parquet->group_rows, error);
}

static int write_views(const struct analysis_request *request, const struct runs *runs,
                       int (*write)(const struct export_request *, struct error *),
                       struct analysis_result *result, struct error *error)
{
    struct export_request wanted = {.store = request->store,
                                    .path = request->values[OPTION_OUTPUT],
                                    .run_id = runs->only,
                                    .network_steps = request->values[OPTION_PROXY_STEPS] != NULL,
                                    .tell = tell,
                                    .context = &result->table};
    if (parquet_options(request, &wanted.parquet, error))
        return -1;
    return write(&wanted, error);
}

static int write_sqlite(const struct analysis_request *request, const struct runs *runs,
                        struct analysis_result *result, struct error *error)
{
    return write_views(request, runs, export_sqlite, result, error);
}

static int write_csv(const struct analysis_request *request, const struct runs *runs,
                     struct analysis_result *result, struct error *error)
{
    return write_views(request, runs, export_csv, result, error);
}

static int write_parquet(const struct analysis_request *request, const struct runs *runs,
                         struct analysis_result *result, struct error *error)
{
    return write_views(request, runs, export_parquet, result, error);
}

static int write_prometheus(const struct analysis_request *request, const struct runs *runs,
                            struct analysis_result *result, struct error *error)
{
    struct metrics metrics;
    struct diagnose_options usual;
    const char *path = request->values[OPTION_OUTPUT];
    metrics_init(&metrics);
    int failed = diagnose_options_usual(&usual, request->store, error);
    for (size_t i = 0; !failed && i < runs->count; i++) {
        struct judged_run run;
        failed = judged_run_init(&run, request->store, runs->ids[i], &usual, error);
        if (failed)
            break;
        failed = run_metrics_add(&metrics, &run, error);
        judged_run_release(&run);
    }
    failed = failed || metrics_save(&metrics, path, error) ||
             add_row(&result->table, "metrics", path, metrics.count, error);
    result->wrote_output = !failed && strcmp(path, "-") == 0;
    metrics_release(&metrics);
    return failed;
}

static const struct format {
    const char *name;
    int (*write)(const struct analysis_request *request, const struct runs *runs,
                 struct analysis_result *result, struct error *error);
} formats[] = {{"sqlite", write_sqlite},
               {"csv", write_csv},
               {"parquet", write_parquet},
               {"prometheus", write_prometheus}};

enum { FORMATS = sizeof formats / sizeof *formats };

static const struct format *find_format(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* --sort and --top are of the answer; what is written is whole. */
static int check_filter(const struct filter *filter, struct error *error)
{
    const char *given = !filter                                                     ? NULL
                        : filter->rank_count                                        ? "rank"
                        : filter->steps.first > 0 || filter->steps.last < INT64_MAX ? "step"
                        : filter->tag                                               ? "tag"
                        : filter->communicator                                      ? "communicator"
                        : filter->host                                              ? "host"
                                                                                    : NULL;
    return given ? error_set(error, "--%s does not apply to export; only --run does", given) : 0;
}

/* Options of one format alone. */
static int check_options(const struct analysis_request *request, const char *to, struct error *error)
{
    struct parquet_options parquet;
    if (strcmp(to, "prometheus") == 0 && request->values[OPTION_PROXY_STEPS])
        return error_set(error, "--proxy-steps needs --to sqlite, csv or parquet");
    if (strcmp(to, "parquet") == 0)
        return parquet_options(request, &parquet, error);
    for (size_t option = OPTION_GROUP_ROWS; option <= OPTION_COMPRESSION; option++)
        if (option_is_given(request, options, option))
            return error_set(error, "--%s needs --to parquet", options[option].name);
    return 0;
}

static int check_request(const struct analysis_request *request, struct error *error)
{
    const char *to = request->values[OPTION_TO];
    if (!to)
        return error_set(error, "missing option --to: sqlite, csv, parquet or prometheus");
    if (!find_format(to))
        return error_set(error, "invalid --to '%s': expected sqlite, csv, parquet or prometheus", to);
    if (!request->values[OPTION_OUTPUT])
        return error_set(error, "missing option --output");
    return check_options(request, to, error) || check_filter(request->filter, error) ? -1 : 0;
}

/* What was written, in a sentence. */
static int say(const struct analysis_request *request, struct analysis_result *result)
{
    const struct table *table = &result->table;
    const char *path = request->values[OPTION_OUTPUT];
    int64_t rows = 0;
    for (size_t i = 0; i < table->row_count; i++)
        rows += table_cell(table, i, AT_ROWS)->integer;
    int failed = strcmp(request->values[OPTION_TO], "prometheus") == 0
                     ? buffer_printf(&result->text, "%lld samples written to ", (long long)rows)
                     : buffer_printf(&result->text, "%zu tables with %lld rows written to ", table->row_count,
                                     (long long)rows);
    return failed || escape_terminal(&result->text, path, strlen(path)) ||
           buffer_append_byte(&result->text, '\n');
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct runs runs;
    *usage = check_request(request, error) != 0;
    if (*usage || table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    const struct format *format = find_format(request->values[OPTION_TO]);
    int failed = format ? format->write(request, &runs, result, error) : -1;
    runs_release(&runs);
    return failed || say(request, result) ? (failed ? -1 : error_no_memory(error)) : 0;
}

static const char *option_word(size_t option, size_t number)
{
    static const char *const compressions[] = {"gzip", "none"};
    if (option == OPTION_COMPRESSION)
        return number < sizeof compressions / sizeof *compressions ? compressions[number] : NULL;
    return option == OPTION_TO && number < FORMATS ? formats[number].name : NULL;
}

const struct analysis analysis_export = {
    .name = "export",
    .summary = "write the store as SQLite, CSV, Parquet or Prometheus text",
    .description =
        "With sqlite, csv and parquet, writes the views of ncclprof-store(5) as tables, for all runs or for "
        "one. With prometheus, writes metrics of each run: bandwidth by function and tag, wait time, step "
        "time, findings and coverage.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_RANK) | FILTER_BIT(FILTER_STEP) | FILTER_BIT(FILTER_TAG) |
                        FILTER_BIT(FILTER_COMMUNICATOR) | FILTER_BIT(FILTER_HOST),
    .word = option_word,
    .filters_itself = 1,
    .run = run,
};
