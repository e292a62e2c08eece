#include "analyse/analyses.h"
#include "analyse/filter.h"
#include "analyse/run_choice.h"
#include "export/files.h"
#include "store/views.h"

#include <string.h>

/* What a store holds, as files for other tools. */

enum { OPTION_TO, OPTION_OUTPUT, OPTION_PROXY_STEPS, OPTION_RUN };

static const struct analysis_option options[] = {
    {"to", 0, "FORMAT", "sqlite: one file; csv: a directory; prometheus: a file for node_exporter", NULL},
    {"output", 'o', "FILE", "where to; - is standard output, of prometheus", NULL},
    {"proxy-steps", 0, NULL, "sqlite, csv: proxy_step as well, which is by far the largest", NULL},
    RUN_OPTION,
};

static const struct column columns[] = {
    {.name = "table", .type = CELL_TEXT, .description = "what was written"},
    {.name = "rows", .type = CELL_INTEGER, .description = "how many rows, of prometheus samples"},
    {.name = "file", .type = CELL_TEXT, .description = "into which file"},
};

enum { AT_TABLE, AT_ROWS, AT_FILE, COLUMN_COUNT };

static int tell(void *context, const struct view *view, const char *path, int64_t rows, struct error *error)
{
    struct table *table = context;
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, AT_ROWS, rows);
    return table_set_text(table, AT_TABLE, view->name, error) || table_set_text(table, AT_FILE, path, error)
               ? -1
               : 0;
}

/* --sort and --top are of the answer; what is written is whole. */
static int check_filter(const struct filter *filter, struct error *error)
{
    if (!filter)
        return 0;
    const char *given = filter->rank_count                                            ? "rank"
                        : filter->steps.first != 0 || filter->steps.last != INT64_MAX ? "step"
                        : filter->tag                                                 ? "tag"
                        : filter->communicator                                        ? "communicator"
                        : filter->host                                                ? "host"
                                                                                      : NULL;
    return given ? error_set(error, "--%s does not apply here: --run is all that chooses", given) : 0;
}

static int write_files(const struct analysis_request *request, struct table *table, struct error *error)
{
    struct runs runs;
    if (runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    const struct export_request wanted = {.store = request->store,
                                          .path = request->values[OPTION_OUTPUT],
                                          .run_id = runs.only,
                                          .network_steps = request->values[OPTION_PROXY_STEPS] != NULL,
                                          .tell = tell,
                                          .context = table};
    runs_release(&runs);
    return strcmp(request->values[OPTION_TO], "csv") == 0 ? export_csv(&wanted, error)
                                                          : export_sqlite(&wanted, error);
}

static const char *const formats[] = {"sqlite", "csv"};

static int check_request(const struct analysis_request *request, struct error *error)
{
    const char *to = request->values[OPTION_TO];
    int is_known = 0;
    for (size_t i = 0; to && i < sizeof formats / sizeof *formats; i++)
        is_known |= strcmp(to, formats[i]) == 0;
    if (!to)
        return error_set(error, "--to is missing: sqlite, csv or prometheus");
    if (!is_known)
        return error_set(error, "--to takes sqlite, csv or prometheus, not '%s'", to);
    if (!request->values[OPTION_OUTPUT])
        return error_set(error, "--output is missing");
    return check_filter(request->filter, error);
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    *usage = check_request(request, error) != 0;
    return *usage || table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
                   write_files(request, &result->table, error)
               ? -1
               : 0;
}

static const char *option_word(size_t option, size_t number)
{
    return option == OPTION_TO && number < sizeof formats / sizeof *formats ? formats[number] : NULL;
}

const struct analysis analysis_export = {
    .name = "export",
    .summary = "the store for other tools: plain SQLite, CSV, Prometheus text",
    .description =
        "Views of ncclprof-store(5) as tables of a plain SQLite file, or as CSV files, whole or those of one "
        "run; or figures of each run as text that node_exporter hands to Prometheus.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .word = option_word,
    .filters_itself = 1,
    .run = run,
};
