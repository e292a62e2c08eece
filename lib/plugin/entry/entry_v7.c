/*
 * NCCL profiler API version 7: the one of NCCL 2.31, and the earlier one of NVIDIA/nccl pull request 2045,
 * which differs. Both use the table in this file. Bit 15 is a kernel phase with a GPU clock in the one and
 * the text of a tag in the other, and the descriptor of the one ends where the other has further members.
 * Members that only one version has are read only for that version.
 */
#include "plugin/entry/entry.h"
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

/* A communicator of this process uses the NCCL of the pull request. */
static _Atomic bool has_seen_tags_dialect;

/* NCCL 2.31 and later have the released version, whatever else they may export. */
#define RELEASED_SINCE 23100

/* Returns the released version if it is not certain. */
static enum api_dialect dialect_of(const void *caller)
{
    if (!caller_symbol(caller, "ncclNotifyTag") || caller_nccl_version(caller) >= RELEASED_SINCE)
        return DIALECT_RELEASED;
    atomic_store_explicit(&has_seen_tags_dialect, true, memory_order_relaxed);
    return DIALECT_TAGS;
}

/* A communicator without a number counts as released if no NCCL of the pull request was seen. */
static enum api_dialect dialect_with(const void *context)
{
    uintptr_t number = (uintptr_t)context;
    enum api_dialect known =
        communicator_dialect(number < COMMUNICATORS_MAX ? (uint32_t)number : COMMUNICATORS_MAX);
    if (known == DIALECT_OTHER && !atomic_load_explicit(&has_seen_tags_dialect, memory_order_relaxed))
        return DIALECT_RELEASED;
    return known;
}

static int init(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank,
                api_logger *logger)
{
    /* The return address may be the first byte after the code of the caller. */
    const char *caller = (const char *)__builtin_return_address(0) - 1;
    entry_init_named(context, mask, 7, dialect_of(caller), ENTRY_KNOWN_V7, name, hash, nodes, ranks, rank,
                     logger);
    return API_SUCCESS;
}

/* Copies the members that the released version adds to version 6. */
static void fill_more(struct record *record, const struct api_descriptor_v6 *event)
{
    const struct api_descriptor_v7 *released = (const struct api_descriptor_v7 *)(const void *)event;
    switch (record->type) {
    case TYPE_COLL_API:
        record->call.user_tag = released->coll_api.user_tag;
        break;
    case TYPE_P2P_API:
        record->call.user_tag = released->p2p_api.user_tag;
        break;
    case TYPE_COLL:
        record->task.user_tag = released->coll.user_tag;
        record->task.symmetry = released->coll.is_symmetric ? SYMMETRY_YES : SYMMETRY_NO;
        record_text(record->task.kernel_variant, sizeof(record->task.kernel_variant),
                    released->coll.kernel_variant);
        break;
    case TYPE_P2P:
        record->task.user_tag = released->p2p.user_tag;
        break;
    case TYPE_CE_COLL:
        record->ce_coll.user_tag = released->ce_coll.user_tag;
        break;
    default:
        break;
    }
}

/* The number of the phase is enough; its name is not recorded. */
static void start_phase(void *context, void **handle, const struct api_descriptor_v6 *event)
{
    const struct api_descriptor_v7 *released = (const struct api_descriptor_v7 *)(const void *)event;
    struct record record;
    entry_kernel_ch(&record, released->kernel_phase.channel, released->kernel_phase.gpu_clock);
    record.type = TYPE_KERNEL_PHASE;
    record.kernel_ch.phase = released->kernel_phase.phase;
    recorder_start(context, handle, event->parent, &record);
}

static void start_bit_15(void *context, void **handle, const struct api_descriptor_v6 *event,
                         enum api_dialect dialect)
{
    if (dialect == DIALECT_RELEASED)
        start_phase(context, handle, event);
    else if (dialect == DIALECT_TAGS && !event->parent)
        tag_of_nccl(context, event->rank, event->user_tag.tag);
    else
        recorder_unknown();
}

static int start_event(void *context, void **handle, struct api_descriptor_v6 *event)
{
    enum api_dialect dialect = dialect_with(context);
    if (!handle || !event || event->type != API_KERNEL_PHASE)
        return entry_start_v5(context, handle, event, ENTRY_KNOWN_V6,
                              dialect == DIALECT_RELEASED ? fill_more : NULL);
    *handle = NULL;
    start_bit_15(context, handle, event, dialect);
    return API_SUCCESS;
}

/* With the NCCL of the pull request, no handle is the handle of a phase. */
static int record_event_state(void *handle, int state, union api_state_args_v4 *values)
{
    bool is_phase = (uintptr_t)handle & RECORD_PHASE_HANDLE;
    if (!is_phase || state != API_KERNEL_PHASE_STOP)
        return entry_state_v4(handle, state, values, ENTRY_STATES_V6);
    recorder_state(handle, state, values ? values->kernel_ch.gpu_clock : 0, 0);
    return API_SUCCESS;
}

extern PLUGIN_EXPORT struct api_plugin_v7 ncclProfiler_v7;

PLUGIN_EXPORT struct api_plugin_v7 ncclProfiler_v7 = {
    .name = "ncclprof",
    .init = init,
    .start_event = start_event,
    .stop_event = entry_stop,
    .record_event_state = record_event_state,
    .finalize = entry_finalize,
};
