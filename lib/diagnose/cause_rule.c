/*
 * The causes that nodes can show, as a table. A new one takes a row below, and
 * - lib/model/node.h and node.c: its metric or its kind of message, if there is none, and what reads or
 * samples it: lib/format/metric_name.c, lib/format/kernel_message.c, lib/node
 * - man/ncclprof-rules.7: `make golden` writes its paragraph from the table
 *
 * tests/cli/test_causes.py plants each row into jobs in which it must be named, and in which it must not.
 *
 * A cause is named if it is in a place that the finding blames, while it shows, and if it was not there, or
 * much less, in the other steps of the run and in the other places of the job: each of the two that is known
 * must say so. A row that is a statement by itself needs neither, but is refuted by both.
 */
#include "diagnose/finding.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    OF_COMPUTE = 1 << FINDING_COMPUTE,
    OF_HOST = 1 << FINDING_HOST,
    OF_LATE = 1 << FINDING_LATE,
    OF_NETWORK = 1 << FINDING_NETWORK,
    OF_STOP = 1 << FINDING_MISSING | 1 << FINDING_ENDED_EARLY | 1 << FINDING_ERROR,
    OF_GPU = OF_COMPUTE | OF_LATE,
    OF_SLOW_GPU = OF_GPU | OF_HOST, /* a host that waits for its GPU enqueues late */
    OF_CPU = OF_HOST | OF_LATE,
    OF_BROKEN_GPU = OF_GPU | OF_STOP
};

#define OF_THE_TIME "of the time"
#define A_TENTH "what takes a tenth of the time can make a step longer by 3 %; no measurement behind it"
#define IS_PLAIN "one is enough"
#define STAYS_UP "a link stays up while a job runs"
#define ABOVE_NOISE "healthy links have single errors; no measurement behind it"

/* By NVIDIA's manual "Xid Errors". */
static const int16_t xid_memory[CAUSE_NUMBERS] = {48, 63, 64, 92, 94, 95, 140};
static const int16_t xid_broken[CAUSE_NUMBERS] = {61, 62, 79, 119, 120};
static const int16_t xid_nvlink[CAUSE_NUMBERS] = {74, 149};
static const int16_t xid_program[CAUSE_NUMBERS] = {13, 31, 43};

#define GPU_SHARE(called, of, least, words, ...)                                                          \
    {                                                                                                     \
        .name = (called), .place = CAUSE_ON_GPU, .side = CAUSE_GREATER, .metric = (of), .floor = (least), \
        .times = 3, .kinds = OF_SLOW_GPU, .settles = OF_LATE | OF_HOST, .becomes = FINDING_COMPUTE,       \
        .unit = OF_THE_TIME, .says = (words), __VA_ARGS__                                                 \
    }
#define CPU(called, on, of, least, words, ...)                                                         \
    {                                                                                                  \
        .name = (called), .place = (on), .side = CAUSE_GREATER, .metric = (of), .floor = (least),      \
        .times = 2, .kinds = OF_CPU, .settles = OF_LATE, .becomes = FINDING_HOST, .unit = OF_THE_TIME, \
        .says = (words), __VA_ARGS__                                                                   \
    }
#define PROCESS(called, of, least, words, ...)                                              \
    {                                                                                       \
        .name = (called), .place = CAUSE_ON_PROCESS, .side = CAUSE_GREATER, .metric = (of), \
        .floor = (least), .times = 2, .kinds = OF_CPU | OF_STOP, .settles = OF_LATE,        \
        .becomes = FINDING_HOST, .unit = OF_THE_TIME, .says = (words), __VA_ARGS__          \
    }
#define NETWORK_ERRORS(called, of, least, why, words)                                                      \
    {                                                                                                      \
        .name = (called), .place = CAUSE_ON_NETWORK, .side = CAUSE_MORE, .metric = (of), .floor = (least), \
        .times = 10, .kinds = OF_NETWORK | OF_STOP, .unit = "", .found = (why), .says = (words)            \
    }
#define MESSAGE(called, on, of, which, words, ...)                                                 \
    {                                                                                              \
        .name = (called), .place = (on), .side = CAUSE_MESSAGE, .code = (of), .numbers = (which),  \
        .floor = 1, .times = 3, .is_statement = 1, .unit = "", .found = IS_PLAIN, .says = (words), \
        __VA_ARGS__                                                                                \
    }
#define CPU_ADVICE                                                                                        \
    "check what else runs there (top, other jobs of the scheduler), CPU binding (taskset -p) and cgroup " \
    "limits "                                                                                             \
    "(cpu.max, cpu.stat) on "

const struct cause_rule cause_rules[] = {
    GPU_SHARE("hw-thermal", NODE_THROTTLE_HW_THERMAL, 0.1, "@ throttled (HW thermal) # of the time",
              .is_statement = 1, .found = A_TENTH,
              .advice = "check cooling, fans and air flow of that GPU on "),
    GPU_SHARE("hw-power-brake", NODE_THROTTLE_HW_POWER_BRAKE, 0.1,
              "@ throttled (HW power brake) # of the time", .is_statement = 1, .found = A_TENTH,
              .advice = "check power supplies and power capping of "),
    GPU_SHARE("hw-slowdown", NODE_THROTTLE_HW_SLOWDOWN, 0.1, "@ throttled (HW slowdown) # of the time",
              .is_statement = 1, .found = A_TENTH, .advice = "check cooling and power supplies of "),
    GPU_SHARE("sw-thermal", NODE_THROTTLE_SW_THERMAL, 0.1, "@ throttled (SW thermal) # of the time",
              .is_statement = 1, .found = A_TENTH,
              .advice = "check cooling, fans and air flow of that GPU on "),
    GPU_SHARE("power-cap", NODE_THROTTLE_SW_POWER_CAP, 0.3, "@ was held at its power cap # of the time",
              .found =
                  "busy GPUs are held at their cap most of the time, all of them; no measurement behind it",
              .advice = "compare the power limits (nvidia-smi -q -d POWER) of the GPUs of "),
    GPU_SHARE("other-process", NODE_OTHER_GPU_SHARE, 0.1, "another process~ used # of @", .is_statement = 1,
              .explains = {"power-cap", "sm-clock"}, .found = A_TENTH,
              .advice = "find the other processes (nvidia-smi) on "),
    {.name = "other-memory",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_GREATER,
     .metric = NODE_OTHER_GPU_MEMORY,
     .floor = 256e6,
     .times = 2,
     .needs_before = 1,
     .unless = NODE_OTHER_GPU_SHARE,
     .explains = {"power-cap", "sm-clock"},
     .kinds = OF_SLOW_GPU,
     .settles = OF_LATE | OF_HOST,
     .becomes = FINDING_COMPUTE,
     .unit = "bytes",
     .found = "a process that only opens a GPU has more; no measurement behind it",
     .says = "processes that are not the job's~ had # of the memory of @",
     .advice = "find the other processes (nvidia-smi) on "},
    {.name = "sm-clock",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_LESS,
     .metric = NODE_SM_CLOCK,
     .floor = 0.1,
     .kinds = OF_SLOW_GPU,
     .settles = OF_LATE | OF_HOST,
     .becomes = FINDING_COMPUTE,
     .unit = "of the usual clock",
     .found = "clocks of healthy GPUs of one job differ by a few percent; no measurement behind it",
     .says = "the SM clock of @ was #",
     .advice = "check clocks and throttle reasons (nvidia-smi -q -d CLOCK,PERFORMANCE) on "},
    {.name = "memory-clock",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_LESS,
     .metric = NODE_MEMORY_CLOCK,
     .floor = 0.1,
     .kinds = OF_SLOW_GPU,
     .settles = OF_LATE | OF_HOST,
     .becomes = FINDING_COMPUTE,
     .unit = "of the usual clock",
     .found = "it has few levels, far apart (nvidia-smi -q -d SUPPORTED_CLOCKS)",
     .says = "the memory clock of @ was #",
     .advice = "check clocks (nvidia-smi -q -d CLOCK) on "},
    {.name = "pcie-width",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_LESS,
     .metric = NODE_PCIE_WIDTH,
     .floor = 0.4,
     .kinds = OF_GPU | OF_HOST | OF_NETWORK,
     .unit = "of the usual width",
     .found = "widths are powers of two (PCI Express)",
     .says = "@ had # PCIe lanes",
     .advice = "reseat the GPU, or check its PCIe slot, on "},
    {.name = "pcie-replays",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MORE,
     .metric = NODE_PCIE_REPLAYS,
     .floor = 100,
     .times = 10,
     .kinds = OF_GPU | OF_HOST | OF_NETWORK,
     .unit = "",
     .found = ABOVE_NOISE,
     .says = "@: # PCIe replays",
     .advice = "check the PCIe slot and riser of that GPU on "},
    {.name = "ecc-uncorrected",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MORE,
     .metric = NODE_ECC_UNCORRECTED,
     .floor = 1,
     .times = 10,
     .is_statement = 1,
     .kinds = OF_BROKEN_GPU,
     .settles = OF_LATE,
     .becomes = FINDING_COMPUTE,
     .unit = "",
     .found = IS_PLAIN,
     .says = "@: # uncorrected ECC errors"},
    {.name = "nvlink-errors",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MORE,
     .metric = NODE_NVLINK_CRC_ERRORS,
     .floor = 100,
     .times = 10,
     .kinds = OF_GPU | OF_NETWORK | OF_STOP,
     .unit = "",
     .found = ABOVE_NOISE,
     .says = "@: # NVLink CRC errors",
     .advice = "check NVLink (nvidia-smi nvlink -e) on "},
    {.name = "nvlink-replays",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MORE,
     .metric = NODE_NVLINK_REPLAY_ERRORS,
     .floor = 100,
     .times = 10,
     .kinds = OF_GPU | OF_NETWORK | OF_STOP,
     .unit = "",
     .found = ABOVE_NOISE,
     .says = "@: # NVLink replays",
     .advice = "check NVLink (nvidia-smi nvlink -e) on "},
    {.name = "nvlink-recoveries",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MORE,
     .metric = NODE_NVLINK_RECOVERY_ERRORS,
     .floor = 1,
     .times = 10,
     .is_statement = 1,
     .kinds = OF_GPU | OF_NETWORK | OF_STOP,
     .unit = "",
     .found = IS_PLAIN,
     .says = "@: # NVLink recoveries",
     .advice = "check NVLink (nvidia-smi nvlink -e) on "},
    {.name = "proxy-wait",
     .place = CAUSE_ON_PROXY,
     .side = CAUSE_GREATER,
     .metric = NODE_RUN_WAIT,
     .floor = 0.2,
     .times = 3,
     .kinds = OF_CPU | OF_NETWORK,
     .settles = OF_LATE | OF_NETWORK,
     .becomes = FINDING_HOST,
     .unit = OF_THE_TIME,
     .found = "a thread that polls and has its core waits less than a hundredth; no measurement behind it",
     .says = "a proxy thread of @ waited # of the time for a core",
     .advice = CPU_ADVICE},
    {.name = "stack",
     .place = CAUSE_ON_PROCESS,
     .side = CAUSE_STACK,
     .code = NODE_EVENT_STACK,
     .kinds = OF_CPU | OF_STOP,
     .unit = "",
     .found = "what at least half of the other ranks with a stack do, too, says nothing about one",
     .says = "@ was ~",
     .advice = "look at that line of the program, and at what it waits for, on "},
    PROCESS("process-stopped", NODE_STOPPED, 0.1, "the process of @ was stopped for $", .is_statement = 1,
            .found = A_TENTH,
            .advice = "check for debuggers, profilers that stop a process (py-spy, gdb), and SIGSTOP on "),
    PROCESS("process-frozen", NODE_FROZEN, 0.1, "the process of @ was frozen for $", .is_statement = 1,
            .found = A_TENTH,
            .advice =
                "check what freezes control groups (docker pause, checkpoints of containers, cgroup.freeze) "
                "or pauses the virtual machine of "),
    PROCESS("process-blocked", NODE_BLOCKED, 0.2,
            "the process of @ waited in the kernel, mostly for disks or file servers, for $",
            .found = "a healthy process reads and writes, too; no measurement behind it",
            .advice = "check disks and file servers (iostat -x, nfsstat) on "),
    CPU("process-wait", CAUSE_ON_PROCESS, NODE_RUN_WAIT, 0.1, "threads of @ waited # of the time for a core",
        .many = "on average # threads of @ waited for a core", .found = A_TENTH, .advice = CPU_ADVICE),
    {.name = "tasks-per-core",
     .place = CAUSE_ON_HOST,
     .side = CAUSE_GREATER,
     .metric = NODE_RUNNABLE_TASKS,
     .floor = 1.25,
     .times = 1.25,
     .is_per_core = 1,
     .kinds = OF_CPU,
     .settles = OF_LATE,
     .becomes = FINDING_HOST,
     .unit = "per core",
     .says = "# runnable tasks on @",
     .found = "with more tasks than cores, some wait; a quarter for noise",
     .advice = CPU_ADVICE},
    CPU("cpu-pressure", CAUSE_ON_HOST, NODE_CPU_PRESSURE, 0.2, "tasks on @ waited # of the time for a core",
        .found = "some task waits for a moment on healthy hosts, too; no measurement behind it",
        .advice = CPU_ADVICE),
    {.name = "cpu-quota",
     .place = CAUSE_ON_HOST,
     .side = CAUSE_GREATER,
     .metric = NODE_CPU_QUOTA_WAIT,
     .floor = 0.1,
     .times = 2,
     .is_statement = 1,
     .kinds = OF_CPU,
     .settles = OF_LATE,
     .becomes = FINDING_HOST,
     .unit = "of its periods",
     .found = "with fewer, a job stands still for less than a tenth of the time; no measurement behind it",
     .says = "the CPU quota of the job on @ was used up in # of its periods",
     .advice = "raise the CPU quota (limits.cpu of Kubernetes, cgroup cpu.max) on "},
    CPU("cpu-stolen", CAUSE_ON_HOST, NODE_CPU_STOLEN, 0.1, "the hypervisor took # of the CPUs of @",
        .is_statement = 1, .found = A_TENTH, .advice = "check the other virtual machines of the host of "),
    CPU("io-pressure", CAUSE_ON_HOST, NODE_IO_PRESSURE, 0.1, "tasks on @ waited # of the time for I/O",
        .found = A_TENTH, .advice = "check disks and file servers (iostat -x, nfsstat) on "),
    CPU("memory-pressure", CAUSE_ON_HOST, NODE_MEMORY_PRESSURE, 0.1,
        "tasks on @ waited # of the time for memory", .found = A_TENTH,
        .advice = "check memory and swap (free, vmstat) on "),
    {.name = "major-faults",
     .place = CAUSE_ON_PROCESS,
     .side = CAUSE_MORE,
     .metric = NODE_MAJOR_FAULTS,
     .floor = 100,
     .times = 10,
     .kinds = OF_CPU,
     .settles = OF_LATE,
     .becomes = FINDING_HOST,
     .unit = "",
     .found = "each is a read of a disk; no measurement behind it",
     .says = "@ read # pages back from disk",
     .advice = "check memory and swap (free, vmstat) on "},
    NETWORK_ERRORS("symbol-errors", NODE_SYMBOL_ERRORS, 100, ABOVE_NOISE, "@: # symbol errors"),
    NETWORK_ERRORS("link-integrity", NODE_LOCAL_LINK_INTEGRITY_ERRORS, 10, ABOVE_NOISE,
                   "@: # link integrity errors"),
    NETWORK_ERRORS("receive-port-errors", NODE_RECEIVE_PORT_ERRORS, 10, ABOVE_NOISE,
                   "@: # receive errors of the port"),
    NETWORK_ERRORS("link-downed", NODE_LINK_DOWNED, 1, STAYS_UP, "the link of @ went down (# times)"),
    NETWORK_ERRORS("link-recoveries", NODE_LINK_RECOVERIES, 1, STAYS_UP,
                   "the link of @ had errors and recovered (# times)"),
    NETWORK_ERRORS("receive-errors", NODE_RECEIVE_ERRORS, 10, ABOVE_NOISE, "@: # receive errors"),
    NETWORK_ERRORS("send-errors", NODE_SEND_ERRORS, 10, ABOVE_NOISE, "@: # send errors"),
    NETWORK_ERRORS("drops", NODE_DROPS, 100, ABOVE_NOISE, "@: # packets dropped"),
    NETWORK_ERRORS("out-of-sequence", NODE_OUT_OF_SEQUENCE, 100, ABOVE_NOISE, "@: # packets out of sequence"),
    NETWORK_ERRORS("packet-sequence", NODE_PACKET_SEQUENCE_ERRORS, 10, ABOVE_NOISE,
                   "@: # packet sequence errors"),
    NETWORK_ERRORS("ack-timeouts", NODE_ACK_TIMEOUTS, 1,
                   "each costs milliseconds to seconds, in which nothing is sent",
                   "@: # acknowledgement timeouts"),
    NETWORK_ERRORS("rnr-naks", NODE_RNR_NAK_RETRIES, 10, ABOVE_NOISE,
                   "@: # retries because the receiver was not ready"),
    NETWORK_ERRORS("congestion", NODE_CNP_HANDLED, 1000,
                   "networks with congestion control send some all the time; no measurement behind it",
                   "@: # congestion notifications"),
    {.name = "tcp-retransmits",
     .place = CAUSE_ON_HOST,
     .side = CAUSE_MORE,
     .metric = NODE_TCP_RETRANSMITS,
     .floor = 100,
     .times = 10,
     .kinds = OF_NETWORK | OF_STOP,
     .unit = "",
     .found = ABOVE_NOISE,
     .says = "@: # TCP segments sent again"},
    {.name = "link-speed",
     .place = CAUSE_ON_NETWORK,
     .side = CAUSE_LESS,
     .metric = NODE_LINK_SPEED,
     .floor = 0.4,
     .kinds = OF_NETWORK,
     .unit = "of the usual speed",
     .found = "the speeds of Ethernet and InfiniBand are far apart",
     .says = "@ ran at #",
     .advice = "check cable, transceiver and switch port of that link on "},
    MESSAGE("xid-memory", CAUSE_ON_GPU, NODE_EVENT_XID, xid_memory, "@: Xid #, an error of its memory",
            .kinds = OF_BROKEN_GPU, .settles = OF_LATE, .becomes = FINDING_COMPUTE,
            .advice = "check ECC errors and remapped rows (nvidia-smi -q -d ECC,ROW_REMAPPER) on "),
    MESSAGE("xid-broken", CAUSE_ON_GPU, NODE_EVENT_XID, xid_broken, "@: Xid #, the GPU stopped working",
            .kinds = OF_BROKEN_GPU, .settles = OF_LATE, .becomes = FINDING_COMPUTE,
            .advice = "reset or replace that GPU; dmesg has the message on "),
    MESSAGE("xid-nvlink", CAUSE_ON_GPU, NODE_EVENT_XID, xid_nvlink, "@: Xid #, an error of NVLink",
            .kinds = OF_BROKEN_GPU | OF_NETWORK, .advice = "check NVLink (nvidia-smi nvlink -e) on "),
    MESSAGE("xid-program", CAUSE_ON_GPU, NODE_EVENT_XID, xid_program,
            "@: Xid #, usually an error of the program", .is_at_once = 1, .kinds = OF_STOP),
    MESSAGE("fell-off-bus", CAUSE_ON_GPU, NODE_EVENT_GPU_FELL_OFF_BUS, NULL, "@ has fallen off the bus",
            .kinds = OF_BROKEN_GPU, .settles = OF_LATE, .becomes = FINDING_COMPUTE,
            .advice = "reset or replace that GPU; dmesg has the message on "),
    MESSAGE("gpu-no-answer", CAUSE_ON_GPU, NODE_EVENT_GPU_NO_ANSWER, NULL, "the driver of @ did not answer",
            .kinds = OF_BROKEN_GPU, .advice = "check nvidia-smi and dmesg on "),
    MESSAGE("nvlink-message", CAUSE_ON_GPU, NODE_EVENT_NVLINK_ERROR, NULL,
            "@: the kernel reports NVLink errors", .kinds = OF_BROKEN_GPU | OF_NETWORK,
            .advice = "check NVLink (nvidia-smi nvlink -e) on "),
    MESSAGE("aer-uncorrected", CAUSE_ON_GPU, NODE_EVENT_AER_UNCORRECTED, NULL,
            "@: uncorrected errors of PCI Express", .kinds = OF_BROKEN_GPU | OF_NETWORK,
            .advice = "check the PCIe slot and riser of that device on "),
    {.name = "aer-corrected",
     .place = CAUSE_ON_GPU,
     .side = CAUSE_MESSAGE,
     .code = NODE_EVENT_AER_CORRECTED,
     .floor = 10,
     .times = 3,
     .unit = "",
     .says = "@: # messages about corrected errors of PCI Express",
     .found = "single ones are harmless; no measurement behind it",
     .kinds = OF_GPU | OF_NETWORK,
     .advice = "check the PCIe slot and riser of that device on "},
    MESSAGE("link-down", CAUSE_ON_NETWORK, NODE_EVENT_LINK_DOWN, NULL, "the link of @ went down",
            .kinds = OF_NETWORK | OF_STOP,
            .advice = "check cable, transceiver and switch port of that link on "),
    MESSAGE("network-timeout", CAUSE_ON_NETWORK, NODE_EVENT_NETWORK_TIMEOUT, NULL,
            "the transmit queue of @ timed out", .kinds = OF_NETWORK | OF_STOP,
            .advice = "check driver and firmware of that network card on "),
    MESSAGE("oom-kill", CAUSE_ON_HOST, NODE_EVENT_OOM_KILL, NULL,
            "the kernel of @ killed a process because memory ran out", .is_at_once = 1,
            .kinds = OF_STOP | OF_HOST, .advice = "reduce the memory of the job or of its data loaders on "),
    MESSAGE("hung-task", CAUSE_ON_HOST, NODE_EVENT_HUNG_TASK, NULL, "a task on @ hung in the kernel",
            .kinds = OF_STOP | OF_CPU, .advice = "check file servers and drivers (dmesg) on "),
    MESSAGE("soft-lockup", CAUSE_ON_HOST, NODE_EVENT_SOFT_LOCKUP, NULL, "a CPU of @ was stuck in the kernel",
            .kinds = OF_STOP | OF_CPU, .settles = OF_LATE, .becomes = FINDING_HOST,
            .advice = "check dmesg on "),
    MESSAGE("machine-check", CAUSE_ON_HOST, NODE_EVENT_MACHINE_CHECK, NULL,
            "the hardware of @ reported a machine check", .kinds = OF_STOP | OF_CPU,
            .advice = "check mcelog or rasdaemon, and replace what they name, on "),
    MESSAGE("cpu-thermal", CAUSE_ON_HOST, NODE_EVENT_THERMAL, NULL,
            "a CPU of @ was throttled because of heat", .kinds = OF_CPU, .settles = OF_LATE,
            .becomes = FINDING_HOST, .advice = "check cooling of "),
    MESSAGE("disk-error", CAUSE_ON_HOST, NODE_EVENT_DISK_ERROR, NULL, "a disk of @ reported an error",
            .kinds = OF_STOP | OF_CPU, .settles = OF_LATE, .becomes = FINDING_HOST,
            .advice = "check disks on "),
    MESSAGE("disk-full", CAUSE_ON_HOST, NODE_EVENT_DISK_FULL, NULL, "a disk of @ was full or nearly full",
            .is_shared = 1, .kinds = OF_STOP,
            .advice =
                "make room (df -h, df -i): the directories of checkpoints, traces, /tmp and /dev/shm on "),
    MESSAGE("file-server", CAUSE_ON_HOST, NODE_EVENT_FILE_SERVER, NULL,
            "@ waited for a file server that did not answer", .kinds = OF_STOP | OF_CPU, .settles = OF_LATE,
            .becomes = FINDING_HOST, .advice = "check the file server, and the network to it, of "),
};

const size_t cause_rule_count = sizeof cause_rules / sizeof *cause_rules;

int cause_is_slow_gpu(const struct cause_rule *rule)
{
    return rule->place == CAUSE_ON_GPU && (rule->settles & OF_HOST) != 0;
}

int cause_rule_has_number(const struct cause_rule *rule, int64_t number)
{
    for (int i = 0; rule->numbers && i < CAUSE_NUMBERS && rule->numbers[i]; i++)
        if (rule->numbers[i] == number)
            return 1;
    return !rule->numbers;
}

void cause_release(struct cause *cause)
{
    free(cause->source);
    free(cause->host);
    free(cause->device);
    free(cause->what);
    free(cause->text);
    free(cause->steps);
}

void causes_release(struct cause *causes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cause_release(&causes[i]);
    free(causes);
}
