#ifndef NCCLPROF_MODEL_NODE_H
#define NCCLPROF_MODEL_NODE_H

#include <stdint.h>

/*
 * What a node says of itself: samples of its state, messages of its kernel, and facts that do not change.
 * None of these makes a process or a rank. Times are UNIX time, of the clock of the node or of the program
 * that wrote them down. `host` is a name as the record has it, short or full; lib/job joins it with the hosts
 * of ranks.
 */

enum node_place {
    NODE_WHOLE = 0,
    NODE_GPU,
    NODE_INTERFACE, /* network interface: "eth0" */
    NODE_PORT,      /* port of an InfiniBand or RoCE device: "mlx5_1/2" */
    NODE_DISK,
    NODE_PROCESS, /* "4711" */
    NODE_THREAD,  /* "4711/4720 NCCL Progress 0" */
    NODE_PLACES
};

/* The row of each in lib/model/node.c has its name and says whether it is a gauge. */
enum node_metric {
    NODE_METRIC_OTHER = 0,
    NODE_CPU_BUSY,
    NODE_CPU_PRESSURE,
    NODE_IO_PRESSURE,
    NODE_MEMORY_PRESSURE,
    NODE_RUNNABLE_TASKS,
    NODE_CORES,
    NODE_MEMORY_AVAILABLE,
    NODE_CPU_SHARE,
    NODE_RUN_WAIT,
    NODE_INVOLUNTARY_SWITCHES,
    NODE_MAJOR_FAULTS,
    NODE_CPU_STOLEN,
    NODE_CPU_QUOTA_WAIT,
    NODE_GPU_UTILIZATION,
    NODE_SM_CLOCK,
    NODE_MEMORY_CLOCK,
    NODE_TEMPERATURE,
    NODE_MEMORY_TEMPERATURE,
    NODE_POWER,
    NODE_POWER_LIMIT,
    NODE_FAN,
    NODE_THROTTLE_HW_THERMAL,
    NODE_THROTTLE_HW_POWER_BRAKE,
    NODE_THROTTLE_HW_SLOWDOWN,
    NODE_THROTTLE_SW_THERMAL,
    NODE_THROTTLE_SW_POWER_CAP,
    NODE_ECC_CORRECTED,
    NODE_ECC_UNCORRECTED,
    NODE_REMAPPED_ROWS,
    NODE_RETIRED_PAGES,
    NODE_PCIE_REPLAYS,
    NODE_PCIE_GENERATION,
    NODE_PCIE_WIDTH,
    NODE_NVLINK_CRC_ERRORS,
    NODE_NVLINK_REPLAY_ERRORS,
    NODE_NVLINK_RECOVERY_ERRORS,
    NODE_GPU_MEMORY_USED,
    NODE_OTHER_GPU_SHARE,
    NODE_OTHER_GPU_MEMORY,
    NODE_RECEIVED_BYTES,
    NODE_SENT_BYTES,
    NODE_RECEIVE_ERRORS,
    NODE_SEND_ERRORS,
    NODE_DROPS,
    NODE_TCP_RETRANSMITS,
    NODE_LINK_SPEED,
    NODE_LINK_UP,
    NODE_SYMBOL_ERRORS,
    NODE_LINK_DOWNED,
    NODE_LINK_RECOVERIES,
    NODE_LOCAL_LINK_INTEGRITY_ERRORS,
    NODE_RECEIVE_PORT_ERRORS,
    NODE_TRANSMIT_WAIT,
    NODE_OUT_OF_SEQUENCE,
    NODE_PACKET_SEQUENCE_ERRORS,
    NODE_ACK_TIMEOUTS,
    NODE_RNR_NAK_RETRIES,
    NODE_CNP_SENT,
    NODE_CNP_HANDLED,
    NODE_ECN_MARKED,
    NODE_DISK_BUSY,
    NODE_DISK_FREE,
    NODE_STOPPED,
    NODE_BLOCKED,
    NODE_FROZEN,
    NODE_METRIC_COUNT
};

/* What a message is about. */
enum node_event_code {
    NODE_EVENT_OTHER = 0,
    NODE_EVENT_XID,  /* of a GPU's driver; `number` is its kind */
    NODE_EVENT_SXID, /* of an NVSwitch */
    NODE_EVENT_GPU_FELL_OFF_BUS,
    NODE_EVENT_GPU_NO_ANSWER, /* the GPU's driver did not answer the program that samples it */
    NODE_EVENT_NVLINK_ERROR,
    NODE_EVENT_AER_CORRECTED, /* PCI Express */
    NODE_EVENT_AER_UNCORRECTED,
    NODE_EVENT_LINK_DOWN,
    NODE_EVENT_LINK_UP,
    NODE_EVENT_NETWORK_TIMEOUT, /* an interface's transmit queue timed out */
    NODE_EVENT_OOM_KILL,
    NODE_EVENT_HUNG_TASK,
    NODE_EVENT_SOFT_LOCKUP,
    NODE_EVENT_MACHINE_CHECK,
    NODE_EVENT_MEMORY_ERROR, /* of the host's memory */
    NODE_EVENT_DISK_ERROR,
    NODE_EVENT_FILE_SERVER,   /* a file server does not answer */
    NODE_EVENT_THERMAL,       /* a CPU was throttled */
    NODE_EVENT_STACK,         /* not a message: the innermost frames of a thread when it was dumped */
    NODE_EVENT_DISK_FULL,     /* or nearly */
    NODE_EVENT_JOB_PROCESS,   /* not a message: a process of the job uses this GPU */
    NODE_EVENT_OTHER_PROCESS, /* not a message: a process that is not the job's does */
    NODE_EVENT_COUNT
};

/* One measurement. */
struct node_sample {
    const char *host; /* NULL: not said */
    enum node_place place;
    /*
     * Of a GPU its PCI address, lower case with eight digits of the domain ("00000000:3b:00.0"), else its
     * UUID, else "index 3"; see enum node_place for others. NULL for NODE_WHOLE.
     */
    const char *device;
    enum node_metric metric;
    /*
     * A gauge had the value from begin_ns to at_ns, as far as is known; begin_ns equals at_ns if only one
     * moment is known. Of a counter, `value` is the increase in that interval. TIME_UNKNOWN, while at_ns is
     * known: `value` is a total since some start, of a counter, or, of a share of time, the total of that
     * time in nanoseconds. Two totals, also of different files, give an increase.
     */
    int64_t begin_ns;
    int64_t at_ns;    /* TIME_UNKNOWN: the file does not say when */
    int64_t error_ns; /* how far the times may be off, beyond the node's clock; 0 is the usual case */
    double value;     /* stored as a multiple of a millionth; NaN: unknown */
};

/* One message. */
struct node_event {
    const char *host; /* as in struct node_sample */
    enum node_place place;
    const char *device;
    enum node_event_code code;
    int64_t number;        /* of an Xid or SXid; COUNT_UNKNOWN */
    int64_t at_ns;         /* TIME_UNKNOWN */
    int64_t since_boot_ns; /* on the kernel's clock; TIME_UNKNOWN */
    int64_t error_ns;
    int64_t pid; /* of the process that it is about; COUNT_UNKNOWN */
    const char *process;
    const char *text; /* at most NODE_TEXT_BYTES; of a stack NODE_STACK_BYTES */
};

enum { NODE_TEXT_BYTES = 300, NODE_STACK_BYTES = 1000 };

/* What does not change: of the host, or of one of its GPUs if `gpu_index`, bus id or UUID is known. */
struct node_fact {
    const char *host; /* as in struct node_sample; other texts may be NULL, numbers COUNT_UNKNOWN */
    const char *boot_id;
    int64_t cores;
    int64_t memory_bytes;
    int64_t monotonic_ns; /* one moment on both clocks, to translate times since boot; TIME_UNKNOWN */
    int64_t realtime_ns;
    int64_t gpu_index;
    const char *gpu_bus_id; /* as `device` of struct node_sample */
    const char *gpu_uuid;
    const char *gpu_name;
};

#endif
