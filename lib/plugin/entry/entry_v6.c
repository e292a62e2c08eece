/* NCCL profiler API version 6. */
#include "plugin/entry/entry.h"
#include "plugin/ring/api.h"
#include "plugin/ring/ring.h"

static int init(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,
                api_logger *logger)
{
    entry_init_named(context, mask, 6, DIALECT_OTHER, ENTRY_KNOWN_V6, name, hash, nodes, ranks, rank, logger);
    return API_SUCCESS;
}

static int start_event(void *context, void **handle, struct api_descriptor_v6 *event)
{
    return entry_start_v5(context, handle, event, ENTRY_KNOWN_V6, NULL);
}

static int record_event_state(void *handle, int state, union api_state_args_v4 *values)
{
    return entry_state_v4(handle, state, values, ENTRY_STATES_V6);
}

extern PLUGIN_EXPORT struct api_plugin_v6 ncclProfiler_v6;

PLUGIN_EXPORT struct api_plugin_v6 ncclProfiler_v6 = {
    .name = "ncclprof",
    .init = init,
    .start_event = start_event,
    .stop_event = entry_stop,
    .record_event_state = record_event_state,
    .finalize = entry_finalize,
};
