/*
 * Traces of torch.profiler (Kineto), as torch 2.11 writes them. The profiler is on from the second step to
 * the last one that all ranks finish. The host's events come first, then the work that it launched, each
 * launch next to its work.
 */
#include "simulate_torch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STEP 1
#define BASE_NS INT64_C(1790857026000000000) /* the same for all processes: about three months earlier */
#define RANKS_SHOWN 30                       /* longer lists are shortened */
#define OPERATOR_WINDOW_NS 5500 /* before work is enqueued: the time of its operators on the host */
#define AUTOGRAD_THREAD 205     /* in addition to the process's own */

enum moment_kind { MOMENT_STEP, MOMENT_PHASE, MOMENT_WORK, MOMENT_GROUP };

/* An event of the host, by its start. */
struct moment {
    int64_t at;
    enum moment_kind kind;
    int index; /* step, mark, work, first record */
    int id;    /* External id of the first of its events */
    int correlation;
};

struct writer {
    const struct job *job;
    const struct process *process;
    struct output *output;
    struct moment *moments;
    int moment_count, moment_capacity;
    int last_step, next_id, next_correlation;
    bool has_events;
};

bool kineto_dialect(const char *dialect)
{
    return strcmp(dialect, "kineto") == 0;
}

static int last_whole_step(const struct job *job)
{
    int step = job->options.steps - 1;
    while (step >= 0 && job->step_end[step] == UNKNOWN)
        step--;
    return step;
}

static bool is_profiled(const struct writer *writer, int step)
{
    return step >= FIRST_STEP && step <= writer->last_step;
}

static void add(struct writer *writer, int64_t at, enum moment_kind kind, int index)
{
    writer->moments =
        grow(writer->moments, &writer->moment_capacity, writer->moment_count + 1, sizeof(*writer->moments));
    writer->moments[writer->moment_count++] = (struct moment){.at = at, .kind = kind, .index = index};
}

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : x->index - y->index;
}

static void collect(struct writer *writer)
{
    const struct process *process = writer->process;
    for (int step = FIRST_STEP; step <= writer->last_step; step++)
        add(writer, process->step_begin[step], MOMENT_STEP, step);
    for (int i = 0; i < process->mark_count; i++)
        if (is_profiled(writer, process->marks[i].step))
            add(writer, process->marks[i].time, MOMENT_PHASE, i);
    for (int i = 0; i < process->work_count; i++)
        if (is_profiled(writer, process->works[i].step))
            add(writer, process->works[i].enqueued - OPERATOR_WINDOW_NS, MOMENT_WORK, i);
    for (int i = 0; i < process->record_count; i++) {
        const struct record *record = process->records[i];
        bool is_first = i == 0 || process->records[i - 1]->group != record->group;
        if (is_first && is_profiled(writer, record->step) && !record->lost)
            add(writer, record->group_begin, MOMENT_GROUP, i);
    }
    qsort(writer->moments, (size_t)writer->moment_count, sizeof(*writer->moments), by_time);
}

static int64_t trace_ns(const struct writer *writer, int64_t time)
{
    return torch_wall_ns(writer->job, writer->process, time) - BASE_NS;
}

static void begin_event(struct writer *writer)
{
    output_print(writer->output, writer->has_events ? ",\n  {\n" : "  {\n");
    writer->has_events = true;
}

/* A duration event up to its arguments. */
static void span(struct writer *writer, const char *category, const char *name, int pid, int tid,
                 int64_t begin, int64_t end)
{
    int64_t from = trace_ns(writer, begin), lasts = end > begin ? end - begin : 0;
    begin_event(writer);
    output_print(writer->output,
                 "    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d,\n"
                 "    \"ts\": %" PRId64 ".%03d, \"dur\": %" PRId64 ".%03d,\n    \"args\": {\n      ",
                 category, name, pid, tid, from / 1000, (int)(from % 1000), lasts / 1000,
                 (int)(lasts % 1000));
}

static void end_span(struct writer *writer)
{
    output_print(writer->output, "\n    }\n  }");
}

static void host_span(struct writer *writer, const char *category, const char *name, int tid, int64_t begin,
                      int64_t end)
{
    span(writer, category, name, writer->process->pid, tid, begin, end);
    int id = writer->next_id++;
    output_print(writer->output, "\"External id\": %d,\"Record function id\": 0, \"Ev Idx\": %d", id, id - 1);
}

static void simple_span(struct writer *writer, const char *category, const char *name, int tid, int64_t begin,
                        int64_t end)
{
    host_span(writer, category, name, tid, begin, end);
    end_span(writer);
}

static int thread_of(const struct writer *writer, int phase)
{
    return writer->process->pid + (torch_is_autograd(writer->job, phase) ? AUTOGRAD_THREAD : 0);
}

static int64_t step_end(const struct writer *writer, int step)
{
    const struct process *process = writer->process;
    int steps = writer->job->options.steps;
    if (step + 1 < steps && process->step_begin[step + 1] != UNKNOWN)
        return process->step_begin[step + 1] - 1000;
    return writer->job->rank_step_end[process->rank * steps + step];
}

static void write_step(struct writer *writer, const struct moment *moment)
{
    char name[48];
    snprintf(name, sizeof(name), "ProfilerStep#%d", moment->index);
    simple_span(writer, "user_annotation", name, writer->process->pid, moment->at,
                step_end(writer, moment->index));
}

static void write_phase(struct writer *writer, const struct moment *moment)
{
    const struct process *process = writer->process;
    const struct mark *mark = &process->marks[moment->index];
    bool is_last = moment->index + 1 == process->mark_count || mark[1].step != mark->step;
    simple_span(writer, "user_annotation", writer->job->phases[mark->phase], process->pid, mark->time,
                is_last ? step_end(writer, mark->step) - 1000 : mark[1].time - 100);
}

static void write_operators(struct writer *writer, struct moment *moment)
{
    const struct work *work = &writer->process->works[moment->index];
    int count = writer->job->options.operators, tid = thread_of(writer, work->phase);
    moment->id = writer->next_id;
    moment->correlation = writer->next_correlation;
    writer->next_correlation += count;
    for (int i = 0; i < count; i++) {
        int64_t begin = moment->at + (int64_t)OPERATOR_WINDOW_NS * i / count;
        int64_t end = moment->at + (int64_t)OPERATOR_WINDOW_NS * (i + 1) / count;
        simple_span(writer, "cpu_op", "aten::matmul", tid, begin, end);
        simple_span(writer, "cpu_op", "aten::mm", tid, begin + (end - begin) / 8, end - (end - begin) / 8);
    }
}

static void write_ranks(struct output *output, const struct communicator *communicator)
{
    struct communicator shown = *communicator;
    if (communicator->size <= RANKS_SHOWN) {
        torch_ranks(output, communicator);
        return;
    }
    output_print(output, "[");
    for (int i = 0; i < RANKS_SHOWN; i++)
        output_print(output, "%d, ", shown.ranks[i]);
    output_print(output, "...]");
}

/* The arguments on an operation that both the call and its kernel have. */
static void write_told(struct writer *writer, const struct torch_group *group)
{
    const struct record *record = group->records[0];
    struct output *output = writer->output;
    char name[TORCH_TEXT], description[TORCH_TEXT];
    torch_group_name(writer->job, record->communicator, name);
    torch_group_description(writer->job, record->communicator, description);
    output_print(
        output,
        ", \"Collective name\": \"%s\", \"In msg nelems\": %" PRId64 ", \"Out msg nelems\": %" PRId64
        ", \"Group size\": %d, \"dtype\": \"%s\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
        "\"Process Group Name\": \"%s\", \"Process Group Description\": \"%s\", "
        "\"Process Group Ranks\": \"",
        torch_function_of(group).collective, torch_elements_in(group), torch_elements_out(group),
        group->communicator->size, torch_datatype(record), name, description);
    write_ranks(output, group->communicator);
    output_print(output, "\"");
    if (record->function >= FUNCTION_SEND && !torch_is_all_to_all(group))
        output_print(output, ", \"%s Rank\": %d", record->function == FUNCTION_SEND ? "Dst" : "Src",
                     group->communicator->ranks[record->peer]);
}

static void write_call(struct writer *writer, const struct torch_group *group, int64_t begin, int64_t end)
{
    const struct record *record = group->records[0];
    bool is_pair = record->function >= FUNCTION_SEND && !torch_is_all_to_all(group);
    int tid = thread_of(writer, record->phase);
    char name[48];
    snprintf(name, sizeof(name), "c10d::%s", torch_function_of(group).dispatch);
    simple_span(writer, "cpu_op", name, tid, begin, end);
    host_span(writer, "cpu_op", "record_param_comms", tid, begin + (end - begin) / 8, end);
    write_told(writer, group);
    output_print(writer->output, ", \"Global rank start\": %d, \"Global rank stride\": %d, \"Rank\": %d",
                 group->communicator->ranks[0], group->communicator->ranks[1] - group->communicator->ranks[0],
                 is_pair ? record->peer : record->rank_in_communicator);
    end_span(writer);
}

static void annotation_name(const struct torch_group *group, char *name, size_t size)
{
    const struct record *record = group->records[0];
    if (torch_is_batch(group))
        snprintf(name, size, "nccl:coalesced");
    else if (record->function < FUNCTION_SEND || torch_is_all_to_all(group))
        snprintf(name, size, "nccl:%s", torch_function_of(group).operation);
    else
        snprintf(name, size, "nccl:%s %d%s%d", torch_function_of(group).operation,
                 record->rank_in_communicator, record->function == FUNCTION_SEND ? "->" : "<-", record->peer);
}

/* If the host waits for the work immediately, as in pipelines. */
static void write_wait(struct writer *writer, const struct torch_group *group)
{
    const struct record *record = group->records[0];
    char name[TORCH_TEXT], description[TORCH_TEXT];
    torch_group_name(writer->job, record->communicator, name);
    torch_group_description(writer->job, record->communicator, description);
    host_span(writer, "cpu_op", "record_param_comms", thread_of(writer, record->phase),
              record->group_end + 100, record->group_end + 500);
    output_print(
        writer->output,
        ", \"Collective name\": \"wait\", \"In msg nelems\": 0, \"Out msg nelems\": 0, \"Group size\": 1, "
        "\"dtype\": \"Byte\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
        "\"Process Group Name\": \"%s\", \"Process Group Description\": \"%s\", "
        "\"Process Group Ranks\": \"[]\"",
        name, description);
    end_span(writer);
}

/* The calls of a batch come before the end of the group, which launches the kernel outside of all of them. */
static void write_batch(struct writer *writer, const struct torch_group *group)
{
    int64_t begin = group->records[0]->group_begin,
            each = (group->records[0]->launch_end - begin) / group->count;
    for (int i = 0; i < group->count; i++) {
        struct torch_group one = {group->records + i, 1, group->communicator};
        write_call(writer, &one, begin + i * each, begin + (i + 1) * each - 10);
    }
}

static void write_group(struct writer *writer, struct moment *moment)
{
    struct torch_group group = torch_group_at(writer->job, writer->process, moment->index);
    const struct record *record = group.records[0];
    int64_t begin = record->group_begin, end = record->group_end;
    char name[48];
    if (torch_is_batch(&group)) {
        write_batch(writer, &group);
        begin = record->launch_end;
    } else {
        write_call(writer, &group, begin, end);
        begin += (end - begin) / 4;
    }
    moment->id = writer->next_id;
    moment->correlation = writer->next_correlation++;
    annotation_name(&group, name, sizeof(name));
    simple_span(writer, "user_annotation", name, thread_of(writer, record->phase), begin, end - 10);
    if (record->function >= FUNCTION_SEND && !torch_is_all_to_all(&group))
        write_wait(writer, &group);
}

static void flow(struct writer *writer, char phase, int correlation, int pid, int tid, int64_t time)
{
    int64_t at = trace_ns(writer, time);
    begin_event(writer);
    output_print(writer->output,
                 "    \"ph\": \"%c\", \"id\": %d, \"pid\": %d, \"tid\": %d, \"ts\": %" PRId64
                 ".%03d,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"%s\n  }",
                 phase, correlation, pid, tid, at / 1000, (int)(at % 1000),
                 phase == 'f' ? ", \"bp\": \"e\"" : "");
}

static int device_of(const struct writer *writer)
{
    return writer->process->rank % writer->job->options.ranks_per_node;
}

static int stream_of(int stream)
{
    static const int numbers[MAX_STREAMS] = {7, 17, 22, 26};
    return numbers[stream];
}

/* A kernel event up to its arguments on an operation. */
static void begin_kernel(struct writer *writer, const char *name, int stream, int id, int correlation,
                         int blocks, int64_t start, int64_t end)
{
    int device = device_of(writer);
    span(writer, "kernel", name, device, stream_of(stream), start, end);
    if (id > 0)
        output_print(writer->output, "\"External id\": %d,      ", id);
    output_print(
        writer->output,
        "\"queued\": 0, \"device\": %d, \"context\": 1,      \"stream\": %d, \"correlation\": %d,      "
        "\"registers per thread\": 96,      \"shared memory\": 103808,      \"blocks per SM\": %f,      "
        "\"warps per SM\": %f,      \"grid\": [%d, 1, 1],      \"block\": [288, 1, 1],      "
        "\"est. achieved occupancy %%\": 0",
        device, stream_of(stream), correlation, blocks / 132.0, blocks * 9 / 132.0, blocks);
}

static void write_launch(struct writer *writer, const char *category, const char *name, int tid, int id,
                         int correlation, int64_t begin, int64_t end)
{
    span(writer, category, name, writer->process->pid, tid, begin, end);
    if (id > 0)
        output_print(writer->output, "\"External id\": %d,      ", id);
    output_print(writer->output, "\"cbid\": 652, \"correlation\": %d", correlation);
    end_span(writer);
    flow(writer, 's', correlation, writer->process->pid, tid, begin);
}

static void write_work(struct writer *writer, const struct moment *moment)
{
    const struct work *work = &writer->process->works[moment->index];
    int count = writer->job->options.operators;
    int64_t lasts = work->end - work->start;
    for (int i = 0; i < count; i++) {
        int64_t start = work->start + lasts * i / count;
        int64_t launch = moment->at + (int64_t)OPERATOR_WINDOW_NS * (2 * i + 1) / (2 * count);
        int id = moment->id + 2 * i + 1, correlation = moment->correlation + i;
        begin_kernel(writer, "nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT", work->stream, id, correlation, 128,
                     start, work->start + lasts * (i + 1) / count);
        end_span(writer);
        flow(writer, 'f', correlation, device_of(writer), stream_of(work->stream), start);
        write_launch(writer, "cuda_driver", "cuLaunchKernelEx", thread_of(writer, work->phase), id,
                     correlation, launch, launch + OPERATOR_WINDOW_NS / (4 * count));
    }
}

static void kernel_name(const struct torch_group *group, char *name, size_t size)
{
    const struct record *record = group->records[0];
    const char *kernel = torch_function_of(group).kernel;
    const char *type = strcmp(torch_datatype(record), "Float") == 0 ? "f32" : "bf16";
    const char *algorithm = record->algorithm == ALGORITHM_TREE ? "TREE" : "RING";
    if (record->function >= FUNCTION_SEND)
        snprintf(name, size, "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)", kernel);
    else if (strstr(kernel, "_Sum") != NULL)
        snprintf(name, size, "ncclDevKernel_%s_%s_%s_LL(ncclDevKernelArgsStorage<4096ul>)", kernel, type,
                 algorithm);
    else
        snprintf(name, size, "ncclDevKernel_%s_%s_LL(ncclDevKernelArgsStorage<4096ul>)", kernel, algorithm);
}

static void write_communication(struct writer *writer, const struct moment *moment)
{
    struct torch_group group = torch_group_at(writer->job, writer->process, moment->index);
    const struct record *record = group.records[0];
    bool is_batch = torch_is_batch(&group);
    int id = is_batch ? 0 : moment->id - 1; /* of record_param_comms, which comes before the annotation */
    char name[96];
    kernel_name(&group, name, sizeof(name));
    begin_kernel(writer, name, record->stream, id, moment->correlation, record->channels, torch_start(&group),
                 torch_end(&group));
    if (!is_batch)
        write_told(writer, &group);
    end_span(writer);
    flow(writer, 'f', moment->correlation, device_of(writer), stream_of(record->stream), record->start);
    write_launch(writer, "cuda_driver", "cuLaunchKernelEx", thread_of(writer, record->phase), id,
                 moment->correlation, record->group_end - 2500, record->group_end - 300);
}

/* On the GPU, annotations start a nanosecond before their first work and end one after their last. */
static void write_gpu_annotation(struct writer *writer, const char *name, int stream, int id, int64_t start,
                                 int64_t end)
{
    span(writer, "gpu_user_annotation", name, device_of(writer), stream_of(stream), start - 1, end + 1);
    output_print(writer->output, "\"External id\": %d", id);
    end_span(writer);
}

static void write_gpu_group(struct writer *writer, const struct moment *moment)
{
    struct torch_group group = torch_group_at(writer->job, writer->process, moment->index);
    char name[48];
    annotation_name(&group, name, sizeof(name));
    write_gpu_annotation(writer, name, group.records[0]->stream, moment->id, torch_start(&group),
                         torch_end(&group));
}

static void write_gpu_step(struct writer *writer, int step)
{
    const struct process *process = writer->process;
    int64_t start = INT64_MAX, end = INT64_MIN;
    char name[48];
    for (int i = 0; i < process->work_count; i++) {
        const struct work *work = &process->works[i];
        if (work->step != step || work->stream != 0)
            continue;
        start = work->start < start ? work->start : start;
        end = work->end > end ? work->end : end;
    }
    snprintf(name, sizeof(name), "ProfilerStep#%d", step);
    if (start < end)
        write_gpu_annotation(writer, name, 0, step, start, end);
}

static void write_distributed(struct writer *writer)
{
    const struct job *job = writer->job;
    int rank = writer->process->rank, count = 0;
    char name[TORCH_TEXT], description[TORCH_TEXT];
    output_print(writer->output,
                 "      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, "
                 "\"world_size\": %d, \"pg_count\": %d, \"pg_config\": [",
                 rank, job->options.ranks, job->communicator_count);
    for (int i = 0; i < job->communicator_count; i++) {
        const struct communicator *communicator = &job->communicators[i];
        bool is_member = false;
        for (int k = 0; k < communicator->size; k++)
            is_member |= communicator->ranks[k] == rank;
        if (!is_member)
            continue;
        torch_group_name(job, i, name);
        torch_group_description(job, i, description);
        output_print(writer->output,
                     "%s{\"pg_name\": \"%s\", \"pg_desc\": \"%s\", \"backend_config\": \"cuda:nccl\", "
                     "\"pg_size\": %d, \"ranks\": ",
                     count++ > 0 ? ", " : "", name, description, communicator->size);
        torch_ranks(writer->output, communicator);
        output_print(writer->output, "}");
    }
    output_print(writer->output, "], \"nccl_version\": \"2.28.9\"},\n");
}

static void write_head(struct writer *writer)
{
    output_print(writer->output,
                 "\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {\n"
                 "      \"id\": %d, \"name\": \"NVIDIA H100 80GB HBM3\", \"totalGlobalMem\": 85017493504,\n"
                 "      \"computeMajor\": 9, \"computeMinor\": 0,\n"
                 "      \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048,\n"
                 "      \"regsPerBlock\": 65536, \"warpSize\": 32,\n"
                 "      \"sharedMemPerBlock\": 49152, \"numSms\": 132\n    }\n    ],\n"
                 "      \"trace_id\": \"9B488783524148D58A5394CFB60E%04X\",\n",
                 device_of(writer), (unsigned)writer->process->rank);
    write_distributed(writer);
    output_print(writer->output,
                 "      \"cuda_driver_version\": 13000,\n      \"cuda_runtime_version\": 13000,\n"
                 "      \"cupti_version\": 130001,\n  \"displayTimeUnit\": \"ms\",\n"
                 "  \"baseTimeNanoseconds\": %" PRId64 ",\n  \"traceEvents\": [\n",
                 BASE_NS);
}

static void write_end(struct writer *writer)
{
    int64_t at = trace_ns(writer, writer->process->step_begin[0]);
    begin_event(writer);
    output_print(writer->output,
                 "    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": %" PRId64
                 ".%03d, \"pid\": %d, \"tid\": 0,\n"
                 "    \"args\": {\n      \"name\": \"python3\"\n    }\n  },\n"
                 "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
                 "    \"pid\": \"\", \"tid\": \"\", \"ts\": %" PRId64
                 ".%03d\n  }\n"
                 "  ],\n  \"traceName\": \"kineto-rank%d.json\"\n}\n",
                 at / 1000, (int)(at % 1000), writer->process->pid, at / 1000, (int)(at % 1000),
                 writer->process->rank);
}

static void write_host(struct writer *writer)
{
    for (int i = 0; i < writer->moment_count; i++) {
        struct moment *moment = &writer->moments[i];
        if (moment->kind == MOMENT_STEP)
            write_step(writer, moment);
        else if (moment->kind == MOMENT_PHASE)
            write_phase(writer, moment);
        else if (moment->kind == MOMENT_WORK)
            write_operators(writer, moment);
        else
            write_group(writer, moment);
    }
}

static void write_device(struct writer *writer)
{
    for (int i = 0; i < writer->moment_count; i++)
        if (writer->moments[i].kind == MOMENT_WORK)
            write_work(writer, &writer->moments[i]);
        else if (writer->moments[i].kind == MOMENT_GROUP)
            write_communication(writer, &writer->moments[i]);
    for (int i = 0; i < writer->moment_count; i++)
        if (writer->moments[i].kind == MOMENT_GROUP)
            write_gpu_group(writer, &writer->moments[i]);
    for (int step = FIRST_STEP; step <= writer->last_step; step++)
        write_gpu_step(writer, step);
}

void kineto_write(struct job *job)
{
    int last = last_whole_step(job);
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        if (process->lost)
            continue;
        struct writer writer = {
            .job = job, .process = process, .last_step = last, .next_id = 1, .next_correlation = 4539};
        char name[128];
        snprintf(name, sizeof(name), "%s_%d.%" PRId64 ".pt.trace.json", process->host, process->pid,
                 torch_wall_ns(job, process, process->step_begin[0]));
        writer.output = output_of(job, process, name, job->options.gzip);
        collect(&writer);
        write_head(&writer);
        write_host(&writer);
        write_device(&writer);
        write_end(&writer);
        output_close(writer.output);
        free(writer.moments);
    }
}
