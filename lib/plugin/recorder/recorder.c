/*
 * Start and end of recording: the first communicator starts the writer thread, the last finalize flushes the
 * files, and the end of the process completes them. Handles forks and calls from signal handlers.
 */
#include "plugin/recorder/recorder.h"
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/write/write.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* The first init should leave files with their first lines. After this time it returns without. */
#define OPEN_WAIT_MS 1000u
#define FINALIZE_WAIT_MS 2000u
#define EXIT_WAIT_MS 10000u
/* Limits for the lock below, which a fork holds while the kernel copies the page tables. */
#define INIT_LOCK_MS 1000u
#define FINALIZE_LOCK_MS 5000u

enum phase { PHASE_FRESH, PHASE_RECORDING, PHASE_FAILED, PHASE_ENDED };

static _Atomic pid_t recording_process; /* 0: none yet */

/*
 * Guards the variables below. Its holder waits for nothing except fork(): it touches no file and logs
 * nothing.
 */
static struct lock lock;
static enum phase phase;
static struct config config;
static struct writer *writer;
/*
 * The writer of the parent. Its thread may have been at any instruction, so its memory is not touched, and
 * neither are its files: a file system may never answer, not even to close().
 */
static struct writer *abandoned;
static bool live[COMMUNICATORS_MAX];
static unsigned live_count;
/* Not guarded: communicators whose end could not take the lock in time, for its next holder. */
static _Atomic bool ended_late[COMMUNICATORS_MAX];
static _Atomic bool some_ended_late;
static _Atomic bool some_unnumbered; /* communicators without a number exist; their end cannot be noticed */
static _Thread_local bool locked_for_fork;
static _Thread_local unsigned forks; /* nested forks: a handler of a signal or of a fork may fork */

static uint64_t monotonic_in(unsigned ms)
{
    return clock_monotonic_ns() + (uint64_t)ms * 1000000u;
}

static bool is_live(uintptr_t number)
{
    return number > 0 && number < COMMUNICATORS_MAX && live[number] && phase == PHASE_RECORDING;
}

/*
 * Call with the lock held. When the last communicator ends, its end must be on disk before finalize returns:
 * returns the writer to wait for, otherwise null.
 */
static struct writer *remove_live(uintptr_t number, uint32_t *asked)
{
    live[number] = false;
    if (--live_count > 0)
        return NULL;
    *asked = writer_ask(writer, !some_unnumbered);
    return writer;
}

/* Call with the lock held. Nothing waits for these communicators any more. */
static void remove_ended_late(void)
{
    uint32_t asked;
    if (!atomic_exchange(&some_ended_late, false))
        return;
    for (uint32_t number = 1; number < COMMUNICATORS_MAX; number++) {
        if (!atomic_load_explicit(&ended_late[number], memory_order_relaxed))
            continue;
        atomic_store_explicit(&ended_late[number], false, memory_order_relaxed);
        if (!is_live(number))
            continue;
        communicator_end(number);
        (void)remove_live(number, &asked);
    }
    if (live_count == 0)
        log_set(NULL);
}

/* A thread that is late while the lock is being released either finds it free or is seen here. */
static void unlock(void)
{
    bool none;
    do {
        remove_ended_late();
        lock_release(&lock);
        /*
         * The exchange writes even an unchanged value, so a thread that sets it later sees the lock released.
         */
        none = false;
    } while (!atomic_compare_exchange_strong(&some_ended_late, &none, false) &&
             lock_take_until(&lock, 0) == LOCK_TAKEN);
}

static void end_late(uintptr_t number)
{
    if (number >= COMMUNICATORS_MAX)
        return;
    /* This may have been the last communicator: NCCL may now be unloaded, together with its logger. */
    log_set(NULL);
    atomic_store_explicit(&ended_late[number], true, memory_order_relaxed);
    (void)atomic_exchange(&some_ended_late, true);
    if (lock_take_until(&lock, 0) == LOCK_TAKEN)
        unlock();
}

static void before_fork(void)
{
    if (forks++ == 0)
        locked_for_fork = lock_take(&lock) == LOCK_TAKEN;
}

static void parent_after_fork(void)
{
    if (--forks == 0 && locked_for_fork)
        unlock();
}

/* The writer thread and its files stay with the parent. The child starts again if it uses NCCL. */
static void child_after_fork(void)
{
    forks = 0;
    atomic_store_explicit(&lock.holder, 0, memory_order_relaxed);
    atomic_store_explicit(&recorder_on, false, memory_order_relaxed);
    if (writer)
        abandoned = writer;
    writer = NULL;
    if (phase != PHASE_ENDED)
        phase = PHASE_FRESH;
    atomic_store_explicit(&recording_process, 0, memory_order_relaxed);
    live_count = 0;
    some_unnumbered = false;
    memset(live, 0, sizeof(live));
    if (atomic_exchange(&some_ended_late, false))
        for (uint32_t number = 0; number < COMMUNICATORS_MAX; number++)
            atomic_store_explicit(&ended_late[number], false, memory_order_relaxed);
    log_set(NULL);
    ring_forget_all();
    communicator_forget_all();
}

/* Runs when the library is loaded, before a fork could find anything half done. */
__attribute__((constructor)) static void library_loads(void)
{
    (void)pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

/* Returns the version of NCCL, found through the library that contains its logger. */
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

/* Called by the writer thread. From now on events cost nothing. */
static void recording_stops(void)
{
    atomic_store_explicit(&recorder_on, false, memory_order_relaxed);
}

/* Call with the lock held. Returns false if recording cannot begin, with the reason in `failure`. */
static bool begin(uint32_t supported, const struct communicator *communicator, int version, char *failure,
                  size_t failure_bytes)
{
    atomic_store_explicit(&recording_process, getpid(), memory_order_relaxed);
    config_read(&config);
    (void)config_tags();
    log_limit(config.log_limit);
    ring_configure(config.writer.buffer_slots, config.threads);
    config.writer.stopped = recording_stops;
    struct writer_origin origin = {.api = communicator->api,
                                   .mask = mask_of(communicator, supported),
                                   .nccl_version = version,
                                   .rank = communicator->rank < 0 ? 0 : communicator->rank};
    writer = writer_start(&config.writer, &origin, failure, failure_bytes);
    phase = writer ? PHASE_RECORDING : PHASE_FAILED;
    return writer != NULL;
}

/* Call with the lock held. */
static uint32_t add(const struct communicator *communicator)
{
    uint32_t number = communicator_add(communicator);
    if (number) {
        live[number] = true;
        live_count++;
    }
    if (number == 0)
        some_unnumbered = true;
    writer_resume(writer);
    return number;
}

/*
 * Call with the lock held. Returns the writer to wait for; null if nothing is recorded, with the reason in
 * `failure` if it is new.
 */
static struct writer *join_recording(uint32_t supported, struct communicator *communicator, int version,
                                     api_logger *logger, uint32_t *number, char *failure,
                                     size_t failure_bytes)
{
    struct writer *awaited = NULL;
    /* Must precede the start of the writer thread, which logs lines. */
    if (logger && (phase == PHASE_FRESH || phase == PHASE_RECORDING))
        log_set(logger);
    bool is_first = phase == PHASE_FRESH && begin(supported, communicator, version, failure, failure_bytes);
    if (phase == PHASE_RECORDING) {
        communicator->mask = mask_of(communicator, supported);
        *number = add(communicator);
        awaited = writer;
    }
    if (live_count == 0)
        log_set(NULL);
    /* From now on communicators of other threads may record events. */
    if (is_first)
        tag_begin();
    return awaited;
}

/* Recording continues, and the operations of this communicator are recorded without it. */
static void refuse_late_communicator(void **context, int *mask, api_logger *logger)
{
    communicator_refuse();
    some_unnumbered = true;
    log_line_by(logger, API_LOG_WARN,
                "a communicator could not be added within %u ms (this happens while a large process forks); "
                "its operations are recorded without a communicator, or not at all",
                INIT_LOCK_MS);
    if (context)
        *context = NULL;
    if (mask && !atomic_load_explicit(&recorder_on, memory_order_relaxed))
        __atomic_store_n(mask, 0, __ATOMIC_RELAXED);
}

void recorder_init(void **context, int *mask, uint32_t supported, struct communicator *communicator,
                   api_logger *logger)
{
    uint32_t number = 0;
    char failure[4500] = "";
    /* Must precede the lock, because it calls the dynamic linker. */
    int version = atomic_load_explicit(&recording_process, memory_order_relaxed) ? 0 : nccl_version(logger);
    communicator->mask = 0;
    if (lock_take_until(&lock, monotonic_in(INIT_LOCK_MS)) != LOCK_TAKEN) {
        refuse_late_communicator(context, mask, logger);
        return;
    }
    struct writer *awaited =
        join_recording(supported, communicator, version, logger, &number, failure, sizeof(failure));
    unlock();
    if (failure[0])
        log_line_by(logger, API_LOG_WARN, "%s; nothing will be recorded", failure);
    if (awaited && !writer_records(awaited, OPEN_WAIT_MS)) {
        /* The writer may have reported this before recording was turned on. */
        recording_stops();
        communicator->mask = 0;
    }
    if (context)
        *context = (void *)(uintptr_t)number;
    if (mask)
        __atomic_store_n(mask, (int)communicator->mask, __ATOMIC_RELAXED);
}

static bool push_context_end(uint32_t number)
{
    struct ring *ring = ring_of_thread();
    struct record record = {
        .time_ns = clock_monotonic_ns(), .context = number, .kind = RECORD_CONTEXT_END, .slots = 1};
    return ring && ring_push(ring, &record, record.slots, RING_STOP);
}

/* Call with the lock held. Returns as remove_live. */
static struct writer *end_context(uintptr_t number, uint32_t *asked)
{
    if (!is_live(number))
        return NULL;
    if (!push_context_end((uint32_t)number))
        communicator_end((uint32_t)number);
    return remove_live(number, asked);
}

void recorder_finalize(void *context)
{
    uint32_t asked = 0;
    if (!context)
        return;
    if (lock_take_until(&lock, monotonic_in(FINALIZE_LOCK_MS)) != LOCK_TAKEN) {
        end_late((uintptr_t)context);
        return;
    }
    struct writer *awaited = end_context((uintptr_t)context, &asked);
    unlock();
    if (!awaited)
        return;
    writer_await(awaited, asked, FINALIZE_WAIT_MS);
    bool is_locked = lock_take(&lock) == LOCK_TAKEN;
    /* NCCL may now be unloaded, together with its logger. */
    if (!is_locked || live_count == 0)
        log_set(NULL);
    if (is_locked)
        unlock();
}

__attribute__((destructor)) static void process_ends(void)
{
    /*
     * A child of clone() or _Fork(), which call no fork handlers, has the state of the parent but no writer
     * thread.
     */
    pid_t process = atomic_load_explicit(&recording_process, memory_order_relaxed);
    if (process && process != getpid())
        return;
    uint64_t until_ns = monotonic_in(EXIT_WAIT_MS);
    /*
     * If a signal handler called exit() in the middle of init or finalize, this thread already holds the
     * lock.
     */
    enum lock_result locked = lock_take_until(&lock, until_ns);
    atomic_store_explicit(&recorder_on, false, memory_order_relaxed);
    log_set(NULL);
    if (locked == LOCK_TIMEOUT)
        return;
    remove_ended_late();
    if (phase == PHASE_RECORDING)
        writer_stop(writer, until_ns);
    phase = PHASE_ENDED;
    lock_release(&lock);
}
