/* The sampler: from the start of the job to its end, one line of the record for each sample. */
#include "node/internal.h"
#include "node/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Shares of a core, in millionths, that the sampler and its workers may use: 0.5 % together with the budgets
 * of the dear calls about GPUs (gpu.c).
 */
enum { MAIN_CPU_PPM = 1200, GPU_CPU_PPM = 1200, INFINIBAND_CPU_PPM = 400 };

/* Processes are searched for in each of the first rounds, then every so often. */
enum { SCAN_ALWAYS_ROUNDS = 30, SCAN_ROUNDS = 5 };

/* The clocks of the record are compared again when they have moved against each other by this much. */
static const int64_t CLOCK_STEP_NS = 1000000;

/* Where nothing says that the job has ended, or that another sampler came, they look so often. */
static const int64_t LOOK_NS = 1000000000;

/* Room for the last line after the limit of the size. */
enum { LAST_LINE_BYTES = 256, WORKERS = 2, NAMES_MOST = 100 };

struct record_file {
    int file; /* -1: not yet, or no longer */
    uint64_t bytes;
    uint64_t most_bytes;
    uint64_t free_bytes;
    int is_over;
};

struct sampler {
    const struct node_options *options;
    struct node_files files;
    struct node_root root;
    int root_file; /* of pidfd_open(); -1 */
    struct node_peers peers;
    struct record_file file;
    struct node_writer writer;
    struct node_pace pace;
    struct node_host host;
    struct node_tasks tasks;
    struct node_network network;
    struct node_kernel kernel;
    struct node_worker workers[WORKERS];
    int has_news; /* of the peers, since the last sample */
    int64_t round;
    int64_t before_ns, slow_before_ns;
    int64_t late_ns;   /* how much longer it has slept than it wanted to, since the last sample */
    int64_t offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, as the record has it */
};

/* -------------------- the job -------------------- */

static int is_alive(const struct sampler *sampler)
{
    struct node_stat stat;
    struct pollfd ended = {.fd = sampler->root_file, .events = POLLIN};
    if (sampler->root_file >= 0)
        return poll(&ended, 1, 0) == 0;
    return node_stat_read(&sampler->files, sampler->root.pid, &stat) == 0 &&
           stat.start == sampler->root.start;
}

static void tell_roots(struct sampler *sampler)
{
    struct node_root roots[NODE_ROOTS];
    size_t count = 0;
    roots[count++] = sampler->root;
    for (size_t i = 0; i < sampler->peers.count && count < NODE_ROOTS; i++)
        if (sampler->peers.peers[i].root.pid)
            roots[count++] = sampler->peers.peers[i].root;
    for (size_t i = 0; i < WORKERS; i++)
        node_worker_tell(&sampler->workers[i], roots, count);
    if (node_tasks_scan(&sampler->tasks, &sampler->files, &sampler->writer, roots, count))
        sampler->writer.has_failed = 1;
}

/* -------------------- the file -------------------- */

static int open_file(int directory)
{
    char name[NAME_MAX + 1], host[HOST_NAME_MAX + 1];
    int file = -1;
    if (gethostname(host, sizeof host) || !host[0])
        snprintf(host, sizeof host, "host");
    host[sizeof host - 1] = '\0';
    for (char *at = host; *at; at++)
        if (*at == '/' || (unsigned char)*at <= ' ')
            *at = '_';
    for (int number = 0; number < NAMES_MOST && file < 0; number++) {
        char more[16] = "";
        if (number)
            snprintf(more, sizeof more, "-%d", number);
        snprintf(name, sizeof name, "node-%s-%ld%s.jsonl", host, (long)getpid(), more);
        file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return -1;
    }
    return file;
}

/* One write for each line, so that a line is complete unless it is the last. */
static int write_line(void *context, const char *line, size_t length)
{
    static const char last[] = "{\"end\":\"limit\"}\n";
    struct record_file *file = context;
    if (file->is_over || file->file < 0)
        return -1;
    if (file->most_bytes && file->bytes + length + LAST_LINE_BYTES > file->most_bytes) {
        line = last;
        length = sizeof last - 1;
        file->is_over = 1;
    }
    ssize_t written = write(file->file, line, length);
    if (written != (ssize_t)length) {
        /* The disk is full: the incomplete line goes. */
        if (written > 0 && ftruncate(file->file, (off_t)file->bytes))
            errno = 0;
        file->is_over = 1;
        return -1;
    }
    file->bytes += length;
    return file->is_over ? -1 : 0;
}

static int has_room(struct sampler *sampler)
{
    static const uint64_t GIBIBYTE = (uint64_t)1 << 30;
    struct statvfs now;
    if (fstatvfs(sampler->file.file, &now) || now.f_blocks == 0)
        return 1;
    uint64_t kept = sampler->file.free_bytes, free_bytes = (uint64_t)now.f_bavail * now.f_frsize;
    if (kept == NODE_FREE_DEFAULT) {
        kept = (uint64_t)now.f_blocks * now.f_frsize / 20;
        kept = kept < GIBIBYTE ? kept : GIBIBYTE;
    }
    node_put(&sampler->writer, &sampler->host.free, KIND_NODE, NULL, SERIES_DISK_FREE, (double)free_bytes);
    return free_bytes >= kept;
}

/* -------------------- the first line -------------------- */

static void add_text(struct buffer *json, const char *name, int folder, const char *path)
{
    char text[256];
    if (node_read(folder, path, text, sizeof text) <= 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    text_json_string(json, name, text);
}

static void add_absent(struct buffer *absent, const char *name, const char *why)
{
    if (buffer_append_text(absent, absent->length ? "," : "") || text_json_quote(absent, name) ||
        buffer_append_byte(absent, ':') || text_json_quote(absent, why))
        buffer_clear(absent);
}

/* What cannot be read, so that a missing value is not taken for a good one. */
static void list_absent(struct sampler *sampler, struct buffer *absent)
{
    static const char *const paths[] = {"stat",      "pressure/cpu", "meminfo", "net/dev",
                                        "diskstats", "net/snmp",     NULL};
    char text[64];
    for (const char *const *path = paths; *path; path++)
        if (node_read(sampler->files.proc, *path, text, sizeof text) < 0)
            add_absent(absent, *path, strerror(errno));
    if (!sampler->tasks.has_schedule)
        add_absent(absent, "schedstat", "the kernel has no CONFIG_SCHED_INFO");
    if (node_kernel_open(&sampler->kernel, &sampler->files))
        add_absent(absent, "kmsg", strerror(errno));
    if (sampler->files.sys < 0)
        add_absent(absent, "sys", "not mounted");
}

static void write_head(struct sampler *sampler)
{
    struct buffer json = BUFFER_INIT, absent = BUFFER_INIT;
    struct node_writer *writer = &sampler->writer;
    char host[HOST_NAME_MAX + 1] = "", meminfo[1024];
    cpu_set_t allowed;
    gethostname(host, sizeof host - 1);
    list_absent(sampler, &absent);
    int wrong = buffer_append_text(&json, "{\"ncclprof_node\":1,\"version\":\"" NCCLPROF_VERSION "\"") ||
                text_json_string(&json, "host", host);
    add_text(&json, "boot_id", sampler->files.proc, "sys/kernel/random/boot_id");
    add_text(&json, "kernel", sampler->files.proc, "sys/kernel/osrelease");
    wrong |= text_json_integer(&json, "cores", sysconf(_SC_NPROCESSORS_ONLN)) ||
             (sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
              text_json_integer(&json, "allowed_cores", CPU_COUNT(&allowed)));
    if (node_read(sampler->files.proc, "meminfo", meminfo, sizeof meminfo) > 0)
        wrong |= text_json_integer(&json, "memory_bytes", node_number_after(meminfo, "MemTotal:") * 1024);
    wrong |= text_json_integer(&json, "interval_ms", sampler->options->interval_ms) ||
             text_json_integer(&json, "job_pid", sampler->root.pid) ||
             text_json_integer(&json, "monotonic_ns", writer->zero_ns) ||
             text_json_integer(&json, "realtime_ns", writer->realtime_ns) ||
             (absent.length && buffer_printf(&json, ",\"absent\":{%s}", absent.data)) ||
             buffer_append_text(&json, "}\n");
    if (wrong || write_line(&sampler->file, json.data, json.length))
        writer->has_failed = 1;
    buffer_release(&json);
    buffer_release(&absent);
}

/* -------------------- samples -------------------- */

/* The clocks drift, and the time of day may be set. */
static void compare_clocks(struct sampler *sampler)
{
    struct node_writer *writer = &sampler->writer;
    char number[32];
    int64_t before_ns = node_monotonic_ns(), realtime_ns = node_realtime_ns();
    int64_t now_ns = before_ns + (node_monotonic_ns() - before_ns) / 2, offset_ns = realtime_ns - now_ns;
    if (llabs(offset_ns - sampler->offset_ns) < CLOCK_STEP_NS)
        return;
    sampler->offset_ns = offset_ns;
    realtime_ns = offset_ns + writer->now_ns;
    snprintf(number, sizeof number, "%lld", (long long)realtime_ns);
    node_line_add(writer, "realtime_ns", number);
}

static void sample_slow(struct sampler *sampler, int64_t now_ns)
{
    struct node_writer *writer = &sampler->writer;
    int64_t elapsed_ns = now_ns - sampler->slow_before_ns;
    node_line_begin(writer, sampler->slow_before_ns, now_ns);
    node_host_sample_slow(&sampler->host, &sampler->files, writer, elapsed_ns, sampler->root.pid);
    node_tasks_sample_slow(&sampler->tasks, &sampler->files, writer, elapsed_ns);
    node_network_sample(&sampler->network, &sampler->files, writer);
    int is_full = !has_room(sampler);
    if (is_full)
        node_line_add(writer, "end", "\"disk\"");
    node_line_finish(writer, 0);
    sampler->file.is_over |= is_full;
    sampler->slow_before_ns = now_ns;
}

static void sample(struct sampler *sampler)
{
    struct node_writer *writer = &sampler->writer;
    int64_t now_ns = node_monotonic_ns(), elapsed_ns = now_ns - sampler->before_ns;
    node_line_begin(writer, sampler->before_ns, now_ns);
    if (sampler->has_news || sampler->round < SCAN_ALWAYS_ROUNDS || sampler->round % SCAN_ROUNDS == 0)
        tell_roots(sampler);
    sampler->has_news = 0;
    node_host_sample(&sampler->host, &sampler->files, writer, elapsed_ns);
    node_tasks_wake(&sampler->tasks, &sampler->files, sampler->late_ns);
    sampler->late_ns = 0;
    node_tasks_sample(&sampler->tasks, &sampler->files, writer, elapsed_ns);
    compare_clocks(sampler);
    if (node_pace_check(&sampler->pace, 0)) {
        char number[32];
        snprintf(number, sizeof number, "%lld", (long long)(node_pace_interval(&sampler->pace) / 1000000));
        node_line_add(writer, "interval_ms", number);
    }
    node_line_finish(writer, 1);
    if (sampler->round % NODE_SLOW_ROUNDS == 0)
        sample_slow(sampler, now_ns);
    node_kernel_sample(&sampler->kernel, writer, node_pace_interval(&sampler->pace));
    sampler->before_ns = now_ns;
    sampler->round++;
}

/* A command that ends within the first interval leaves no file. */
static int begin(struct sampler *sampler)
{
    static const struct node_work *const works[WORKERS] = {&node_work_gpu, &node_work_infiniband};
    static const int64_t most_ppm[WORKERS] = {GPU_CPU_PPM, INFINIBAND_CPU_PPM};
    struct node_pace pace = sampler->pace;
    sampler->file.file = open_file(sampler->peers.directory);
    if (sampler->file.file < 0)
        return -1;
    write_head(sampler);
    for (size_t i = 0; i < WORKERS; i++) {
        pace.most_cpu_share_ppm = sampler->options->is_fixed ? 0 : most_ppm[i];
        if (node_worker_start(&sampler->workers[i], works[i], &sampler->files, &sampler->writer, &pace))
            return -1;
    }
    return 0;
}

/*
 * Waits for the next sample, and takes the lines of workers meanwhile. Returns 0 when the job has ended.
 * Peers are heard here alone: one that came after the end was found would wait for this sampler, and this one
 * for it.
 */
static int wait_until(struct sampler *sampler, int64_t due_ns)
{
    struct pollfd files[WORKERS + 1];
    for (;;) {
        int is_root_alive = is_alive(sampler);
        sampler->has_news |= node_peers_hear(&sampler->peers);
        if (!is_root_alive && sampler->peers.count == 0)
            return 0;
        int64_t rest_ns = due_ns - node_monotonic_ns();
        if (rest_ns <= 0)
            return 1;
        files[0] = (struct pollfd){.fd = is_root_alive ? sampler->root_file : -1, .events = POLLIN};
        for (size_t i = 0; i < WORKERS; i++)
            files[i + 1] = (struct pollfd){.fd = sampler->workers[i].pid > 0 ? sampler->workers[i].pipe : -1,
                                           .events = POLLIN};
        int pause_ms = rest_ns < LOOK_NS ? (int)((rest_ns + 999999) / 1000000) : (int)(LOOK_NS / 1000000);
        int64_t asleep_ns = node_monotonic_ns();
        int is_ready = poll(files, WORKERS + 1, pause_ms);
        int64_t late_ns = node_monotonic_ns() - asleep_ns - (int64_t)pause_ms * 1000000;
        sampler->late_ns += late_ns > 0 ? late_ns : 0;
        if (is_ready < 0 && errno != EINTR)
            return 0;
        for (size_t i = 0; i < WORKERS; i++)
            if (node_worker_hear(&sampler->workers[i], &sampler->writer))
                return 0;
    }
}

static void sample_all(struct sampler *sampler)
{
    int64_t due_ns = sampler->before_ns;
    /* The first values of all counters; nothing is written yet. */
    sampler->writer.is_silent = 1;
    node_host_sample(&sampler->host, &sampler->files, &sampler->writer, 0);
    node_host_sample_slow(&sampler->host, &sampler->files, &sampler->writer, 0, sampler->root.pid);
    node_network_sample(&sampler->network, &sampler->files, &sampler->writer);
    sampler->writer.is_silent = 0;
    for (int is_first = 1, goes_on = 1; goes_on; is_first = 0) {
        due_ns += node_pace_interval(&sampler->pace);
        /* After a standstill the missed samples are not made up for. */
        if (due_ns < node_monotonic_ns())
            due_ns = node_monotonic_ns();
        goes_on = wait_until(sampler, due_ns);
        if (is_first && (!goes_on || begin(sampler)))
            return;
        /* Figures of the moment between the last sample and the end of the job would be noise. */
        if (goes_on || node_monotonic_ns() - sampler->before_ns > sampler->pace.interval_ns / 2)
            sample(sampler);
        for (size_t i = 0; i < WORKERS; i++)
            node_worker_check(&sampler->workers[i], &sampler->writer);
        goes_on &= !sampler->writer.has_failed && !sampler->file.is_over;
    }
    if (!sampler->writer.has_failed && !sampler->file.is_over) {
        node_line_alone(&sampler->writer, node_monotonic_ns(), "end", "\"job\"");
    }
}

/* If the record ended early, the process stays until the job ends: it could be a child of the job. */
static void wait_for_end(struct sampler *sampler)
{
    while (is_alive(sampler) || sampler->peers.count > 0) {
        struct pollfd ended = {.fd = is_alive(sampler) ? sampler->root_file : -1, .events = POLLIN};
        if (poll(&ended, 1, 1000) < 0 && errno != EINTR)
            return;
        node_peers_hear(&sampler->peers);
    }
}

/* Returns when the job has ended (0), or when the sampler that writes has gone (1). */
static int wait_for_turn(struct sampler *sampler)
{
    for (;;) {
        struct pollfd files[] = {{.fd = sampler->root_file, .events = POLLIN},
                                 {.fd = sampler->peers.leader, .events = POLLIN}};
        if (poll(files, 2, sampler->root_file >= 0 ? -1 : 1000) < 0 && errno != EINTR)
            return 0;
        if (!is_alive(sampler))
            return 0;
        if (files[1].revents)
            return 1;
    }
}

static void set_up(struct sampler *sampler, const struct node_options *options)
{
    sampler->file = (struct record_file){
        .file = -1, .most_bytes = options->most_bytes, .free_bytes = options->free_bytes};
    node_writer_init(&sampler->writer, "", write_line, &sampler->file);
    sampler->offset_ns = sampler->writer.realtime_ns - sampler->writer.zero_ns;
    sampler->before_ns = sampler->slow_before_ns = sampler->writer.zero_ns;
    sampler->kernel.file = -1;
    sampler->pace = (struct node_pace){.interval_ns = (int64_t)options->interval_ms * 1000000,
                                       .most_cpu_share_ppm = options->is_fixed ? 0 : MAIN_CPU_PPM,
                                       .stretch = 1};
    node_tasks_init(&sampler->tasks, &sampler->files);
}

static void tear_down(struct sampler *sampler)
{
    for (size_t i = 0; i < WORKERS; i++)
        node_worker_stop(&sampler->workers[i]);
    node_kernel_close(&sampler->kernel);
    node_tasks_release(&sampler->tasks);
    node_writer_release(&sampler->writer);
    if (sampler->file.file >= 0)
        close(sampler->file.file);
}

void node_sampler_run(const struct node_options *options, struct node_root root)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return;
    sampler->options = options;
    sampler->root = root;
    node_files_open(&sampler->files, "");
    sampler->root_file = (int)syscall(SYS_pidfd_open, root.pid, 0);
    while (is_alive(sampler)) {
        if (!node_peers_join(&sampler->peers, options->directory, root)) {
            int is_turn = wait_for_turn(sampler);
            node_peers_leave(&sampler->peers);
            if (is_turn)
                continue;
            break;
        }
        set_up(sampler, options);
        sample_all(sampler);
        tear_down(sampler);
        wait_for_end(sampler);
        node_peers_leave(&sampler->peers);
    }
    if (sampler->root_file >= 0)
        close(sampler->root_file);
    node_files_close(&sampler->files);
    free(sampler);
}
