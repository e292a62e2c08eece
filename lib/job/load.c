#include "job/load.h"

#include "base/array.h"
#include "job/call_times.h"
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
#include <string.h>

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

static int choose_rounds(struct chosen_steps *rounds, struct job *job, int64_t most_operations,
                         int32_t most_rounds, struct error *error)
{
    struct screening screening;
    int failed = screening_init(&screening, job, error);
    if (!failed && steps_choose(&screening, job->first_step, most_operations, most_rounds, rounds))
        failed = error_no_memory(error);
    if (!failed)
        job->screened = (struct job_screened){.operations = screening.total,
                                              .is_told = screening.is_told,
                                              .unusual = rounds->unusual,
                                              .left_out = rounds->left_out,
                                              .left_steps = rounds->left_steps,
                                              .left_first = rounds->left_first};
    screening_release(&screening);
    return failed ? -1 : 0;
}

/* Whether the first round is all there is. */
static int is_whole(const struct chosen_steps *rounds, const struct job *job)
{
    const struct step_round *first = &rounds->rounds[0];
    return !first->count || (first->count == 1 && first->excerpts[0].end == job->step_count);
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

static int plan(struct chosen_steps *rounds, struct job *names, struct store *store, int64_t run_id,
                int64_t memory_bytes, int32_t most_rounds, struct error *error)
{
    int loaded_whole;
    *rounds = (struct chosen_steps){.count = 0};
    if (job_load_names(names, store, run_id, error))
        return -1;
    if (job_is_loaded_whole(names, memory_bytes, &loaded_whole, error))
        return failed_to_load(names, error);
    if (loaded_whole)
        return 0;
    if (choose_rounds(rounds, names, memory_bytes / JOB_OPERATION_BYTES, most_rounds, error)) {
        chosen_steps_release(rounds);
        return failed_to_load(names, error);
    }
    if (is_whole(rounds, names))
        chosen_steps_release(rounds);
    return 0;
}

int job_plan(struct chosen_steps *rounds, struct job *names, struct store *store, int64_t run_id,
             int64_t memory_bytes, struct error *error)
{
    return plan(rounds, names, store, run_id, memory_bytes, MOST_ROUNDS, error);
}

int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error)
{
    struct chosen_steps rounds;
    if (plan(&rounds, job, store, run_id, memory_bytes, 1, error))
        return -1;
    struct step_round *chosen = &rounds.rounds[0];
    int failed = rounds.count && job_take_excerpts(job, chosen->excerpts, chosen->count);
    /* They are the job's. */
    chosen->excerpts = NULL;
    chosen_steps_release(&rounds);
    if (failed) {
        error_no_memory(error);
        return failed_to_load(job, error);
    }
    return job_load_rest(job, error);
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

int job_load_round(struct job *job, const struct job *names, const struct chosen_steps *rounds, size_t round,
                   struct error *error)
{
    const struct step_round *chosen = &rounds->rounds[round];
    struct job_excerpt *excerpts = array_new(chosen->count, sizeof *excerpts);
    if (!excerpts)
        return error_no_memory(error);
    memcpy(excerpts, chosen->excerpts, chosen->count * sizeof *excerpts);
    if (job_load_steps(job, names->store, names->run_id, excerpts, chosen->count, error))
        return -1;
    job->screened = names->screened;
    job->is_later_round = round > 0;
    return 0;
}
