/* NVIDIA's management library: loads it, and says what there is. */
#include "node/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

const char *nvml_start(struct nvml *nvml, unsigned *count)
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
    const char *why = nvml_start(&nvml, &count);
    if (why)
        return buffer_printf(text, "GPUs (NVML): left out: %s\n", why);
    if (nvml.driver)
        nvml.driver(driver, sizeof driver);
    return buffer_printf(text, "GPUs (NVML): %u, driver %.*s\n", count, (int)sizeof driver - 1, driver);
}
