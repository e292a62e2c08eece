#ifndef NCCLPROF_NODE_INTERNAL_H
#define NCCLPROF_NODE_INTERNAL_H

#include "base/base.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct node_options;

/* -------------------- files.c -------------------- */

/* Where the kernel's files are: directories, -1 if there is none. Tests use a root other than "". */
struct node_files {
    int proc;
    int sys;
    int dev;
};

void node_files_open(struct node_files *files, const char *root);
void node_files_close(struct node_files *files);

/*
 * Reads a small file below a directory into `text`, followed by a NUL. Returns its length, cut to `size` - 1,
 * or -1 with errno.
 */
ssize_t node_read(int folder, const char *path, char *text, size_t size);

/* The first number after a word, in a text of lines "WORD NUMBER ..."; -1 if the word does not begin a line.
 */
int64_t node_number_after(const char *text, const char *word);

/* Reads up to `count` numbers with spaces between them from the beginning of a text; returns how many. */
int node_numbers(const char *text, uint64_t *numbers, int count);

/* Reads a file with one number. Returns -1 if it has none. */
int64_t node_read_number(int folder, const char *path);

/* CLOCK_MONOTONIC and CLOCK_REALTIME, in nanoseconds. */
int64_t node_monotonic_ns(void);
int64_t node_realtime_ns(void);

/* The CPU time that this process has used, in nanoseconds. */
int64_t node_own_cpu_ns(void);

/* -------------------- series.c -------------------- */

/*
 * The record consists of series: one metric of one device. A line has the values that changed since an
 * earlier line. Series get numbers when they have their first value.
 */

enum node_kind {
    KIND_NODE = 0,
    KIND_GPU,
    KIND_INTERFACE,
    KIND_PORT,
    KIND_DISK,
    KIND_PROCESS,
    KIND_THREAD,
    KINDS
};

enum node_metric_id {
    SERIES_CPU_BUSY,
    SERIES_CPU_STOLEN,
    SERIES_CPU_PRESSURE,
    SERIES_IO_PRESSURE,
    SERIES_MEMORY_PRESSURE,
    SERIES_RUNNABLE,
    SERIES_MEMORY_AVAILABLE,
    SERIES_QUOTA_WAIT,
    SERIES_TCP_RETRANSMITS,
    SERIES_CPU_SHARE,
    SERIES_RUN_WAIT,
    SERIES_SWITCHES,
    SERIES_MAJOR_FAULTS,
    SERIES_STOPPED,
    SERIES_BLOCKED,
    SERIES_FROZEN,
    SERIES_GPU_UTILIZATION,
    SERIES_SM_CLOCK,
    SERIES_MEMORY_CLOCK,
    SERIES_TEMPERATURE,
    SERIES_POWER,
    SERIES_HW_THERMAL,
    SERIES_HW_POWER_BRAKE,
    SERIES_HW_SLOWDOWN,
    SERIES_SW_THERMAL,
    SERIES_SW_POWER_CAP,
    SERIES_ECC_CORRECTED,
    SERIES_ECC_UNCORRECTED,
    SERIES_REMAPPED_ROWS,
    SERIES_PCIE_REPLAYS,
    SERIES_PCIE_GENERATION,
    SERIES_PCIE_WIDTH,
    SERIES_NVLINK_CRC,
    SERIES_NVLINK_REPLAY,
    SERIES_NVLINK_RECOVERY,
    SERIES_GPU_MEMORY,
    SERIES_OTHER_SHARE,
    SERIES_OTHER_MEMORY,
    SERIES_RECEIVED,
    SERIES_SENT,
    SERIES_RECEIVE_ERRORS,
    SERIES_SEND_ERRORS,
    SERIES_DROPS,
    SERIES_LINK_SPEED,
    SERIES_LINK_UP,
    SERIES_SYMBOL_ERRORS,
    SERIES_LINK_DOWNED,
    SERIES_LINK_RECOVERIES,
    SERIES_INTEGRITY_ERRORS,
    SERIES_PORT_ERRORS,
    SERIES_TRANSMIT_WAIT,
    SERIES_OUT_OF_SEQUENCE,
    SERIES_PACKET_SEQUENCE,
    SERIES_ACK_TIMEOUTS,
    SERIES_RNR_RETRIES,
    SERIES_CNP_SENT,
    SERIES_CNP_HANDLED,
    SERIES_ECN_MARKED,
    SERIES_DISK_BUSY,
    SERIES_DISK_FREE,
    SERIES_METRICS
};

/* The name of a metric, as enum node_metric of lib/model has it. */
const char *node_series_metric(enum node_metric_id metric);

/* Takes a complete line with its newline. Returns -1 to stop. */
typedef int (*node_output)(void *context, const char *line, size_t length);

struct node_series {
    double last; /* as written; of a counter 0; NaN: nothing yet */
};

struct node_writer {
    const char *prefix;         /* of the numbers of series: "" or a letter for each process that writes */
    int64_t zero_ns;            /* the moment 0 of the record, on CLOCK_MONOTONIC */
    int64_t realtime_ns;        /* of that moment, as the record has it */
    struct node_series *series; /* owned */
    size_t count;
    size_t capacity;
    size_t most;    /* series; the others are left out */
    int has_failed; /* out of memory, or the output stopped */
    int is_silent;  /* nothing is put: the first values of counters are being read */
    int64_t now_ns, since_ns;
    struct buffer fresh, values, gone, more; /* of the line being made */
    struct buffer line;
    node_output output;
    void *context;
};

void node_writer_init(struct node_writer *writer, const char *prefix, node_output output, void *context);
void node_writer_release(struct node_writer *writer);

/* Begins a line for values of the interval up to `now_ns` (CLOCK_MONOTONIC). */
void node_line_begin(struct node_writer *writer, int64_t since_ns, int64_t now_ns);

/*
 * Puts a value in the line, unless the record has nearly the same one already. *id is the number of the
 * series; 0 before the first value.
 */
void node_put(struct node_writer *writer, int32_t *id, enum node_kind kind, const char *device,
              enum node_metric_id metric, double value);

/* The device of a series is gone. Sets *id to 0. */
void node_end(struct node_writer *writer, int32_t *id);

/* Adds a member to the line: `name`, and a value that is JSON already. */
void node_line_add(struct node_writer *writer, const char *name, const char *json);

/* Writes another line at once, with this member alone. */
void node_line_alone(struct node_writer *writer, int64_t at_ns, const char *name, const char *json);

/* Writes the line; without any content only if `is_needed`. */
void node_line_finish(struct node_writer *writer, int is_needed);

/* A counter of the kernel or of a device, and the series of its increases. */
struct node_counter {
    uint64_t last;
    int is_known;
    int32_t id;
};

/* Puts the increase since the last call. After a reset there is none. */
void node_count(struct node_writer *writer, struct node_counter *counter, enum node_kind kind,
                const char *device, enum node_metric_id metric, uint64_t value);

/* -------------------- group.c -------------------- */

enum { NODE_GROUP_BYTES = 600, NODE_FREEZER_BYTES = 2 * NODE_GROUP_BYTES + 20 };

/* The file that says whether a group is frozen, which was read last. Clear `is_read` to read it again. */
struct node_freezer {
    char path[NODE_FREEZER_BYTES];
    int is_read;
    int is_frozen;
};

/* Finds that file of a process ("4711", "self"), below /sys; "" if there is none. */
void node_freezer_find(const struct node_files *files, const char *process, char path[NODE_FREEZER_BYTES]);

/* Whether the group with this file is frozen; -1: not known. */
int node_freezer_look(struct node_freezer *freezer, const struct node_files *files, const char *path);

/* How often the CPU quota of a group stopped it, in how many periods, as the kernel counts. */
struct node_quota {
    int is_known;
    int level; /* 0: the group of the job; 1: the one around it; ... */
    int64_t periods, stopped;
    int32_t id;
};

/* `job`: a process of the job; 0: none. */
void node_quota_sample(struct node_quota *quota, const struct node_files *files, struct node_writer *writer,
                       pid_t job);

/* -------------------- host.c -------------------- */

enum { NODE_DISKS = 16, NODE_BUSY_FIELDS = 8 };

struct node_disk {
    char name[32];
    uint64_t busy_ms;
    int is_known;
    int32_t id;
};

struct node_host {
    uint64_t cpu[NODE_BUSY_FIELDS]; /* of /proc/stat, in ticks */
    int has_cpu;
    int32_t busy, stolen, runnable, memory, free;
    uint64_t pressure_us[3];
    int has_pressure[3];
    int32_t pressure[3];
    struct node_counter retransmits;
    struct node_quota quota;
    struct node_disk disks[NODE_DISKS];
    size_t disk_count;
    int64_t out_of_memory; /* processes that the kernel killed for memory; -1 */
};

/* What changes within a second; what is read every tenth time. `job`: a process of the job; 0: none. */
void node_host_sample(struct node_host *host, const struct node_files *files, struct node_writer *writer,
                      int64_t elapsed_ns);
void node_host_sample_slow(struct node_host *host, const struct node_files *files, struct node_writer *writer,
                           int64_t elapsed_ns, pid_t job);

/* -------------------- tasks.c -------------------- */

/* The processes of the job and their threads. */

/* A process that the job consists of, with all that it starts. */
struct node_root {
    pid_t pid;
    uint64_t start; /* in ticks since boot */
};

enum { NODE_ROOTS = 256, NODE_MARK_BYTES = 4200 };

struct node_tasks {
    struct node_process *processes; /* owned: all of the host, by pid */
    size_t count;
    size_t capacity;
    pid_t session;    /* of the sampler: its processes are not the job's */
    int has_schedule; /* /proc/PID/schedstat says how long threads waited for a core */
    char mark[NODE_MARK_BYTES];
    int64_t tick_ns;
    struct node_freezer freezer;  /* of the process that was sampled last */
    char own[NODE_FREEZER_BYTES]; /* of the sampler's group */
    int64_t still_ns;             /* how long the sampler stood still, in the time that is being sampled */
    uint64_t own_wait_ns;         /* how long it has waited for a core */
};

void node_tasks_init(struct node_tasks *tasks, const struct node_files *files);
void node_tasks_release(struct node_tasks *tasks);

/*
 * Call it before a sample: `late_ns` after it was due. What froze the job's group, or its whole host, froze
 * the sampler, too, if that is in it: it was late without waiting for a core.
 */
void node_tasks_wake(struct node_tasks *tasks, const struct node_files *files, int64_t late_ns);

/* Looks for processes that started or ended. Returns -1 when out of memory. */
int node_tasks_scan(struct node_tasks *tasks, const struct node_files *files, struct node_writer *writer,
                    const struct node_root *roots, size_t root_count);

/* The job's processes and the threads that are active; then those that were idle, every tenth time. */
void node_tasks_sample(struct node_tasks *tasks, const struct node_files *files, struct node_writer *writer,
                       int64_t elapsed_ns);
void node_tasks_sample_slow(struct node_tasks *tasks, const struct node_files *files,
                            struct node_writer *writer, int64_t elapsed_ns);

/* What /proc/PID/stat says. */
struct node_stat {
    pid_t parent, session;
    uint64_t ticks; /* of CPU time */
    uint64_t major_faults;
    uint64_t start;
    int64_t threads;
    int is_ending; /* it exits, was killed, or its memory is being written to a file */
    char state;    /* of the main thread: 'R', 'S', 'D', 'T' and others of proc(5) */
    char name[20];
};

/* Returns -1 if there is no such process. */
int node_stat_read(const struct node_files *files, pid_t pid, struct node_stat *stat);

/*
 * The variable by which processes of the job can be told from others: "NCCLPROF_DIR=...", as `record` sets it
 * for the job. Empty if it is not set.
 */
void node_mark_make(char mark[NODE_MARK_BYTES]);

/*
 * Whether a process is the job's: a descendant of a root, or one that has the mark in its environment. -1: it
 * cannot be seen.
 */
int node_is_of_job(const struct node_files *files, pid_t pid, const struct node_root *roots,
                   size_t root_count, const char *mark);

/* -------------------- network.c -------------------- */

enum { NODE_INTERFACES = 64, NODE_INTERFACE_COUNTERS = 6 };

struct node_interface {
    char name[20];
    struct node_counter counters[NODE_INTERFACE_COUNTERS];
    int32_t speed, up;
};

struct node_network {
    struct node_interface interfaces[NODE_INTERFACES];
    size_t count;
};

/* Every tenth time. */
void node_network_sample(struct node_network *network, const struct node_files *files,
                         struct node_writer *writer);

/* The number of ports of InfiniBand and RoCE devices. */
int64_t node_count_ports(const struct node_files *files);

/* -------------------- kernel.c -------------------- */

/* Messages of the kernel that come while the job runs. */
struct node_kernel {
    int file; /* /dev/kmsg; -1 */
    int said; /* messages of the current minute */
    int64_t minute;
    int64_t skipped;
};

/* Returns -1 with errno if they cannot be read. */
int node_kernel_open(struct node_kernel *kernel, const struct node_files *files);
void node_kernel_close(struct node_kernel *kernel);

/* Writes the messages that came, each in a line of its own. */
void node_kernel_sample(struct node_kernel *kernel, struct node_writer *writer, int64_t interval_ns);

/* Whether a message is about hardware, drivers or memory. */
int node_kernel_matters(const char *text, int level);

/* -------------------- process.c -------------------- */

/*
 * Starts a process that calls `run` and ends. It has no descriptors but the `kept` ones and /dev/null.
 * Returns its number, or -1.
 */
pid_t node_process_start(void (*run)(void *context), void *context, const int *kept, size_t kept_count);

/* The same for a process in a session of its own whose parent is not the calling process. Returns -1. */
int node_process_detach(void (*run)(void *context), void *context);

/* Lowers the priority of the calling process, and makes it the first that is killed when memory is short. */
void node_process_step_back(void);

/* -------------------- worker.c -------------------- */

/*
 * Devices whose driver may not answer are sampled by processes of their own, so that the others go on. A
 * worker sends complete lines through a pipe, and an empty line if it has nothing to say.
 */

/* What a worker and the sampler share in memory. Each member has one writer. */
struct node_shared {
    char device[64]; /* what the worker asks now, for the case that there is no answer */
    int64_t due_ns;  /* when it asks again, on CLOCK_MONOTONIC */
    int32_t root_count;
    struct node_root roots[NODE_ROOTS];
};

/* One call of a worker. */
struct node_round {
    const struct node_files *files;
    struct node_writer *writer;
    struct node_shared *shared;
    int64_t since_ns; /* the last call of the same function, on CLOCK_MONOTONIC */
    int64_t now_ns;
    int64_t interval_ns;
    int is_fixed;        /* the user chose the interval */
    int64_t budgeted_ns; /* in, out: CPU time of what has a budget of its own and does not change the pace */
};

struct node_work {
    const char *name;
    const char *prefix;
    int64_t patience_ns; /* how long the first answer may take */
    /* Returns 1, or 0 if there is nothing to sample, with a line about it. */
    int (*open)(void *state, const struct node_files *files, struct node_writer *writer,
                struct node_shared *shared);
    /* At every interval; at every tenth; some times within an interval. NULL: nothing to do. */
    void (*sample)(void *state, struct node_round *round);
    void (*sample_slow)(void *state, struct node_round *round);
    void (*glance)(void *state, struct node_round *round);
    size_t state_bytes;
};

extern const struct node_work node_work_gpu;
extern const struct node_work node_work_infiniband;

struct node_worker {
    const struct node_work *work;
    pid_t pid; /* 0: none */
    int pipe;
    struct node_shared *shared;
    struct buffer pending;
    int64_t heard_ns;
    int64_t told_ns; /* when the record says that there is no answer; 0 */
    int has_answered;
};

/* How a process samples: its interval, and when that gets longer to save CPU time. */
struct node_pace {
    int64_t interval_ns;
    int64_t most_cpu_share_ppm; /* 0: no limit */
    int stretch;                /* the interval is this many times as long */
    int rounds;
    int64_t checked_ns, checked_cpu_ns;
};

/*
 * Call it after each round, with the CPU time so far that is not the pace's concern. Returns 1 if the stretch
 * changed.
 */
int node_pace_check(struct node_pace *pace, int64_t budgeted_ns);
int64_t node_pace_interval(const struct node_pace *pace);

/*
 * CPU time for calls that are too dear for every sample: they wait until it has come together. What was not
 * used is kept up to a limit, so that a short job gets its share at once.
 */
struct node_budget {
    int64_t share_ppm; /* of a core */
    int64_t most_ns;   /* that is kept */
    int64_t credit_ns; /* less than 0 after a call that took more than there was */
    int64_t at_ns;     /* when this was the credit; 0: the budget is new, and full */
};

/* Whether there is CPU time for another call. */
int node_budget_allows(struct node_budget *budget, int64_t now_ns);
void node_budget_spend(struct node_budget *budget, int64_t cpu_ns);

/* Every so many rounds are slow ones. */
enum { NODE_SLOW_ROUNDS = 10 };

/*
 * Starts a worker. `files` and the clock of `writer` become its own. Returns -1 if it could not be started.
 */
int node_worker_start(struct node_worker *worker, const struct node_work *work,
                      const struct node_files *files, const struct node_writer *writer,
                      const struct node_pace *pace);
void node_worker_stop(struct node_worker *worker);

/* Hands over the lines that came. Returns -1 if the output stopped. */
int node_worker_hear(struct node_worker *worker, struct node_writer *writer);

/* Writes a line if the worker has not answered for long, or answers again. */
void node_worker_check(struct node_worker *worker, struct node_writer *writer);

/* Tells the worker of which processes the job consists. */
void node_worker_tell(struct node_worker *worker, const struct node_root *roots, size_t count);

/* -------------------- peers.c -------------------- */

/*
 * The samplers of one user for one directory know each other by a socket with an abstract name. It needs no
 * file, is gone when its process is killed, and works on file systems without locks.
 */
struct node_peers {
    int directory; /* kept open: otherwise a later directory could get its number, and with it the name */
    int listener;  /* -1: this sampler does not write */
    int leader;    /* -1, or the connection to the one that writes */
    struct node_peer {
        int connection;
        struct node_root root; /* pid 0 until it is told */
    } peers[NODE_ROOTS];
    size_t count;
};

/*
 * Becomes the one that writes (returns 1), or connects to it and tells it `root` (returns 0). 1 also where
 * that cannot be determined.
 */
int node_peers_join(struct node_peers *peers, const char *directory, struct node_root root);
void node_peers_leave(struct node_peers *peers);

/* Accepts others, hears them, and drops those that ended. Returns whether there was a change. */
int node_peers_hear(struct node_peers *peers);

/* -------------------- gpu.c -------------------- */

/* Appends what NVML says: the number of GPUs and the version of the driver, or why not. */
int node_gpu_describe(struct buffer *text);

/* -------------------- sampler.c -------------------- */

/* Samples until the job ends. */
void node_sampler_run(const struct node_options *options, struct node_root root);

#endif
