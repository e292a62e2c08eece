#include "job/load_names.h"

#include "base/array.h"
#include "schemas.h"
#include "store/statement.h"

#include <stdlib.h>

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

/* What the job keeps of the roster is its own from then on. */
static char *take_text(char **text)
{
    char *taken = *text;
    *text = NULL;
    return taken;
}

static int take_ranks(struct job *job)
{
    struct roster *roster = &job->roster;
    job->ranks = array_new(roster->rank_count, sizeof *job->ranks);
    if (!job->ranks)
        return -1;
    for (; job->rank_count < roster->rank_count; job->rank_count++) {
        struct roster_rank *rank = &roster->ranks[job->rank_count];
        job->ranks[job->rank_count] = (struct job_rank){.id = rank->id,
                                                        .process_id = rank->process_id,
                                                        .global_rank = rank->global_rank,
                                                        .name = take_text(&rank->name),
                                                        .facts = rank->facts};
        rank->facts = (struct roster_facts){.local_rank = COUNT_UNKNOWN, .gpu = COUNT_UNKNOWN};
    }
    return 0;
}

static void take_communicators(struct job *job)
{
    struct roster *roster = &job->roster;
    job->communicators = roster->communicators;
    job->communicator_count = roster->communicator_count;
    roster->communicators = NULL;
    roster->communicator_count = roster->communicator_capacity = 0;
}

/* One of the run's steps, whatever the store says. */
static int32_t first_step_of(const struct job *job, const struct roster_run *run)
{
    int32_t last = job->step_count > 0 ? job->step_count - 1 : 0;
    return run->first_step < 0 ? 0 : run->first_step < last ? (int32_t)run->first_step : last;
}

int job_read_names(struct job *job, struct error *error)
{
    if (roster_load(&job->roster, job->store, job->run_id, error) ||
        roster_load_members(&job->roster, job->store, job->run_id, error) ||
        roster_load_facts(&job->roster, job->store, job->run_id, error))
        return -1;
    if (!job->roster.run_count)
        return error_set(error, "no run %lld in the store", (long long)job->run_id);
    struct roster_run *run = &job->roster.runs[0];
    job->expected_ranks = run->expected_ranks;
    job->step_count = (int32_t)run->step_count;
    job->first_step = first_step_of(job, run);
    job->step_base = run->step_base;
    job->step_source = take_text(&run->step_source);
    job->run_name = take_text(&run->name);
    job->has_global_ranks = run->has_global_ranks;
    take_communicators(job);
    return take_ranks(job) ? error_no_memory(error) : 0;
}
