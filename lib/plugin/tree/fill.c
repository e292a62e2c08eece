#include "plugin/tree/fill.h"

#include <string.h>

static uint16_t name_number(struct tree *tree, const char *name)
{
    return (uint16_t)names_number(&tree->names, name, strlen(name));
}

static uint32_t current_tag(struct tree *tree, uint32_t context)
{
    const struct communicator_state *communicator = tree_communicator(tree, context);
    return communicator->tag_ns > tree->process_tag_ns ? communicator->tag : tree->process_tag;
}

static void learn_from_task(struct tree *tree, const struct record *record)
{
    struct communicator *known = &tree_communicator(tree, record->context)->known;
    if (record->context == 0 || record->task.communicator_hash == 0 || known->hash)
        return;
    known->hash = record->task.communicator_hash;
    known->rank = record->task.rank;
    memcpy(known->name, record->task.communicator_name, sizeof(record->task.communicator_name));
}

static void fill_task(struct tree *tree, struct node *node, const struct record *record)
{
    node->task = (struct node_task){
        .sequence = record->task.sequence,
        .send_buffer = record->task.send_buffer,
        .recv_buffer = record->task.recv_buffer,
        .count = record->task.count,
        .root = record->task.root,
        .rank = record->task.rank,
        .peer = record->task.peer,
        .channels = record->task.channels,
        .warps = record->task.warps,
        .symmetry = record->task.symmetry,
        .user_tag = record->task.user_tag,
        .tag = tag_texts_keep(&tree->tags, current_tag(tree, record->context)),
        .function = name_number(tree, record->task.names.function),
        .datatype = name_number(tree, record->task.names.datatype),
        .algorithm = name_number(tree, record->task.names.algorithm),
        .protocol = name_number(tree, record->task.names.protocol),
    };
    if (record->task.symmetry != SYMMETRY_UNTOLD)
        node->task.kernel_variant = name_number(tree, record->task.kernel_variant);
    learn_from_task(tree, record);
}

static void fill_call(struct tree *tree, struct node *node, const struct record *record)
{
    node->call = (struct node_call){
        .count = record->call.count,
        .stream = record->call.stream,
        .user_tag = record->call.user_tag,
        .root = record->call.root,
        .graph_captured = record->call.graph_captured,
        .function = name_number(tree, record->call.function),
        .datatype = name_number(tree, record->call.datatype),
    };
}

static void fill_proxy_op(struct tree *tree, struct node *node, const struct record *record)
{
    node->channel = record->proxy_op.channel;
    node->is_send = record->proxy_op.is_send;
    node->proxy_op = (struct node_proxy_op){
        .pid = record->proxy_op.pid,
        .rank = record->proxy_op.rank,
        .peer = record->proxy_op.peer,
        .steps = record->proxy_op.steps,
        .chunk_bytes = record->proxy_op.chunk_bytes,
        .detached = record->proxy_op.pid != tree->process,
    };
}

static void fill_net(struct node *node, const struct record *record)
{
    node->net = (struct node_net){
        .work_request = record->net_plugin.work_request,
        .length = record->net_plugin.length,
        .id = record->net_plugin.id,
        .device = record->net_plugin.device,
        .opcode = record->net_plugin.opcode,
        .queue_pair = record->net_plugin.queue_pair,
    };
}

static void fill_ce(struct tree *tree, struct node *node, const struct record *record)
{
    if (record->type == TYPE_CE_COLL)
        node->ce = (struct node_ce){
            .sequence = record->ce_coll.sequence,
            .count = record->ce_coll.count,
            .stream = record->ce_coll.stream,
            .user_tag = record->ce_coll.user_tag,
            .root = record->ce_coll.root,
            .rank = record->ce_coll.rank,
            .function = name_number(tree, record->ce_coll.function),
            .datatype = name_number(tree, record->ce_coll.datatype),
            .strategy = name_number(tree, record->ce_coll.strategy),
        };
    else
        node->ce = (struct node_ce){
            .total_bytes = record->ce_part.total_bytes,
            .number = record->ce_part.number,
            .flag = record->ce_part.flag,
        };
}

void tree_fill(struct tree *tree, struct node *node, const struct record *record)
{
    switch (record->type) {
    case TYPE_COLL:
    case TYPE_P2P:
        fill_task(tree, node, record);
        break;
    case TYPE_PROXY_OP:
        fill_proxy_op(tree, node, record);
        break;
    case TYPE_PROXY_STEP:
        node->proxy_step.step = record->proxy_step.step;
        break;
    case TYPE_KERNEL_CH:
    case TYPE_KERNEL_PHASE:
        node->channel = record->kernel_ch.channel;
        node->kernel.start_clock = record->kernel_ch.gpu_clock;
        node->kernel.phase = record->kernel_ch.phase;
        break;
    case TYPE_NET_PLUGIN:
        fill_net(node, record);
        break;
    case TYPE_GROUP_API:
        node->call.root = record->group_api.depth;
        node->call.graph_captured = record->group_api.graph_captured;
        break;
    case TYPE_COLL_API:
    case TYPE_P2P_API:
    case TYPE_KERNEL_LAUNCH:
        fill_call(tree, node, record);
        break;
    case TYPE_CE_COLL:
    case TYPE_CE_SYNC:
    case TYPE_CE_BATCH:
        fill_ce(tree, node, record);
        break;
    default:
        break;
    }
}
