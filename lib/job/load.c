#include "job/load.h"

#include "job/call_times.h"
#include "job/choose_steps.h"
#include "job/described.h"
#include "job/excerpts.h"
#include "job/gaps.h"
#include "job/issue_order.h"
#include "job/load_coverage.h"
#include "job/load_instances.h"
#include "job/load_names.h"
#include "job/load_traffic.h"
#include "job/loader.h"
#include "job/record_extents.h"
#include "job/shared_processes.h"
#include "job/stages.h"
#include "job/step_index.h"
#include "job/successions.h"
#include "job/timeline.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>

static int load_all(struct loader *loader, struct job *job, struct error *error)
{
    if (loader_init(loader, job, error) || loader_read_instances(loader, error) ||
        loader_read_operations(loader, error))
        return -1;
    if (job_lay_out(job) || loader_draft_ends(job) || loader_list_members(job) ||
        (job->calls && job_time_calls(job)) || job_find_parts(job) || job_find_successions(job) ||
        job_find_stages(job))
        return error_no_memory(error);
    return (loader->has_traffic && loader_read_traffic(loader, error)) ||
                   loader_read_described(loader, error) || loader_read_coverage(loader, error)
               ? -1
               : 0;
}

static int load_operations(struct job *job, struct error *error)
{
    struct loader loader;
    int failed = load_all(&loader, job, error);
    loader_release(&loader);
    return failed;
}

static int failed_to_load(struct job *job, struct error *error)
{
    error_wrap(error, "cannot load run %lld of %s", (long long)job->run_id, store_path(job->store));
    job_release(job);
    return -1;
}

int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    *job = (struct job){.store = store, .run_id = run_id, .threads = store_threads(store)};
    intern_init(&job->tags);
    if (job_read_names(job, error))
        return failed_to_load(job, error);
    return 0;
}

/* Where the record of a rank ends before others', by what is recorded of all. */
static int find_tails(struct job *job, struct error *error)
{
    struct extents extents;
    int failed = extents_init(&extents, job) ? error_no_memory(error) : 0;
    if (!failed)
        job_find_tails(job, &extents);
    extents_release(&extents);
    return failed;
}

int job_load_rest(struct job *job, struct error *error)
{
    if (load_operations(job, error))
        return failed_to_load(job, error);
    roster_release(&job->roster);
    job_doubt_steps(job);
    if (job_build_timelines(job, error) || job_count_gaps(job, error) || job_index_steps(job, error) ||
        find_tails(job, error))
        return failed_to_load(job, error);
    return 0;
}

int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    return job_load_names(job, store, run_id, error) || job_load_rest(job, error) ? -1 : 0;
}

static int count_operations(const struct job *job, int64_t *count, struct error *error)
{
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_job_operation_count, job->run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    *count = row == 1 ? statement_integer(statement, 0) : 0;
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

static int take_chosen(struct job *job, const struct screening *screening, const struct chosen_steps *chosen)
{
    job->screened = (struct job_screened){.operations = screening->total,
                                          .is_told = screening->is_told,
                                          .unusual = chosen->unusual,
                                          .left_out = chosen->left_out,
                                          .left_steps = chosen->left_steps,
                                          .left_first = chosen->left_first};
    int is_whole = chosen->count == 1 && chosen->excerpts[0].end == job->step_count;
    if (!is_whole && chosen->count)
        return job_take_excerpts(job, chosen->excerpts, chosen->count);
    free(chosen->excerpts);
    return 0;
}

static int choose_excerpts(struct job *job, int64_t most_operations, struct error *error)
{
    struct screening screening;
    struct chosen_steps chosen = {0};
    int failed = screening_init(&screening, job, error);
    if (!failed && steps_choose(&screening, job->first_step, most_operations, &chosen)) {
        free(chosen.excerpts);
        failed = error_no_memory(error);
    }
    if (!failed && take_chosen(job, &screening, &chosen))
        failed = error_no_memory(error);
    screening_release(&screening);
    return failed ? failed_to_load(job, error) : 0;
}

int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error)
{
    int64_t operations = 0, most = memory_bytes / JOB_OPERATION_BYTES;
    if (memory_bytes && count_operations(job, &operations, error))
        return -1;
    *is_whole = !memory_bytes || operations <= most || job->step_count <= 0 ||
                job->step_count > JOB_MOST_STEPS || job_steps_are_doubtful(job, operations);
    return 0;
}

int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error)
{
    int is_whole;
    if (job_load_names(job, store, run_id, error))
        return -1;
    if (job_is_loaded_whole(job, memory_bytes, &is_whole, error))
        return failed_to_load(job, error);
    return (!is_whole && choose_excerpts(job, memory_bytes / JOB_OPERATION_BYTES, error)) ||
                   job_load_rest(job, error)
               ? -1
               : 0;
}

int job_load_steps(struct job *job, struct store *store, int64_t run_id, struct job_excerpt *excerpts,
                   size_t count, struct error *error)
{
    if (job_load_names(job, store, run_id, error)) {
        free(excerpts);
        return -1;
    }
    if (job_take_excerpts(job, excerpts, count)) {
        error_no_memory(error);
        return failed_to_load(job, error);
    }
    return job_load_rest(job, error);
}
