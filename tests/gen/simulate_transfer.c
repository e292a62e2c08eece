/*
 * Data movement of one operation, chunk by chunk: the GPU copies into a buffer slot, the proxy posts it, the
 * link carries it, the receiver's GPU takes it out, and the slot is free again. Only links between nodes have
 * proxies.
 */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 8
#define NVLINK_WINDOW 2 /* a chunk takes half of the eight steps of a buffer */
#define MICROSECOND 1000
#define SLICE_BYTES (1 << 20)
#define POINT_TO_POINT_SLICE_BYTES (1 << 19)

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* One direction between two ranks of a communicator, on one channel of one operation. */
struct link {
    struct job *job;
    int sender, receiver; /* global ranks */
    int step, phase;
    bool network;
    double bytes_per_ns;
    int64_t latency;
    uint64_t key;  /* of this operation and channel, for random draws */
    uint64_t luck; /* of that key */
    double edge;   /* what this pair of ranks always takes longer */
    int64_t busy_until;
    struct slowness slow;
    int64_t stall;             /* its first send stalls for this time */
    struct proxy *send, *recv; /* NULL inside a node */
    int64_t done[WINDOW];      /* by slot: when the sender got it back */
    int64_t consumed[WINDOW];  /* by slot: when the receiver's GPU had emptied it */
    int64_t posted_recv[WINDOW];
    int64_t landed;  /* in the receiver's memory */
    int64_t flushed; /* as its proxy notes it */
    int64_t arrived; /* and flushed, so that its GPU may read it */
};

static uint64_t operation_key(const struct communicator *communicator, int index, int channel)
{
    return communicator->hash ^ ((uint64_t)index << 20) ^ (uint64_t)channel;
}

static struct proxy *proxy_add(const struct job *job, struct record *record, bool send, int channel, int peer,
                               int steps, int64_t chunk, int64_t bytes)
{
    struct proxy *moved = realloc(record->proxy, ((size_t)record->proxy_count + 1) * sizeof(*moved));
    if (moved == NULL)
        fail("out of memory");
    record->proxy = moved;
    struct proxy *proxy = &moved[record->proxy_count++];
    *proxy = (struct proxy){.channel = channel, .send = send, .peer = peer, .steps = steps};
    proxy->chunk_bytes = chunk;
    proxy->bytes = bytes;
    if (job->network_steps)
        proxy->step = allocate((size_t)steps, sizeof(*proxy->step));
    return proxy;
}

/* A proxy thread acts when it has a core. */
static int64_t proxy_acts(const struct link *link, int rank, int64_t at)
{
    return link->network ? contended_until(link->job, rank, link->step, link->phase, CONTENDED_PROXY, at)
                         : at;
}

/* The proxy thread wakes up some time after the enqueue, and serves an operation after the previous one. */
static void proxy_schedule(struct job *job, struct record *record, struct proxy *proxy, uint64_t key,
                           int64_t previous)
{
    double wake = 30 + 25 * random_exponential(job->options.seed, DRAW_LINK, key, (uint64_t)proxy->send, 99);
    int rank = job->communicators[record->communicator].ranks[record->rank_in_communicator];
    proxy->scheduled = contended_until(job, rank, record->step, record->phase, CONTENDED_PROXY,
                                       record->group_end + (int64_t)(wake * MICROSECOND));
    proxy->progress = later(proxy->scheduled + 2 * MICROSECOND, previous);
    proxy->end = UNKNOWN;
}

static int64_t service(const struct link *link, int64_t bytes, int step)
{
    uint64_t luck = random_on(link->luck, (uint64_t)step);
    double noise = link->job->options.noise;
    double spread = (link->network ? 0.25 : 0.02) * noise;
    double factor = exp(spread * normal_of(random_on(luck, 1)));
    if (link->network && unit_of(random_on(luck, 2)) < 0.005)
        factor += noise * exponential_of(random_on(luck, 3));
    double overhead = link->network ? 4 + 8 * noise * exponential_of(random_on(luck, 6)) : 0;
    return (int64_t)(((double)bytes / link->bytes_per_ns * factor * link->edge + overhead * MICROSECOND) *
                     link->slow.service);
}

static void note_send(struct link *link, int step, int64_t posted, int64_t ready, int64_t credit)
{
    struct proxy *proxy = link->send;
    int64_t done = link->done[step % WINDOW];
    if (proxy == NULL || step >= proxy->steps)
        return;
    noise_waited(link->job, link->sender, link->step, done - credit);
    if (proxy->step != NULL)
        proxy->step[step] = (struct proxy_step){{posted, ready, credit, done}};
    proxy->recorded = step + 1;
    proxy->end = later(proxy->end, done + 300);
}

static void note_receive(struct link *link, int step, int64_t posted)
{
    struct proxy *proxy = link->recv;
    if (proxy == NULL || step >= proxy->steps)
        return;
    link->flushed = later(link->arrived, posted + 200);
    if (proxy->step == NULL)
        return;
    proxy->step[step].time[0] = posted;
    proxy->step[step].time[1] = later(link->landed, posted + 100);
    proxy->step[step].time[2] = link->flushed;
}

/* The receiver's GPU has taken this step out of its slot. */
static void link_consume(struct link *link, int step, int64_t at)
{
    link->consumed[step % WINDOW] = at;
    struct proxy *proxy = link->recv;
    if (proxy == NULL || step >= proxy->steps)
        return;
    int64_t taken = proxy_acts(link, link->receiver, later(link->flushed, at) + 700);
    if (proxy->step != NULL)
        proxy->step[step].time[3] = taken;
    proxy->recorded = step + 1;
    proxy->end = later(proxy->end, taken + 300);
}

/*
 * When the sender's GPU has a free slot: after the proxy has sent what was in it. Inside a node the sender
 * writes directly into the receiver's memory, so a slot is free when the receiver's GPU has taken it out;
 * without contention that is soon enough.
 */
static int64_t link_slot_free(const struct link *link, int step)
{
    if (!link->network && link->job->contended)
        return step < NVLINK_WINDOW ? UNKNOWN : link->consumed[(step - NVLINK_WINDOW) % WINDOW];
    return step < WINDOW ? UNKNOWN : link->done[step % WINDOW];
}

/* Large messages are often still being flushed to the GPU when they have arrived. */
static int64_t flush_time(const struct link *link, int64_t bytes, int step)
{
    double draw = exponential_of(random_on(random_on(link->luck, (uint64_t)step), 4));
    double us = 0.5 + draw * (bytes < 65536 ? 1 : 1 + 90 * link->job->options.noise * (draw > 0.7));
    return (int64_t)(us * MICROSECOND);
}

/* Sends a step whose data the GPU had in its slot at `ready`; sets arrived. */
static void link_send(struct link *link, int step, int64_t ready, int64_t bytes)
{
    int64_t posted = link->send != NULL ? link->send->progress + 400 * (step % WINDOW) : ready;
    int64_t receiver_posted = link->recv != NULL ? link->recv->progress + 400 * (step % WINDOW) : ready;
    if (step >= WINDOW) {
        posted = later(posted, link->done[step % WINDOW] + MICROSECOND);
        receiver_posted = later(receiver_posted, link->consumed[step % WINDOW] + MICROSECOND);
    }
    posted = proxy_acts(link, link->sender, posted);
    receiver_posted = proxy_acts(link, link->receiver, receiver_posted);
    int64_t data = proxy_acts(link, link->sender, later(ready, posted) + 200);
    int64_t credit = proxy_acts(link, link->sender, later(data, receiver_posted) + 100);
    int64_t begin = later(credit, link->busy_until);
    int64_t delay = 0;
    if (link->network) {
        begin = fault_pause_until(link->job, link->sender, link->step, link->phase, begin);
        delay = (step == 0 ? link->stall : 0) +
                fault_send_delay(link->job, link->sender, link->receiver, link->step, link->phase);
    }
    int64_t carry = service(link, bytes, step);
    carry = (int64_t)((double)carry *
                      fault_carries(link->job, link->sender, link->receiver, link->step, link->phase));
    int64_t finish = begin + delay + carry;
    link->busy_until = finish;
    link->landed = proxy_acts(link, link->receiver, finish + link->latency);
    link->arrived =
        proxy_acts(link, link->receiver, link->landed + (link->network ? flush_time(link, bytes, step) : 0));
    link->done[step % WINDOW] = proxy_acts(
        link, link->sender, finish + link->latency / 2 + (int64_t)((double)carry * link->slow.linger));
    note_send(link, step, posted, data, credit);
    note_receive(link, step, receiver_posted);
}

struct endpoint {
    struct record *record;
    int global;
    int local;
};

static struct endpoint endpoint_of(const struct communicator *communicator, const struct instance *instance,
                                   int local)
{
    return (struct endpoint){instance->member[local], communicator->ranks[local], local};
}

static int64_t previous_end(const struct record *record, bool send, int channel)
{
    int64_t end = UNKNOWN;
    for (int i = 0; i < record->proxy_count; i++)
        if (record->proxy[i].send == send && record->proxy[i].channel == channel)
            end = later(end, record->proxy[i].end);
    return end;
}

static void link_open(struct link *link, struct job *job, struct endpoint from, struct endpoint to,
                      int channel, uint64_t key, int channels)
{
    memset(link, 0, sizeof(*link));
    link->job = job;
    link->sender = from.global;
    link->receiver = to.global;
    link->step = from.record->step;
    link->phase = from.record->phase;
    link->network = job->processes[from.global].node != job->processes[to.global].node;
    double gigabytes = link->network ? job->options.network_gbs : job->options.nvlink_gbs;
    double congestion = 0.05 * job->options.noise * random_normal(job->options.seed, DRAW_LINK, key, 5, 5);
    link->bytes_per_ns = gigabytes / channels / exp(link->network ? congestion : congestion / 5);
    link->latency = link->network ? 15 * MICROSECOND : 1500;
    link->key = key ^ ((uint64_t)from.global << 40) ^ ((uint64_t)to.global << 50);
    link->luck = random_on(job->luck[DRAW_LINK], link->key);
    link->edge =
        1 + 0.02 * job->options.noise *
                random_normal(job->options.seed, DRAW_EDGE, (uint64_t)from.global, (uint64_t)to.global, 0);
    link->busy_until = UNKNOWN;
    link->slow = (struct slowness){1, 0};
    if (!link->network)
        return;
    link->slow = noise_link(job, from.global, to.global, link->step);
    if (channel == from.record->first_channel)
        link->stall = noise_stall(job, from.global, to.global, from.record->group);
}

/*
 * The proxies of a link between nodes. All are added before any pointer to them is taken, because adding
 * moves the array.
 */
static void link_proxies(struct link *link, struct endpoint from, struct endpoint to, int channel, int steps,
                         int64_t chunk, int64_t bytes, struct record *before_from, struct record *before_to)
{
    if (!link->network)
        return;
    int64_t earlier = before_from != NULL ? previous_end(before_from, true, channel) : UNKNOWN;
    struct proxy *send = proxy_add(link->job, from.record, true, channel, to.local, steps, chunk, bytes);
    proxy_schedule(link->job, from.record, send, link->key, earlier);
    earlier = before_to != NULL ? previous_end(before_to, false, channel) : UNKNOWN;
    struct proxy *recv = proxy_add(link->job, to.record, false, channel, from.local, steps, chunk, bytes);
    proxy_schedule(link->job, to.record, recv, link->key, earlier);
}

static struct proxy *proxy_find(struct record *record, bool send, int channel, int peer)
{
    for (int i = record->proxy_count - 1; i >= 0; i--)
        if (record->proxy[i].send == send && record->proxy[i].channel == channel &&
            record->proxy[i].peer == peer)
            return &record->proxy[i];
    return NULL;
}

static void link_attach(struct link *link, struct endpoint from, struct endpoint to, int channel)
{
    if (!link->network)
        return;
    link->send = proxy_find(from.record, true, channel, to.local);
    link->recv = proxy_find(to.record, false, channel, from.local);
}

static struct record *record_before(const struct communicator *communicator, const struct instance *instance,
                                    int local)
{
    int before = instance->index - 1 - communicator->first_instance;
    return before >= 0 ? communicator->instances[before]->member[local] : NULL;
}

/* One channel is a few thread blocks: slow to and from network buffers, at link speed inside a node. */
static int64_t gpu_copy(const struct job *job, int64_t bytes, bool network, uint64_t key, int step)
{
    uint64_t luck = random_on(random_on(random_on(job->luck[DRAW_CHANNEL], key), (uint64_t)step), 1);
    double jitter = 1 + 0.05 * job->options.noise * unit_of(luck);
    return (int64_t)((double)bytes / (network ? 20.0 : 150.0) * jitter) + 1200;
}

/* When the GPU of a member of an operation has done work that it could do from `at` on. */
static int64_t gpu_finish(const struct job *job, const struct record *record, int64_t at, int64_t work_ns)
{
    int rank = job->communicators[record->communicator].ranks[record->rank_in_communicator];
    return contended_work(job, rank, record->step, record->phase, at, work_ns);
}

/* Size of one chunk on one channel, and its number of slices. */
struct plan {
    int sends; /* of one rank in one round over the data */
    int rounds;
    int64_t wire_bytes; /* of one step */
};

static struct plan plan_ring(const struct communicator *communicator, struct instance *instance, int channels)
{
    int n = communicator->size;
    bool both = instance->function == FUNCTION_ALL_REDUCE;
    int64_t chunk = both ? instance->bytes / n / channels : instance->bytes / channels;
    if (chunk < 1)
        chunk = 1;
    struct plan plan = {.sends = both ? 2 * (n - 1) : n - 1};
    plan.rounds = (int)((chunk + SLICE_BYTES - 1) / SLICE_BYTES);
    plan.wire_bytes = chunk / plan.rounds;
    if (instance->member[0]->protocol == PROTOCOL_LL)
        plan.wire_bytes *= 2;
    return plan;
}

static void ring_round(struct job *job, const struct plan *plan, struct link *links, int n, int64_t *gpu,
                       int round)
{
    for (int turn = 0; turn <= plan->sends; turn++) {
        int step = round * plan->sends + turn;
        for (int i = 0; i < n; i++) {
            struct link *in = &links[(i + n - 1) % n];
            int64_t at = gpu[i];
            if (turn > 0)
                at = later(at, in->arrived);
            if (turn < plan->sends)
                at = later(at, link_slot_free(&links[i], step));
            gpu[i] = contended_work(
                job, links[i].sender, links[i].step, links[i].phase, at,
                gpu_copy(job, plan->wire_bytes, links[i].network || in->network, links[i].key, step));
            if (turn > 0)
                link_consume(in, step - 1, gpu[i]);
        }
        if (turn < plan->sends)
            for (int i = 0; i < n; i++)
                link_send(&links[i], step, gpu[i], plan->wire_bytes);
    }
}

static void ring(struct job *job, struct communicator *communicator, struct instance *instance, int channel)
{
    int n = communicator->size, channels = instance->member[0]->channels;
    struct plan plan = plan_ring(communicator, instance, channels);
    uint64_t key = operation_key(communicator, instance->index, channel);
    struct link *links = allocate((size_t)n, sizeof(*links));
    int64_t *gpu = allocate((size_t)n, sizeof(*gpu));
    int64_t chunk = instance->member[0]->protocol == PROTOCOL_LL ? 32768 : 4 << 20;
    for (int i = 0; i < n; i++) {
        struct endpoint from = endpoint_of(communicator, instance, communicator->ring[i]);
        struct endpoint to = endpoint_of(communicator, instance, communicator->ring[(i + 1) % n]);
        link_open(&links[i], job, from, to, channel, key, channels);
        link_proxies(&links[i], from, to, channel, plan.sends * plan.rounds, chunk,
                     plan.wire_bytes * plan.sends * plan.rounds,
                     record_before(communicator, instance, from.local),
                     record_before(communicator, instance, to.local));
        gpu[i] = from.record->start;
    }
    for (int i = 0; i < n; i++)
        link_attach(&links[i], endpoint_of(communicator, instance, communicator->ring[i]),
                    endpoint_of(communicator, instance, communicator->ring[(i + 1) % n]), channel);
    for (int round = 0; round < plan.rounds; round++)
        ring_round(job, &plan, links, n, gpu, round);
    for (int i = 0; i < n; i++)
        instance->member[communicator->ring[i]]->channel_end[channel] = gpu[i];
    free(links);
    free(gpu);
}

/* A chain from the root (Broadcast) or to it (Reduce): no rank waits for those behind it. */
static void chain(struct job *job, struct communicator *communicator, struct instance *instance, int channel)
{
    int n = communicator->size, channels = instance->member[0]->channels, root = instance->member[0]->root,
        at_root = 0;
    uint64_t key = operation_key(communicator, instance->index, channel);
    int64_t share = instance->bytes / channels;
    int steps = (int)((share + SLICE_BYTES - 1) / SLICE_BYTES);
    struct link *links = allocate((size_t)n, sizeof(*links));
    int64_t *gpu = allocate((size_t)n, sizeof(*gpu));
    int *order = allocate((size_t)n, sizeof(*order));
    for (int i = 0; i < n; i++)
        if (communicator->ring[i] == root)
            at_root = i;
    for (int i = 0; i < n; i++)
        order[i] = communicator->ring[(at_root + i + (instance->function == FUNCTION_REDUCE)) % n];
    for (int i = 0; i + 1 < n; i++) {
        struct endpoint from = endpoint_of(communicator, instance, order[i]);
        struct endpoint to = endpoint_of(communicator, instance, order[i + 1]);
        link_open(&links[i], job, from, to, channel, key, channels);
        link_proxies(&links[i], from, to, channel, steps, 4 << 20, share,
                     record_before(communicator, instance, from.local),
                     record_before(communicator, instance, to.local));
    }
    for (int i = 0; i < n; i++)
        gpu[i] = instance->member[order[i]]->start;
    for (int i = 0; i + 1 < n; i++)
        link_attach(&links[i], endpoint_of(communicator, instance, order[i]),
                    endpoint_of(communicator, instance, order[i + 1]), channel);
    for (int step = 0; step < steps; step++)
        for (int i = 0; i < n; i++) {
            if (i > 0)
                gpu[i] = later(gpu[i], links[i - 1].arrived);
            if (i + 1 < n)
                gpu[i] = later(gpu[i], link_slot_free(&links[i], step));
            gpu[i] = gpu_finish(
                job, instance->member[order[i]], gpu[i],
                gpu_copy(job, share / steps, communicator->node_count > 1, key + (uint64_t)i, step));
            if (i > 0)
                link_consume(&links[i - 1], step, gpu[i]);
            if (i + 1 < n)
                link_send(&links[i], step, gpu[i], share / steps);
        }
    for (int i = 0; i < n; i++)
        instance->member[order[i]]->channel_end[channel] = gpu[i];
    free(links);
    free(gpu);
    free(order);
}

/*
 * The tree by position in the ring: a chain inside each node, a binary tree of the first ranks of the nodes.
 * Parents come before their children.
 */
struct kinship {
    int *parent, *child, *sibling; /* -1: none */
};

static void kinship_build(const struct job *job, const struct communicator *communicator,
                          struct kinship *kinship)
{
    int n = communicator->size, heads = 0;
    int *head = allocate((size_t)n, sizeof(*head));
    kinship->parent = allocate((size_t)n * 3, sizeof(int));
    kinship->child = kinship->parent + n;
    kinship->sibling = kinship->child + n;
    for (int i = 0; i < n; i++) {
        const struct process *processes = job->processes;
        int self = communicator->ranks[communicator->ring[i]];
        bool first =
            i == 0 || processes[self].node != processes[communicator->ranks[communicator->ring[i - 1]]].node;
        kinship->parent[i] = !first ? i - 1 : heads > 0 ? head[(heads - 1) / 2] : -1;
        kinship->child[i] = kinship->sibling[i] = -1;
        if (first)
            head[heads++] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        kinship->sibling[i] = kinship->child[kinship->parent[i]];
        kinship->child[kinship->parent[i]] = i;
    }
    free(head);
}

struct tree {
    struct job *job;
    struct communicator *communicator;
    struct instance *instance;
    struct kinship kin;
    int channel, steps;
    int64_t wire;
    uint64_t key;
    struct link *up, *down; /* by the position of the child */
    /* Two halves of its threads: when they had moved the last step up, and down. They run at the same time.
     */
    int64_t *up_end, *down_end;
};

static struct endpoint tree_endpoint(const struct tree *tree, int position)
{
    return endpoint_of(tree->communicator, tree->instance, tree->communicator->ring[position]);
}

static void tree_open(struct tree *tree, struct link *link, struct endpoint from, struct endpoint to,
                      uint64_t key)
{
    link_open(link, tree->job, from, to, tree->channel, key, tree->instance->member[0]->channels);
    link_proxies(link, from, to, tree->channel, tree->steps, tree->wire, tree->wire * tree->steps,
                 record_before(tree->communicator, tree->instance, from.local),
                 record_before(tree->communicator, tree->instance, to.local));
}

static void tree_links(struct tree *tree)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 1; i < tree->communicator->size; i++) {
            struct endpoint child = tree_endpoint(tree, i), parent = tree_endpoint(tree, tree->kin.parent[i]);
            if (pass == 0) {
                tree_open(tree, &tree->up[i], child, parent, tree->key);
                tree_open(tree, &tree->down[i], parent, child, tree->key + 1);
            } else {
                link_attach(&tree->up[i], child, parent, tree->channel);
                link_attach(&tree->down[i], parent, child, tree->channel);
            }
        }
}

/* When a rank has copied a step that it could copy from `at` on. */
static int64_t tree_copied(const struct tree *tree, int position, int step, int64_t at)
{
    int64_t copy = gpu_copy(tree->job, tree->wire, tree->communicator->node_count > 1,
                            tree->key + (uint64_t)position, step);
    return gpu_finish(tree->job, tree_endpoint(tree, position).record, at, copy);
}

static void tree_up(struct tree *tree, int position, int step)
{
    int64_t *end = &tree->up_end[position];
    for (int child = tree->kin.child[position]; child >= 0; child = tree->kin.sibling[child]) {
        *end = tree_copied(tree, position, step, later(*end, tree->up[child].arrived));
        link_consume(&tree->up[child], step, *end);
    }
    if (position > 0) {
        struct link *link = &tree->up[position];
        *end = tree_copied(tree, position, step, later(*end, link_slot_free(link, step)));
        link_send(link, step, *end, tree->wire);
    }
}

/* The root turns around what has come up. */
static void tree_down(struct tree *tree, int position, int step)
{
    int64_t *end = position > 0 ? &tree->down_end[position] : &tree->up_end[position];
    if (position > 0) {
        *end = tree_copied(tree, position, step, later(*end, tree->down[position].arrived));
        link_consume(&tree->down[position], step, *end);
    }
    for (int child = tree->kin.child[position]; child >= 0; child = tree->kin.sibling[child]) {
        struct link *link = &tree->down[child];
        link_send(link, step, later(*end, link_slot_free(link, step)), tree->wire);
    }
}

/*
 * The threads of a kernel are split: one half moves the data up, the other half moves the result down. Those
 * that record the stop of the kernel belong to the first half, so all ranks except the root record it when
 * they have passed all data on, although the kernel ends when the result has come down.
 */
static void tree(struct job *job, struct communicator *communicator, struct instance *instance, int channel)
{
    size_t n = (size_t)communicator->size;
    int64_t share = instance->bytes / instance->member[0]->channels;
    struct tree tree = {.job = job, .communicator = communicator, .instance = instance, .channel = channel};
    tree.key = operation_key(communicator, instance->index, channel);
    tree.steps = (int)((share + SLICE_BYTES - 1) / SLICE_BYTES);
    tree.wire = share / tree.steps * (instance->member[0]->protocol == PROTOCOL_LL ? 2 : 1);
    tree.up = allocate(n, sizeof(*tree.up));
    tree.down = allocate(n, sizeof(*tree.down));
    tree.up_end = allocate(n, sizeof(*tree.up_end));
    tree.down_end = allocate(n, sizeof(*tree.down_end));
    kinship_build(job, communicator, &tree.kin);
    for (int i = 0; i < communicator->size; i++)
        tree.up_end[i] = tree.down_end[i] = tree_endpoint(&tree, i).record->start;
    tree_links(&tree);
    for (int step = 0; step < tree.steps; step++) {
        for (int i = communicator->size - 1; i >= 0; i--)
            tree_up(&tree, i, step);
        for (int i = 0; i < communicator->size; i++)
            tree_down(&tree, i, step);
    }
    for (int i = 0; i < communicator->size; i++) {
        struct record *record = tree_endpoint(&tree, i).record;
        record->channel_end[channel] = later(tree.up_end[i], tree.down_end[i]);
        record->channel_stop[channel] = tree.up_end[i];
    }
    free(tree.up);
    free(tree.down);
    free(tree.up_end);
    free(tree.down_end);
    free(tree.kin.parent);
}

void transfer_collective(struct job *job, struct communicator *communicator, struct instance *instance)
{
    int channels = instance->member[0]->channels;
    bool rooted = instance->function == FUNCTION_BROADCAST || instance->function == FUNCTION_REDUCE;
    for (int channel = 0; channel < channels; channel++) {
        if (rooted)
            chain(job, communicator, instance, channel);
        else if (instance->member[0]->algorithm == ALGORITHM_TREE)
            tree(job, communicator, instance, channel);
        else
            ring(job, communicator, instance, channel);
    }
    for (int i = 0; i < communicator->size; i++) {
        struct record *record = instance->member[i];
        for (int channel = 0; channel < channels; channel++) {
            record->end = later(record->end, record->channel_end[channel]);
            if (record->channel_stop[channel] == UNKNOWN)
                record->channel_stop[channel] = record->channel_end[channel];
        }
    }
}

void transfer_pair(struct job *job, struct communicator *communicator, struct record *send,
                   struct record *recv, int ordinal)
{
    struct endpoint from = {send, communicator->ranks[send->rank_in_communicator],
                            send->rank_in_communicator};
    struct endpoint to = {recv, communicator->ranks[recv->rank_in_communicator], recv->rank_in_communicator};
    int channel = send->first_channel;
    uint64_t key =
        operation_key(communicator, ordinal, 7) ^ ((uint64_t)from.local << 32) ^ ((uint64_t)to.local << 44);
    int64_t bytes = send->count * send->type_bytes;
    int steps = (int)((bytes + POINT_TO_POINT_SLICE_BYTES - 1) / POINT_TO_POINT_SLICE_BYTES);
    struct link link;
    link_open(&link, job, from, to, channel, key, 1);
    link_proxies(&link, from, to, channel, steps, POINT_TO_POINT_SLICE_BYTES, bytes, NULL, NULL);
    link_attach(&link, from, to, channel);
    int64_t sender = send->start, receiver = recv->start;
    for (int step = 0; step < steps; step++) {
        sender = gpu_finish(job, send, later(sender, link_slot_free(&link, step)),
                            gpu_copy(job, bytes / steps, link.network, key, step));
        link_send(&link, step, sender, bytes / steps);
        receiver = gpu_finish(job, recv, later(receiver, link.arrived),
                              gpu_copy(job, bytes / steps, link.network, key + 1, step));
        link_consume(&link, step, receiver);
    }
    if (!link.network) /* inside a node the sender writes directly into the receiver's memory */
        sender =
            later(sender, later(recv->start, send->start) + (receiver - later(recv->start, send->start)));
    send->end = send->channel_end[0] = send->channel_stop[0] = sender;
    recv->end = recv->channel_end[0] = recv->channel_stop[0] = receiver;
}
