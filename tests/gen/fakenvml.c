/*
 * A library with the functions of NVML that the sampler of `record` calls, for two GPUs. GPU 1 is throttled
 * by the hardware for half of the time. Layouts and numbers are those of NVIDIA's nvml.h. Settings:
 * FAKENVML_HANG=N  the Nth call of nvmlDeviceGetUtilizationRates does not return
 * FAKENVML_LOST=N  from the Nth such call on GPU 1 is lost
 * FAKENVML_PIDS=FILE  a file with the numbers of processes, which all use GPU 0
 * FAKENVML_OLD=1  the driver does not count how long clocks were lowered
 * FAKENVML_NONE=1  nvmlInit fails
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

static char gpus[2];
static int calls;

static int setting(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

static int index_of(const void *device)
{
    return (int)((const char *)device - gpus);
}

static unsigned long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

EXPORT int nvmlInit_v2(void)
{
    return setting("FAKENVML_NONE") ? DRIVER_NOT_LOADED : SUCCESS;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length)
{
    snprintf(text, length, "570.00");
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = sizeof gpus;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &gpus[index];
    return SUCCESS;
}

EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned length)
{
    snprintf(text, length, "Fake GPU");
    return SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned length)
{
    snprintf(text, length, "GPU-0000000%d", index_of(device));
    return SUCCESS;
}

struct pci {
    char legacy[16];
    unsigned numbers[5];
    char bus_id[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%dB:00.0", index_of(device) + 3);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = which == 1 ? (index_of(device) ? 1200 : 1980) : 2619;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    *bits = index_of(device) ? 0x48 : 0;
    return SUCCESS;
}

struct use {
    unsigned gpu, memory;
};

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct use *use)
{
    calls++;
    while (setting("FAKENVML_HANG") && calls >= setting("FAKENVML_HANG"))
        pause();
    if (setting("FAKENVML_LOST") && calls >= setting("FAKENVML_LOST") && index_of(device))
        return GPU_IS_LOST;
    *use = (struct use){97, 40};
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = index_of(device) ? 91 : 60;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 650400;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    memory[0] = 80ull << 30;
    memory[1] = 16ull << 30;
    memory[2] = 64ull << 30;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count)
{
    static unsigned long long corrected;
    *count = type == 0 && index_of(device) ? corrected += 3 : 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *count)
{
    *count = 7;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation)
{
    *generation = 5;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes)
{
    *lanes = 16;
    return SUCCESS;
}

struct field {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type;
    int outcome;
    unsigned long long value;
};

/* 269 to 271 and 74: nanoseconds with lower clocks. 163: errors of link 0 and 1. 142, 143: rows. */
EXPORT int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    for (int i = 0; i < count; i++) {
        struct field *field = &fields[i];
        int is_time = field->field == 74 || (field->field >= 269 && field->field <= 271);
        int is_link = field->field == 163 && field->scope < 2,
            is_rows = field->field == 142 || field->field == 143;
        field->type = 3;
        field->outcome =
            (is_time && !setting("FAKENVML_OLD")) || is_link || is_rows ? SUCCESS : NOT_SUPPORTED;
        field->value = is_time && field->field == 270 && index_of(device) ? now_ns() / 2 : is_link ? 11 : 0;
    }
    return SUCCESS;
}

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instances[2];
};

static unsigned read_pids(unsigned *pids, unsigned most)
{
    const char *path = getenv("FAKENVML_PIDS");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned count = 0;
    while (file && count < most && fscanf(file, "%u", &pids[count]) == 1)
        count++;
    if (file)
        fclose(file);
    return count;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *processes)
{
    unsigned pids[16], found = index_of(device) ? 0 : read_pids(pids, 16);
    for (unsigned i = 0; i < found; i++)
        processes[i] = (struct process){.pid = pids[i], .used = 1ull << 30};
    *count = found;
    return SUCCESS;
}

struct process_use {
    unsigned pid;
    unsigned long long timestamp;
    unsigned sm, memory, encoder, decoder;
};

EXPORT int nvmlDeviceGetProcessUtilization(void *device, struct process_use *uses, unsigned *count,
                                           unsigned long long since)
{
    unsigned pids[16], found = index_of(device) ? 0 : read_pids(pids, 16);
    for (unsigned i = 0; i < found; i++)
        uses[i] = (struct process_use){.pid = pids[i], .timestamp = since + 1, .sm = 31};
    *count = found;
    return SUCCESS;
}
