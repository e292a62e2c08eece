/* Conversion of NCCL's descriptors to records, as far as several API versions share it. */
#include "plugin/entry/entry.h"
#include "plugin/entry/api_layout.h"
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

void entry_init_unnamed(void **context, int *mask, unsigned version, uint32_t known)
{
    struct communicator communicator = {.rank = -1, .ranks = -1, .nodes = -1, .api = version};
    recorder_init(context, mask, known, &communicator, NULL);
}

void entry_init_named(void **context, int *mask, unsigned version, enum api_dialect dialect, uint32_t known,
                      const char *name, uint64_t hash, int nodes, int ranks, int rank, api_logger *logger)
{
    struct communicator communicator = {
        .hash = hash, .rank = rank, .ranks = ranks, .nodes = nodes, .api = version, .dialect = dialect};
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

void entry_task(struct record *record, enum record_type type)
{
    record->type = (uint8_t)type;
    record->slots = RECORD_SLOTS_TO(task);
    record->task.communicator_hash = 0;
    record->task.user_tag = 0;
    record->task.symmetry = SYMMETRY_UNKNOWN;
    record->task.communicator_name[0] = '\0';
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

static void fill_ib(struct record *record, const struct api_net_ib_v1 *ib)
{
    record->net_plugin.device = ib->qp.device;
    record->net_plugin.work_request = ib->qp.wr_id;
    record->net_plugin.opcode = ib->qp.opcode;
    record->net_plugin.queue_pair = ib->qp.qp_number;
    record->net_plugin.length = ib->qp.length;
}

static void fill_socket(struct record *record, const struct api_net_socket_v1 *socket)
{
    record->net_plugin.device = socket->socket.descriptor;
    record->net_plugin.work_request = 0;
    record->net_plugin.opcode = socket->socket.operation;
    record->net_plugin.queue_pair = 0;
    record->net_plugin.length = socket->socket.length;
}

bool entry_net_plugin(struct record *record, int64_t id, const void *data)
{
    bool ib = id == (API_NET_TYPE_IB | 1);
    bool socket = id == (API_NET_TYPE_SOCKET | 1);
    /*
     * In both structures the first byte is the kind of event. Each has one kind: of a queue pair, or of a
     * socket.
     */
    if ((!ib && !socket) || !data || *(const uint8_t *)data != 1)
        return false;
    entry_plain(record, TYPE_NET_PLUGIN);
    record->slots = RECORD_SLOTS_TO(net_plugin);
    record->net_plugin.id = (uint32_t)id;
    if (ib)
        fill_ib(record, data);
    else
        fill_socket(record, data);
    return true;
}

int entry_start_v1(void *context, void **handle, const void *event, void *parent, entry_fill *fill)
{
    struct record record;
    if (!handle)
        return API_SUCCESS;
    *handle = NULL;
    if (event && fill(&record, event))
        recorder_start(context, handle, parent, &record);
    else
        recorder_unknown();
    return API_SUCCESS;
}

int entry_stop(void *handle)
{
    recorder_stop(handle);
    return API_SUCCESS;
}

static bool is_state_of_step(int state)
{
    return state >= API_STEP_SEND_GPU_WAIT && state <= API_STEP_RECV_GPU_WAIT;
}

static bool is_state_of_control(int state)
{
    return state >= API_CTRL_IDLE && state <= API_CTRL_APPEND_END;
}

/* True for a state of NCCL's enumeration up to `highest`. */
static bool is_known_state(const void *handle, int state, int highest)
{
    bool known = state >= 0 && state <= highest;
    if (!known && handle)
        recorder_unknown();
    return known;
}

int entry_state_v1(void *handle, int state, union api_state_args_v1 *values)
{
    if (!is_known_state(handle, state, ENTRY_STATES_V1))
        return API_SUCCESS;
    if (!values || is_state_of_step(state))
        recorder_state(handle, state, 0, 0);
    else if (is_state_of_control(state))
        recorder_state(handle, state, (uint32_t)values->proxy_ctrl.appended, 0);
    else
        recorder_state(handle, state, values->proxy_op.transferred_bytes, values->proxy_op.steps);
    return API_SUCCESS;
}

int entry_state_v4(void *handle, int state, const union api_state_args_v4 *values, int highest)
{
    if (!is_known_state(handle, state, highest))
        return API_SUCCESS;
    if (is_state_of_control(state))
        recorder_state(handle, state, values ? (uint32_t)values->proxy_ctrl.appended : 0, 0);
    else if (state == API_KERNEL_CH_STOP)
        recorder_state(handle, state, values ? values->kernel_ch.gpu_clock : 0, 0);
    else if (is_state_of_step(state) || state == API_STEP_SEND_PEER_WAIT || state == API_PROXY_OP_IN_PROGRESS)
        recorder_state(handle, state, values ? values->proxy_step.transferred_bytes : 0, 0);
    /* The other states are not written anywhere. The states of proxy operations ended with version 3. */
    return API_SUCCESS;
}

int entry_finalize(void *context)
{
    recorder_finalize(context);
    return API_SUCCESS;
}

static void fill_coll(struct record *record, const struct api_descriptor_v6 *event)
{
    entry_task(record, TYPE_COLL);
    record->task.sequence = event->coll.sequence;
    record->task.send_buffer = (uint64_t)(uintptr_t)event->coll.send_buffer;
    record->task.recv_buffer = (uint64_t)(uintptr_t)event->coll.recv_buffer;
    record->task.count = event->coll.count;
    record->task.rank = event->rank;
    record->task.root = event->coll.root;
    record->task.peer = -1;
    record->task.channels = event->coll.channels;
    record->task.warps = event->coll.warps;
    entry_fill_names(&record->task.names, event->coll.function, event->coll.datatype, event->coll.algorithm,
                     event->coll.protocol);
}

static void fill_p2p(struct record *record, const struct api_descriptor_v6 *event)
{
    entry_task(record, TYPE_P2P);
    record->task.sequence = 0;
    record->task.send_buffer = (uint64_t)(uintptr_t)event->p2p.buffer;
    record->task.recv_buffer = 0;
    record->task.count = event->p2p.count;
    record->task.rank = event->rank;
    record->task.root = -1;
    record->task.peer = event->p2p.peer;
    record->task.channels = event->p2p.channels;
    record->task.warps = 0;
    entry_fill_names(&record->task.names, event->p2p.function, event->p2p.datatype, NULL, NULL);
}

static void fill_call(struct record *record, const struct api_descriptor_v6 *event)
{
    bool collective = event->type == API_COLL_API;
    record->type = collective ? TYPE_COLL_API : TYPE_P2P_API;
    record->slots = RECORD_SLOTS_TO(call);
    record->call.user_tag = 0;
    record->call.stream = (uint64_t)(uintptr_t)(collective ? event->coll_api.stream : event->p2p_api.stream);
    record->call.count = collective ? event->coll_api.count : event->p2p_api.count;
    record->call.root = collective ? event->coll_api.root : -1;
    record->call.graph_captured = collective ? event->coll_api.graph_captured : event->p2p_api.graph_captured;
    record_text(record->call.function, sizeof(record->call.function),
                collective ? event->coll_api.function : event->p2p_api.function);
    record_text(record->call.datatype, sizeof(record->call.datatype),
                collective ? event->coll_api.datatype : event->p2p_api.datatype);
}

static void fill_launch(struct record *record, const struct api_descriptor_v6 *event)
{
    record->type = TYPE_KERNEL_LAUNCH;
    record->slots = RECORD_SLOTS_TO(call);
    record->call.stream = (uint64_t)(uintptr_t)event->kernel_launch.stream;
    record->call.count = 0;
    record->call.user_tag = 0;
    record->call.root = 0;
    record->call.graph_captured = 0;
    record->call.function[0] = '\0';
    record->call.datatype[0] = '\0';
}

static void fill_ce_coll(struct record *record, const struct api_descriptor_v6 *event)
{
    record->type = TYPE_CE_COLL;
    record->slots = RECORD_SLOTS_TO(ce_coll);
    record->ce_coll.sequence = event->ce_coll.sequence;
    record->ce_coll.count = event->ce_coll.count;
    record->ce_coll.stream = (uint64_t)(uintptr_t)event->ce_coll.stream;
    record->ce_coll.root = event->ce_coll.root;
    record->ce_coll.rank = event->rank;
    record->ce_coll.user_tag = 0;
    record_text(record->ce_coll.function, sizeof(record->ce_coll.function), event->ce_coll.function);
    record_text(record->ce_coll.datatype, sizeof(record->ce_coll.datatype), event->ce_coll.datatype);
    record_text(record->ce_coll.strategy, sizeof(record->ce_coll.strategy), event->ce_coll.strategy);
}

static void fill_ce_part(struct record *record, const struct api_descriptor_v6 *event)
{
    bool sync = event->type == API_CE_SYNC;
    entry_plain(record, sync ? TYPE_CE_SYNC : TYPE_CE_BATCH);
    record->ce_part.total_bytes = sync ? 0 : event->ce_batch.total_bytes;
    record->ce_part.number = sync ? event->ce_sync.ranks : event->ce_batch.operations;
    record->ce_part.flag = sync ? event->ce_sync.is_complete : event->ce_batch.use_intra_sync;
}

static bool fill_v5(struct record *record, const struct api_descriptor_v6 *event)
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

int entry_start_v5(void *context, void **handle, const struct api_descriptor_v6 *event, uint32_t known,
                   entry_more *more)
{
    struct record record;
    if (!handle)
        return API_SUCCESS;
    *handle = NULL;
    /* Since version 5 a group has no children: calls and operations are below the API events. */
    if (!event || event->type == API_GROUP)
        return API_SUCCESS;
    if (!(event->type & known) || !fill_v5(&record, event)) {
        recorder_unknown();
        return API_SUCCESS;
    }
    if (more)
        more(&record, event);
    recorder_start(context, handle, event->parent, &record);
    return API_SUCCESS;
}
