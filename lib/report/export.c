/*
 * The command export: the views of a store as an SQLite file, as CSV or Parquet files in a directory, or as
 * Prometheus metrics. The CSV writer is here, the Parquet writer in export_parquet.c.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_plain(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '"' || text[i] == ',' || text[i] == '\r' || text[i] == '\n' || !text[i])
            return 0;
    return length > 0;
}

static int append_text(struct buffer *line, const char *text, size_t length)
{
    if (is_plain(text, length))
        return escape_utf8(line, text, length);
    int failed = buffer_append_byte(line, '"');
    for (size_t at = 0; at < length && !failed;) {
        const char *quote = memchr(text + at, '"', length - at);
        size_t end = quote ? (size_t)(quote - text) + 1 : length;
        failed = escape_utf8(line, text + at, end - at) || (quote && buffer_append_byte(line, '"'));
        at = end;
    }
    return failed || buffer_append_byte(line, '"');
}

static int append_real(struct buffer *line, double value)
{
    char text[REAL_TEXT_BYTES];
    if (!isfinite(value))
        return 0;
    real_text(value, text);
    return buffer_append_text(line, text);
}

static int append_integer(struct buffer *line, int64_t value)
{
    char text[INTEGER_TEXT_BYTES], *end = text;
    if (value < 0)
        *end++ = '-';
    end = integer_text(value < 0 ? -(uint64_t)value : (uint64_t)value, end);
    return buffer_append(line, text, (size_t)(end - text));
}

/* Returns -1 when memory is out. */
static int append_cell(struct buffer *line, struct statement *rows, int column)
{
    size_t length;
    const char *text;
    switch (statement_type(rows, column)) {
    case CELL_NULL:
        return 0;
    case CELL_INTEGER:
        return append_integer(line, statement_integer(rows, column));
    case CELL_REAL:
        return append_real(line, statement_real(rows, column));
    default:
        text = statement_bytes(rows, column, &length);
        return !text || append_text(line, text, length) ? -1 : 0;
    }
}

static int end_line(struct output *output, struct buffer *line, int failed, struct error *error)
{
    if (failed || buffer_append_text(line, "\r\n"))
        return error_no_memory(error);
    int outcome = output_write(output, line->data, line->length, error);
    buffer_clear(line);
    return outcome;
}

static int write_head(struct output *output, const struct view *view, struct buffer *line,
                      struct error *error)
{
    int failed = 0;
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = (i && buffer_append_byte(line, ',')) || buffer_append_text(line, view->columns[i].name);
    return end_line(output, line, failed, error);
}

static int write_row(struct output *output, const struct view *view, struct statement *rows,
                     struct buffer *line, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = (i && buffer_append_byte(line, ',')) || append_cell(line, rows, (int)i);
    return end_line(output, line, failed, error);
}

int csv_file_write(struct output *output, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error)
{
    struct buffer line = BUFFER_INIT;
    int more = write_head(output, view, &line, error) ? -1 : 1;
    *count = 0;
    while (more == 1 && (more = statement_step(rows, error)) == 1)
        if (write_row(output, view, rows, &line, error))
            more = -1;
        else
            ++*count;
    buffer_release(&line);
    return more;
}

/* What is exported. The views of a store become files for other tools. */

struct export_request {
    struct store *store; /* joined; the export has its state when the first row is read */
    const char *path;
    int64_t run_id;                 /* 0: all runs */
    int network_steps;              /* include the views of network steps */
    struct parquet_options parquet; /* for Parquet */
    /*
     * Called when a view is written, with its number of rows, in the order of store_views. -1 with an
     * error stops the export.
     */
    int (*tell)(void *context, const struct view *view, const char *path, int64_t rows, struct error *error);
    void *context;
};

static int is_wanted(const struct export_request *request, const struct view *view)
{
    return request->network_steps || !view->is_network_steps;
}

static int add_table(const struct export_request *request, const struct view *view, struct plain_file *file,
                     struct error *error)
{
    int64_t count = 0;
    struct statement *rows = view_rows(request->store, view, request->run_id, error);
    int failed = !rows || plain_file_add(file, view, rows, &count, error) ||
                 request->tell(request->context, view, request->path, count, error);
    statement_free(rows);
    return failed ? error_wrap(error, "cannot write %s as a table", view->name) : 0;
}

static int write_tables(const struct export_request *request, struct plain_file *file, struct error *error)
{
    int failed = store_begin_reading(request->store, error);
    for (int i = 0; store_views[i].name && !failed; i++)
        if (is_wanted(request, &store_views[i]))
            failed = add_table(request, &store_views[i], file, error);
    store_rollback(request->store);
    return failed;
}

/* Writes one SQLite file with plain tables. On failure the earlier file, if any, is unchanged. */
static int export_sqlite(const struct export_request *request, struct error *error)
{
    struct output *output = output_open(request->path, OUTPUT_BY_DESCRIPTOR, error);
    if (!output)
        return -1;
    struct plain_file *file = plain_file_open(output_descriptor(output), error);
    int failed = !file || write_tables(request, file, error);
    if (failed)
        plain_file_discard(file);
    else
        failed = plain_file_close(file, error);
    if (!failed)
        return output_close(output, error);
    output_discard(output);
    return error_wrap(error, "cannot export to %s", request->path);
}

/* A format that has one file per view in a directory. */
struct kind {
    const char *name;
    const char *ending;
    int (*write)(const struct export_request *request, struct output *output, const struct view *view,
                 struct statement *rows, int64_t *count, struct error *error);
};

/* The path of a view's file in the directory. NULL when memory is out. */
static char *name_of(const struct export_request *request, const struct kind *kind, const struct view *view)
{
    struct buffer path = BUFFER_INIT;
    if (buffer_printf(&path, "%s/%s%s", request->path, view->name, kind->ending))
        buffer_release(&path);
    return buffer_detach(&path);
}

static int write_view(const struct export_request *request, const struct kind *kind, const struct view *view,
                      struct output **output, struct error *error)
{
    int64_t count = 0;
    char *path = name_of(request, kind, view);
    if (!path)
        return error_no_memory(error);
    struct statement *rows = view_rows(request->store, view, request->run_id, error);
    int failed = !rows || !(*output = output_open(path, OUTPUT_PLAIN, error)) ||
                 kind->write(request, *output, view, rows, &count, error) ||
                 request->tell(request->context, view, path, count, error);
    statement_free(rows);
    free(path);
    return failed ? error_wrap(error, "cannot write %s as %s", view->name, kind->name) : 0;
}

static int files_write_views(const struct export_request *request, const struct kind *kind,
                             struct output **outputs, struct error *error)
{
    int failed = store_begin_reading(request->store, error);
    for (int i = 0; store_views[i].name && !failed; i++)
        if (is_wanted(request, &store_views[i]))
            failed = write_view(request, kind, &store_views[i], &outputs[i], error);
    store_rollback(request->store);
    return failed;
}

/* Removes the file of an earlier export, which would show another state than the new files. */
static int remove_view(const struct export_request *request, const struct kind *kind, const struct view *view,
                       struct error *error)
{
    char *path = name_of(request, kind, view);
    int failed = !path ? error_no_memory(error)
                 : unlink(path) == 0 || errno == ENOENT
                     ? 0
                     : error_set_errno(error, errno, "cannot remove %s", path);
    free(path);
    return failed;
}

/* Reports a full disk before the first file takes its name. */
static int flush_all(struct output **outputs, struct error *error)
{
    for (int i = 0; store_views[i].name; i++)
        if (outputs[i] && output_flush(outputs[i], error))
            return -1;
    return 0;
}

/* Gives all files their names, or after a failure leaves the earlier ones unchanged. */
static int close_all(const struct export_request *request, const struct kind *kind, struct output **outputs,
                     int failed, struct error *error)
{
    for (int i = 0; store_views[i].name; i++) {
        if (failed)
            output_discard(outputs[i]);
        else
            failed = outputs[i] ? output_close(outputs[i], error)
                                : remove_view(request, kind, &store_views[i], error);
    }
    return failed;
}

/* Returns 1 if the directory was created, 0 if it existed, -1 on error. */
static int make_directory(const char *path, struct error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return 1;
    if (errno != EEXIST || stat(path, &status))
        return error_set_errno(error, errno, "cannot create directory %s", path);
    return S_ISDIR(status.st_mode) ? 0 : error_set(error, "%s: is not a directory", path);
}

static int export_directory(const struct export_request *request, const struct kind *kind,
                            struct error *error)
{
    struct output *outputs[STORE_VIEWS_MOST] = {NULL};
    if (strcmp(request->path, "-") == 0)
        return error_set(error, "this format needs a directory, not standard output");
    int is_new = make_directory(request->path, error);
    if (is_new < 0)
        return -1;
    int failed = files_write_views(request, kind, outputs, error) || flush_all(outputs, error);
    if (!close_all(request, kind, outputs, failed, error))
        return 0;
    if (is_new)
        rmdir(request->path);
    return error_wrap(error, "cannot export to %s", request->path);
}

static int files_write_csv(const struct export_request *request, struct output *output,
                           const struct view *view, struct statement *rows, int64_t *count,
                           struct error *error)
{
    return csv_file_write(output, view, rows, count, error);
}

static int files_write_parquet(const struct export_request *request, struct output *output,
                               const struct view *view, struct statement *rows, int64_t *count,
                               struct error *error)
{
    return parquet_file_write(output, view, rows, &request->parquet, count, error);
}

/*
 * Writes NAME.csv for each view to a directory, which is created if needed. The files take their names one
 * after the other when all of them are written. Files of an earlier export that this one does not have are
 * removed.
 */
static int export_csv(const struct export_request *request, struct error *error)
{
    static const struct kind csv = {"CSV", ".csv", files_write_csv};
    return export_directory(request, &csv, error);
}

/* The same with NAME.parquet. */
static int export_parquet(const struct export_request *request, struct error *error)
{
    static const struct kind parquet = {"Parquet", ".parquet", files_write_parquet};
    return export_directory(request, &parquet, error);
}

enum {
    OPTION_TO,
    OPTION_OUTPUT,
    OPTION_PROXY_STEPS,
    OPTION_GROUP_ROWS,
    OPTION_COMPRESSION,
    OPTION_RUN,
    OPTION_MEMORY
};

/* What one thread of a query engine reads at a time; memory grows with it. */
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
    MEMORY_OPTION,
    ANONYMIZE_OPTION,
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
    if (parquet_options(request, &wanted.parquet, error) ||
        computed_views_fill(request->store, NULL, request->values[OPTION_MEMORY], error))
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
    int failed = diagnose_options_usual(&usual, request->store, request->values[OPTION_MEMORY], error);
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

/* --sort and --top apply to the listing only; the exported data is complete. */
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

/* Checks options that apply to one format only. */
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
    int64_t memory_bytes;
    return option_memory(request->values[OPTION_MEMORY], &memory_bytes, error) ||
                   check_options(request, to, error) || check_filter(request->filter, error)
               ? -1
               : 0;
}

/* Writes the result as a sentence. */
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
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
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
