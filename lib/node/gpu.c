/*
 * GPUs, through NVML. The library is loaded where it is installed; nothing is linked to it. The functions and
 * structures below are those that NVIDIA's nvml.h has had since driver 450 (process lists: 510), with the
 * same layout.
 */
#include "node/internal.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NVML_SUCCESS = 0, NVML_GPU_IS_LOST = 15, NVML_RESET_REQUIRED = 16 };
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
    FIELD_SW_POWER_CAP_TIME = 74,
    FIELD_REMAPPED_CORRECTED = 142,
    FIELD_REMAPPED_UNCORRECTED = 143,
    FIELD_LINK_REPLAY = 161,
    FIELD_LINK_RECOVERY = 162,
    FIELD_LINK_CRC = 163,
    FIELD_LINK_RECEIVE_ERRORS = 208,
    FIELD_LINK_RECOVERY_EVENTS = 215,
    FIELD_SW_THERMAL_TIME = 269,
    FIELD_HW_THERMAL_TIME = 270,
    FIELD_HW_POWER_BRAKE_TIME = 271
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

enum { GPUS = 64, LINKS = 18, PROCESSES = 128, OTHERS = 64 };

/* Times, in nanoseconds, that the clocks were lowered for a reason. */
enum { THROTTLES = 4 };

static const struct {
    unsigned field;
    unsigned long long bit;
    enum node_metric_id metric;
} throttles[THROTTLES] = {{FIELD_HW_THERMAL_TIME, REASON_HW_THERMAL, SERIES_HW_THERMAL},
                          {FIELD_HW_POWER_BRAKE_TIME, REASON_HW_POWER_BRAKE, SERIES_HW_POWER_BRAKE},
                          {FIELD_SW_THERMAL_TIME, REASON_SW_THERMAL, SERIES_SW_THERMAL},
                          {FIELD_SW_POWER_CAP_TIME, REASON_SW_POWER_CAP, SERIES_SW_POWER_CAP}};

/* Errors of NVLink: the sums of a GPU, and where there are none, those of its links. */
enum { LINK_METRICS = 3 };

static const struct {
    unsigned field;
    int metric; /* index in link_metrics */
    int is_total;
} link_fields[] = {
    {FIELD_CRC_FLIT_TOTAL, 0, 1}, {FIELD_CRC_DATA_TOTAL, 0, 1}, {FIELD_REPLAY_TOTAL, 1, 1},
    {FIELD_RECOVERY_TOTAL, 2, 1}, {FIELD_LINK_CRC, 0, 0},       {FIELD_LINK_RECEIVE_ERRORS, 0, 0},
    {FIELD_LINK_REPLAY, 1, 0},    {FIELD_LINK_RECOVERY, 2, 0},  {FIELD_LINK_RECOVERY_EVENTS, 2, 0}};
static const enum node_metric_id link_metrics[LINK_METRICS] = {SERIES_NVLINK_CRC, SERIES_NVLINK_REPLAY,
                                                               SERIES_NVLINK_RECOVERY};
enum { LINK_FIELDS = sizeof link_fields / sizeof *link_fields };

struct gpu {
    void *device;
    char bus[32];
    int32_t use, sm_clock, memory_clock, temperature, power, memory, generation, width, other_share,
        other_memory;
    int32_t hw_slowdown, throttle[THROTTLES];
    uint64_t throttled_ns[THROTTLES];
    int64_t asked_ns; /* when these were read */
    int has_times;    /* 0: not known yet; 1: the driver counts times; -1: only the reasons of the moment */
    struct node_counter ecc[2], replays, rows, links[LINK_METRICS];
    struct nvml_field asked[LINK_FIELDS * LINKS]; /* those that the driver has */
    int asked_metric[LINK_FIELDS * LINKS];
    int asked_count; /* -1: not known yet */
    unsigned long long seen_us;
    int is_lost;
};

struct gpus {
    struct nvml nvml;
    struct gpu gpus[GPUS];
    unsigned count;
    char mark[NODE_MARK_BYTES];
    int is_host_namespace; /* process numbers are those of the host */
    unsigned told[OTHERS]; /* other processes whose names are in the record */
    size_t told_count;
};

/* -------------------- the library -------------------- */

/* Returns why it cannot be used; NULL if it can. */
static const char *load(struct nvml *nvml)
{
    static const struct {
        size_t offset;
        const char *name;
        const char *older;
    } functions[] = {
#define FUNCTION(member, name, older) {offsetof(struct nvml, member), name, older}
        FUNCTION(init, "nvmlInit_v2", NULL),
        FUNCTION(driver, "nvmlSystemGetDriverVersion", NULL),
        FUNCTION(count, "nvmlDeviceGetCount_v2", NULL),
        FUNCTION(handle, "nvmlDeviceGetHandleByIndex_v2", NULL),
        FUNCTION(name, "nvmlDeviceGetName", NULL),
        FUNCTION(uuid, "nvmlDeviceGetUUID", NULL),
        FUNCTION(pci, "nvmlDeviceGetPciInfo_v3", NULL),
        FUNCTION(clock, "nvmlDeviceGetClockInfo", NULL),
        FUNCTION(reasons, "nvmlDeviceGetCurrentClocksEventReasons",
                 "nvmlDeviceGetCurrentClocksThrottleReasons"),
        FUNCTION(use, "nvmlDeviceGetUtilizationRates", NULL),
        FUNCTION(temperature, "nvmlDeviceGetTemperature", NULL),
        FUNCTION(power, "nvmlDeviceGetPowerUsage", NULL),
        FUNCTION(memory, "nvmlDeviceGetMemoryInfo", NULL),
        FUNCTION(ecc, "nvmlDeviceGetTotalEccErrors", NULL),
        FUNCTION(replays, "nvmlDeviceGetPcieReplayCounter", NULL),
        FUNCTION(generation, "nvmlDeviceGetCurrPcieLinkGeneration", NULL),
        FUNCTION(width, "nvmlDeviceGetCurrPcieLinkWidth", NULL),
        FUNCTION(fields, "nvmlDeviceGetFieldValues", NULL),
        FUNCTION(processes, "nvmlDeviceGetComputeRunningProcesses_v3",
                 "nvmlDeviceGetComputeRunningProcesses_v2"),
        FUNCTION(process_use, "nvmlDeviceGetProcessUtilization", NULL),
#undef FUNCTION
    };
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();
    if (!library)
        return why ? why : "libnvidia-ml.so.1 cannot be loaded";
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function && functions[i].older)
            function = dlsym(library, functions[i].older);
        memcpy((char *)nvml + functions[i].offset, &function, sizeof function);
    }
    return nvml->init && nvml->count && nvml->handle && nvml->pci
               ? NULL
               : "libnvidia-ml.so.1 lacks functions of NVML";
}

static const char *initialize(struct nvml *nvml, unsigned *count)
{
    static char text[48];
    const char *why = load(nvml);
    if (why)
        return why;
    int outcome = nvml->init();
    if (outcome == NVML_SUCCESS)
        outcome = nvml->count(count);
    snprintf(text, sizeof text, "NVML returned error %d", outcome);
    return outcome == NVML_SUCCESS ? NULL : text;
}

int node_gpu_describe(struct buffer *text)
{
    struct nvml nvml = {0};
    unsigned count = 0;
    char driver[NVML_TEXT_BYTES] = "";
    const char *why = initialize(&nvml, &count);
    if (why)
        return buffer_printf(text, "GPUs (NVML): left out: %s\n", why);
    if (nvml.driver)
        nvml.driver(driver, sizeof driver);
    return buffer_printf(text, "GPUs (NVML): %u, driver %.*s\n", count, (int)sizeof driver - 1, driver);
}

/* -------------------- start -------------------- */

static void tell_gpu(const struct gpus *all, const struct gpu *gpu, struct node_writer *writer)
{
    struct buffer json = BUFFER_INIT;
    char name[NVML_TEXT_BYTES] = "", uuid[NVML_TEXT_BYTES] = "";
    if (all->nvml.name)
        all->nvml.name(gpu->device, name, sizeof name);
    if (all->nvml.uuid)
        all->nvml.uuid(gpu->device, uuid, sizeof uuid);
    if (buffer_printf(&json, "{\"index\":%d", (int)(gpu - all->gpus)) ||
        text_json_string(&json, "bus", gpu->bus) || text_json_string(&json, "uuid", uuid) ||
        text_json_string(&json, "name", name) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, node_monotonic_ns(), "gpu", json.data);
    buffer_release(&json);
}

static void tell_absent(struct node_writer *writer, const char *why)
{
    struct buffer json = BUFFER_INIT;
    if (buffer_append_text(&json, "{\"nvml\":") || text_json_quote(&json, why) ||
        buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, node_monotonic_ns(), "absent", json.data);
    buffer_release(&json);
}

/* The number of the first namespace of processes is fixed. */
static int is_host_namespace(void)
{
    char text[64];
    ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return strcmp(text, "pid:[4026531836]") == 0;
}

static int gpu_open(void *state, const struct node_files *files, struct node_writer *writer,
                    struct node_shared *shared)
{
    struct gpus *all = state;
    unsigned count = 0;
    (void)files;
    const char *why = initialize(&all->nvml, &count);
    all->is_host_namespace = is_host_namespace();
    node_mark_make(all->mark);
    for (unsigned i = 0; !why && i < count && all->count < GPUS; i++) {
        struct gpu *gpu = &all->gpus[all->count];
        struct nvml_pci pci = {0};
        snprintf(shared->device, sizeof shared->device, "index %u", i);
        *gpu = (struct gpu){.asked_count = -1};
        if (all->nvml.handle(i, &gpu->device) == NVML_SUCCESS &&
            all->nvml.pci(gpu->device, &pci) == NVML_SUCCESS)
            for (size_t k = 0; k + 1 < sizeof gpu->bus && pci.bus_id[k]; k++)
                gpu->bus[k] = (char)tolower((unsigned char)pci.bus_id[k]);
        else
            snprintf(gpu->bus, sizeof gpu->bus, "index %u", i);
        all->count++;
        tell_gpu(all, gpu, writer);
    }
    if (!why && all->count == 0)
        why = "no GPU";
    if (why)
        tell_absent(writer, why);
    return !why;
}

/* -------------------- every time -------------------- */

static uint64_t field_value(const struct nvml_field *field)
{
    enum nvml_type { REAL, NATURAL, NATURAL_LONG, NATURAL_64, INTEGER_64, INTEGER, NATURAL_16 };
    switch ((enum nvml_type)field->type) {
    case REAL:
        return field->value.real > 0 ? (uint64_t)field->value.real : 0;
    case NATURAL:
        return field->value.natural;
    case NATURAL_LONG:
        return field->value.natural_long;
    case NATURAL_64:
        return field->value.natural_64;
    case INTEGER_64:
        return field->value.integer_64 > 0 ? (uint64_t)field->value.integer_64 : 0;
    case INTEGER:
        return field->value.integer > 0 ? (uint64_t)field->value.integer : 0;
    case NATURAL_16:
        return field->value.natural_16;
    }
    return 0;
}

/* Returns 0 if the driver does not count these times. */
static int sample_times(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    struct nvml_field fields[THROTTLES];
    for (int i = 0; i < THROTTLES; i++)
        fields[i] = (struct nvml_field){.field = throttles[i].field, .outcome = -1};
    int64_t now_ns = node_monotonic_ns(), elapsed_ns = now_ns - gpu->asked_ns;
    if (!nvml->fields || nvml->fields(gpu->device, THROTTLES, fields) != NVML_SUCCESS)
        return 0;
    for (int i = 0; i < THROTTLES; i++)
        if (fields[i].outcome != NVML_SUCCESS)
            return 0;
    for (int i = 0; i < THROTTLES; i++) {
        uint64_t total_ns = field_value(&fields[i]);
        if (gpu->has_times > 0 && elapsed_ns > 0 && total_ns >= gpu->throttled_ns[i]) {
            double share = (double)(total_ns - gpu->throttled_ns[i]) / (double)elapsed_ns;
            node_put(writer, &gpu->throttle[i], KIND_GPU, gpu->bus, throttles[i].metric,
                     share < 1 ? share : 1);
        }
        gpu->throttled_ns[i] = total_ns;
    }
    gpu->asked_ns = now_ns;
    return 1;
}

static void sample_throttles(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    unsigned long long bits;
    if (gpu->has_times >= 0)
        gpu->has_times = sample_times(nvml, gpu, writer) ? 1 : -1;
    if (!nvml->reasons || nvml->reasons(gpu->device, &bits) != NVML_SUCCESS)
        return;
    node_put(writer, &gpu->hw_slowdown, KIND_GPU, gpu->bus, SERIES_HW_SLOWDOWN,
             (bits & REASON_HW_SLOWDOWN) != 0);
    for (int i = 0; gpu->has_times < 0 && i < THROTTLES; i++)
        node_put(writer, &gpu->throttle[i], KIND_GPU, gpu->bus, throttles[i].metric,
                 (bits & throttles[i].bit) != 0);
}

static void check_lost(struct gpu *gpu, struct node_writer *writer, int outcome)
{
    char json[96];
    int is_lost = outcome == NVML_GPU_IS_LOST || outcome == NVML_RESET_REQUIRED;
    if (is_lost && !gpu->is_lost) {
        snprintf(json, sizeof json, "{\"device\":\"%s\",\"nvml_error\":%d}", gpu->bus, outcome);
        node_line_alone(writer, writer->now_ns, "gpu_lost", json);
    }
    gpu->is_lost = is_lost;
}

static void sample_fast(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    struct nvml_use use;
    unsigned number;
    int outcome = nvml->use ? nvml->use(gpu->device, &use) : -1;
    check_lost(gpu, writer, outcome);
    if (outcome == NVML_SUCCESS)
        node_put(writer, &gpu->use, KIND_GPU, gpu->bus, SERIES_GPU_UTILIZATION, use.gpu / 100.0);
    if (nvml->clock && nvml->clock(gpu->device, NVML_CLOCK_SM, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->sm_clock, KIND_GPU, gpu->bus, SERIES_SM_CLOCK, number);
    if (nvml->power && nvml->power(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->power, KIND_GPU, gpu->bus, SERIES_POWER, number / 1000.0);
    sample_throttles(nvml, gpu, writer);
}

/* -------------------- every tenth time -------------------- */

static void sample_ecc(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    static const enum node_metric_id metrics[2] = {
        [NVML_CORRECTED] = SERIES_ECC_CORRECTED, [NVML_UNCORRECTED] = SERIES_ECC_UNCORRECTED};
    unsigned long long count;
    struct nvml_field rows[2] = {{.field = FIELD_REMAPPED_CORRECTED, .outcome = -1},
                                 {.field = FIELD_REMAPPED_UNCORRECTED, .outcome = -1}};
    for (int type = NVML_CORRECTED; nvml->ecc && type <= NVML_UNCORRECTED; type++)
        if (nvml->ecc(gpu->device, type, NVML_VOLATILE, &count) == NVML_SUCCESS)
            node_count(writer, &gpu->ecc[type], KIND_GPU, gpu->bus, metrics[type], count);
    if (nvml->fields && nvml->fields(gpu->device, 2, rows) == NVML_SUCCESS &&
        rows[0].outcome == NVML_SUCCESS && rows[1].outcome == NVML_SUCCESS)
        node_count(writer, &gpu->rows, KIND_GPU, gpu->bus, SERIES_REMAPPED_ROWS,
                   field_value(&rows[0]) + field_value(&rows[1]));
}

static void sample_pcie(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    unsigned number;
    if (nvml->replays && nvml->replays(gpu->device, &number) == NVML_SUCCESS)
        node_count(writer, &gpu->replays, KIND_GPU, gpu->bus, SERIES_PCIE_REPLAYS, number);
    if (nvml->generation && nvml->generation(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->generation, KIND_GPU, gpu->bus, SERIES_PCIE_GENERATION, number);
    if (nvml->width && nvml->width(gpu->device, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->width, KIND_GPU, gpu->bus, SERIES_PCIE_WIDTH, number);
}

/* Finds out which of the fields and links the driver has: a sum is preferred to the links that it sums. */
static void choose_link_fields(const struct nvml *nvml, struct gpu *gpu)
{
    int has_total[LINK_METRICS] = {0};
    gpu->asked_count = 0;
    for (int i = 0; i < LINK_FIELDS; i++) {
        int metric = link_fields[i].metric;
        for (unsigned link = 0; link < (link_fields[i].is_total ? 1 : LINKS); link++) {
            struct nvml_field field = {.field = link_fields[i].field, .scope = link, .outcome = -1};
            if (!link_fields[i].is_total && has_total[metric])
                break;
            if (nvml->fields(gpu->device, 1, &field) != NVML_SUCCESS || field.outcome != NVML_SUCCESS)
                break;
            has_total[metric] |= link_fields[i].is_total;
            gpu->asked_metric[gpu->asked_count] = metric;
            gpu->asked[gpu->asked_count++] = field;
        }
    }
}

static void sample_links(const struct nvml *nvml, struct gpu *gpu, struct node_writer *writer)
{
    uint64_t sums[LINK_METRICS] = {0};
    int is_known[LINK_METRICS] = {0};
    if (!nvml->fields)
        return;
    if (gpu->asked_count < 0)
        choose_link_fields(nvml, gpu);
    if (gpu->asked_count == 0 || nvml->fields(gpu->device, gpu->asked_count, gpu->asked) != NVML_SUCCESS)
        return;
    for (int i = 0; i < gpu->asked_count; i++) {
        if (gpu->asked[i].outcome != NVML_SUCCESS)
            return;
        sums[gpu->asked_metric[i]] += field_value(&gpu->asked[i]);
        is_known[gpu->asked_metric[i]] = 1;
    }
    for (int i = 0; i < LINK_METRICS; i++)
        if (is_known[i])
            node_count(writer, &gpu->links[i], KIND_GPU, gpu->bus, link_metrics[i], sums[i]);
}

/* -------------------- other processes -------------------- */

/* Names the process once. */
static void tell_other(struct gpus *all, const struct gpu *gpu, struct node_writer *writer, unsigned pid,
                       const char *name)
{
    struct buffer json = BUFFER_INIT;
    for (size_t i = 0; i < all->told_count; i++)
        if (all->told[i] == pid)
            return;
    if (all->told_count == OTHERS)
        return;
    all->told[all->told_count++] = pid;
    if (buffer_printf(&json, "{\"device\":\"%s\",\"pid\":%u", gpu->bus, pid) ||
        text_json_string(&json, "name", name) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, writer->now_ns, "other_process", json.data);
    buffer_release(&json);
}

/* NVIDIA's server for several processes on one GPU works for the job. */
static int is_server(const char *name)
{
    return strncmp(name, "nvidia-cuda-mps", strlen("nvidia-cuda-mps")) == 0;
}

static double share_of_others(const struct nvml *nvml, struct gpu *gpu, const unsigned *others, size_t count)
{
    struct nvml_process_use uses[PROCESSES];
    unsigned use_count = PROCESSES, percent = 0;
    if (!nvml->process_use || nvml->process_use(gpu->device, uses, &use_count, gpu->seen_us) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < use_count && i < PROCESSES; i++) {
        if (uses[i].timestamp_us > gpu->seen_us)
            gpu->seen_us = uses[i].timestamp_us;
        for (size_t k = 0; k < count; k++)
            if (others[k] == uses[i].pid && uses[i].sm <= 100)
                percent += uses[i].sm;
    }
    return percent / 100.0;
}

/*
 * Processes on the GPU that are not the job's. In a container the numbers may be those of the host, so there
 * they count only if the job's own are among them. A process that cannot be seen is not judged.
 */
static void sample_others(struct gpus *all, struct gpu *gpu, const struct node_files *files,
                          struct node_writer *writer, const struct node_shared *shared)
{
    struct nvml_process processes[PROCESSES];
    unsigned count = PROCESSES, others[PROCESSES];
    size_t other_count = 0, ours = 0;
    uint64_t memory = 0;
    if (!all->nvml.processes || all->nvml.processes(gpu->device, &count, processes) != NVML_SUCCESS ||
        count > PROCESSES || shared->root_count == 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct node_stat stat;
        int is_ours = node_is_of_job(files, (pid_t)processes[i].pid, shared->roots,
                                     (size_t)shared->root_count, all->mark);
        ours += is_ours == 1;
        if (is_ours != 0 || node_stat_read(files, (pid_t)processes[i].pid, &stat) || is_server(stat.name))
            continue;
        others[other_count++] = processes[i].pid;
        memory += processes[i].used_memory == NVML_NOT_AVAILABLE ? 0 : processes[i].used_memory;
    }
    if (!all->is_host_namespace && ours == 0)
        return;
    for (size_t i = 0; i < other_count; i++) {
        struct node_stat stat;
        if (node_stat_read(files, (pid_t)others[i], &stat) == 0)
            tell_other(all, gpu, writer, others[i], stat.name);
    }
    double share = other_count ? share_of_others(&all->nvml, gpu, others, other_count) : 0;
    node_put(writer, &gpu->other_share, KIND_GPU, gpu->bus, SERIES_OTHER_SHARE, share < 1 ? share : 1);
    node_put(writer, &gpu->other_memory, KIND_GPU, gpu->bus, SERIES_OTHER_MEMORY, (double)memory);
}

static void sample_slow(struct gpus *all, struct gpu *gpu, const struct node_files *files,
                        struct node_writer *writer, const struct node_shared *shared)
{
    const struct nvml *nvml = &all->nvml;
    struct nvml_memory memory;
    unsigned number;
    if (nvml->clock && nvml->clock(gpu->device, NVML_CLOCK_MEMORY, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->memory_clock, KIND_GPU, gpu->bus, SERIES_MEMORY_CLOCK, number);
    if (nvml->temperature && nvml->temperature(gpu->device, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS)
        node_put(writer, &gpu->temperature, KIND_GPU, gpu->bus, SERIES_TEMPERATURE, number);
    if (nvml->memory && nvml->memory(gpu->device, &memory) == NVML_SUCCESS)
        node_put(writer, &gpu->memory, KIND_GPU, gpu->bus, SERIES_GPU_MEMORY, (double)memory.used);
    sample_ecc(nvml, gpu, writer);
    sample_pcie(nvml, gpu, writer);
    sample_links(nvml, gpu, writer);
    sample_others(all, gpu, files, writer, shared);
}

static void gpu_sample(void *state, const struct node_files *files, struct node_writer *writer,
                       struct node_shared *shared, int64_t since_ns, int64_t now_ns, int is_slow)
{
    struct gpus *all = state;
    node_line_begin(writer, since_ns, now_ns);
    for (unsigned i = 0; i < all->count; i++) {
        struct gpu *gpu = &all->gpus[i];
        if (strncmp(gpu->bus, "index", strlen("index")) == 0)
            continue;
        snprintf(shared->device, sizeof shared->device, "%s", gpu->bus);
        if (is_slow)
            sample_slow(all, gpu, files, writer, shared);
        else
            sample_fast(&all->nvml, gpu, writer);
    }
    node_line_finish(writer, 0);
}

/* Where the driver is not kept loaded, it takes seconds for each GPU to start. */
const struct node_work node_work_gpu = {
    .name = "nvml",
    .prefix = "g",
    .patience_ns = 60000000000,
    .open = gpu_open,
    .sample = gpu_sample,
    .state_bytes = sizeof(struct gpus),
};
