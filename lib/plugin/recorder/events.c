/*
 * The event path: turns NCCL's calls into records and pushes them to the ring of the calling thread. Also
 * finds the library that makes a call.
 */
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

_Atomic bool recorder_on;

static struct ring *recording_ring(void)
{
    if (!atomic_load_explicit(&recorder_on, memory_order_relaxed))
        return NULL;
    return ring_of_thread();
}

void recorder_start(const void *context, void **handle, const void *parent, struct record *record)
{
    struct ring *ring = recording_ring();
    if (!ring) {
        *handle = NULL;
        return;
    }
    record->time_ns = clock_monotonic_ns();
    record->handle = ring->next_handle;
    if (record->type == TYPE_KERNEL_PHASE)
        record->handle |= RECORD_PHASE_HANDLE;
    record->parent = (uint64_t)(uintptr_t)parent;
    record->context = (uintptr_t)context < COMMUNICATORS_MAX ? (uint32_t)(uintptr_t)context : 0;
    record->kind = RECORD_START;
    if (ring_push(ring, record, record->slots, RING_START)) {
        *handle = (void *)(uintptr_t)record->handle;
        ring->next_handle++;
    } else {
        *handle = NULL;
    }
}

void recorder_stop(const void *handle)
{
    /* A phase is over when the stop of its GPU clock is known. */
    bool is_phase = (uintptr_t)handle & RECORD_PHASE_HANDLE;
    struct ring *ring = handle && !is_phase ? recording_ring() : NULL;
    if (!ring)
        return;
    struct record record;
    record.time_ns = clock_monotonic_ns();
    record.handle = (uint64_t)(uintptr_t)handle;
    record.kind = RECORD_STOP;
    record.slots = 1;
    record.context = 0;
    ring_push(ring, &record, 1, RING_STOP);
}

/* NCCL records these states repeatedly while it polls. */
static bool is_polled(int state)
{
    return state == API_STEP_SEND_PEER_WAIT || state == API_SEND_REM_FIFO_WAIT;
}

void recorder_state(const void *handle, int state, uint64_t value, int steps)
{
    struct ring *ring = handle ? recording_ring() : NULL;
    if (!ring)
        return;
    uint64_t number = (uint64_t)(uintptr_t)handle;
    if (is_polled(state) && ring_repeated(ring, number ^ (uint64_t)(uint32_t)steps << 56))
        return;
    struct record record;
    record.time_ns = clock_monotonic_ns();
    record.handle = number;
    record.kind = RECORD_STATE;
    record.slots = 1;
    record.context = 0;
    record.state = (uint8_t)state;
    record.state_values.value = value;
    record.state_values.steps = steps;
    ring_push(ring, &record, 1, RING_STATE);
}

void recorder_unknown(void)
{
    struct ring *ring = recording_ring();
    if (ring)
        atomic_store_explicit(&ring->unknown, atomic_load_explicit(&ring->unknown, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

void recorder_tag(const void *context, int rank, enum tag_source source, unsigned depth, const char *text,
                  size_t length, bool truncated)
{
    struct ring *ring = ring_of_thread();
    if (!ring)
        return;
    _Alignas(struct record) unsigned char bytes[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
    struct record *record = (struct record *)bytes;
    size_t kept = length < RECORD_TEXT_MAX ? length : RECORD_TEXT_MAX;
    record->time_ns = clock_monotonic_ns();
    record->handle = 0;
    record->parent = 0;
    record->context = (uintptr_t)context < COMMUNICATORS_MAX ? (uint32_t)(uintptr_t)context : 0;
    record->kind = RECORD_TAG;
    record->type = TYPE_USER_TAG;
    record->state = 0;
    record->tag.rank = rank;
    record->tag.length = (uint16_t)kept;
    record->tag.depth = (uint16_t)depth;
    record->tag.source = (uint8_t)source;
    record->tag.truncated = truncated || kept < length;
    memcpy(record->tag.text, text, kept);
    size_t used = offsetof(struct record, tag.text) + kept;
    record->slots = (uint8_t)((used + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES);
    ring_push(ring, record, record->slots, RING_STATE);
}

/*
 * Looks up a symbol and closes the library handle. Returns null if the symbol belongs to another library: the
 * search includes the dependencies of a library.
 */
static void *symbol_of(void *library, const void *base, const char *name)
{
    if (!library)
        return NULL;
    Dl_info where;
    void *found = dlsym(library, name);
    if (found && (!dladdr(found, &where) || where.dli_fbase != base))
        found = NULL;
    dlclose(library);
    return found;
}

void *caller_symbol(const void *address, const char *name)
{
    Dl_info where;
    if (!dladdr(address, &where) || !where.dli_fname)
        return NULL;
    void *found = symbol_of(dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD), where.dli_fbase, name);
    /* The main program cannot be opened by a name. */
    return found ? found : symbol_of(dlopen(NULL, RTLD_LAZY), where.dli_fbase, name);
}

int caller_nccl_version(const void *address)
{
    int (*get_version)(int *);
    void *symbol = address ? caller_symbol(address, "ncclGetVersion") : NULL;
    int version = 0;
    memcpy(&get_version, &symbol, sizeof(get_version));
    return get_version && get_version(&version) == API_SUCCESS ? version : 0;
}
