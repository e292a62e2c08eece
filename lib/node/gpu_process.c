/* The processes on GPUs: those of the job, and others that compute there. */
#include "node/gpu.h"

#include <stdio.h>
#include <string.h>

/* A process can become the job's without that the list changes: by a call of exec. */
static const int64_t SIDES_HOLD_NS = 10000000000;

/* A process that uses a GPU has this much memory there at least: an empty context has more. */
static const uint64_t HIDDEN_BYTES = (uint64_t)128 << 20;

/* Writes once that a process uses a GPU. */
static void tell(struct gpus *all, const struct gpu *gpu, struct node_writer *writer, unsigned pid,
                 const char *what, const char *name)
{
    struct buffer json = BUFFER_INIT;
    unsigned index = (unsigned)(gpu - all->gpus);
    for (size_t i = 0; i < all->told_count; i++)
        if (all->told[i].pid == pid && all->told[i].gpu == index)
            return;
    if (all->told_count == TOLD)
        return;
    all->told[all->told_count].pid = pid;
    all->told[all->told_count++].gpu = index;
    if (buffer_printf(&json, "{\"device\":\"%s\",\"pid\":%u", gpu->bus, pid) ||
        text_json_string(&json, "name", name) || buffer_append_byte(&json, '}'))
        writer->has_failed = 1;
    else
        node_line_alone(writer, writer->now_ns, what, json.data);
    buffer_release(&json);
}

/* NVIDIA's server for several processes on one GPU works for the job. */
static int is_server(const char *name)
{
    return strncmp(name, "nvidia-cuda-mps", strlen("nvidia-cuda-mps")) == 0;
}

/* Whose each process is; a process that cannot be seen is not judged. */
static void determine_sides(struct gpus *all, struct gpu *gpu, const struct node_round *round)
{
    const struct node_shared *shared = round->shared;
    gpu->job_count = gpu->other_count = 0;
    gpu->root_count = shared->root_count;
    gpu->sides_ns = round->now_ns;
    for (unsigned i = 0; i < gpu->process_count; i++) {
        struct gpu_process *process = &gpu->processes[i];
        struct node_stat stat;
        int is_ours = node_is_of_job(round->files, (pid_t)process->pid, shared->roots,
                                     (size_t)shared->root_count, all->mark);
        process->side = PROCESS_UNKNOWN;
        if (is_ours < 0 || node_stat_read(round->files, (pid_t)process->pid, &stat) || is_server(stat.name))
            continue;
        process->side = is_ours ? PROCESS_OF_JOB : PROCESS_OF_OTHERS;
        gpu->job_count += is_ours;
        gpu->other_count += !is_ours;
    }
    all->sees_job |= gpu->job_count > 0;
}

static void tell_processes(struct gpus *all, struct gpu *gpu, const struct node_round *round)
{
    for (unsigned i = 0; all->sees_job && i < gpu->process_count; i++) {
        const struct gpu_process *process = &gpu->processes[i];
        struct node_stat stat;
        if (process->side != PROCESS_UNKNOWN && node_stat_read(round->files, (pid_t)process->pid, &stat) == 0)
            tell(all, gpu, round->writer, process->pid,
                 process->side == PROCESS_OF_JOB ? "job_process" : "other_process", stat.name);
    }
}

/* The list of processes. Returns -1 if it cannot be had. */
static int read_list(const struct gpus *all, const struct gpu *gpu, const struct node_round *round,
                     struct nvml_process *list, unsigned *count)
{
    *count = PROCESSES;
    return all->nvml.processes && round->shared->root_count > 0 &&
                   all->nvml.processes(gpu->device, count, list) == NVML_SUCCESS && *count <= PROCESSES
               ? 0
               : -1;
}

static int is_same_list(const struct gpu *gpu, const struct nvml_process *list, unsigned count)
{
    for (unsigned i = 0; i < count && i < gpu->process_count; i++)
        if (list[i].pid != gpu->processes[i].pid)
            return 0;
    return gpu->has_processes && count == gpu->process_count;
}

/* The memory of the processes of one side. Returns -1 if the driver does not tell it. */
static int memory_of(const struct gpu *gpu, const struct nvml_process *list, enum process_side side,
                     uint64_t *bytes)
{
    int outcome = 0;
    *bytes = 0;
    for (unsigned i = 0; i < gpu->process_count; i++) {
        if (gpu->processes[i].side != side)
            continue;
        if (list[i].used_memory == NVML_NOT_AVAILABLE)
            outcome = -1;
        else
            *bytes += list[i].used_memory;
    }
    return outcome;
}

/*
 * Memory in use beyond what the processes of the list have, and beyond the least such memory so far, which
 * the driver needs: that of processes which the list does not show in a container.
 */
static void find_hidden_memory(struct gpu *gpu, uint64_t used, uint64_t listed)
{
    uint64_t unknown = used > listed ? used - listed : 0;
    if (unknown < gpu->least_unknown)
        gpu->least_unknown = unknown;
    gpu->hidden_bytes = unknown - gpu->least_unknown;
}

static void put_memory(struct gpus *all, struct gpu *gpu, struct node_writer *writer,
                       const struct nvml_process *list)
{
    struct nvml_memory memory;
    uint64_t ours, others, servers;
    int is_complete = memory_of(gpu, list, PROCESS_OF_JOB, &ours) == 0;
    is_complete &= memory_of(gpu, list, PROCESS_OF_OTHERS, &others) == 0;
    is_complete &= memory_of(gpu, list, PROCESS_UNKNOWN, &servers) == 0;
    gpu->hidden_bytes = 0;
    if (all->nvml.memory && all->nvml.memory(gpu->device, &memory) == NVML_SUCCESS) {
        node_put(writer, &gpu->memory, KIND_GPU, gpu->bus, SERIES_GPU_MEMORY, (double)memory.used);
        if (is_complete && gpu->job_count)
            find_hidden_memory(gpu, memory.used, ours + others + servers);
    }
    if (gpu->has_processes && all->sees_job)
        node_put(writer, &gpu->other_memory, KIND_GPU, gpu->bus, SERIES_OTHER_MEMORY,
                 (double)(others + gpu->hidden_bytes));
}

int gpu_is_shared(const struct gpu *gpu)
{
    return gpu->job_count > 0 && gpu->other_count > 0;
}

/*
 * As long as a GPU is not shared, the others use nothing of it that the job would need. With much memory for
 * which no process accounts, that is not known.
 */
static void put_no_share(struct gpus *all, struct gpu *gpu, struct node_writer *writer)
{
    if (gpu_is_shared(gpu) || !gpu->has_processes || !all->sees_job)
        return;
    if (gpu->hidden_bytes >= HIDDEN_BYTES)
        node_end(writer, &gpu->other_share);
    else
        node_put(writer, &gpu->other_share, KIND_GPU, gpu->bus, SERIES_OTHER_SHARE, 0);
    gpu->seen_us = 0;
    gpu->due_ns[DEAR_SHARES] = gpu->asked_ns[DEAR_SHARES] = 0;
}

static void take_list(struct gpus *all, struct gpu *gpu, const struct node_round *round,
                      const struct nvml_process *list, unsigned count)
{
    int is_same = is_same_list(gpu, list, count);
    for (unsigned i = 0; !is_same && i < count; i++)
        gpu->processes[i].pid = list[i].pid;
    gpu->process_count = count;
    gpu->has_processes = 1;
    if (!is_same || gpu->root_count != round->shared->root_count ||
        round->now_ns - gpu->sides_ns >= SIDES_HOLD_NS) {
        determine_sides(all, gpu, round);
        tell_processes(all, gpu, round);
    }
}

void gpu_list_processes(struct gpus *all, struct gpu *gpu, const struct node_round *round)
{
    struct nvml_process list[PROCESSES];
    unsigned count = 0;
    if (read_list(all, gpu, round, list, &count) == 0)
        take_list(all, gpu, round, list, count);
    else
        gpu->has_processes = gpu->job_count = gpu->other_count = (int)(gpu->process_count = 0);
    put_memory(all, gpu, round->writer, list);
    put_no_share(all, gpu, round->writer);
}

/* The part of the GPU that the others used, as entries later than `before_us` say. */
static double share_in(struct gpu *gpu, const struct nvml_process_use *uses, unsigned count,
                       unsigned long long before_us)
{
    unsigned all = 0, others = 0;
    for (unsigned i = 0; i < count && i < PROCESSES; i++) {
        if (uses[i].timestamp_us > gpu->seen_us)
            gpu->seen_us = uses[i].timestamp_us;
        if (uses[i].timestamp_us <= before_us || uses[i].sm > 100)
            continue;
        all += uses[i].sm;
        for (unsigned k = 0; k < gpu->process_count; k++)
            if (gpu->processes[k].pid == uses[i].pid && gpu->processes[k].side == PROCESS_OF_OTHERS)
                others += uses[i].sm;
    }
    return others / (all > 100 ? (double)all : 100.0);
}

void gpu_ask_shares(struct gpus *all, struct gpu *gpu, struct node_writer *writer)
{
    struct nvml_process_use uses[PROCESSES];
    unsigned count = PROCESSES;
    unsigned long long before_us = gpu->seen_us;
    int outcome = all->nvml.process_use ? all->nvml.process_use(gpu->device, uses, &count, before_us) : -1;
    if (outcome != NVML_SUCCESS && outcome != NVML_NOT_FOUND) {
        node_end(writer, &gpu->other_share);
        return;
    }
    double share = share_in(gpu, uses, outcome == NVML_SUCCESS ? count : 0, before_us);
    /* The first answer may be about any time before. */
    if (before_us)
        node_put(writer, &gpu->other_share, KIND_GPU, gpu->bus, SERIES_OTHER_SHARE, share);
    else if (!gpu->seen_us)
        gpu->seen_us = 1;
}
