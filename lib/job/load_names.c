#include "job/load_names.h"

#include "base/array.h"
#include "schemas.h"
#include "store/statement.h"

#include <stdlib.h>
#include <string.h>

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

int job_read_names(struct job *job, struct error *error)
{
    return load_run(job, error) || load_ranks(job, error) || load_communicators(job, error) ? -1 : 0;
}
