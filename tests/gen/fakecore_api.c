#include "fakecore_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int fake_plugin_load(struct fake_plugin *plugin, const char *path, int version)
{
    char symbol[32];
    snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
    plugin->version = version;
    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    plugin->table = plugin->library ? dlsym(plugin->library, symbol) : NULL;
    if (plugin->table)
        return 0;
    fprintf(stderr, "fakecore: %s\n", dlerror());
    return -1;
}

void fake_init(const struct fake_plugin *plugin, void **context, int *mask, uint64_t hash, const char *name,
               int nodes, int ranks, int rank, api_logger *logger)
{
    if (plugin->version <= 3)
        ((struct api_plugin_v1 *)plugin->table)->init(context, mask);
    else if (plugin->version == 4)
        ((struct api_plugin_v4 *)plugin->table)->init(context, mask, name, hash, nodes, ranks, rank, logger);
    else
        ((struct api_plugin_v7 *)plugin->table)->init(context, hash, mask, name, nodes, ranks, rank, logger);
}

static uint8_t number_of(const char *const *names, uint8_t count, const char *name)
{
    for (uint8_t i = 0; i < count; i++)
        if (name && strcmp(names[i], name) == 0)
            return i;
    return count;
}

static void cut_v1(struct api_descriptor_v1 *to, const struct api_descriptor_v7 *from, uint64_t hash,
                   const char *name)
{
    static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                            "AllReduce", "SendRecv", "Send",      "Recv"};
    static const char *const types[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                        "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                        "ncclFloat64", "ncclBfloat16"};
    if (from->type == API_COLL) {
        to->parent = from->coll.parent_group;
        to->coll.name = name;
        to->coll.communicator_hash = hash;
        to->coll.sequence = from->coll.sequence;
        to->coll.function = number_of(functions, 8, from->coll.function);
        to->coll.send_buffer = from->coll.send_buffer;
        to->coll.recv_buffer = from->coll.recv_buffer;
        to->coll.count = from->coll.count;
        to->coll.root = from->coll.root;
        to->coll.datatype = number_of(types, 10, from->coll.datatype);
        to->coll.channels = from->coll.channels;
        to->coll.warps = from->coll.warps;
        to->coll.algorithm = 1; /* ring */
        to->coll.protocol = 2;  /* simple */
    } else if (from->type == API_P2P) {
        to->parent = from->p2p.parent_group;
        to->p2p.name = name;
        to->p2p.communicator_hash = hash;
        to->p2p.function = number_of(functions, 8, from->p2p.function);
        to->p2p.buffer = from->p2p.buffer;
        to->p2p.datatype = number_of(types, 10, from->p2p.datatype);
        to->p2p.count = from->p2p.count;
        to->p2p.peer = from->p2p.peer;
    } else if (from->type == API_PROXY_OP) {
        to->proxy_op = from->proxy_op;
    } else {
        to->proxy_step.step = from->proxy_step.step;
    }
}

/* Versions 2 and 3 differ in a collective's traffic bytes and in what comes after point-to-point. */
#define CUT_TASKS(to, from, hash_, name_)                      \
    do {                                                       \
        if ((from)->type == API_COLL) {                        \
            (to)->parent = (from)->coll.parent_group;          \
            (to)->coll.name = name_;                           \
            (to)->coll.communicator_hash = hash_;              \
            (to)->coll.sequence = (from)->coll.sequence;       \
            (to)->coll.function = (from)->coll.function;       \
            (to)->coll.send_buffer = (from)->coll.send_buffer; \
            (to)->coll.recv_buffer = (from)->coll.recv_buffer; \
            (to)->coll.count = (from)->coll.count;             \
            (to)->coll.root = (from)->coll.root;               \
            (to)->coll.datatype = (from)->coll.datatype;       \
            (to)->coll.channels = (from)->coll.channels;       \
            (to)->coll.warps = (from)->coll.warps;             \
            (to)->coll.algorithm = (from)->coll.algorithm;     \
            (to)->coll.protocol = (from)->coll.protocol;       \
        } else if ((from)->type == API_P2P) {                  \
            (to)->parent = (from)->p2p.parent_group;           \
            (to)->p2p.name = name_;                            \
            (to)->p2p.communicator_hash = hash_;               \
            (to)->p2p.function = (from)->p2p.function;         \
            (to)->p2p.buffer = (from)->p2p.buffer;             \
            (to)->p2p.datatype = (from)->p2p.datatype;         \
            (to)->p2p.count = (from)->p2p.count;               \
            (to)->p2p.peer = (from)->p2p.peer;                 \
        } else if ((from)->type == API_PROXY_OP) {             \
            (to)->proxy_op = (from)->proxy_op;                 \
        } else {                                               \
            (to)->proxy_step.step = (from)->proxy_step.step;   \
        }                                                      \
    } while (0)

static void cut_v3(struct api_descriptor_v3 *to, const struct api_descriptor_v7 *from, uint64_t hash,
                   const char *name)
{
    if (from->type == API_KERNEL_CH) {
        to->kernel_ch.channel = from->kernel_ch.channel;
    } else if (from->type == API_NET_PLUGIN) {
        to->net_plugin.id = from->net_plugin.id;
        to->net_plugin.data = from->net_plugin.data;
    } else {
        CUT_TASKS(to, from, hash, name);
    }
}

static void cut_v4(struct api_descriptor_v4 *to, const struct api_descriptor_v7 *from)
{
    if (from->type == API_COLL) {
        to->parent = from->coll.parent_group;
        to->coll.sequence = from->coll.sequence;
        to->coll.function = from->coll.function;
        to->coll.send_buffer = from->coll.send_buffer;
        to->coll.recv_buffer = from->coll.recv_buffer;
        to->coll.count = from->coll.count;
        to->coll.root = from->coll.root;
        to->coll.datatype = from->coll.datatype;
        to->coll.channels = from->coll.channels;
        to->coll.warps = from->coll.warps;
        to->coll.algorithm = from->coll.algorithm;
        to->coll.protocol = from->coll.protocol;
    } else if (from->type == API_P2P) {
        to->parent = from->p2p.parent_group;
        to->p2p.function = from->p2p.function;
        to->p2p.buffer = from->p2p.buffer;
        to->p2p.datatype = from->p2p.datatype;
        to->p2p.count = from->p2p.count;
        to->p2p.peer = from->p2p.peer;
        to->p2p.channels = from->p2p.channels;
    } else if (from->type == API_PROXY_OP) {
        to->proxy_op = from->proxy_op;
    } else if (from->type == API_KERNEL_CH) {
        to->kernel_ch.channel = from->kernel_ch.channel;
        to->kernel_ch.gpu_clock = from->kernel_ch.gpu_clock;
    } else if (from->type == API_NET_PLUGIN) {
        to->net_plugin.id = from->net_plugin.id;
        to->net_plugin.data = from->net_plugin.data;
    } else {
        to->proxy_step.step = from->proxy_step.step;
    }
}

static bool is_known(int version, uint64_t type)
{
    uint64_t most = version < 3    ? API_PROXY_CTRL
                    : version < 5  ? API_NET_PLUGIN
                    : version == 5 ? API_KERNEL_LAUNCH
                    : version == 6 ? API_CE_BATCH
                                   : UINT64_MAX;
    return type <= most;
}

#define START_CUT(number, cut, ...)                                                          \
    do {                                                                                     \
        struct api_descriptor_v##number less = {                                             \
            .type = (uint8_t)event->type, .parent = event->parent, .rank = event->rank};     \
        cut(&less, event, ##__VA_ARGS__);                                                    \
        ((struct api_plugin_v##number *)plugin->table)->start_event(context, handle, &less); \
    } while (0)

void fake_start(const struct fake_plugin *plugin, void *context, void **handle,
                struct api_descriptor_v7 *event, uint64_t hash, const char *name)
{
    *handle = NULL;
    if (!is_known(plugin->version, event->type))
        return;
    switch (plugin->version) {
    case 1:
        START_CUT(1, cut_v1, hash, name);
        break;
    case 2:
        START_CUT(2, CUT_TASKS, hash, name);
        break;
    case 3:
        START_CUT(3, cut_v3, hash, name);
        break;
    case 4:
        START_CUT(4, cut_v4);
        break;
    default:
        ((struct api_plugin_v7 *)plugin->table)->start_event(context, handle, event);
        break;
    }
}

/* Stop, states and finalize look the same in every version's table. */
void fake_stop(const struct fake_plugin *plugin, void *handle)
{
    if (handle)
        ((struct api_plugin_v7 *)plugin->table)->stop_event(handle);
}

void fake_state(const struct fake_plugin *plugin, void *handle, int state, uint64_t value, int steps)
{
    if (!handle)
        return;
    if (plugin->version <= 3) {
        union api_state_args_v1 values = {.proxy_op = {.transferred_bytes = value, .steps = steps}};
        if (state >= API_CTRL_IDLE && state <= API_CTRL_APPEND_END)
            values.proxy_ctrl.appended = (int)value;
        ((struct api_plugin_v1 *)plugin->table)->record_event_state(handle, state, &values);
        return;
    }
    union api_state_args_v4 values = {.proxy_step = {.transferred_bytes = value}};
    if (state >= API_CTRL_IDLE && state <= API_CTRL_APPEND_END)
        values.proxy_ctrl.appended = (int)value;
    else if (state == API_KERNEL_CH_STOP)
        values.kernel_ch.gpu_clock = value;
    ((struct api_plugin_v7 *)plugin->table)->record_event_state(handle, state, &values);
}

void fake_finalize(const struct fake_plugin *plugin, void *context)
{
    ((struct api_plugin_v7 *)plugin->table)->finalize(context);
}
