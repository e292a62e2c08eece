/* The command startup: how long ranks took to initialise their communicators, and which rank was late. */
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>

enum { OPTION_RUN, OPTION_MEMORY };

static const struct analysis_option options[] = {RUN_OPTION, MEMORY_OPTION};

#define SECONDS(key, says)                                                                  \
    {                                                                                       \
        .name = (key), .type = CELL_REAL, .unit = "s", .decimals = 2, .description = (says) \
    }

static const struct column columns[] = {
    COMMUNICATOR_COLUMN,
    RANK_COLUMN,
    PROCESS_COLUMN,
    {.name = "host", .type = CELL_TEXT, .detail = 1, .description = "host of the rank"},
    {.name = "function", .type = CELL_TEXT, .description = "NCCL function that the program called"},
    {.name = "parent", .type = CELL_TEXT, .detail = 1, .description = "communicator from which it was split"},
    {.name = "last",
     .type = CELL_INTEGER,
     .description = "1: the rank arrived last; 0: it did not; null: not all arrivals are known, or all ranks "
                    "arrived at once"},
    SECONDS("late_s", "arrival after the first rank"),
    SECONDS("total_s", "total init time; a rank with a long time waited"),
    SECONDS("bootstrap_s", "part of total_s: contacting the other ranks, and waiting for the last one"),
    SECONDS("kernels_s", "part of total_s: loading NCCL's kernels"),
    SECONDS("allocation_s", "part of total_s: allocating memory"),
    SECONDS("allgathers_s", "part of total_s: exchanging topology with the other ranks"),
    SECONDS("topology_s", "part of total_s: detecting the topology of the machine"),
    SECONDS("graphs_s", "part of total_s: searching for rings and trees"),
    SECONDS("connections_s", "part of total_s: connecting to peers"),
    SECONDS("rest_s", "part of total_s: everything else; for a split, also waiting for the last rank"),
    {.name = "complete",
     .type = CELL_INTEGER,
     .hidden = 1,
     .description = "0: init was not complete when the log ended; null: no log"},
    JOB_COLUMN,
};

enum {
    AT_COMMUNICATOR,
    AT_RANK,
    AT_PROCESS,
    AT_HOST,
    AT_FUNCTION,
    AT_PARENT,
    AT_LAST,
    AT_LATE,
    AT_TOTAL,
    AT_FIRST_PART,
    AT_COMPLETE = AT_FIRST_PART + START_PARTS,
    AT_RUN,
    COLUMN_COUNT
};

/* In the order of their columns. */
static const enum start_part parts[START_PARTS] = {START_BOOTSTRAP,   START_KERNELS,  START_ALLOCATION,
                                                   START_ALLGATHERS,  START_TOPOLOGY, START_GRAPHS,
                                                   START_CONNECTIONS, START_REST};

static void set_seconds(struct table *table, size_t column, int64_t ns)
{
    if (ns != TIME_UNKNOWN)
        table_set_real(table, column, (double)ns / 1e9);
}

static int add_rank(const struct job *job, int32_t rank, int32_t communicator, struct table *table,
                    struct error *error)
{
    const struct job_rank *of = &job->ranks[rank];
    if (table_add_row(table, error))
        return -1;
    if (of->global_rank >= 0)
        table_set_integer(table, AT_RANK, of->global_rank);
    table_set_integer(table, AT_RUN, job->run_id);
    return table_set_text(table, AT_COMMUNICATOR, job->communicators[communicator].label, error) ||
           table_set_text(table, AT_PROCESS, of->name, error) ||
           (of->facts.host && table_set_text(table, AT_HOST, of->facts.host, error));
}

/*
 * If the parts are not logged (NCCL up to 2.21), the time between the first and the last line about the
 * communicator.
 */
static int64_t total_of(const struct start_up *told)
{
    int64_t took_ns;
    if (told->total_ns != TIME_UNKNOWN || told->begin_ns == TIME_UNKNOWN || told->end_ns == TIME_UNKNOWN ||
        __builtin_sub_overflow(told->end_ns, told->begin_ns, &took_ns))
        return told->total_ns;
    return took_ns < 0 ? TIME_UNKNOWN : took_ns;
}

static int add_start(const struct job *job, const struct job_start *start, int is_logged, struct table *table,
                     struct error *error)
{
    const char *function = job_tag(job, start->function);
    if (add_rank(job, start->rank, start->communicator, table, error) ||
        (function && table_set_text(table, AT_FUNCTION, function, error)) ||
        (start->parent >= 0 &&
         table_set_text(table, AT_PARENT, job->communicators[start->parent].label, error)))
        return -1;
    if (start->is_told)
        table_set_integer(table, AT_LAST, start->is_last);
    set_seconds(table, AT_LATE, start->late_ns);
    set_seconds(table, AT_TOTAL, total_of(&start->told));
    for (int i = 0; i < START_PARTS; i++)
        set_seconds(table, (size_t)AT_FIRST_PART + (size_t)i, start->told.parts_ns[parts[i]]);
    if (is_logged)
        table_set_integer(table, AT_COMPLETE, start->told.is_complete);
    return 0;
}

static int add_starts(const struct job *job, const struct job_start *starts, size_t count, int is_logged,
                      struct table *table, struct error *error)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < count; i++)
        failed = add_start(job, &starts[i], is_logged, table, error);
    return failed;
}

/* Warns about communicators whose ranks are not all in the log, and about those that were never completed. */
static int caution_starts(const struct job *job, struct table *table, struct error *error)
{
    size_t partial = 0, creation_fault = 0, first = 0;
    for (size_t i = 1; i <= job->start_count; i++) {
        const struct job_start *of = &job->starts[first];
        if (i < job->start_count && job->starts[i].communicator == of->communicator)
            continue;
        partial += (int64_t)(i - first) < job->communicators[of->communicator].size;
        for (; first < i && job->starts[first].told.is_complete; first++)
            ;
        creation_fault += first < i;
        first = i;
    }
    if (partial && table_add_warning(table, error,
                                     "run %lld: the logs do not contain all ranks of %zu communicator%s, so "
                                     "the rank that arrived last is unknown",
                                     (long long)job->run_id, partial, partial == 1 ? "" : "s"))
        return -1;
    return creation_fault
               ? table_add_warning(table, error,
                                   "run %lld: the init of %zu communicator%s was not complete when a log "
                                   "ended; their ranks without a row never arrived",
                                   (long long)job->run_id, creation_fault, creation_fault == 1 ? "" : "s")
               : 0;
}

static int caution_meetings(const struct job *job, size_t count, struct table *table, struct error *error)
{
    if (!count)
        return 0;
    return table_add_warning(
        table, error,
        "run %lld: no NCCL log (NCCL_DEBUG=INFO) for %s: init times are unknown; columns "
        "last and late refer to the first operation instead",
        (long long)job->run_id, job->start_count ? "some communicators" : "any communicator");
}

static int add_run(const struct job *job, struct table *table, struct error *error)
{
    struct job_start *met;
    size_t count;
    if (job_first_meetings(job, &met, &count))
        return error_no_memory(error);
    int failed = add_starts(job, job->starts, job->start_count, 1, table, error) ||
                 add_starts(job, met, count, 0, table, error) || caution_starts(job, table, error) ||
                 caution_meetings(job, count, table, error);
    free(met);
    return failed;
}

/*
 * Sorts the latest rank first; equal ones by run, communicator and rank, so that the order of files does not
 * matter.
 */
static int sort_rows(struct table *table, struct error *error)
{
    return table_sort_rows(table, AT_RANK, 1, error) || table_sort_rows(table, AT_COMMUNICATOR, 1, error) ||
                   table_sort_rows(table, AT_RUN, 1, error) || table_sort_rows(table, AT_LATE, 0, error)
               ? -1
               : 0;
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct runs runs;
    int64_t memory_bytes;
    if (option_memory(request->values[OPTION_MEMORY], &memory_bytes, error)) {
        *usage = 1;
        return -1;
    }
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    result->table.columns[AT_RUN].hidden = runs.count < 2;
    int failed = caution_no_operations(request->store, &runs, &result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++) {
        struct job job;
        failed = job_load_within(&job, request->store, runs.ids[i], memory_bytes, error);
        if (failed)
            break;
        failed = caution_loaded_steps(&job, "first operations are known from", &result->table, error) ||
                 add_run(&job, &result->table, error) ||
                 caution_settings(request->store, runs.ids[i], &result->table, error);
        result->table.columns[AT_PROCESS].hidden &= job.has_global_ranks;
        job_release(&job);
    }
    runs_release(&runs);
    return failed || sort_rows(&result->table, error) ? -1 : 0;
}

const struct analysis analysis_startup = {
    .name = "startup",
    .summary = "show communicator init time per rank, and which rank was last",
    .description =
        "All ranks of a communicator wait for the last one during init. A long init time therefore means a "
        "rank that waited; the rank that arrived last has a short one. One row per communicator and rank; "
        "the ranks that arrived latest are listed first.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_STEP) | FILTER_BIT(FILTER_TAG),
    .is_kept = 1,
    .run = run,
};
