/*
 * Writes truth.json: the planted faults, their costs, the offset of every clock, and the late ranks by the
 * true clock.
 */
#include "simulate.h"

#include <stdlib.h>
#include <string.h>

static const char *kind_of(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_COMPUTE:
    case FAULT_THROTTLE:
    case FAULT_GPU_SHARE:
        return "compute";
    case FAULT_HOST:
    case FAULT_CHECKPOINT:
    case FAULT_LOADER:
    case FAULT_COLLECTION:
    case FAULT_CPU_SHARE:
    case FAULT_STOP:
        return "host";
    case FAULT_HANG:
    case FAULT_FREEZE:
    case FAULT_EXIT:
        return "missing";
    case FAULT_KILL:
        return "ended_early";
    case FAULT_MISMATCH:
        return "mismatch";
    default:
        return "network";
    }
}

bool fault_stops_job(enum fault_kind kind)
{
    return kind == FAULT_HANG || kind == FAULT_KILL || kind == FAULT_MISMATCH || kind == FAULT_FREEZE ||
           kind == FAULT_EXIT;
}

/* All ranks of a fault, and what they share: a host, or the network card of several of its ranks. */
static void write_group(struct output *output, const struct job *job, const struct fault *fault)
{
    int node = job->processes[fault->rank].node, on_node = 0, there = 0;
    output_print(output, "\"ranks\": [");
    for (int i = 0; i < fault->rank_count; i++) {
        output_print(output, "%s%d", i > 0 ? ", " : "", fault->ranks[i]);
        on_node += job->processes[fault->ranks[i]].node == node;
    }
    for (int rank = 0; rank < job->options.ranks; rank++)
        there += job->processes[rank].node == node;
    bool together = fault->rank_count > 1 && on_node == fault->rank_count;
    const char *unit = !together                        ? NULL
                       : on_node == there               ? "host"
                       : kind_of(fault->kind)[0] == 'n' ? "nic"
                                                        : NULL;
    if (fault->kind == FAULT_SWITCH) {
        output_print(output, "], \"unit\": \"switch\", \"crossing\": [");
        for (int i = 0; i < fault->crossing_count; i++)
            output_print(output, "%s[%d, %d]", i > 0 ? ", " : "", fault->crossing[i][0],
                         fault->crossing[i][1]);
        output_print(output, "], ");
    } else if (unit != NULL)
        output_print(output, "], \"unit\": \"%s\", \"host\": \"%s\", ", unit,
                     job->processes[fault->rank].host);
    else
        output_print(output, "], \"unit\": null, ");
}

static void write_fault(struct output *output, const struct job *job, const struct fault *fault)
{
    int steps = fault_steps(fault);
    output_print(output, "  {\"kind\": \"%s\", \"planted\": %d, \"rank\": %d, ", kind_of(fault->kind),
                 (int)fault->kind, fault->rank);
    write_group(output, job, fault);
    output_print(output, fault->peer >= 0 ? "\"peers\": [%d], " : "\"peers\": [], ", fault->peer);
    if (fault->equivalent >= 0)
        output_print(output, "\"equivalent_rank\": %d, ", fault->equivalent);
    if (fault->phase >= 0)
        output_print(output, "\"tag\": \"%s\", ", job->phases[fault->phase]);
    else
        output_print(output, "\"tag\": null, ");
    output_print(output, "\"first_step\": %d, \"last_step\": %d, \"period\": %d, \"amount\": %.3f, ",
                 fault->first_step, fault->last_step, fault->every, fault->amount);
    if (fault_stops_job(fault->kind) || job->options.once)
        output_print(output, "\"lost_us\": null, \"alone_us\": null, \"lost_percent\": null}");
    else
        output_print(output, "\"lost_us\": %.1f, \"alone_us\": %.1f, \"lost_percent\": %.3f}", fault->lost_us,
                     fault->alone_us,
                     job->clean_step_us > 0 ? 100 * fault->lost_us / steps / job->clean_step_us : 0);
}

static int compare_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* `durations` and `sorted` have space for each member. */
static void judge_instance(const struct communicator *communicator, const struct instance *instance,
                           struct lateness *lateness, int64_t *durations, int64_t *sorted)
{
    int last = -1;
    for (int i = 0; i < communicator->size; i++) {
        const struct record *record = instance->member[i];
        if (record == NULL || record->end == UNKNOWN)
            return;
        if (last < 0 || record->start > instance->member[last]->start)
            last = i;
        durations[i] = record->end - record->start;
    }
    lateness->times_last[communicator->ranks[last]]++;
    memcpy(sorted, durations, (size_t)communicator->size * sizeof(*sorted));
    qsort(sorted, (size_t)communicator->size, sizeof(*sorted), compare_time);
    int64_t median = sorted[communicator->size / 2];
    for (int i = 0; i < communicator->size; i++)
        lateness->shorter_us[communicator->ranks[i]] += (double)(median - durations[i]) / 1000;
}

void lateness_note(struct job *job, const struct communicator *communicator, int last_step)
{
    size_t ranks = (size_t)job->options.ranks, size = (size_t)communicator->size;
    if (job->lateness.times_last == NULL)
        job->lateness = (struct lateness){allocate(ranks, sizeof(int)), allocate(ranks, sizeof(double))};
    int64_t *durations = allocate(2 * size, sizeof(*durations));
    for (int i = 0; i < communicator->instance_count; i++) {
        struct instance *instance = communicator->instances[i];
        if (instance->judged || instance->step > last_step)
            continue;
        instance->judged = true;
        if (instance->step > 0)
            judge_instance(communicator, instance, &job->lateness, durations, durations + size);
    }
    free(durations);
}

static void write_lateness(struct output *output, struct job *job)
{
    size_t ranks = (size_t)job->options.ranks;
    for (int i = 0; i < job->communicator_count; i++)
        lateness_note(job, &job->communicators[i], job->options.steps);
    const struct lateness lateness = job->lateness;
    output_print(output, " \"times_last\": [");
    for (size_t i = 0; i < ranks; i++)
        output_print(output, "%s%d", i > 0 ? ", " : "", lateness.times_last[i]);
    output_print(output, "],\n \"shorter_us\": [");
    for (size_t i = 0; i < ranks; i++)
        output_print(output, "%s%.1f", i > 0 ? ", " : "", lateness.shorter_us[i]);
    output_print(output, "],\n");
}

static void write_clocks(struct output *output, const struct job *job)
{
    output_print(output, " \"processes\": [\n");
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        output_print(output,
                     "  {\"rank\": %d, \"host\": \"%s\", \"pid\": %d, \"offset_us\": %.3f, \"scale\": %.9f, "
                     "\"operations\": %d}%s\n",
                     rank, process->host, process->pid, (double)process->start_ns / 1000, process->scale,
                     process->taken + process->record_count, rank + 1 < job->options.ranks ? "," : "");
    }
    output_print(output, " ],\n");
}

static void write_communicators(struct output *output, const struct job *job)
{
    output_print(output, " \"communicators\": [\n");
    for (int i = 0; i < job->communicator_count; i++) {
        const struct communicator *communicator = &job->communicators[i];
        output_print(output, "  {\"name\": \"%s\", \"hash\": \"%llu\", \"ranks\": [", communicator->name,
                     (unsigned long long)communicator->hash);
        for (int k = 0; k < communicator->size; k++)
            output_print(output, "%s%d", k > 0 ? ", " : "", communicator->ranks[k]);
        output_print(output, "]}%s\n", i + 1 < job->communicator_count ? "," : "");
    }
    output_print(output, " ]\n");
}

void truth_write(struct job *job)
{
    const struct options *options = &job->options;
    struct output *output = output_open(options->directory, "truth.json", false);
    output_print(
        output, "{\"command\": \"%s\",\n \"shape\": \"%s\", \"ranks\": %d, \"steps\": %d, \"seed\": %llu, ",
        options->command, options->shape, options->ranks, options->steps, (unsigned long long)options->seed);
    output_print(output, "\"dialect\": \"%s\", \"lost_operations\": %d, \"lost_ranks\": [", options->dialect,
                 job->lost_operations);
    for (int rank = 0, count = 0; rank < options->ranks; rank++)
        if (job->processes[rank].lost)
            output_print(output, "%s%d", count++ > 0 ? ", " : "", rank);
    output_print(output, "], ");
    output_print(output, options->once ? "\"clean_step_us\": null" : "\"clean_step_us\": %.1f",
                 job->clean_step_us);
    output_print(output, ",\n \"faults\": [");
    for (int i = 0; i < job->fault_count; i++) {
        output_print(output, i > 0 ? ",\n" : "\n");
        write_fault(output, job, &job->faults[i]);
    }
    output_print(output, "],\n \"step_us\": [");
    for (int i = 0; i < options->steps; i++) {
        int64_t before = i > 0 ? job->step_end[i - 1] : 0;
        if (job->step_end[i] == UNKNOWN)
            output_print(output, "%snull", i > 0 ? ", " : "");
        else
            output_print(output, "%s%.1f", i > 0 ? ", " : "", (double)(job->step_end[i] - before) / 1000);
    }
    output_print(output, "],\n");
    situation_truth(output, job);
    write_lateness(output, job);
    write_clocks(output, job);
    write_communicators(output, job);
    output_print(output, "}\n");
    output_close(output);
}
