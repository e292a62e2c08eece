/* NCCL profiler API version 1, in which functions, data types, algorithms and protocols are numbers. */
#include "plugin/entry/entry.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"

/* The numbers of NCCL 2.23, with the names of later versions. */
static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const datatypes[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                        "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                        "ncclFloat64", "ncclBfloat16"};
static const char *const algorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                         "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

static const char *name_of(const char *const *names, size_t count, unsigned number)
{
    return number < count ? names[number] : "Unknown";
}

#define NAME(names, number) name_of(names, sizeof(names) / sizeof((names)[0]), number)

static void fill_task(struct record *record, const struct api_descriptor_v1 *event)
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
        entry_fill_names(&record->task.names, NAME(functions, event->coll.function),
                         NAME(datatypes, event->coll.datatype), NAME(algorithms, event->coll.algorithm),
                         NAME(protocols, event->coll.protocol));
    else
        entry_fill_names(&record->task.names, NAME(functions, event->p2p.function),
                         NAME(datatypes, event->p2p.datatype), NULL, NULL);
    record_text(record->task.communicator_name, sizeof(record->task.communicator_name),
                collective ? event->coll.name : event->p2p.name);
}

static bool fill(struct record *record, const void *descriptor)
{
    const struct api_descriptor_v1 *event = descriptor;
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
    default:
        return false;
    }
}

static int init(void **context, int *mask)
{
    entry_init_unnamed(context, mask, 1, ENTRY_KNOWN_V1);
    return API_SUCCESS;
}

static int start_event(void *context, void **handle, struct api_descriptor_v1 *event)
{
    return entry_start_v1(context, handle, event, event ? event->parent : NULL, fill);
}

extern PLUGIN_EXPORT struct api_plugin_v1 ncclProfiler_v1;

PLUGIN_EXPORT struct api_plugin_v1 ncclProfiler_v1 = {
    .name = "ncclprof",
    .init = init,
    .start_event = start_event,
    .stop_event = entry_stop,
    .record_event_state = entry_state_v1,
    .finalize = entry_finalize,
};
