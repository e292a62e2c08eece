#include "plugin/recorder/recorder.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "plugin/recorder/caller.h"
#include "plugin/recorder/config.h"
#include "plugin/recorder/tag.h"
#include "plugin/ring/clock.h"
#include "plugin/ring/lock.h"
#include "plugin/ring/log.h"
#include "plugin/ring/ring.h"
#include "plugin/write/writer.h"

#define FINALIZE_WAIT_MS 2000u
/* For an init that waits for a file system; who ends the process meanwhile has recorded nothing. */
#define LOCK_WAIT_MS 2000u
#define EXIT_WAIT_MS 10000u

enum phase { PHASE_FRESH, PHASE_RECORDING, PHASE_FAILED, PHASE_ENDED };

_Atomic bool recorder_on;

static _Atomic pid_t recording_process; /* 0: none yet */

/* Guards what follows. Whoever holds it may wait for a file system, so neither fork nor exit may rely on it.
 */
static struct lock lock;
static enum phase phase;
static struct config config;
static struct writer *writer;
static struct writer *abandoned; /* of the parent: its thread was anywhere, so its memory is left alone */
static bool live[COMMUNICATORS_MAX];
static unsigned live_count;
static bool some_unnumbered; /* communicators that found no number: nobody knows when they end */
static bool fork_handlers_set;
static _Thread_local bool locked_for_fork;
static _Thread_local unsigned forks; /* one within another: a handler may fork, of a signal or of a fork */

static uint64_t monotonic_in(unsigned ms)
{
    return clock_monotonic_ns() + (uint64_t)ms * 1000000u;
}

static struct timespec realtime_in(unsigned ms)
{
    uint64_t at_ns = clock_read_ns(CLOCK_REALTIME) + (uint64_t)ms * 1000000u;
    return (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000u), .tv_nsec = (long)(at_ns % 1000000000u)};
}

static void before_fork(void)
{
    if (forks++ == 0)
        locked_for_fork = lock_take(&lock, monotonic_in(LOCK_WAIT_MS)) == LOCK_TAKEN;
}

static void parent_after_fork(void)
{
    if (--forks == 0 && locked_for_fork)
        lock_release(&lock);
}

/* The writer thread stayed in the parent, and so must its files: the child begins anew if NCCL does. */
static void child_after_fork(void)
{
    forks = 0;
    atomic_store_explicit(&lock.holder, 0, memory_order_relaxed);
    atomic_store_explicit(&recorder_on, false, memory_order_relaxed);
    if (writer) {
        writer_abandon(writer);
        abandoned = writer;
    }
    writer = NULL;
    if (phase != PHASE_ENDED)
        phase = PHASE_FRESH;
    atomic_store_explicit(&recording_process, 0, memory_order_relaxed);
    live_count = 0;
    some_unnumbered = false;
    memset(live, 0, sizeof(live));
    log_set(NULL);
    ring_forget_all();
    communicator_forget_all();
}

/* NCCL's version, by way of the library that its logger lives in. */
static int nccl_version(api_logger *logger)
{
    const void *address;
    memcpy(&address, &logger, sizeof(address));
    return caller_nccl_version(address);
}

static uint32_t mask_of(const struct communicator *communicator, uint32_t supported)
{
    uint32_t wanted = communicator->dialect == DIALECT_RELEASED ? config.mask_with_phases : config.mask;
    return wanted & supported;
}

static void begin(uint32_t supported, const struct communicator *communicator, api_logger *logger)
{
    char failure[4500];
    atomic_store_explicit(&recording_process, getpid(), memory_order_relaxed);
    config_read(&config);
    uint32_t mask = mask_of(communicator, supported);
    /* Not with the first tag of NCCL's: a signal's handler that interrupts it may set one, and would wait for
     * it. */
    (void)config_tags();
    log_limit(config.log_limit);
    ring_configure(config.writer.buffer_slots, config.threads);
    if (!fork_handlers_set)
        fork_handlers_set = pthread_atfork(before_fork, parent_after_fork, child_after_fork) == 0;
    struct writer_origin origin = {.api = communicator->api,
                                   .mask = mask,
                                   .nccl_version = nccl_version(logger),
                                   .rank = communicator->rank < 0 ? 0 : communicator->rank};
    writer = writer_start(&config.writer, &origin, failure, sizeof(failure));
    if (!writer) {
        phase = PHASE_FAILED;
        log_line(API_LOG_WARN, "%s; nothing will be recorded", failure);
        return;
    }
    phase = PHASE_RECORDING;
    log_line(API_LOG_INFO, "recording to %s (event mask %u)", writer_path(writer), mask);
    tag_begin();
}

static uint32_t add_locked(const struct communicator *communicator)
{
    uint32_t number = communicator_add(communicator);
    if (number) {
        live[number] = true;
        live_count++;
    }
    some_unnumbered |= number == 0;
    writer_resume(writer);
    return number;
}

void recorder_init(void **context, int *mask, uint32_t supported, struct communicator *communicator,
                   api_logger *logger)
{
    uint32_t number = 0;
    lock_take(&lock, LOCK_NO_LIMIT);
    if (logger)
        log_set(logger);
    if (phase == PHASE_FRESH)
        begin(supported, communicator, logger);
    communicator->mask = phase == PHASE_RECORDING ? mask_of(communicator, supported) : 0;
    if (phase == PHASE_RECORDING)
        number = add_locked(communicator);
    lock_release(&lock);
    if (context)
        *context = (void *)(uintptr_t)number;
    if (mask)
        __atomic_store_n(mask, (int)communicator->mask, __ATOMIC_RELAXED);
}

static bool push_context_end(uint32_t number)
{
    struct ring *ring = ring_mine();
    struct record record = {
        .time_ns = clock_monotonic_ns(), .context = number, .kind = RECORD_CONTEXT_END, .slots = 1};
    return ring && ring_push(ring, &record, record.slots, RING_STOP);
}

/* Locked. The last one's end is to be on disk when finalize returns: the writer to wait for, or null. */
static struct writer *end_context(uintptr_t number, uint32_t *asked)
{
    if (number == 0 || number >= COMMUNICATORS_MAX || !live[number] || phase != PHASE_RECORDING)
        return NULL;
    live[number] = false;
    if (!push_context_end((uint32_t)number))
        communicator_end((uint32_t)number);
    if (--live_count > 0)
        return NULL;
    *asked = writer_ask(writer, !some_unnumbered);
    return writer;
}

void recorder_finalize(void *context)
{
    uint32_t asked = 0;
    lock_take(&lock, LOCK_NO_LIMIT);
    struct writer *awaited = end_context((uintptr_t)context, &asked);
    lock_release(&lock);
    if (!awaited)
        return;
    writer_await(awaited, asked, FINALIZE_WAIT_MS);
    lock_take(&lock, LOCK_NO_LIMIT);
    /* NCCL may now be unloaded, and its logger with it. */
    if (live_count == 0)
        log_set(NULL);
    lock_release(&lock);
}

__attribute__((destructor)) static void process_ends(void)
{
    /* A child of clone() or _Fork(), which call no handlers, has the parent's state but no writer thread. */
    pid_t process = atomic_load_explicit(&recording_process, memory_order_relaxed);
    if (process && process != getpid())
        return;
    struct timespec until = realtime_in(EXIT_WAIT_MS);
    /* A signal's handler may have called exit() in the middle of init or finalize: the lock is ours then. */
    enum lock_result locked = lock_take(&lock, monotonic_in(LOCK_WAIT_MS));
    atomic_store_explicit(&recorder_on, false, memory_order_relaxed);
    log_set(NULL);
    if (locked == LOCK_TIMEOUT)
        return;
    if (phase == PHASE_RECORDING)
        writer_stop(writer, &until);
    phase = PHASE_ENDED;
    lock_release(&lock);
}

static struct ring *recording_ring(void)
{
    if (!atomic_load_explicit(&recorder_on, memory_order_relaxed))
        return NULL;
    return ring_mine();
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
    /* A phase is over when its clock's stop is known. */
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

/* NCCL records these again and again while it polls. */
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
    struct ring *ring = ring_mine();
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
