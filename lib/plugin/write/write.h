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
 * Building lines of text fast, without printf. A buffer never grows: whoever starts a line makes sure by
 * sink_line() that TEXT_LINE_MAX bytes are free, and no line is longer.
 */

#define TEXT_LINE_MAX (128u << 10)
#define TEXT_DIGITS 20 /* of the largest 64-bit number */

struct text {
    char *bytes;
    size_t length;
};

static inline void text_bytes(struct text *text, const char *from, size_t length)
{
    memcpy(text->bytes + text->length, from, length);
    text->length += length;
}

/* For string literals alone: their length is known when compiling. */
#define text_literal(text, literal) text_bytes((text), "" literal "", sizeof(literal) - 1)

static inline void text_string(struct text *text, const char *from)
{
    text_bytes(text, from, strlen(from));
}

/* Writes value's last digits, two at a time, before `end`; returns where they begin. */
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
    /* A copy of fixed length is a few instructions; what is too much of it is written over next. */
    memcpy(text->bytes + text->length, first, TEXT_DIGITS);
    text->length += (size_t)(digits + TEXT_DIGITS - first);
}

static inline void text_signed(struct text *text, int64_t value)
{
    if (value < 0)
        text_literal(text, "-");
    text_unsigned(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Nanoseconds as microseconds with six decimals, as printf's %f shows them. */
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

/* The inside of a JSON string: escaped, and bytes that are not UTF-8 become U+FFFD. At most 6 bytes for each.
 */
void text_escaped(struct text *text, const char *from, size_t length);

/* A number with six decimals. */
void text_decimal(struct text *text, double value);

/* -------------------- sink.c -------------------- */

/*
 * One output file: whole lines in, bytes out. After a failed write the file keeps what was complete, further
 * lines are counted and thrown away, and the writer goes on.
 */

struct sink {
    struct text text;
    int file;
    uint64_t written; /* bytes, without what only ends the file for now */
    dev_t device; /* which file it is: the job may close our descriptor and open another under its number */
    ino_t inode;
    bool tells_links;    /* its file system counts names: some report 0 of every file */
    bool has_ending;     /* the file on disk ends with what sink_flush was given for its end */
    int failure;         /* errno of the write that failed, or 0 */
    uint64_t lines_lost; /* since the failure */
    off_t last_lines;    /* where whole lines begin that end the file, SINK_LAST_BYTES of them or more; 0:
                            nowhere */
    off_t later_lines;   /* where a write began after that: last_lines as soon as enough was written since */
    struct sink_gzip *gzip;
    char suffix[16];
    char path[4096];
};

/* Name and memory: reads the environment and touches no file. 0, or -1 with errno. */
int sink_prepare(struct sink *sink, const char *pattern, int rank, const char *suffix, bool gzip);
/* Makes the file, and the directories above it. 0; or -1 with errno, and sink->path says what could not be
 * made. */
int sink_create(struct sink *sink);

/*
 * Hands everything so far to the kernel, readable as it stands (gzip: a whole file, its end overwritten
 * later). The file then ends with `ending`, a few bytes or "", until the next flush or line that goes out.
 */
void sink_flush(struct sink *sink, const char *ending);

/*
 * After a failed write: puts the lines that were begun since, SINK_LAST_BYTES at most, over the last ones of
 * the file, whose room is there even where the disk is full. Nothing where the file is compressed or not ours
 * any more.
 */
void sink_end_with(struct sink *sink);

/* The file is there, but under no name any more: by a remote file system's word, it is not there. */
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

/* What all lines of a Chrome trace have: where they go, how they begin, how events and times are shown. */

struct chrome {
    struct sink *sink;
    struct tree *tree;
    uint64_t start_ns; /* CLOCK_MONOTONIC of ts 0 */
    char process[48];  /* the part of every line that names the process */
    size_t process_length;
    uint32_t ids[TYPE_COUNT];
};

void chrome_init(struct chrome *chrome, struct sink *sink, struct tree *tree, uint64_t start_ns,
                 long process);

/* {"name": N, "cat": C, "ph": P, "id": I, "pid": ..., "tid": 1, "ts": T   -- the caller appends the rest */
struct text *chrome_line(struct chrome *chrome, const char *name, const char *category, char phase,
                         uint32_t id, uint64_t time_ns);

/* {"name": N, "cat": "NCCLPROF", "ph": "M" or "i", ... "args": {   -- the caller appends the rest */
struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns);
void chrome_note_end(struct text *text);

/* Microseconds since the start; 0.000000 for an unknown time. */
void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns);

/* Name and category as printed. */
const char *chrome_name(const struct chrome *chrome, const struct node *node);
const char *chrome_category(uint8_t type);

/* -------------------- chrome.c -------------------- */

/*
 * Chrome trace lines: NVIDIA's example plugin's dialect, arguments of ours appended. man/ncclprof-plugin.7 is
 * the contract; whoever changes a line here changes it there.
 */

/* A tree, finished or given up: every task in it says for itself. */
void chrome_tree(struct chrome *chrome, uint32_t root);

void chrome_tag(struct chrome *chrome, const struct record *record);
/* What the application calls its tag of a number. */
void chrome_tag_name(struct chrome *chrome, uint64_t number, const char *name, uint64_t now_ns);

/* -------------------- chrome_proxy.c -------------------- */

/* The lines of proxy operations, their network steps and what network plugins report below them. */

void chrome_proxy_op(struct chrome *chrome, uint32_t number);
void chrome_proxy_step(struct chrome *chrome, uint32_t number);
void chrome_proxy_control(struct chrome *chrome, const struct node *node);
void chrome_net(struct chrome *chrome, const struct node *node);

/* -------------------- text.c -------------------- */

/* Why a trace ends before its process does. */

enum stop_reason {
    STOP_NOT,
    STOP_LIMIT,   /* so many bytes were asked for at most */
    STOP_SPACE,   /* so many bytes are to stay free on the file system */
    STOP_DELETED, /* the file was: nobody would read what is written */
    STOP_ERROR    /* of the system's, when writing */
};

struct stop {
    enum stop_reason reason;
    uint64_t bytes;              /* of the first two */
    int error;                   /* errno, of the last */
    uint64_t at_ns, realtime_ns; /* CLOCK_MONOTONIC, CLOCK_REALTIME */
};

/* As members of a JSON object. */
void stop_print(struct text *text, const struct stop *stop, uint64_t written_bytes);

/* A clause for people, with the setting that decides where there is one. */
void stop_describe(char *to, size_t size, const struct stop *stop);

/* -------------------- files.c -------------------- */

/* A process's files, one of each format that is asked for, and whether there is room for more in them. */

/* Of a file system at least so much stays free: a twentieth of it, but no more than 1 GiB. */
#define FILES_FREE_BY_SIZE UINT64_MAX

struct files {
    struct sink chrome, inspector; /* file -1: not asked for, or gone */
    uint64_t most_bytes;           /* of both; UINT64_MAX: no limit */
    uint64_t free_bytes;           /* that are to stay free, or FILES_FREE_BY_SIZE */
    uint64_t looked_at_bytes;      /* written when the file system was last asked */
    struct stop stop;              /* why nothing more is written; the first reason holds */
};

/* Names and memory; touches no file. 0; or -1 with errno, and *path says which could not be made. */
int files_prepare(struct files *files, const char *pattern, int rank, bool chrome, bool inspector, bool gzip,
                  const char **path);
/* Makes those that were prepared. Likewise. */
int files_create(struct files *files, const char **path);

/* False, with files->stop, when there is no room for more than last lines. Asks the file system from time to
 * time. */
bool files_have_room(struct files *files);
/* Asks now. */
void files_look(struct files *files);

/* How far the files have come. */
struct files_mark {
    uint64_t chrome_written, inspector_written;
    size_t chrome_length, inspector_length;
};
struct files_mark files_mark(const struct files *files);
/* Forgets what came after it; false when some of that is written already, as of more lines than are kept. */
bool files_go_back(struct files *files, const struct files_mark *mark);

/* Hands everything to the kernel; the array then ends with `ending` until the next flush. */
void files_flush(struct files *files, const char *ending);

void files_close(struct files *files);

/* -------------------- hardware.c -------------------- */

/* Which GPU a process computes on, from what the system shows of it: CUDA is not asked. */

/* What the environment says of the order in which CUDA counts the visible devices. */
struct gpu_settings {
    bool is_by_bus;   /* CUDA_DEVICE_ORDER */
    bool keeps_order; /* CUDA_VISIBLE_DEVICES leaves it as it is */
};

void gpu_settings_read(struct gpu_settings *settings);

struct gpu_in_use {
    int number;    /* CUDA's in this process; -1 unknown */
    char bus[24];  /* "0000:3b:00.0"; empty: unknown, as below */
    char uuid[64]; /* "GPU-..." */
};

/*
 * `root` stands before /proc: "". Says nothing where it is not plain: a process that has contexts on several
 * devices, or none yet.
 */
void gpu_in_use_find(struct gpu_in_use *gpu, const struct gpu_settings *settings, const char *root);

/* Which network card NCCL uses, where the system and its settings leave only one. */

/* What the environment tells NCCL of its network. */
struct nic_settings {
    bool is_other;        /* another plugin's, or one that is named */
    bool is_socket;       /* not InfiniBand, nor what looks like it */
    char cards[256];      /* NCCL_IB_HCA, or "^": all */
    char interfaces[256]; /* NCCL_SOCKET_IFNAME, or NCCL's default */
};

void nic_settings_read(struct nic_settings *settings);

/* "mlx5_0", "eth0"; empty where there are several, or it is not known. `root` stands before /sys: "". */
void nic_in_use_find(char *nic, size_t size, const struct nic_settings *settings, const char *root);

/* -------------------- files.c -------------------- */

/* Where a process runs and which one of the job it is, as far as launcher and system tell. */

/* -1 and empty texts: unknown. */
struct place {
    long rank;       /* global, as the launcher counts */
    long local_rank; /* on this host, likewise */
    char rank_name[128];
    struct gpu_in_use gpu;
    char nic[64];
    struct gpu_settings gpu_settings;
    struct nic_settings nic_settings;
};

/* Reads the environment: only on a thread of the job, which may change it. */
void place_read_environment(struct place *place);

/* Reads /proc and /sys, on any thread; `root` stands before the two: "". */
void place_find_devices(struct place *place, const char *root);

/* -------------------- notes.c -------------------- */

/* The lines of ours in a Chrome trace: who wrote it, communicators, clocks, losses, and what is still
 * pending. */

struct notes_process {
    char host[256];
    unsigned api;         /* of the communicator that came first */
    int nccl_version;     /* as ncclGetVersion says; 0 unknown */
    uint32_t mask;        /* enum api_event */
    uint64_t start_ns;    /* CLOCK_MONOTONIC of ts 0 */
    uint64_t realtime_ns; /* CLOCK_REALTIME at the same time */
    char boot[40];
    char rank[32];       /* as a launcher tells it, else in the communicator that came first */
    bool allocator_hook; /* PyTorch registers its allocator's memory with NCCL */
};

/* What was lost so far, each a count since the start. */
struct notes_drops {
    uint64_t ring;          /* records that found no room in their thread's ring */
    uint64_t lost;          /* events that found no room in the writer's memory */
    uint64_t evicted;       /* operations written unfinished to make room */
    uint64_t late;          /* stops and states that came after their operation was written */
    uint64_t orphans;       /* events whose parent was unknown, but for tasks */
    uint64_t unknown;       /* events and states of no known kind */
    uint64_t communicators; /* that found no number: their events have none */
};

/* CLOCK_MONOTONIC and CLOCK_REALTIME at one moment, to within uncertainty_ns. */
struct notes_anchor {
    uint64_t monotonic_ns, realtime_ns, uncertainty_ns;
};

void notes_read_boot(char boot[40]);
struct notes_anchor notes_anchor_now(void);

void notes_process(struct chrome *chrome, const struct notes_process *process);

/* Where the process runs, as far as anything is known of that. */
void notes_place(struct chrome *chrome, const struct place *place, uint64_t now_ns);

/* What viewers call the process: the Trace Event Format's own line. */
void notes_process_name(struct chrome *chrome, const struct notes_process *process);
void notes_communicator(struct chrome *chrome, uint32_t number, uint64_t now_ns);
void notes_anchor(struct chrome *chrome, const struct notes_anchor *anchor, const char *boot);
void notes_gpu_clocks(struct chrome *chrome, struct files *files, uint64_t now_ns);
/* As members of a JSON object. */
void notes_print_drops(struct text *text, const struct notes_drops *drops);
void notes_drops(struct chrome *chrome, const struct notes_drops *drops, uint64_t now_ns);
/* That recording stopped while the process went on. */
void notes_stopped(struct chrome *chrome, const struct stop *stop, uint64_t written_bytes);
void notes_end(struct chrome *chrome, const char *reason, uint64_t operations, uint64_t unfinished,
               uint64_t now_ns);

/* A line for every operation that is due for one, as long as there is room in the files. */
void notes_pending(struct chrome *chrome, struct files *files, uint64_t now_ns);

/* -------------------- inspector.c -------------------- */

/* One line a completed operation, as NVIDIA's Inspector writes it (verbose). */

struct inspector {
    struct sink *sink;
    struct tree *tree;
    int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, as last read */
    long process;
    int rank; /* of the first communicator, for what is of the process */
    const char *host;
};

/* Every finished task of a tree. */
void inspector_tree(struct inspector *inspector, uint32_t root);

/* Lines of ours, of the process as a whole: what Inspector itself has no record for. */
void inspector_drops(struct inspector *inspector, const struct notes_drops *drops);
void inspector_stopped(struct inspector *inspector, const struct stop *stop, uint64_t written_bytes);

/* -------------------- writer.c -------------------- */

/* The one thread that turns records into files. Nobody waits for it but the first init, finalize and exit,
 * and they not for long. */

/* What a process may write: by default, and the least that can be set. */
#define WRITER_MOST_BYTES (UINT64_C(16) << 30)
#define WRITER_LEAST_BYTES (UINT64_C(64) << 10)

struct writer_settings {
    char path[4096]; /* file pattern, directory included, without suffix */
    bool chrome;     /* which files */
    bool inspector;
    bool gzip;
    uint64_t buffer_slots;   /* of each thread's ring */
    uint32_t pending_events; /* most that wait for what is still to come of them */
    uint64_t flush_ns;
    uint64_t most_bytes; /* of both files; UINT64_MAX: no limit */
    uint64_t free_bytes; /* that are to stay free on their file system; or FILES_FREE_BY_SIZE */
    /* On the writer thread, when nothing more will be recorded: the files cannot be made or have come to
     * their end. */
    void (*stopped)(void);
};

struct writer_origin {
    unsigned api;
    uint32_t mask; /* enum api_event: of the first communicator */
    int nccl_version;
    int rank; /* of the first communicator, where no launcher tells a rank */
};

/* Starts the thread, which makes the files; null with a sentence in failure. Reads the environment, touches
 * no file. */
struct writer *writer_start(const struct writer_settings *settings, const struct writer_origin *origin,
                            char *failure, size_t failure_bytes);

/*
 * False when nothing more will be recorded. Waits for the files and their beginnings, until wait_ms after
 * writer_start at most: past that a file system that does not answer may still do so.
 */
bool writer_records(struct writer *writer, unsigned wait_ms);

/*
 * Asks that all that was recorded before go to the kernel; writer_await waits for that, at most timeout_ms,
 * and not at all where that was not enough the last time and the thread is still at it. at_rest: no
 * communicator is live; until writer_resume the files on disk are whole, as the process may end without
 * writer_stop. Neither this nor writer_resume is for two threads at once.
 */
uint32_t writer_ask(struct writer *writer, bool at_rest);
void writer_await(struct writer *writer, uint32_t asked, unsigned timeout_ms);

/* There is a communicator: from now on a file without its end says that the process was killed. */
void writer_resume(struct writer *writer);

/*
 * Writes everything out, unfinished operations too, ends the files and the thread; by the time until_ns of
 * CLOCK_MONOTONIC it returns, and before that where the thread is held up. Memory stays: another thread may
 * still be in writer_await.
 */
void writer_stop(struct writer *writer, uint64_t until_ns);

/* -------------------- ring_reader.c -------------------- */

/* Takes what the job's threads recorded out of their rings, in the order of its times. */

struct ring_reader {
    struct ring_cursor *cursors;
    unsigned room, count; /* of cursors: rings that hold something */
    uint64_t until_ns;
    uint64_t pause_ns; /* between two looks at rings that are being filled */
    void (*take)(void *owner, const struct record *record);
    void *owner;
    _Alignas(64) unsigned char record[RECORD_SLOTS_MAX * RECORD_SLOT_BYTES];
};

/* For rings of so many slots. */
void ring_reader_init(struct ring_reader *reader, uint64_t slots, void (*take)(void *, const struct record *),
                      void *owner);
void ring_reader_release(struct ring_reader *reader);

/*
 * Looks for all that was recorded up to now. Returns for how long to leave the rings alone after it has been
 * taken: looking at them all the time would take the lines that their threads write to away from them, and a
 * processor of the job's.
 */
uint64_t ring_reader_look(struct ring_reader *reader, uint64_t idle_ns);

/* Takes what the last look found. */
void ring_reader_take(struct ring_reader *reader);

/* A thread of the plugin's own beside those of the job. */

/* What a debugger shows of the calling thread. */
void thread_name(const char *name);

/* None of the job's signals is handled on it, and nobody joins it: it may hang in a file system. 0 or -1. */
int thread_start(void *(*run)(void *), void *argument);

/* Whether PyTorch registers its allocator's memory with NCCL. */

/* As the environment says when the first communicator is there: PyTorch has asked by then. */
bool allocator_hook_is_on(void);

/* What was lost so far: gathered where it is counted, written when it changed, told in the log once for each
 * cause. */

struct drops {
    struct notes_drops written;     /* as last written */
    struct ring_drop_counts logged; /* as last logged */
};

/* Chrome or inspector may be null; `always`: also what did not change, if that is what a format has a line
 * for. */
void drops_write(struct drops *drops, const struct tree_counts *counts, struct chrome *chrome,
                 struct inspector *inspector, bool always);

/* -------------------- path.c -------------------- */

/* Where a process writes: patterns expanded, directories made, never through a symbolic link. */

/*
 * Expands %h (host), %p (process id), %r (rank; `rank` stands in where no launcher tells it) and %%, and
 * appends suffix. What is put in is made safe: letters, digits, '.', '_' and '-' alone. 0, or -1 if it does
 * not fit.
 */
int path_expand(char *path, size_t size, const char *pattern, int rank, const char *suffix);

/*
 * Makes missing directories (mode 0700) and creates the file (mode 0600, close-on-exec). A name that is taken
 * gets -1, -2 ... before the suffix; path says which it became. The descriptor, or -1 with errno.
 */
int path_create(char *path, size_t size, const char *suffix);

/* This machine's name, safe as above; at most size - 1 bytes. */
void path_host(char *host, size_t size);

/* The rank that a launcher gave this process, safe as above, or else `rank`. */
void path_rank(char *text, size_t size, int rank);

/* What launchers tell a process of its place in the job. */

/* As the environment has it: null where no launcher says so. Of a local rank only the one who tells the rank
 * is asked. */
struct launcher_rank {
    const char *global;
    const char *local; /* on its host */
};

struct launcher_rank launcher_rank(void);

#endif
