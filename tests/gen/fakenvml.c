/*
 * A library with the functions of NVML that the sampler of `record` calls, for two GPUs or more. GPU 1 is
 * throttled by the hardware for half of the time. Layouts and numbers are those of NVIDIA's nvml.h. Settings:
 * FAKENVML_GPUS=N  their number, at most 16
 * FAKENVML_HANG=N  the Nth call of nvmlDeviceGetUtilizationRates does not return
 * FAKENVML_LOST=N  from the Nth such call on GPU 1 is lost
 * FAKENVML_PROCESSES=FILE  the processes that use GPUs, a line for each: its number, the GPU, MiB of memory,
 *                   and how busy the SMs are while it computes, in percent, 0 if it does not
 * FAKENVML_HIDDEN=FILE  a file with MiB of memory on GPU 0 for which no process accounts
 * FAKENVML_COSTS=N  calls take N times the CPU time that they take on an H100 with driver 580; default 0
 * FAKENVML_CALLS=FILE  counts calls: six 64-bit numbers, by kind of call (enum kind)
 * FAKENVML_LATEST=1  the driver tells the latest use by each process, not the average
 * FAKENVML_NO_SHARES=1  the driver does not tell the use by processes
 * FAKENVML_NONE=1  nvmlInit fails
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

/* Kinds of calls by what they cost. */
enum kind { AT_HAND, LISTS, PCIE, FIELDS, SHARES, KINDS };

static char gpus[16];
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

static unsigned long long clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

/* Counts a call, and uses the CPU time that it takes. */
static void cost(enum kind kind)
{
    static const unsigned long long ns[KINDS] = {700, 8000, 125000, 170000, 2700000};
    static unsigned long long *counts;
    const char *path = getenv("FAKENVML_CALLS");
    int file = path && !counts ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file >= 0 && ftruncate(file, KINDS * sizeof *counts) == 0) {
        void *shared = mmap(NULL, KINDS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counts = shared == MAP_FAILED ? NULL : shared;
    }
    if (file >= 0)
        close(file);
    if (counts)
        counts[kind]++;
    unsigned long long until_ns =
        clock_ns(CLOCK_PROCESS_CPUTIME_ID) + ns[kind] * (unsigned)setting("FAKENVML_COSTS");
    while (setting("FAKENVML_COSTS") && clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
        ;
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
    *count = setting("FAKENVML_GPUS") ? (unsigned)setting("FAKENVML_GPUS") : 2;
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
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%XB:00.0", index_of(device) + 3);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    cost(AT_HAND);
    *mhz = which == 1 ? (index_of(device) ? 1200 : 1980) : 2619;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    static unsigned turn;
    cost(AT_HAND);
    *bits = index_of(device) == 1 ? (turn++ & 1 ? 0x48 : 0x8) : 0;
    return SUCCESS;
}

struct use {
    unsigned gpu, memory;
};

EXPORT int nvmlDeviceGetUtilizationRates(void *device, struct use *use)
{
    cost(AT_HAND);
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
    cost(AT_HAND);
    *celsius = index_of(device) ? 91 : 60;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    cost(AT_HAND);
    *milliwatts = 650400;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count)
{
    static unsigned long long corrected;
    cost(AT_HAND);
    *count = type == 0 && index_of(device) ? corrected += 3 : 0;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *count)
{
    cost(PCIE);
    *count = 7;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation)
{
    cost(AT_HAND);
    *generation = 5;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes)
{
    cost(PCIE);
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

/* 163: errors of link 0 and 1. 142, 143: rows. */
EXPORT int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    for (int i = 0; i < count; i++) {
        struct field *field = &fields[i];
        int is_link = field->field == 163 && field->scope < 2,
            is_rows = field->field == 142 || field->field == 143;
        cost(FIELDS);
        field->type = 3;
        field->outcome = is_link || is_rows ? SUCCESS : NOT_SUPPORTED;
        field->value = is_link ? 11 : 0;
    }
    return SUCCESS;
}

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instances[2];
};

struct user {
    unsigned pid, mebibytes, percent;
};

/* The processes on a GPU. */
static unsigned read_users(const void *device, struct user *users, unsigned most)
{
    const char *path = getenv("FAKENVML_PROCESSES");
    FILE *file = path ? fopen(path, "r") : NULL;
    unsigned count = 0, gpu;
    while (file && count < most &&
           fscanf(file, "%u %u %u %u", &users[count].pid, &gpu, &users[count].mebibytes,
                  &users[count].percent) == 4)
        count += gpu == (unsigned)index_of(device);
    if (file)
        fclose(file);
    return count;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *processes)
{
    struct user users[16];
    cost(LISTS);
    *count = read_users(device, users, 16);
    for (unsigned i = 0; i < *count; i++)
        processes[i] =
            (struct process){.pid = users[i].pid, .used = (unsigned long long)users[i].mebibytes << 20};
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    const char *path = getenv("FAKENVML_HIDDEN");
    FILE *file = path && !index_of(device) ? fopen(path, "r") : NULL;
    struct user users[16];
    unsigned hidden = 0, count = read_users(device, users, 16);
    cost(LISTS);
    if (file && fscanf(file, "%u", &hidden) != 1)
        hidden = 0;
    if (file)
        fclose(file);
    memory[0] = 80ull << 30;
    memory[2] = (512ull + hidden) << 20; /* the driver needs some, too */
    for (unsigned i = 0; i < count; i++)
        memory[2] += (unsigned long long)users[i].mebibytes << 20;
    memory[1] = memory[0] - memory[2];
    return SUCCESS;
}

struct process_use {
    unsigned pid;
    unsigned long long timestamp;
    unsigned sm, memory, encoder, decoder;
};

/*
 * Every 200 ms the driver notes the use of the whole GPU for one of the processes that compute, in turn. It
 * returns for each process the average over the notes since a time, at most of two seconds, or the latest
 * note.
 */
EXPORT int nvmlDeviceGetProcessUtilization(void *device, struct process_use *uses, unsigned *count,
                                           unsigned long long since)
{
    enum { NOTE_US = 200000, NOTES = 10 };
    struct user users[16], busy[16];
    unsigned found = read_users(device, users, 16), computing = 0, notes = 0, sums[16] = {0};
    unsigned long long now = clock_ns(CLOCK_REALTIME) / 1000 / NOTE_US, latest[16] = {0};
    cost(SHARES);
    if (setting("FAKENVML_NO_SHARES"))
        return NOT_SUPPORTED;
    for (unsigned i = 0; i < found; i++)
        if (users[i].percent)
            busy[computing++] = users[i];
    *count = 0;
    for (unsigned long long note = now; computing && note * NOTE_US > since && notes < NOTES;
         note--, notes++) {
        unsigned i = (unsigned)(note % computing);
        sums[i] += busy[i].percent;
        latest[i] = latest[i] ? latest[i] : note * NOTE_US;
    }
    for (unsigned i = 0; i < computing; i++)
        if (latest[i])
            uses[(*count)++] =
                (struct process_use){.pid = busy[i].pid,
                                     .timestamp = latest[i],
                                     .sm = setting("FAKENVML_LATEST") ? busy[i].percent : sums[i] / notes};
    return *count ? SUCCESS : NOT_FOUND;
}
