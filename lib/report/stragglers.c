/*
 * The command stragglers: which ranks made others wait, and whether the delay was their own. A rank gets a
 * verdict only if diagnose has a finding for it.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

static int add_loaded(struct delays *delays, const struct step_rows *rows, size_t row, const struct job *job,
                      const struct diagnose_options *options, struct error *error)
{
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    struct delay_steps steps;
    step_row_steps(rows, row, job, &steps.first, &steps.end);
    int failed = excess_find(job, &baseline, &transfers, options, 1, error) ||
                 delays_add(delays, job, &baseline, transfers, steps, error);
    free(transfers);
    baseline_release(&baseline);
    return failed ? -1 : 0;
}

/* Counts the operations of the ranks, and marks ranks that cannot be told apart. */
static void note_ranks(struct job *names, const struct job *row)
{
    for (size_t i = 0; i < names->rank_count; i++) {
        names->ranks[i].count += row->ranks[i].count;
        names->ranks[i].is_part |= row->ranks[i].is_part;
    }
}

static int waits_by_rows_add_row(struct delays *delays, const struct step_rows *rows, size_t row,
                                 struct job *names, const struct diagnose_options *options,
                                 struct error *error)
{
    struct job job;
    size_t count;
    struct job_excerpt *excerpts = step_row_excerpts(rows, row, &count);
    if (!excerpts)
        return error_no_memory(error);
    if (job_load_steps(&job, names->store, names->run_id, excerpts, count, error))
        return -1;
    int failed = add_loaded(delays, rows, row, &job, options, error);
    if (!failed)
        note_ranks(names, &job);
    job_release(&job);
    return failed;
}

/*
 * Measures who was waited for, and why, in a run that does not fit in memory: reads all its steps in blocks,
 * one after the other (struct step_rows). Each block has baselines of its own; a delay from before a block
 * continues in it.
 *
 * `job` has the names of the run (job_load_names) and its steps; the function fills in the counts of its
 * ranks. `options` limits the memory of a block. *delays, one per rank, is owned by the caller (free); *rows
 * is the number of blocks.
 */
static int waits_by_rows(struct job *job, const struct diagnose_options *options, struct delay **delays,
                         size_t *rows, struct error *error)
{
    struct step_rows found;
    struct delays *adding = delays_new(job);
    int failed = step_rows_find(&found, job, options->memory_bytes / JOB_OPERATION_BYTES, error);
    if (!failed && !adding)
        failed = error_no_memory(error);
    for (size_t row = 0; !failed && row < found.count; row++)
        failed = waits_by_rows_add_row(adding, &found, row, job, options, error);
    *rows = found.count;
    step_rows_release(&found);
    *delays = adding ? delays_end(adding) : NULL;
    if (!failed)
        return 0;
    free(*delays);
    *delays = NULL;
    return -1;
}

enum { OPTION_MIN_GAIN, OPTION_SIGMAS, OPTION_MEMORY, OPTION_RUN };

static const struct analysis_option options[] = {
    MIN_GAIN_OPTION,
    SIGMAS_OPTION,
    {"memory", 0, "MIB",
     "memory limit for the operations of one run. A larger run is processed in blocks of consecutive steps, "
     "without a verdict. 0: no limit",
     "320"},
    RUN_OPTION,
};

static const struct column columns[] = {
    RANK_COLUMN,
    PROCESS_COLUMN,
    {.name = "host", .type = CELL_TEXT, .description = "host of the rank"},
    {.name = "gpu",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "its GPU: the number on the host, or else the PCI bus ID"},
    {.name = "kind", .type = CELL_TEXT, .description = "verdict of diagnose: " FINDING_KIND_WORDS},
    {.name = "tag",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "phase with most of the fault; none if it is spread over phases"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first step of the fault"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last step of the fault"},
    {.name = "confidence",
     .type = CELL_TEXT,
     .colour_of = confidence_colour,
     .description = "of the verdict: high, medium, or low for a job that stopped"},
    {.name = "lost_us", .type = CELL_REAL, .unit = "us", .description = "cost of the fault to the job"},
    {.name = "own_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "wait on this rank because of its own delay: its gap time above baseline"},
    {.name = "caused_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "all wait time in the job that this rank's own delay caused"},
    {.name = "times_last",
     .type = CELL_INTEGER,
     .detail = 1,
     .description = "number of times it arrived last, and no other rank at the same time"},
    {.name = "instances",
     .type = CELL_INTEGER,
     .detail = 1,
     .description = "collectives whose wait times are known"},
    {.name = "inherited_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "victim: wait on this rank because another rank delayed it first"},
    {.name = "inherited_from",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "rank that most of inherited comes from"},
    {.name = "network_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "mostly a victim: wait on this rank because its transfers were slow, on any link"},
    {.name = "unexplained_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "wait on this rank with no visible cause in the trace"},
    {.name = "run", .type = CELL_INTEGER, .description = "job", .hidden = 1},
};

enum {
    AT_RANK,
    AT_PROCESS,
    AT_HOST,
    AT_GPU,
    AT_KIND,
    AT_TAG,
    AT_FIRST_STEP,
    AT_LAST_STEP,
    AT_CONFIDENCE,
    AT_LOST,
    AT_OWN,
    AT_CAUSED,
    AT_TIMES_LAST,
    AT_INSTANCES,
    AT_INHERITED,
    AT_INHERITED_FROM,
    AT_NETWORK,
    AT_UNEXPLAINED,
    AT_RUN,
    COLUMN_COUNT
};

struct straggler {
    int32_t rank;
    const struct delay *delay;
    const struct finding *finding; /* NULL: no finding */
};

/* The time that all others waited for the rank. */
static int64_t waited_for(const struct delay *delay)
{
    return delay->own_ns + delay->inherited_ns + delay->network_ns + delay->unexplained_ns;
}

/* Ranks at fault come before all victims, in the order of diagnose. */
static int by_blame(const void *a, const void *b)
{
    const struct straggler *left = a, *right = b;
    if (!left->finding != !right->finding)
        return left->finding ? -1 : 1;
    if (left->finding && finding_is_before(left->finding, right->finding))
        return -1;
    if (left->finding && finding_is_before(right->finding, left->finding))
        return 1;
    if (left->delay->own_ns != right->delay->own_ns)
        return left->delay->own_ns > right->delay->own_ns ? -1 : 1;
    int64_t left_ns = waited_for(left->delay), right_ns = waited_for(right->delay);
    if (left_ns != right_ns)
        return left_ns > right_ns ? -1 : 1;
    return left->rank - right->rank;
}

static int set_finding(const struct job *job, const struct finding *finding, struct table *table,
                       struct error *error)
{
    const char *tag = job_tag(job, finding->tag);
    if (finding->first_step >= 0) {
        table_set_integer(table, AT_FIRST_STEP, job_run_step(job, finding->first_step));
        table_set_integer(table, AT_LAST_STEP, job_run_step(job, finding->last_step));
    }
    table_set_real(table, AT_LOST, (double)finding->lost_ns / 1e3);
    return table_set_text(table, AT_KIND, finding_kind_name(finding->kind), error) ||
           (tag && table_set_text(table, AT_TAG, tag, error)) ||
           table_set_text(table, AT_CONFIDENCE, confidence_name(finding->confidence), error);
}

/* Sets the host and the GPU, as far as they are known. */
static int set_place(const struct job *job, int32_t rank, struct table *table, struct error *error)
{
    const char *host = job->ranks[rank].facts.host;
    struct buffer gpu = BUFFER_INIT;
    int failed = rank_append_gpu(job, rank, &gpu) ? error_no_memory(error) : 0;
    failed = failed || (host && table_set_text(table, AT_HOST, host, error)) ||
             (gpu.length && table_set_text(table, AT_GPU, gpu.data, error));
    buffer_release(&gpu);
    return failed;
}

static int add_row(const struct job *job, const struct straggler *straggler, struct table *table,
                   struct error *error)
{
    const struct job_rank *rank = &job->ranks[straggler->rank];
    const struct delay *delay = straggler->delay;
    if (table_add_row(table, error))
        return -1;
    if (rank->global_rank >= 0)
        table_set_integer(table, AT_RANK, rank->global_rank);
    table_set_real(table, AT_OWN, (double)delay->own_ns / 1e3);
    table_set_real(table, AT_CAUSED, (double)delay->caused_ns / 1e3);
    table_set_integer(table, AT_TIMES_LAST, delay->times_last);
    table_set_integer(table, AT_INSTANCES, delay->instances);
    table_set_real(table, AT_INHERITED, (double)delay->inherited_ns / 1e3);
    table_set_real(table, AT_NETWORK, (double)delay->network_ns / 1e3);
    table_set_real(table, AT_UNEXPLAINED, (double)delay->unexplained_ns / 1e3);
    table_set_integer(table, AT_RUN, job->run_id);
    if (table_set_text(table, AT_PROCESS, rank->name, error) ||
        set_place(job, straggler->rank, table, error) ||
        (delay->inherited_from >= 0 &&
         table_set_text(table, AT_INHERITED_FROM, job->ranks[delay->inherited_from].name, error)))
        return -1;
    return straggler->finding ? set_finding(job, straggler->finding, table, error) : 0;
}

static int show(const struct job *job, const struct findings *findings, const struct delay *delays,
                struct table *table, struct error *error)
{
    struct straggler *stragglers = array_new(job->rank_count, sizeof *stragglers);
    int64_t measurable = 0;
    if (!stragglers)
        return error_no_memory(error);
    for (size_t i = 0; i < job->rank_count; i++) {
        stragglers[i] = (struct straggler){(int32_t)i, &delays[i], findings_of_rank(findings, (int32_t)i)};
        measurable += delays[i].instances;
    }
    array_sort(stragglers, job->rank_count, sizeof *stragglers, by_blame);
    if (!job->has_global_ranks)
        table->columns[AT_PROCESS].hidden = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        if (job->ranks[stragglers[i].rank].count || stragglers[i].delay->instances || stragglers[i].finding)
            failed = add_row(job, &stragglers[i], table, error);
    free(stragglers);
    if (!failed && !measurable)
        failed =
            table_add_warning(table, error,
                              "run %lld: no operation has durations on all its ranks: wait times cannot be "
                              "determined",
                              (long long)job->run_id);
    return failed ? -1 : 0;
}

static int caution_forgotten(const struct job *job, const struct delay *delays, struct table *table,
                             struct error *error)
{
    int64_t forgotten = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        forgotten += delays[i].forgotten;
    return forgotten
               ? table_add_warning(
                     table, error,
                     "run %lld: %lld waits have more causes than ncclprof keeps (the last 256 delays of a "
                     "rank, 32 ranks per wait): the rest is divided among these, or unexplained",
                     (long long)job->run_id, (long long)forgotten)
               : 0;
}

/* Adds the findings of a diagnosed run, and its waits. */
static int add_judged(const struct job *job, const struct findings *findings, const struct delay *waits,
                      struct table *table, struct error *error)
{
    return show(job, findings, waits, table, error) || caution_absent_ranks(job, table, error) ||
                   caution_bare_calls(job->store, job->run_id, table, error) ||
                   caution_inseparable_ranks(job, table, error) || caution_bounds(job, table, error) ||
                   caution_forgotten(job, waits, table, error)
               ? -1
               : 0;
}

/*
 * Adds the findings of a loaded run and attributes its waits to them. With `waits`, which come from durations
 * alone, adds only what can be said without that. Releases the job.
 */
static int explain(struct job *job, const struct delay *waits, const struct diagnose_options *diagnose,
                   struct table *table, struct error *error)
{
    struct findings findings = {0};
    struct baseline baseline = {0};
    struct transfer_excess *transfers = NULL;
    struct delay *delays = NULL;
    int failed = findings_find(&findings, job, &baseline, &transfers, diagnose, error) ||
                 findings_add_later_costs(&findings, job, &baseline, diagnose, error);
    if (!failed && !waits)
        waits = delays = delays_measure(job, &baseline, transfers, error);
    failed = failed || !waits || add_judged(job, &findings, waits, table, error);
    free(delays);
    free(transfers);
    baseline_release(&baseline);
    findings_release(&findings);
    job_release(job);
    return failed ? -1 : 0;
}

/*
 * Adds the waits of a run that is too large to be loaded for a verdict: that would take much longer than to
 * measure the waits.
 */
static int add_unjudged(const struct job *names, const struct delay *waits, struct table *table,
                        struct error *error)
{
    static const struct findings none;
    return table_add_warning(table, error,
                             "run %lld is larger than --memory allows to diagnose here: columns kind to lost "
                             "are empty; for the ranks at fault, see",
                             (long long)names->run_id) ||
                   warning_add_command(table, names->store, names->run_id, "diagnose", error) ||
                   add_judged(names, &none, waits, table, error)
               ? -1
               : 0;
}

/*
 * Durations show which rank arrived last. The cause may show elsewhere: in network steps, or because all
 * ranks hang.
 */
static int caution_untimed(int64_t run_id, struct table *table, struct error *error)
{
    return table_add_warning(table, error,
                             "run %lld: the trace has no timestamps: durations show which rank arrived last, "
                             "but not why",
                             (long long)run_id);
}

/* For a run without timestamps, whose waits are measured. */
static int explain_untimed(struct job *names, const struct delay *waits,
                           const struct diagnose_options *diagnose, struct table *table, struct error *error)
{
    int fits = 0, failed = caution_untimed(names->run_id, table, error) ||
                           job_fits(names, diagnose->memory_bytes, &fits, error);
    struct store *store = names->store;
    int64_t run_id = names->run_id;
    failed = failed || (!fits && add_unjudged(names, waits, table, error));
    job_release(names);
    return failed || (fits && (job_load(names, store, run_id, error) ||
                               explain(names, waits, diagnose, table, error)))
               ? -1
               : 0;
}

static int explain_by_rows(struct job *names, const struct diagnose_options *diagnose, struct table *table,
                           struct error *error)
{
    struct delay *waits = NULL;
    size_t rows;
    int failed =
        waits_by_rows(names, diagnose, &waits, &rows, error) ||
        table_add_warning(table, error,
                          "run %lld: wait times cover all steps, in %zu blocks of consecutive steps; own and "
                          "network are relative to the baseline of each block",
                          (long long)names->run_id, rows) ||
        add_unjudged(names, waits, table, error);
    free(waits);
    job_release(names);
    return failed ? -1 : 0;
}

static int explain_timed(struct job *names, const struct diagnose_options *diagnose, struct table *table,
                         struct error *error)
{
    int is_whole;
    if (job_is_loaded_whole(names, diagnose->memory_bytes, &is_whole, error)) {
        job_release(names);
        return -1;
    }
    if (!is_whole)
        return explain_by_rows(names, diagnose, table, error);
    return job_load_rest(names, error) || explain(names, NULL, diagnose, table, error) ? -1 : 0;
}

/* A run that is already loaded and diagnosed. */
static int show_judged(const struct judged_run *run, const struct delay *waits, struct table *table,
                       struct error *error)
{
    struct delay *delays = waits ? NULL : delays_measure(&run->job, &run->baseline, run->transfers, error);
    int failed =
        (!waits && !delays) || add_judged(&run->job, &run->findings, waits ? waits : delays, table, error);
    free(delays);
    return failed ? -1 : 0;
}

static int show_run(const struct analysis_request *request, int64_t run_id,
                    const struct diagnose_options *diagnose, struct table *table, struct error *error)
{
    struct store *store = request->store;
    struct judged_run *shared;
    struct job job;
    struct delay *waits = NULL;
    if (shared_run_load_whole(request->shared, store, run_id, diagnose, &shared, error) ||
        job_load_names(&job, store, run_id, error))
        return -1;
    int outcome = waits_measure(&job, &waits, error);
    if (outcome == 0 && !shared)
        return explain_timed(&job, diagnose, table, error);
    int failed = outcome < 0;
    if (!failed && !shared) {
        failed = explain_untimed(&job, waits, diagnose, table, error);
    } else {
        job_release(&job);
        failed = failed || (outcome && caution_untimed(run_id, table, error)) ||
                 show_judged(shared, waits, table, error);
    }
    free(waits);
    return failed ? -1 : 0;
}

/*
 * The memory limit. A run that was diagnosed already is in memory, and its waits are of all its steps: the
 * default is that of diagnose then.
 */
static int read_memory(const struct analysis_request *request, int64_t *bytes, struct error *error)
{
    const char *value = request->values[OPTION_MEMORY];
    int is_usual = value && strcmp(value, options[OPTION_MEMORY].fallback) == 0;
    return option_memory(request->shared && is_usual ? MEMORY_MIB : value, bytes, error);
}

static int run(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error)
{
    struct diagnose_options diagnose = {0};
    struct runs runs;
    if (option_thresholds(request->values[OPTION_MIN_GAIN], request->values[OPTION_SIGMAS], &diagnose,
                          error) ||
        read_memory(request, &diagnose.memory_bytes, error) || option_rules_off(&diagnose.off, error)) {
        *usage = 1;
        return -1;
    }
    if (table_add_columns(&result->table, columns, COLUMN_COUNT, error) ||
        job_count_pieces(request->store, &diagnose.pieces, error) ||
        runs_choose(&runs, request, OPTION_RUN, &result->table, error))
        return -1;
    result->table.columns[AT_RUN].hidden = runs.count < 2;
    result->table.legend =
        "Columns kind to lost: verdict of diagnose. The other columns split the time that ranks waited for "
        "this "
        "rank, "
        "by cause: own = its own delay; inherited = it was delayed by another rank; network = slow "
        "transfers, "
        "on any rank; unexplained = not in the trace. caused = all waiting in the job that its own delay "
        "caused. High values right of caused mark victims.";
    int failed = caution_records(request->store, &runs, &result->table, error) ||
                 caution_no_operations(request->store, &runs, &result->table, error) ||
                 caution_rules_off(&result->table, error);
    for (size_t i = 0; !failed && i < runs.count; i++)
        failed = show_run(request, runs.ids[i], &diagnose, &result->table, error);
    /* With several runs, too, the ranks at fault come first. */
    failed = failed || table_put_nulls_last(&result->table, AT_KIND, error);
    runs_release(&runs);
    return failed ? -1 : 0;
}

const struct analysis analysis_stragglers = {
    .name = "stragglers",
    .summary = "show which ranks make others wait, and why",
    .description =
        "Wait times come from durations, not from clocks. In a synchronizing collective no rank finishes "
        "before the last one arrives, so the rank with the shortest duration arrived last and the others "
        "waited for it. GPU-measured wait times are used where the trace has them. The columns own, "
        "inherited, network and unexplained add up to the time that other ranks waited for this rank. The "
        "column kind is the verdict of diagnose; ranks with a verdict come first. Filters such as --rank and "
        "--step change what is shown, not what is analyzed.",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .unlisted_filters = FILTER_BIT(FILTER_COMMUNICATOR),
    .is_kept = 1,
    .run = run,
};
