/* Messages of the kernel: /dev/kmsg, from the start of the job on. */
#include "node/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a storm of messages the first of each minute are kept. */
enum { MESSAGES_PER_MINUTE = 200, MESSAGE_BYTES = 8192, TEXT_BYTES = 300 };

/* Levels up to this one are errors (syslog(3)). */
enum { LEVEL_ERROR = 3, LEVEL_MASK = 7 };

/* The daemon's messages have other facilities than the kernel's own, which is 0. */
enum { FACILITY_SHIFT = 3 };

int node_kernel_open(struct node_kernel *kernel, const struct node_files *files)
{
    *kernel = (struct node_kernel){.file = -1};
    kernel->file = openat(files->dev, "kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (kernel->file >= 0)
        lseek(kernel->file, 0, SEEK_END);
    return kernel->file >= 0 ? 0 : -1;
}

void node_kernel_close(struct node_kernel *kernel)
{
    if (kernel->file >= 0)
        close(kernel->file);
    kernel->file = -1;
}

int node_kernel_matters(const char *text, int level)
{
    static const char *const words[] = {"NVRM",
                                        "Xid",
                                        "nvidia",
                                        "nvlink",
                                        "NVSwitch",
                                        "AER",
                                        "PCIe",
                                        "pcieport",
                                        "mlx5",
                                        "mlx4",
                                        "infiniband",
                                        "bnxt",
                                        "irdma",
                                        "efa",
                                        "Link is",
                                        "Link down",
                                        "Link up",
                                        "link down",
                                        "link up",
                                        "link status",
                                        "NETDEV WATCHDOG",
                                        "Out of memory",
                                        "oom",
                                        "Killed process",
                                        "blocked for more than",
                                        "soft lockup",
                                        "hard LOCKUP",
                                        "rcu",
                                        "Hardware Error",
                                        "mce:",
                                        "EDAC",
                                        "throttled",
                                        "temperature",
                                        "nvme",
                                        "I/O error",
                                        "No space left",
                                        "out-of-data-space",
                                        "EXT4-fs",
                                        "XFS",
                                        "nfs",
                                        "Lustre",
                                        "segfault",
                                        "amdgpu",
                                        NULL};
    if (level <= LEVEL_ERROR)
        return 1;
    for (const char *const *word = words; *word; word++)
        if (strstr(text, *word))
            return 1;
    return 0;
}

/* When the kernel printed it: its clock is that of CLOCK_MONOTONIC up to a drift, unless it says nonsense. */
static int64_t moment_of(int64_t since_boot_us, int64_t interval_ns)
{
    int64_t now_ns = node_monotonic_ns(), at_ns = since_boot_us < INT64_MAX / 1000 ? since_boot_us * 1000 : 0;
    return at_ns <= now_ns && at_ns >= now_ns - interval_ns - 1000000000 ? at_ns : now_ns;
}

static void write_message(struct node_writer *writer, int level, int64_t since_boot_us, const char *text,
                          int64_t interval_ns)
{
    struct buffer json = BUFFER_INIT;
    char cut[TEXT_BYTES + 1];
    snprintf(cut, sizeof cut, "%s", text);
    int64_t at_ns = moment_of(since_boot_us, interval_ns);
    if (buffer_printf(&json, "{\"level\":%d,\"boot_us\":%lld,\"text\":", level, (long long)since_boot_us) ||
        text_json_quote(&json, cut) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, at_ns, "kernel", json.data);
    buffer_release(&json);
}

/* "6,1234,5678901,-;text\n KEY=value\n": level and facility, number, microseconds since boot. */
static void take_message(struct node_kernel *kernel, struct node_writer *writer, char *record,
                         int64_t interval_ns)
{
    char *text = strchr(record, ';'), *at = record;
    long priority = strtol(record, &at, 10);
    if (!text || *at != ',' || priority < 0 || priority >> FACILITY_SHIFT != 0)
        return;
    strtoll(at + 1, &at, 10);
    long long since_boot_us = *at == ',' ? strtoll(at + 1, NULL, 10) : -1;
    text++;
    text[strcspn(text, "\n")] = '\0';
    int64_t minute = node_monotonic_ns() / 60000000000;
    if (minute != kernel->minute) {
        kernel->minute = minute;
        kernel->said = 0;
    }
    if (since_boot_us < 0 || !node_kernel_matters(text, (int)(priority & LEVEL_MASK)))
        return;
    if (kernel->said++ < MESSAGES_PER_MINUTE)
        write_message(writer, (int)(priority & LEVEL_MASK), since_boot_us, text, interval_ns);
    else
        kernel->skipped++;
}

static void tell_skipped(struct node_kernel *kernel, struct node_writer *writer)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)kernel->skipped);
    node_line_alone(writer, node_monotonic_ns(), "kernel_skipped", number);
    kernel->skipped = 0;
}

void node_kernel_sample(struct node_kernel *kernel, struct node_writer *writer, int64_t interval_ns)
{
    char record[MESSAGE_BYTES + 1];
    ssize_t length;
    /* EPIPE: messages were overwritten before they were read; the next read continues after them. */
    for (int reads = 0; kernel->file >= 0 && reads < 10 * MESSAGES_PER_MINUTE; reads++) {
        length = read(kernel->file, record, MESSAGE_BYTES);
        if (length < 0 && errno == EPIPE)
            continue;
        if (length <= 0)
            break;
        record[length] = '\0';
        take_message(kernel, writer, record, interval_ns);
    }
    if (kernel->skipped && kernel->said <= MESSAGES_PER_MINUTE)
        tell_skipped(kernel, writer);
}
