/* The node as a whole: processors, pressure, memory, disks. */
#include "node/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* /proc/stat has a line for each processor and one with a number for each interrupt; both can be long. */
enum { STAT_BYTES = 256 * 1024 };

/* The fields of the line "cpu" of /proc/stat: user nice system idle iowait irq softirq steal. */
enum { CPU_IDLE = 3, CPU_WAITS = 4, CPU_STOLEN = 7 };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : part >= whole ? 1 : (double)part / (double)whole;
}

static void sample_cpu(struct node_host *host, const char *text, struct node_writer *writer)
{
    uint64_t now[NODE_BUSY_FIELDS] = {0}, grown[NODE_BUSY_FIELDS], sum = 0;
    if (strncmp(text, "cpu ", 4) != 0 || node_numbers(text + 4, now, NODE_BUSY_FIELDS) < NODE_BUSY_FIELDS)
        return;
    for (int i = 0; i < NODE_BUSY_FIELDS; i++) {
        /* The kernel's idle time can go back by a tick. */
        grown[i] = now[i] > host->cpu[i] ? now[i] - host->cpu[i] : 0;
        sum += grown[i];
        host->cpu[i] = now[i];
    }
    if (host->has_cpu && sum > 0) {
        uint64_t idle = grown[CPU_IDLE] + grown[CPU_WAITS];
        node_put(writer, &host->busy, KIND_NODE, NULL, SERIES_CPU_BUSY, share_of(sum - idle, sum));
        node_put(writer, &host->stolen, KIND_NODE, NULL, SERIES_CPU_STOLEN, share_of(grown[CPU_STOLEN], sum));
    }
    host->has_cpu = 1;
    int64_t runnable = node_number_after(text, "procs_running ");
    if (runnable >= 0)
        node_put(writer, &host->runnable, KIND_NODE, NULL, SERIES_RUNNABLE, (double)runnable);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=9246702546": microseconds in which some task waited. */
static void sample_pressure(struct node_host *host, const struct node_files *files,
                            struct node_writer *writer, int64_t elapsed_ns)
{
    static const struct {
        const char *path;
        enum node_metric_id metric;
    } kinds[] = {{"pressure/cpu", SERIES_CPU_PRESSURE},
                 {"pressure/io", SERIES_IO_PRESSURE},
                 {"pressure/memory", SERIES_MEMORY_PRESSURE}};
    for (size_t i = 0; i < 3; i++) {
        char text[256];
        const char *total =
            node_read(files->proc, kinds[i].path, text, sizeof text) > 0 ? strstr(text, "total=") : NULL;
        if (!total)
            continue;
        uint64_t now = strtoull(total + strlen("total="), NULL, 10);
        if (host->has_pressure[i] && now >= host->pressure_us[i] && elapsed_ns > 0)
            node_put(writer, &host->pressure[i], KIND_NODE, NULL, kinds[i].metric,
                     share_of((now - host->pressure_us[i]) * 1000, (uint64_t)elapsed_ns));
        host->pressure_us[i] = now;
        host->has_pressure[i] = 1;
    }
}

void node_host_sample(struct node_host *host, const struct node_files *files, struct node_writer *writer,
                      int64_t elapsed_ns)
{
    char *text = malloc(STAT_BYTES);
    if (text && node_read(files->proc, "stat", text, STAT_BYTES) > 0)
        sample_cpu(host, text, writer);
    free(text);
    sample_pressure(host, files, writer, elapsed_ns);
}

static void sample_memory(struct node_host *host, const struct node_files *files, struct node_writer *writer)
{
    char text[8192];
    if (node_read(files->proc, "meminfo", text, sizeof text) > 0) {
        int64_t kilobytes = node_number_after(text, "MemAvailable:");
        if (kilobytes >= 0)
            node_put(writer, &host->memory, KIND_NODE, NULL, SERIES_MEMORY_AVAILABLE,
                     (double)kilobytes * 1024);
    }
    /* Readable where the kernel's messages are not. Without it the number stays -1. */
    int64_t killed =
        node_read(files->proc, "vmstat", text, sizeof text) > 0 ? node_number_after(text, "oom_kill ") : -1;
    if (killed > host->out_of_memory && host->out_of_memory > 0) {
        char number[32];
        int64_t more = killed - host->out_of_memory + 1;
        snprintf(number, sizeof number, "%lld", (long long)more);
        node_line_add(writer, "oom_kills", number);
    }
    host->out_of_memory = killed < 0 ? 0 : killed + 1;
}

/* The line after the one with the names: "Tcp: RtoAlgorithm ... RetransSegs ..." and "Tcp: 1 ... 77 ...". */
static int64_t tcp_retransmits(const char *text)
{
    const char *names = strstr(text, "Tcp: "), *line = names ? strstr(names + 1, "\nTcp: ") : NULL;
    const char *wanted = names ? strstr(names, " RetransSegs") : NULL;
    if (!line || !wanted || wanted > line)
        return -1;
    int fields = 0;
    for (const char *at = names; at <= wanted; at++)
        fields += *at == ' ';
    const char *value = line + 1;
    for (; fields > 0 && value; fields--) {
        value = strchr(value, ' ');
        value += value != NULL;
    }
    return value ? strtoll(value, NULL, 10) : -1;
}

/* The disk of that name; NULL if it is a partition or too many are known. */
static struct node_disk *find_disk(struct node_host *host, const struct node_files *files, const char *name)
{
    char path[64];
    for (size_t i = 0; i < host->disk_count; i++)
        if (strcmp(host->disks[i].name, name) == 0)
            return &host->disks[i];
    snprintf(path, sizeof path, "block/%s/device", name);
    if (host->disk_count == NODE_DISKS || faccessat(files->sys, path, F_OK, 0) != 0)
        return NULL;
    struct node_disk *disk = &host->disks[host->disk_count++];
    snprintf(disk->name, sizeof disk->name, "%s", name);
    return disk;
}

/* The tenth number of a disk in /proc/diskstats: milliseconds in which it had work. */
static void sample_disks(struct node_host *host, const struct node_files *files, struct node_writer *writer,
                         int64_t elapsed_ns)
{
    char text[32 * 1024], name[32];
    if (node_read(files->proc, "diskstats", text, sizeof text) <= 0)
        return;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        /* Two numbers, the name, and eleven or more numbers. */
        uint64_t numbers[2], more[10];
        const char *word = line;
        for (int i = 0; i < 2; i++)
            word += strspn(word, " "), word += strspn(word, "0123456789");
        word += strspn(word, " ");
        size_t length = strcspn(word, " \n");
        if (node_numbers(line, numbers, 2) != 2 || length >= sizeof name ||
            node_numbers(word + length, more, 10) != 10)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, word);
        uint64_t busy_ms = more[9];
        struct node_disk *disk = busy_ms > 0 && files->sys >= 0 ? find_disk(host, files, name) : NULL;
        if (!disk)
            continue;
        if (disk->is_known && busy_ms >= disk->busy_ms && elapsed_ns > 0)
            node_put(writer, &disk->id, KIND_DISK, disk->name, SERIES_DISK_BUSY,
                     share_of((busy_ms - disk->busy_ms) * 1000000, (uint64_t)elapsed_ns));
        disk->busy_ms = busy_ms;
        disk->is_known = 1;
    }
}

void node_host_sample_slow(struct node_host *host, const struct node_files *files, struct node_writer *writer,
                           int64_t elapsed_ns, pid_t job)
{
    char text[8192];
    sample_memory(host, files, writer);
    node_quota_sample(&host->quota, files, writer, job);
    sample_disks(host, files, writer, elapsed_ns);
    int64_t retransmits =
        node_read(files->proc, "net/snmp", text, sizeof text) > 0 ? tcp_retransmits(text) : -1;
    if (retransmits >= 0)
        node_count(writer, &host->retransmits, KIND_NODE, NULL, SERIES_TCP_RETRANSMITS,
                   (uint64_t)retransmits);
}
