#include "plugin/entry.h"

#include "plugin/recorder.h"
#include "plugin/tag.h"

void entry_init_unnamed(void **context, int *mask, unsigned version, uint32_t known)
{
    struct communicator communicator = {.rank = -1, .ranks = -1, .nodes = -1, .api = version};
    recorder_init(context, mask, known, &communicator, NULL);
}

void entry_init_named(void **context, int *mask, unsigned version, uint32_t known, const char *name,
                      uint64_t hash, int nodes, int ranks, int rank, api_logger *logger)
{
    struct communicator communicator = {
        .hash = hash, .rank = rank, .ranks = ranks, .nodes = nodes, .api = version};
    record_text(communicator.name, sizeof(communicator.name), name);
    recorder_init(context, mask, known, &communicator, logger);
}

void entry_fill_names(struct record_names *names, const char *function, const char *datatype,
                      const char *algorithm, const char *protocol)
{
    record_text(names->function, sizeof(names->function), function);
    record_text(names->datatype, sizeof(names->datatype), datatype);
    record_text(names->algorithm, sizeof(names->algorithm), algorithm);
    record_text(names->protocol, sizeof(names->protocol), protocol);
}

void entry_plain(struct record *record, enum record_type type)
{
    record->type = (uint8_t)type;
    record->slots = 1;
}

void entry_proxy_op(struct record *record, const struct api_proxy_op *op, int rank)
{
    entry_plain(record, TYPE_PROXY_OP);
    record->proxy_op.pid = op->pid;
    record->proxy_op.rank = rank;
    record->proxy_op.peer = op->peer;
    record->proxy_op.steps = op->steps;
    record->proxy_op.chunk_bytes = op->chunk_bytes;
    record->proxy_op.channel = op->channel;
    record->proxy_op.is_send = op->is_send != 0;
}

void entry_proxy_step(struct record *record, int step)
{
    entry_plain(record, TYPE_PROXY_STEP);
    record->proxy_step.step = step;
}

void entry_kernel_ch(struct record *record, unsigned channel, uint64_t gpu_clock)
{
    entry_plain(record, TYPE_KERNEL_CH);
    record->kernel_ch.channel = (uint8_t)channel;
    record->kernel_ch.gpu_clock = gpu_clock;
}

bool entry_net_plugin(struct record *record, int64_t id, const void *data)
{
    uint32_t type = (uint32_t)id & API_NET_TYPE_MASK;
    if (!data || ((uint32_t)id & API_NET_VERSION_MASK) != 1)
        return false;
    entry_plain(record, TYPE_NET_PLUGIN);
    record->slots = RECORD_SLOTS_TO(net_plugin);
    record->net_plugin.id = (uint32_t)id;
    if (type == API_NET_TYPE_IB) {
        const struct api_net_ib_v1 *ib = data;
        record->net_plugin.device = ib->qp.device;
        record->net_plugin.work_request = ib->qp.wr_id;
        record->net_plugin.opcode = ib->qp.opcode;
        record->net_plugin.queue_pair = ib->qp.qp_number;
        record->net_plugin.length = ib->qp.length;
        return ib->type == 1;
    }
    if (type == API_NET_TYPE_SOCKET) {
        const struct api_net_socket_v1 *socket = data;
        record->net_plugin.device = socket->socket.descriptor;
        record->net_plugin.work_request = 0;
        record->net_plugin.opcode = socket->socket.operation;
        record->net_plugin.queue_pair = 0;
        record->net_plugin.length = socket->socket.length;
        return socket->type == 1;
    }
    return false;
}

int entry_stop(void *handle)
{
    recorder_stop(handle);
    return API_SUCCESS;
}

int entry_state_v1(void *handle, int state, union api_state_args_v1 *values)
{
    if (!values)
        recorder_state(handle, state, 0, 0);
    else if (state >= API_CTRL_IDLE && state <= API_CTRL_APPEND_END)
        recorder_state(handle, state, (uint32_t)values->proxy_ctrl.appended, 0);
    else if (state <= API_RECV_DONE)
        recorder_state(handle, state, values->proxy_op.transferred_bytes, values->proxy_op.steps);
    else
        recorder_state(handle, state, 0, 0);
    return API_SUCCESS;
}

int entry_state_v4(void *handle, int state, union api_state_args_v4 *values)
{
    uint64_t value = 0;
    if (values && state >= API_CTRL_IDLE && state <= API_CTRL_APPEND_END)
        value = (uint32_t)values->proxy_ctrl.appended;
    else if (values && state == API_KERNEL_CH_STOP)
        value = values->kernel_ch.gpu_clock;
    else if (values && state != API_NET_PLUGIN_UPDATE)
        value = values->proxy_step.transferred_bytes;
    recorder_state(handle, state, value, 0);
    return API_SUCCESS;
}

int entry_finalize(void *context)
{
    recorder_finalize(context);
    return API_SUCCESS;
}

static void fill_coll(struct record *record, const struct api_descriptor_v7 *event)
{
    record->type = TYPE_COLL;
    record->slots = RECORD_SLOTS_TO(task);
    record->task.sequence = event->coll.sequence;
    record->task.send_buffer = (uint64_t)(uintptr_t)event->coll.send_buffer;
    record->task.recv_buffer = (uint64_t)(uintptr_t)event->coll.recv_buffer;
    record->task.count = event->coll.count;
    record->task.communicator_hash = 0;
    record->task.rank = event->rank;
    record->task.root = event->coll.root;
    record->task.peer = -1;
    record->task.channels = event->coll.channels;
    record->task.warps = event->coll.warps;
    entry_fill_names(&record->task.names, event->coll.function, event->coll.datatype, event->coll.algorithm,
                     event->coll.protocol);
    record->task.communicator_name[0] = '\0';
}

static void fill_p2p(struct record *record, const struct api_descriptor_v7 *event)
{
    record->type = TYPE_P2P;
    record->slots = RECORD_SLOTS_TO(task);
    record->task.sequence = 0;
    record->task.send_buffer = (uint64_t)(uintptr_t)event->p2p.buffer;
    record->task.recv_buffer = 0;
    record->task.count = event->p2p.count;
    record->task.communicator_hash = 0;
    record->task.rank = event->rank;
    record->task.root = -1;
    record->task.peer = event->p2p.peer;
    record->task.channels = event->p2p.channels;
    record->task.warps = 0;
    entry_fill_names(&record->task.names, event->p2p.function, event->p2p.datatype, NULL, NULL);
    record->task.communicator_name[0] = '\0';
}

static void fill_call(struct record *record, const struct api_descriptor_v7 *event)
{
    bool collective = event->type == API_COLL_API;
    record->type = collective ? TYPE_COLL_API : TYPE_P2P_API;
    record->slots = RECORD_SLOTS_TO(call);
    record->call.stream = (uint64_t)(uintptr_t)(collective ? event->coll_api.stream : event->p2p_api.stream);
    record->call.count = collective ? event->coll_api.count : event->p2p_api.count;
    record->call.root = collective ? event->coll_api.root : -1;
    record->call.graph_captured = collective ? event->coll_api.graph_captured : event->p2p_api.graph_captured;
    record_text(record->call.function, sizeof(record->call.function),
                collective ? event->coll_api.function : event->p2p_api.function);
    record_text(record->call.datatype, sizeof(record->call.datatype),
                collective ? event->coll_api.datatype : event->p2p_api.datatype);
}

static void fill_launch(struct record *record, const struct api_descriptor_v7 *event)
{
    record->type = TYPE_KERNEL_LAUNCH;
    record->slots = RECORD_SLOTS_TO(call);
    record->call.stream = (uint64_t)(uintptr_t)event->kernel_launch.stream;
    record->call.count = 0;
    record->call.root = 0;
    record->call.graph_captured = 0;
    record->call.function[0] = '\0';
    record->call.datatype[0] = '\0';
}

static void fill_ce_coll(struct record *record, const struct api_descriptor_v7 *event)
{
    record->type = TYPE_CE_COLL;
    record->slots = RECORD_SLOTS_TO(ce_coll);
    record->ce_coll.sequence = event->ce_coll.sequence;
    record->ce_coll.count = event->ce_coll.count;
    record->ce_coll.stream = (uint64_t)(uintptr_t)event->ce_coll.stream;
    record->ce_coll.root = event->ce_coll.root;
    record->ce_coll.rank = event->rank;
    record_text(record->ce_coll.function, sizeof(record->ce_coll.function), event->ce_coll.function);
    record_text(record->ce_coll.datatype, sizeof(record->ce_coll.datatype), event->ce_coll.datatype);
    record_text(record->ce_coll.strategy, sizeof(record->ce_coll.strategy), event->ce_coll.strategy);
}

static void fill_ce_part(struct record *record, const struct api_descriptor_v7 *event)
{
    bool sync = event->type == API_CE_SYNC;
    entry_plain(record, sync ? TYPE_CE_SYNC : TYPE_CE_BATCH);
    record->ce_part.total_bytes = sync ? 0 : event->ce_batch.total_bytes;
    record->ce_part.number = sync ? event->ce_sync.ranks : event->ce_batch.operations;
    record->ce_part.flag = sync ? event->ce_sync.is_complete : event->ce_batch.use_intra_sync;
}

static bool fill_v5(struct record *record, const struct api_descriptor_v7 *event)
{
    switch (event->type) {
    case API_GROUP_API:
        entry_plain(record, TYPE_GROUP_API);
        record->group_api.depth = event->group_api.depth;
        record->group_api.graph_captured = event->group_api.graph_captured;
        return true;
    case API_COLL_API:
    case API_P2P_API:
        fill_call(record, event);
        return true;
    case API_KERNEL_LAUNCH:
        fill_launch(record, event);
        return true;
    case API_COLL:
        fill_coll(record, event);
        return true;
    case API_P2P:
        fill_p2p(record, event);
        return true;
    case API_PROXY_OP:
        entry_proxy_op(record, &event->proxy_op, event->rank);
        return true;
    case API_PROXY_STEP:
        entry_proxy_step(record, event->proxy_step.step);
        return true;
    case API_PROXY_CTRL:
        entry_plain(record, TYPE_PROXY_CTRL);
        return true;
    case API_KERNEL_CH:
        entry_kernel_ch(record, event->kernel_ch.channel, event->kernel_ch.gpu_clock);
        return true;
    case API_NET_PLUGIN:
        return entry_net_plugin(record, event->net_plugin.id, event->net_plugin.data);
    case API_CE_COLL:
        fill_ce_coll(record, event);
        return true;
    case API_CE_SYNC:
    case API_CE_BATCH:
        fill_ce_part(record, event);
        return true;
    default:
        return false;
    }
}

int entry_start_v5(void *context, void **handle, const struct api_descriptor_v7 *event, uint32_t known)
{
    struct record record;
    if (!handle)
        return API_SUCCESS;
    *handle = NULL;
    /* From version 5 on a group holds nothing: calls and operations hang below the API events. */
    if (!event || event->type == API_GROUP)
        return API_SUCCESS;
    if (!(event->type & known) || (event->type & (event->type - 1)))
        recorder_unknown();
    else if (event->type == API_USER_TAG)
        tag_of_nccl(context, event->rank, event->user_tag.tag);
    else if (fill_v5(&record, event))
        recorder_start(context, handle, event->parent, &record);
    else
        recorder_unknown();
    return API_SUCCESS;
}
