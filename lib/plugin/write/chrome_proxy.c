/*
 * Chrome trace lines of proxy operations, their network steps with the waits of each, and network plugin
 * events.
 */
#include "plugin/ring/api.h"
#include "plugin/ring/record.h"
#include "plugin/tree/tree.h"
#include "plugin/write/write.h"

#include <stdio.h>

void chrome_init(struct chrome *chrome, struct sink *sink, struct tree *tree, uint64_t start_ns, long process)
{
    *chrome = (struct chrome){.sink = sink, .tree = tree, .start_ns = start_ns};
    int length =
        snprintf(chrome->process, sizeof(chrome->process), ", \"pid\": %ld, \"tid\": 1, \"ts\": ", process);
    chrome->process_length = length > 0 ? (size_t)length : 0;
}

void chrome_time(const struct chrome *chrome, struct text *text, uint64_t time_ns)
{
    text_microseconds(text, time_ns > chrome->start_ns ? time_ns - chrome->start_ns : 0);
}

const char *chrome_category(uint8_t type)
{
    static const char *const categories[TYPE_COUNT] = {
        [TYPE_GROUP] = "GROUP",       [TYPE_COLL] = "COLL",         [TYPE_P2P] = "P2P",
        [TYPE_PROXY_OP] = "PROXY",    [TYPE_PROXY_STEP] = "NET",    [TYPE_PROXY_CTRL] = "PROXY",
        [TYPE_KERNEL_CH] = "GPU",     [TYPE_NET_PLUGIN] = "NET_IB", [TYPE_GROUP_API] = "GROUP_API",
        [TYPE_COLL_API] = "COLL_API", [TYPE_P2P_API] = "P2P_API",   [TYPE_KERNEL_LAUNCH] = "KERNEL_LAUNCH",
        [TYPE_CE_COLL] = "CE_COLL",   [TYPE_CE_SYNC] = "CE_SYNC",   [TYPE_CE_BATCH] = "CE_BATCH",
        [TYPE_USER_TAG] = "USER_TAG", [TYPE_KERNEL_PHASE] = "GPU"};
    return type < TYPE_COUNT ? categories[type] : "UNKNOWN";
}

const char *chrome_name(const struct chrome *chrome, const struct node *node)
{
    const struct names *names = &chrome->tree->names;
    switch (node->type) {
    case TYPE_COLL:
    case TYPE_P2P:
        return names_text(names, node->task.function);
    case TYPE_COLL_API:
    case TYPE_P2P_API:
        return names_text(names, node->call.function);
    case TYPE_CE_COLL:
        return names_text(names, node->ce.function);
    case TYPE_GROUP:
        return "Group";
    case TYPE_GROUP_API:
        return "Group API";
    case TYPE_KERNEL_LAUNCH:
        return "KernelLaunch";
    case TYPE_KERNEL_CH:
        return "KernelCh";
    case TYPE_CE_SYNC:
        return "CeSync";
    case TYPE_CE_BATCH:
        return "CeBatch";
    default:
        return "";
    }
}

struct text *chrome_line(struct chrome *chrome, const char *name, const char *category, char phase,
                         uint32_t id, uint64_t time_ns)
{
    struct text *text = sink_line(chrome->sink);
    text_literal(text, "{\"name\": \"");
    text_escaped(text, name, strlen(name));
    text_literal(text, "\", \"cat\": \"");
    text_string(text, category);
    text_literal(text, "\", \"ph\": \"");
    text_bytes(text, &phase, 1);
    text_literal(text, "\", \"id\": ");
    text_unsigned(text, id);
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, time_ns);
    return text;
}

struct text *chrome_note(struct chrome *chrome, const char *name, bool instant, uint64_t time_ns)
{
    struct text *text = sink_line(chrome->sink);
    text_literal(text, "{\"name\": \"");
    text_string(text, name);
    text_literal(text, "\", \"cat\": \"NCCLPROF\", \"ph\": \"");
    text_string(text, instant ? "i\", \"s\": \"p\"" : "M\"");
    text_bytes(text, chrome->process, chrome->process_length);
    chrome_time(chrome, text, time_ns);
    text_literal(text, ", \"args\": {");
    return text;
}

void chrome_note_end(struct text *text)
{
    text_literal(text, "}},\n");
}

static void begin_op(struct chrome *chrome, const struct node *node, const char *name, uint32_t id,
                     uint64_t time_ns)
{
    const struct node_proxy_op *op = &node->proxy_op;
    struct text *text = chrome_line(chrome, name, "PROXY", 'b', id, time_ns);
    text_literal(text, ", \"args\": {\"Channel\": ");
    text_unsigned(text, node->channel);
    text_literal(text, ", \"Peer\": ");
    text_signed(text, op->peer);
    text_literal(text, ", \"Steps\": ");
    text_signed(text, op->steps);
    text_literal(text, ", \"ChunkSize\": ");
    text_signed(text, op->chunk_bytes);
    text_literal(text, ", \"transSize\": ");
    text_unsigned(text, op->transferred_bytes);
    if (node->api < 4 && node->api > 0) {
        static const char *const send[] = {"POSTED", "REM_FIFO_WAIT", "TRANSMITTED", "DONE"};
        static const char *const receive[] = {"POSTED", "RECEIVED", "TRANSMITTED", "DONE"};
        for (int i = 0; i < NODE_STATES; i++) {
            text_literal(text, ", \"");
            text_string(text, node->is_send ? send[i] : receive[i]);
            text_literal(text, "\": {\"step\": ");
            text_signed(text, op->state_steps[i]);
            text_literal(text, ", \"ts\": ");
            chrome_time(chrome, text, op->state_ns[i]);
            text_literal(text, "}");
        }
    }
    if (op->detached) {
        text_literal(text, ", \"OriginPid\": ");
        text_signed(text, op->pid);
        text_literal(text, ", \"OriginRank\": ");
        text_signed(text, op->rank);
    }
    text_literal(text, "}},\n");
}

static void end_line(struct chrome *chrome, const char *name, const char *category, uint32_t id,
                     uint64_t time_ns)
{
    text_literal(chrome_line(chrome, name, category, 'e', id, time_ns), "},\n");
}

static void print_steps(struct chrome *chrome, const struct node *op)
{
    for (uint32_t child = op->first_child; child; child = tree_node(chrome->tree, child)->next_sibling)
        chrome_proxy_step(chrome, child);
}

void chrome_proxy_op(struct chrome *chrome, uint32_t number)
{
    const struct node *node = tree_node(chrome->tree, number);
    uint32_t id = chrome->ids[TYPE_PROXY_OP]++;
    if (node->api < 4 && node->api > 0) {
        const char *name = node->is_send ? "Send" : "Recv";
        begin_op(chrome, node, name, id, node->start_ns);
        print_steps(chrome, node);
        end_line(chrome, name, "PROXY", id, node->stop_ns);
        return;
    }
    const char *scheduled = node->is_send ? "ScheduleSend" : "ScheduleRecv";
    const char *progress = node->is_send ? "ProgressSend" : "ProgressRecv";
    begin_op(chrome, node, scheduled, id, node->start_ns);
    end_line(chrome, scheduled, "PROXY", id, node->proxy_op.progress_ns);
    begin_op(chrome, node, progress, id, node->proxy_op.progress_ns);
    print_steps(chrome, node);
    end_line(chrome, progress, "PROXY", id, node->stop_ns);
}

static void begin_wait(struct chrome *chrome, const char *name, uint32_t id, int32_t step, uint64_t time_ns)
{
    struct text *text = chrome_line(chrome, name, "NET", 'b', id, time_ns);
    text_literal(text, ", \"args\": {\"Step\": ");
    text_signed(text, step);
    text_literal(text, "}},\n");
}

/* The waits of a step follow each other. A wait that the interface version does not report has no name. */
static const char *const *wait_names(const struct node *node)
{
    static const char *const send[] = {NULL, "SendGpuWait", "SendPeerWait", "SendWait"};
    static const char *const receive[] = {NULL, "RecvWait", "RecvFlushWait", "RecvGpuWait"};
    static const char *const old_send[] = {"SendBufferWait", "SendGpuWait", NULL, "SendWait"};
    static const char *const old_receive[] = {"RecvBufferWait", "RecvWait", "RecvFlushWait", "RecvGpuWait"};
    if (node->api < 4 && node->api > 0)
        return node->is_send ? old_send : old_receive;
    return node->is_send ? send : receive;
}

/* Returns when each wait begins. A wait that NCCL skipped begins where the next one does. */
static void wait_bounds(const struct node *node, uint64_t bounds[5])
{
    bounds[0] = node->start_ns;
    for (int i = 0; i < 3; i++)
        bounds[i + 1] = node->proxy_step.state_ns[i];
    bounds[4] = node->stop_ns;
    for (int i = 3; i > 0; i--)
        if (bounds[i] == 0)
            bounds[i] = bounds[i + 1];
}

void chrome_proxy_step(struct chrome *chrome, uint32_t number)
{
    const struct node *node = tree_node(chrome->tree, number);
    const char *const *names = wait_names(node);
    uint64_t bounds[5];
    wait_bounds(node, bounds);
    uint32_t id = chrome->ids[TYPE_PROXY_STEP]++;
    for (int i = 0; i < 4; i++) {
        if (!names[i])
            continue;
        uint64_t end_ns = i < 3 && !names[i + 1] ? bounds[i + 2] : bounds[i + 1];
        begin_wait(chrome, names[i], id, node->proxy_step.step, bounds[i]);
        bool last_of_send = node->is_send && i == 3;
        bool first_of_receive = !node->is_send && names[i][4] == 'W';
        for (uint32_t child = node->first_child; child && (last_of_send || first_of_receive);
             child = tree_node(chrome->tree, child)->next_sibling)
            chrome_net(chrome, tree_node(chrome->tree, child));
        end_line(chrome, names[i], "NET", id, end_ns);
    }
}

void chrome_proxy_control(struct chrome *chrome, const struct node *node)
{
    const char *name;
    switch (node->state) {
    case API_CTRL_IDLE:
    case API_CTRL_ACTIVE:
        name = "Idle";
        break;
    case API_CTRL_SLEEP:
    case API_CTRL_WAKEUP:
        name = "Sleep";
        break;
    case API_CTRL_APPEND:
    case API_CTRL_APPEND_END:
        name = "Append";
        break;
    default:
        return;
    }
    uint32_t id = chrome->ids[TYPE_PROXY_CTRL]++;
    struct text *text = chrome_line(chrome, name, "PROXY", 'b', id, node->start_ns);
    if (node->state == API_CTRL_APPEND_END) {
        text_literal(text, ", \"args\": {\"appended\": ");
        text_signed(text, node->appended);
        text_literal(text, "}");
    }
    text_literal(text, "},\n");
    end_line(chrome, name, "PROXY", id, node->stop_ns);
}

void chrome_net(struct chrome *chrome, const struct node *node)
{
    bool infiniband = (node->net.id & API_NET_TYPE_MASK) == API_NET_TYPE_IB;
    const char *name = infiniband ? "Qp" : "Sock";
    const char *category = infiniband ? "NET_IB" : "NET_SOCK";
    uint32_t id = chrome->ids[TYPE_NET_PLUGIN]++;
    struct text *text = chrome_line(chrome, name, category, 'b', id, node->start_ns);
    text_string(text, infiniband ? ", \"args\": {\"device\": " : ", \"args\": {\"sock\": ");
    text_signed(text, node->net.device);
    if (infiniband) {
        text_literal(text, ", \"qp_num\": ");
        text_signed(text, node->net.queue_pair);
        text_literal(text, ", \"opcode\": ");
        text_signed(text, node->net.opcode);
        text_literal(text, ", \"wr_id\": ");
        text_unsigned(text, node->net.work_request);
    } else {
        text_literal(text, ", \"op\": ");
        text_signed(text, node->net.opcode);
    }
    text_literal(text, ", \"size\": ");
    text_unsigned(text, node->net.length);
    text_literal(text, "}},\n");
    end_line(chrome, name, category, id, node->stop_ns);
}
