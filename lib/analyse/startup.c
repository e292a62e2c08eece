#include "analyse/analyses.h"
#include "analyse/filter.h"
#include "analyse/option.h"
#include "analyse/run_choice.h"
#include "analyse/warning.h"
#include "job/first_meetings.h"
#include "job/load.h"
#include "job/start_ups.h"

#include <stdlib.h>

/* How long it took ranks to get into their communicators, and for whom. */

enum { OPTION_RUN };

static const struct analysis_option options[] = {RUN_OPTION};

#define SECONDS(key, says)                                                                  \
    {                                                                                       \
        .name = (key), .type = CELL_REAL, .unit = "s", .decimals = 2, .description = (says) \
    }

static const struct column columns[] = {
    {.name = "communicator", .type = CELL_TEXT, .description = "its global ranks, or its name"},
    RANK_COLUMN,
    {.name = "process", .type = CELL_TEXT, .hidden = 1, .description = "name of that rank"},
    {.name = "host", .type = CELL_TEXT, .detail = 1, .description = "where it ran"},
    {.name = "function", .type = CELL_TEXT, .description = "what the program called"},
    {.name = "parent",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "the communicator that it was split off"},
    {.name = "last",
     .type = CELL_INTEGER,
     .description = "1: it came last, 0: it did not; null: not known of all, or all came at once"},
    SECONDS("late_s", "so much later than the first of its ranks it came"),
    SECONDS("total_s", "until it was there; a long one waited"),
    SECONDS("bootstrap_s", "of that, meeting the others, and waiting for the last"),
    SECONDS("kernels_s", "of that, loading NCCL's kernels"),
    SECONDS("allocation_s", "of that, memory"),
    SECONDS("allgathers_s", "of that, telling each other of topology"),
    SECONDS("topology_s", "of that, reading the machine's topology"),
    SECONDS("graphs_s", "of that, looking for rings and trees"),
    SECONDS("connections_s", "of that, connecting"),
    SECONDS("rest_s", "of that, all else; of a split also waiting for the last"),
    {.name = "complete",
     .type = CELL_INTEGER,
     .hidden = 1,
     .description = "0: it was still being made as the log ends; null: no log tells"},
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

/* Where no part is told (NCCL up to 2.21), the time from the first line of it to the last. */
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

/* Communicators in the log of which not all ranks are, and those that never came to be. */
static int caution_starts(const struct job *job, struct table *table, struct error *error)
{
    size_t partial = 0, unmade = 0, first = 0;
    for (size_t i = 1; i <= job->start_count; i++) {
        const struct job_start *of = &job->starts[first];
        if (i < job->start_count && job->starts[i].communicator == of->communicator)
            continue;
        partial += (int64_t)(i - first) < job->communicators[of->communicator].size;
        for (; first < i && job->starts[first].told.is_complete; first++)
            ;
        unmade += first < i;
        first = i;
    }
    if (partial && table_add_warning(table, error,
                                     "run %lld: of %zu communicators not all ranks are in the logs: who came "
                                     "last is not known",
                                     (long long)job->run_id, partial))
        return -1;
    return unmade
               ? table_add_warning(table, error,
                                   "run %lld: %zu communicators were still being made as a log ends: ranks "
                                   "of them that have no row never came",
                                   (long long)job->run_id, unmade)
               : 0;
}

static int caution_meetings(const struct job *job, size_t count, struct table *table, struct error *error)
{
    if (!count)
        return 0;
    return table_add_warning(table, error,
                             "run %lld: no log tells how %s were made (NCCL_DEBUG=INFO): times and parts are "
                             "not known, and last is who came last to the first operation",
                             (long long)job->run_id,
                             job->start_count ? "some communicators" : "communicators");
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

/* The latest first; equals by run, communicator and rank, in whatever order their files arrived. */
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
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        runs_choose(&runs, request, OPTION_RUN, error))
        return -1;
    result->table.columns[AT_RUN].hidden = runs.count < 2;
    int failed = caution_no_operations(request->store, &runs, &result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++) {
        struct job job;
        failed = job_load(&job, request->store, runs.ids[i], error);
        if (failed)
            break;
        failed = add_run(&job, &result->table, error);
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
        "rank that waited; the rank that came last has a short one. One row per communicator and rank; the "
        "rank that came latest is listed first.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_STEP) | FILTER_BIT(FILTER_TAG),
    .run = run,
};
