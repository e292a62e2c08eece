#include "plugin/recorder/recorder.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "plugin/recorder/caller.h"
#include "plugin/recorder/config.h"
#include "plugin/recorder/events.h"
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
