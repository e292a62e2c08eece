/*
 * The writer thread and what it writes: trees become Chrome and Inspector lines in the files of the
 * process. Times are in ns of CLOCK_MONOTONIC unless noted.
 */
#ifndef NCCLPROF_PLUGIN_WRITE_WRITE_H
#define NCCLPROF_PLUGIN_WRITE_WRITE_H

#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

struct node;
struct record;
struct ring_cursor;
struct sink_gzip;
struct tree;
struct tree_counts;
struct writer;

/* -------------------- text.c -------------------- */

/*
 * Fast formatting of lines, without printf. A buffer never grows: the code that starts a line calls
 * sink_line() to get TEXT_LINE_MAX free bytes, and no line is longer.
 */

#define TEXT_LINE_MAX (128u << 10)
#define TEXT_DIGITS 20 /* digits of the largest 64-bit number */

struct text {
    char *bytes;
    size_t length;
};

static inline void text_bytes(struct text *text, const char *from, size_t length)
{
    memcpy(text->bytes + text->length, from, length);
    text->length += length;
}

/* Only for string literals, whose length is known at compile time. */
#define text_literal(text, literal) text_bytes((text), "" literal "", sizeof(literal) - 1)

static inline void text_string(struct text *text, const char *from)
{
    text_bytes(text, from, strlen(from));
}

/* Writes the last digits of `value`, two at a time, before `end`. Returns where they begin. */
static inline char *text_digits(char *end, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, pairs + value % 100 * 2, 2);
    if (value < 10)
        *--end = (char)('0' + value);
    else
        memcpy(end -= 2, pairs + value * 2, 2);
    return end;
}

static inline void text_unsigned(struct text *text, uint64_t value)
{
    char digits[2 * TEXT_DIGITS] = {0};
    const char *first = text_digits(digits + TEXT_DIGITS, value);
    /* A copy of constant length takes a few instructions. Excess bytes are overwritten by what follows. */
    memcpy(text->bytes + text->length, first, TEXT_DIGITS);
    text->length += (size_t)(digits + TEXT_DIGITS - first);
}

static inline void text_signed(struct text *text, int64_t value)
{
    if (value < 0)
        text_literal(text, "-");
    text_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Prints nanoseconds as microseconds with six decimals, in the format of printf's %f. */
static inline void text_microseconds(struct text *text, uint64_t ns)
{
    unsigned below = (unsigned)(ns % 1000);
    char decimals[8] = {'.',
                        (char)('0' + below / 100),
                        (char)('0' + below / 10 % 10),
                        (char)('0' + below % 10),
                        '0',
                        '0',
                        '0',
                        0};
    text_unsigned(text, ns / 1000);
    memcpy(text->bytes + text->length, decimals, sizeof(decimals));
    text->length += sizeof(decimals) - 1;
}

static inline void text_hexadecimal(struct text *text, uint64_t value)
{
    char digits[16];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value % 16];
        value /= 16;
    } while (value);
    text_literal(text, "0x");
    text_bytes(text, digits + at, sizeof(digits) - at);
}

/*
 * Writes the inside of a JSON string: characters are escaped, and bytes that are not UTF-8 become U+FFFD.
 * Needs at most 6 bytes for each byte.
 */
void text_escaped(struct text *text, const char *from, size_t length);

/* -------------------- sink.c -------------------- */

/*
 * One output file. It takes whole lines and writes bytes. After a failed write the file keeps all complete
 * lines, and further lines are counted and discarded.
 */

struct sink {
    struct text text;
    int file;
    uint64_t written; /* bytes, without a temporary end of the file */
    dev_t device;     /* identity of the file: the job may reuse the descriptor's number */
    ino_t inode;
    bool counts_links;   /* the file system counts links; some report 0 for every file */
    bool has_ending;     /* the file on disk ends with the ending passed to sink_flush */
    int failure;         /* errno of the write that failed, or 0 */
    uint64_t lines_lost; /* lines discarded since the failure */
    /* Where the last whole lines of the file begin, SINK_LAST_BYTES of them or more. 0: unknown. */
    off_t last_lines;
    /* Where a write after last_lines began. It becomes last_lines when enough was written since. */
    off_t later_lines;
    struct sink_gzip *gzip;
    char suffix[16];
    char path[4096];
};

/*
 * Prepares the name and the memory. Reads the environment and touches no file. Returns 0, or -1 with errno.
 */
int sink_prepare(struct sink *sink, const char *pattern, int rank, const char *suffix, bool gzip);
/*
 * Creates the file and the directories above it. Returns 0, or -1 with errno; sink->path then holds the path
 * that could not be created.
 */
int sink_create(struct sink *sink);

/*
 * Writes all lines so far to the file. It can then be read as it is; a gzip file is complete, and its end is
 * overwritten later. The file ends with `ending`, a few bytes or "", until the next flush or written line.
 */
void sink_flush(struct sink *sink, const char *ending);

/*
 * After a failed write: writes the lines that were begun since, at most SINK_LAST_BYTES, over the last lines
 * of the file. Their space exists even if the disk is full. Does nothing if the file is compressed or no
 * longer ours.
 */
void sink_end_with(struct sink *sink);

/*
 * True if the file exists but has no name any more, or if a remote file system reports that it does not
 * exist.
 */
bool sink_is_deleted(const struct sink *sink);

void sink_close(struct sink *sink);

#define SINK_BYTES (512u << 10)
#define SINK_LAST_BYTES 1024

static inline struct text *sink_line(struct sink *sink)
{
    if (sink->text.length > SINK_BYTES - TEXT_LINE_MAX)
        sink_flush(sink, "");
    return &sink->text;
}

/* -------------------- chrome_proxy.c -------------------- */

/*
 * What all lines of a Chrome trace share: where they are written, how they begin, and the format of events
 * and times.
 */

struct chrome {
    struct sink *sink;
    struct tree *tree;
    uint64_t start_ns; /* CLOCK_MONOTONIC at ts 0 */
    char process[48];  /* text in every line that identifies the process */
    size_t process_length;
    uint32_t ids[TYPE_COUNT];
};

void chrome_init(struct chrome *chrome, struct sink *sink, struct tree *tree, uint64_t start_ns,
                 long process);

/*
 * Begins a line. The caller appends the rest:
 *  {"name": N, "cat": C, "ph": P, "id": I, "pid": ..., "tid": 1, "ts": T
 */
struct text *chrome_line(struct chrome *chrome, const char *name, const char *category, char phase,
                         uint32_t id, uint64_t time_ns);

/*
 * Begins a line. The caller appends the rest:
 *  {"name": N, "cat": "NCCLPROF", "ph": "M" or "i", ... "args": {
 */
struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns);
void chrome_note_end(struct text *text);

/* Writes microseconds since the start; 0.000000 for an unknown time. */
void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns);

/* Name and category as they are printed. */
const char *chrome_name(const struct chrome *chrome, const struct node *node);
const char *chrome_category(uint8_t type);

/* -------------------- chrome.c -------------------- */

/*
 * Chrome trace lines in the format of NVIDIA's example plugin, with additional arguments. The format is
 * documented in man/ncclprof-plugin.7; a change of a line must be made there too.
 */

/* Writes a tree, finished or not. Every operation in it shows whether it finished. */
void chrome_tree(struct chrome *chrome, uint32_t root);

void chrome_tag(struct chrome *chrome, const struct record *record);
/* Writes the name that the application gave to a tag number. */
void chrome_tag_name(struct chrome *chrome, uint64_t number, const char *name, uint64_t now_ns);

/* -------------------- chrome_proxy.c -------------------- */

/* Writes the lines of proxy operations, their network steps and the network plugin events below them. */

void chrome_proxy_op(struct chrome *chrome, uint32_t number);
void chrome_proxy_step(struct chrome *chrome, uint32_t number);
void chrome_proxy_control(struct chrome *chrome, const struct node *node);
void chrome_net(struct chrome *chrome, const struct node *node);

/* -------------------- text.c -------------------- */

/* Why a trace ends before its process does. */

enum stop_reason {
    STOP_NOT,
    STOP_LIMIT,   /* the byte limit is reached */
    STOP_SPACE,   /* the file system has less than the required free space */
    STOP_DELETED, /* the file was deleted, so the output would be lost */
    STOP_ERROR    /* the system reported a write error */
};

struct stop {
    enum stop_reason reason;
    uint64_t bytes;              /* the limit or the free space, for the first two reasons */
    int error;                   /* errno, for the last reason */
    uint64_t at_ns, realtime_ns; /* CLOCK_MONOTONIC, CLOCK_REALTIME */
};

/* Prints the reason as members of a JSON object. */
void stop_print(struct text *text, const struct stop *stop, uint64_t written_bytes);

/* Prints a clause for the log, with the setting that decides, if there is one. */
void stop_describe(char *to, size_t size, const struct stop *stop);

/* -------------------- files.c -------------------- */

/* The files of a process, one for each requested format, and whether there is space for more lines. */

/* Default for the free space to keep on the file system: a twentieth of its size, at most 1 GiB. */
#define FILES_FREE_BY_SIZE UINT64_MAX

struct files {
    struct sink chrome, inspector; /* file -1: not requested, or gone */
    uint64_t most_bytes;           /* limit for both files; UINT64_MAX: no limit */
    uint64_t free_bytes;           /* free space to keep, or FILES_FREE_BY_SIZE */
    uint64_t looked_at_bytes;      /* bytes written when the file system was last asked */
    struct stop stop;              /* why writing stopped; the first reason is kept */
};

/*
 * Prepares names and memory and touches no file. Returns 0, or -1 with errno; *path is then the file that
 * could not be prepared.
 */
int files_prepare(struct files *files, const char *pattern, int rank, bool chrome, bool inspector, bool gzip,
                  const char **path);
/* Creates the prepared files. Returns as files_prepare. */
int files_create(struct files *files, const char **path);

/*
 * Returns false and sets files->stop when there is only space for the last lines. Asks the file system from
 * time to time.
 */
bool files_have_room(struct files *files);
/* Asks the file system now. */
void files_look(struct files *files);

/* A position in the files, for files_go_back. */
struct files_mark {
    uint64_t chrome_written, inspector_written;
    size_t chrome_length, inspector_length;
};
struct files_mark files_mark(const struct files *files);
/*
 * Discards the lines after the mark. Returns false if some of them are already written, which happens if
 * there are more than the buffer holds.
 */
bool files_go_back(struct files *files, const struct files_mark *mark);

/* Writes everything to the files. The array then ends with `ending` until the next flush. */
void files_flush(struct files *files, const char *ending);

void files_close(struct files *files);

/* -------------------- hardware.c -------------------- */

/* Which GPU the process uses, from what the system shows. CUDA is not called. */

/* What the environment says about the order in which CUDA counts the visible devices. */
struct gpu_settings {
    bool is_by_bus;   /* from CUDA_DEVICE_ORDER */
    bool keeps_order; /* CUDA_VISIBLE_DEVICES does not change the order */
};

void gpu_settings_read(struct gpu_settings *settings);

struct gpu_in_use {
    int number;    /* number that CUDA uses in this process; -1: unknown */
    char bus[24];  /* "0000:3b:00.0"; empty: unknown, as for uuid */
    char uuid[64]; /* "GPU-..." */
};

/*
 * `root` is a prefix for /proc, normally "". Leaves the result unknown if the GPU is not certain: if the
 * process has contexts on several devices, or none yet.
 */
void gpu_in_use_find(struct gpu_in_use *gpu, const struct gpu_settings *settings, const char *root);

/* Which network card NCCL uses, if the system and the settings leave only one. */

/* The settings in the environment that choose NCCL's network. */
struct nic_settings {
    bool is_other;        /* another network plugin, or one that is named */
    bool is_socket;       /* sockets, not InfiniBand or a compatible network */
    char cards[256];      /* NCCL_IB_HCA, or "^" for all */
    char interfaces[256]; /* NCCL_SOCKET_IFNAME, or NCCL's default */
};

void nic_settings_read(struct nic_settings *settings);

/*
 * Writes a name like "mlx5_0" or "eth0"; empty if there are several or none is known. `root` is a prefix for
 * /sys, normally "".
 */
void nic_in_use_find(char *nic, size_t size, const struct nic_settings *settings, const char *root);

/* -------------------- files.c -------------------- */

/* Where a process runs and its position in the job, as far as the launcher and the system show it. */

/* -1 and empty texts mean unknown. */
struct place {
    long rank;       /* global rank from the launcher */
    long local_rank; /* rank on this host from the launcher */
    char rank_name[128];
    struct gpu_in_use gpu;
    char nic[64];
    struct gpu_settings gpu_settings;
    struct nic_settings nic_settings;
};

/* Reads the environment. Call it only on a thread of the job, because the job may change the environment. */
void place_read_environment(struct place *place);

/* Reads /proc and /sys. May be called on any thread. `root` is a prefix for both, normally "". */
void place_find_devices(struct place *place, const char *root);

/* -------------------- notes.c -------------------- */

/*
 * The additional lines in a Chrome trace: the process, communicators, clocks, losses and pending operations.
 */

struct notes_process {
    char host[256];
    unsigned api;         /* interface version of the first communicator */
    int nccl_version;     /* from ncclGetVersion; 0: unknown */
    uint32_t mask;        /* enum api_event */
    uint64_t start_ns;    /* CLOCK_MONOTONIC at ts 0 */
    uint64_t realtime_ns; /* CLOCK_REALTIME at the same time */
    char boot[40];
    char rank[32];       /* from a launcher, otherwise from the first communicator */
    bool allocator_hook; /* PyTorch registers the memory of its allocator with NCCL */
};

/* What was lost, each a count since the start. */
struct notes_drops {
    uint64_t ring;          /* records for which the ring of the thread had no space */
    uint64_t lost;          /* events for which the writer's memory had no space */
    uint64_t evicted;       /* operations written unfinished to free memory */
    uint64_t late;          /* stops and states that arrived after their operation was written */
    uint64_t orphans;       /* events with an unknown parent, except operations */
    uint64_t unknown;       /* events and states of an unknown kind */
    uint64_t communicators; /* communicators without a number; their events have none either */
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, within +/- uncertainty_ns. */
struct notes_anchor {
    uint64_t monotonic_ns, realtime_ns, uncertainty_ns;
};

void notes_read_boot(char boot[40]);
struct notes_anchor notes_anchor_now(void);

void notes_process(struct chrome *chrome, const struct notes_process *process);

/* Writes where the process runs, as far as it is known. */
void notes_place(struct chrome *chrome, const struct place *place, uint64_t now_ns);

/* Writes the line of the Trace Event Format that names the process in viewers. */
void notes_process_name(struct chrome *chrome, const struct notes_process *process);
void notes_communicator(struct chrome *chrome, uint32_t number, uint64_t now_ns);
void notes_anchor(struct chrome *chrome, const struct notes_anchor *anchor, const char *boot);
void notes_gpu_clocks(struct chrome *chrome, struct files *files, uint64_t now_ns);
/* Prints the counts as members of a JSON object. */
void notes_print_drops(struct text *text, const struct notes_drops *drops);
void notes_drops(struct chrome *chrome, const struct notes_drops *drops, uint64_t now_ns);
/* Writes that recording stopped while the process went on. */
void notes_stopped(struct chrome *chrome, const struct stop *stop, uint64_t written_bytes);
void notes_end(struct chrome *chrome, const char *reason, uint64_t operations, uint64_t unfinished,
               uint64_t now_ns);

/* Writes a line for every pending operation for which a report is due, while the files have space. */
void notes_pending(struct chrome *chrome, struct files *files, uint64_t now_ns);

/* -------------------- inspector.c -------------------- */

/* One line per completed operation, in the format of NVIDIA's Inspector (verbose). */

struct inspector {
    struct sink *sink;
    struct tree *tree;
    int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC when last read */
    long process;
    int rank; /* rank of the first communicator, for the lines about the process */
    const char *host;
};

/* Writes every finished operation of a tree. */
void inspector_tree(struct inspector *inspector, uint32_t root);

/* Writes the losses. Inspector itself has no record for the process as a whole, so the line is our own. */
void inspector_drops(struct inspector *inspector, const struct notes_drops *drops);
void inspector_stopped(struct inspector *inspector, const struct stop *stop, uint64_t written_bytes);

/* -------------------- writer.c -------------------- */

/*
 * The thread that turns records into files. Only the first init, finalize and exit wait for it, each for a
 * limited time.
 */

/* Limits for the bytes that a process may write: the default, and the smallest value that can be set. */
#define WRITER_MOST_BYTES (UINT64_C(16) << 30)
#define WRITER_LEAST_BYTES (UINT64_C(64) << 10)

struct writer_settings {
    char path[4096]; /* pattern of the file name, with directory, without suffix */
    bool chrome;     /* which files to write */
    bool inspector;
    bool gzip;
    uint64_t buffer_slots;   /* size of the ring of each thread */
    uint32_t pending_events; /* limit for events that wait for the rest of their tree */
    uint64_t flush_ns;
    uint64_t most_bytes; /* limit for both files; UINT64_MAX: no limit */
    uint64_t free_bytes; /* space to keep free on their file system, or FILES_FREE_BY_SIZE */
    /*
     * Called on the writer thread when recording ends: the files cannot be created or have reached their end.
     */
    void (*stopped)(void);
};

struct writer_origin {
    unsigned api;
    uint32_t mask; /* event types of the first communicator, bits of enum api_event */
    int nccl_version;
    int rank; /* rank of the first communicator, used if no launcher sets a rank */
};

/*
 * Starts the thread, which creates the files. Returns null on failure, with a sentence in `failure`. Reads
 * the environment and touches no file.
 */
struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes);

/*
 * Returns false when nothing more will be recorded. Waits until the files and their first lines are written,
 * but at most until wait_ms after writer_start. After that time a file system that does not answer may still
 * do so.
 */
bool writer_records(struct writer *writer, unsigned wait_ms);

/*
 * Asks the writer to flush everything recorded so far. writer_await waits for that, at most timeout_ms; it
 * does not wait if an earlier wait timed out and that flush still runs. at_rest: no communicator is live, so
 * the files on disk are complete until writer_resume, because the process may end without writer_stop. Two
 * threads must not call this or writer_resume at the same time.
 */
uint32_t writer_ask(struct writer *writer, bool at_rest);
void writer_await(struct writer *writer, uint32_t asked, unsigned timeout_ms);

/* A communicator is live again: from now on a file without its end means that the process was killed. */
void writer_resume(struct writer *writer);

/*
 * Writes everything, including unfinished operations, completes the files and ends the thread. Returns at
 * until_ns of CLOCK_MONOTONIC at the latest, or earlier if the thread is blocked. The memory is kept, because
 * another thread may still be in writer_await.
 */
void writer_stop(struct writer *writer, uint64_t until_ns);

/* -------------------- ring_reader.c -------------------- */

/* Takes the records of all threads out of their rings, in the order of their times. */

struct ring_reader {
    struct ring_cursor *cursors;
    unsigned room, count; /* of cursors: the rings that hold records */
    uint64_t until_ns;
    uint64_t pause_ns; /* time between two scans of rings that are in use */
    void (*take)(void *owner, const struct record *record);
    void *owner;
    _Alignas(64) unsigned char record[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
};

/* `slots` is the size of each ring. */
void ring_reader_init(struct ring_reader *reader, uint64_t slots, void (*take)(void *, const struct record *),
                      void *owner);
void ring_reader_release(struct ring_reader *reader);

/*
 * Finds everything recorded up to now. Returns how long to leave the rings alone after that has been taken:
 * continuous scanning would take the cache lines from the threads that write to them, and a processor from
 * the job.
 */
uint64_t ring_reader_look(struct ring_reader *reader, uint64_t idle_ns);

/* Takes what the last call of ring_reader_look found. */
void ring_reader_take(struct ring_reader *reader);

/* Threads of the plugin, which run beside those of the job. */

/* Sets the name that a debugger shows for the calling thread. */
void thread_name(const char *name);

/*
 * Starts a thread. It handles no signals of the job and is never joined, because it may hang in a file
 * system. Returns 0 or -1.
 */
int thread_start(void *(*run)(void *), void *argument);

/* Whether PyTorch registers the memory of its allocator with NCCL. */

/* Reads the environment. Call it when the first communicator exists; PyTorch has read the setting by then. */
bool allocator_hook_is_on(void);

/* What was lost so far: counted where it happens, written when it changes, logged once for each cause. */

struct drops {
    struct notes_drops written;     /* counts in the last line written */
    struct ring_drop_counts logged; /* counts when last logged */
};

/*
 * `chrome` or `inspector` may be null. `always`: write unchanged counts too, if the format has a line for
 * them.
 */
void drops_write(struct drops *drops, const struct tree_counts *counts, struct chrome *chrome,
                 struct inspector *inspector, bool always);

/* -------------------- path.c -------------------- */

/* The output path: expands patterns, creates directories, and never follows a symbolic link. */

/*
 * Expands %h (host), %p (process ID), %r (rank; `rank` if no launcher sets one) and %%, and appends the
 * suffix. Only letters, digits, '.', '_' and '-' are kept in inserted text. Returns 0, or -1 if the result
 * does not fit.
 */
int path_expand(char *path, size_t size, const char *pattern, int rank, const char *suffix);

/*
 * Creates missing directories (mode 0700) and the file (mode 0600, close-on-exec). If the name is taken, -1,
 * -2 ... is added before the suffix, and `path` holds the new name. Returns the descriptor, or -1 with errno.
 */
int path_create(char *path, size_t size, const char *suffix);

/* Writes the name of this machine with the same restriction of characters; at most size - 1 bytes. */
void path_host(char *host, size_t size);

/* Writes the rank that a launcher gave this process, with the same restriction of characters, or `rank`. */
void path_rank(char *text, size_t size, int rank);

/* What launchers tell a process about its position in the job. */

/*
 * The rank in the environment of the launcher. Null if no launcher sets it. The local rank is only taken from
 * the launcher that sets the rank.
 */
struct launcher_rank {
    const char *global;
    const char *local; /* rank on the host */
};

struct launcher_rank launcher_rank(void);

#endif
