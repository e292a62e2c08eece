#include "job/job.h"

#include "base/array.h"
#include "schemas.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

int64_t job_usual_transfer_ns(const struct job_instance *instance)
{
    int64_t took_ns = instance->transfer_ns + instance->some_ns;
    return instance->transfer_ns == TIME_UNKNOWN || took_ns <= instance->slow_ns
               ? TIME_UNKNOWN
               : took_ns - instance->slow_ns;
}

const char *job_tag(const struct job *job, int32_t tag)
{
    return tag >= 0 ? intern_text(&job->tags, tag) : NULL;
}

int64_t job_delay(const struct job *job, const struct job_operation *operation)
{
    const struct job_rank *rank = &job->ranks[operation->rank];
    size_t number = (size_t)(operation - job->operations) - rank->first;
    return rank->has_gpu_clock ? rank->delays_ns[number / JOB_DELAY_BLOCK] : 0;
}

int64_t *job_next_starts(const struct job *job)
{
    int64_t *next = array_new(job->operation_count, sizeof *next);
    for (size_t i = 0; next && i < job->operation_count; i++)
        next[i] = TIME_UNKNOWN;
    for (size_t i = 0; next && i < job->operation_count; i++)
        if (job->operations[i].previous >= 0)
            next[job->operations[i].previous] = job->operations[i].start_ns;
    return next;
}

size_t job_silent_ranks(const struct job *job)
{
    size_t count = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        count += job->ranks[i].count == 0;
    return count;
}

size_t job_recorded_ranks(const struct job *job)
{
    return job->rank_count - job_silent_ranks(job);
}

int64_t job_sequence(const struct job *job, const struct job_operation *operation)
{
    return job->instances[operation->instance].sequence;
}

int job_list(struct store *store, int64_t **ids, size_t *count, struct error *error)
{
    size_t capacity = 0;
    *ids = NULL;
    *count = 0;
    struct statement *statement = store_prepare(store, schema_analysis_job_list, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)ids, &capacity, *count + 1, sizeof **ids))
            row = error_no_memory(error);
        else
            (*ids)[(*count)++] = statement_integer(statement, 0);
    }
    statement_free(statement);
    if (row < 0) {
        free(*ids);
        *ids = NULL;
        *count = 0;
    }
    return row;
}

int job_count_pieces(struct store *store, int64_t *count, struct error *error)
{
    struct statement *statement = store_prepare(store, schema_analysis_job_pieces, error);
    int row = statement ? statement_step(statement, error) : -1;
    *count = row == 1 ? statement_integer(statement, 0) : 0;
    statement_free(statement);
    return row < 0 ? -1 : 0;
}

static char *copy(struct statement *statement, int column)
{
    const char *text = statement_text(statement, column);
    return strdup(text ? text : "");
}

static int load_run(struct job *job, struct error *error)
{
    struct statement *statement = store_prepare_for(job->store, schema_analysis_job_run, job->run_id, error);
    int row = statement ? statement_step(statement, error) : -1;
    if (row == 0)
        row = error_set(error, "the store has no run %lld", (long long)job->run_id);
    if (row == 1) {
        job->expected_ranks = statement_integer(statement, 0);
        job->step_count = (int32_t)statement_integer(statement, 1);
        job->step_source = copy(statement, 2);
        job->has_global_ranks = statement_integer(statement, 3) != 0;
        row = job->step_source ? 0 : error_no_memory(error);
    }
    statement_free(statement);
    return row;
}

static int load_ranks(struct job *job, struct error *error)
{
    size_t capacity = 0;
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_job_ranks, job->run_id, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)&job->ranks, &capacity, job->rank_count + 1, sizeof *job->ranks)) {
            row = error_no_memory(error);
            break;
        }
        struct job_rank *rank = &job->ranks[job->rank_count++];
        *rank = (struct job_rank){.id = statement_integer(statement, 0),
                                  .process_id = statement_integer(statement, 1),
                                  .global_rank = statement_integer(statement, 2),
                                  .name = copy(statement, 3)};
        if (!rank->name)
            row = error_no_memory(error);
    }
    statement_free(statement);
    return row;
}

static int load_communicators(struct job *job, struct error *error)
{
    size_t capacity = 0;
    struct statement *statement =
        store_prepare_for(job->store, schema_analysis_job_communicators, job->run_id, error);
    int row = statement ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)&job->communicators, &capacity, job->communicator_count + 1,
                          sizeof *job->communicators)) {
            row = error_no_memory(error);
            break;
        }
        struct job_communicator *communicator = &job->communicators[job->communicator_count++];
        *communicator = (struct job_communicator){.id = statement_integer(statement, 0),
                                                  .size = statement_integer(statement, 1),
                                                  .hashed = statement_integer(statement, 2) != 0,
                                                  .label = copy(statement, 3),
                                                  .size_is_known = statement_integer(statement, 4) != 0,
                                                  .silent = -1};
        if (!communicator->label)
            row = error_no_memory(error);
    }
    statement_free(statement);
    return row;
}

static int failed_to_load(struct job *job, struct error *error)
{
    error_wrap(error, "cannot load run %lld of %s", (long long)job->run_id, store_path(job->store));
    job_release(job);
    return -1;
}

int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    *job = (struct job){.store = store, .run_id = run_id};
    intern_init(&job->tags);
    if (load_run(job, error) || load_ranks(job, error) || load_communicators(job, error))
        return failed_to_load(job, error);
    return 0;
}

int job_load_rest(struct job *job, struct error *error)
{
    if (job_load_operations(job, error))
        return failed_to_load(job, error);
    job_doubt_steps(job);
    if (job_build_timelines(job, error) || job_count_gaps(job, error) || job_index_steps(job, error))
        return failed_to_load(job, error);
    return 0;
}

int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error)
{
    return job_load_names(job, store, run_id, error) || job_load_rest(job, error) ? -1 : 0;
}

void job_release(struct job *job)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        free(job->ranks[i].name);
        free(job->ranks[i].delays_ns);
    }
    for (size_t i = 0; i < job->communicator_count; i++) {
        free(job->communicators[i].label);
        free(job->communicators[i].seats);
    }
    free(job->step_source);
    free(job->ranks);
    free(job->communicators);
    free(job->operations);
    free(job->drafts);
    free(job->holds);
    free(job->instances);
    free(job->instance_members);
    free(job->traffic);
    free(job->operations_of_step);
    free(job->by_step);
    free(job->step_end);
    intern_release(&job->tags);
    *job = (struct job){0};
}
