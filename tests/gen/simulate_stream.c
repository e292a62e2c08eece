/*
 * A job that is written step by step: steps that all ranks have finished are written and removed from memory,
 * so memory depends on the number of ranks and on one or two steps, not on the number of steps. Ranks are
 * simulated in the same order as without a stream, so the job is identical. Of each step only a few words per
 * rank stay: when its host began and ended it.
 */
#include "simulate_engine.h"

#include <stdlib.h>
#include <string.h>

/* Runs that only measure need one or two steps: those with faults, and that of a send that stalls. */
static bool is_looked_at(const struct job *job, int step)
{
    return job->writer == NULL && ((step == 1 && job->fault_count > 0) || step == job->rough.stall_step);
}

/* If the host runs ahead, its streams may still be busy with the step. */
static bool is_over(const struct engine *engine, int rank, int step)
{
    const struct player *player = &engine->players[rank];
    for (int i = 0; i < MAX_STREAMS; i++) {
        const struct stream *stream = &player->streams[i];
        if (stream->head < stream->count && stream->items[stream->head].step <= step)
            return false;
    }
    return true;
}

static bool all_are_over(const struct engine *engine, int step)
{
    for (int rank = 0; rank < engine->job->options.ranks; rank++)
        if (!is_over(engine, rank, step))
            return false;
    return true;
}

static void give_to_writer(struct job *job, struct process *process, int first, int end, int64_t horizon)
{
    share_stops(process, first, end);
    if (job->writer == NULL)
        return;
    situation_lose(job, process, first, end);
    inspector_take(job->writer, process, process->records + first, end - first, horizon);
}

/* Records of collectives belong to their instances, which the next operation may have to read. */
static void forget_records(struct job *job, struct process *process, int end)
{
    int kept = process->kept;
    process->mark_count = process->work_count = 0;
    if (end == kept)
        return;
    for (int i = kept; i < end; i++) {
        struct record *record = process->records[i];
        if (is_looked_at(job, record->step))
            process->records[kept++] = record;
        else if (record->function < FUNCTION_SEND)
            record->taken = true;
        else
            record_free(record);
    }
    memmove(process->records + kept, process->records + end,
            (size_t)(process->record_count - end) * sizeof(*process->records));
    process->taken += end - process->kept;
    process->record_count -= end - kept;
    process->kept = kept;
}

static void take_process(struct engine *engine, int rank, int step)
{
    struct job *job = engine->job;
    struct process *process = &job->processes[rank];
    int end = process->kept;
    while (end < process->record_count && process->records[end]->step <= step)
        end++;
    int64_t horizon = step + 1 < job->options.steps ? process->step_begin[step + 1] : INT64_MAX;
    give_to_writer(job, process, process->kept, end, horizon);
    forget_records(job, process, end);
    free(engine->players[rank].events[step]);
    engine->players[rank].events[step] = NULL;
}

static void take_instances(struct job *job, struct communicator *communicator, int step)
{
    int gone = 0;
    if (job->writer != NULL)
        lateness_note(job, communicator, step);
    while (gone + 1 < communicator->instance_count && communicator->instances[gone + 1]->step <= step)
        instance_free(communicator, communicator->instances[gone++]);
    if (gone == 0)
        return;
    memmove(communicator->instances, communicator->instances + gone,
            (size_t)(communicator->instance_count - gone) * sizeof(struct instance *));
    communicator->first_instance += gone;
    communicator->instance_count -= gone;
}

void stream_take(struct engine *engine)
{
    struct job *job = engine->job;
    while (engine->taken < job->options.steps && engine->passed[engine->taken] == job->options.ranks &&
           all_are_over(engine, engine->taken)) {
        for (int rank = 0; rank < job->options.ranks; rank++)
            take_process(engine, rank, engine->taken);
        for (int i = 0; i < job->communicator_count; i++)
            take_instances(job, &job->communicators[i], engine->taken);
        engine->taken++;
    }
}

void stream_finish(struct engine *engine)
{
    struct job *job = engine->job;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct process *process = &job->processes[rank];
        give_to_writer(job, process, process->kept, process->record_count, INT64_MAX);
    }
}
