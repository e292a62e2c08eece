/* The command clocks: offsets between the clocks of a run's processes, with their error bounds. */
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

static const struct column columns[] = {
    {.name = "process", .type = CELL_TEXT, .description = "name of the rank"},
    RANK_COLUMN,
    {.name = "offset_us",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "add this to a time of this rank to get the time of the first rank"},
    {.name = "uncertainty_us",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "error bound: the true offset is within +/- this value"},
    {.name = "scale",
     .type = CELL_REAL,
     .decimals = 9,
     .description = "rate of its clock relative to the first rank's clock"},
    {.name = "method",
     .type = CELL_TEXT,
     .description =
         "reference, shared (same clock), meetings (computed from common operations), none or contradictory"},
    JOB_COLUMN,
};

enum { COLUMN_COUNT = sizeof columns / sizeof *columns, AT_RUN = COLUMN_COUNT - 1 };

static int add_rank(const struct job *job, const struct job_rank *rank, int64_t reference_ns,
                    struct table *table, struct error *error)
{
    static const char *const methods[] = {"none", "reference", "shared", "meetings", "contradictory"};
    if (table_add_row(table, error))
        return -1;
    if (rank->global_rank >= 0)
        table_set_integer(table, 1, rank->global_rank);
    if (rank->clock_method != CLOCK_NONE && rank->clock_method != CLOCK_CONTRADICTORY) {
        table_set_real(table, 2, (double)(rank->clock_offset_ns - reference_ns) / 1e3);
        table_set_real(table, 3, (double)rank->clock_uncertainty_ns / 1e3);
        table_set_real(table, 4, rank->clock_scale);
    }
    table_set_integer(table, AT_RUN, job->run_id);
    return table_set_text(table, 0, rank->name, error) ||
           table_set_text(table, 5, methods[rank->clock_method], error);
}

int clock_rows_add(const struct job *job, struct table *table, struct error *error)
{
    int64_t reference_ns = 0;
    int refused = 0;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (job->ranks[i].clock_method == CLOCK_REFERENCE)
            reference_ns = job->ranks[i].clock_offset_ns;
        refused |= job->ranks[i].clock_method == CLOCK_CONTRADICTORY;
    }
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].count && add_rank(job, &job->ranks[i], reference_ns, table, error))
            return -1;
    if (refused)
        return table_add_warning(
            table, error,
            "run %lld: no clock offsets agree with all operations that ranks executed together, with or "
            "without different clock rates. A clock drifts or jumps, or files of different jobs are mixed",
            (long long)job->run_id);
    return 0;
}

int clock_rows_begin(struct table *table, struct error *error)
{
    return table_add_columns(table, columns, COLUMN_COUNT, error);
}

enum { OPTION_RUN, OPTION_MEMORY };

static const struct analysis_option options[] = {RUN_OPTION, MEMORY_OPTION};

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct runs runs;
    int64_t memory_bytes;
    if (option_memory(request->values[OPTION_MEMORY], &memory_bytes, error)) {
        *usage = 1;
        return -1;
    }
    if (clock_rows_begin(&result->table, error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    result->table.columns[table_find_column(&result->table, "run")].hidden = runs.count < 2;
    int failed = caution_no_operations(request->store, &runs, &result->table, error) ||
                 caution_clock_steps(request->store, &runs, &result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++) {
        struct job job;
        failed = job_load_within(&job, request->store, runs.ids[i], memory_bytes, error);
        if (failed)
            break;
        failed =
            caution_loaded_steps(&job, "clocks are aligned by the operations of", &result->table, error) ||
            clock_rows_add(&job, &result->table, error);
        job_release(&job);
    }
    runs_release(&runs);
    return failed ? -1 : 0;
}

const struct analysis analysis_clocks = {
    .name = "clocks",
    .summary = "show the clock offset of each process, with error bounds",
    .description =
        "Collectives bound the offset between two clocks: no rank can finish one before the last rank has "
        "arrived. The true offset lies within the stated uncertainty. Findings about late ranks are based on "
        "durations, not on these offsets.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_STEP) | FILTER_BIT(FILTER_TAG) | FILTER_BIT(FILTER_COMMUNICATOR),
    .is_kept = 1,
    .run = run,
};
