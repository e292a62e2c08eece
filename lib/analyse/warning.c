#include "analyse/warning.h"

#include "analyse/shard_notes.h"
#include "base/buffer.h"
#include "base/escape.h"
#include "job/bare_calls.h"
#include "job/excerpts.h"
#include "job/own_time.h"
#include "report/samples.h"
#include "schemas.h"
#include "store/statement.h"
#include "store/store.h"
#include "verdict/words.h"

#include <string.h>

enum { MOST_NAMED = 4 };

int warnings_say(const struct table *table, struct buffer *text)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = buffer_append_text(text, "note: ") ||
                 escape_terminal(text, table->warnings[i], strlen(table->warnings[i])) ||
                 buffer_append_byte(text, '\n');
    return failed ? -1 : 0;
}

/* Of many ranks that are absent, a few. Places of a large job may have no names at all. */
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
        count += communicator->hash && (int64_t)communicator->seat_count < communicator->size;
    }
    return count;
}

/* A recorder that does not say how large a communicator is shows so many places of it at least. */
static int is_size_known(const struct job *job)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        if (job->communicators[i].size_is_known && job->communicators[i].size >= job->expected_ranks)
            return 1;
    return 0;
}

/* Nothing where there is nothing to say. */
static int say_absent(const struct job *job, int64_t recorded, struct buffer *text)
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

/* That recorders stopped while their ranks went on (FORMAT_NOTE_STOPPED). */
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

int caution_absent_ranks(const struct job *job, struct table *table, struct error *error)
{
    struct buffer text = BUFFER_INIT;
    int64_t recorded = (int64_t)job_recorded_ranks(job);
    if (!recorded)
        return 0;
    if (caution_stopped(job, table, error))
        return -1;
    int failed = say_absent(job, recorded, &text) ? error_no_memory(error)
                 : !text.length
                     ? 0
                     : table_add_warning(table, error, "run %lld: %s", (long long)job->run_id, text.data);
    buffer_release(&text);
    return failed;
}

int caution_crowd(const struct crowd *crowd, const struct job *job, struct table *table, struct error *error)
{
    return crowd->findings
               ? table_add_warning(
                     table, error,
                     "run %lld: up to %d of %zu ranks were slow at the same time, steps %d-%d: they may "
                     "have a common cause, so confidence is low",
                     (long long)job->run_id, (int)crowd->ranks, job_recorded_ranks(job),
                     (int)job_run_step(job, crowd->first_step), (int)job_run_step(job, crowd->last_step))
               : 0;
}

int caution_bounds(const struct job *job, const struct findings *findings, struct table *table,
                   struct error *error)
{
    long long run = (long long)job->run_id;
    if (findings->unweighed &&
        table_add_warning(
            table, error,
            "run %lld: only the 64 largest suspected faults are replayed; the cost of %zu more is "
            "unknown, and findings may be missing",
            run, findings->unweighed))
        return -1;
    int64_t bounded = job->bounded_ends + job_bounded_idle_times(job);
    return bounded
               ? table_add_warning(
                     table, error,
                     "run %lld: the gap times of %lld operations may be shorter than measured: more than 64 "
                     "operations of their rank were in flight",
                     run, (long long)bounded)
               : 0;
}

int caution_cut(const struct job *job, const struct findings *findings, struct table *table,
                struct error *error)
{
    return job->most_cut == CUT_NOT || findings_stop_job(findings)
               ? 0
               : table_add_warning(table, error,
                                   "run %lld: most traces have no end marker and no rank is visibly waiting "
                                   "for another: the "
                                   "job was stopped or still running, or the files were truncated",
                                   (long long)job->run_id);
}

int caution_snapshot(const struct job *job, const struct findings *findings, struct table *table,
                     struct error *error)
{
    if (findings->is_snapshot)
        return table_add_warning(
            table, error,
            "run %lld: all dumps were written within a second of the last calls in them, so the job was "
            "running, and ranks were not checked for a hang; if the job hangs, dump it again",
            (long long)job->run_id);
    return 0;
}

int caution_parts(const struct job *job, struct table *table, struct error *error)
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
    int64_t samples, jobs;
    if (report_samples_count(store, &samples, &jobs, error))
        return -1;
    return table_add_warning(table, error, "the store contains no operations, so nothing was analyzed") ||
           (samples &&
            table_add_warning(table, error,
                              "the store contains %lld averages from Prometheus text, but no single "
                              "operations; see: ncclprof report",
                              (long long)samples)) ||
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

static int say_bare_calls(int64_t count, const char *what, const char *why, struct buffer *text)
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
        say_bare_calls(
            calls.others, "",
            "kernels on symmetric memory report none before NCCL 2.31, or the recorder's event mask "
            "excludes operations, or its pool for them is exhausted",
            &text) ||
        say_bare_calls(calls.captured, " captured in a CUDA graph",
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
