/*
 * A profiler plugin that receives events and ignores them, for overhead.sh: it shows the cost of NCCL's own
 * instrumentation. It requests the events of NCCL_PROFILE_EVENT_MASK, like the plugins with which it is
 * compared. NCCL 2.28 or later.
 */
#include "plugin/ring/api.h"

#include <stdlib.h>

/* Its address serves as every handle: without a handle, NCCL omits the following calls. */
static char some_handle;

static int init(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,
                api_logger *logger)
{
    (void)hash, (void)name, (void)nodes, (void)ranks, (void)rank, (void)logger;
    const char *asked = getenv("NCCL_PROFILE_EVENT_MASK");
    *context = &some_handle;
    *mask = asked ? (int)strtol(asked, NULL, 0) : 0;
    return API_SUCCESS;
}

static int start_event(void *context, void **handle, struct api_descriptor_v6 *event)
{
    (void)context, (void)event;
    *handle = &some_handle;
    return API_SUCCESS;
}

static int stop_event(void *handle)
{
    (void)handle;
    return API_SUCCESS;
}

static int record_event_state(void *handle, int state, union api_state_args_v4 *values)
{
    (void)handle, (void)state, (void)values;
    return API_SUCCESS;
}

static int finalize(void *context)
{
    (void)context;
    return API_SUCCESS;
}

#define TABLE(version)                                                       \
    extern PLUGIN_EXPORT struct api_plugin_##version ncclProfiler_##version; \
    PLUGIN_EXPORT struct api_plugin_##version ncclProfiler_##version = {     \
        "nothing", init, start_event, stop_event, record_event_state, finalize}

TABLE(v5);
TABLE(v6);
TABLE(v7);
