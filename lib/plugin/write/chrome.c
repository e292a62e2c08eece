/*
 * Chrome trace lines of a tree: groups, calls, operations, kernel channels, kernel phases and copy-engine
 * events. chrome_proxy.c writes the proxy operations below them.
 */
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/ring/ring.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

/* Kernel phases. */

static const char *phase_name(uint8_t phase)
{
    static const char *const names[] = {"initial_sync", "compute", "final_sync"};
    return phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "phase";
}

/* The times come from the GPU only. A phase without a stop has no duration. */
static void print_phase(struct chrome *chrome, const struct gpu_clock *clock, const struct node *phase,
                        uint32_t id)
{
    uint64_t start_clock = phase->kernel.start_clock;
    uint64_t stop_clock = phase->kernel.stop_clock;
    struct text *text = chrome_line(chrome, phase_name(phase->kernel.phase), chrome_category(phase->type),
                                    'X', id, gpu_clock_host_ns(clock, start_clock));
    text_literal(text, ", \"dur\": ");
    text_microseconds(text, stop_clock > start_clock ? stop_clock - start_clock : 0);
    text_literal(text, ", \"args\": {\"Channel\": ");
    text_unsigned(text, phase->channel);
    text_literal(text, ", \"PhaseId\": ");
    text_unsigned(text, phase->kernel.phase);
    text_literal(text, ", \"StartGpuClk\": ");
    text_unsigned(text, start_clock);
    text_literal(text, ", \"StopGpuClk\": ");
    text_unsigned(text, stop_clock);
    text_literal(text, "}},\n");
}

/* Writes the phases of a kernel channel, whose line has this id. */
static void chrome_phases(struct chrome *chrome, const struct node *kernel, uint32_t id)
{
    const struct gpu_clock *clock = &tree_communicator(chrome->tree, kernel->context)->clock;
    for (uint32_t child = kernel->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        print_phase(chrome, clock, tree_node(chrome->tree, child), id);
}

static void print_end(struct chrome *chrome, const struct node *node, uint32_t id, uint64_t time_ns)
{
    text_literal(
        chrome_line(chrome, chrome_name(chrome, node), chrome_category(node->type), 'e', id, time_ns),
        "},\n");
}

static const char *const source_names[] = {
    [TAG_SOURCE_NCCL] = "nccl", [TAG_SOURCE_CALL] = "call", [TAG_SOURCE_NVTX] = "nvtx"};

static void print_description(struct chrome *chrome, const struct record *record)
{
    struct text *text = chrome_note(chrome, "CallDescription", true, record->time_ns);
    text_literal(text, "\"text\": \"");
    text_escaped(text, record->tag.text, record->tag.length);
    text_literal(text, "\", \"source\": \"");
    text_string(text, source_names[record->tag.source]);
    text_string(text, record->tag.truncated ? "\", \"truncated\": 1" : "\"");
    chrome_note_end(text);
}

void chrome_tag(struct chrome *chrome, const struct record *record)
{
    if (record->tag.length && record->tag.text[0] == '{') {
        print_description(chrome, record);
        return;
    }
    struct text *text = sink_line(chrome->sink);
    text_literal(text, "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\"");
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, record->time_ns);
    text_literal(text, ", \"args\": {\"tag\": \"");
    text_escaped(text, record->tag.text, record->tag.length);
    text_literal(text, "\", \"rank\": ");
    text_signed(text, record->tag.rank);
    text_literal(text, ", \"source\": \"");
    text_string(text, source_names[record->tag.source]);
    text_literal(text, "\", \"depth\": ");
    text_unsigned(text, record->tag.depth);
    if (record->tag.source == TAG_SOURCE_NCCL) {
        text_literal(text, ", \"CommHash\": ");
        text_unsigned(text, tree_communicator(chrome->tree, record->context)->known.hash);
    }
    if (record->tag.truncated)
        text_literal(text, ", \"truncated\": 1");
    text_literal(text, "}},\n");
}

static void quoted(struct text *text, const char *value)
{
    text_literal(text, "\"");
    text_escaped(text, value, strlen(value));
    text_literal(text, "\"");
}

void chrome_tag_name(struct chrome *chrome, uint64_t number, const char *name, uint64_t now_ns)
{
    struct text *text = sink_line(chrome->sink);
    text_literal(text,
                 "{\"name\": \"TagName\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"p\", \"id\": 0");
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, now_ns);
    text_literal(text, ", \"args\": {\"number\": ");
    text_unsigned(text, number);
    text_literal(text, ", \"tag\": ");
    quoted(text, name);
    text_literal(text, "}},\n");
}

static void quoted_address(struct text *text, uint64_t address)
{
    text_literal(text, "\"");
    text_hexadecimal(text, address);
    text_literal(text, "\"");
}

static void print_task_identity(struct chrome *chrome, struct text *text, const struct node *node)
{
    const struct communicator *known = &tree_communicator(chrome->tree, node->context)->known;
    text_literal(text, "\"CommHash\": ");
    text_unsigned(text, known->hash);
    text_literal(text, ", \"Rank\": ");
    text_signed(text, node->task.rank);
    if (node->type == TYPE_P2P) {
        text_literal(text, ", \"Peer\": ");
        text_signed(text, node->task.peer);
    }
    text_literal(text, ", \"Count\": ");
    text_unsigned(text, node->task.count);
    text_literal(text, ", \"Datatype\": ");
    quoted(text, names_text(&chrome->tree->names, node->task.datatype));
}

/* The tag that the application gave to this operation; 0: none. */
static void print_user_tag(struct text *text, uint64_t user_tag)
{
    if (user_tag == 0)
        return;
    text_literal(text, ", \"UserTag\": ");
    text_unsigned(text, user_tag);
}

/* Only if the version of NCCL's interface passes it. */
static void print_kernel_variant(struct chrome *chrome, struct text *text, const struct node *node)
{
    if (node->task.symmetry == SYMMETRY_UNKNOWN)
        return;
    text_literal(text, ", \"KernelVariant\": ");
    quoted(text, names_text(&chrome->tree->names, node->task.kernel_variant));
    text_literal(text, ", \"IsSymColl\": ");
    text_unsigned(text, node->task.symmetry == SYMMETRY_YES);
}

static void print_own_arguments(struct chrome *chrome, struct text *text, const struct node *node,
                                bool finished)
{
    if (node->type == TYPE_COLL) {
        text_literal(text, ", \"Root\": ");
        text_signed(text, node->task.root);
        text_literal(text, ", \"nWarps\": ");
        text_unsigned(text, node->task.warps);
        text_literal(text, ", \"SendBuff\": ");
        quoted_address(text, node->task.send_buffer);
        text_literal(text, ", \"RecvBuff\": ");
        quoted_address(text, node->task.recv_buffer);
    } else {
        text_literal(text, ", \"Buff\": ");
        quoted_address(text, node->task.send_buffer);
    }
    text_literal(text, ", \"EnqueueEnd\": ");
    chrome_time(chrome, text, node->stop_ns);
    if (!finished)
        text_literal(text, ", \"Unfinished\": 1");
    print_user_tag(text, node->task.user_tag);
    text_literal(text, "}},\n");
}

static uint32_t print_task_begin(struct chrome *chrome, const struct node *node, bool finished)
{
    uint32_t id = chrome->ids[node->type]++;
    const struct names *names = &chrome->tree->names;
    struct text *text =
        chrome_line(chrome, chrome_name(chrome, node), chrome_category(node->type), 'b', id, node->start_ns);
    text_literal(text, ", \"args\": {");
    if (node->type == TYPE_COLL) {
        text_literal(text, "\"SeqNum\": ");
        text_unsigned(text, node->task.sequence);
        text_literal(text, ", ");
    }
    print_task_identity(chrome, text, node);
    if (node->type == TYPE_COLL) {
        text_literal(text, ", \"Algorithm\": ");
        quoted(text, names_text(names, node->task.algorithm));
        text_literal(text, ", \"Protocol\": ");
        quoted(text, names_text(names, node->task.protocol));
    }
    text_literal(text, ", \"nChannels\": ");
    text_unsigned(text, node->task.channels);
    print_kernel_variant(chrome, text, node);
    print_own_arguments(chrome, text, node, finished);
    return id;
}

static void print_kernel(struct chrome *chrome, const struct node *node, uint32_t id, bool begin)
{
    uint64_t time_ns = begin ? node->start_ns : node->stop_ns;
    struct text *text = chrome_line(chrome, "KernelCh", "GPU", begin ? 'b' : 'e', id, time_ns);
    if (begin) {
        const struct gpu_clock *clock = &tree_communicator(chrome->tree, node->context)->clock;
        text_literal(text, ", \"args\": {\"Channel\": ");
        text_unsigned(text, node->channel);
        text_literal(text, ", \"StartGpuClk\": ");
        text_unsigned(text, node->kernel.start_clock);
        text_literal(text, ", \"StopGpuClk\": ");
        text_unsigned(text, node->kernel.stop_clock);
        text_literal(text, ", \"StartHost\": ");
        chrome_time(chrome, text, gpu_clock_host_ns(clock, node->kernel.start_clock));
        text_literal(text, ", \"StopHost\": ");
        chrome_time(chrome, text, gpu_clock_host_ns(clock, node->kernel.stop_clock));
        text_literal(text, "}");
    }
    text_literal(text, "},\n");
}

static void print_proxies_of(struct chrome *chrome, const struct node *task, unsigned channel)
{
    for (uint32_t child = task->first_child; child; child = tree_node(chrome->tree, child)->next_sibling) {
        const struct node *node = tree_node(chrome->tree, child);
        if (node->type == TYPE_PROXY_OP && node->channel == channel)
            chrome_proxy_op(chrome, child);
    }
}

/* A kernel channel encloses the proxy operations of its channel, as in the example plugin's format. */
static void print_channel(struct chrome *chrome, const struct node *task, unsigned channel)
{
    bool proxies_printed = false;
    for (uint32_t child = task->first_child; child; child = tree_node(chrome->tree, child)->next_sibling) {
        const struct node *node = tree_node(chrome->tree, child);
        if (node->type != TYPE_KERNEL_CH || node->channel != channel)
            continue;
        uint32_t id = chrome->ids[TYPE_KERNEL_CH]++;
        print_kernel(chrome, node, id, true);
        chrome_phases(chrome, node, id);
        if (!proxies_printed)
            print_proxies_of(chrome, task, channel);
        proxies_printed = true;
        print_kernel(chrome, node, id, false);
    }
    if (!proxies_printed)
        print_proxies_of(chrome, task, channel);
}

static void print_task(struct chrome *chrome, uint32_t number)
{
    const struct node *task = tree_node(chrome->tree, number);
    bool finished = tree_task_finished(chrome->tree, number);
    uint32_t channels[8] = {0};
    for (uint32_t child = task->first_child; child; child = tree_node(chrome->tree, child)->next_sibling) {
        unsigned channel = tree_node(chrome->tree, child)->channel;
        channels[channel / 32] |= 1u << channel % 32;
    }
    uint32_t id = print_task_begin(chrome, task, finished);
    for (unsigned word = 0; word < 8; word++)
        for (; channels[word]; channels[word] &= channels[word] - 1)
            print_channel(chrome, task, word * 32 + (unsigned)__builtin_ctz(channels[word]));
    print_end(chrome, task, id, finished ? tree_end_ns(chrome->tree, number) : 0);
}

static void print_children(struct chrome *chrome, const struct node *node, uint32_t types)
{
    for (uint32_t child = node->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        if (types >> tree_node(chrome->tree, child)->type & 1)
            chrome_tree(chrome, child);
}

static void print_call_args(struct chrome *chrome, struct text *text, const struct node *node)
{
    text_literal(text, ", \"args\": {\"count\": ");
    text_unsigned(text, node->call.count);
    text_literal(text, ", \"datatype\": ");
    quoted(text, names_text(&chrome->tree->names, node->call.datatype));
    if (node->type == TYPE_COLL_API) {
        text_literal(text, ", \"root\": ");
        text_signed(text, node->call.root);
    }
    text_literal(text, ", \"GraphCaptured\": ");
    text_unsigned(text, node->call.graph_captured);
    text_literal(text, ", \"Stream\": ");
    quoted_address(text, node->call.stream);
    print_user_tag(text, node->call.user_tag);
    text_literal(text, "}");
}

static void print_group_args(struct text *text, const struct node *node, uint32_t id)
{
    if (node->type == TYPE_GROUP) {
        text_literal(text, ", \"args\": {\"groupId\": ");
        text_unsigned(text, id);
    } else if (node->type == TYPE_GROUP_API) {
        text_literal(text, ", \"args\": {\"groupApiId\": ");
        text_unsigned(text, id);
        text_literal(text, ", \"groupDepth\": ");
        text_signed(text, node->call.root);
    } else {
        text_literal(text, ", \"args\": {\"groupId\": ");
        text_unsigned(text, id);
        text_literal(text, ", \"Stream\": ");
        quoted_address(text, node->call.stream);
    }
    text_literal(text, "}");
}

/* The times of copy-engine events are the host's times of the enqueue. Only CUDA knows when they ran. */
static void print_ce_args(struct chrome *chrome, struct text *text, const struct node *node, uint32_t id)
{
    const struct names *names = &chrome->tree->names;
    const struct node *above = node->parent ? tree_node(chrome->tree, node->parent) : node;
    text_literal(text, ", \"args\": {\"eventId\": ");
    text_unsigned(text, id);
    if (node->type == TYPE_CE_COLL) {
        text_literal(text, ", \"count\": ");
        text_unsigned(text, node->ce.count);
        text_literal(text, ", \"datatype\": ");
        quoted(text, names_text(names, node->ce.datatype));
        text_literal(text, ", \"strategy\": ");
        quoted(text, names_text(names, node->ce.strategy));
    } else if (node->type == TYPE_CE_SYNC) {
        text_string(text, node->ce.flag ? ", \"type\": \"Complete\"" : ", \"type\": \"Ready\"");
        text_literal(text, ", \"strategy\": ");
        quoted(text, names_text(names, above->ce.strategy));
        text_literal(text, ", \"nRanks\": ");
        text_signed(text, node->ce.number);
    } else {
        text_literal(text, ", \"numOps\": ");
        text_signed(text, node->ce.number);
        text_literal(text, ", \"totalBytes\": ");
        text_unsigned(text, node->ce.total_bytes);
    }
    text_literal(text, ", \"start_ts_cpu\": ");
    text_microseconds(text, node->start_ns);
    text_literal(text, ", \"stop_ts_cpu\": ");
    text_microseconds(text, node->stop_ns);
    text_literal(text, ", \"duration_cpu_us\": ");
    text_microseconds(text, node->stop_ns > node->start_ns ? node->stop_ns - node->start_ns : 0);
    if (node->type == TYPE_CE_COLL) {
        text_literal(text, ", \"SeqNum\": ");
        text_unsigned(text, node->ce.sequence);
        text_literal(text, ", \"CommHash\": ");
        text_unsigned(text, tree_communicator(chrome->tree, node->context)->known.hash);
        text_literal(text, ", \"Rank\": ");
        text_signed(text, node->ce.rank);
    }
    text_literal(text, ", \"timing\": \"enqueue\"");
    if (node->type == TYPE_CE_COLL)
        print_user_tag(text, node->ce.user_tag);
    text_literal(text, "}");
}

static void print_args(struct chrome *chrome, struct text *text, const struct node *node, uint32_t id)
{
    switch (node->type) {
    case TYPE_COLL_API:
    case TYPE_P2P_API:
        print_call_args(chrome, text, node);
        break;
    case TYPE_GROUP:
    case TYPE_GROUP_API:
    case TYPE_KERNEL_LAUNCH:
        print_group_args(text, node, id);
        break;
    default:
        print_ce_args(chrome, text, node, id);
        break;
    }
    text_literal(text, "},\n");
}

/* Launches come before calls, as in the example plugin's format. */
static void print_plain(struct chrome *chrome, uint32_t number)
{
    const struct node *node = tree_node(chrome->tree, number);
    uint32_t id = chrome->ids[node->type]++;
    struct text *text =
        chrome_line(chrome, chrome_name(chrome, node), chrome_category(node->type), 'b', id, node->start_ns);
    print_args(chrome, text, node, id);
    print_children(chrome, node, API_KERNEL_LAUNCH);
    print_children(chrome, node, ~(uint32_t)API_KERNEL_LAUNCH);
    print_end(chrome, node, id, node->stop_ns);
}

void chrome_tree(struct chrome *chrome, uint32_t number)
{
    const struct node *node = tree_node(chrome->tree, number);
    switch (node->type) {
    case TYPE_COLL:
    case TYPE_P2P:
        print_task(chrome, number);
        break;
    case TYPE_PROXY_OP:
        chrome_proxy_op(chrome, number);
        break;
    case TYPE_PROXY_STEP:
        chrome_proxy_step(chrome, number);
        break;
    case TYPE_PROXY_CTRL:
        chrome_proxy_control(chrome, node);
        break;
    case TYPE_NET_PLUGIN:
        chrome_net(chrome, node);
        break;
    case TYPE_KERNEL_CH:
        print_kernel(chrome, node, chrome->ids[TYPE_KERNEL_CH], true);
        chrome_phases(chrome, node, chrome->ids[TYPE_KERNEL_CH]);
        print_kernel(chrome, node, chrome->ids[TYPE_KERNEL_CH]++, false);
        break;
    default:
        print_plain(chrome, number);
        break;
    }
}
