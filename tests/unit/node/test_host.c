#include "support/cmocka_all.h"
#include "support/node_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

static void a_node(struct node_lines *lines, const char *cpu, const char *pressure)
{
    node_lines_file(lines, "proc/stat", cpu);
    node_lines_file(lines, "proc/pressure/cpu", pressure);
}

/* Of 200 ticks 20 idle, 30 waiting for disks, 40 stolen: 150 busy. Tasks waited 400 ms of a second. */
static void shares_of_a_second(void **state)
{
    struct node_lines lines;
    struct node_host host = {0};
    node_lines_begin(&lines);
    a_node(&lines, "cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1 2 3\nprocs_running 3\n",
           "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
           "total=7\n");
    lines.writer.is_silent = 1;
    node_host_sample(&host, &lines.files, &lines.writer, 0);
    lines.writer.is_silent = 0;
    a_node(&lines, "cpu  180 10 70 1020 40 0 0 45 0 0\ncpu0 1 2 3\nprocs_running 9\n",
           "some avg10=9.00 avg60=0.00 avg300=0.00 total=1400000\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
           "total=7\n");
    node_lines_next(&lines);
    node_host_sample(&host, &lines.files, &lines.writer, SECOND_NS);
    node_lines_finish(&lines);
    assert_true(node_lines_value(&lines, "[\"node\",\"cpu_busy_share\"]") == 0.75);
    assert_true(node_lines_value(&lines, "[\"node\",\"cpu_stolen_share\"]") == 0.2);
    assert_true(node_lines_value(&lines, "[\"node\",\"runnable_tasks\"]") == 9);
    assert_true(node_lines_value(&lines, "[\"node\",\"cpu_pressure_share\"]") == 0.4);
    assert_true(isnan(node_lines_value(&lines, "[\"node\",\"io_pressure_share\"]"))); /* no such file */
    node_lines_end(&lines);
}

static void memory_disks_and_retransmits(void **state)
{
    struct node_lines lines;
    struct node_host host = {0};
    node_lines_begin(&lines);
    for (int i = 0; i < 2; i++) {
        node_lines_file(&lines, "sys/block/sda/device/x", "");
        node_lines_file(&lines, "proc/meminfo", "MemTotal:       65536 kB\nMemAvailable:   1000000 kB\n");
        node_lines_file(&lines, "proc/vmstat",
                        i ? "nr_free_pages 1\noom_kill 6\n" : "nr_free_pages 1\noom_kill 4\n");
        node_lines_file(
            &lines, "proc/diskstats",
            i ? "   8       0 sda 1 2 3 4 5 6 7 8 0 3500 11\n   8       1 sda1 1 2 3 4 5 6 7 8 0 900 11\n"
              : "   8       0 sda 1 2 3 4 5 6 7 8 0 1000 11\n   8       1 sda1 1 2 3 4 5 6 7 8 0 100 11\n");
        node_lines_file(&lines, "proc/net/snmp",
                        i ? "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 97 3\n"
                          : "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 77 3\n");
        node_lines_next(&lines);
        node_host_sample_slow(&host, &lines.files, &lines.writer, 10 * SECOND_NS, 7);
        node_lines_finish(&lines);
    }
    assert_true(node_lines_value(&lines, "[\"node\",\"memory_available_bytes\"]") == 1.02e9);
    assert_true(node_lines_value(&lines, "[\"disk\",\"sda\",\"disk_busy_share\"]") == 0.25);
    assert_true(isnan(node_lines_value(&lines, "[\"disk\",\"sda1\","))); /* a partition */
    assert_true(node_lines_value(&lines, "[\"node\",\"tcp_retransmits\"]") == 20);
    assert_non_null(strstr(lines.text.data, "\"oom_kills\":2"));
    node_lines_end(&lines);
}

/* Samples the quota of process 7 with these counts; returns the share, NaN before the first. */
static double quota_after(struct node_lines *lines, struct node_quota *quota, const char *path, int periods,
                          int stopped)
{
    char text[128];
    snprintf(text, sizeof text, "nr_periods %d\nnr_throttled %d\nthrottled_usec 99999999\n", periods,
             stopped);
    node_lines_file(lines, path, text);
    node_lines_next(lines);
    node_quota_sample(quota, &lines->files, &lines->writer, 7);
    node_lines_finish(lines);
    return node_lines_value(lines, "[\"node\",\"cpu_quota_wait_share\"]");
}

/* The part of the periods in which the quota stopped the group; a group farther out may have one, too. */
static void a_quota_of_cpu_time(void **state)
{
    struct node_lines lines;
    struct node_quota quota = {.is_known = 0}, old = {.is_known = 0}, inside = {.is_known = 0};
    (void)state;
    node_lines_begin(&lines);
    node_lines_file(&lines, "sys/fs/cgroup/other", "");
    node_quota_sample(&quota, &lines.files, &lines.writer, 7);
    assert_false(quota.is_known);
    node_lines_file(&lines, "proc/7/cgroup", "0::/pod/job\n");
    static const char path[] = "sys/fs/cgroup/pod/job/cpu.stat";
    node_lines_file(&lines, "sys/fs/cgroup/pod/cpu.stat", "usage_usec 9\nnr_periods 50\nnr_throttled 0\n");
    assert_true(isnan(quota_after(&lines, &quota, path, 1000, 100)));
    assert_true(quota_after(&lines, &quota, path, 1100, 140) == 0.4);
    assert_true(quota_after(&lines, &quota, path, 1100, 140) == 0);
    node_lines_file(&lines, "sys/fs/cgroup/pod/cpu.stat", "nr_periods 9000\nnr_throttled 4000\n");
    (void)quota_after(&lines, &quota, path, 1200, 150); /* another group counts from here on */
    node_lines_file(&lines, "sys/fs/cgroup/pod/cpu.stat", "nr_periods 9100\nnr_throttled 4070\n");
    assert_true(quota_after(&lines, &quota, path, 1300, 200) == 0.7);
    node_lines_end(&lines);

    node_lines_begin(&lines);
    node_lines_file(&lines, "proc/7/cgroup", "5:memory:/x\n4:cpu,cpuacct:/job\n0::/\n");
    (void)quota_after(&lines, &old, "sys/fs/cgroup/cpu/job/cpu.stat", 10, 0);
    assert_true(quota_after(&lines, &old, "sys/fs/cgroup/cpu/job/cpu.stat", 20, 5) == 0.5);
    node_lines_end(&lines);

    /* A container sees its group as the root, while the path is that of the host. */
    node_lines_begin(&lines);
    node_lines_file(&lines, "proc/7/cgroup", "0::/docker/0123\n");
    (void)quota_after(&lines, &inside, "sys/fs/cgroup/cpu.stat", 10, 0);
    assert_true(quota_after(&lines, &inside, "sys/fs/cgroup/cpu.stat", 20, 8) == 0.8);
    node_lines_end(&lines);
}

/* A line of an interface: bytes packets errs drop fifo frame compressed multicast, received, then sent. */
static void interfaces(void **state)
{
    struct node_lines lines;
    struct node_network network = {0};
    node_lines_begin(&lines);
    for (int i = 0; i < 2; i++) {
        node_lines_file(&lines, "proc/net/dev",
                        i ? "Inter-| Receive\n face |bytes\n  eth0: 5000 9 4 6 1 0 0 0 800 2 0 1 0 0 0 "
                            "0\nveth1: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n"
                          : "Inter-| Receive\n face |bytes\n  eth0: 1000 9 1 2 0 0 0 0 300 2 0 0 0 0 0 "
                            "0\nveth1: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
        node_lines_file(&lines, "sys/class/net/eth0/operstate", i ? "down\n" : "up\n");
        node_lines_file(&lines, "sys/class/net/eth0/speed", i ? "-1\n" : "25000\n");
        node_lines_next(&lines);
        node_network_sample(&network, &lines.files, &lines.writer);
        node_lines_finish(&lines);
    }
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"received_bytes\"]") == 4000);
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"sent_bytes\"]") == 500);
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"receive_errors\"]") ==
                4); /* 3 errs, 1 fifo */
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"drops\"]") == 5);
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"link_up\"]") == 0);
    assert_true(node_lines_value(&lines, "[\"interface\",\"eth0\",\"link_speed_mbps\"]") == 25000);
    assert_null(strstr(lines.text.data, "veth1"));
    node_lines_end(&lines);
}

static void ports_of_infiniband(void **state)
{
    struct node_lines lines;
    struct node_shared shared = {.root_count = 0};
    void *ports = test_calloc(1, node_work_infiniband.state_bytes);
    node_lines_begin(&lines);
    assert_int_equal(node_work_infiniband.open(ports, &lines.files, &lines.writer, &shared), 0);
    for (int i = 0; i < 2; i++) {
        node_lines_file(&lines, "sys/class/infiniband/mlx5_1/ports/2/counters/symbol_error",
                        i ? "18243\n" : "10\n");
        node_lines_file(&lines, "sys/class/infiniband/mlx5_1/ports/2/counters/port_rcv_data",
                        i ? "1500\n" : "1000\n");
        node_lines_file(&lines, "sys/class/infiniband/mlx5_1/ports/2/hw_counters/np_cnp_sent",
                        i ? "12\n" : "5\n");
        node_lines_file(&lines, "sys/class/infiniband/mlx5_1/ports/2/state", "4: ACTIVE\n");
        node_lines_file(&lines, "sys/class/infiniband/mlx5_1/ports/2/rate", "400 Gb/sec (4X NDR)\n");
        if (i == 0)
            assert_int_equal(node_work_infiniband.open(ports, &lines.files, &lines.writer, &shared), 1);
        struct node_round round = {.files = &lines.files,
                                   .writer = &lines.writer,
                                   .shared = &shared,
                                   .since_ns = lines.writer.zero_ns,
                                   .now_ns = lines.writer.zero_ns + SECOND_NS};
        node_work_infiniband.sample_slow(ports, &round);
    }
    assert_int_equal(node_count_ports(&lines.files), 1);
    assert_true(node_lines_value(&lines, "[\"port\",\"mlx5_1/2\",\"symbol_errors\"]") == 18233);
    assert_true(node_lines_value(&lines, "[\"port\",\"mlx5_1/2\",\"received_bytes\"]") == 2000);
    assert_true(node_lines_value(&lines, "[\"port\",\"mlx5_1/2\",\"cnp_sent\"]") == 7);
    assert_true(node_lines_value(&lines, "[\"port\",\"mlx5_1/2\",\"link_up\"]") == 1);
    assert_true(node_lines_value(&lines, "[\"port\",\"mlx5_1/2\",\"link_speed_mbps\"]") == 400000);
    node_lines_end(&lines);
    test_free(ports);
}

static void messages_that_matter(void **state)
{
    assert_true(node_kernel_matters("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", 6));
    assert_true(node_kernel_matters("anything at all", 3));
    assert_true(node_kernel_matters("mlx5_core 0000:5e:00.0 eth0: Link down", 6));
    assert_false(node_kernel_matters("audit: type=1400 apparmor=\"DENIED\"", 6));
    assert_false(node_kernel_matters("usb 1-1: new device", 6));
}

/* /dev/kmsg: of the kernel's own messages those that matter, in lines of their own, with its time. */
static void messages_of_the_kernel(void **state)
{
    struct node_lines lines;
    struct node_kernel kernel;
    char text[512], wanted[128];
    node_lines_begin(&lines);
    assert_int_equal(node_kernel_open(&kernel, &lines.files), -1);
    long long now_us = (long long)(node_monotonic_ns() / 1000);
    snprintf(text, sizeof text, "4,77,%lld,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=1 \"x\"\n SUBSYSTEM=pci\n",
             now_us);
    node_lines_file(&lines, "dev/kmsg", text);
    assert_int_equal(node_kernel_open(&kernel, &lines.files), 0);
    assert_int_equal(lseek(kernel.file, 0, SEEK_SET), 0); /* a file has what was written before, too */
    node_kernel_sample(&kernel, &lines.writer, SECOND_NS);
    snprintf(wanted, sizeof wanted,
             "\"kernel\":{\"level\":4,\"boot_us\":%lld,\"text\":\"NVRM: Xid (PCI:0000:3b:00): 31, pid=1 "
             "\\\"x\\\"\"}}\n",
             now_us);
    assert_non_null(strstr(lines.text.data, wanted));
    node_kernel_close(&kernel);
    buffer_clear(&lines.text);
    node_lines_file(&lines, "dev/kmsg", "30,78,1,-;systemd: nvidia service started\n");
    assert_int_equal(node_kernel_open(&kernel, &lines.files), 0);
    assert_int_equal(lseek(kernel.file, 0, SEEK_SET), 0);
    node_kernel_sample(&kernel, &lines.writer, SECOND_NS);
    assert_int_equal(lines.text.length, 0); /* not the kernel's */
    node_kernel_close(&kernel);
    node_lines_end(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_second),     cmocka_unit_test(memory_disks_and_retransmits),
        cmocka_unit_test(a_quota_of_cpu_time),    cmocka_unit_test(interfaces),
        cmocka_unit_test(ports_of_infiniband),    cmocka_unit_test(messages_that_matter),
        cmocka_unit_test(messages_of_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
