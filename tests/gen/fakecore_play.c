#include "fakecore_play.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fakecore_trace.h"

struct fake_operation {
    struct fake_operation *next;
    struct fake_communicator *communicator;
    void *task;
    uint64_t sequence;
    const char *function;
    uint64_t bytes;
    int peer;
    bool hangs;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fake_logger(int level, unsigned long subsystem, const char *file, int line, const char *format, ...)
{
    char text[6000];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    fprintf(stderr, "fake NCCL level %d subsystem %lu %s:%d %s\n", level, subsystem, file, line, text);
}

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Handles are null if the mask or the version omits an event; the count follows the begins. */
static void *start(struct fake_rank *rank, struct fake_communicator *communicator,
                   struct nccl_event_v7 *event, _Atomic uint64_t *counter)
{
    void *handle = NULL;
    if (!((uint64_t)rank->mask & event->type))
        return NULL;
    fake_start(&rank->job->plugin, communicator->context, &handle, event, communicator->hash,
               communicator->name);
    if (handle && counter)
        count(counter);
    return handle;
}

static void journal(struct fake_job *job, const struct fake_operation *operation)
{
    if (!job->journal)
        return;
    uint64_t at = atomic_fetch_add(&job->journal->count, 1);
    if (at >= job->journal->capacity)
        return;
    struct fake_journal_entry *entry = &job->journal->entries[at];
    entry->communicator_hash = operation->communicator->hash;
    entry->sequence = operation->sequence;
    memcpy(&entry->function, operation->function, strnlen(operation->function, 8));
    entry->end_ns = now_ns();
}

/* -- the proxy thread -- */

static void play_step(struct fake_rank *rank, struct fake_communicator *communicator, void *op, int number,
                      bool is_send)
{
    static const int send[] = {NCCL_STEP_SEND_GPU_WAIT, NCCL_STEP_SEND_PEER_WAIT, NCCL_STEP_SEND_WAIT};
    static const int receive[] = {NCCL_STEP_RECV_WAIT, NCCL_STEP_RECV_FLUSH_WAIT, NCCL_STEP_RECV_GPU_WAIT};
    const struct fake_plugin *plugin = &rank->job->plugin;
    struct nccl_event_v7 event = {.type = NCCL_PROXY_STEP, .parent = op, .rank = communicator->rank};
    event.proxy_step.step = number;
    void *step = start(rank, communicator, &event, &rank->job->counts.steps);
    for (int i = 0; i < 3; i++) {
        int state = is_send ? send[i] : receive[i];
        if (plugin->version < 4 && state == NCCL_STEP_SEND_PEER_WAIT)
            continue;
        int times = rank->job->repeat_waits && state == NCCL_STEP_SEND_PEER_WAIT ? 100 : 1;
        for (int j = 0; j < times; j++)
            fake_state(plugin, step, state, 4096, 0);
    }
    fake_stop(plugin, step);
}

static void play_proxy_op(struct fake_rank *rank, const struct fake_operation *operation, int channel,
                          bool is_send)
{
    const struct fake_plugin *plugin = &rank->job->plugin;
    struct fake_communicator *communicator = operation->communicator;
    int peer = (communicator->rank + (is_send ? 1 : communicator->ranks - 1)) % communicator->ranks;
    bool foreign = rank->job->foreign_proxy && channel == 0;
    struct nccl_event_v7 event = {
        .type = NCCL_PROXY_OP, .parent = operation->task, .rank = communicator->rank};
    event.proxy_op = (struct nccl_proxy_op){.pid = foreign ? 1 : getpid(),
                                            .channel = (uint8_t)channel,
                                            .peer = operation->peer >= 0 ? operation->peer : peer,
                                            .steps = rank->job->net_steps,
                                            .chunk_bytes = 524288,
                                            .is_send = is_send};
    if (foreign)
        event.parent =
            (void *)(uintptr_t)0xdeadbeef; /* an address of another process, which must never be followed */
    void *op = start(rank, communicator, &event, &rank->job->counts.proxy_ops);
    if (plugin->version >= 4)
        fake_state(plugin, op, NCCL_PROXY_OP_IN_PROGRESS, 0, 0);
    else
        for (int i = 0; i < 4; i++)
            fake_state(plugin, op, (is_send ? NCCL_SEND_POSTED : NCCL_RECV_POSTED) + i, operation->bytes,
                       rank->job->net_steps);
    for (int step = 0; step < rank->job->net_steps; step++)
        play_step(rank, communicator, op, step, is_send);
    fake_stop(plugin, op);
}

static void play_network(struct fake_rank *rank, const struct fake_operation *operation, int channel)
{
    bool only_send = strcmp(operation->function, "Send") == 0;
    bool only_receive = strcmp(operation->function, "Recv") == 0;
    if (rank->job->net_steps == 0)
        return;
    if (!only_send)
        play_proxy_op(rank, operation, channel, false);
    if (!only_receive)
        play_proxy_op(rank, operation, channel, true);
}

static void wait_forever(struct fake_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    while (!rank->closing)
        pthread_cond_wait(&rank->changed, &rank->lock);
    pthread_mutex_unlock(&rank->lock);
}

/* The phases of a kernel, after it has finished: initial_sync takes 10 ns, final_sync 5. */
static void play_phases(struct fake_rank *rank, struct fake_communicator *communicator, void *kernel,
                        int channel, uint64_t start_clock, uint64_t stop_clock)
{
    static const char *const names[] = {"initial_sync", "compute", "final_sync"};
    const uint64_t clocks[] = {start_clock, start_clock + 10, stop_clock - 5, stop_clock};
    if (rank->job->plugin.version < 7 || rank->job->plugin.has_tags)
        return;
    for (uint8_t phase = 0; phase < 3; phase++) {
        struct nccl_event_v7 event = {.type = NCCL_KERNEL_PHASE, .parent = kernel};
        event.kernel_phase.channel = (uint8_t)channel;
        event.kernel_phase.phase = phase;
        event.kernel_phase.name = names[phase];
        event.kernel_phase.gpu_clock = clocks[phase];
        void *handle = start(rank, communicator, &event, &rank->job->counts.phases);
        fake_state(&rank->job->plugin, handle, NCCL_KERNEL_PHASE_STOP, clocks[phase + 1], 0);
        fake_stop(&rank->job->plugin, handle);
    }
}

static void play_operation(struct fake_rank *rank, struct fake_operation *operation)
{
    const struct fake_plugin *plugin = &rank->job->plugin;
    void *kernels[64];
    uint64_t clocks[64];
    bool to_itself = operation->peer == operation->communicator->rank;
    bool skipped = rank->job->silent_kernels && operation->sequence % 3 == 1;
    int channels = to_itself || skipped ? 0 : rank->job->channels - rank->job->silent_kernels;
    for (int channel = 0; channel < channels; channel++) {
        struct nccl_event_v7 event = {.type = NCCL_KERNEL_CH, .parent = operation->task};
        event.kernel_ch.channel = (uint8_t)channel;
        clocks[channel] = now_ns() + rank->gpu_offset_ns - 900;
        event.kernel_ch.gpu_clock = clocks[channel];
        kernels[channel] = start(rank, operation->communicator, &event, &rank->job->counts.kernels);
    }
    if (operation->hangs) {
        wait_forever(rank);
        return;
    }
    if (rank->job->op_us > 0)
        usleep((useconds_t)rank->job->op_us);
    for (int channel = 0; channel < channels; channel++)
        play_network(rank, operation, channel);
    for (int channel = 0; channel < channels; channel++) {
        uint64_t stop_clock = now_ns() + rank->gpu_offset_ns - 700;
        play_phases(rank, operation->communicator, kernels[channel], channel, clocks[channel], stop_clock);
        fake_state(plugin, kernels[channel], NCCL_KERNEL_CH_STOP, stop_clock, 0);
        fake_stop(plugin, kernels[channel]);
    }
    journal(rank->job, operation);
}

static void *proxy_main(void *argument)
{
    struct fake_rank *rank = argument;
    for (;;) {
        pthread_mutex_lock(&rank->lock);
        while (!rank->first && !rank->closing)
            pthread_cond_wait(&rank->changed, &rank->lock);
        struct fake_operation *operation = rank->first;
        rank->busy = operation != NULL;
        if (operation) {
            rank->first = operation->next;
            if (!rank->first)
                rank->last = NULL;
        }
        pthread_mutex_unlock(&rank->lock);
        if (!operation)
            return NULL;
        struct fake_communicator *communicator = operation->communicator;
        struct nccl_event_v7 control = {.type = NCCL_PROXY_CTRL};
        void *handle = start(rank, communicator, &control, NULL);
        fake_state(&rank->job->plugin, handle, NCCL_CTRL_APPEND, 0, 0);
        fake_state(&rank->job->plugin, handle, NCCL_CTRL_APPEND_END, 2, 0);
        fake_stop(&rank->job->plugin, handle);
        play_operation(rank, operation);
        free(operation);
        pthread_mutex_lock(&rank->lock);
        rank->busy = false;
        pthread_cond_broadcast(&rank->changed);
        pthread_mutex_unlock(&rank->lock);
    }
}

static void enqueue(struct fake_rank *rank, const struct fake_operation *operation)
{
    struct fake_operation *copy = malloc(sizeof(*copy));
    if (!copy)
        abort();
    *copy = *operation;
    copy->next = NULL;
    pthread_mutex_lock(&rank->lock);
    if (rank->last)
        rank->last->next = copy;
    else
        rank->first = copy;
    rank->last = copy;
    pthread_cond_broadcast(&rank->changed);
    pthread_mutex_unlock(&rank->lock);
}

/* -- the application's thread -- */

/* As NCCL 2.31 reports it: the name of the kernel after its function as the algorithm, and no protocol. */
static void take_symmetric(const char *kernel, struct nccl_event_v7 *event)
{
    event->coll.is_symmetric = true;
    event->coll.kernel_variant = kernel;
    event->coll.algorithm = strchr(kernel, '_') + 1;
    event->coll.protocol = "";
}

/* For each function, what NCCL may choose: src/graph/tuning.cc, src/sym_kernels.cc of 2.30. */
static void choose_algorithm(const struct fake_operation *operation, struct nccl_event_v7 *event)
{
    static const struct {
        const char *function, *algorithm, *protocol;
    } plain[] = {{"", "RING", "LL"},
                 {"", "RING", "LL128"},
                 {"", "RING", "SIMPLE"},
                 {"", "NVLS", "SIMPLE"},
                 {"", "COLLNET_DIRECT", "SIMPLE"},
                 {"AllReduce", "TREE", "LL128"},
                 {"AllReduce", "NVLS_TREE", "SIMPLE"},
                 {"AllReduce", "COLLNET_CHAIN", "SIMPLE"},
                 {"AllGather", "PAT", "SIMPLE"},
                 {"ReduceScatter", "PAT", "SIMPLE"}};
    static const char *const kernels[] = {"AllReduce_AGxLL_R",
                                          "AllReduce_AGxLLMC_R",
                                          "AllReduce_RSxLD_AGxST",
                                          "AllReduce_RSxLDMC_AGxSTMC",
                                          "AllReduce_RSxTmaLD_AGxTmaST",
                                          "AllGather_LL",
                                          "AllGather_LLMC",
                                          "AllGather_ST",
                                          "AllGather_STMC",
                                          "AllGather_TmaST",
                                          "AllGather_TmaSTMC",
                                          "AllGather_RailRing_LsaSTMC",
                                          "ReduceScatter_LL",
                                          "ReduceScatter_LD",
                                          "ReduceScatter_LDMC",
                                          "ReduceScatter_TmaLD",
                                          "ReduceScatter_RailA2A_LsaLD",
                                          "ReduceScatter_RailA2A_LsaLDMC"};
    enum { PLAIN = sizeof(plain) / sizeof(plain[0]), KERNELS = sizeof(kernels) / sizeof(kernels[0]) };
    size_t length = strlen(operation->function), at = operation->sequence % (PLAIN + KERNELS);
    if (at < PLAIN && (!*plain[at].function || strcmp(plain[at].function, operation->function) == 0)) {
        event->coll.algorithm = plain[at].algorithm;
        event->coll.protocol = plain[at].protocol;
    } else if (at >= PLAIN && strncmp(kernels[at - PLAIN], operation->function, length) == 0) {
        take_symmetric(kernels[at - PLAIN], event);
    }
}

static void *start_task(struct fake_rank *rank, struct fake_operation *operation, void *call, void *group,
                        uint64_t count_)
{
    static char buffer[64];
    struct fake_communicator *communicator = operation->communicator;
    bool p2p = operation->peer >= 0;
    struct nccl_event_v7 event = {
        .type = p2p ? NCCL_P2P : NCCL_COLL, .parent = call, .rank = communicator->rank};
    if (p2p) {
        event.p2p.function = operation->function;
        event.p2p.buffer = buffer;
        event.p2p.datatype = "ncclInt8";
        event.p2p.count = count_;
        event.p2p.peer = operation->peer;
        event.p2p.channels = (uint8_t)rank->job->channels;
        event.p2p.parent_group = group;
        event.p2p.user_tag = rank->user_tag;
        return start(rank, communicator, &event, &rank->job->counts.p2p);
    }
    event.coll.sequence = operation->sequence;
    event.coll.function = operation->function;
    event.coll.send_buffer = buffer;
    event.coll.recv_buffer = buffer + 32;
    event.coll.count = count_;
    event.coll.datatype = "ncclFloat32";
    event.coll.channels = (uint8_t)rank->job->channels;
    event.coll.warps = 16;
    event.coll.algorithm = "RING";
    event.coll.protocol = "SIMPLE";
    event.coll.parent_group = group;
    event.coll.user_tag = rank->user_tag;
    if (rank->job->every_algorithm)
        choose_algorithm(operation, &event);
    if (rank->job->symmetric && strcmp(operation->function, "AllGather") == 0)
        take_symmetric("AllGather_RailRing_LsaSTMC", &event);
    return start(rank, communicator, &event, &rank->job->counts.coll);
}

static void *start_call(struct fake_rank *rank, const struct fake_operation *operation, void *group,
                        uint64_t count_)
{
    struct nccl_event_v7 event = {.type = operation->peer >= 0 ? NCCL_P2P_API : NCCL_COLL_API,
                                  .parent = group};
    if (operation->peer >= 0) {
        event.p2p_api.function = operation->function;
        event.p2p_api.count = count_;
        event.p2p_api.datatype = "ncclInt8";
        event.p2p_api.stream = (void *)(uintptr_t)0x5500;
        event.p2p_api.user_tag = rank->user_tag;
    } else {
        event.coll_api.function = operation->function;
        event.coll_api.count = count_;
        event.coll_api.datatype = "ncclFloat32";
        event.coll_api.stream = (void *)(uintptr_t)0x5500;
        event.coll_api.user_tag = rank->user_tag;
    }
    return start(rank, operation->communicator, &event, &rank->job->counts.calls);
}

static const struct {
    const char *name;
    int stride, ranks;
} kinds[FAKE_COMMUNICATORS] = {[FAKE_WORLD] = {"world", 1, 0},
                               [FAKE_TP] = {"tp", 1, 2},
                               [FAKE_DP] = {"dp", 2, 2},
                               [FAKE_PP] = {"pp", 4, 2}};

/* The first rank of the communicator of this kind that a rank belongs to. */
static int first_rank(int which, int rank)
{
    return which == FAKE_WORLD ? 0
                               : rank - rank / kinds[which].stride % kinds[which].ranks * kinds[which].stride;
}

static void play_call(struct fake_rank *rank, int which, const char *function, uint64_t count_, int peer,
                      bool hangs)
{
    const struct fake_plugin *plugin = &rank->job->plugin;
    struct fake_communicator *communicator = &rank->communicators[which];
    struct fake_operation operation = {
        .communicator = communicator, .function = function, .bytes = count_, .peer = peer, .hangs = hangs};
    if (communicator->ranks < 2)
        return;
    if (rank->partner_stuck)
        operation.hangs |= first_rank(which, rank->rank) == first_rank(which, rank->job->stuck_rank);
    if (peer < 0)
        operation.sequence = communicator->sequences[strcmp(function, "AllReduce") == 0       ? 0
                                                     : strcmp(function, "AllGather") == 0     ? 1
                                                     : strcmp(function, "ReduceScatter") == 0 ? 2
                                                                                              : 3]++;
    struct nccl_event_v7 event = {.type = NCCL_GROUP_API};
    event.group_api.depth = 1;
    void *group_api = start(rank, communicator, &event, &rank->job->counts.groups);
    void *call = start_call(rank, &operation, group_api, count_);
    fake_stop(plugin, call);
    if (rank->job->double_stops)
        fake_stop(plugin, call);
    event = (struct nccl_event_v7){.type = NCCL_KERNEL_LAUNCH, .parent = group_api};
    event.kernel_launch.stream = (void *)(uintptr_t)0x5500;
    fake_stop(plugin, start(rank, communicator, &event, NULL));
    event = (struct nccl_event_v7){.type = NCCL_GROUP};
    void *group = start(rank, communicator, &event, plugin->version < 5 ? &rank->job->counts.groups : NULL);
    operation.task = start_task(rank, &operation, call, group, count_);
    enqueue(rank, &operation);
    fake_stop(plugin, operation.task);
    fake_stop(plugin, group);
    fake_stop(plugin, group_api);
}

/*
 * The numeric tags of the following operations: two of them have a name, one has none, and the last
 * operations have no number. The process also has a tag.
 */
static void set_own_tag(struct fake_rank *rank, const char *tag)
{
    static const struct {
        const char *tag;
        uint64_t number;
        bool named;
    } numbers[] = {{"forward", 42, true},
                   {"backward", UINT64_C(1) << 63 | 1, false},
                   {"grad \"sync\"\n\\", UINT64_MAX, true},
                   {"optimizer", 0, false}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].tag, tag) != 0)
            continue;
        rank->user_tag = numbers[i].number;
        if (numbers[i].named && rank->job->call_tag_name)
            rank->job->call_tag_name(numbers[i].number, tag);
    }
    if (rank->job->call_tag) {
        rank->job->call_tag("of the process");
        count(&rank->job->counts.tags);
    }
}

static void set_tag(struct fake_rank *rank, const char *tag)
{
    char text[64];
    if (strcmp(rank->job->tags, "config") == 0)
        set_own_tag(rank, tag);
    if (strcmp(rank->job->tags, "numbered") == 0 && rank->job->call_tag) {
        snprintf(text, sizeof(text), "%s %lu", tag, atomic_load(&rank->job->counts.tags));
        rank->job->call_tag(text);
        count(&rank->job->counts.tags);
    }
    if (strcmp(rank->job->tags, "call") == 0 && rank->job->call_tag) {
        rank->job->call_tag(tag);
        count(&rank->job->counts.tags);
    }
    for (int i = 0; i < FAKE_COMMUNICATORS && strcmp(rank->job->tags, "nccl") == 0; i++) {
        const struct fake_communicator *communicator = &rank->communicators[i];
        if (!communicator->context || !(rank->mask & NCCL_USER_TAG))
            continue;
        fake_tag(&rank->job->plugin, communicator->context, communicator->rank, tag);
        count(&rank->job->counts.tags);
    }
}

/* The beginning of this round; of the rest, everything except the last second, which may be lost. */
static void leave_a_trace(const struct fake_job *job)
{
    while (fake_trace_bytes() == job->trace_bytes)
        usleep(10000);
    usleep(1500000);
}

static void play_step_of_training(struct fake_rank *rank, int step)
{
    const struct fake_job *job = rank->job;
    bool hangs = rank->rank == job->hang_rank && step == job->hang_step &&
                 (job->aborts ? job->round == 0 : fake_last_round(job));
    int neighbour = 1 - rank->communicators[FAKE_PP].rank;
    set_tag(rank, "forward");
    for (int layer = 0; layer < job->layers; layer++)
        play_call(rank, FAKE_TP, "AllReduce", 1048576, -1, false);
    play_call(rank, FAKE_PP, neighbour == 1 ? "Send" : "Recv", 4194304, neighbour, false);
    set_tag(rank, "backward");
    for (int layer = 0; layer < job->layers; layer++)
        play_call(rank, FAKE_TP, "AllReduce", 1048576, -1, false);
    play_call(rank, FAKE_PP, neighbour == 1 ? "Recv" : "Send", 4194304, neighbour, false);
    if (rank->rank == job->kill_rank && step == job->kill_step && fake_last_round(job)) {
        leave_a_trace(job);
        raise(SIGKILL);
    }
    rank->partner_stuck = job->stuck_rank >= 0 && step >= job->stuck_step;
    if (rank->partner_stuck && rank->rank == job->stuck_rank)
        sleep(3600);
    set_tag(rank, "grad \"sync\"\n\\");
    play_call(rank, FAKE_DP, "ReduceScatter", 4194304, -1, hangs);
    play_call(rank, FAKE_DP, "AllGather", 4194304, -1, false);
    if (job->silent_kernels)
        play_call(rank, FAKE_WORLD, "Send", 4096, rank->communicators[FAKE_WORLD].rank, false);
    set_tag(rank, "optimizer");
    play_call(rank, FAKE_WORLD, "AllReduce", 16384, -1, false);
}

/* Like a device synchronisation; does not wait for a rank that hangs. */
static void synchronise(struct fake_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    while (rank->first || rank->busy)
        pthread_cond_wait(&rank->changed, &rank->lock);
    pthread_mutex_unlock(&rank->lock);
}

void fake_rank_train(struct fake_rank *rank)
{
    for (int step = 0; step < rank->job->steps; step++) {
        play_step_of_training(rank, step);
        if (rank->rank != rank->job->hang_rank || step < rank->job->hang_step)
            synchronise(rank);
    }
    set_tag(rank, "done");
}

/* The ranks of a communicator are `stride` apart, depending on its kind. */
static void join(struct fake_rank *rank, int which, int ranks)
{
    struct fake_communicator *communicator = &rank->communicators[which];
    int first = first_rank(which, rank->rank);
    communicator->hash = 0x9e3779b97f4a7c15u * (uint64_t)((rank->job->round * 4 + which) * 4096 + first + 1);
    communicator->ranks = ranks;
    communicator->rank = (rank->rank - first) / kinds[which].stride;
    snprintf(communicator->name, sizeof(communicator->name), "%s%d", kinds[which].name, first);
    fake_init(&rank->job->plugin, &communicator->context, &rank->mask, communicator->hash, communicator->name,
              1, ranks, communicator->rank, fake_logger);
}

void fake_rank_start(struct fake_rank *rank, struct fake_job *job, int number)
{
    *rank = (struct fake_rank){.job = job, .rank = number, .gpu_offset_ns = 1700000000000000000u};
    pthread_mutex_init(&rank->lock, NULL);
    pthread_cond_init(&rank->changed, NULL);
    join(rank, FAKE_WORLD, job->ranks);
    join(rank, FAKE_TP, job->ranks >= 2 ? 2 : 1);
    join(rank, FAKE_DP, job->ranks >= 4 ? 2 : 1);
    join(rank, FAKE_PP, job->ranks >= 8 ? 2 : 1);
    if (pthread_create(&rank->proxy, NULL, proxy_main, rank) != 0)
        abort();
}

void fake_rank_drain(struct fake_rank *rank)
{
    pthread_mutex_lock(&rank->lock);
    rank->closing = true;
    pthread_cond_broadcast(&rank->changed);
    pthread_mutex_unlock(&rank->lock);
    pthread_join(rank->proxy, NULL);
}

void fake_rank_finalize(struct fake_rank *rank)
{
    /* Not in the order of creation, because NCCL does not guarantee an order. */
    static const int order[] = {FAKE_TP, FAKE_WORLD, FAKE_PP, FAKE_DP};
    for (int i = 0; i < FAKE_COMMUNICATORS; i++)
        fake_finalize(&rank->job->plugin, rank->communicators[order[i]].context);
}
