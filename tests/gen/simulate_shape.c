/* The shapes of jobs: which communicators exist and what each rank does in a step, in program order. */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000
#define MIB (1 << 20)

struct builder {
    struct job *job;
    int rank;
    int phase;
    int stream;
};

static int add_phase(struct job *job, const char *name)
{
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
    struct job *job = builder->job;
    int length = job->program_length[builder->rank]++;
    if ((length & (length - 1)) == 0) {
        size_t room = length == 0 ? 1 : (size_t)length * 2;
        struct action *moved = realloc(job->program[builder->rank], room * sizeof(*moved));
        if (moved == NULL)
            fail("out of memory");
        job->program[builder->rank] = moved;
    }
    struct action *action = &job->program[builder->rank][length];
    memset(action, 0, sizeof(*action));
    action->kind = kind;
    action->phase = builder->phase;
    action->stream = builder->stream;
    return action;
}

static void phase(struct builder *builder, int index)
{
    builder->phase = index;
    append(builder, ACTION_PHASE);
}

static struct action *compute(struct builder *builder, int64_t us)
{
    struct action *action = append(builder, ACTION_COMPUTE);
    action->duration_ns = us * MICROSECOND;
    return action;
}

static void collective(struct builder *builder, int communicator, enum function function, int64_t bytes,
                       const char *datatype, int type_bytes, int root)
{
    if (builder->job->communicators[communicator].size < 2)
        return;
    struct action *action = append(builder, ACTION_COLLECTIVE);
    action->communicator = communicator;
    action->function = function;
    action->bytes = bytes;
    action->datatype = datatype;
    action->type_bytes = type_bytes;
    action->count = bytes / type_bytes;
    action->root = root;
}

static void record_event(struct builder *builder, int stream, int event)
{
    struct action *action = append(builder, ACTION_RECORD);
    action->stream = stream;
    action->event = event;
}

static void wait_event(struct builder *builder, int stream, int event)
{
    struct action *action = append(builder, ACTION_WAIT);
    action->stream = stream;
    action->event = event;
}

static struct action *group(struct builder *builder, int communicator)
{
    struct action *action = append(builder, ACTION_POINT_TO_POINT);
    action->communicator = communicator;
    action->datatype = "ncclInt8";
    action->type_bytes = 1;
    return action;
}

static void request(struct action *action, enum function function, int peer, int64_t bytes)
{
    size_t count = (size_t)action->request_count + 1;
    struct transfer_request *moved = realloc(action->requests, count * sizeof(*moved));
    if (moved == NULL)
        fail("out of memory");
    action->requests = moved;
    moved[action->request_count++] = (struct transfer_request){(int)function, peer, bytes};
}

static int add_communicator(struct job *job, const char *name, int index, const int *ranks, int size)
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

/* Splits all ranks into groups of equal size: members of a group are `stride` apart. */
static void add_groups(struct job *job, const char *name, int size, int stride, int *of_rank)
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

static int add_world(struct job *job)
{
    int *ranks = allocate((size_t)job->options.ranks, sizeof(int));
    for (int i = 0; i < job->options.ranks; i++)
        ranks[i] = i;
    int world = add_communicator(job, "world", -1, ranks, job->options.ranks);
    free(ranks);
    return world;
}

/* Tensor x data x pipeline parallel: rank = pipeline x (data x tensor) + data x tensor + tensor. */
struct parallel {
    int world;
    int *tensor, *data, *pipeline;
    int forward, backward, grad_sync, optimizer;
};

static void layers(struct builder *builder, const struct parallel *parallel, int64_t us)
{
    for (int layer = 0; layer < builder->job->options.layers; layer++) {
        compute(builder, us);
        int tensor = parallel->tensor[builder->rank];
        if (tensor >= 0)
            collective(builder, tensor, FUNCTION_ALL_REDUCE, 4 * MIB, "ncclBfloat16", 2, 0);
    }
}

static void exchange(struct builder *builder, const struct parallel *parallel, int send_to, int receive_from)
{
    int pipeline = parallel->pipeline[builder->rank];
    int stages = builder->job->options.pp;
    bool sends = send_to >= 0 && send_to < stages;
    bool receives = receive_from >= 0 && receive_from < stages;
    if (pipeline < 0 || (!sends && !receives))
        return;
    struct action *action = group(builder, pipeline);
    if (sends)
        request(action, FUNCTION_SEND, send_to, 4 * MIB);
    if (receives)
        request(action, FUNCTION_RECV, receive_from, 4 * MIB);
}

static void fill_and_drain(struct builder *builder, const struct parallel *parallel, int stage)
{
    int batches = builder->job->options.microbatches;
    phase(builder, parallel->forward);
    for (int batch = 0; batch < batches; batch++) {
        exchange(builder, parallel, -1, stage - 1);
        layers(builder, parallel, 300);
        exchange(builder, parallel, stage + 1, -1);
    }
    phase(builder, parallel->backward);
    for (int batch = 0; batch < batches; batch++) {
        exchange(builder, parallel, -1, stage + 1);
        layers(builder, parallel, 600);
        exchange(builder, parallel, stage - 1, -1);
    }
}

/* One forward, one backward: the sends and receives that cross each other are one group. */
static void one_forward_one_backward(struct builder *builder, const struct parallel *parallel, int stage)
{
    int stages = builder->job->options.pp, batches = builder->job->options.microbatches;
    int warm = stages - 1 - stage < batches ? stages - 1 - stage : batches;
    phase(builder, parallel->forward);
    for (int batch = 0; batch < warm; batch++) {
        exchange(builder, parallel, -1, stage - 1);
        layers(builder, parallel, 300);
        exchange(builder, parallel, stage + 1, -1);
    }
    if (batches > warm)
        exchange(builder, parallel, -1, stage - 1);
    for (int batch = warm; batch < batches; batch++) {
        bool last = batch == batches - 1;
        if (batch > warm)
            phase(builder, parallel->forward);
        layers(builder, parallel, 300);
        exchange(builder, parallel, stage + 1, stage + 1);
        phase(builder, parallel->backward);
        layers(builder, parallel, 600);
        exchange(builder, parallel, stage - 1, last ? -1 : stage - 1);
    }
    if (batches <= warm)
        phase(builder, parallel->backward);
    for (int batch = 0; batch < warm; batch++) {
        exchange(builder, parallel, -1, stage + 1);
        layers(builder, parallel, 600);
        exchange(builder, parallel, stage - 1, -1);
    }
}

static void finish_parallel(struct builder *builder, const struct parallel *parallel)
{
    int data = parallel->data[builder->rank];
    if (data >= 0) {
        int size = builder->job->communicators[data].size;
        phase(builder, parallel->grad_sync);
        compute(builder, 200);
        collective(builder, data, FUNCTION_REDUCE_SCATTER, 32 * MIB / size, "ncclFloat32", 4, 0);
        collective(builder, data, FUNCTION_ALL_GATHER, 32 * MIB / size, "ncclFloat32", 4, 0);
    }
    phase(builder, parallel->optimizer);
    compute(builder, 400);
    collective(builder, parallel->world, FUNCTION_ALL_REDUCE, 65536, "ncclFloat32", 4, 0);
    append(builder, ACTION_SYNC);
}

static void build_parallel(struct job *job, bool interleaved)
{
    struct options *options = &job->options;
    if (options->tp * options->dp * options->pp != options->ranks)
        fail("tp x dp x pp is %d, not %d ranks", options->tp * options->dp * options->pp, options->ranks);
    size_t ranks = (size_t)options->ranks;
    struct parallel parallel = {.world = add_world(job)};
    parallel.tensor = allocate(ranks, sizeof(int));
    parallel.data = allocate(ranks, sizeof(int));
    parallel.pipeline = allocate(ranks, sizeof(int));
    add_groups(job, "tp", options->tp, 1, parallel.tensor);
    add_groups(job, "dp", options->dp, options->tp, parallel.data);
    add_groups(job, "pp", options->pp, options->tp * options->dp, parallel.pipeline);
    parallel.forward = add_phase(job, "forward");
    parallel.backward = add_phase(job, "backward");
    parallel.grad_sync = options->dp > 1 ? add_phase(job, "grad_sync") : -1;
    parallel.optimizer = add_phase(job, "optimizer");
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0};
        int stage = rank / (options->tp * options->dp);
        if (interleaved)
            one_forward_one_backward(&builder, &parallel, stage);
        else
            fill_and_drain(&builder, &parallel, stage);
        finish_parallel(&builder, &parallel);
    }
    free(parallel.tensor);
    free(parallel.data);
    free(parallel.pipeline);
}

static void build_simple(struct job *job)
{
    build_parallel(job, false);
}

static void build_interleaved(struct job *job)
{
    build_parallel(job, true);
}

/* Pure data parallel: buckets are reduced on a stream of their own while backward goes on. */
static void build_ddp(struct job *job)
{
    int world = add_world(job);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int optimizer = add_phase(job, "optimizer");
    int count = job->options.layers;
    job->events = count + 1;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct builder builder = {job, rank, 0, 0};
        phase(&builder, forward);
        for (int layer = 0; layer < count; layer++)
            compute(&builder, 1200);
        phase(&builder, backward);
        for (int layer = 0; layer < count; layer++) {
            compute(&builder, 2400);
            record_event(&builder, 0, layer);
            wait_event(&builder, 1, layer);
            builder.stream = 1;
            collective(&builder, world, FUNCTION_ALL_REDUCE, 8 * MIB, "ncclFloat32", 4, 0);
            builder.stream = 0;
        }
        record_event(&builder, 1, count);
        phase(&builder, optimizer);
        wait_event(&builder, 0, count);
        compute(&builder, 900);
        append(&builder, ACTION_SYNC);
    }
}

struct sharded {
    int *shard;   /* communicator that holds one copy of the parameters */
    int *replica; /* communicator across copies, -1 without */
    int world;
    int forward, backward, optimizer;
};

static void sharded_layer(struct builder *builder, int shard, int64_t bytes, int event)
{
    builder->stream = 1;
    collective(builder, shard, FUNCTION_ALL_GATHER, bytes, "ncclBfloat16", 2, 0);
    builder->stream = 0;
    record_event(builder, 1, event);
}

static void sharded_forward(struct builder *builder, const struct sharded *sharded, int64_t bytes)
{
    int count = builder->job->options.layers, shard = sharded->shard[builder->rank];
    phase(builder, sharded->forward);
    sharded_layer(builder, shard, bytes, 0);
    for (int layer = 0; layer < count; layer++) {
        if (layer + 1 < count)
            sharded_layer(builder, shard, bytes, layer + 1);
        wait_event(builder, 0, layer);
        compute(builder, 1500);
        record_event(builder, 0, 2 * count + layer);
        if (layer + 1 < count && layer >= 1)
            wait_event(builder, 1, 2 * count + layer - 1);
    }
}

static void sharded_backward(struct builder *builder, const struct sharded *sharded, int64_t bytes)
{
    int count = builder->job->options.layers, shard = sharded->shard[builder->rank];
    phase(builder, sharded->backward);
    wait_event(builder, 1, 3 * count - 1);
    sharded_layer(builder, shard, bytes, count);
    for (int layer = 0; layer < count; layer++) {
        if (layer + 1 < count)
            sharded_layer(builder, shard, bytes, count + layer + 1);
        wait_event(builder, 0, count + layer);
        compute(builder, 3000);
        record_event(builder, 0, 3 * count + layer);
        wait_event(builder, 1, 3 * count + layer);
        builder->stream = 1;
        collective(builder, shard, FUNCTION_REDUCE_SCATTER, bytes, "ncclBfloat16", 2, 0);
        int replica = sharded->replica[builder->rank];
        if (replica >= 0)
            collective(builder, replica, FUNCTION_ALL_REDUCE, bytes, "ncclBfloat16", 2, 0);
        builder->stream = 0;
    }
    record_event(builder, 1, 4 * count);
}

static void sharded_step(struct builder *builder, const struct sharded *sharded)
{
    int64_t bytes = 32 * MIB / builder->job->communicators[sharded->shard[builder->rank]].size;
    sharded_forward(builder, sharded, bytes);
    sharded_backward(builder, sharded, bytes);
    phase(builder, sharded->optimizer);
    builder->stream = 1;
    collective(builder, sharded->world, FUNCTION_ALL_REDUCE, 8192, "ncclFloat32", 4, 0);
    builder->stream = 0;
    wait_event(builder, 0, 4 * builder->job->options.layers);
    compute(builder, 300);
    append(builder, ACTION_SYNC);
}

static void build_sharded(struct job *job, bool hybrid)
{
    struct options *options = &job->options;
    struct sharded sharded = {.world = add_world(job)};
    sharded.shard = allocate((size_t)options->ranks, sizeof(int));
    sharded.replica = allocate((size_t)options->ranks, sizeof(int));
    if (hybrid) {
        int size = options->ranks_per_node > 1 ? options->ranks_per_node : 2;
        if (options->ranks % size != 0 || options->ranks / size < 2)
            fail("hsdp needs at least two groups of %d ranks", size);
        add_groups(job, "shard", size, 1, sharded.shard);
        add_groups(job, "replica", options->ranks / size, size, sharded.replica);
    } else {
        for (int rank = 0; rank < options->ranks; rank++) {
            sharded.shard[rank] = sharded.world;
            sharded.replica[rank] = -1;
        }
    }
    sharded.forward = add_phase(job, "forward");
    sharded.backward = add_phase(job, "backward");
    sharded.optimizer = add_phase(job, "optimizer");
    job->events = 4 * options->layers + 1;
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0};
        sharded_step(&builder, &sharded);
    }
    free(sharded.shard);
    free(sharded.replica);
}

static void build_fsdp(struct job *job)
{
    build_sharded(job, false);
}

static void build_hsdp(struct job *job)
{
    build_sharded(job, true);
}

static void all_to_all(struct builder *builder, int communicator, int64_t bytes)
{
    struct communicator *members = &builder->job->communicators[communicator];
    struct action *action = group(builder, communicator);
    for (int peer = 0; peer < members->size; peer++) {
        if (members->ranks[peer] == builder->rank)
            continue;
        request(action, FUNCTION_SEND, peer, bytes);
        request(action, FUNCTION_RECV, peer, bytes);
    }
}

static void expert_layer(struct builder *builder, int experts, int64_t us)
{
    compute(builder, us);
    all_to_all(builder, experts, MIB / 2);
    compute(builder, us)->imbalance = 0.12;
    all_to_all(builder, experts, MIB / 2);
}

/* Expert parallel: tokens travel by AlltoAll, made of Send and Recv; how many is up to the data. */
static void build_moe(struct job *job)
{
    struct options *options = &job->options;
    int size = options->ranks < 8 ? options->ranks : 8;
    if (options->ranks % size != 0)
        fail("moe needs a multiple of %d ranks", size);
    int world = add_world(job);
    int *experts = allocate((size_t)options->ranks, sizeof(int));
    add_groups(job, "ep", size, 1, experts);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int grad_sync = add_phase(job, "grad_sync"), optimizer = add_phase(job, "optimizer");
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0};
        phase(&builder, forward);
        for (int layer = 0; layer < options->layers; layer++)
            expert_layer(&builder, experts[rank], 700);
        phase(&builder, backward);
        for (int layer = 0; layer < options->layers; layer++)
            expert_layer(&builder, experts[rank], 1400);
        phase(&builder, grad_sync);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 16 * MIB, "ncclBfloat16", 2, 0);
        phase(&builder, optimizer);
        compute(&builder, 500);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 4096, "ncclFloat32", 4, 0);
        append(&builder, ACTION_SYNC);
    }
    free(experts);
}

/* Sharded optimizer state: each bucket is reduced to its owner, who broadcasts the updated parameters. */
static void build_zero1(struct job *job)
{
    struct options *options = &job->options;
    int world = add_world(job);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int optimizer = add_phase(job, "optimizer");
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0};
        phase(&builder, forward);
        for (int layer = 0; layer < options->layers; layer++)
            compute(&builder, 1000);
        phase(&builder, backward);
        for (int layer = 0; layer < options->layers; layer++) {
            compute(&builder, 2000);
            collective(&builder, world, FUNCTION_REDUCE, 8 * MIB, "ncclFloat32", 4, layer % options->ranks);
        }
        phase(&builder, optimizer);
        compute(&builder, 400);
        for (int layer = 0; layer < options->layers; layer++)
            collective(&builder, world, FUNCTION_BROADCAST, 4 * MIB, "ncclBfloat16", 2,
                       layer % options->ranks);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 4096, "ncclFloat32", 4, 0);
        append(&builder, ACTION_SYNC);
    }
}

static const struct shape {
    const char *name;
    void (*build)(struct job *job);
    const char *help;
} shapes[] = {
    {"3d", build_simple, "tensor x data x pipeline parallel, all forwards then all backwards, one stream"},
    {"1f1b", build_interleaved, "the same with one forward, one backward pipelining"},
    {"ddp", build_ddp, "data parallel, buckets reduced on a second stream during backward"},
    {"fsdp", build_fsdp, "fully sharded, AllGather prefetched on a second stream, ReduceScatter in backward"},
    {"hsdp", build_hsdp, "sharded inside a node, AllReduce across nodes"},
    {"moe", build_moe, "expert parallel, AlltoAll made of grouped Send and Recv"},
    {"zero1", build_zero1, "Reduce to the owner of each bucket, Broadcast of the result"},
};

void shape_build(struct job *job)
{
    job->events = 1;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (strcmp(shapes[i].name, job->options.shape) == 0) {
            shapes[i].build(job);
            return;
        }
    fail("no shape is called '%s'; --list-shapes names them", job->options.shape);
}

void shape_list(FILE *out)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        fprintf(out, "%-6s %s\n", shapes[i].name, shapes[i].help);
}

void job_release(struct job *job)
{
    job_reset(job);
    for (int rank = 0; rank < job->options.ranks; rank++) {
        for (int i = 0; i < job->program_length[rank]; i++)
            free(job->program[rank][i].requests);
        free(job->program[rank]);
        free(job->processes[rank].records);
        free(job->processes[rank].marks);
    }
    for (int i = 0; i < job->communicator_count; i++) {
        free(job->communicators[i].ranks);
        free(job->communicators[i].ring);
        free(job->communicators[i].instances);
    }
    free(job->communicators);
    free(job->processes);
    free(job->program);
    free(job->program_length);
    free(job->step_end);
    free(job->rank_step_end);
    free(job->rough.slowness);
}
