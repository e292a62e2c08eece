/* NCCL profiler API version 3. */
#include "plugin/entry/entry.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"

static void fill_task(struct record *record, const struct api_descriptor_v3 *event)
{
    bool collective = event->type == API_COLL;
    entry_task(record, collective ? TYPE_COLL : TYPE_P2P);
    record->task.sequence = collective ? event->coll.sequence : 0;
    record->task.send_buffer =
        (uint64_t)(uintptr_t)(collective ? event->coll.send_buffer : event->p2p.buffer);
    record->task.recv_buffer = collective ? (uint64_t)(uintptr_t)event->coll.recv_buffer : 0;
    record->task.count = collective ? event->coll.count : event->p2p.count;
    record->task.communicator_hash =
        collective ? event->coll.communicator_hash : event->p2p.communicator_hash;
    record->task.rank = event->rank;
    record->task.root = collective ? event->coll.root : -1;
    record->task.peer = collective ? -1 : event->p2p.peer;
    record->task.channels = collective ? event->coll.channels : 0;
    record->task.warps = collective ? event->coll.warps : 0;
    if (collective)
        entry_fill_names(&record->task.names, event->coll.function, event->coll.datatype,
                         event->coll.algorithm, event->coll.protocol);
    else
        entry_fill_names(&record->task.names, event->p2p.function, event->p2p.datatype, NULL, NULL);
    record_text(record->task.communicator_name, sizeof(record->task.communicator_name),
                collective ? event->coll.name : event->p2p.name);
}

static bool fill(struct record *record, const void *descriptor)
{
    const struct api_descriptor_v3 *event = descriptor;
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
        entry_kernel_ch(record, event->kernel_ch.channel, 0);
        return true;
    case API_NET_PLUGIN:
        return entry_net_plugin(record, event->net_plugin.id, event->net_plugin.data);
    default:
        return false;
    }
}

static int init(void **context, int *mask)
{
    entry_init_unnamed(context, mask, 3, ENTRY_KNOWN_V3);
    return API_SUCCESS;
}

static int start_event(void *context, void **handle, struct api_descriptor_v3 *event)
{
    return entry_start_v1(context, handle, event, event ? event->parent : NULL, fill);
}

extern PLUGIN_EXPORT struct api_plugin_v3 ncclProfiler_v3;

PLUGIN_EXPORT struct api_plugin_v3 ncclProfiler_v3 = {
    .name = "ncclprof",
    .init = init,
    .start_event = start_event,
    .stop_event = entry_stop,
    .record_event_state = entry_state_v1,
    .finalize = entry_finalize,
};
