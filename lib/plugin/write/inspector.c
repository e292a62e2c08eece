/*
 * Inspector lines: one JSON object per completed operation, with its bandwidth, in the format of NVIDIA's
 * Inspector.
 */
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

#include <stdio.h>
#include <string.h>

#define CHANNELS_MAX 256

struct kernel_times {
    uint64_t start_ns, stop_ns;
    uint64_t gpu_ns; /* duration by the GPU clock; 0: unknown */
    unsigned channel;
};

struct execution {
    struct kernel_times kernels[CHANNELS_MAX];
    unsigned count;
    uint64_t duration_ns;
    const char *source;
};

static unsigned datatype_bytes(const char *name)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"ncclInt8", 1},      {"ncclChar", 1},   {"ncclUint8", 1},    {"ncclInt32", 4},
                 {"ncclInt", 4},       {"ncclUint32", 4}, {"ncclInt64", 8},    {"ncclUint64", 8},
                 {"ncclFloat16", 2},   {"ncclHalf", 2},   {"ncclFloat32", 4},  {"ncclFloat", 4},
                 {"ncclFloat64", 8},   {"ncclDouble", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1},
                 {"ncclFloat8e5m2", 1}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(name, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

static void gather_kernels(const struct tree *tree, const struct node *task, struct execution *execution)
{
    for (uint32_t child = task->first_child; child; child = tree_node(tree, child)->next_sibling) {
        const struct node *node = tree_node(tree, child);
        if (node->type != TYPE_KERNEL_CH || execution->count == CHANNELS_MAX)
            continue;
        uint64_t gpu_ns = node->kernel.stop_clock > node->kernel.start_clock && node->kernel.start_clock
                              ? node->kernel.stop_clock - node->kernel.start_clock
                              : 0;
        execution->kernels[execution->count++] =
            (struct kernel_times){node->start_ns, node->stop_ns, gpu_ns, node->channel};
    }
}

/* Takes the duration of the longest channel: by the GPU clock if known, otherwise as the host saw it. */
static void measure(const struct tree *tree, uint32_t number, struct execution *execution)
{
    const struct node *task = tree_node(tree, number);
    uint64_t gpu_ns = 0;
    uint64_t host_ns = 0;
    for (unsigned i = 0; i < execution->count; i++) {
        const struct kernel_times *kernel = &execution->kernels[i];
        uint64_t polled_ns = kernel->stop_ns > kernel->start_ns ? kernel->stop_ns - kernel->start_ns : 0;
        gpu_ns = kernel->gpu_ns > gpu_ns ? kernel->gpu_ns : gpu_ns;
        host_ns = polled_ns > host_ns ? polled_ns : host_ns;
    }
    uint64_t end_ns = tree_end_ns(tree, number);
    execution->source = gpu_ns ? "kernel_gpu" : host_ns ? "kernel_cpu" : "collective_cpu";
    execution->duration_ns = gpu_ns ? gpu_ns : host_ns ? host_ns : end_ns - task->start_ns;
}

/*
 * The convention of nccl-tests: size times `share` moves over the bus, and the sizes of gather and scatter
 * include all ranks. 0 means unknown, which includes values that need a number of ranks that NCCL does not
 * pass.
 */
static void bandwidth(const char *function, double bytes, int ranks, double seconds, double *algorithm,
                      double *bus)
{
    double n = ranks > 0 ? ranks : 1;
    double size = bytes;
    double factor = 1;
    if (strcmp(function, "AllReduce") == 0) {
        factor = 2 * (n - 1) / n;
    } else if (strcmp(function, "AllGather") == 0 || strcmp(function, "ReduceScatter") == 0 ||
               strcmp(function, "AlltoAll") == 0 || strcmp(function, "Gather") == 0 ||
               strcmp(function, "Scatter") == 0) {
        size = ranks > 0 ? bytes * n : 0;
        factor = (n - 1) / n;
    }
    *algorithm = seconds > 0 ? size / 1e9 / seconds : 0;
    *bus = *algorithm * factor;
}

static void print_header(struct inspector *inspector, struct text *text, const struct communicator *known)
{
    text_literal(text, "{\"header\":{\"id\":\"");
    text_hexadecimal(text, known->hash);
    if (known->name[0]) {
        text_literal(text, "\",\"comm_name\":\"");
        text_escaped(text, known->name, strlen(known->name));
    }
    text_literal(text, "\",\"rank\":");
    text_signed(text, known->rank);
    text_literal(text, ",\"n_ranks\":");
    text_signed(text, known->ranks);
    text_literal(text, ",\"nnodes\":");
    text_signed(text, known->nodes);
    text_literal(text,
                 "},\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"ncclprof-");
    text_string(text, NCCLPROF_VERSION);
    text_literal(text, "\",\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":");
    text_unsigned(text, clock_read_ns(CLOCK_REALTIME) / 1000);
    text_literal(text, ",\"hostname\":\"");
    text_string(text, inspector->host);
    text_literal(text, "\",\"pid\":");
    text_signed(text, inspector->process);
    text_literal(text, "},");
}

static void print_key(struct text *text, const char *kind, const char *key)
{
    text_literal(text, ",\"");
    text_string(text, kind);
    text_string(text, key);
    text_literal(text, "\":");
}

/*
 * Numbers the events in the order of their times, from 3 on. 1 and 2 are the start and stop of the operation.
 */
static unsigned event_number(const struct execution *execution, uint64_t time_ns)
{
    unsigned number = 3;
    for (unsigned i = 0; i < execution->count; i++) {
        number += execution->kernels[i].start_ns < time_ns ? 1u : 0u;
        number += execution->kernels[i].stop_ns < time_ns ? 2u : 0u;
    }
    return number;
}

static void print_numbers(struct text *text, const char *kind, const struct execution *execution)
{
    text_literal(text, ",\"event_trace_sn\":{\"");
    text_string(text, kind);
    text_literal(text, "_start_sn\":1,\"");
    text_string(text, kind);
    text_literal(text, "_stop_sn\":2,\"kernel_events\":[");
    for (unsigned i = 0; i < execution->count; i++) {
        const struct kernel_times *kernel = &execution->kernels[i];
        text_string(text, i ? ",{\"channel_id\":" : "{\"channel_id\":");
        text_unsigned(text, kernel->channel);
        text_literal(text, ",\"kernel_start_sn\":");
        text_unsigned(text, event_number(execution, kernel->start_ns));
        text_literal(text, ",\"kernel_stop_sn\":");
        text_unsigned(text, event_number(execution, kernel->stop_ns) + 1);
        text_literal(text, ",\"kernel_record_sn\":");
        text_unsigned(text, event_number(execution, kernel->stop_ns));
        text_literal(text, "}");
    }
    text_literal(text, "]}");
}

static void print_wall(const struct inspector *inspector, struct text *text, uint64_t time_ns)
{
    text_unsigned(text, time_ns ? (time_ns + (uint64_t)inspector->realtime_offset_ns) / 1000 : 0);
}

static void print_times(const struct inspector *inspector, struct text *text, const char *kind,
                        const struct node *task, const struct execution *execution)
{
    text_literal(text, ",\"event_trace_ts\":{\"");
    text_string(text, kind);
    text_literal(text, "_start_ts\":");
    print_wall(inspector, text, task->start_ns);
    print_key(text, kind, "_stop_ts");
    print_wall(inspector, text, task->stop_ns);
    text_literal(text, ",\"kernel_events\":[");
    for (unsigned i = 0; i < execution->count; i++) {
        const struct kernel_times *kernel = &execution->kernels[i];
        text_string(text, i ? ",{\"channel_id\":" : "{\"channel_id\":");
        text_unsigned(text, kernel->channel);
        text_literal(text, ",\"kernel_start_ts\":");
        print_wall(inspector, text, kernel->start_ns);
        text_literal(text, ",\"kernel_stop_ts\":");
        print_wall(inspector, text, kernel->stop_ns);
        text_literal(text, ",\"kernel_record_ts\":");
        print_wall(inspector, text, kernel->stop_ns);
        text_literal(text, "}");
    }
    text_literal(text, "]}");
}

static void print_identity(struct inspector *inspector, struct text *text, const struct node *task,
                           const char *kind)
{
    struct communicator_state *communicator = tree_communicator(inspector->tree, task->context);
    const char *function = names_text(&inspector->tree->names, task->task.function);
    text_literal(text, "\"");
    text_string(text, kind);
    text_literal(text, "_perf\":{\"");
    text_string(text, kind);
    text_literal(text, "\":\"");
    text_escaped(text, function, strlen(function));
    text_literal(text, "\"");
    print_key(text, kind, "_sn");
    text_unsigned(text, task->type == TYPE_P2P ? ++communicator->p2p_written : task->task.sequence);
    if (task->type == TYPE_P2P) {
        print_key(text, kind, "_peer");
        text_signed(text, task->task.peer);
    }
}

/* The tag of one operation: its name if the application gave it one, otherwise its number. */
static void print_own_tag(struct text *text, uint64_t number)
{
    const char *name = tag_name_of(number);
    if (name)
        text_escaped(text, name, strlen(name));
    else
        text_unsigned(text, number);
}

static void print_tag(const struct inspector *inspector, struct text *text, const struct node *task)
{
    const char *tag = tag_texts_get(&inspector->tree->tags, task->task.tag);
    if (!tag && task->task.user_tag == 0)
        return;
    text_literal(text, ",\"user_tag\":\"");
    if (task->task.user_tag)
        print_own_tag(text, task->task.user_tag);
    else
        text_escaped(text, tag, strlen(tag));
    text_literal(text, "\"");
}

/* Writes a number with six decimals. */
static void text_decimal(struct text *text, double value)
{
    char digits[64];
    int length = snprintf(digits, sizeof(digits), "%.6f", value);
    if (length > 0 && (size_t)length < sizeof(digits))
        text_bytes(text, digits, (size_t)length);
    else
        text_literal(text, "0.000000");
}

static void print_figures(struct inspector *inspector, struct text *text, const struct node *task,
                          const char *kind, const struct execution *execution)
{
    const struct names *names = &inspector->tree->names;
    const struct communicator *known = &tree_communicator(inspector->tree, task->context)->known;
    uint64_t bytes = task->task.count * datatype_bytes(names_text(names, task->task.datatype));
    double algorithm_gbs;
    double bus_gbs;
    bandwidth(names_text(names, task->task.function), (double)bytes, known->ranks,
              (double)execution->duration_ns / 1e9, &algorithm_gbs, &bus_gbs);
    print_key(text, kind, "_msg_size_bytes");
    text_unsigned(text, bytes);
    print_key(text, kind, "_exec_time_us");
    text_unsigned(text, execution->duration_ns / 1000);
    print_key(text, kind, "_timing_source");
    text_literal(text, "\"");
    text_string(text, execution->source);
    text_literal(text, "\"");
    print_key(text, kind, "_algobw_gbs");
    text_decimal(text, algorithm_gbs);
    print_key(text, kind, "_busbw_gbs");
    text_decimal(text, bus_gbs);
    print_tag(inspector, text, task);
}

static void print_task(struct inspector *inspector, uint32_t number)
{
    const struct node *task = tree_node(inspector->tree, number);
    const char *kind = task->type == TYPE_COLL ? "coll" : "p2p";
    struct communicator known = tree_communicator(inspector->tree, task->context)->known;
    struct execution execution;
    execution.count = 0;
    gather_kernels(inspector->tree, task, &execution);
    measure(inspector->tree, number, &execution);
    known.rank = task->task.rank;
    struct text *text = sink_line(inspector->sink);
    print_header(inspector, text, &known);
    print_identity(inspector, text, task, kind);
    print_figures(inspector, text, task, kind, &execution);
    print_numbers(text, kind, &execution);
    print_times(inspector, text, kind, task, &execution);
    text_literal(text, "}}\n");
}

void inspector_tree(struct inspector *inspector, uint32_t root)
{
    const struct node *node = tree_node(inspector->tree, root);
    if (node_is_task(node)) {
        if (tree_task_finished(inspector->tree, root))
            print_task(inspector, root);
        return;
    }
    for (uint32_t child = node->first_child; child; child = tree_node(inspector->tree, child)->next_sibling)
        inspector_tree(inspector, child);
}

static struct text *begin_own(struct inspector *inspector)
{
    const struct communicator nobody = {
        .rank = inspector->rank < 0 ? 0 : inspector->rank, .ranks = -1, .nodes = -1};
    struct text *text = sink_line(inspector->sink);
    print_header(inspector, text, &nobody);
    return text;
}

void inspector_drops(struct inspector *inspector, const struct notes_drops *drops)
{
    struct text *text = begin_own(inspector);
    text_literal(text, "\"ncclprof_drops\":{");
    notes_print_drops(text, drops);
    text_literal(text, "}}\n");
}

void inspector_stopped(struct inspector *inspector, const struct stop *stop, uint64_t written_bytes)
{
    struct text *text = begin_own(inspector);
    text_literal(text, "\"ncclprof_stopped\":{");
    stop_print(text, stop, written_bytes);
    text_literal(text, "}}\n");
}
