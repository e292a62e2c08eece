/* The host thread of a rank: the time of enqueueing, hiccups, and host faults. */
#include "simulate_engine.h"

#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000
#define LL_BYTES 131072
#define TREE_BYTES (1 << 20)
#define IMBALANCE 0.12 /* spread of the experts' work if their data all have the same size */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool fault_active(const struct fault *fault, int rank, int step, int phase)
{
    return fault_on(fault, rank) && fault_now(fault, step, phase);
}

static int count_actions(const struct job *job, int rank, int step, enum action_kind kind, int phase)
{
    const struct program *program = job_program(job, step);
    int count = 0;
    for (int i = 0; i < program->length_of_rank[rank]; i++) {
        const struct action *action = &program->actions[rank][i];
        count += action->kind == kind && (phase < 0 || action->phase == phase);
    }
    return count;
}

/* How much more work than usual an expert has, from the data that it was sent, if bytes follow the load. */
static double imbalance(const struct job *job, int rank, int step, int index, const struct action *action)
{
    if (action->load == LOAD_NONE)
        return 0;
    if (job->options.situation.hot_steps > 0)
        return situation_load(job, rank, step, action->layer) - 1;
    double draw =
        random_normal(job->options.seed, DRAW_IMBALANCE, (uint64_t)rank, (uint64_t)step, (uint64_t)index);
    return IMBALANCE * (draw > 2.5 ? 2.5 : draw < -2.5 ? -2.5 : draw);
}

static int64_t compute_time(const struct job *job, int rank, int step, int index, const struct action *action)
{
    uint64_t seed = job->options.seed, at = (uint64_t)index;
    double noise = job->options.noise;
    double speed = random_normal(seed, DRAW_RANK_SPEED, (uint64_t)rank, 0, 0);
    speed = speed > 2 ? 2 : speed < -2 ? -2 : speed;
    double factor = 1 + noise * (0.004 * speed + 0.006 * random_normal(seed, DRAW_COMPUTE, (uint64_t)rank,
                                                                       (uint64_t)step, at));
    if (random_unit(seed, DRAW_COMPUTE, (uint64_t)rank, (uint64_t)step, at + 100000) < 0.01)
        factor += noise * 0.04 *
                  random_exponential(seed, DRAW_COMPUTE, (uint64_t)rank, (uint64_t)step, at + 200000);
    factor += imbalance(job, rank, step, index, action);
    factor *= situation_batch(job, rank, step);
    if (step == 0)
        factor *= 1.5 + 2 * random_unit(seed, DRAW_WARMUP, (uint64_t)rank, at, 0);
    double ns = (double)action->duration_ns * factor;
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (!fault_active(fault, rank, step, action->phase))
            continue;
        if (fault->kind == FAULT_FREEZE)
            return UNKNOWN;
        if (fault->kind == FAULT_COMPUTE)
            ns += fault->amount * MICROSECOND / count_actions(job, rank, step, ACTION_COMPUTE, fault->phase);
        if (fault->kind == FAULT_THROTTLE)
            ns *= 1 + fault->amount / 100;
    }
    return (int64_t)ns;
}

static int64_t host_cost(const struct job *job, int rank, int step, int index, double us)
{
    uint64_t seed = job->options.seed, at = (uint64_t)index;
    double noise = job->options.noise;
    double cost =
        us * (1 + 0.3 * noise * random_exponential(seed, DRAW_HOST, (uint64_t)rank, (uint64_t)step, at));
    if (random_unit(seed, DRAW_HICCUP, (uint64_t)rank, (uint64_t)step, at) < 0.0015)
        cost +=
            200 * noise * random_exponential(seed, DRAW_HICCUP, (uint64_t)rank, (uint64_t)step, at + 100000);
    cost += noise_late_us(job, rank, step, index) + fault_before_action_us(job, rank, step, index);
    return (int64_t)(cost * MICROSECOND);
}

/* After a step the host does its own work: loading data, logging. Usually short, sometimes not. */
static int64_t between_steps(const struct job *job, int rank, int step)
{
    uint64_t seed = job->options.seed;
    double noise = job->options.noise;
    double us = 70 + 60 * noise * random_exponential(seed, DRAW_HOST, (uint64_t)rank, (uint64_t)step, 900001);
    if (random_unit(seed, DRAW_HICCUP, (uint64_t)rank, (uint64_t)step, 900002) < 0.03)
        us += 200 * noise * random_exponential(seed, DRAW_HICCUP, (uint64_t)rank, (uint64_t)step, 900003);
    return (int64_t)(us * MICROSECOND);
}

/*
 * Recorded jobs use trees for small messages of communicators that have several ranks on each of two nodes;
 * jobs on many nodes do, too.
 */
static bool tree_pays(const struct communicator *communicator)
{
    return communicator->size > 16 || (communicator->node_count == 2 && communicator->size > 2);
}

static enum algorithm algorithm_of(const struct job *job, const struct action *action)
{
    const struct communicator *communicator = &job->communicators[action->communicator];
    const char *wanted = job->options.algorithm;
    bool tree = strcmp(wanted, "auto") == 0 ? action->bytes <= TREE_BYTES && tree_pays(communicator)
                                            : strcmp(wanted, "tree") == 0 && communicator->size > 2;
    return tree && action->function == FUNCTION_ALL_REDUCE ? ALGORITHM_TREE : ALGORITHM_RING;
}

static struct record *record_new(struct engine *engine, int rank, const struct action *action, int local)
{
    struct job *job = engine->job;
    struct process *process = &job->processes[rank];
    struct player *player = &engine->players[rank];
    process->records = grow(process->records, &process->record_capacity, process->record_count + 1,
                            sizeof(*process->records));
    struct record *record = allocate(1, sizeof(*record));
    process->records[process->record_count++] = record;
    record->communicator = action->communicator;
    record->rank_in_communicator = local;
    record->function = action->function;
    record->count = action->count;
    record->datatype = action->datatype;
    record->type_bytes = action->type_bytes;
    record->root = action->root;
    record->peer = -1;
    record->step = player->step;
    record->phase = player->phase;
    record->stream = action->stream;
    record->group = player->group;
    record->channels = job->communicators[action->communicator].channels;
    record->protocol = action->bytes <= LL_BYTES ? PROTOCOL_LL : PROTOCOL_SIMPLE;
    record->algorithm = algorithm_of(job, action);
    record->start = record->end = UNKNOWN;
    for (int i = 0; i < MAX_CHANNELS; i++)
        record->channel_end[i] = record->channel_stop[i] = UNKNOWN;
    return record;
}

struct item *stream_push(struct player *player, const struct action *action)
{
    struct stream *stream = &player->streams[action->stream];
    stream->items = grow(stream->items, &stream->capacity, stream->count + 1, sizeof(*stream->items));
    struct item *item = &stream->items[stream->count++];
    memset(item, 0, sizeof(*item));
    item->kind = action->kind;
    item->event = action->event;
    item->step = player->step;
    item->phase = player->phase;
    item->enqueued = player->host;
    return item;
}

/* The times of the calls that enqueue a group of operations, as the profiler records them. */
static void enqueue_times(struct engine *engine, int rank, struct record **records, int count, int index)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    int64_t begin = player->host;
    int64_t cost = host_cost(job, rank, player->step, index, 14 + 1.5 * count);
    bool *warm = &player->warm[records[0]->communicator % 64];
    if (!*warm) {
        double ms = 8 + 12 * random_unit(job->options.seed, DRAW_WARMUP, (uint64_t)rank, (uint64_t)index, 1);
        cost += (int64_t)(ms * 1e6);
        *warm = true;
    }
    for (int i = 0; i < count; i++) {
        records[i]->group_begin = begin;
        records[i]->launch_end = begin + cost * 6 / 10;
        records[i]->enqueue_begin = begin + cost * 7 / 10 + (int64_t)i * 300;
        records[i]->enqueue_end = records[i]->enqueue_begin + 400 + cost / 20;
        records[i]->group_end = begin + cost + (int64_t)count * 300;
    }
    player->host = begin + cost + (int64_t)count * 300 + 800;
    player->group++;
}

/* The first collective of the phase is called with twice the size; ranks that join it never finish. */
static bool mismatch_now(struct job *job, int rank, int step, int phase, int64_t now)
{
    for (int i = 0; i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (fault->kind == FAULT_MISMATCH && fault->since == UNKNOWN &&
            fault_active(fault, rank, step, phase)) {
            fault->since = now;
            return true;
        }
    }
    return false;
}

static struct instance *instance_get(struct communicator *communicator, int position)
{
    int index = position - communicator->first_instance;
    communicator->instances = grow(communicator->instances, &communicator->instance_capacity, index + 1,
                                   sizeof(*communicator->instances));
    while (communicator->instance_count <= index) {
        struct instance *instance = allocate(1, sizeof(*instance));
        instance->index = communicator->first_instance + communicator->instance_count;
        instance->member = allocate((size_t)communicator->size, sizeof(struct record *));
        communicator->instances[communicator->instance_count++] = instance;
    }
    return communicator->instances[index];
}

static void enqueue_collective(struct engine *engine, int rank, const struct action *action, int index)
{
    struct job *job = engine->job;
    struct communicator *communicator = &job->communicators[action->communicator];
    struct player *player = &engine->players[rank];
    int local = action->local;
    struct record *record = record_new(engine, rank, action, local);
    int position = engine->next_index[action->communicator][local]++;
    struct instance *instance = instance_get(communicator, position);
    if (mismatch_now(job, rank, player->step, player->phase, player->host)) {
        instance->broken = true;
        record->count *= 2;
    }
    record->sequence = engine->next_sequence[action->communicator][local * 8 + (int)action->function]++;
    instance->function = action->function;
    instance->bytes = action->bytes;
    instance->step = player->step;
    instance->member[local] = record;
    enqueue_times(engine, rank, &record, 1, index);
    struct item *item = stream_push(player, action);
    item->records = allocate(1, sizeof(struct record *));
    item->records[0] = record;
    item->record_count = 1;
    item->duration = position;
}

static void enqueue_group(struct engine *engine, int rank, const struct action *action, int index)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    int local = action->local;
    struct record **records = allocate((size_t)action->request_count, sizeof(struct record *));
    for (int i = 0; i < action->request_count; i++) {
        const struct transfer_request *request = &action->requests[i];
        records[i] = record_new(engine, rank, action, local);
        records[i]->function = (enum function)request->function;
        records[i]->peer = request->peer;
        const int *global = job->communicators[action->communicator].ranks;
        bool sends = request->function == FUNCTION_SEND;
        records[i]->count =
            situation_bytes(job, action, sends ? rank : global[request->peer],
                            sends ? global[request->peer] : rank, player->step, request->bytes);
        records[i]->channels = 1;
        int size = job->communicators[action->communicator].size;
        int distance = request->function == FUNCTION_SEND ? request->peer - local : local - request->peer;
        records[i]->first_channel = (distance + size) % size % 2;
    }
    enqueue_times(engine, rank, records, action->request_count, index);
    struct item *item = stream_push(player, action);
    item->records = records;
    item->record_count = action->request_count;
}

static bool drained(const struct player *player)
{
    for (int i = 0; i < MAX_STREAMS; i++)
        if (player->streams[i].head < player->streams[i].count)
            return false;
    return true;
}

static void wait_for_device(struct player *player)
{
    for (int i = 0; i < MAX_STREAMS; i++)
        player->host = later(player->host, player->streams[i].end);
}

/*
 * Enters a phase: the place where a host sleeps, hangs or dies. False: not now, because something must finish
 * first.
 */
static bool enter_phase(struct engine *engine, int rank, const struct action *action)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (!fault_active(fault, rank, player->step, action->phase))
            continue;
        if (fault->kind == FAULT_EXIT) {
            if (!drained(player))
                return false;
            wait_for_device(player);
            job->processes[rank].left = player->host;
        }
        if (fault->kind == FAULT_HANG || fault->kind == FAULT_KILL || fault->kind == FAULT_EXIT) {
            player->stopped = true;
            return false;
        }
        if (fault->kind == FAULT_HOST) {
            if (!drained(player))
                return false;
            wait_for_device(player);
            int marks = count_actions(job, rank, player->step, ACTION_PHASE, fault->phase);
            player->host += (int64_t)(fault->amount * MICROSECOND / marks);
        }
    }
    struct process *process = &job->processes[rank];
    player->phase = action->phase;
    int capacity = process->mark_count;
    struct mark *marks = realloc(process->marks, ((size_t)capacity + 1) * sizeof(*marks));
    if (marks == NULL)
        fail("out of memory");
    process->marks = marks;
    marks[process->mark_count++] = (struct mark){action->phase, player->step, player->host};
    player->host += 2 * MICROSECOND;
    return true;
}

static bool finish_step(struct engine *engine, int rank)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    if (job->options.sync_lag == 0 || player->step == job->options.steps - 1) {
        if (!drained(player))
            return false;
        wait_for_device(player);
        job->rank_step_end[rank * job->options.steps + player->step] = player->host;
    } else {
        int before = rank * job->options.steps + player->step - 1;
        if (player->step > 0 && job->rank_step_end[before] == UNKNOWN)
            return false;
        if (player->step > 0)
            player->host = later(player->host, job->rank_step_end[before]);
    }
    player->host += between_steps(job, rank, player->step);
    for (int i = 0; i < job->fault_count; i++)
        if (job->faults[i].kind == FAULT_CHECKPOINT && fault_active(&job->faults[i], rank, player->step, -1))
            player->host += (int64_t)(job->faults[i].amount * MICROSECOND);
    player->host += (int64_t)(fault_before_step_us(job, rank, player->step + 1) * MICROSECOND);
    return true;
}

bool host_action(struct engine *engine, int rank, const struct action *action, int index)
{
    struct job *job = engine->job;
    struct player *player = &engine->players[rank];
    struct item *item;
    fault_stop(job, rank, player->step, index, player->host);
    player->host = contended_until(job, rank, player->step, action->phase, CONTENDED_HOST, player->host);
    switch (action->kind) {
    case ACTION_PHASE:
        return enter_phase(engine, rank, action);
    case ACTION_COMPUTE:
        player->host += host_cost(job, rank, player->step, index, 6);
        item = stream_push(player, action);
        item->duration = compute_time(job, rank, player->step, index, action);
        return true;
    case ACTION_COLLECTIVE:
        enqueue_collective(engine, rank, action, index);
        return true;
    case ACTION_POINT_TO_POINT:
        enqueue_group(engine, rank, action, index);
        return true;
    case ACTION_RECORD:
    case ACTION_WAIT:
        player->host += host_cost(job, rank, player->step, index, 1.5);
        stream_push(player, action);
        return true;
    case ACTION_HOST:
        player->host += action->duration_ns;
        return true;
    case ACTION_SYNC:
        return finish_step(engine, rank);
    }
    return false;
}
