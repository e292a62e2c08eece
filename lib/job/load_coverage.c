#include "job/load_coverage.h"

#include "base/array.h"
#include "job/bare_calls.h"
#include "job/start_ups.h"
#include "job/warnings.h"
#include "schemas.h"
#include "store/statement.h"

static int read_blindness(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    job->blind_to_pairs = statement_integer(statement, 0) != 0;
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].kind == OPERATION_POINT_TO_POINT)
            job->blind_to_pairs = 0;
    return 0;
}

static int read_cut(struct loader *loader, struct statement *statement, struct error *error)
{
    static const enum cut cuts[] = {CUT_AT_END, CUT_MIDWAY, CUT_STOPPED};
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    enum cut cut = cuts[statement_integer(statement, 1)];
    if (rank >= 0 && cut > loader->job->ranks[rank].cut)
        loader->job->ranks[rank].cut = cut;
    return 0;
}

static int read_progress(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t member = loader_member(loader, statement_integer(statement, 0));
    if (member < 0)
        return 0;
    if (array_reserve((void **)&job->progress, &job->progress_capacity, job->progress_count + 1,
                      sizeof *job->progress))
        return error_no_memory(error);
    job->ranks[member >> 32].tells_progress = 1;
    job->progress[job->progress_count++] = (struct job_progress){
        .rank = (int32_t)(member >> 32),
        .communicator = (int32_t)(member & 0xffffffff),
        .enqueued = statement_is_null(statement, 1) ? -1 : statement_integer(statement, 1),
        .completed = statement_is_null(statement, 2) ? -1 : statement_integer(statement, 2)};
    return 0;
}

static int read_watch(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job_watch *watch = &loader->job->watch;
    (void)error;
    watch->is_watched = 1;
    watch->has_counts = statement_integer(statement, 2) > 0;
    watch->has_moved = !statement_is_null(statement, 0) && statement_integer(statement, 0);
    if (!watch->has_moved && !statement_is_null(statement, 1))
        watch->stood_for_ns = statement_integer(statement, 1);
    return 0;
}

static int read_seen_until(struct loader *loader, struct statement *statement, struct error *error)
{
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    if (rank >= 0)
        loader->job->ranks[rank].seen_until_ns = statement_integer(statement, 1);
    return 0;
}

static int read_told_late(struct loader *loader, struct statement *statement, struct error *error)
{
    int64_t rank = loader_rank(loader, statement_integer(statement, 0));
    if (rank >= 0)
        loader->job->ranks[rank].told_late = 1;
    return 0;
}

/* Where most traces lack their end, or most stop midway, that says nothing of a single rank. Of ranks whose
 * recorder stopped nothing is said in any case. */
static void weigh_cuts(struct job *job)
{
    size_t recorded = job_recorded_ranks(job);
    for (enum cut cut = CUT_AT_END; cut <= CUT_MIDWAY; cut++) {
        size_t count = 0;
        for (size_t i = 0; i < job->rank_count; i++)
            count += job->ranks[i].cut >= cut && job->ranks[i].cut != CUT_STOPPED;
        if (count * 2 <= recorded)
            continue;
        job->most_cut = cut;
        for (size_t i = 0; i < job->rank_count; i++)
            if (job->ranks[i].cut == cut)
                job->ranks[i].cut = CUT_NOT;
    }
}

static int count_damage(struct loader *loader, struct error *error)
{
    int64_t cut = 0;
    if (loader_read_number(loader, schema_analysis_job_damage, &loader->job->damaged_lines, error) ||
        (loader->job->damaged_lines &&
         loader_read_number(loader, schema_analysis_job_cut_lines, &cut, error)))
        return -1;
    loader->job->damaged_lines -= cut;
    return 0;
}

int loader_read_coverage(struct loader *loader, struct error *error)
{
    int64_t finished_only, calls_only, is_windows, astray_kernels, dumped_running = 0;
    struct bare_calls bare;
    if (bare_calls_count(&bare, loader->job->store, loader->job->run_id, error) ||
        count_damage(loader, error) ||
        loader_read_number(loader, schema_analysis_job_losses, &loader->job->lost_events, error) ||
        loader_read_number(loader, schema_analysis_job_overwritten, &loader->job->overwritten, error) ||
        loader_read_number(loader, schema_analysis_job_finished_only, &finished_only, error) ||
        loader_read_number(loader, schema_analysis_job_calls_only, &calls_only, error) ||
        loader_read_number(loader, schema_analysis_job_is_windows, &is_windows, error) ||
        loader_read_number(loader, schema_analysis_job_astray_kernels, &astray_kernels, error) ||
        loader_read_number(loader, schema_analysis_job_kernels_before, &loader->job->kernels_before, error) ||
        loader_read(loader, schema_analysis_job_watched, read_watch, error) ||
        loader_read(loader, schema_analysis_job_cut, read_cut, error) ||
        loader_read(loader, schema_analysis_job_seen_until, read_seen_until, error) ||
        loader_read(loader, schema_analysis_job_told_late, read_told_late, error) ||
        loader_read_start_ups(loader, error) || loader_read_warnings(loader, error) ||
        (loader->tells_states &&
         (loader_read(loader, schema_analysis_job_progress, read_progress, error) ||
          loader_read_number(loader, schema_analysis_job_dumped_running, &dumped_running, error))))
        return -1;
    loader->job->dumped_running = dumped_running != 0;
    loader->job->finished_only = finished_only != 0;
    loader->job->calls_only = calls_only != 0;
    loader->job->is_windows = is_windows != 0;
    loader->job->astray_kernels = (unsigned)astray_kernels;
    loader->job->bare_calls = bare.captured + bare.others;
    if (!loader->tells_states)
        weigh_cuts(loader->job);
    return loader_read(loader, schema_analysis_job_blind_to_pairs, read_blindness, error);
}
