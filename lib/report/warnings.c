/*
 * Warnings about what is missing from a run or wrong with its records, in the same words for every analysis.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/groups.h"
#include "report/internal.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <string.h>

/* Most shards that are named. */
enum { SHARDS_NAMED_MOST = 8 };

/* "shard 2/4 of host node7 (/shared/ncclprof-node7.db)" */
static int append_which(const struct shard *shard, struct buffer *text)
{
    if (shard->count > 1
            ? buffer_printf(text, "shard %lld/%lld", (long long)shard->number, (long long)shard->count)
            : buffer_append_text(text, "a shard"))
        return -1;
    return (*shard->host && buffer_printf(text, " of host %s", shard->host)) ||
           (*shard->path && buffer_printf(text, " (%s)", shard->path));
}

static int warn_of(const struct shard *shard, struct table *table, struct error *error)
{
    static const char *const words[SHARD_STATES] = {[SHARD_LACKING] = "lacks files",
                                                    [SHARD_UNFINISHED] = "is incomplete",
                                                    [SHARD_MISSING] = "is missing"};
    struct buffer text = BUFFER_INIT;
    int failed = append_which(shard, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "%s %s; the missing data was not analyzed%s%s%s",
                                         text.data, words[shard->state], shard->reason ? " (" : "",
                                         shard->reason ? shard->reason : "", shard->reason ? ")" : "");
    buffer_release(&text);
    return failed;
}

/* The state of the shards of a store. */
struct standing {
    struct shards shards;
    int64_t lacking;
    int64_t there;
    int64_t expected; /* 0: not known */
};

static int find_standing(struct standing *standing, struct store *store, struct error *error)
{
    *standing = (struct standing){.lacking = 0};
    if (shards_read(&standing->shards, store, error))
        return -1;
    for (size_t i = 0; i < standing->shards.count; i++) {
        standing->there += standing->shards.items[i].state != SHARD_MISSING;
        standing->lacking += standing->shards.items[i].state != SHARD_WHOLE;
    }
    if (store_fact(store, "shards_expected", 0, &standing->expected, error) == 0)
        return 0;
    shards_release(&standing->shards);
    return -1;
}

static int warn_of_rest(const struct standing *standing, struct table *table, struct error *error)
{
    if (standing->lacking > SHARDS_NAMED_MOST &&
        table_add_warning(table, error, "%lld more shards are missing or incomplete",
                          (long long)(standing->lacking - SHARDS_NAMED_MOST)))
        return -1;
    return standing->there < standing->expected
               ? table_add_warning(
                     table, error,
                     "only %lld of %lld shards are present; the data of the others was not analyzed",
                     (long long)standing->there, (long long)standing->expected)
               : 0;
}

/* Warns if a store was merged from shards and some are missing, so that their data was not analyzed. */
static int caution_shards(struct store *store, struct table *table, struct error *error)
{
    struct standing standing;
    int64_t told = 0;
    if (find_standing(&standing, store, error))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < standing.shards.count && told < SHARDS_NAMED_MOST && !failed; i++) {
        const struct shard *shard = &standing.shards.items[i];
        if (shard->state == SHARD_WHOLE)
            continue;
        failed = warn_of(shard, table, error);
        told++;
    }
    failed = failed || warn_of_rest(&standing, table, error);
    shards_release(&standing.shards);
    return failed;
}

int shards_are_lacking(struct store *store, int *are_lacking, struct error *error)
{
    struct standing standing;
    if (find_standing(&standing, store, error))
        return -1;
    *are_lacking = standing.lacking > 0 || standing.there < standing.expected;
    shards_release(&standing.shards);
    return 0;
}

enum { MOST_NAMED = 4 };

/* A command line has a line of its own, so that it can be copied. */
static int append_warning(const char *warning, size_t command, struct buffer *text)
{
    size_t words = command ? command - 1 : strlen(warning);
    return buffer_append_text(text, "note: ") || escape_terminal(text, warning, words) ||
           buffer_append_byte(text, '\n') ||
           (command && (buffer_append_text(text, UNBROKEN_LINE "  ") ||
                        escape_terminal(text, warning + command, strlen(warning + command)) ||
                        buffer_append_byte(text, '\n')));
}

int warnings_append(const struct table *table, struct buffer *text)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = append_warning(table->warnings[i], table->command_begins[i], text);
    return failed ? -1 : 0;
}

int warning_add_command(struct table *table, const struct store *store, int64_t run_id, const char *words,
                        struct error *error)
{
    struct buffer command = BUFFER_INIT;
    int failed = store_append_command(store, words, run_id, &command)
                     ? error_no_memory(error)
                     : table_add_command(table, command.data, error);
    buffer_release(&command);
    return failed;
}

/* Appends a few of the absent ranks. In a large job they may have no names. */
static int name_absent(const struct job *job, int64_t absent, struct buffer *text)
{
    int64_t named = 0;
    for (size_t i = 0; i < job->rank_count && named < MOST_NAMED; i++) {
        if (job->ranks[i].count)
            continue;
        if (buffer_append_text(text, named        ? ", "
                                     : absent > 1 ? " (no trace of ranks "
                                                  : " (no trace of rank ") ||
            buffer_append_text(text, job->ranks[i].name))
            return -1;
        named++;
    }
    if (named && named < absent && buffer_printf(text, " and %lld more", (long long)(absent - named)))
        return -1;
    return named ? buffer_append_byte(text, ')') : 0;
}

static size_t count_incomplete(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        count += communicator->hash && (int64_t)communicator->member_list_count < communicator->size;
    }
    return count;
}

/*
 * Whether the size of communicators is known. If a recorder does not record it, it is inferred from the ranks
 * seen and is only a lower bound.
 */
static int is_size_known(const struct job *job)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        if (job->communicators[i].size_is_known && job->communicators[i].size >= job->expected_ranks)
            return 1;
    return 0;
}

/* Appends nothing if no rank is absent. */
static int append_absent(const struct job *job, int64_t recorded, struct buffer *text)
{
    size_t incomplete = count_incomplete(job);
    if (recorded >= job->expected_ranks)
        return incomplete ? buffer_printf(text, "%zu communicator%s ranks without a trace", incomplete,
                                          incomplete == 1 ? " has" : "s have")
                          : 0;
    if (buffer_printf(text, "only %lld of %s%lld ranks ha%s a trace", (long long)recorded,
                      recorded == 1 && !is_size_known(job) ? "at least " : "", (long long)job->expected_ranks,
                      recorded == 1 ? "s" : "ve") ||
        name_absent(job, job->expected_ranks - recorded, text))
        return -1;
    return incomplete ? buffer_printf(text, "; %zu communicator%s incomplete", incomplete,
                                      incomplete == 1 ? " is" : "s are")
                      : 0;
}

static const char *name_of(const struct job *job, int64_t job_rank_id)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].id == job_rank_id)
            return job->ranks[i].name;
    return "?";
}

/* Warns about recorders that stopped while their ranks continued (FORMAT_NOTE_STOPPED). */
static int caution_stopped(const struct job *job, struct table *table, struct error *error)
{
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_job_stopped, job->run_id, error);
    int status = statement ? statement_step(statement, error) : -1;
    int64_t count = status == 1 ? statement_integer(statement, 0) : 0;
    if (count > 0)
        status = table_add_warning(
            table, error,
            "run %lld: recording stopped on %lld of %zu ranks, first on rank %s at %s; later "
            "operations of these ranks are not in the trace",
            (long long)job->run_id, (long long)count, job_recorded_ranks(job),
            name_of(job, statement_integer(statement, 1)), statement_text(statement, 2));
    statement_free(statement);
    return status < 0 ? -1 : 0;
}

int caution_loaded_steps(const struct job *job, const char *what, struct table *table, struct error *error)
{
    return job->excerpt_count
               ? table_add_warning(table, error, "run %lld: %s %d of %d steps (--memory %lld loads all)",
                                   (long long)job->run_id, what, (int)job_loaded_steps(job) - job->first_step,
                                   (int)job_run_steps(job) - job->first_step,
                                   (long long)(job->screened.operations * JOB_OPERATION_BYTES >> 20) + 1)
               : 0;
}

int caution_absent_ranks(const struct job *job, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t recorded = (int64_t)job_recorded_ranks(job);
    if (!recorded)
        return 0;
    if (caution_stopped(job, table, error))
        return -1;
    int failed = append_absent(job, recorded, &text) ? error_no_memory(error)
                 : !text.length
                     ? 0
                     : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

int caution_bounds(const struct job *job, struct table *table, struct error *error)
{
    int64_t bounded = job->bounded_ends + job_bounded_idle_times(job);
    return bounded
               ? table_add_warning(
                     table, error,
                     "run %lld: the gap times of %lld operations may be shorter than measured: more than 64 "
                     "operations of their rank were in flight",
                     (long long)job->run_id, (long long)bounded)
               : 0;
}

int caution_inseparable_ranks(const struct job *job, struct table *table, struct error *error)
{
    size_t parts = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        parts += job->ranks[i].is_part != 0;
    return parts ? table_add_warning(table, error,
                                     "run %lld: several ranks share a process and cannot be distinguished, "
                                     "so none of them can be named",
                                     (long long)job->run_id)
                 : 0;
}

int caution_no_operations(struct store *store, const struct runs *runs, struct table *table,
                          struct error *error)
{
    if (caution_shards(store, table, error))
        return -1;
    if (runs->count)
        return 0;
    struct sample_counts counts;
    if (report_samples_count(store, &counts, error))
        return -1;
    return table_add_warning(table, error, "the store contains no operations, so nothing was analyzed") ||
           (counts.samples &&
            (table_add_warning(table, error,
                               "the store contains %lld averages from Prometheus text, but no single "
                               "operations; see",
                               (long long)counts.samples) ||
             warning_add_command(table, store, 0, "report", error) ||
             caution_dropped_samples(&counts, table, error))) ||
           caution_bare_calls(store, 0, table, error);
}

int caution_unhashed(int64_t run_id, int64_t count, struct table *table, struct error *error)
{
    const char *subject = count == 1 ? "communicator has" : "communicators have",
               *whose = count == 1 ? "its" : "their";
    struct buffer text = BUFFER_INIT;
    if (!count)
        return 0;
    int failed = (run_id && buffer_printf(&text, "run %lld: ", (long long)run_id)) ||
                         buffer_printf(&text,
                                       "%lld %s no hash (NCCL up to 2.26 with a newer plugin): %s "
                                       "operations cannot be joined "
                                       "across ranks",
                                       (long long)count, subject, whose)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "%s", text.data);
    buffer_release(&text);
    return failed;
}

static int append_bare_calls(int64_t count, const char *what, const char *why, struct buffer *text)
{
    return count ? buffer_printf(text, "%s%lld call%s%s ha%s no operation in the trace: %s",
                                 text->length ? "; " : "", (long long)count, count == 1 ? "" : "s", what,
                                 count == 1 ? "s" : "ve", why)
                 : 0;
}

int caution_bare_calls(struct store *store, int64_t run_id, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    struct bare_calls calls;
    if (bare_calls_count(&calls, store, run_id, error))
        return -1;
    int failed =
        append_bare_calls(
            calls.others, "",
            "kernels on symmetric memory report none before NCCL 2.31, or the recorder's event mask "
            "excludes operations, or its pool for them is exhausted",
            &text) ||
        append_bare_calls(calls.captured, " captured in a CUDA graph",
                          "operations of a graph are reported only at its capture, or not at all", &text);
    if (failed)
        error_no_memory(error);
    else if (text.length && run_id)
        failed = table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data);
    else if (text.length)
        failed = table_add_warning(table, error, "%s", text.data);
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Warnings about records that matter for every analysis. */

static int warn_of_repeated(struct store *store, const struct runs *runs, struct table *table,
                            struct error *error)
{
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_repeated, runs->only, error);
    int row = statement ? statement_step(statement, error) : -1;
    long long repeated = row == 1 ? (long long)statement_integer(statement, 0) : 0;
    statement_free(statement);
    if (!repeated)
        return row == 1 ? 0 : -1;
    return table_add_warning(
        table, error,
        "%lld collectives have the same sequence number in several Inspector logs of one "
        "process, but differ: the process may have been restarted with the same process ID",
        repeated);
}

/* The clock steps of a run, in the order of the rows. */
struct clocks {
    int64_t run_id;
    size_t told;
    size_t more;
};

enum { MOST_TOLD = 4 };

enum clock_column {
    CLOCK_RUN,
    CLOCK_RANK,
    CLOCK_HOST,
    CLOCK_PID,
    CLOCK_STEPS,
    CLOCK_STEP_NS,
    CLOCK_IS_MEASURED,
    CLOCK_FUNCTION,
    CLOCK_SEQUENCE,
    CLOCK_COMMUNICATOR,
    CLOCK_STEP
};

static int append_whose(struct statement *row, struct buffer *text)
{
    const char *rank = statement_text(row, CLOCK_RANK), *host = statement_text(row, CLOCK_HOST);
    if (buffer_append_text(text, "the clock of ") || (rank && buffer_printf(text, "rank %s (", rank)) ||
        buffer_printf(text, "%s%sprocess %lld", host ? host : "", host && *host ? ", " : "",
                      (long long)statement_integer(row, CLOCK_PID)))
        return -1;
    return rank ? buffer_append_byte(text, ')') : 0;
}

static int append_where(struct statement *row, struct buffer *text)
{
    const char *function = statement_text(row, CLOCK_FUNCTION);
    if (buffer_printf(text, " before %s", function ? function : "operation") ||
        (!statement_is_null(row, CLOCK_SEQUENCE) &&
         buffer_printf(text, " #%lld", (long long)statement_integer(row, CLOCK_SEQUENCE))) ||
        (!statement_is_null(row, CLOCK_COMMUNICATOR) &&
         text_on_label(text, statement_text(row, CLOCK_COMMUNICATOR))))
        return -1;
    return statement_is_null(row, CLOCK_STEP)
               ? 0
               : buffer_printf(text, ", step %lld", (long long)statement_integer(row, CLOCK_STEP));
}

/* "the clock of rank 2 (node2, process 22) jumped back by 1.50 s before AllReduce #30 ..." */
static int append_clock(struct statement *row, struct buffer *text)
{
    int64_t step_ns = statement_integer(row, CLOCK_STEP_NS), steps = statement_integer(row, CLOCK_STEPS);
    int is_measured = statement_integer(row, CLOCK_IS_MEASURED) != 0;
    if (append_whose(row, text) || buffer_printf(text, " jumped %s by ", step_ns < 0 ? "back" : "forward") ||
        (!is_measured && buffer_append_text(text, "about ")) ||
        text_time(text, step_ns < 0 ? -step_ns : step_ns) || append_where(row, text))
        return -1;
    if (steps > 1 &&
        buffer_printf(text, ", and %lld more time%s by less", (long long)(steps - 1), steps == 2 ? "" : "s"))
        return -1;
    return buffer_append_text(text, "; later timestamps are corrected");
}

static int tell_more(struct clocks *clocks, struct table *table, struct error *error)
{
    size_t more = clocks->more;
    clocks->more = clocks->told = 0;
    return more ? table_add_warning(table, error, "run %lld: the clocks of %zu more processes jumped",
                                    (long long)clocks->run_id, more)
                : 0;
}

static int tell_clock(struct clocks *clocks, struct statement *row, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t run_id = statement_integer(row, CLOCK_RUN);
    if (run_id != clocks->run_id && tell_more(clocks, table, error))
        return -1;
    clocks->run_id = run_id;
    if (clocks->told == MOST_TOLD) {
        clocks->more++;
        return 0;
    }
    clocks->told++;
    int failed = append_clock(row, &text)
                     ? error_no_memory(error)
                     : table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data);
    buffer_release(&text);
    return failed;
}

int caution_clock_steps(struct store *store, const struct runs *runs, struct table *table,
                        struct error *error)
{
    struct clocks clocks = {.told = 0};
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_clock_steps, runs->only, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1)
        if (tell_clock(&clocks, statement, table, error))
            row = -1;
    statement_free(statement);
    return row ? -1 : tell_more(&clocks, table, error);
}

enum pair_column {
    PAIR_RUN,
    PAIR_COUNT,
    PAIR_COMMUNICATOR,
    PAIR_SEQUENCE,
    PAIR_SENT,
    PAIR_RECEIVED,
    PAIR_SENDER,
    PAIR_RECEIVER
};

static int append_pairs(struct statement *row, struct buffer *text)
{
    long long count = (long long)statement_integer(row, PAIR_COUNT);
    const char *sender = statement_text(row, PAIR_SENDER), *receiver = statement_text(row, PAIR_RECEIVER);
    if (buffer_printf(text, "Send #%lld from rank %s to rank %s",
                      (long long)statement_integer(row, PAIR_SEQUENCE), sender ? sender : "?",
                      receiver ? receiver : "?") ||
        text_on_label(text, statement_text(row, PAIR_COMMUNICATOR)) ||
        buffer_printf(text, " and its receive differ in size: %lld bytes sent, %lld received",
                      (long long)statement_integer(row, PAIR_SENT),
                      (long long)statement_integer(row, PAIR_RECEIVED)))
        return -1;
    if (count > 1 && buffer_printf(text, "; %lld more pair%s differ%s", count - 1, count == 2 ? "" : "s",
                                   count == 2 ? "s" : ""))
        return -1;
    return buffer_append_text(text, "; the program does this, or records between them are lost");
}

static int warn_of_unequal(struct store *store, const struct runs *runs, struct table *table,
                           struct error *error)
{
    struct statement *statement =
        store_prepare_for(store, schema_analysis_caution_unequal_pairs, runs->only, error);
    int row = statement ? 1 : -1;
    int64_t told = 0;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        struct buffer text = BUFFER_INIT;
        int64_t run_id = statement_integer(statement, PAIR_RUN);
        if (run_id != told && append_pairs(statement, &text))
            row = error_no_memory(error);
        else if (run_id != told &&
                 table_add_warning(table, error, "run %lld: %s", (long long)run_id, text.data))
            row = -1;
        told = run_id;
        buffer_release(&text);
    }
    statement_free(statement);
    return row;
}

int caution_records(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    return warn_of_repeated(store, runs, table, error) || caution_clock_steps(store, runs, table, error) ||
                   warn_of_unequal(store, runs, table, error)
               ? -1
               : 0;
}

int caution_copies(struct store *store, const struct runs *runs, struct table *table, struct error *error)
{
    struct statement *statement = store_prepare_for(store, schema_analysis_caution_copies, runs->only, error);
    int row = statement ? statement_step(statement, error) : -1;
    long long copies = row == 1 ? (long long)statement_integer(statement, 0) : 0;
    long long doubles = row == 1 ? (long long)statement_integer(statement, 1) : 0;
    statement_free(statement);
    if (row != 1)
        return -1;
    if (copies && table_add_warning(table, error,
                                    "%lld file%s duplicate%s another file or its beginning; the longest file "
                                    "is used",
                                    copies, copies == 1 ? "" : "s", copies == 1 ? "s" : ""))
        return -1;
    return doubles ? table_add_warning(table, error,
                                       "%lld operations are in several files (copies, or parts of one log); "
                                       "duplicate records are counted once",
                                       doubles)
                   : 0;
}
