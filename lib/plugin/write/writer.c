/*
 * The writer thread: takes records from the rings, passes them through the trees, writes lines to the files,
 * flushes them in time, and completes the files when the process ends.
 */
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MILLISECOND_NS 1000000u
#define IDLE_NS (5 * MILLISECOND_NS)
#define STOPPED_PAUSE_NS (1000 * MILLISECOND_NS)
/* At the end of the process, the wait for the thread ends when it has been blocked for this long. */
#define SILENT_NS (2000 * MILLISECOND_NS)
#define SWEEP_NS (20 * MILLISECOND_NS)
#define NOTES_NS (250 * MILLISECOND_NS)
#define ANCHOR_NS 10000000000u
/*
 * Time between two checks whether the files still exist and how much space is left, when nothing is written.
 */
#define LOOK_NS 1000000000u
/* How often the clock of a GPU is measured again, and from at least how many kernel starts and stops. */
#define CLOCK_NS 1000000000u
#define CLOCK_SAMPLES 64u
/* Written after a line of the array, which ends with a comma. */
#define ARRAY_END "{}]\n"

struct due {
    uint64_t cursor_ns, flush_ns, notes_ns, clock_ns, anchor_ns, look_ns;
};

enum state {
    STATE_OPENING, /* the files are being created; records wait in the rings */
    STATE_RECORDING,
    STATE_STOPPED, /* the files have reached their end, or cannot be created */
};

struct writer {
    struct writer_settings settings;
    struct tree tree;
    struct files files;
    struct chrome chrome;
    struct inspector inspector;
    struct notes_process process;
    struct place place;
    struct notes_anchor start;
    struct drops drops;
    struct due due;
    uint64_t operations, unfinished;
    uint64_t aborted_operations; /* operations pending when their communicator ended: it was aborted */
    bool rests;                  /* the thread last saw that no communicator is live */
    uint32_t idle_count_seen;
    uint32_t communicators_written;
    unsigned tag_names_written;
    bool chrome_failed, inspector_failed; /* the failure was logged */
    bool is_stop_written;
    struct ring_reader reader;

    /*
     * Requests from the threads of the job. No lock is used: if a signal interrupted its holder and the
     * handler called exit(), the lock would stay held. Condition variables contain a lock.
     */
    _Atomic uint32_t asked; /* rises by two for every flush; odd: the thread must end */
    _Atomic uint32_t done;  /* value of `asked` when the last flush began */
    _Atomic uint32_t rest;  /* odd: no communicator is live; rises by two for every such period */
    _Atomic uint32_t state; /* enum state */
    _Atomic uint32_t ended; /* 1: the thread has finished */
    /* Counts signs of life: while it rises, the thread is not blocked by a file system or NCCL's logger. */
    _Atomic uint32_t signs;
    _Atomic bool is_late; /* a wait for a flush timed out, and the flush still runs */
};

/* The output file, for the log. */
static const char *writer_path(const struct writer *writer)
{
    return writer->settings.chrome ? writer->files.chrome.path : writer->files.inspector.path;
}

/* Called only by the thread. */
static void report_alive(struct writer *writer)
{
    uint32_t signs = atomic_load_explicit(&writer->signs, memory_order_relaxed);
    atomic_store_explicit(&writer->signs, signs + 1, memory_order_relaxed);
}

/* -- from trees to lines -- */

static void count_tasks(struct writer *writer, uint32_t number)
{
    const struct node *node = tree_node(&writer->tree, number);
    if (node_is_task(node)) {
        bool finished = tree_task_finished(&writer->tree, number);
        writer->operations++;
        writer->unfinished += !finished;
        writer->aborted_operations += !finished && tree_communicator(&writer->tree, node->context)->ended;
        return;
    }
    for (uint32_t child = node->first_child; child; child = tree_node(&writer->tree, child)->next_sibling)
        count_tasks(writer, child);
}

static void tree_done(void *owner, uint32_t root, bool finished)
{
    struct writer *writer = owner;
    (void)finished;
    if (!files_have_room(&writer->files))
        return;
    report_alive(writer);
    struct files_mark before = files_mark(&writer->files);
    if (writer->settings.chrome)
        chrome_tree(&writer->chrome, root);
    if (writer->settings.inspector)
        inspector_tree(&writer->inspector, root);
    /* An operation is written completely or not at all. */
    if (files_have_room(&writer->files) || !files_go_back(&writer->files, &before))
        count_tasks(writer, root);
}

static void write_communicators(struct writer *writer, uint64_t now_ns)
{
    uint32_t count = tree_learn_communicators(&writer->tree);
    for (; writer->communicators_written < count && files_have_room(&writer->files);
         writer->communicators_written++)
        /* Versions 1 to 3 pass the hash of a communicator with its first operation. */
        if (writer->settings.chrome &&
            tree_communicator(&writer->tree, writer->communicators_written)->known.hash)
            notes_communicator(&writer->chrome, writer->communicators_written, now_ns);
}

static void write_tag_names(struct writer *writer, uint64_t now_ns)
{
    unsigned count = tag_name_count();
    for (; writer->tag_names_written < count && files_have_room(&writer->files);
         writer->tag_names_written++) {
        const struct tag_name *name = tag_name_at(writer->tag_names_written);
        if (writer->settings.chrome)
            chrome_tag_name(&writer->chrome, name->number, name->text, now_ns);
    }
}

static void take_record(void *owner, const struct record *record)
{
    struct writer *writer = owner;
    if (writer->files.stop.reason != STOP_NOT)
        return;
    if (record->kind == RECORD_TAG) {
        if (!files_have_room(&writer->files))
            return;
        if (record->tag.length == 0 || record->tag.text[0] != '{')
            tree_tag(&writer->tree, record);
        if (writer->settings.chrome)
            chrome_tag(&writer->chrome, record);
        return;
    }
    const struct communicator_state *communicator = tree_communicator(&writer->tree, record->context);
    bool unnamed = communicator->known.hash == 0;
    event_tree_add(&writer->tree, record);
    communicator = tree_communicator(&writer->tree, record->context);
    if (unnamed && communicator->known.hash && writer->settings.chrome && files_have_room(&writer->files))
        notes_communicator(&writer->chrome, record->context, record->time_ns);
}

static uint64_t take_all(struct writer *writer)
{
    uint64_t pause_ns = ring_reader_look(&writer->reader, IDLE_NS);
    write_communicators(writer, writer->reader.until_ns);
    write_tag_names(writer, writer->reader.until_ns);
    ring_reader_take(&writer->reader);
    return pause_ns;
}

/* -- periodic work -- */

static void write_drops(struct writer *writer, bool always)
{
    drops_write(&writer->drops, &writer->tree.counts, writer->settings.chrome ? &writer->chrome : NULL,
                writer->settings.inspector ? &writer->inspector : NULL, always);
}

static void put_anchor(struct writer *writer, const struct notes_anchor *anchor)
{
    writer->inspector.realtime_offset_ns = (int64_t)(anchor->realtime_ns - anchor->monotonic_ns);
    if (writer->settings.chrome) {
        notes_anchor(&writer->chrome, anchor, writer->process.boot);
        notes_gpu_clocks(&writer->chrome, &writer->files, anchor->monotonic_ns);
    }
}

static void write_anchor(struct writer *writer)
{
    if (!files_have_room(&writer->files))
        return;
    struct notes_anchor anchor = notes_anchor_now();
    put_anchor(writer, &anchor);
}

/*
 * Returns the temporary end of the array on disk. If the process dies while a communicator is live, the array
 * must stay open, which distinguishes it from a process that ended normally. The array also stays open after
 * a communicator was aborted in the middle of an operation, because that process is about to die together
 * with its peers.
 */
static const char *array_end(const struct writer *writer)
{
    return writer->rests && !writer->aborted_operations ? ARRAY_END : "";
}

/* Overwrites the last lines of a file that can no longer be written, to report that it is incomplete. */
static void tell_failure(struct writer *writer, struct sink *failed)
{
    char reason[128];
    struct stop stop = {.reason = STOP_ERROR,
                        .error = failed->failure,
                        .at_ns = clock_monotonic_ns(),
                        .realtime_ns = clock_read_ns(CLOCK_REALTIME)};
    if (failed == &writer->files.chrome)
        notes_stopped(&writer->chrome, &stop, failed->written);
    else
        inspector_stopped(&writer->inspector, &stop, failed->written);
    sink_end_with(failed);
    log_line(API_LOG_WARN, "cannot write to %s: %s; the trace ends here, the job continues", failed->path,
             strerror_r(failed->failure, reason, sizeof(reason)));
}

static void flush_files(struct writer *writer, const char *ending)
{
    files_flush(&writer->files, ending);
    report_alive(writer);
    if (writer->files.chrome.failure && !writer->chrome_failed)
        tell_failure(writer, &writer->files.chrome);
    if (writer->files.inspector.failure && !writer->inspector_failed)
        tell_failure(writer, &writer->files.inspector);
    writer->chrome_failed = writer->files.chrome.failure != 0;
    writer->inspector_failed = writer->files.inspector.failure != 0;
}

/* Ends the traces and writes the reason. It is unknown whether pending operations ended. */
static void write_stop_reason(struct writer *writer)
{
    const struct files *files = &writer->files;
    uint64_t written = files->chrome.written + files->inspector.written;
    char reason[256];
    writer->is_stop_written = true;
    atomic_store_explicit(&writer->state, STATE_STOPPED, memory_order_release);
    futex_wake(&writer->state);
    if (writer->settings.stopped)
        writer->settings.stopped();
    if (files->stop.reason == STOP_ERROR)
        return; /* reported for each file */
    stop_describe(reason, sizeof(reason), &files->stop);
    log_line(API_LOG_WARN, "recording stopped: %s; %s ends here, the job continues", reason,
             writer_path(writer));
    if (files->stop.reason == STOP_DELETED) {
        files_close(&writer->files);
        return;
    }
    write_drops(writer, true);
    if (writer->settings.chrome)
        notes_stopped(&writer->chrome, &files->stop, written);
    if (writer->settings.inspector)
        inspector_stopped(&writer->inspector, &files->stop, written);
    flush_files(writer, array_end(writer));
}

static void do_due(struct writer *writer, bool flush)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct due *due = &writer->due;
    if (flush || now_ns >= due->cursor_ns) {
        event_tree_flush(&writer->tree, now_ns, false);
        due->cursor_ns = now_ns + SWEEP_NS;
    }
    if (flush || now_ns >= due->notes_ns) {
        if (writer->settings.chrome)
            notes_pending(&writer->chrome, &writer->files, now_ns);
        write_drops(writer, false);
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
        flush_files(writer, array_end(writer));
        due->flush_ns = now_ns + writer->settings.flush_ns;
    }
    if (now_ns >= due->look_ns) {
        files_look(&writer->files);
        due->look_ns = now_ns + LOOK_NS;
    }
}

static void write_last(struct writer *writer)
{
    uint64_t now_ns = clock_monotonic_ns();
    write_drops(writer, true);
    if (writer->settings.chrome) {
        notes_end(&writer->chrome, "exit", writer->operations, writer->unfinished, now_ns);
        text_literal(sink_line(&writer->files.chrome), ARRAY_END);
    }
    flush_files(writer, "");
}

static void finish(struct writer *writer)
{
    if (!writer->is_stop_written) {
        take_all(writer);
        event_tree_flush(&writer->tree, clock_monotonic_ns(), true);
        write_anchor(writer);
        if (writer->files.stop.reason != STOP_NOT)
            write_stop_reason(writer);
    }
    if (writer->files.stop.reason != STOP_DELETED && writer->files.stop.reason != STOP_ERROR)
        write_last(writer);
    files_close(&writer->files);
}

/* -- the thread -- */

/* If a new communicator follows an abort, the abort did not end the process. */
static void read_idle_state(struct writer *writer)
{
    uint32_t rest = atomic_load_explicit(&writer->rest, memory_order_acquire);
    if (writer->idle_count_seen / 2 != rest / 2)
        writer->aborted_operations = 0;
    writer->idle_count_seen = rest;
    writer->rests = rest & 1;
}

/* Runs on this thread, so that the job does not wait for it. */
static void write_place(struct writer *writer)
{
    if (!writer->settings.chrome)
        return;
    place_find_devices(&writer->place, "");
    notes_place(&writer->chrome, &writer->place, clock_monotonic_ns());
}

static void write_beginning(struct writer *writer)
{
    notes_read_boot(writer->process.boot);
    if (writer->settings.chrome) {
        text_literal(sink_line(&writer->files.chrome), "[\n");
        notes_process(&writer->chrome, &writer->process);
        notes_process_name(&writer->chrome, &writer->process);
    }
    put_anchor(writer, &writer->start);
    flush_files(writer, "");
}

static bool make_files(struct writer *writer)
{
    const char *path;
    char reason[128];
    if (files_create(&writer->files, &path) == 0)
        return true;
    log_line(API_LOG_WARN, "cannot create %s: %s; nothing will be recorded", path,
             strerror_r(errno, reason, sizeof(reason)));
    return false;
}

/* Runs here and not in a thread of the job, because a file system may never answer. */
static bool begin(struct writer *writer)
{
    bool is_made = make_files(writer);
    if (is_made) {
        files_look(&writer->files);
        write_beginning(writer);
    }
    atomic_store_explicit(&writer->state, is_made ? STATE_RECORDING : STATE_STOPPED, memory_order_release);
    futex_wake(&writer->state);
    if (!is_made && writer->settings.stopped)
        writer->settings.stopped();
    if (is_made)
        log_line(API_LOG_INFO, "recording to %s (event mask %u)", writer_path(writer), writer->process.mask);
    return is_made;
}

/* Takes the records so far and does the periodic work. Returns how long the thread can sleep. */
static uint64_t go_on(struct writer *writer, bool flush)
{
    uint64_t pause_ns = STOPPED_PAUSE_NS;
    report_alive(writer);
    if (writer->is_stop_written) {
        if (flush)
            flush_files(writer, array_end(writer));
        return pause_ns;
    }
    /*
     * Must precede the taking of records: everything that the ended communicators recorded is already
     * published.
     */
    tree_learn_ends(&writer->tree);
    pause_ns = take_all(writer);
    do_due(writer, flush);
    if (writer->files.stop.reason != STOP_NOT)
        write_stop_reason(writer);
    return pause_ns;
}

static void end_thread(struct writer *writer)
{
    atomic_store(&writer->ended, 1);
    atomic_store(&writer->done, atomic_load(&writer->asked) & ~1u);
    futex_wake(&writer->done);
    futex_wake(&writer->ended);
}

static void *writer_main(void *argument)
{
    struct writer *writer = argument;
    thread_name("ncclprof");
    bool is_made = begin(writer);
    bool stopping = !is_made;
    if (is_made)
        write_place(writer);
    while (!stopping) {
        uint32_t seen = atomic_load_explicit(&writer->asked, memory_order_acquire);
        uint32_t asked = seen & ~1u;
        bool flush = asked != atomic_load_explicit(&writer->done, memory_order_relaxed);
        stopping = seen & 1;
        /*
         * Must follow the read of `asked`: a caller sets whether a communicator is live before it asks for a
         * flush.
         */
        read_idle_state(writer);
        uint64_t pause_ns = go_on(writer, flush);
        if (flush) {
            atomic_store(&writer->done, asked);
            atomic_store(&writer->is_late, false);
            futex_wake(&writer->done);
        } else if (pause_ns && !stopping) {
            (void)futex_wait(&writer->asked, seen, clock_monotonic_ns() + pause_ns);
        }
    }
    if (is_made)
        finish(writer);
    end_thread(writer);
    return NULL;
}

/* Reads the environment and the clocks, while no other thread of the job is in the plugin. */
static void prepare(struct writer *writer, const struct writer_origin *origin)
{
    struct notes_anchor anchor = notes_anchor_now();
    writer->start = anchor;
    writer->process = (struct notes_process){.allocator_hook = allocator_hook_is_on(),
                                             .api = origin->api,
                                             .nccl_version = origin->nccl_version,
                                             .mask = origin->mask,
                                             .start_ns = anchor.monotonic_ns,
                                             .realtime_ns = anchor.realtime_ns};
    path_host(writer->process.host, sizeof(writer->process.host));
    path_rank(writer->process.rank, sizeof(writer->process.rank), origin->rank);
    place_read_environment(&writer->place);
    chrome_init(&writer->chrome, &writer->files.chrome, &writer->tree, anchor.monotonic_ns, (long)getpid());
    writer->inspector = (struct inspector){.sink = &writer->files.inspector,
                                           .tree = &writer->tree,
                                           .process = (long)getpid(),
                                           .rank = origin->rank,
                                           .host = writer->process.host};
    writer->due.clock_ns = anchor.monotonic_ns + CLOCK_NS;
    writer->due.anchor_ns = anchor.monotonic_ns + ANCHOR_NS;
}

static void writer_free(struct writer *writer)
{
    files_close(&writer->files);
    tree_release(&writer->tree);
    ring_reader_release(&writer->reader);
    free(writer);
}

static int prepare_files(struct writer *writer, int rank, char *failure, size_t failure_bytes)
{
    const struct writer_settings *settings = &writer->settings;
    const char *path;
    char reason[128];
    writer->files.most_bytes = settings->most_bytes;
    writer->files.free_bytes = settings->free_bytes;
    if (files_prepare(&writer->files, settings->path, rank, settings->chrome, settings->inspector,
                      settings->gzip, &path) == 0)
        return 0;
    snprintf(failure, failure_bytes, "cannot create %s: %s", path, strerror_r(errno, reason, sizeof(reason)));
    return -1;
}

struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes)
{
    struct writer *writer = NULL;
    snprintf(failure, failure_bytes, "out of memory");
    if (posix_memalign((void **)&writer, 64, sizeof(*writer)) != 0)
        return NULL;
    memset(writer, 0, sizeof(*writer));
    writer->files.chrome.file = writer->files.inspector.file = -1;
    writer->settings = *settings;
    if (tree_init(&writer->tree, settings->pending_events, origin->mask, getpid(), origin->api) != 0 ||
        prepare_files(writer, origin->rank, failure, failure_bytes) != 0) {
        writer_free(writer);
        return NULL;
    }
    writer->tree.done = tree_done;
    writer->tree.owner = writer;
    writer->communicators_written = 1;
    ring_reader_init(&writer->reader, settings->buffer_slots, take_record, writer);
    prepare(writer, origin);
    if (thread_start(writer_main, writer) != 0) {
        snprintf(failure, failure_bytes, "cannot start the writer thread");
        writer_free(writer);
        return NULL;
    }
    failure[0] = '\0';
    return writer;
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
        (void)ask_for_flush(writer); /* nothing waits for it, but the temporary end is removed */
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
    if (atomic_load_explicit(&writer->is_late, memory_order_relaxed))
        return;
    for (;;) {
        uint32_t done = atomic_load(&writer->done);
        if ((int32_t)(done - asked) >= 0 || atomic_load(&writer->ended))
            return;
        if (!futex_wait(&writer->done, done, until_ns))
            break;
    }
    atomic_store(&writer->is_late, true);
    if ((int32_t)(atomic_load(&writer->done) - asked) >= 0)
        atomic_store(&writer->is_late, false);
}

bool writer_records(struct writer *writer, unsigned wait_ms)
{
    uint64_t until_ns = writer->process.start_ns + (uint64_t)wait_ms * MILLISECOND_NS;
    uint32_t state;
    do
        state = atomic_load_explicit(&writer->state, memory_order_acquire);
    while (state == STATE_OPENING && futex_wait(&writer->state, state, until_ns));
    return state != STATE_STOPPED;
}

/* Waits until the thread has ended, or has given no sign of life for SILENT_NS. */
static bool await_alive(struct writer *writer, uint64_t until_ns)
{
    uint32_t signs = atomic_load_explicit(&writer->signs, memory_order_relaxed);
    uint64_t silent_ns = clock_monotonic_ns() + SILENT_NS;
    until_ns = silent_ns < until_ns ? silent_ns : until_ns;
    while (!atomic_load(&writer->ended) && futex_wait(&writer->ended, 0, until_ns))
        continue;
    return signs != atomic_load_explicit(&writer->signs, memory_order_relaxed);
}

void writer_stop(struct writer *writer, uint64_t until_ns)
{
    atomic_fetch_or_explicit(&writer->asked, 1, memory_order_release);
    futex_wake(&writer->asked);
    /* After that time, for example if a file system hangs, the process ends without the thread. */
    while (!atomic_load(&writer->ended) && await_alive(writer, until_ns) && clock_monotonic_ns() < until_ns)
        continue;
}
