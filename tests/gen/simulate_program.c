/* The parts of the ranks' programs: actions, phases, communicators; and which program each step has. */
#include "simulate_program.h"

#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000
#define ROUND_BYTES 4096 /* activations stay a multiple of this when sequences grow */

int add_phase(struct job *job, const char *name)
{
    int known = job_phase(job, name);
    if (known >= 0)
        return known;
    if (job->phase_count == MAX_PHASES)
        fail("more than %d phases", MAX_PHASES);
    job->phases[job->phase_count] = name;
    return job->phase_count++;
}

int job_phase(const struct job *job, const char *name)
{
    for (int i = 0; i < job->phase_count; i++)
        if (strcmp(job->phases[i], name) == 0)
            return i;
    return -1;
}

static struct action *append(struct builder *builder, enum action_kind kind)
{
    struct program *program = builder->job->building;
    int length = program->length_of_rank[builder->rank]++;
    if ((length & (length - 1)) == 0) {
        size_t room = length == 0 ? 1 : (size_t)length * 2;
        struct action *moved = realloc(program->actions[builder->rank], room * sizeof(*moved));
        if (moved == NULL)
            fail("out of memory");
        program->actions[builder->rank] = moved;
    }
    struct action *action = &program->actions[builder->rank][length];
    memset(action, 0, sizeof(*action));
    action->kind = kind;
    action->phase = builder->phase;
    action->stream = builder->stream;
    return action;
}

void phase(struct builder *builder, int index)
{
    builder->phase = index;
    append(builder, ACTION_PHASE);
}

struct action *compute(struct builder *builder, int64_t us)
{
    struct action *action = append(builder, ACTION_COMPUTE);
    bool grows = builder->phase != job_phase(builder->job, "grad_sync") &&
                 builder->phase != job_phase(builder->job, "optimizer");
    double length = grows ? builder->job->building->sequence_length : 1;
    action->duration_ns = (int64_t)((double)(us * MICROSECOND) * length * builder->job->options.compute);
    return action;
}

/* The ranks of a communicator ascend. */
static int local_rank(const struct communicator *communicator, int rank)
{
    int first = 0, end = communicator->size;
    while (end - first > 1) {
        int middle = first + (end - first) / 2;
        if (communicator->ranks[middle] <= rank)
            first = middle;
        else
            end = middle;
    }
    if (communicator->ranks[first] != rank)
        fail("rank %d is not in communicator %s", rank, communicator->name);
    return first;
}

void collective(struct builder *builder, int communicator, enum function function, int64_t bytes,
                const char *datatype, int type_bytes, int root)
{
    if (builder->job->communicators[communicator].size < 2)
        return;
    struct action *action = append(builder, ACTION_COLLECTIVE);
    action->communicator = communicator;
    action->local = local_rank(&builder->job->communicators[communicator], builder->rank);
    action->function = function;
    action->bytes = bytes;
    action->datatype = datatype;
    action->type_bytes = type_bytes;
    action->count = bytes / type_bytes;
    action->root = root;
}

void record_event(struct builder *builder, int stream, int event)
{
    struct action *action = append(builder, ACTION_RECORD);
    action->stream = stream;
    action->event = builder->first_event + event;
}

void wait_event(struct builder *builder, int stream, int event)
{
    struct action *action = append(builder, ACTION_WAIT);
    action->stream = stream;
    action->event = builder->first_event + event;
}

struct action *group(struct builder *builder, int communicator)
{
    struct action *action = append(builder, ACTION_POINT_TO_POINT);
    action->communicator = communicator;
    action->local = local_rank(&builder->job->communicators[communicator], builder->rank);
    action->datatype = "ncclInt8";
    action->type_bytes = 1;
    return action;
}

void request(struct action *action, enum function function, int peer, int64_t bytes)
{
    size_t count = (size_t)action->request_count + 1;
    struct transfer_request *moved = realloc(action->requests, count * sizeof(*moved));
    if (moved == NULL)
        fail("out of memory");
    action->requests = moved;
    moved[action->request_count++] = (struct transfer_request){(int)function, peer, bytes};
}

static int communicator_new(struct job *job, const char *name, int index, const int *ranks, int size)
{
    job->communicators = grow(job->communicators, &job->communicator_capacity, job->communicator_count + 1,
                              sizeof(*job->communicators));
    struct communicator *communicator = &job->communicators[job->communicator_count];
    memset(communicator, 0, sizeof(*communicator));
    if (index < 0)
        snprintf(communicator->name, sizeof(communicator->name), "%s", name);
    else
        snprintf(communicator->name, sizeof(communicator->name), "%s%d", name, index);
    communicator->hash =
        random_bits(job->options.seed, DRAW_NAME, 77, (uint64_t)job->communicator_count, (uint64_t)size);
    communicator->size = size;
    communicator->channels = 2;
    communicator->ranks = allocate((size_t)size, sizeof(int));
    communicator->ring = allocate((size_t)size, sizeof(int));
    int nodes = 0;
    for (int i = 0; i < size; i++) {
        communicator->ranks[i] = ranks[i];
        communicator->ring[i] = i;
        if (i == 0 || job->processes[ranks[i]].node != job->processes[ranks[i - 1]].node)
            nodes++;
    }
    communicator->node_count = nodes;
    return job->communicator_count++;
}

/*
 * The next communicator of the generation of the program being built: one of an earlier program, or a new
 * one.
 */
static int add_communicator(struct job *job, const char *name, int index, const int *ranks, int size)
{
    struct program *program = job->building;
    int place = program->generation * job->communicators_each + program->communicators++;
    return place < job->communicator_count ? place : communicator_new(job, name, index, ranks, size);
}

/* Splits all ranks into groups of equal size: members of a group are `stride` apart. */
void add_groups(struct job *job, const char *name, int size, int stride, int *of_rank)
{
    int total = job->options.ranks;
    int *ranks = allocate((size_t)size, sizeof(int));
    int index = 0;
    for (int first = 0; first < total; first++) {
        if (first / stride % size != 0)
            continue;
        for (int i = 0; i < size; i++)
            ranks[i] = first + i * stride;
        int communicator = size > 1 ? add_communicator(job, name, index++, ranks, size) : -1;
        for (int i = 0; i < size; i++)
            of_rank[ranks[i]] = communicator;
    }
    free(ranks);
}

int add_world(struct job *job)
{
    int *ranks = allocate((size_t)job->options.ranks, sizeof(int));
    for (int i = 0; i < job->options.ranks; i++)
        ranks[i] = i;
    int world = add_communicator(job, "world", -1, ranks, job->options.ranks);
    free(ranks);
    return world;
}

void finish_program(struct builder *builder)
{
    int end = builder->first_event;
    append(builder, ACTION_SYNC);
    for (int i = 0; i < builder->job->building->length_of_rank[builder->rank]; i++) {
        const struct action *action = &builder->job->building->actions[builder->rank][i];
        end = action->event >= end ? action->event + 1 : end;
    }
    builder->job->events = end > builder->job->events ? end : builder->job->events;
    struct program *program = builder->job->building;
    size_t length = (size_t)program->length_of_rank[builder->rank];
    struct action *fitting = realloc(program->actions[builder->rank], length * sizeof(*fitting));
    program->actions[builder->rank] = fitting != NULL ? fitting : program->actions[builder->rank];
}

int64_t activation_bytes(const struct builder *builder, int64_t bytes)
{
    double length = builder->job->building->sequence_length;
    return length > 1 ? (int64_t)((double)bytes * length) / ROUND_BYTES * ROUND_BYTES : bytes;
}

const struct program *job_program(const struct job *job, int step)
{
    return &job->programs[job->program_of_step[step]];
}

static bool same_kind(const struct program *a, const struct program *b)
{
    return a->microbatches == b->microbatches && a->sequence_length >= b->sequence_length &&
           a->sequence_length <= b->sequence_length && a->evaluates == b->evaluates &&
           a->generation == b->generation;
}

static int program_like(struct job *job, struct program kind, void (*build)(struct job *job))
{
    for (int i = 0; i < job->program_count; i++)
        if (same_kind(&job->programs[i], &kind))
            return i;
    size_t ranks = (size_t)job->options.ranks;
    kind.actions = allocate(ranks, sizeof(*kind.actions));
    kind.length_of_rank = allocate(ranks, sizeof(*kind.length_of_rank));
    job->programs[job->program_count] = kind;
    job->building = &job->programs[job->program_count];
    build(job);
    if (job->communicators_each == 0)
        job->communicators_each = job->communicator_count;
    return job->program_count++;
}

void programs_build(struct job *job, void (*build)(struct job *job))
{
    size_t steps = (size_t)job->options.steps;
    job->programs = allocate(steps, sizeof(*job->programs));
    job->program_of_step = allocate(steps, sizeof(*job->program_of_step));
    for (int step = 0; step < job->options.steps; step++)
        job->program_of_step[step] = program_like(job, situation_program(&job->options, step), build);
}

static void program_release(struct program *program, int ranks)
{
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < program->length_of_rank[rank]; i++)
            free(program->actions[rank][i].requests);
        free(program->actions[rank]);
    }
    free(program->actions);
    free(program->length_of_rank);
}

void programs_release(struct job *job)
{
    for (int i = 0; i < job->program_count; i++)
        program_release(&job->programs[i], job->options.ranks);
    free(job->programs);
    free(job->program_of_step);
}

void job_release(struct job *job)
{
    job_reset(job);
    for (int rank = 0; rank < job->options.ranks; rank++) {
        free(job->processes[rank].records);
        free(job->processes[rank].marks);
        free(job->processes[rank].works);
        free(job->processes[rank].step_begin);
    }
    for (int i = 0; i < job->communicator_count; i++) {
        free(job->communicators[i].ranks);
        free(job->communicators[i].ring);
        free(job->communicators[i].instances);
    }
    free(job->communicators);
    free(job->processes);
    programs_release(job);
    free(job->step_end);
    free(job->rank_step_end);
    free(job->rough.slowness);
    free(job->rough.waited_ns);
    free(job->rough.waits);
    free(job->lateness.times_last);
    free(job->lateness.shorter_us);
    for (int i = 0; i < job->fault_count; i++) {
        contention_release(&job->faults[i]);
        free(job->faults[i].crossing);
        free(job->faults[i].ranks);
    }
}
