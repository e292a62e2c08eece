#include "fakecore_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u

int fake_plugin_load(struct fake_plugin *plugin, const char *path, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    plugin->version = version;
    plugin->has_tags = version == 7 && fakecaller_has_tags();
    plugin->call_init = fakecaller_init;
    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    plugin->table = plugin->library ? dlsym(plugin->library, symbol) : NULL;
    if (plugin->table)
        return 0;
    fprintf(stderr, "fakecore: %s\n", dlerror());
    return -1;
}

int fake_plugin_call_from(struct fake_plugin *plugin, const char *library)
{
    void *core = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *function = core ? dlsym(core, "fakecaller_init") : NULL;
    void *has_tags = core ? dlsym(core, "fakecaller_has_tags") : NULL;
    if (!function || !has_tags) {
        fprintf(stderr, "fakecore: %s\n", dlerror());
        return -1;
    }
    bool (*asks)(void);
    memcpy(&plugin->call_init, &function, sizeof(function));
    memcpy(&asks, &has_tags, sizeof(has_tags));
    plugin->has_tags = plugin->version == 7 && asks();
    return 0;
}

/* The last bytes before unmapped memory, filled with poison: one place per thread. */
static void *at_edge(size_t bytes)
{
    static _Thread_local unsigned char *pages;
    static const uint64_t poison = FAKE_POISON;
    if (!pages) {
        pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE) != 0)
            abort();
    }
    unsigned char *at = pages + PAGE_BYTES - bytes;
    for (size_t i = 0; i < bytes; i += sizeof(poison))
        memcpy(at + i, &poison, sizeof(poison));
    return at;
}

static void *behind_edge(void)
{
    return (unsigned char *)at_edge(8) + 8;
}

void fake_init(const struct fake_plugin *plugin, void **context, int *mask, uint64_t hash, const char *name,
               int nodes, int ranks, int rank, nccl_logger *logger)
{
    void (*init)(void) = plugin->table->init;
    if (plugin->version <= 3)
        ((nccl_init_v1 *)init)(context, mask);
    else if (plugin->version == 4)
        ((nccl_init_v4 *)init)(context, mask, name, hash, nodes, ranks, rank, logger);
    else
        plugin->call_init((nccl_init_v5 *)init, context, hash, mask, name, nodes, ranks, rank, logger);
}

/* -- the members of each event, version by version -- */

static uint8_t number_of(const char *const *names, uint8_t count, const char *name)
{
    for (uint8_t i = 0; i < count; i++)
        if (name && strcmp(names[i], name) == 0)
            return i;
    return count;
}

static const char *const functions_v1[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                           "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const types_v1[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                       "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                       "ncclFloat64", "ncclBfloat16"};

#define COPY(event, member) (to->event.member = from->event.member)

#define COPY_COLL()              \
    do {                         \
        COPY(coll, sequence);    \
        COPY(coll, function);    \
        COPY(coll, send_buffer); \
        COPY(coll, recv_buffer); \
        COPY(coll, count);       \
        COPY(coll, root);        \
        COPY(coll, datatype);    \
        COPY(coll, channels);    \
        COPY(coll, warps);       \
        COPY(coll, algorithm);   \
        COPY(coll, protocol);    \
    } while (0)

#define COPY_P2P()           \
    do {                     \
        COPY(p2p, function); \
        COPY(p2p, buffer);   \
        COPY(p2p, datatype); \
        COPY(p2p, count);    \
        COPY(p2p, peer);     \
    } while (0)

/* Versions 1 to 3 name the communicator in each operation. */
#define NAME_COMMUNICATOR(event)               \
    do {                                       \
        to->event.name = name;                 \
        to->event.communicator_hash = hash;    \
        to->parent = from->event.parent_group; \
    } while (0)

#define HEAD(event_type)                   \
    do {                                   \
        to->type = (event_type)from->type; \
        to->parent = from->parent;         \
        to->rank = from->rank;             \
    } while (0)

static void cut_v1(struct nccl_event_v1 *to, const struct nccl_event_v7 *from, uint64_t hash,
                   const char *name)
{
    HEAD(uint8_t);
    if (from->type == NCCL_COLL) {
        NAME_COMMUNICATOR(coll);
        COPY(coll, sequence);
        to->coll.function = number_of(functions_v1, 8, from->coll.function);
        COPY(coll, send_buffer);
        COPY(coll, recv_buffer);
        COPY(coll, count);
        COPY(coll, root);
        to->coll.datatype = number_of(types_v1, 10, from->coll.datatype);
        COPY(coll, channels);
        COPY(coll, warps);
        to->coll.algorithm = 1; /* ring */
        to->coll.protocol = 2;  /* simple */
    } else if (from->type == NCCL_P2P) {
        NAME_COMMUNICATOR(p2p);
        to->p2p.function = number_of(functions_v1, 8, from->p2p.function);
        COPY(p2p, buffer);
        to->p2p.datatype = number_of(types_v1, 10, from->p2p.datatype);
        COPY(p2p, count);
        COPY(p2p, peer);
    } else if (from->type == NCCL_PROXY_OP) {
        to->proxy_op = from->proxy_op;
    } else if (from->type == NCCL_PROXY_STEP) {
        to->proxy_step = from->proxy_step;
    }
}

static void cut_v2(struct nccl_event_v2 *to, const struct nccl_event_v7 *from, uint64_t hash,
                   const char *name)
{
    HEAD(uint8_t);
    if (from->type == NCCL_COLL) {
        NAME_COMMUNICATOR(coll);
        COPY_COLL();
    } else if (from->type == NCCL_P2P) {
        NAME_COMMUNICATOR(p2p);
        COPY_P2P();
    } else if (from->type == NCCL_PROXY_OP) {
        to->proxy_op = from->proxy_op;
    } else if (from->type == NCCL_PROXY_STEP) {
        to->proxy_step = from->proxy_step;
    }
}

static void cut_v3(struct nccl_event_v3 *to, const struct nccl_event_v7 *from, uint64_t hash,
                   const char *name)
{
    HEAD(uint8_t);
    if (from->type == NCCL_COLL) {
        NAME_COMMUNICATOR(coll);
        COPY_COLL();
    } else if (from->type == NCCL_P2P) {
        NAME_COMMUNICATOR(p2p);
        COPY_P2P();
    } else if (from->type == NCCL_PROXY_OP) {
        to->proxy_op = from->proxy_op;
    } else if (from->type == NCCL_PROXY_STEP) {
        to->proxy_step = from->proxy_step;
    } else if (from->type == NCCL_KERNEL_CH) {
        COPY(kernel_ch, channel);
    } else if (from->type == NCCL_NET_PLUGIN) {
        to->net_plugin = from->net_plugin;
    }
}

/* Common to versions 4 to 7. */
#define COPY_V4()                                   \
    do {                                            \
        if (from->type == NCCL_COLL) {              \
            COPY_COLL();                            \
        } else if (from->type == NCCL_P2P) {        \
            COPY_P2P();                             \
            COPY(p2p, channels);                    \
        } else if (from->type == NCCL_PROXY_OP) {   \
            to->proxy_op = from->proxy_op;          \
        } else if (from->type == NCCL_PROXY_STEP) { \
            to->proxy_step = from->proxy_step;      \
        } else if (from->type == NCCL_KERNEL_CH) {  \
            to->kernel_ch = from->kernel_ch;        \
        } else if (from->type == NCCL_NET_PLUGIN) { \
            to->net_plugin = from->net_plugin;      \
        }                                           \
    } while (0)

static void cut_v4(struct nccl_event_v4 *to, const struct nccl_event_v7 *from)
{
    HEAD(uint8_t);
    COPY_V4();
    if (from->type == NCCL_COLL)
        to->parent = from->coll.parent_group;
    else if (from->type == NCCL_P2P)
        to->parent = from->p2p.parent_group;
}

#define COPY_V5()                                      \
    do {                                               \
        HEAD(uint64_t);                                \
        COPY_V4();                                     \
        if (from->type == NCCL_COLL) {                 \
            COPY(coll, parent_group);                  \
        } else if (from->type == NCCL_P2P) {           \
            COPY(p2p, parent_group);                   \
        } else if (from->type == NCCL_GROUP_API) {     \
            to->group_api = from->group_api;           \
        } else if (from->type == NCCL_COLL_API) {      \
            COPY(coll_api, function);                  \
            COPY(coll_api, count);                     \
            COPY(coll_api, datatype);                  \
            COPY(coll_api, root);                      \
            COPY(coll_api, stream);                    \
            COPY(coll_api, graph_captured);            \
        } else if (from->type == NCCL_P2P_API) {       \
            COPY(p2p_api, function);                   \
            COPY(p2p_api, count);                      \
            COPY(p2p_api, datatype);                   \
            COPY(p2p_api, stream);                     \
            COPY(p2p_api, graph_captured);             \
        } else if (from->type == NCCL_KERNEL_LAUNCH) { \
            to->kernel_launch = from->kernel_launch;   \
        }                                              \
    } while (0)

#define COPY_V6()                                 \
    do {                                          \
        COPY_V5();                                \
        if (from->type == NCCL_CE_COLL) {         \
            COPY(ce_coll, sequence);              \
            COPY(ce_coll, function);              \
            COPY(ce_coll, send_buffer);           \
            COPY(ce_coll, recv_buffer);           \
            COPY(ce_coll, count);                 \
            COPY(ce_coll, root);                  \
            COPY(ce_coll, datatype);              \
            COPY(ce_coll, strategy);              \
            COPY(ce_coll, intra_batch_sync);      \
            COPY(ce_coll, batch_size);            \
            COPY(ce_coll, batches);               \
            COPY(ce_coll, ce_sequence);           \
            COPY(ce_coll, stream);                \
        } else if (from->type == NCCL_CE_SYNC) {  \
            to->ce_sync = from->ce_sync;          \
        } else if (from->type == NCCL_CE_BATCH) { \
            to->ce_batch = from->ce_batch;        \
        }                                         \
    } while (0)

static void cut_v5(struct nccl_event_v5 *to, const struct nccl_event_v7 *from)
{
    COPY_V5();
}

static void cut_v6(struct nccl_event_v6 *to, const struct nccl_event_v7 *from)
{
    COPY_V6();
}

static void cut_v7_tags(struct nccl_event_v7_tags *to, const struct nccl_event_v7 *from)
{
    COPY_V6();
}

static void cut_v7(struct nccl_event_v7 *to, const struct nccl_event_v7 *from)
{
    COPY_V6();
    if (from->type == NCCL_COLL) {
        COPY(coll, kernel_variant);
        COPY(coll, is_symmetric);
        COPY(coll, user_tag);
    } else if (from->type == NCCL_P2P) {
        COPY(p2p, user_tag);
    } else if (from->type == NCCL_COLL_API) {
        COPY(coll_api, user_tag);
    } else if (from->type == NCCL_P2P_API) {
        COPY(p2p_api, user_tag);
    } else if (from->type == NCCL_CE_COLL) {
        COPY(ce_coll, user_tag);
    } else if (from->type == NCCL_KERNEL_PHASE) {
        to->kernel_phase = from->kernel_phase;
    }
}

/* -- the calls -- */

/* A descriptor of the played version with its type set; null if it has no space for that. */
static void *descriptor_of(const struct fake_plugin *plugin, uint64_t type)
{
    static const size_t bytes[] = {
        0,
        sizeof(struct nccl_event_v1),
        sizeof(struct nccl_event_v2),
        sizeof(struct nccl_event_v3),
        sizeof(struct nccl_event_v4),
        sizeof(struct nccl_event_v5),
        sizeof(struct nccl_event_v6),
        sizeof(struct nccl_event_v7),
    };
    if (plugin->version < 5 && type > UINT8_MAX)
        return NULL;
    unsigned char *event =
        at_edge(plugin->has_tags ? sizeof(struct nccl_event_v7_tags) : bytes[plugin->version]);
    if (plugin->version < 5)
        event[0] = (uint8_t)type;
    else
        memcpy(event, &type, sizeof(type));
    return event;
}

void fake_start(const struct fake_plugin *plugin, void *context, void **handle,
                const struct nccl_event_v7 *event, uint64_t hash, const char *name)
{
    *handle = NULL;
    bool phase_or_tag = event->type == NCCL_KERNEL_PHASE && plugin->has_tags;
    if (!(event->type & fake_events_known(plugin)) || phase_or_tag)
        return;
    void *less = descriptor_of(plugin, event->type);
    if (plugin->version == 1)
        cut_v1(less, event, hash, name);
    else if (plugin->version == 2)
        cut_v2(less, event, hash, name);
    else if (plugin->version == 3)
        cut_v3(less, event, hash, name);
    else if (plugin->version == 4)
        cut_v4(less, event);
    else if (plugin->version == 5)
        cut_v5(less, event);
    else if (plugin->version == 6)
        cut_v6(less, event);
    else if (plugin->has_tags)
        cut_v7_tags(less, event);
    else
        cut_v7(less, event);
    plugin->table->start_event(context, handle, less);
}

void fake_tag(const struct fake_plugin *plugin, void *context, int rank, const char *tag)
{
    if (!plugin->has_tags)
        return;
    void *handle = NULL;
    struct nccl_event_v7_tags *event = descriptor_of(plugin, NCCL_USER_TAG);
    event->parent = NULL;
    event->rank = rank;
    event->user_tag.tag = tag;
    plugin->table->start_event(context, &handle, event);
    fake_stop(plugin, handle);
}

bool fake_start_unknown(const struct fake_plugin *plugin, void *context, void **handle, uint64_t type)
{
    void *event = descriptor_of(plugin, type);
    if (event)
        plugin->table->start_event(context, handle, event);
    return event != NULL;
}

void fake_stop(const struct fake_plugin *plugin, void *handle)
{
    if (handle)
        plugin->table->stop_event(handle);
}

void fake_state(const struct fake_plugin *plugin, void *handle, int state, uint64_t value, int steps)
{
    if (!handle || state > fake_last_state(plugin))
        return;
    bool control = state >= NCCL_CTRL_IDLE && state <= NCCL_CTRL_APPEND_END;
    if (plugin->version <= 3) {
        union nccl_values_v1 *values = at_edge(sizeof(*values));
        if (control)
            values->proxy_ctrl.appended = (int)value;
        else
            values->proxy_op.transferred_bytes = value, values->proxy_op.steps = steps;
        plugin->table->record_event_state(handle, state, values);
        return;
    }
    union nccl_values_v4 *values = at_edge(sizeof(*values));
    if (control)
        values->proxy_ctrl.appended = (int)value;
    else if (state == NCCL_KERNEL_CH_STOP || state == NCCL_KERNEL_PHASE_STOP)
        values->kernel_ch.gpu_clock = value;
    else
        values->proxy_step.transferred_bytes = value;
    plugin->table->record_event_state(handle, state, values);
}

void fake_state_unknown(const struct fake_plugin *plugin, void *handle, int state)
{
    plugin->table->record_event_state(handle, state, behind_edge());
}

void fake_finalize(const struct fake_plugin *plugin, void *context)
{
    plugin->table->finalize(context);
}

/* -- the events and states of each version, from its headers -- */

struct known {
    uint64_t events;
    int state;
};

#define MEMBER(version, member, offset, bytes)
#define ADDED(version, member, offset, bytes)
#define DESCRIPTOR(version, bytes)
#define ARGUMENTS(version, bytes)
#define EVENT(name, bit)
#define STATE(name, number)
#define KNOWN(version, events, state) static const struct known known_##version = {events, state};
#include "nccl_figures.def"

static const struct known *known_of(const struct fake_plugin *plugin)
{
    static const struct known *const versions[] = {NULL,      &known_v1, &known_v2, &known_v3,
                                                   &known_v4, &known_v5, &known_v6, &known_v7};
    return plugin->has_tags ? &known_v7_tags : versions[plugin->version];
}

uint64_t fake_events_known(const struct fake_plugin *plugin)
{
    return known_of(plugin)->events;
}

int fake_last_state(const struct fake_plugin *plugin)
{
    return known_of(plugin)->state;
}
