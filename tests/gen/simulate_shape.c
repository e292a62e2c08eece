/* The shapes of jobs: which communicators exist, and what each rank does in a step, in program order. */
#include "simulate_program.h"

#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)

/* One pass without gradients over a batch; the function depends on the shape. */
typedef void forward_pass(struct builder *builder, const void *what);

/* Passes without gradients, and the loss of all of them, at the end of a step. */
static void evaluate(struct builder *builder, forward_pass *pass, const void *what, int world)
{
    struct job *job = builder->job;
    const char *tag = job->options.situation.evaluate_tag;
    if (!job->building->evaluates)
        return;
    phase(builder, add_phase(job, tag != NULL ? tag : "forward"));
    for (int batch = 0; batch < job->options.situation.evaluate_batches; batch++)
        pass(builder, what);
    builder->stream = 0;
    collective(builder, world, FUNCTION_ALL_REDUCE, 8, "ncclFloat32", 4, 0);
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
            collective(builder, tensor, FUNCTION_ALL_REDUCE, activation_bytes(builder, 4 * MIB),
                       "ncclBfloat16", 2, 0);
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
        request(action, FUNCTION_SEND, send_to, activation_bytes(builder, 4 * MIB));
    if (receives)
        request(action, FUNCTION_RECV, receive_from, activation_bytes(builder, 4 * MIB));
}

static void parallel_pass(struct builder *builder, const void *what)
{
    const struct parallel *parallel = what;
    int stage = builder->rank / (builder->job->options.tp * builder->job->options.dp);
    exchange(builder, parallel, -1, stage - 1);
    layers(builder, parallel, 300);
    exchange(builder, parallel, stage + 1, -1);
}

static void fill_and_drain(struct builder *builder, const struct parallel *parallel, int stage)
{
    int batches = builder->job->building->microbatches;
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

/* One forward, one backward: sends and receives in opposite directions are one group. */
static void one_forward_one_backward(struct builder *builder, const struct parallel *parallel, int stage)
{
    int stages = builder->job->options.pp, batches = builder->job->building->microbatches;
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
    evaluate(builder, parallel_pass, parallel, parallel->world);
    finish_program(builder);
}

/* One microbatch through one chunk of the model: its data come on stream 2 and leave on stream 1. */
static void chunk_pass(struct builder *builder, const struct parallel *parallel, int receive_from,
                       int send_to, int64_t us, int event)
{
    int pipeline = parallel->pipeline[builder->rank];
    int64_t bytes = activation_bytes(builder, 4 * MIB);
    if (receive_from >= 0) {
        builder->stream = 2;
        request(group(builder, pipeline), FUNCTION_RECV, receive_from, bytes);
        record_event(builder, 2, event);
        wait_event(builder, 0, event);
    }
    builder->stream = 0;
    layers(builder, parallel, us);
    if (send_to < 0)
        return;
    record_event(builder, 0, event + 1);
    wait_event(builder, 1, event + 1);
    builder->stream = 1;
    request(group(builder, pipeline), FUNCTION_SEND, send_to, bytes);
    builder->stream = 0;
}

/*
 * Interleaved: a stage has several chunks of the model, and data that leave the last stage come back to the
 * first one for the next chunk. As many microbatches as there are stages pass one chunk, then the next chunk.
 */
static void interleaved_chunks(struct builder *builder, const struct parallel *parallel, int stage)
{
    int stages = builder->job->options.pp, batches = builder->job->building->microbatches;
    int chunks = builder->job->options.chunks, next = (stage + 1) % stages, event = 0;
    int before = (stage + stages - 1) % stages;
    for (int backward = 0; backward < 2; backward++) {
        phase(builder, backward ? parallel->backward : parallel->forward);
        for (int first = 0; first < batches; first += stages)
            for (int turn = 0; turn < chunks; turn++)
                for (int batch = first; batch < first + stages && batch < batches; batch++, event += 2) {
                    int place = (backward ? chunks - 1 - turn : turn) * stages + stage;
                    int above = place + 1 < chunks * stages ? next : -1, below = place > 0 ? before : -1;
                    chunk_pass(builder, parallel, backward ? above : below, backward ? below : above,
                               (backward ? 600 : 300) / chunks, event);
                }
    }
    record_event(builder, 1, event);
    wait_event(builder, 0, event);
}

static void build_parallel(struct job *job,
                           void (*order)(struct builder *builder, const struct parallel *parallel, int stage))
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
        struct builder builder = {job, rank, 0, 0, 0};
        order(&builder, &parallel, rank / (options->tp * options->dp));
        finish_parallel(&builder, &parallel);
    }
    free(parallel.tensor);
    free(parallel.data);
    free(parallel.pipeline);
}

static void build_simple(struct job *job)
{
    build_parallel(job, fill_and_drain);
}

static void build_alternating(struct job *job)
{
    build_parallel(job, one_forward_one_backward);
}

static void build_interleaved(struct job *job)
{
    if (job->options.pp < 2)
        fail("interleaved: at least 2 stages");
    build_parallel(job, interleaved_chunks);
}

static void layers_alone(struct builder *builder, int64_t us)
{
    for (int layer = 0; layer < builder->job->options.layers; layer++)
        compute(builder, us);
}

static void replica_pass(struct builder *builder, const void *what)
{
    layers_alone(builder, *(const int64_t *)what);
}

/* Batches whose gradients stay on the rank. */
static void accumulate(struct builder *builder, int forward, int backward, int64_t forward_us)
{
    for (int batch = 1; batch < builder->job->building->microbatches; batch++) {
        phase(builder, forward);
        layers_alone(builder, forward_us);
        phase(builder, backward);
        layers_alone(builder, 2 * forward_us);
    }
}

/* Pure data parallel: buckets are reduced on a separate stream while backward continues. */
static void build_ddp(struct job *job)
{
    int world = add_world(job);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int optimizer = add_phase(job, "optimizer");
    int count = job->options.layers;
    const int64_t forward_us = 1200;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct builder builder = {job, rank, 0, 0, 0};
        accumulate(&builder, forward, backward, forward_us);
        phase(&builder, forward);
        layers_alone(&builder, forward_us);
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
        evaluate(&builder, replica_pass, &forward_us, world);
        finish_program(&builder);
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

static int64_t shard_bytes(const struct builder *builder, const struct sharded *sharded)
{
    return 32 * MIB / builder->job->communicators[sharded->shard[builder->rank]].size;
}

static void sharded_forward(struct builder *builder, const struct sharded *sharded)
{
    int count = builder->job->options.layers, shard = sharded->shard[builder->rank];
    int64_t bytes = shard_bytes(builder, sharded);
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

static void sharded_pass(struct builder *builder, const void *what)
{
    builder->first_event += 4 * builder->job->options.layers + 1;
    sharded_forward(builder, what);
}

static void sharded_backward(struct builder *builder, const struct sharded *sharded)
{
    int count = builder->job->options.layers, shard = sharded->shard[builder->rank];
    int64_t bytes = shard_bytes(builder, sharded);
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
    for (int batch = 0; batch < builder->job->building->microbatches; batch++) {
        builder->first_event = batch * (4 * builder->job->options.layers + 1);
        phase(builder, sharded->forward);
        sharded_forward(builder, sharded);
        sharded_backward(builder, sharded);
    }
    phase(builder, sharded->optimizer);
    builder->stream = 1;
    collective(builder, sharded->world, FUNCTION_ALL_REDUCE, 8192, "ncclFloat32", 4, 0);
    builder->stream = 0;
    wait_event(builder, 0, 4 * builder->job->options.layers);
    compute(builder, 300);
    evaluate(builder, sharded_pass, sharded, sharded->world);
    finish_program(builder);
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
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0, 0};
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

static void all_to_all(struct builder *builder, int communicator, int64_t bytes, enum load load, int layer)
{
    struct communicator *members = &builder->job->communicators[communicator];
    struct action *action = group(builder, communicator);
    action->load = load;
    action->layer = layer;
    for (int peer = 0; peer < members->size; peer++) {
        if (members->ranks[peer] == builder->rank)
            continue;
        request(action, FUNCTION_SEND, peer, bytes);
        request(action, FUNCTION_RECV, peer, bytes);
    }
}

static void expert_layer(struct builder *builder, int experts, int64_t us, int layer)
{
    int64_t bytes = activation_bytes(builder, MIB / 2);
    compute(builder, us);
    all_to_all(builder, experts, bytes, LOAD_TO_EXPERTS, layer);
    struct action *work = compute(builder, us);
    work->load = LOAD_OF_EXPERT;
    work->layer = layer;
    all_to_all(builder, experts, bytes, LOAD_FROM_EXPERTS, layer);
}

static void expert_layers(struct builder *builder, int experts, int64_t us)
{
    for (int layer = 0; layer < builder->job->options.layers; layer++)
        expert_layer(builder, experts, us, layer);
}

static void expert_pass(struct builder *builder, const void *what)
{
    expert_layers(builder, *(const int *)what, 700);
}

/*
 * Expert parallel: tokens travel by AlltoAll, which consists of Send and Recv; the data determine how many.
 */
static void build_moe(struct job *job)
{
    struct options *options = &job->options;
    int size = experts_of(options);
    if (options->ranks % size != 0)
        fail("moe: the number of ranks must be a multiple of %d", size);
    int world = add_world(job);
    int *experts = allocate((size_t)options->ranks, sizeof(int));
    add_groups(job, "ep", size, 1, experts);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int grad_sync = add_phase(job, "grad_sync"), optimizer = add_phase(job, "optimizer");
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0, 0};
        for (int batch = 0; batch < job->building->microbatches; batch++) {
            phase(&builder, forward);
            expert_layers(&builder, experts[rank], 700);
            phase(&builder, backward);
            expert_layers(&builder, experts[rank], 1400);
        }
        phase(&builder, grad_sync);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 16 * MIB, "ncclBfloat16", 2, 0);
        phase(&builder, optimizer);
        compute(&builder, 500);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 4096, "ncclFloat32", 4, 0);
        evaluate(&builder, expert_pass, &experts[rank], world);
        finish_program(&builder);
    }
    free(experts);
}

/*
 * Attention over a sequence that is split over a ring of ranks: while a rank computes with one block of keys
 * and values, it passes this block on and receives the next one.
 */
static void ring_attention(struct builder *builder, int ring, int64_t us, int64_t bytes)
{
    const struct communicator *members = &builder->job->communicators[ring];
    int size = members->size, self = 0;
    while (members->ranks[self] != builder->rank)
        self++;
    compute(builder, us);
    for (int block = 0; block < size; block++) {
        if (block + 1 < size) {
            if (block == 0) {
                record_event(builder, 0, builder->first_event);
                wait_event(builder, 1, builder->first_event);
            }
            builder->stream = 1;
            struct action *pass = group(builder, ring);
            request(pass, FUNCTION_SEND, (self + 1) % size, bytes);
            request(pass, FUNCTION_RECV, (self + size - 1) % size, bytes);
            builder->stream = 0;
        }
        compute(builder, us);
        if (block + 1 < size) {
            record_event(builder, 1, builder->first_event + 1);
            wait_event(builder, 0, builder->first_event + 1);
        }
        builder->first_event += 2;
    }
}

static void attention_layers(struct builder *builder, int ring, int times)
{
    const struct options *options = &builder->job->options;
    for (int layer = 0; layer < options->layers; layer++)
        ring_attention(builder, ring, times * 1600 / options->cp, times * activation_bytes(builder, MIB / 2));
}

static void attention_pass(struct builder *builder, const void *what)
{
    attention_layers(builder, *(const int *)what, 1);
}

static void build_context(struct job *job)
{
    int world = add_world(job);
    int *ring = allocate((size_t)job->options.ranks, sizeof(int));
    add_groups(job, "cp", job->options.cp, 1, ring);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int grad_sync = add_phase(job, "grad_sync"), optimizer = add_phase(job, "optimizer");
    for (int rank = 0; rank < job->options.ranks; rank++) {
        struct builder builder = {job, rank, 0, 0, 0};
        for (int batch = 0; batch < job->building->microbatches; batch++) {
            phase(&builder, forward);
            attention_layers(&builder, ring[rank], 1);
            phase(&builder, backward);
            attention_layers(&builder, ring[rank], 2);
        }
        phase(&builder, grad_sync);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 16 * MIB, "ncclBfloat16", 2, 0);
        phase(&builder, optimizer);
        compute(&builder, 500);
        collective(&builder, world, FUNCTION_ALL_REDUCE, 4096, "ncclFloat32", 4, 0);
        evaluate(&builder, attention_pass, &ring[rank], world);
        finish_program(&builder);
    }
    free(ring);
}

/* Sharded optimizer state: each bucket is reduced to its owner, which broadcasts the updated parameters. */
static void build_zero1(struct job *job)
{
    struct options *options = &job->options;
    int world = add_world(job);
    int forward = add_phase(job, "forward"), backward = add_phase(job, "backward");
    int optimizer = add_phase(job, "optimizer");
    const int64_t forward_us = 1000;
    for (int rank = 0; rank < options->ranks; rank++) {
        struct builder builder = {job, rank, 0, 0, 0};
        accumulate(&builder, forward, backward, forward_us);
        phase(&builder, forward);
        layers_alone(&builder, forward_us);
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
        evaluate(&builder, replica_pass, &forward_us, world);
        finish_program(&builder);
    }
}

static const struct shape {
    const char *name;
    void (*build)(struct job *job);
    const char *help;
} shapes[] = {
    {"3d", build_simple, "tensor x data x pipeline parallel, all forwards then all backwards, one stream"},
    {"1f1b", build_alternating, "the same with one forward, one backward pipelining"},
    {"interleaved", build_interleaved,
     "the same with several chunks of the model in each stage, three streams"},
    {"ddp", build_ddp, "data parallel, buckets reduced on a second stream during backward"},
    {"fsdp", build_fsdp, "fully sharded, AllGather prefetched on a second stream, ReduceScatter in backward"},
    {"hsdp", build_hsdp, "sharded inside a node, AllReduce across nodes"},
    {"moe", build_moe, "expert parallel, AlltoAll made of grouped Send and Recv"},
    {"context", build_context, "ring attention: keys and values travel around a ring during computation"},
    {"zero1", build_zero1, "Reduce to the owner of each bucket, Broadcast of the result"},
};

void shape_build(struct job *job)
{
    job->events = 1;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (strcmp(shapes[i].name, job->options.shape) == 0) {
            programs_build(job, shapes[i].build);
            return;
        }
    fail("unknown shape '%s'; --list-shapes lists the names", job->options.shape);
}

void shape_list(FILE *out)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        fprintf(out, "%-11s %s\n", shapes[i].name, shapes[i].help);
}
