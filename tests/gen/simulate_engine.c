/*
 * Simulates a job. Each rank has a host thread that enqueues, and streams that run the enqueued work in
 * order; an operation moves its data when all ranks that it needs have started it. Times depend only on
 * earlier ones, so ranks are simulated in any order, each as far as possible.
 */
#include "simulate_engine.h"

#include <stdlib.h>
#include <string.h>

#define LAUNCH_LATENCY 5000
#define KERNEL_GAP 1800

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void engine_wake(struct engine *engine, int rank)
{
    if (engine->queued[rank])
        return;
    engine->queued[rank] = true;
    engine->queue[(engine->first + engine->waiting++) % engine->job->options.ranks] = rank;
}

/* With a host that runs ahead, the end of a step is an event after its last item on every stream. */
static void mark_step_end(struct engine *engine, int rank)
{
    struct player *player = &engine->players[rank];
    struct action marker = {.kind = ACTION_SYNC};
    for (marker.stream = 0; marker.stream < 2; marker.stream++)
        stream_push(player, &marker);
}

static void begin_step(struct engine *engine, int rank)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    player->events[player->step] = allocate((size_t)job->events, sizeof(int64_t));
    for (int i = 0; i < job->events; i++)
        player->events[player->step][i] = UNKNOWN;
    job->processes[rank].step_begin[player->step] = player->host;
}

static void pass_step(struct engine *engine, int rank)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    if (job->options.sync_lag != 0)
        mark_step_end(engine, rank);
    player->counter = 0;
    engine->passed[player->step]++;
    if (++player->step < job->options.steps)
        begin_step(engine, rank);
}

static bool host_play(struct engine *engine, int rank)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    bool moved = false;
    while (!player->stopped && player->step < job->options.steps) {
        int index = player->counter;
        const struct action *action = &job_program(job, player->step)->actions[rank][index];
        if (!host_action(engine, rank, action, index))
            break;
        moved = true;
        if (++player->counter == job_program(job, player->step)->length_of_rank[rank])
            pass_step(engine, rank);
    }
    return moved;
}

static void collective_arrive(struct engine *engine, struct record *record, int position)
{
    struct job *job = engine->job;
    struct communicator *communicator = &job->communicators[record->communicator];
    struct instance *instance = communicator->instances[position - communicator->first_instance];
    if (++instance->arrived < communicator->size || instance->broken)
        return;
    transfer_collective(job, communicator, instance);
    for (int i = 0; i < communicator->size; i++)
        engine_wake(engine, communicator->ranks[i]);
}

static void pair_arrive(struct engine *engine, struct record *record)
{
    struct job *job = engine->job;
    struct communicator *communicator = &job->communicators[record->communicator];
    int size = communicator->size, self = record->rank_in_communicator;
    if (communicator->pairs == NULL)
        communicator->pairs = allocate((size_t)size * (size_t)size, sizeof(*communicator->pairs));
    bool sends = record->function == FUNCTION_SEND;
    struct pair_queue *pair =
        &communicator->pairs[sends ? self * size + record->peer : record->peer * size + self];
    if (pair->first == pair->end || pair->waiting[pair->first]->function == record->function) {
        if (pair->first == pair->end)
            pair->first = pair->end = 0;
        pair->waiting = grow(pair->waiting, &pair->capacity, pair->end + 1, sizeof(struct record *));
        pair->waiting[pair->end++] = record;
        return;
    }
    struct record *other = pair->waiting[pair->first++];
    transfer_pair(job, communicator, sends ? record : other, sends ? other : record, pair->matched++);
    engine_wake(engine, communicator->ranks[self]);
    engine_wake(engine, communicator->ranks[record->peer]);
}

static int64_t records_end(const struct item *item)
{
    int64_t end = 0;
    for (int i = 0; i < item->record_count; i++) {
        if (item->records[i]->end == UNKNOWN)
            return UNKNOWN;
        end = later(end, item->records[i]->end);
    }
    return end;
}

static bool run_communication(struct engine *engine, struct stream *stream, struct item *item, int64_t start)
{
    if (!item->started) {
        item->started = true;
        for (int i = 0; i < item->record_count; i++)
            item->records[i]->start = start;
        int position = (int)item->duration;
        for (int i = 0; i < item->record_count; i++) {
            if (item->kind == ACTION_COLLECTIVE)
                collective_arrive(engine, item->records[i], position);
            else
                pair_arrive(engine, item->records[i]);
        }
    }
    int64_t end = records_end(item);
    if (end == UNKNOWN)
        return false;
    stream->end = end;
    free(item->records);
    item->records = NULL;
    return true;
}

static void step_marker(struct engine *engine, int rank, const struct item *item, int64_t at)
{
    int64_t *end = &engine->job->rank_step_end[rank * engine->job->options.steps + item->step];
    if (item->step < engine->job->options.steps - 1)
        *end = later(*end, at);
}

static void note_work(struct process *process, const struct item *item, int stream, int64_t start,
                      int64_t end)
{
    process->works =
        grow(process->works, &process->work_capacity, process->work_count + 1, sizeof(*process->works));
    process->works[process->work_count++] =
        (struct work){item->enqueued, start, end, stream, item->step, item->phase};
}

static bool run_item(struct engine *engine, int rank, struct stream *stream, struct item *item)
{
    struct player *player = &engine->players[rank];
    const struct job *job = engine->job;
    int64_t start = later(stream->end + KERNEL_GAP, item->enqueued + LAUNCH_LATENCY);
    start = contended_until(job, rank, item->step, item->phase, CONTENDED_GPU, start);
    int64_t *event = &player->events[item->step][item->event];
    switch (item->kind) {
    case ACTION_COMPUTE:
        if (item->duration == UNKNOWN)
            return false;
        stream->end = contended_work(job, rank, item->step, item->phase, start, item->duration);
        note_work(&engine->job->processes[rank], item, (int)(stream - player->streams), start, stream->end);
        return true;
    case ACTION_RECORD:
        *event = later(stream->end, item->enqueued);
        return true;
    case ACTION_WAIT:
        if (*event == UNKNOWN)
            return false;
        stream->end = later(stream->end, *event);
        return true;
    case ACTION_SYNC:
        step_marker(engine, rank, item, later(stream->end, item->enqueued));
        return true;
    default:
        return run_communication(engine, stream, item, start);
    }
}

static bool streams_play(struct engine *engine, int rank)
{
    struct player *player = &engine->players[rank];
    bool moved = false;
    for (int i = 0; i < MAX_STREAMS; i++) {
        struct stream *stream = &player->streams[i];
        while (stream->head < stream->count) {
            /*
             * Running an item may finish items of others but never adds to this queue, so the pointer stays
             * valid.
             */
            if (!run_item(engine, rank, stream, &stream->items[stream->head]))
                break;
            stream->head++;
            moved = true;
        }
        if (stream->head == stream->count)
            stream->head = stream->count = 0;
    }
    return moved;
}

static void engine_open(struct engine *engine, struct job *job)
{
    size_t ranks = (size_t)job->options.ranks;
    *engine = (struct engine){.job = job};
    engine->players = allocate(ranks, sizeof(*engine->players));
    engine->queue = allocate(ranks, sizeof(int));
    engine->queued = allocate(ranks, sizeof(bool));
    engine->next_index = allocate((size_t)job->communicator_count, sizeof(int *));
    engine->next_sequence = allocate((size_t)job->communicator_count, sizeof(int *));
    engine->passed = allocate((size_t)job->options.steps, sizeof(int));
    for (int i = 0; i < job->communicator_count; i++) {
        engine->next_index[i] = allocate((size_t)job->communicators[i].size, sizeof(int));
        engine->next_sequence[i] = allocate((size_t)job->communicators[i].size * 8, sizeof(int));
    }
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct player *player = &engine->players[rank];
        player->events = allocate((size_t)job->options.steps, sizeof(int64_t *));
        double ms = 250 + 30 * random_unit(job->options.seed, DRAW_WARMUP, (uint64_t)rank, 0, 7);
        player->host = (int64_t)(ms * 1e6);
        for (int step = 0; step < job->options.steps; step++)
            job->processes[rank].step_begin[step] = UNKNOWN;
        begin_step(engine, rank);
        engine_wake(engine, rank);
    }
}

static void engine_close(struct engine *engine)
{
    struct job *job = engine->job;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct player *player = &engine->players[rank];
        for (int i = 0; i < MAX_STREAMS; i++) {
            struct stream *stream = &player->streams[i];
            for (int at = stream->head; at < stream->count; at++)
                free(stream->items[at].records);
            free(stream->items);
        }
        for (int step = 0; step < job->options.steps; step++)
            free(player->events[step]);
        free(player->events);
    }
    for (int i = 0; i < job->communicator_count; i++) {
        free(engine->next_index[i]);
        free(engine->next_sequence[i]);
    }
    free(engine->next_index);
    free(engine->next_sequence);
    free(engine->passed);
    free(engine->players);
    free(engine->queue);
    free(engine->queued);
}

static void measure_steps(struct job *job)
{
    int steps = job->options.steps;
    job->end = 0;
    for (int step = 0; step < steps; step++) {
        int64_t end = 0;
        for (int rank = 0; rank < job->options.ranks; rank++) {
            int64_t at = job->rank_step_end[rank * steps + step];
            end = at == UNKNOWN || end == UNKNOWN ? UNKNOWN : later(end, at);
        }
        job->step_end[step] = end;
        job->end = end == UNKNOWN ? job->end : end;
    }
}

/*
 * The sends and receives of one group are one kernel. Its stop on a channel is recorded when the first send
 * of the channel has left the GPU: for the whole channel, whatever has arrived.
 */
void share_stops(struct process *process, int first_record, int last_record)
{
    for (int i = first_record; i < last_record;) {
        int end = i + 1;
        while (end < last_record && process->records[end]->group == process->records[i]->group)
            end++;
        const struct record *first[2] = {NULL, NULL};
        for (int k = end - 1; k >= i; k--)
            if (process->records[k]->function == FUNCTION_SEND)
                first[process->records[k]->first_channel] = process->records[k];
        for (int k = i; end - i > 1 && k < end; k++)
            if (first[process->records[k]->first_channel] != NULL)
                process->records[k]->channel_stop[0] =
                    first[process->records[k]->first_channel]->channel_end[0];
        i = end;
    }
}

static void forget_run(struct job *job)
{
    size_t rank_steps = (size_t)job->options.ranks * (size_t)job->options.steps;
    for (int i = 0; i < job->fault_count; i++)
        job->faults[i].since = UNKNOWN;
    for (size_t i = 0; i < rank_steps; i++)
        job->rank_step_end[i] = UNKNOWN;
    noise_forget_waits(job);
}

static void play_rank(struct engine *engine, int rank)
{
    bool moved;
    do {
        moved = host_play(engine, rank);
        moved |= streams_play(engine, rank);
    } while (moved);
}

void engine_run(struct job *job)
{
    struct engine engine;
    forget_run(job);
    engine_open(&engine, job);
    while (engine.waiting > 0) {
        int rank = engine.queue[engine.first];
        engine.first = (engine.first + 1) % job->options.ranks;
        engine.waiting--;
        engine.queued[rank] = false;
        play_rank(&engine, rank);
        if (job->options.stream)
            stream_take(&engine);
    }
    measure_steps(job);
    if (job->step_end[job->options.steps - 1] == UNKNOWN)
        stuck_play(job);
    stream_finish(&engine);
    engine_close(&engine);
}

void record_free(struct record *record)
{
    for (int i = 0; i < record->proxy_count; i++)
        free(record->proxy[i].step);
    free(record->proxy);
    free(record);
}

/* Also the members that are no longer in the list of any process. */
void instance_free(struct communicator *communicator, struct instance *instance)
{
    for (int i = 0; i < communicator->size; i++)
        if (instance->member[i] != NULL && instance->member[i]->taken)
            record_free(instance->member[i]);
    free(instance->member);
    free(instance);
}

static void communicator_reset(struct communicator *communicator)
{
    for (int i = 0; i < communicator->instance_count; i++)
        instance_free(communicator, communicator->instances[i]);
    communicator->first_instance = communicator->instance_count = 0;
    for (int i = 0; communicator->pairs != NULL && i < communicator->size * communicator->size; i++)
        free(communicator->pairs[i].waiting);
    free(communicator->pairs);
    communicator->pairs = NULL;
}

void job_reset(struct job *job)
{
    for (int i = 0; i < job->communicator_count; i++)
        communicator_reset(&job->communicators[i]);
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct process *process = &job->processes[rank];
        for (int i = 0; i < process->record_count; i++)
            record_free(process->records[i]);
        process->record_count = process->kept = process->taken = 0;
        process->work_count = 0;
        process->left = UNKNOWN;
        process->mark_count = 0;
    }
}
