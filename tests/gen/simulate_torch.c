#include "simulate_torch.h"

#include <inttypes.h>
#include <string.h>

#define EPOCH_NS INT64_C(1795218000000000000)

struct torch_group torch_group_at(const struct job *job, const struct process *process, int first)
{
    const struct record *record = process->records[first];
    struct torch_group group = {&process->records[first], 1, &job->communicators[record->communicator]};
    while (first + group.count < process->record_count &&
           process->records[first + group.count]->group == record->group)
        group.count++;
    return group;
}

bool torch_is_all_to_all(const struct torch_group *group)
{
    return group->records[0]->function >= FUNCTION_SEND && strncmp(group->communicator->name, "ep", 2) == 0;
}

bool torch_is_batch(const struct torch_group *group)
{
    return group->count > 1 && !torch_is_all_to_all(group);
}

struct torch_function torch_function_of(const struct torch_group *group)
{
    static const struct torch_function functions[] = {
        {"allreduce", "all_reduce", "allreduce_", "AllReduce_Sum"},
        {"_allgather_base", "_all_gather_base", "_allgather_base_", "AllGather"},
        {"_reduce_scatter_base", "_reduce_scatter_base", "_reduce_scatter_base_", "ReduceScatter_Sum"},
        {"broadcast", "broadcast", "broadcast_", "Broadcast"},
        {"reduce", "reduce", "reduce_", "Reduce_Sum"},
        {"send", "send", "send", "SendRecv"},
        {"recv", "recv", "recv_", "SendRecv"},
        {"all_to_allv", "all_to_all", "alltoall_base_", "SendRecv"},
    };
    if (torch_is_all_to_all(group))
        return functions[FUNCTION_RECV + 1];
    return functions[group->records[0]->function];
}

int64_t torch_start(const struct torch_group *group)
{
    return group->records[0]->start;
}

int64_t torch_end(const struct torch_group *group)
{
    int64_t end = 0;
    for (int i = 0; i < group->count; i++) {
        if (group->records[i]->end == UNKNOWN)
            return UNKNOWN;
        end = group->records[i]->end > end ? group->records[i]->end : end;
    }
    return end;
}

/* The data sent to or received from peers, and that which a rank keeps: as much as for one peer. */
static int64_t exchanged(const struct torch_group *group, enum function function)
{
    int64_t sum = 0;
    for (int i = 0; i < group->count; i++)
        if (group->records[i]->function == function)
            sum += torch_elements(group->records[i]);
    return sum + sum / (group->communicator->size - 1);
}

int64_t torch_elements(const struct record *record)
{
    return record->function >= FUNCTION_SEND ? record->count / 2 : record->count;
}

int64_t torch_elements_in(const struct torch_group *group)
{
    const struct record *record = group->records[0];
    if (torch_is_all_to_all(group))
        return exchanged(group, FUNCTION_SEND);
    return torch_elements(record) *
           (record->function == FUNCTION_REDUCE_SCATTER ? group->communicator->size : 1);
}

int64_t torch_elements_out(const struct torch_group *group)
{
    const struct record *record = group->records[0];
    if (torch_is_all_to_all(group))
        return exchanged(group, FUNCTION_RECV);
    return torch_elements(record) * (record->function == FUNCTION_ALL_GATHER ? group->communicator->size : 1);
}

static bool is_of_all(const struct job *job, int communicator)
{
    for (int i = 0; i < communicator; i++)
        if (job->communicators[i].size == job->options.ranks)
            return false;
    return job->communicators[communicator].size == job->options.ranks;
}

void torch_group_name(const struct job *job, int communicator, char *name)
{
    snprintf(name, TORCH_TEXT, "%d", is_of_all(job, communicator) ? 0 : communicator + 1);
}

void torch_group_description(const struct job *job, int communicator, char *description)
{
    const char *name = job->communicators[communicator].name;
    size_t length = strcspn(name, "0123456789");
    if (is_of_all(job, communicator))
        snprintf(description, TORCH_TEXT, "default_pg");
    else
        snprintf(description, TORCH_TEXT, "%.*s", (int)length, name);
}

void torch_ranks(struct output *output, const struct communicator *communicator)
{
    output_print(output, "[");
    for (int i = 0; i < communicator->size; i++)
        output_print(output, "%s%d", i > 0 ? ", " : "", communicator->ranks[i]);
    output_print(output, "]");
}

/* For NCCL, sends and receives are bytes; for a framework they have a type. */
const char *torch_datatype(const struct record *record)
{
    bool is_float = record->function < FUNCTION_SEND && strcmp(record->datatype, "ncclFloat32") == 0;
    return is_float ? "Float" : "BFloat16";
}

bool torch_is_autograd(const struct job *job, int phase)
{
    static const char *const shapes[] = {"ddp", "fsdp", "hsdp", "zero1"};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (strcmp(job->options.shape, shapes[i]) == 0)
            return strcmp(job->phases[phase], "backward") == 0;
    return false;
}

int64_t torch_wall_ns(const struct job *job, const struct process *process, int64_t time)
{
    return EPOCH_NS + time + process->start_ns / 1000 + situation_clock(job, process, time);
}
