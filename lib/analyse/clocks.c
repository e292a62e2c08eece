#include "analyse/analyses.h"
#include "analyse/clock_rows.h"
#include "analyse/filter.h"
#include "analyse/records.h"
#include "analyse/run_choice.h"
#include "analyse/warning.h"
#include "job/job.h"
#include "job/load.h"

/* Offsets between the clocks of a run's processes, with their bounds. */

enum { OPTION_RUN };

static const struct analysis_option options[] = {RUN_OPTION};

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct runs runs;
    if (clock_rows_begin(&result->table, error) || runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    result->table.columns[table_find_column(&result->table, "run")].hidden = runs.count < 2;
    int failed = caution_no_operations(request->store, &runs, &result->table, error) ||
                 caution_clock_steps(request->store, &runs, &result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++) {
        struct job job;
        failed = job_load(&job, request->store, runs.ids[i], error);
        if (failed)
            break;
        failed = clock_rows_add(&job, &result->table, error);
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
    .run = run,
};
