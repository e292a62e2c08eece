/*
 * The processes of the job and their threads. A training job has thousands of threads, of which a few dozen
 * work: only these are looked at every time, the others every tenth time.
 */
#include "node/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Shares of one core from which a thread is active, from which it gets a place in the record, and of waiting
 * for a core from which it gets one.
 */
static const double ACTIVE_SHARE = 0.002, NOTABLE_SHARE = 0.02, NOTABLE_WAIT = 0.02;

enum { THREADS_MOST = 4096, PROCESSES_MOST = 1024 };

struct task_thread {
    pid_t tid;
    int is_active;
    int is_seen;
    int is_known; /* it was read before */
    int is_tired; /* it became idle since the last look at idle threads */
    uint64_t run_ns, wait_ns;
    int32_t share, wait;
    struct node_counter switches;
    char device[48]; /* "PID/TID NAME"; "" before the first series */
};

struct node_process {
    pid_t pid;
    pid_t parent, session;
    int is_seen;
    int is_ours;
    uint64_t start;
    uint64_t ticks;
    double usual_share; /* of a core, when the sampler did not stand still */
    int is_known;       /* `ticks` was read before */
    int64_t thread_total;
    struct task_thread *threads; /* owned; by tid */
    size_t thread_count;
    size_t thread_capacity;
    int32_t share, wait, stopped, blocked, frozen;
    char *freezer; /* owned: the file that says whether its group is frozen; NULL: not looked for yet */
    struct node_counter faults;
};

/* -------------------- /proc -------------------- */

int node_stat_read(const struct node_files *files, pid_t pid, struct node_stat *stat)
{
    /* Of the numbers behind the state, from 0. */
    enum {
        PARENT = 0,
        SESSION = 2,
        FLAGS = 5,
        MAJOR_FAULTS = 8,
        USER = 10,
        SYSTEM = 11,
        THREADS = 16,
        START = 18,
        NUMBERS = 19
    };
    /* PF_EXITING, PF_DUMPCORE and PF_SIGNALED of the kernel. */
    static const uint64_t ENDING = 0x4 | 0x200 | 0x400;
    char path[32], text[1024];
    uint64_t numbers[NUMBERS];
    snprintf(path, sizeof path, "%ld/stat", (long)pid);
    if (node_read(files->proc, path, text, sizeof text) <= 0)
        return -1;
    /* The name is in parentheses and may contain any byte, also a parenthesis. Behind it: " S 1 2 ..." */
    char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (!begin || !end || end < begin || strlen(end) < 4 ||
        node_numbers(end + 3, numbers, NUMBERS) != NUMBERS)
        return -1;
    stat->state = end[2];
    stat->is_ending = (numbers[FLAGS] & ENDING) != 0;
    stat->parent = (pid_t)numbers[PARENT];
    stat->session = (pid_t)numbers[SESSION];
    stat->major_faults = numbers[MAJOR_FAULTS];
    stat->ticks = numbers[USER] + numbers[SYSTEM];
    stat->threads = (int64_t)numbers[THREADS];
    stat->start = numbers[START];
    snprintf(stat->name, sizeof stat->name, "%.*s", (int)(end - begin - 1), begin + 1);
    return 0;
}

void node_mark_make(char mark[NODE_MARK_BYTES])
{
    const char *directory = getenv("NCCLPROF_DIR");
    int length = directory ? snprintf(mark, NODE_MARK_BYTES, "NCCLPROF_DIR=%s", directory) : 0;
    if (length <= 0 || length >= NODE_MARK_BYTES)
        mark[0] = '\0';
}

/*
 * Only these can have the environment of the job. To read that of a process that hangs, perhaps since an
 * earlier job, can take for ever.
 */
static int started_later(const struct node_stat *stat, const struct node_root *roots, size_t root_count)
{
    for (size_t i = 0; i < root_count; i++)
        if (stat->start >= roots[i].start)
            return 1;
    return 0;
}

/*
 * Whether a process has the environment of the job, as those that a launcher's daemon starts for it. -1: a
 * process of the same user whose environment cannot be read.
 */
static int has_mark(const struct node_files *files, pid_t pid, const char *mark)
{
    enum { ENVIRONMENT_BYTES = 256 * 1024 };
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "%ld", (long)pid);
    if (!mark[0] || fstatat(files->proc, path, &status, 0) != 0 || status.st_uid != geteuid())
        return 0;
    char *text = malloc(ENVIRONMENT_BYTES);
    snprintf(path, sizeof path, "%ld/environ", (long)pid);
    ssize_t length = text ? node_read(files->proc, path, text, ENVIRONMENT_BYTES) : -1;
    int found = length < 0 ? -1 : 0;
    for (const char *at = text; length > 0 && at < text + length && !found; at += strlen(at) + 1)
        found = strcmp(at, mark) == 0;
    free(text);
    return found;
}

/* "123456 7890 12": nanoseconds on a core, nanoseconds waiting for one, times on a core. */
static int read_schedule(const struct node_files *files, const char *path, uint64_t times[3])
{
    char text[96];
    return node_read(files->proc, path, text, sizeof text) > 0 && node_numbers(text, times, 3) == 3 ? 0 : -1;
}

void node_tasks_init(struct node_tasks *tasks, const struct node_files *files)
{
    uint64_t times[3];
    long ticks = sysconf(_SC_CLK_TCK);
    *tasks = (struct node_tasks){.session = getsid(0), .tick_ns = 1000000000 / (ticks > 0 ? ticks : 100)};
    node_mark_make(tasks->mark);
    /* Without CONFIG_SCHED_INFO all three are 0. */
    node_freezer_find(files, "self", tasks->own);
    tasks->has_schedule = (read_schedule(files, "self/schedstat", times) == 0 && times[2] > 0) ||
                          (read_schedule(files, "1/schedstat", times) == 0 && times[2] > 0);
}

static void release_process(struct node_process *process)
{
    free(process->threads);
    free(process->freezer);
}

void node_tasks_release(struct node_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        release_process(&tasks->processes[i]);
    free(tasks->processes);
}

/* The numbers that are names in a folder of /proc, in ascending order. Returns -1 when out of memory. */
static int list_numbers(int folder, const char *path, int64_t **numbers, size_t *count, size_t most)
{
    int file = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = file >= 0 ? fdopendir(file) : NULL;
    struct dirent *entry;
    size_t capacity = 0;
    int outcome = 0;
    *numbers = NULL;
    *count = 0;
    if (!names && file >= 0)
        close(file);
    while (names && outcome == 0 && *count < most && (entry = readdir(names))) {
        if (!is_digit(entry->d_name[0]))
            continue;
        outcome = array_reserve((void **)numbers, &capacity, *count + 1, sizeof **numbers);
        if (outcome == 0)
            (*numbers)[(*count)++] = strtoll(entry->d_name, NULL, 10);
    }
    if (names)
        closedir(names);
    if (outcome == 0)
        sort_integers(*numbers, *count);
    return outcome;
}

/* -------------------- processes -------------------- */

static void end_thread(struct task_thread *thread, struct node_writer *writer)
{
    node_end(writer, &thread->share);
    node_end(writer, &thread->wait);
    node_end(writer, &thread->switches.id);
}

static void end_process(struct node_process *process, struct node_writer *writer)
{
    for (size_t i = 0; i < process->thread_count; i++)
        end_thread(&process->threads[i], writer);
    node_end(writer, &process->share);
    node_end(writer, &process->wait);
    node_end(writer, &process->stopped);
    node_end(writer, &process->blocked);
    node_end(writer, &process->frozen);
    node_end(writer, &process->faults.id);
    release_process(process);
}

static int is_before_pid(const void *item, const void *wanted)
{
    return ((const struct node_process *)item)->pid < *(const pid_t *)wanted;
}

static struct node_process *find_process(const struct node_tasks *tasks, pid_t pid)
{
    size_t at = lower_bound(tasks->processes, tasks->count, sizeof *tasks->processes, is_before_pid, &pid);
    return at < tasks->count && tasks->processes[at].pid == pid ? &tasks->processes[at] : NULL;
}

static int compare_pids(const void *left, const void *right)
{
    return compare_integers(((const struct node_process *)left)->pid,
                            ((const struct node_process *)right)->pid);
}

static int is_root(const struct node_process *process, const struct node_root *roots, size_t root_count)
{
    for (size_t i = 0; i < root_count; i++)
        if (roots[i].pid == process->pid && roots[i].start == process->start)
            return 1;
    return 0;
}

/* What the job's processes start is the job's, also if its parent has ended since the last scan. */
static void mark_ours(const struct node_tasks *tasks, const struct node_root *roots, size_t root_count)
{
    int is_new = 1;
    while (is_new) {
        size_t ours = 0;
        is_new = 0;
        for (size_t i = 0; i < tasks->count; i++) {
            struct node_process *process = &tasks->processes[i];
            const struct node_process *parent;
            if (process->is_ours) {
                ours++;
                continue;
            }
            if (process->session == tasks->session || ours > PROCESSES_MOST)
                continue;
            parent = find_process(tasks, process->parent);
            process->is_ours = is_root(process, roots, root_count) || (parent && parent->is_ours);
            is_new |= process->is_ours;
        }
    }
}

/* Drops the processes that were not seen. */
static void drop_ended(struct node_tasks *tasks, struct node_writer *writer)
{
    size_t kept = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        if (tasks->processes[i].is_seen)
            tasks->processes[kept++] = tasks->processes[i];
        else
            end_process(&tasks->processes[i], writer);
    }
    tasks->count = kept;
}

int node_tasks_scan(struct node_tasks *tasks, const struct node_files *files, struct node_writer *writer,
                    const struct node_root *roots, size_t root_count)
{
    int64_t *pids;
    size_t count, known = tasks->count;
    int outcome = list_numbers(files->proc, ".", &pids, &count, SIZE_MAX);
    if (outcome == 0)
        outcome = array_reserve((void **)&tasks->processes, &tasks->capacity, tasks->count + count,
                                sizeof *tasks->processes);
    for (size_t i = 0; i < known; i++)
        tasks->processes[i].is_seen = 0;
    for (size_t i = 0; outcome == 0 && i < count; i++) {
        struct node_stat stat;
        pid_t pid = (pid_t)pids[i];
        size_t at = lower_bound(tasks->processes, known, sizeof *tasks->processes, is_before_pid, &pid);
        struct node_process *same =
            at < known && tasks->processes[at].pid == pid ? &tasks->processes[at] : NULL;
        if (same && same->start)
            same->is_seen = 1;
        else if (node_stat_read(files, pid, &stat) == 0)
            *(same ? same : &tasks->processes[tasks->count++]) = (struct node_process){
                .pid = pid,
                .parent = stat.parent,
                .session = stat.session,
                .start = stat.start,
                .is_seen = 1,
                .is_ours = stat.session != tasks->session && started_later(&stat, roots, root_count) &&
                           has_mark(files, pid, tasks->mark) == 1};
    }
    free(pids);
    if (outcome)
        return -1;
    drop_ended(tasks, writer);
    array_sort(tasks->processes, tasks->count, sizeof *tasks->processes, compare_pids);
    mark_ours(tasks, roots, root_count);
    return 0;
}

void node_tasks_wake(struct node_tasks *tasks, const struct node_files *files, int64_t late_ns)
{
    /* A sampler that is merely late by a timer's slack is not noticed. */
    static const int64_t LEAST_STILL_NS = 200000000;
    uint64_t times[3];
    tasks->still_ns = 0;
    tasks->freezer.is_read = 0;
    if (!tasks->has_schedule || read_schedule(files, "self/schedstat", times))
        return;
    int64_t still_ns = late_ns - (int64_t)(times[1] - tasks->own_wait_ns);
    tasks->own_wait_ns = times[1];
    if (still_ns >= LEAST_STILL_NS)
        tasks->still_ns = still_ns;
}

/* Looks again which group it is in: launchers move processes. */
static void find_freezer(struct node_process *process, const struct node_files *files)
{
    char number[16], path[NODE_FREEZER_BYTES];
    snprintf(number, sizeof number, "%ld", (long)process->pid);
    node_freezer_find(files, number, path);
    if (process->freezer && strcmp(process->freezer, path) == 0)
        return;
    free(process->freezer);
    process->freezer = strdup(path);
}

/*
 * The share of the time in which its group was frozen. If the sampler stood still with the same group, that
 * share is known, unless the process went on as before.
 */
static double frozen_share(struct node_tasks *tasks, struct node_process *process,
                           const struct node_files *files, int64_t elapsed_ns, double share)
{
    if (!process->freezer)
        find_freezer(process, files);
    if (!process->freezer)
        return 0;
    double still = elapsed_ns > 0 ? (double)tasks->still_ns / (double)elapsed_ns : 0;
    double usual = process->usual_share > 0.2 ? process->usual_share : 0.2;
    if (still <= 0)
        process->usual_share = share;
    else if (strcmp(process->freezer, tasks->own) == 0 && share <= (1 - still / 2) * usual)
        return still < 1 ? still : 1;
    return node_freezer_look(&tasks->freezer, files, process->freezer) == 1;
}

/*
 * One look: the state is taken for that of the whole interval. A process that is frozen by v1, or that ends
 * and writes its memory to a file, only looks as if it waited for a disk.
 */
static void put_state(struct node_process *process, struct node_writer *writer, const char *device,
                      const struct node_stat *stat, double frozen)
{
    int is_blocked = stat->state == 'D' && frozen <= 0 && !stat->is_ending;
    node_put(writer, &process->stopped, KIND_PROCESS, device, SERIES_STOPPED,
             stat->state == 'T' || stat->state == 't');
    node_put(writer, &process->blocked, KIND_PROCESS, device, SERIES_BLOCKED, is_blocked);
    node_put(writer, &process->frozen, KIND_PROCESS, device, SERIES_FROZEN, frozen);
}

/* Returns -1 if the process has ended, or another one has its number now. */
static int sample_process(struct node_tasks *tasks, struct node_process *process,
                          const struct node_files *files, struct node_writer *writer, int64_t elapsed_ns)
{
    struct node_stat stat;
    char device[24];
    if (node_stat_read(files, process->pid, &stat) || stat.start != process->start)
        return -1;
    double share = elapsed_ns > 0 && stat.ticks >= process->ticks
                       ? (double)(stat.ticks - process->ticks) * (double)tasks->tick_ns / (double)elapsed_ns
                       : 0;
    snprintf(device, sizeof device, "%ld", (long)process->pid);
    if (process->is_known && (process->share || share >= NOTABLE_SHARE)) {
        node_put(writer, &process->share, KIND_PROCESS, device, SERIES_CPU_SHARE, share);
        node_count(writer, &process->faults, KIND_PROCESS, device, SERIES_MAJOR_FAULTS, stat.major_faults);
        put_state(process, writer, device, &stat, frozen_share(tasks, process, files, elapsed_ns, share));
    }
    process->ticks = stat.ticks;
    process->is_known = 1;
    process->thread_total = stat.threads;
    return 0;
}

/* -------------------- threads -------------------- */

static int is_before_tid(const void *item, const void *wanted)
{
    return ((const struct task_thread *)item)->tid < *(const pid_t *)wanted;
}

static int compare_tids(const void *left, const void *right)
{
    return compare_integers(((const struct task_thread *)left)->tid,
                            ((const struct task_thread *)right)->tid);
}

/* Looks for threads that started or ended. */
static void list_threads(struct node_process *process, const struct node_files *files,
                         struct node_writer *writer)
{
    char path[32];
    int64_t *tids;
    size_t count, known = process->thread_count, kept = 0;
    snprintf(path, sizeof path, "%ld/task", (long)process->pid);
    int outcome = list_numbers(files->proc, path, &tids, &count, THREADS_MOST);
    if (outcome == 0)
        outcome = array_reserve((void **)&process->threads, &process->thread_capacity, known + count,
                                sizeof *process->threads);
    for (size_t i = 0; i < known; i++)
        process->threads[i].is_seen = 0;
    for (size_t i = 0; outcome == 0 && i < count; i++) {
        pid_t tid = (pid_t)tids[i];
        size_t at = lower_bound(process->threads, known, sizeof *process->threads, is_before_tid, &tid);
        if (at < known && process->threads[at].tid == tid)
            process->threads[at].is_seen = 1;
        else
            process->threads[process->thread_count++] =
                (struct task_thread){.tid = tid, .is_seen = 1, .is_active = 1};
    }
    for (size_t i = 0; outcome == 0 && i < process->thread_count; i++) {
        if (process->threads[i].is_seen)
            process->threads[kept++] = process->threads[i];
        else
            end_thread(&process->threads[i], writer);
    }
    if (outcome)
        writer->has_failed = 1;
    else
        process->thread_count = kept;
    array_sort(process->threads, process->thread_count, sizeof *process->threads, compare_tids);
    free(tids);
}

/* Writes "PID/TID NAME" to `device`. */
static void name_thread(const struct node_process *process, const struct task_thread *thread,
                        const struct node_files *files, char device[48])
{
    char path[64], name[20];
    snprintf(path, sizeof path, "%ld/task/%ld/comm", (long)process->pid, (long)thread->tid);
    if (node_read(files->proc, path, name, sizeof name) <= 0)
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    snprintf(device, 48, "%ld/%ld %s", (long)process->pid, (long)thread->tid, name);
}

/* Adds to *waited how long the thread waited for a core. */
static void sample_thread(const struct node_process *process, struct task_thread *thread,
                          const struct node_files *files, struct node_writer *writer, int64_t elapsed_ns,
                          uint64_t *waited)
{
    char path[64];
    uint64_t times[3];
    snprintf(path, sizeof path, "%ld/task/%ld/schedstat", (long)process->pid, (long)thread->tid);
    if (read_schedule(files, path, times) || elapsed_ns <= 0)
        return;
    uint64_t run_ns = times[0] > thread->run_ns ? times[0] - thread->run_ns : 0;
    uint64_t wait_ns = times[1] > thread->wait_ns ? times[1] - thread->wait_ns : 0;
    thread->run_ns = times[0];
    thread->wait_ns = times[1];
    if (!thread->is_known) {
        thread->is_known = 1;
        return;
    }
    double share = (double)run_ns / (double)elapsed_ns, wait = (double)wait_ns / (double)elapsed_ns;
    /* The kernel counts a wait when it is over, so a long one may be more than the interval. */
    wait = wait < 1 ? wait : 1;
    int was_active = thread->is_active;
    thread->is_active = share + wait >= ACTIVE_SHARE;
    thread->is_tired = was_active && !thread->is_active;
    *waited += wait_ns;
    if (!thread->device[0] && (share >= NOTABLE_SHARE || wait >= NOTABLE_WAIT))
        name_thread(process, thread, files, thread->device);
    if (!thread->device[0])
        return;
    node_put(writer, &thread->share, KIND_THREAD, thread->device, SERIES_CPU_SHARE, share);
    node_put(writer, &thread->wait, KIND_THREAD, thread->device, SERIES_RUN_WAIT, wait);
}

static void sample_threads(struct node_process *process, const struct node_files *files,
                           struct node_writer *writer, int64_t elapsed_ns, int is_slow)
{
    char device[24];
    uint64_t waited_ns = 0;
    for (size_t i = 0; i < process->thread_count; i++) {
        struct task_thread *thread = &process->threads[i];
        if (thread->is_active != is_slow && !(is_slow && thread->is_tired))
            sample_thread(process, thread, files, writer, elapsed_ns, &waited_ns);
        thread->is_tired &= !is_slow;
    }
    if (is_slow || elapsed_ns <= 0 || !process->share)
        return;
    snprintf(device, sizeof device, "%ld", (long)process->pid);
    node_put(writer, &process->wait, KIND_PROCESS, device, SERIES_RUN_WAIT,
             (double)waited_ns / (double)elapsed_ns);
}

void node_tasks_sample(struct node_tasks *tasks, const struct node_files *files, struct node_writer *writer,
                       int64_t elapsed_ns)
{
    for (size_t i = 0; i < tasks->count; i++) {
        struct node_process *process = &tasks->processes[i];
        if (!process->is_ours)
            continue;
        int64_t threads = process->thread_total;
        if (sample_process(tasks, process, files, writer, elapsed_ns)) {
            end_process(process, writer);
            *process = (struct node_process){.pid = process->pid};
            continue;
        }
        if (tasks->has_schedule && process->thread_total != threads)
            list_threads(process, files, writer);
        if (tasks->has_schedule)
            sample_threads(process, files, writer, elapsed_ns, 0);
    }
}

/* Threads that are in the record: their involuntary switches, and whether they have another name now. */
static void sample_switches(const struct node_process *process, struct task_thread *thread,
                            const struct node_files *files, struct node_writer *writer)
{
    char path[64], text[4096], device[48];
    name_thread(process, thread, files, device);
    if (strcmp(device, thread->device) != 0) {
        end_thread(thread, writer);
        memcpy(thread->device, device, sizeof device);
    }
    snprintf(path, sizeof path, "%ld/task/%ld/status", (long)process->pid, (long)thread->tid);
    int64_t switches = node_read(files->proc, path, text, sizeof text) > 0
                           ? node_number_after(text, "nonvoluntary_ctxt_switches:")
                           : -1;
    if (switches >= 0)
        node_count(writer, &thread->switches, KIND_THREAD, thread->device, SERIES_SWITCHES,
                   (uint64_t)switches);
}

void node_tasks_sample_slow(struct node_tasks *tasks, const struct node_files *files,
                            struct node_writer *writer, int64_t elapsed_ns)
{
    for (size_t i = 0; tasks->has_schedule && i < tasks->count; i++) {
        struct node_process *process = &tasks->processes[i];
        if (!process->is_ours)
            continue;
        sample_threads(process, files, writer, elapsed_ns, 1);
        list_threads(process, files, writer);
        if (process->freezer)
            find_freezer(process, files);
        for (size_t k = 0; k < process->thread_count; k++)
            if (process->threads[k].device[0])
                sample_switches(process, &process->threads[k], files, writer);
    }
}

/* -------------------- the processes on a GPU -------------------- */

int node_is_of_job(const struct node_files *files, pid_t pid, const struct node_root *roots,
                   size_t root_count, const char *mark)
{
    struct node_stat stat;
    pid_t at = pid;
    if (node_stat_read(files, pid, &stat))
        return -1;
    for (int depth = 0; depth < 64 && at > 0 && node_stat_read(files, at, &stat) == 0;
         depth++, at = stat.parent)
        for (size_t i = 0; i < root_count; i++)
            if (roots[i].pid == at)
                return 1;
    if (node_stat_read(files, pid, &stat))
        return -1;
    return started_later(&stat, roots, root_count) ? has_mark(files, pid, mark) : 0;
}
