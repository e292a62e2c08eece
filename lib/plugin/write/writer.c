#include "plugin/write/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/ring/clock.h"
#include "plugin/ring/futex.h"
#include "plugin/ring/log.h"
#include "plugin/ring/ring.h"
#include "plugin/ring/tag_name.h"
#include "plugin/tree/tree.h"
#include "plugin/write/allocator_hook.h"
#include "plugin/write/chrome.h"
#include "plugin/write/inspector.h"
#include "plugin/write/notes.h"
#include "plugin/write/path.h"
#include "plugin/write/sink.h"

#define MILLISECOND_NS 1000000u
#define IDLE_NS (5 * MILLISECOND_NS)
#define PAUSE_NS MILLISECOND_NS
/* No thread fills a slot faster than this. */
#define SLOT_NS 16u
#define SWEEP_NS (20 * MILLISECOND_NS)
#define NOTES_NS (250 * MILLISECOND_NS)
#define ANCHOR_NS 10000000000u
/* How often a GPU's clock is measured anew, and from how many kernel starts and stops at least. */
#define CLOCK_NS 1000000000u
#define CLOCK_SAMPLES 64u
/* After a line of the array, which ends in a comma. */
#define ARRAY_END "{}]\n"
/* How many slots are taken from a ring before the room is given back to its thread. */
#define BATCH_SLOTS 512u

struct cursor {
    struct ring *ring;
    uint64_t at, limit, time_ns;
};

struct due {
    uint64_t sweep_ns, flush_ns, notes_ns, clock_ns, anchor_ns;
};

struct writer {
    struct writer_settings settings;
    struct tree tree;
    struct sink chrome_sink, inspector_sink;
    struct chrome chrome;
    struct inspector inspector;
    struct notes_process process;
    struct place place;
    struct notes_drops drops;     /* as last written */
    struct ring_drops ring_drops; /* as last logged */
    struct due due;
    uint64_t operations, unfinished;
    uint64_t broken_off; /* operations that were pending when their communicator ended: it was aborted */
    bool rests;          /* no communicator is live, as the thread last saw it */
    uint32_t rest_seen;
    uint32_t communicators_written;
    unsigned tag_names_written;
    bool failure_logged;
    struct cursor *cursors;
    unsigned cursor_room;
    uint64_t pause_ns; /* between two looks at rings that are being filled */
    _Alignas(64) unsigned char record[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
    char host[256];

    pthread_t thread;
    /*
     * What threads of the job ask for, without a lock: one that a signal interrupts here, and whose handler
     * calls exit(), would leave it held for ever. Condition variables have one inside.
     */
    _Atomic uint32_t asked; /* two for every flush; odd: the thread is to end */
    _Atomic uint32_t done;  /* what was asked, when the last flush began */
    _Atomic uint32_t rest;  /* odd: no communicator is live; rises by two from one such time to the next */
};

/* -- trees -> lines -- */

static void count_tasks(struct writer *writer, uint32_t number)
{
    const struct node *node = tree_node(&writer->tree, number);
    if (node_is_task(node)) {
        bool finished = tree_task_finished(&writer->tree, number);
        writer->operations++;
        writer->unfinished += !finished;
        writer->broken_off += !finished && tree_communicator(&writer->tree, node->context)->ended;
        return;
    }
    for (uint32_t child = node->first_child; child; child = tree_node(&writer->tree, child)->next_sibling)
        count_tasks(writer, child);
}

static void tree_done(void *owner, uint32_t root, bool finished)
{
    struct writer *writer = owner;
    (void)finished;
    count_tasks(writer, root);
    if (writer->settings.chrome)
        chrome_tree(&writer->chrome, root);
    if (writer->settings.inspector)
        inspector_tree(&writer->inspector, root);
}

static void write_communicators(struct writer *writer, uint64_t now_ns)
{
    uint32_t count = tree_learn_communicators(&writer->tree);
    for (; writer->communicators_written < count; writer->communicators_written++)
        /* Versions 1 to 3 tell a communicator's hash with its first operation. */
        if (writer->settings.chrome &&
            tree_communicator(&writer->tree, writer->communicators_written)->known.hash)
            notes_communicator(&writer->chrome, writer->communicators_written, now_ns);
}

static void write_tag_names(struct writer *writer, uint64_t now_ns)
{
    unsigned count = tag_name_count();
    for (; writer->tag_names_written < count; writer->tag_names_written++) {
        const struct tag_name *name = tag_name_at(writer->tag_names_written);
        if (writer->settings.chrome)
            chrome_tag_name(&writer->chrome, name->number, name->text, now_ns);
    }
}

static void take_record(struct writer *writer, const struct record *record)
{
    if (record->kind == RECORD_TAG) {
        if (record->tag.length == 0 || record->tag.text[0] != '{')
            tree_tag(&writer->tree, record);
        if (writer->settings.chrome)
            chrome_tag(&writer->chrome, record);
        return;
    }
    const struct communicator_state *communicator = tree_communicator(&writer->tree, record->context);
    bool unnamed = communicator->known.hash == 0;
    tree_take(&writer->tree, record);
    communicator = tree_communicator(&writer->tree, record->context);
    if (unnamed && communicator->known.hash && writer->settings.chrome)
        notes_communicator(&writer->chrome, record->context, record->time_ns);
}

/* -- rings -> trees -- */

static bool cursor_room(struct writer *writer, unsigned count)
{
    if (count <= writer->cursor_room)
        return true;
    struct cursor *more = realloc(writer->cursors, (size_t)count * 2 * sizeof(*more));
    if (!more)
        return false;
    writer->cursors = more;
    writer->cursor_room = count * 2;
    return true;
}

/* Rings that hold something up to `until`; the share of the fullest one, in 1/256. */
static unsigned open_cursors(struct writer *writer, uint64_t until_ns, unsigned *fullest)
{
    unsigned count = ring_count();
    unsigned used = 0;
    if (!cursor_room(writer, count))
        return 0;
    for (unsigned i = 0; i < count; i++) {
        struct ring *ring = ring_at(i);
        int owner = atomic_load_explicit(&ring->owner, memory_order_acquire);
        uint64_t at;
        uint64_t limit;
        if (!ring_unread(ring, &at, &limit)) {
            if (owner == RING_RETIRED)
                ring_recycle(ring);
            continue;
        }
        ring_map_ahead(ring);
        uint64_t time_ns = ring_time_ns(ring, at);
        unsigned full = (unsigned)((limit - at) * 256 / ring->capacity);
        *fullest = full > *fullest ? full : *fullest;
        if (time_ns <= until_ns)
            writer->cursors[used++] = (struct cursor){ring, at, limit, time_ns};
    }
    return used;
}

/* Takes records from one ring while they are older than any other ring's next. False when it has no more. */
static bool take_run(struct writer *writer, struct cursor *cursor, uint64_t until_ns)
{
    uint64_t given_back = cursor->at;
    bool more = true;
    while (cursor->time_ns <= until_ns) {
        unsigned slots = ring_copy(cursor->ring, cursor->at, writer->record);
        if (slots == 0 || slots > cursor->limit - cursor->at)
            slots = (unsigned)(cursor->limit - cursor->at); /* cannot be; but never loop on it */
        else
            take_record(writer, (const struct record *)writer->record);
        cursor->at += slots;
        if (cursor->at - given_back >= BATCH_SLOTS) {
            atomic_store_explicit(&cursor->ring->tail, cursor->at, memory_order_release);
            given_back = cursor->at;
        }
        more = cursor->at < cursor->limit;
        if (!more)
            break;
        cursor->time_ns = ring_time_ns(cursor->ring, cursor->at);
    }
    atomic_store_explicit(&cursor->ring->tail, cursor->at, memory_order_release);
    return more;
}

/*
 * Takes everything recorded up to now, in the order of its times. The time is read before the rings' heads:
 * whatever caused a record that we see was published before it, and is therefore seen too. Returns for how
 * long to leave the rings alone now: looking at them all the time would take the lines that their threads
 * write to away from them, and a processor of the job's.
 */
static uint64_t take_all(struct writer *writer)
{
    uint64_t until_ns = clock_monotonic_ns();
    unsigned fullest = 0;
    unsigned count = open_cursors(writer, until_ns, &fullest);
    uint64_t pause_ns = fullest < 4 ? IDLE_NS : fullest < 32 ? writer->pause_ns : 0;
    write_communicators(writer, until_ns);
    write_tag_names(writer, until_ns);
    while (count > 0) {
        unsigned first = 0;
        uint64_t second_ns = until_ns;
        for (unsigned i = 1; i < count; i++)
            if (writer->cursors[i].time_ns < writer->cursors[first].time_ns)
                first = i;
        for (unsigned i = 0; i < count; i++)
            if (i != first && writer->cursors[i].time_ns < second_ns)
                second_ns = writer->cursors[i].time_ns;
        bool more = take_run(writer, &writer->cursors[first], second_ns);
        if (!more || writer->cursors[first].time_ns > until_ns)
            writer->cursors[first] = writer->cursors[--count];
    }
    return pause_ns;
}

/* -- what is due -- */

static void log_drop(const struct writer *writer, uint64_t count, uint64_t before, const char *cause,
                     const char *settings)
{
    if (count && !before)
        log_line(API_LOG_WARN, "%s are dropped and counted in %s%s", cause, writer_path(writer), settings);
}

/* Each cause once. */
static void log_drops(const struct writer *writer, const struct ring_drops *drops)
{
    const struct ring_drops *before = &writer->ring_drops;
    log_drop(writer, drops->ringless, before->ringless,
             "more threads than there may be rings; events of some", " (NCCLPROF_MAX_THREADS)");
    log_drop(writer, drops->full, before->full, "events come faster than they can be written; some",
             " (NCCLPROF_BUFFER_EVENTS, NCCLPROF_EVENT_MASK)");
    log_drop(writer, drops->other, before->other,
             "tags that a signal's handler sets in the middle of an event, or that find no memory,", "");
}

static void write_drops(struct writer *writer, uint64_t now_ns, bool always)
{
    const struct tree_counts *counts = &writer->tree.counts;
    struct ring_drops rings = ring_drops();
    struct notes_drops drops = {.ring = rings.full + rings.ringless + rings.other,
                                .lost = counts->lost,
                                .evicted = counts->evicted,
                                .late = counts->late,
                                .orphans = counts->orphans,
                                .unknown = ring_unknown(),
                                .communicators = communicator_refused()};
    if (!always && memcmp(&drops, &writer->drops, sizeof(drops)) == 0)
        return;
    log_drops(writer, &rings);
    if (drops.communicators && !writer->drops.communicators)
        log_line(API_LOG_WARN, "too many communicators; operations of further ones are without theirs in %s",
                 writer_path(writer));
    writer->drops = drops;
    writer->ring_drops = rings;
    if (writer->settings.chrome)
        notes_drops(&writer->chrome, &drops, now_ns);
}

static void write_anchor(struct writer *writer)
{
    struct notes_anchor anchor = notes_anchor_now();
    writer->inspector.realtime_offset_ns = (int64_t)(anchor.realtime_ns - anchor.monotonic_ns);
    if (writer->settings.chrome) {
        notes_anchor(&writer->chrome, &anchor, writer->process.boot);
        notes_gpu_clocks(&writer->chrome, anchor.monotonic_ns);
    }
}

/*
 * What the array on disk ends with for now. A process that dies with a communicator must leave it open: that
 * tells it from those that came to their end. So must one that aborted a communicator in the middle of an
 * operation: it is about to die, with those that it waited for.
 */
static const char *array_end(const struct writer *writer)
{
    return writer->rests && !writer->broken_off ? ARRAY_END : "";
}

static void flush_sinks(struct writer *writer, const char *ending)
{
    sink_flush(&writer->chrome_sink, ending);
    sink_flush(&writer->inspector_sink, "");
    const struct sink *failed = writer->chrome_sink.failure      ? &writer->chrome_sink
                                : writer->inspector_sink.failure ? &writer->inspector_sink
                                                                 : NULL;
    if (!failed || writer->failure_logged)
        return;
    writer->failure_logged = true;
    char reason[128];
    log_line(API_LOG_WARN, "cannot write to %s: %s; the trace ends there, the job goes on", failed->path,
             strerror_r(failed->failure, reason, sizeof(reason)));
}

static void do_due(struct writer *writer, bool flush)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct due *due = &writer->due;
    if (flush || now_ns >= due->sweep_ns) {
        tree_sweep(&writer->tree, now_ns, false);
        due->sweep_ns = now_ns + SWEEP_NS;
    }
    if (flush || now_ns >= due->notes_ns) {
        if (writer->settings.chrome)
            notes_pending(&writer->chrome, now_ns);
        write_drops(writer, now_ns, false);
        due->notes_ns = now_ns + NOTES_NS;
    }
    if (now_ns >= due->clock_ns) {
        for (uint32_t number = 1; number < writer->tree.communicator_count; number++)
            gpu_clock_turn(&tree_communicator(&writer->tree, number)->clock, CLOCK_SAMPLES);
        due->clock_ns = now_ns + CLOCK_NS;
    }
    if (now_ns >= due->anchor_ns) {
        write_anchor(writer);
        due->anchor_ns = now_ns + ANCHOR_NS;
    }
    if (flush || now_ns >= due->flush_ns) {
        flush_sinks(writer, array_end(writer));
        due->flush_ns = now_ns + writer->settings.flush_ns;
    }
}

static void finish(struct writer *writer)
{
    take_all(writer);
    uint64_t now_ns = clock_monotonic_ns();
    tree_sweep(&writer->tree, now_ns, true);
    write_anchor(writer);
    write_drops(writer, now_ns, true);
    if (writer->settings.chrome) {
        notes_end(&writer->chrome, "exit", writer->operations, writer->unfinished, now_ns);
        text_literal(sink_line(&writer->chrome_sink), ARRAY_END);
    }
    flush_sinks(writer, "");
    sink_close(&writer->chrome_sink);
    sink_close(&writer->inspector_sink);
}

/* -- the thread -- */

/* What was broken off before a new communicator came did not end the process. */
static void see_rest(struct writer *writer)
{
    uint32_t rest = atomic_load_explicit(&writer->rest, memory_order_acquire);
    if (writer->rest_seen / 2 != rest / 2)
        writer->broken_off = 0;
    writer->rest_seen = rest;
    writer->rests = rest & 1;
}

/* On this thread: nothing of the job waits for it. */
static void write_place(struct writer *writer)
{
    if (!writer->settings.chrome)
        return;
    place_find_devices(&writer->place, "");
    notes_place(&writer->chrome, &writer->place, clock_monotonic_ns());
}

static void *writer_main(void *argument)
{
    struct writer *writer = argument;
    bool stopping = false;
    write_place(writer);
    while (!stopping) {
        uint32_t seen = atomic_load_explicit(&writer->asked, memory_order_acquire);
        uint32_t asked = seen & ~1u;
        bool flush = asked != atomic_load_explicit(&writer->done, memory_order_relaxed);
        stopping = seen & 1;
        /* After what was asked: who asks for a flush says first whether there is a communicator. */
        see_rest(writer);
        /* Before what they recorded is taken: all of it has been published. */
        tree_learn_ends(&writer->tree);
        uint64_t pause_ns = take_all(writer);
        do_due(writer, flush);
        if (flush) {
            atomic_store_explicit(&writer->done, asked, memory_order_release);
            futex_wake(&writer->done);
        } else if (pause_ns && !stopping) {
            (void)futex_wait(&writer->asked, seen, clock_monotonic_ns() + pause_ns);
        }
    }
    finish(writer);
    return NULL;
}

static int start_thread(struct writer *writer)
{
    /* The job's signals are the job's: none may be handled on this thread. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    int result = pthread_create(&writer->thread, NULL, writer_main, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0)
        pthread_setname_np(writer->thread, "ncclprof");
    return result == 0 ? 0 : -1;
}

static int open_files(struct writer *writer, int rank, char *failure, size_t failure_bytes)
{
    struct sink *sink = &writer->chrome_sink;
    writer->chrome_sink.file = writer->inspector_sink.file = -1;
    int result = 0;
    if (writer->settings.chrome)
        result = sink_open(sink, writer->settings.path, rank, ".json", writer->settings.gzip);
    if (result == 0 && writer->settings.inspector) {
        sink = &writer->inspector_sink;
        result = sink_open(sink, writer->settings.path, rank, ".jsonl", writer->settings.gzip);
    }
    if (result == 0)
        return 0;
    char reason[128];
    snprintf(failure, failure_bytes, "cannot create %s: %s", sink->path,
             strerror_r(errno, reason, sizeof(reason)));
    return -1;
}

/*
 * Not on the writer's: whatever happens to the process next leaves a file that has its beginning. This thread
 * takes signals, though, and the one for a file at its limit of bytes would kill the job.
 */
static void flush_on_thread_of_job(struct writer *writer)
{
    const struct timespec at_once = {0};
    sigset_t limit;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigemptyset(&pending);
    sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &limit, &before) != 0)
        return;
    flush_sinks(writer, "");
    /* Not one of the job's own. */
    if (!sigismember(&pending, SIGXFSZ))
        while (sigtimedwait(&limit, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void write_beginning(struct writer *writer, const struct writer_origin *origin)
{
    struct notes_anchor anchor = notes_anchor_now();
    path_host(writer->host, sizeof(writer->host));
    writer->process = (struct notes_process){.host = writer->host,
                                             .allocator_hook = allocator_hook_is_on(),
                                             .api = origin->api,
                                             .nccl_version = origin->nccl_version,
                                             .mask = origin->mask,
                                             .start_ns = anchor.monotonic_ns,
                                             .realtime_ns = anchor.realtime_ns};
    notes_read_boot(writer->process.boot);
    place_read_environment(&writer->place);
    chrome_init(&writer->chrome, &writer->chrome_sink, &writer->tree, anchor.monotonic_ns, (long)getpid());
    writer->inspector =
        (struct inspector){.sink = &writer->inspector_sink, .tree = &writer->tree, .process = (long)getpid()};
    memcpy(writer->inspector.host, writer->host, sizeof(writer->host));
    writer->due.clock_ns = anchor.monotonic_ns + CLOCK_NS;
    writer->due.anchor_ns = anchor.monotonic_ns + ANCHOR_NS;
    if (writer->settings.chrome) {
        text_literal(sink_line(&writer->chrome_sink), "[\n");
        char rank[32];
        path_rank(rank, sizeof(rank), origin->rank);
        notes_process(&writer->chrome, &writer->process);
        notes_process_name(&writer->chrome, &writer->process, rank);
    }
    write_anchor(writer);
    flush_on_thread_of_job(writer);
}

static void writer_free(struct writer *writer)
{
    sink_close(&writer->chrome_sink);
    sink_close(&writer->inspector_sink);
    tree_release(&writer->tree);
    free(writer->cursors);
    free(writer);
}

struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes)
{
    struct writer *writer = NULL;
    snprintf(failure, failure_bytes, "out of memory");
    if (posix_memalign((void **)&writer, 64, sizeof(*writer)) != 0)
        return NULL;
    memset(writer, 0, sizeof(*writer));
    writer->chrome_sink.file = writer->inspector_sink.file = -1;
    writer->settings = *settings;
    if (tree_init(&writer->tree, settings->pending_events, origin->mask, getpid(), origin->api) != 0 ||
        open_files(writer, origin->rank, failure, failure_bytes) != 0) {
        writer_free(writer);
        return NULL;
    }
    writer->tree.done = tree_done;
    writer->tree.owner = writer;
    writer->communicators_written = 1;
    writer->pause_ns = settings->buffer_slots * SLOT_NS / 2;
    if (writer->pause_ns > PAUSE_NS)
        writer->pause_ns = PAUSE_NS;
    write_beginning(writer, origin);
    if (start_thread(writer) != 0) {
        snprintf(failure, failure_bytes, "cannot start the writer thread");
        writer_free(writer);
        return NULL;
    }
    return writer;
}

const char *writer_path(const struct writer *writer)
{
    return writer->settings.chrome ? writer->chrome_sink.path : writer->inspector_sink.path;
}

static uint32_t ask_for_flush(struct writer *writer)
{
    uint32_t asked = (atomic_fetch_add_explicit(&writer->asked, 2, memory_order_release) & ~1u) + 2;
    futex_wake(&writer->asked);
    return asked;
}

void writer_resume(struct writer *writer)
{
    if (atomic_load_explicit(&writer->rest, memory_order_relaxed) & 1) {
        atomic_fetch_add_explicit(&writer->rest, 1, memory_order_release);
        (void)ask_for_flush(writer); /* nobody waits for it, but what ends the file goes */
    }
}

uint32_t writer_ask(struct writer *writer, bool at_rest)
{
    if (at_rest)
        atomic_fetch_or_explicit(&writer->rest, 1, memory_order_release);
    return ask_for_flush(writer);
}

void writer_await(struct writer *writer, uint32_t asked, unsigned timeout_ms)
{
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)timeout_ms * MILLISECOND_NS;
    uint32_t done;
    do
        done = atomic_load_explicit(&writer->done, memory_order_acquire);
    while ((int32_t)(done - asked) < 0 && futex_wait(&writer->done, done, until_ns));
}

void writer_stop(struct writer *writer, const struct timespec *until)
{
    atomic_fetch_or_explicit(&writer->asked, 1, memory_order_release);
    futex_wake(&writer->asked);
    /* Past the time (a file system that hangs) the process ends without it. */
    (void)pthread_timedjoin_np(writer->thread, NULL, until);
}

void writer_abandon(struct writer *writer)
{
    sink_abandon(&writer->chrome_sink);
    sink_abandon(&writer->inspector_sink);
}
