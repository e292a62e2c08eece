/*
 * GPUs, through NVML. The library is loaded where it is installed; nothing is linked to it. The functions and
 * structures below are those that NVIDIA's nvml.h has had since driver 450 (process lists: 510), with the
 * same layout.
 */
#ifndef NCCLPROF_NODE_GPU_H
#define NCCLPROF_NODE_GPU_H

#include "node/internal.h"

#include <stddef.h>
#include <stdint.h>

enum { NVML_SUCCESS = 0, NVML_NOT_FOUND = 6, NVML_GPU_IS_LOST = 15, NVML_RESET_REQUIRED = 16 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CORRECTED = 0, NVML_UNCORRECTED = 1, NVML_VOLATILE = 0 };
enum { NVML_TEXT_BYTES = 96 };
#define NVML_NOT_AVAILABLE UINT64_MAX

/* Bits of nvmlDeviceGetCurrentClocksEventReasons. */
enum {
    REASON_SW_POWER_CAP = 0x4,
    REASON_HW_SLOWDOWN = 0x8,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80
};

/* Numbers of nvmlDeviceGetFieldValues (NVML_FI_DEV_...). */
enum {
    FIELD_CRC_FLIT_TOTAL = 38,
    FIELD_CRC_DATA_TOTAL = 45,
    FIELD_REPLAY_TOTAL = 52,
    FIELD_RECOVERY_TOTAL = 59,
    FIELD_REMAPPED_CORRECTED = 142,
    FIELD_REMAPPED_UNCORRECTED = 143,
    FIELD_LINK_REPLAY = 161,
    FIELD_LINK_RECOVERY = 162,
    FIELD_LINK_CRC = 163,
    FIELD_LINK_RECEIVE_ERRORS = 208,
    FIELD_LINK_RECOVERY_EVENTS = 215
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nvml_use {
    unsigned gpu, memory;
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_field {
    unsigned field;
    unsigned scope; /* number of an NVLink */
    long long timestamp, latency_us;
    unsigned type; /* enum nvml_type */
    int outcome;
    union {
        double real;
        int integer;
        unsigned natural;
        unsigned long natural_long;
        unsigned long long natural_64;
        long long integer_64;
        unsigned short natural_16;
    } value;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

/*
 * The use of a GPU's SMs by one process. Every 200 ms the driver notes how busy the GPU was, and attributes
 * it to one of the processes that use it: they take turns. Asked for the time since `since_us`, it returns
 * for each process the average over these notes, where those about others count as 0: asked once per second
 * for a process that uses all of an H200 beside another one, driver 580 says 20, 40, 60 or 80. In case a
 * driver returns the latest note instead, the sum over all processes may be above 100.
 */
struct nvml_process_use {
    unsigned pid;
    unsigned long long timestamp_us;
    unsigned sm, memory, encoder, decoder; /* percent */
};

struct nvml {
    int (*init)(void);
    int (*driver)(char *text, unsigned length);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned length);
    int (*uuid)(void *device, char *text, unsigned length);
    int (*pci)(void *device, struct nvml_pci *pci);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*reasons)(void *device, unsigned long long *bits);
    int (*use)(void *device, struct nvml_use *use);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*power)(void *device, unsigned *milliwatts);
    int (*memory)(void *device, struct nvml_memory *memory);
    int (*ecc)(void *device, int type, int counter, unsigned long long *count);
    int (*replays)(void *device, unsigned *count);
    int (*generation)(void *device, unsigned *generation);
    int (*width)(void *device, unsigned *lanes);
    int (*fields)(void *device, int count, struct nvml_field *fields);
    int (*processes)(void *device, unsigned *count, struct nvml_process *processes);
    int (*process_use)(void *device, struct nvml_process_use *uses, unsigned *count,
                       unsigned long long since_us);
};

/* -------------------- nvml.c -------------------- */

/* Loads and starts the library. Returns why it cannot be used; NULL if it can. */
const char *nvml_start(struct nvml *nvml, unsigned *count);

/* -------------------- gpu.c -------------------- */

enum { GPUS = 64, LINKS = 18, LINK_FIELDS = 9, LINK_METRICS = 3, REASONS = 5, PROCESSES = 128, TOLD = 256 };

/* Whose a process on a GPU is. */
enum process_side {
    PROCESS_UNKNOWN, /* it cannot be seen, or it is a server that works for others */
    PROCESS_OF_JOB,
    PROCESS_OF_OTHERS
};

/* Calls that take so long that each has to wait until there is CPU time for it. */
enum dear_call { DEAR_SHARES, DEAR_PCIE, DEAR_LINKS, DEAR_ROWS, DEAR_CALLS };

enum { BUDGET_SHARES, BUDGET_OTHERS, BUDGETS };

struct gpu {
    void *device;
    char bus[32];
    int is_lost;
    int32_t use, sm_clock, memory_clock, temperature, power, memory, generation, width, other_share,
        other_memory, reasons[REASONS];
    struct node_counter ecc[2], replays, rows, links[LINK_METRICS];

    /* Glances since the last sample. */
    int glances, reason_glances[REASONS];
    int clock_glances;
    double clock_sum;

    int64_t asked_ns[DEAR_CALLS], due_ns[DEAR_CALLS];
    struct nvml_field fields[LINK_FIELDS * LINKS]; /* of links: those that the driver has */
    int field_metric[LINK_FIELDS * LINKS];
    int field_count; /* -1: not known yet */

    struct gpu_process {
        unsigned pid;
        enum process_side side;
    } processes[PROCESSES];
    unsigned process_count;
    int has_processes;          /* they have been asked for */
    int job_count, other_count; /* processes */
    int root_count;             /* of the job, when the sides were determined */
    int64_t sides_ns;           /* when that was */
    uint64_t least_unknown;     /* bytes in use for which no process accounts; UINT64_MAX: not known yet */
    uint64_t hidden_bytes;      /* beyond the least such memory */
    unsigned long long seen_us; /* the latest note about a process; 0: none */
};

struct gpus {
    struct nvml nvml;
    struct gpu gpus[GPUS];
    unsigned count;
    struct node_budget budgets[BUDGETS];
    char mark[NODE_MARK_BYTES];
    int sees_job; /* process numbers are those of the host, or some of the job's were seen */
    struct {
        unsigned pid, gpu;
    } told[TOLD]; /* processes that are in the record */
    size_t told_count;
};

/* -------------------- gpu_process.c -------------------- */

/*
 * Processes on a GPU: which of them are the job's, what the others have of its memory, and names of those
 * that are new. The list costs 150 us on an H200, so glances do without it.
 */
void gpu_list_processes(struct gpus *all, struct gpu *gpu, const struct node_round *round);

/* Whether processes of the job and others share the GPU, so that it matters how much these compute. */
int gpu_is_shared(const struct gpu *gpu);

/*
 * What part of the GPU the others used since the last call: the sum of their use, as a part of that of all
 * processes if this is more than the whole. It is an estimate from five notes a second. Two processes that
 * are always busy have about half of the GPU each.
 */
void gpu_ask_shares(struct gpus *all, struct gpu *gpu, struct node_writer *writer);

#endif
