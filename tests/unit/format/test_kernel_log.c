#include "support/cmocka_all.h"
#include "support/node_told.h"

#include "format/telemetry.h"
#include "model/model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Messages in the layouts of drivers and kernels. */
static const struct said {
    const char *message;
    enum node_event_code code;
    enum node_place place;
    const char *device;
    int64_t number;
    int64_t pid;
    const char *process;
} said[] = {
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python3, GPU has fallen off the bus.", NODE_EVENT_XID,
     NODE_GPU, "00000000:3b:00.0", 79, 4711, "python3"},
    {"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", NODE_EVENT_XID, NODE_GPU,
     "00000000:3b:00.0", 79, -1, ""},
    {"NVRM: Xid (PCI:0000:3b:00): 48, pid='<unknown>', name=<unknown>, DBE", NODE_EVENT_XID, NODE_GPU,
     "00000000:3b:00.0", 48, -1, ""},
    {"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6)", NODE_EVENT_XID,
     NODE_GPU, "00000018:01:00.0", 149, -1, ""},
    {"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot "
     "Required)",
     NODE_EVENT_XID, NODE_GPU, "00000000:3b:00.0", 154, -1, ""},
    {"NVRM: Xid (0000:03:00): 31, Ch 0000000e, engmask 00000111", NODE_EVENT_XID, NODE_GPU,
     "00000000:03:00.0", 31, -1, ""},
    {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
     NODE_EVENT_SXID, NODE_WHOLE, "", 12028, -1, ""},
    {"NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.", NODE_EVENT_GPU_FELL_OFF_BUS, NODE_GPU,
     "00000000:b3:00.0", -1, -1, ""},
    {"nvidia 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
     NODE_EVENT_AER_CORRECTED, NODE_GPU, "00000000:3b:00.0", -1, -1, ""},
    {"pcieport 0000:3a:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer",
     NODE_EVENT_AER_UNCORRECTED, NODE_WHOLE, "", -1, -1, ""},
    {"mlx5_core 0000:ab:00.0 ens3f0np0: Link down", NODE_EVENT_LINK_DOWN, NODE_INTERFACE, "ens3f0np0", -1, -1,
     ""},
    {"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN", NODE_EVENT_LINK_DOWN, NODE_PORT, "mlx5_5/1", -1, -1,
     ""},
    {"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE", NODE_EVENT_LINK_UP, NODE_PORT, "mlx5_5/1", -1, -1,
     ""},
    {"ice 0000:51:00.0 eth2: NIC Link is Down", NODE_EVENT_LINK_DOWN, NODE_INTERFACE, "eth2", -1, -1, ""},
    {"ixgbe 0000:01:00.0 eno1: NIC Link is Up 10 Gbps, Flow Control: RX/TX", NODE_EVENT_LINK_UP,
     NODE_INTERFACE, "eno1", -1, -1, ""},
    {"bnx2x 0000:01:00.0 em1: NIC Link is Down", NODE_EVENT_LINK_DOWN, NODE_INTERFACE, "em1", -1, -1, ""},
    {"bond0: (slave eth1): link status definitely down, disabling slave", NODE_EVENT_LINK_DOWN,
     NODE_INTERFACE, "eth1", -1, -1, ""},
    {"tg3 0000:02:00.0 eno2: Link is down", NODE_EVENT_LINK_DOWN, NODE_INTERFACE, "eno2", -1, -1, ""},
    {"bonding: bond0: link status definitely up for interface eth1, 10000 Mbps full duplex",
     NODE_EVENT_LINK_UP, NODE_INTERFACE, "eth1", -1, -1, ""},
    {"NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out 5020 ms", NODE_EVENT_NETWORK_TIMEOUT,
     NODE_INTERFACE, "eth0", -1, -1, ""},
    {"Out of memory: Killed process 4711 (pt_main_thread) total-vm:8kB", NODE_EVENT_OOM_KILL, NODE_PROCESS,
     "4711", -1, 4711, "pt_main_thread"},
    {"Memory cgroup out of memory: Killed process 4712 (python) total-vm:8kB", NODE_EVENT_OOM_KILL,
     NODE_PROCESS, "4712", -1, 4712, "python"},
    {"INFO: task python:4713 blocked for more than 120 seconds.", NODE_EVENT_HUNG_TASK, NODE_PROCESS, "4713",
     -1, 4713, "python"},
    {"watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [kworker/3:1:512]", NODE_EVENT_SOFT_LOCKUP,
     NODE_WHOLE, "", -1, 512, "kworker/3:1"},
    {"mce: [Hardware Error]: CPU 4: Machine check events logged", NODE_EVENT_MACHINE_CHECK, NODE_WHOLE, "",
     -1, -1, ""},
    {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0", NODE_EVENT_MEMORY_ERROR, NODE_WHOLE, "", -1, -1, ""},
    {"CPU5: Core temperature above threshold, cpu clock throttled (total events = 7)", NODE_EVENT_THERMAL,
     NODE_WHOLE, "", -1, -1, ""},
    {"nvme nvme0: I/O 12 QID 3 timeout, aborting", NODE_EVENT_DISK_ERROR, NODE_DISK, "nvme0", -1, -1, ""},
    {"EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", NODE_EVENT_DISK_ERROR, NODE_DISK, "sda1",
     -1, -1, ""},
    {"systemd-journald[412]: Failed to write entry (9 items, 312 bytes), ignoring: No space left on device",
     NODE_EVENT_DISK_FULL, NODE_WHOLE, "", -1, -1, ""},
    {"device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode", NODE_EVENT_DISK_FULL,
     NODE_WHOLE, "", -1, -1, ""},
    {"nfs: server store1 not responding, still trying", NODE_EVENT_FILE_SERVER, NODE_WHOLE, "", -1, -1, ""},
};

static struct text text(const char *words)
{
    return (struct text){words, strlen(words)};
}

static void messages(void **state)
{
    struct kernel_message message;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        assert_int_equal(kernel_message_read(text(said[i].message), &message), 1);
        assert_int_equal(message.code, said[i].code);
        assert_int_equal(message.place, said[i].place);
        assert_string_equal(message.device, said[i].device);
        assert_int_equal(message.number, said[i].number);
        assert_int_equal(message.pid, said[i].pid);
        assert_string_equal(message.process, said[i].process);
        for (size_t length = 0; length < strlen(said[i].message); length++)
            (void)kernel_message_read((struct text){said[i].message, length}, &message);
    }
    static const char *const others[] = {"Linux version 6.8.0",
                                         "eth0: renamed from veth1",
                                         "NVRM: loading NVIDIA UNIX Open Kernel Module",
                                         "NVRM: Xid (PCI:0000:3b:00): x",
                                         "oom_reaper: reaped process 4711",
                                         "EXT4-fs (sda1): mounted filesystem",
                                         ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(kernel_message_read(text(others[i]), &message), 0);
}

/* The driver says which GPU an address is, before its first Xid. */
static void a_uuid(void **state)
{
    struct kernel_message message;
    assert_int_equal(kernel_message_read(text("NVRM: GPU at PCI:0000:3b:00: GPU-5a1c2d3e-0f10"), &message),
                     1);
    assert_string_equal(message.device, "00000000:3b:00.0");
    assert_string_equal(message.uuid, "GPU-5a1c2d3e-0f10");
}

#define XID "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=a, GPU has fallen off the bus."

static void check_line(const char *line, int64_t at_ns, int64_t since_boot_ns, const char *host)
{
    struct recording recording;
    char content[512];
    snprintf(content, sizeof content, "%s\n", line);
    told_by(&recording, "dmesg.node1.txt", content);
    assert_string_equal(recording.dialect, "kernel-log");
    const struct node_event *event = told_event(&recording, 0);
    assert_int_equal(event->at_ns, at_ns);
    assert_int_equal(event->since_boot_ns, since_boot_ns);
    assert_string_equal(event->host, host);
    assert_int_equal(event->number, 79);
    assert_string_equal(event->text, XID);
    recording_release(&recording);
}

/* One message as each program writes it. */
static void layouts(void **state)
{
    const int64_t since_ns = INT64_C(1843308149) * 1000;
    check_line("[ 1843.308149] " XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("<4>[ 1843.308149] " XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("kern  :warn  : [ 1843.308149] " XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("[ 1843.308149][ T4720] " XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("[ 1843.308149] [   C12] " XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("4,1201,1843308149,-;" XID, TIME_UNKNOWN, since_ns, "node1");
    check_line("[Thu Nov 26 10:11:12 2026] " XID, MOMENT, TIME_UNKNOWN, "node1");
    check_line("2026-11-26T10:11:12,000000+00:00 " XID, MOMENT, TIME_UNKNOWN, "node1");
    check_line("2026-11-26T10:11:12+0000 node2 kernel: " XID, MOMENT, TIME_UNKNOWN, "node2");
    check_line("2026-11-26T10:11:12.000000+00:00 node2.example kernel: [ 1843.308149] " XID, MOMENT, since_ns,
               "node2.example");
    check_line("Thu 2026-11-26 10:11:12 UTC node2 kernel: " XID, MOMENT, TIME_UNKNOWN, "node2");
    check_line("1795687872.000000 node2 kernel: " XID, MOMENT, TIME_UNKNOWN, "node2");
}

/* syslog has no year: the file's last change gives it. */
static void no_year(void **state)
{
    char directory[] = "/tmp/ncclprof-unit-XXXXXX", path[256];
    const struct timespec times[2] = {{MOMENT / SECOND + 60, 0}, {MOMENT / SECOND + 60, 0}};
    struct recording recording;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/syslog", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(
        fputs("Nov 26 10:11:12 node2 kernel: " XID "\nNov 26 10:11:13 node2 sshd[77]: hello\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    recording_of_file(&recording, path);
    assert_int_equal(told_event(&recording, 0)->at_ns, MOMENT);
    assert_int_equal(told_event(&recording, 0)->error_ns, SECOND);
    assert_int_equal(recording_notes(&recording, LOG_NOTE_LOCAL), 1);
    assert_int_equal(recording_notes(&recording, LOG_NOTE_YEAR), 1);
    assert_int_equal(recording_notes(&recording, "message of another program"), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
    recording_release(&recording);
}

/* Drivers print some messages in several lines; only the first has a time. */
static void several_lines(void **state)
{
    struct recording recording;
    told_by(&recording, "dmesg.node1.txt",
            "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) "
            "installed in "
            "this system has\n               NVRM: fallen off the bus and is not responding to commands.\n");
    assert_int_equal(recording.event_count, 1);
    assert_int_equal(told_event(&recording, 0)->code, NODE_EVENT_GPU_FELL_OFF_BUS);
    assert_string_equal(told_event(&recording, 0)->device, "00000000:b3:00.0");
    assert_int_equal(told_event(&recording, 0)->since_boot_ns, INT64_C(1843308145) * 1000);
    recording_release(&recording);
}

#define ENTRY                                                                                            \
    "{\"_HOSTNAME\":\"node20\",\"__REALTIME_TIMESTAMP\":\"1795687872400000\",\"__MONOTONIC_TIMESTAMP\":" \
    "\"7012400000\",\"_BOOT_ID\":\"0f1e\",\"_TRANSPORT\":\"kernel\",\"_SOURCE_MONOTONIC_TIMESTAMP\":"    \
    "\"7012000000\",\"MESSAGE\":\"" XID "\"}\n"

/* The message came 0.4 s before its entry, on the kernel's clock. */
static void entries(void **state)
{
    struct recording recording;
    told_by(&recording, "j.json", ENTRY ENTRY "{\"MESSAGE\":[1,2],\"__REALTIME_TIMESTAMP\":\"1\"}\n");
    assert_string_equal(recording.dialect, "kernel-log");
    assert_int_equal(recording_count(&recording, EVENT_NODE_EVENT), 2);
    assert_int_equal(told_event(&recording, 0)->at_ns, MOMENT);
    assert_int_equal(told_event(&recording, 0)->since_boot_ns, 7012 * SECOND);
    assert_string_equal(told_event(&recording, 0)->host, "node20");
    assert_int_equal(recording_count(&recording, EVENT_NODE_FACT), 1);
    const struct node_fact *fact = &recording_event(&recording, EVENT_NODE_FACT, 0)->node_fact;
    assert_string_equal(fact->boot_id, "0f1e");
    assert_int_equal(fact->realtime_ns - fact->monotonic_ns, MOMENT - 7012 * SECOND);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

static void check_other(const char *content)
{
    struct recording recording;
    recording_of_bytes(&recording, "a.log", content, strlen(content));
    assert_string_not_equal(recording.dialect, "kernel-log");
    recording_release(&recording);
}

/* Logs of jobs may have lines of the kernel in them. */
static void other_logs(void **state)
{
    check_other("step 1 loss 2.0\nstep 2 loss 1.9\n[ 1843.308149] " XID "\nstep 3 loss 1.8\n");
    check_other("[    12.345] (II) Loading extension GLX\n[    12.346] (II) LoadModule\n");
    check_other("Nov 26 10:11:12 node2 python[77]: " XID "\nNov 26 10:11:13 node2 python[77]: step 3\n");
    check_other(XID "\n");
    check_other(
        "node1:77:77 [0] NCCL INFO comm 0x55d0 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 3b000 commId "
        "0x1 - Init COMPLETE\n[ 1.2] " XID "\n[ 1.2] " XID "\n");
}

static void damaged(void **state)
{
    damage_told("dmesg.node1.txt", "[ 1843.308149] " XID "\n4,1201,1843308149,-;" XID "\n" ENTRY
                                   "2026-11-26T10:11:12+0000 node2 kernel: " XID "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages),      cmocka_unit_test(a_uuid),  cmocka_unit_test(layouts),
        cmocka_unit_test(no_year),       cmocka_unit_test(entries), cmocka_unit_test(other_logs),
        cmocka_unit_test(several_lines), cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
