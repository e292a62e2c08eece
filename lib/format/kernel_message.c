/*
 * Messages of the Linux kernel and of drivers of GPUs and networks that can be the cause of a slow or stuck
 * job, or say that hardware fails. Each kind is a row: words that the message has, and where it names its
 * device and process.
 */
#include "base/base.h"
#include "format/internal.h"
#include "format/telemetry.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* Where a message names what it is about. */
enum device_at {
    DEVICE_NONE,
    DEVICE_XID,       /* "Xid (PCI:0000:3b:00)" */
    DEVICE_BUS,       /* any PCI address */
    DEVICE_INTERFACE, /* the word before ": ", "(...)" or " NIC Link"; "(eth0)" */
    DEVICE_DISK,      /* "device nvme0n1", "nvme nvme0:", "EXT4-fs (sda1)" */
};

enum process_at {
    PROCESS_NONE,
    PROCESS_XID,    /* "pid=77, name=python" */
    PROCESS_KILLED, /* "Killed process 77 (python)" */
    PROCESS_TASK,   /* "task python:77 blocked", "[python:77]" */
};

static const struct kind {
    const char *words;
    const char *also; /* NULL */
    enum node_event_code code;
    enum node_place place;
    enum device_at device;
    enum process_at process;
} kinds[] = {
    {"SXid (PCI:", NULL, NODE_EVENT_SXID, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"NVRM: Xid (", NULL, NODE_EVENT_XID, NODE_GPU, DEVICE_XID, PROCESS_XID},
    {"NVRM:", "has fallen off the bus", NODE_EVENT_GPU_FELL_OFF_BUS, NODE_GPU, DEVICE_BUS, PROCESS_NONE},
    {"NVRM:", "fallen off the bus and is not responding", NODE_EVENT_GPU_FELL_OFF_BUS, NODE_GPU, DEVICE_BUS,
     PROCESS_NONE},
    {"nvidia-nvlink", "rror", NODE_EVENT_NVLINK_ERROR, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"nvidia-nvswitch", "rror", NODE_EVENT_NVLINK_ERROR, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"PCIe Bus Error", "severity=Correct", NODE_EVENT_AER_CORRECTED, NODE_GPU, DEVICE_BUS, PROCESS_NONE},
    {"PCIe Bus Error", "severity=Uncorrect", NODE_EVENT_AER_UNCORRECTED, NODE_GPU, DEVICE_BUS, PROCESS_NONE},
    {"mlx5_core", "Link down", NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"mlx5_core", "Link up", NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {" Port: ", "Link DOWN", NODE_EVENT_LINK_DOWN, NODE_PORT, DEVICE_INTERFACE, PROCESS_NONE},
    {" Port: ", "Link ACTIVE", NODE_EVENT_LINK_UP, NODE_PORT, DEVICE_INTERFACE, PROCESS_NONE},
    {"NIC Link is Down", NULL, NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"NIC Link is down", NULL, NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"NIC Link is Up", NULL, NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"NIC Link is up", NULL, NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {": Link is down", NULL, NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {": Link is Down", NULL, NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {": Link is up", NULL, NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {": Link is Up", NULL, NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"link status definitely down", NULL, NODE_EVENT_LINK_DOWN, NODE_INTERFACE, DEVICE_INTERFACE,
     PROCESS_NONE},
    {"link status definitely up", NULL, NODE_EVENT_LINK_UP, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"NETDEV WATCHDOG", "timed out", NODE_EVENT_NETWORK_TIMEOUT, NODE_INTERFACE, DEVICE_INTERFACE,
     PROCESS_NONE},
    {"TX timeout detected", NULL, NODE_EVENT_NETWORK_TIMEOUT, NODE_INTERFACE, DEVICE_INTERFACE, PROCESS_NONE},
    {"illed process ", NULL, NODE_EVENT_OOM_KILL, NODE_PROCESS, DEVICE_NONE, PROCESS_KILLED},
    {" blocked for more than ", " seconds", NODE_EVENT_HUNG_TASK, NODE_PROCESS, DEVICE_NONE, PROCESS_TASK},
    {"soft lockup", NULL, NODE_EVENT_SOFT_LOCKUP, NODE_WHOLE, DEVICE_NONE, PROCESS_TASK},
    {"self-detected stall on CPU", NULL, NODE_EVENT_SOFT_LOCKUP, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"[Hardware Error]", "Machine check", NODE_EVENT_MACHINE_CHECK, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"mce: [Hardware Error]", NULL, NODE_EVENT_MACHINE_CHECK, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"EDAC ", " CE ", NODE_EVENT_MEMORY_ERROR, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"EDAC ", " UE ", NODE_EVENT_MEMORY_ERROR, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"Memory failure:", NULL, NODE_EVENT_MEMORY_ERROR, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"cpu clock throttled", NULL, NODE_EVENT_THERMAL, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"nvme ", "timeout, ", NODE_EVENT_DISK_ERROR, NODE_DISK, DEVICE_DISK, PROCESS_NONE},
    {"I/O error, dev ", NULL, NODE_EVENT_DISK_ERROR, NODE_DISK, DEVICE_DISK, PROCESS_NONE},
    {"EXT4-fs error", NULL, NODE_EVENT_DISK_ERROR, NODE_DISK, DEVICE_DISK, PROCESS_NONE},
    {"XFS (", "rror", NODE_EVENT_DISK_ERROR, NODE_DISK, DEVICE_DISK, PROCESS_NONE},
    {"No space left on device", NULL, NODE_EVENT_DISK_FULL, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"device-mapper: thin", "out-of-data-space", NODE_EVENT_DISK_FULL, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"nfs: server ", "not responding", NODE_EVENT_FILE_SERVER, NODE_WHOLE, DEVICE_NONE, PROCESS_NONE},
    {"Lustre: ", "was lost; in progress operations", NODE_EVENT_FILE_SERVER, NODE_WHOLE, DEVICE_NONE,
     PROCESS_NONE},
};

static int is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) || byte == '_' ||
           byte == '-' || byte == '.' || byte == '@';
}

static void copy_word(struct text text, char copy[64])
{
    struct text word = {text.data, 0};
    while (word.length < text.length && is_word_byte(text.data[word.length]))
        word.length++;
    if (word.length && word.length < 64)
        text_copy(word, copy, 64);
}

/* The last word before a place in the text, where the name of an interface ends. */
static void copy_word_before(struct text text, char copy[64])
{
    while (text.length && !is_word_byte(text.data[text.length - 1]))
        text.length--;
    size_t begin = text.length;
    while (begin && is_word_byte(text.data[begin - 1]))
        begin--;
    copy_word(text_skip(text, begin), copy);
}

static struct text text_before(struct text text, const char *mark)
{
    struct text behind = text_after(text, mark);
    return behind.data ? (struct text){text.data, (size_t)(behind.data - text.data) - strlen(mark)}
                       : (struct text){NULL, 0};
}

void kernel_message_bus_id(struct text text, char device[64])
{
    char bus[BUS_ID_BYTES];
    for (size_t at = 0; at < text.length; at++) {
        if (at && (is_word_byte(text.data[at - 1]) || text.data[at - 1] == ':'))
            if (!(at >= 4 && memcmp(text.data + at - 4, "PCI:", 4) == 0))
                continue;
        if (telemetry_bus_id(text_skip(text, at), bus)) {
            snprintf(device, 64, "%s", bus);
            return;
        }
    }
}

static const char *const link_marks[] = {
    ": Link ", ": NIC Link is ", " NIC Link is ", ": link status definitely ", ": TX timeout detected", NULL};

/* "mlx5_core 0000:3b:00.0 eth0: Link down", "bond0: (slave eth0): link status ...", "(eth0 (mlx5_core)):" */
static void find_interface(struct text message, char device[64])
{
    struct text slave = text_after(message, "(slave "), netdev = text_after(message, "NETDEV WATCHDOG: ");
    struct text old = text_after(message, "for interface ");
    if (slave.data || netdev.data || old.data) {
        copy_word(slave.data ? slave : netdev.data ? netdev : old, device);
        return;
    }
    for (const char *const *mark = link_marks; *mark; mark++) {
        struct text before = text_before(message, *mark);
        if (before.data) {
            copy_word_before(before, device);
            return;
        }
    }
}

/* "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE" */
static void find_port(struct text message, char device[64])
{
    struct text before = text_before(message, ": Port: "), behind = text_after(message, ": Port: ");
    char name[64] = "";
    int64_t port = behind.data ? text_leading_number(behind) : COUNT_UNKNOWN;
    if (before.data)
        copy_word_before(before, name);
    if (name[0] && port != COUNT_UNKNOWN && strlen(name) < 40)
        snprintf(device, 64, "%.40s/%lld", name, (long long)port);
}

static void find_disk(struct text message, char device[64])
{
    static const char *const marks[] = {"(device ", "dev ", "XFS (", "nvme ", NULL};
    for (const char *const *mark = marks; *mark && !device[0]; mark++) {
        struct text behind = text_after(message, *mark);
        if (behind.data)
            copy_word(behind, device);
    }
}

/* "pid=77, name=python"; older drivers print "pid='<unknown>', name=<unknown>" where they do not know it. */
static void find_process_of_xid(struct text behind, struct kernel_message *said)
{
    struct text pid = text_after(behind, "pid="), name = text_after(behind, "name=");
    said->pid = pid.data ? text_leading_number(pid) : COUNT_UNKNOWN;
    if (name.data && said->pid != COUNT_UNKNOWN) {
        struct text word = text_part(&name, ',');
        if (word.length && word.data[0] != '<')
            text_copy(word, said->process, sizeof said->process);
    }
}

/* Between "(" and ")" after "Killed process 77 ". */
static void find_killed(struct text message, struct kernel_message *said)
{
    struct text behind = text_after(message, "illed process ");
    said->pid = text_leading_number(behind);
    struct text name = text_after(behind, "(");
    if (name.data) {
        name = text_part(&name, ')');
        text_copy(name, said->process, sizeof said->process);
    }
}

/* "task python:77 blocked", "[python:77]" */
static void find_task(struct text message, struct kernel_message *said)
{
    struct text task = text_before(message, " blocked for ");
    struct text behind = text_after(task.data ? task : message, task.data ? "task " : "[");
    if (!task.data)
        for (struct text more = behind; more.data; more = text_after(more, "["))
            behind = more;
    for (size_t at = behind.data ? behind.length : 0; at-- > 0;)
        if (behind.data[at] == ':') {
            said->pid = text_leading_number(text_skip(behind, at + 1));
            text_copy((struct text){behind.data, at}, said->process, sizeof said->process);
            return;
        }
}

/* "NVRM: Xid (PCI:0000:3b:00): 79, pid=77, name=python, GPU has fallen off the bus." Very old: "(0000:3b:00)"
 */
static int read_xid(struct text message, struct kernel_message *said)
{
    struct text behind = text_after(message, "Xid (");
    struct text place = text_part(&behind, ')');
    said->number = text_leading_number(text_after(behind, ": "));
    if (said->place == NODE_GPU)
        kernel_message_bus_id(place, said->device);
    find_process_of_xid(behind, said);
    return said->number != COUNT_UNKNOWN;
}

static void read_device(enum device_at at, struct text message, struct kernel_message *said)
{
    /* AER names any device: of those without nvidia's driver it is not known whether they are GPUs. */
    if (at == DEVICE_BUS && !text_begins(message, "nvidia ") && !text_begins(message, "NVRM: "))
        said->place = NODE_WHOLE;
    else if (at == DEVICE_BUS)
        kernel_message_bus_id(message, said->device);
    else if (at == DEVICE_INTERFACE && said->place == NODE_PORT)
        find_port(message, said->device);
    else if (at == DEVICE_INTERFACE)
        find_interface(message, said->device);
    else if (at == DEVICE_DISK)
        find_disk(message, said->device);
}

static void read_process(enum process_at at, struct text message, struct kernel_message *said)
{
    if (at == PROCESS_KILLED)
        find_killed(message, said);
    else if (at == PROCESS_TASK)
        find_task(message, said);
    if (said->place == NODE_PROCESS && said->pid != COUNT_UNKNOWN)
        snprintf(said->device, sizeof said->device, "%lld", (long long)said->pid);
}

/* "NVRM: GPU at PCI:0000:3b:00: GPU-3f0c...", before an Xid. */
static int read_uuid(struct text message, struct kernel_message *said)
{
    struct text behind = text_after(message, "NVRM: GPU at PCI:");
    struct text uuid = text_after(behind, ": GPU-");
    if (!behind.data || !uuid.data)
        return 0;
    kernel_message_bus_id(text_after(message, "NVRM: GPU at "), said->device);
    char word[64] = "";
    copy_word(uuid, word);
    snprintf(said->uuid, sizeof said->uuid, "GPU-%.59s", word);
    return said->device[0] != '\0';
}

int kernel_message_read(struct text message, struct kernel_message *said)
{
    *said = (struct kernel_message){.number = COUNT_UNKNOWN, .pid = COUNT_UNKNOWN};
    if (read_uuid(message, said))
        return 1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        if (!text_contains(message, kind->words) || (kind->also && !text_contains(message, kind->also)))
            continue;
        said->code = kind->code;
        said->place = kind->place;
        if (kind->code == NODE_EVENT_XID || kind->code == NODE_EVENT_SXID)
            return read_xid(message, said);
        read_device(kind->device, message, said);
        read_process(kind->process, message, said);
        return 1;
    }
    return 0;
}
