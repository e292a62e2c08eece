/*
 * Loads a run from the store into memory: names, instances, operations, network steps, coverage, timelines.
 * Large runs are loaded in excerpts.
 */
#include "job/load.h"
#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* The columns of the instances. They come by ascending id; each block has instances of one communicator. */

static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_KIND,     INSTANCE_FUNCTION, INSTANCE_SEQUENCE,
                              INSTANCE_SENDER,  INSTANCE_RECEIVER, INSTANCE_MEMBERS,  INSTANCE_EXPECTED,
                              INSTANCE_TAG,     INSTANCE_STEP,     INSTANCE_TRANSFER};

static struct job_instance make_instance(const struct loader *loader, int32_t communicator,
                                         const struct block_scan *scan, size_t row)
{
    const struct job *job = loader->job;
    const struct block_reader *rows = &scan->rows;
    int64_t sender = block_value(rows, INSTANCE_SENDER, row, -1);
    int64_t receiver = block_value(rows, INSTANCE_RECEIVER, row, -1);
    int64_t function = block_value(rows, INSTANCE_FUNCTION, row, 0);
    return (struct job_instance){.sequence = block_value(rows, INSTANCE_SEQUENCE, row, 0),
                                 .transfer_ns = TIME_UNKNOWN,
                                 .communicator = communicator,
                                 .sender = job_rank_in(job, communicator, sender),
                                 .receiver = job_rank_in(job, communicator, receiver),
                                 .step = loader_step(loader, block_value(rows, INSTANCE_STEP, row, -1)),
                                 .tag = -1,
                                 .members = (int32_t)block_value(rows, INSTANCE_MEMBERS, row, 0),
                                 .expected = (int32_t)block_value(rows, INSTANCE_EXPECTED, row, 0),
                                 .kind = (unsigned)block_value(rows, INSTANCE_KIND, row, 0) & 3,
                                 .function = function >= 0 && function < FUNCTION_COUNT ? (unsigned)function
                                                                                        : FUNCTION_UNKNOWN};
}

static int take_block(struct loader *loader, struct block_scan *scan, struct error *error)
{
    struct job *job = loader->job;
    const struct block_reader *rows = &scan->rows;
    int64_t communicator = loader_communicator(loader, scan->owner_id);
    if (communicator < 0)
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    size_t count = job->instance_count + rows->count;
    if (array_reserve((void **)&job->instances, &loader->instance_capacity, count, sizeof *job->instances))
        return error_no_memory(error);
    for (size_t row = 0; row < rows->count; row++) {
        if (loader_drops(loader, block_value(rows, INSTANCE_STEP, row, -1)))
            continue;
        if (id_runs_add(&loader->instance_ids, scan->block_id + rows->values[INSTANCE_ORDINAL][row]))
            return error_no_memory(error);
        struct job_instance *instance = &job->instances[job->instance_count++];
        *instance = make_instance(loader, (int32_t)communicator, scan, row);
        job->has_durations |= !rows->absent[INSTANCE_TRANSFER][row];
        int32_t tag;
        if (loader_tag(loader, block_text(rows, INSTANCE_TAG, row), &tag, error))
            return -1;
        instance->tag = tag;
    }
    return 0;
}

/* Reads the instances of the run. */
static int loader_read_instances(struct loader *loader, struct error *error)
{
    struct block_scan scan;
    int more = scan_instances(&scan, loader->job->store, loader->job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_block(loader, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
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

/* The job takes ownership of texts that it keeps from the roster. */
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

/* Clamped to the run's steps, since the store may be damaged. */
static int32_t first_step_of(const struct job *job, const struct roster_run *run)
{
    int32_t last = job->step_count > 0 ? job->step_count - 1 : 0;
    return run->first_step < 0 ? 0 : run->first_step < last ? (int32_t)run->first_step : last;
}

/* Reads the run itself, its ranks and its communicators into a job of which only store and run_id are set. */
static int job_read_names(struct job *job, struct error *error)
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

static int take(struct loader *loader, struct statement *statement, struct error *error)
{
    struct job *job = loader->job;
    int64_t at = id_runs_find(&job->operation_ids, statement_integer(statement, 0));
    if (at < 0)
        return 0;
    if (loader_list_places(loader))
        return error_no_memory(error);
    if (!job->described) {
        job->described = array_new(job->operation_count, sizeof *job->described);
        if (!job->described)
            return error_no_memory(error);
        for (size_t i = 0; i < job->operation_count; i++)
            job->described[i] = -1;
    }
    int32_t *described = &job->described[loader->places[at]];
    return *described < 0 ? loader_tag(loader, statement_text(statement, 1), described, error) : 0;
}

/*
 * Reads where operations were called, from the descriptions of calls, into job->described. Operations and
 * `places` must be laid out.
 */
static int loader_read_described(struct loader *loader, struct error *error)
{
    return loader_read(loader, schema_analysis_job_described, take, error);
}

/*
 * Counts of a process: its ranks with operations, those in the current communicator, and the maximum over all
 * communicators.
 */
struct ranks_of_process {
    size_t ranks;
    size_t here;
    size_t most;
    size_t communicator;
};

/*
 * Numbers the processes of the ranks, and counts their ranks with operations. Returns -1 when out of memory.
 */
static int number_processes(const struct job *job, int64_t *process, struct ranks_of_process *processes)
{
    struct map numbers;
    int failed = 0;
    map_init(&numbers);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        int64_t *number = map_put(&numbers, (struct map_key){{(uint64_t)job->ranks[i].process_id}},
                                  (int64_t)numbers.count, NULL);
        failed = !number;
        process[i] = failed ? 0 : *number;
        processes[process[i]].ranks += job->ranks[i].count > 0;
    }
    map_release(&numbers);
    return failed ? -1 : 0;
}

static void count_ranks_of_processes(const struct job *job, const int64_t *process,
                                     struct ranks_of_process *processes)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t j = 0; j < job->communicators[i].member_list_count; j++) {
            int32_t rank = job->communicators[i].member_list[j].rank;
            struct ranks_of_process *ranks_of_process = &processes[process[rank]];
            if (!job->ranks[rank].count)
                continue;
            if (ranks_of_process->communicator != i + 1)
                ranks_of_process->here = 0;
            ranks_of_process->communicator = i + 1;
            if (++ranks_of_process->here > ranks_of_process->most)
                ranks_of_process->most = ranks_of_process->here;
        }
}

int job_find_parts(struct job *job)
{
    int64_t *process = array_new(job->rank_count, sizeof *process);
    struct ranks_of_process *processes = array_new(job->rank_count + 1, sizeof *processes);
    int failed = !process || !processes || number_processes(job, process, processes);
    if (!failed)
        count_ranks_of_processes(job, process, processes);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        job->ranks[i].is_part = processes[process[i]].ranks > processes[process[i]].most;
    free(process);
    free(processes);
    return failed;
}

static int load_all(struct loader *loader, struct job *job, struct error *error)
{
    if (loader_init(loader, job, error) || job_load_tags(job, error) ||
        loader_read_instances(loader, error) || loader_read_operations(loader, error))
        return -1;
    if (job_sort_operations(job) || loader_draft_ends(job) || loader_list_members(job) ||
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

/* Finds where the records of a rank end before those of others. */
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
    job_ignore_sparse_steps(job);
    if (job_count_gaps(job, error) || job_build_timelines(job, error) || job_index_steps(job, error) ||
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

/* Whether the first round contains all steps. */
static int is_whole(const struct chosen_steps *rounds, const struct job *job)
{
    const struct step_round *first = &rounds->rounds[0];
    return !first->count || (first->count == 1 && first->excerpts[0].end == job->step_count);
}

int job_fits(const struct job *job, int64_t memory_bytes, int *fits, struct error *error)
{
    int64_t operations = 0;
    if (memory_bytes && count_operations(job, &operations, error))
        return -1;
    *fits = !memory_bytes || operations <= memory_bytes / JOB_OPERATION_BYTES;
    return 0;
}

int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error)
{
    int64_t operations = 0, most = memory_bytes / JOB_OPERATION_BYTES;
    if (memory_bytes && count_operations(job, &operations, error))
        return -1;
    *is_whole = !memory_bytes || operations <= most || job->step_count <= 0 ||
                job->step_count > JOB_MOST_STEPS || job_steps_are_sparse(job, operations);
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
    int failed = rounds.count && job_set_excerpts(job, chosen->excerpts, chosen->count);
    /* The job owns them now. */
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
    if (job_set_excerpts(job, excerpts, count)) {
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
