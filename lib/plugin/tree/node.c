/*
 * Nodes and what they contain: the node pool with its lookup by handle, the set of names, GPU clocks, and the
 * copy of a start record to its node.
 */
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Anonymous memory: pages that are never touched cost nothing. */
static void *map_bytes(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static size_t nodes_bytes(const struct node_pool *pool)
{
    return ((size_t)pool->capacity + 1) * sizeof(struct node);
}

static size_t places_bytes(const struct node_pool *pool)
{
    return ((size_t)pool->place_mask + 1) * sizeof(uint32_t);
}

int node_pool_init(struct node_pool *pool, uint32_t capacity)
{
    uint64_t places = 1024;
    while (places < (uint64_t)capacity * 2)
        places *= 2;
    *pool = (struct node_pool){.capacity = capacity, .place_mask = (uint32_t)(places - 1)};
    pool->nodes = map_bytes(nodes_bytes(pool));
    pool->places = map_bytes(places_bytes(pool));
    if (pool->nodes && pool->places)
        return 0;
    node_pool_release(pool);
    return -1;
}

void node_pool_release(struct node_pool *pool)
{
    if (pool->nodes)
        munmap(pool->nodes, nodes_bytes(pool));
    if (pool->places)
        munmap(pool->places, places_bytes(pool));
    *pool = (struct node_pool){0};
}

/* The handles of a thread count up, so sixteen of them share a cache line of places. */
static uint32_t home(const struct node_pool *pool, uint64_t handle)
{
    uint32_t line = (uint32_t)((handle >> 4) * 0x9e3779b97f4a7c15u >> 32);
    return (line << 4 | (uint32_t)(handle & 15)) & pool->place_mask;
}

uint32_t node_find(const struct node_pool *pool, uint64_t handle)
{
    if (handle == 0)
        return 0;
    for (uint32_t place = home(pool, handle);; place = (place + 1) & pool->place_mask) {
        uint32_t number = pool->places[place];
        if (number == 0 || pool->nodes[number].handle == handle)
            return number;
    }
}

uint32_t node_add(struct node_pool *pool, uint64_t handle)
{
    uint32_t number = pool->free_head;
    if (number)
        pool->free_head = pool->nodes[number].next_sibling;
    else if (pool->used < pool->capacity)
        number = ++pool->used;
    else
        return 0;
    memset(&pool->nodes[number], 0, sizeof(pool->nodes[number]));
    pool->nodes[number].handle = handle;
    pool->in_use++;
    uint32_t place = home(pool, handle);
    while (pool->places[place])
        place = (place + 1) & pool->place_mask;
    pool->places[place] = number;
    return number;
}

/* Closes the gap at `place`: moves back entries that are farther from their home than the gap is. */
static void close_gap(struct node_pool *pool, uint32_t place)
{
    uint32_t mask = pool->place_mask;
    for (uint32_t next = (place + 1) & mask; pool->places[next]; next = (next + 1) & mask) {
        uint32_t wanted = home(pool, pool->nodes[pool->places[next]].handle);
        if (((next - wanted) & mask) >= ((next - place) & mask)) {
            pool->places[place] = pool->places[next];
            place = next;
        }
    }
    pool->places[place] = 0;
}

void node_remove(struct node_pool *pool, uint32_t number)
{
    uint32_t place = home(pool, pool->nodes[number].handle);
    while (pool->places[place] != number)
        place = (place + 1) & pool->place_mask;
    close_gap(pool, place);
    pool->nodes[number].next_sibling = pool->free_head;
    pool->free_head = number;
    pool->in_use--;
}

int names_init(struct names *names, uint32_t capacity)
{
    *names = (struct names){.count = 1, .capacity = 16};
    while (names->capacity < capacity)
        names->capacity *= 2;
    names->texts = calloc(names->capacity, sizeof(*names->texts));
    names->places = calloc((size_t)names->capacity * 2, sizeof(*names->places));
    if (names->texts && names->places)
        return 0;
    names_release(names);
    return -1;
}

void names_release(struct names *names)
{
    for (uint32_t i = 0; names->texts && i < names->count; i++)
        free(names->texts[i]);
    free(names->texts);
    free(names->places);
    *names = (struct names){0};
}

static uint32_t text_hash(const char *text, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static uint32_t names_add(struct names *names, uint32_t place, const char *text, size_t length)
{
    if (names->count == names->capacity)
        return 0;
    char *copy = malloc(length + 1);
    if (!copy)
        return 0;
    memcpy(copy, text, length);
    copy[length] = '\0';
    names->texts[names->count] = copy;
    names->places[place] = names->count;
    return names->count++;
}

static uint32_t names_number(struct names *names, const char *text, size_t length)
{
    if (length == 0)
        return 0;
    uint32_t mask = names->capacity * 2 - 1;
    uint32_t place = text_hash(text, length) & mask;
    for (; names->places[place]; place = (place + 1) & mask) {
        const char *known = names->texts[names->places[place]];
        if (strncmp(known, text, length) == 0 && known[length] == '\0')
            return names->places[place];
    }
    return names_add(names, place, text, length);
}

const char *names_text(const struct names *names, uint32_t number)
{
    return number && number < names->count ? names->texts[number] : "";
}

static uint16_t name_number(struct tree *tree, const char *name)
{
    return (uint16_t)names_number(&tree->names, name, strlen(name));
}

static uint32_t current_tag(struct tree *tree, uint32_t context)
{
    const struct communicator_state *communicator = tree_communicator(tree, context);
    return communicator->tag_ns > tree->process_tag_ns ? communicator->tag : tree->process_tag;
}

static void learn_from_task(struct tree *tree, const struct record *record)
{
    struct communicator *known = &tree_communicator(tree, record->context)->known;
    if (record->context == 0 || record->task.communicator_hash == 0 || known->hash)
        return;
    known->hash = record->task.communicator_hash;
    known->rank = record->task.rank;
    memcpy(known->name, record->task.communicator_name, sizeof(record->task.communicator_name));
}

static void fill_task(struct tree *tree, struct node *node, const struct record *record)
{
    node->task = (struct node_task){
        .sequence = record->task.sequence,
        .send_buffer = record->task.send_buffer,
        .recv_buffer = record->task.recv_buffer,
        .count = record->task.count,
        .root = record->task.root,
        .rank = record->task.rank,
        .peer = record->task.peer,
        .channels = record->task.channels,
        .warps = record->task.warps,
        .symmetry = record->task.symmetry,
        .user_tag = record->task.user_tag,
        .tag = tag_texts_keep(&tree->tags, current_tag(tree, record->context)),
        .function = name_number(tree, record->task.names.function),
        .datatype = name_number(tree, record->task.names.datatype),
        .algorithm = name_number(tree, record->task.names.algorithm),
        .protocol = name_number(tree, record->task.names.protocol),
    };
    if (record->task.symmetry != SYMMETRY_UNKNOWN)
        node->task.kernel_variant = name_number(tree, record->task.kernel_variant);
    learn_from_task(tree, record);
}

static void fill_call(struct tree *tree, struct node *node, const struct record *record)
{
    node->call = (struct node_call){
        .count = record->call.count,
        .stream = record->call.stream,
        .user_tag = record->call.user_tag,
        .root = record->call.root,
        .graph_captured = record->call.graph_captured,
        .function = name_number(tree, record->call.function),
        .datatype = name_number(tree, record->call.datatype),
    };
}

static void fill_proxy_op(struct tree *tree, struct node *node, const struct record *record)
{
    node->channel = record->proxy_op.channel;
    node->is_send = record->proxy_op.is_send;
    node->proxy_op = (struct node_proxy_op){
        .pid = record->proxy_op.pid,
        .rank = record->proxy_op.rank,
        .peer = record->proxy_op.peer,
        .steps = record->proxy_op.steps,
        .chunk_bytes = record->proxy_op.chunk_bytes,
        .detached = record->proxy_op.pid != tree->process,
    };
}

static void fill_net(struct node *node, const struct record *record)
{
    node->net = (struct node_net){
        .work_request = record->net_plugin.work_request,
        .length = record->net_plugin.length,
        .id = record->net_plugin.id,
        .device = record->net_plugin.device,
        .opcode = record->net_plugin.opcode,
        .queue_pair = record->net_plugin.queue_pair,
    };
}

static void fill_ce(struct tree *tree, struct node *node, const struct record *record)
{
    if (record->type == TYPE_CE_COLL)
        node->ce = (struct node_ce){
            .sequence = record->ce_coll.sequence,
            .count = record->ce_coll.count,
            .stream = record->ce_coll.stream,
            .user_tag = record->ce_coll.user_tag,
            .root = record->ce_coll.root,
            .rank = record->ce_coll.rank,
            .function = name_number(tree, record->ce_coll.function),
            .datatype = name_number(tree, record->ce_coll.datatype),
            .strategy = name_number(tree, record->ce_coll.strategy),
        };
    else
        node->ce = (struct node_ce){
            .total_bytes = record->ce_part.total_bytes,
            .number = record->ce_part.number,
            .flag = record->ce_part.flag,
        };
}

void tree_fill(struct tree *tree, struct node *node, const struct record *record)
{
    switch (record->type) {
    case TYPE_COLL:
    case TYPE_P2P:
        fill_task(tree, node, record);
        break;
    case TYPE_PROXY_OP:
        fill_proxy_op(tree, node, record);
        break;
    case TYPE_PROXY_STEP:
        node->proxy_step.step = record->proxy_step.step;
        break;
    case TYPE_KERNEL_CH:
    case TYPE_KERNEL_PHASE:
        node->channel = record->kernel_ch.channel;
        node->kernel.start_clock = record->kernel_ch.gpu_clock;
        node->kernel.phase = record->kernel_ch.phase;
        break;
    case TYPE_NET_PLUGIN:
        fill_net(node, record);
        break;
    case TYPE_GROUP_API:
        node->call.root = record->group_api.depth;
        node->call.graph_captured = record->group_api.graph_captured;
        break;
    case TYPE_COLL_API:
    case TYPE_P2P_API:
    case TYPE_KERNEL_LAUNCH:
        fill_call(tree, node, record);
        break;
    case TYPE_CE_COLL:
    case TYPE_CE_SYNC:
    case TYPE_CE_BATCH:
        fill_ce(tree, node, record);
        break;
    default:
        break;
    }
}

void gpu_clock_noticed(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns)
{
    if (gpu_ns == 0)
        return;
    int64_t offset = (int64_t)(host_ns - gpu_ns);
    clock->samples++;
    if (clock->now.samples++ == 0 || offset < clock->now.highest_ns)
        clock->now.highest_ns = offset;
}

void gpu_clock_not_before(struct gpu_clock *clock, uint64_t host_ns, uint64_t gpu_ns)
{
    if (gpu_ns == 0)
        return;
    int64_t offset = (int64_t)(host_ns - gpu_ns);
    if (clock->now.enqueues++ == 0 || offset > clock->now.lowest_ns)
        clock->now.lowest_ns = offset;
}

struct gpu_clock_bounds gpu_clock_bounds(const struct gpu_clock *clock)
{
    struct gpu_clock_bounds both = clock->now;
    const struct gpu_clock_bounds *before = &clock->before;
    if (before->samples && (!both.samples || before->highest_ns < both.highest_ns))
        both.highest_ns = before->highest_ns;
    if (before->enqueues && (!both.enqueues || before->lowest_ns > both.lowest_ns))
        both.lowest_ns = before->lowest_ns;
    both.samples += before->samples;
    both.enqueues += before->enqueues;
    return both;
}

uint64_t gpu_clock_host_ns(const struct gpu_clock *clock, uint64_t gpu_ns)
{
    struct gpu_clock_bounds bounds = gpu_clock_bounds(clock);
    return bounds.samples && gpu_ns ? gpu_ns + (uint64_t)bounds.highest_ns : 0;
}

void gpu_clock_turn(struct gpu_clock *clock, uint64_t enough)
{
    if (clock->now.samples < enough)
        return;
    clock->before = clock->now;
    clock->now = (struct gpu_clock_bounds){0};
}
