/* NCCL profiler API version 4. */
#include "plugin/entry/entry.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

static void fill_task(struct record *record, const struct api_descriptor_v4 *event)
{
    bool collective = event->type == API_COLL;
    entry_task(record, collective ? TYPE_COLL : TYPE_P2P);
    record->task.sequence = collective ? event->coll.sequence : 0;
    record->task.send_buffer =
        (uint64_t)(uintptr_t)(collective ? event->coll.send_buffer : event->p2p.buffer);
    record->task.recv_buffer = collective ? (uint64_t)(uintptr_t)event->coll.recv_buffer : 0;
    record->task.count = collective ? event->coll.count : event->p2p.count;
    record->task.rank = event->rank;
    record->task.root = collective ? event->coll.root : -1;
    record->task.peer = collective ? -1 : event->p2p.peer;
    record->task.channels = collective ? event->coll.channels : event->p2p.channels;
    record->task.warps = collective ? event->coll.warps : 0;
    if (collective)
        entry_fill_names(&record->task.names, event->coll.function, event->coll.datatype,
                         event->coll.algorithm, event->coll.protocol);
    else
        entry_fill_names(&record->task.names, event->p2p.function, event->p2p.datatype, NULL, NULL);
}

static bool fill(struct record *record, const void *descriptor)
{
    const struct api_descriptor_v4 *event = descriptor;
    switch (event->type) {
    case API_GROUP:
        entry_plain(record, TYPE_GROUP);
        return true;
    case API_COLL:
    case API_P2P:
        fill_task(record, event);
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
    default:
        return false;
    }
}

static int init(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank,
                api_logger *logger)
{
    entry_init_named(context, mask, 4, DIALECT_OTHER, ENTRY_KNOWN_V3, name, hash, nodes, ranks, rank, logger);
    return API_SUCCESS;
}

static int start_event(void *context, void **handle, struct api_descriptor_v4 *event)
{
    return entry_start_v1(context, handle, event, event ? event->parent : NULL, fill);
}

static int record_event_state(void *handle, int state, union api_state_args_v4 *values)
{
    return entry_state_v4(handle, state, values, ENTRY_STATES_V4);
}

extern PLUGIN_EXPORT struct api_plugin_v4 ncclProfiler_v4;

PLUGIN_EXPORT struct api_plugin_v4 ncclProfiler_v4 = {
    .name = "ncclprof",
    .init = init,
    .start_event = start_event,
    .stop_event = entry_stop,
    .record_event_state = record_event_state,
    .finalize = entry_finalize,
};
