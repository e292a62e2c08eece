/*
 * The offsets of each member in NCCL's own declarations on 64-bit machines, measured by compiling these
 * beside api.h. Included by entry.c. The build fails on a machine where the offsets differ.
 */
#ifndef PLUGIN_ENTRY_API_LAYOUT_H
#define PLUGIN_ENTRY_API_LAYOUT_H

#include "plugin/ring/api.h"

#define API_AT(version, member, offset)                                           \
    _Static_assert(offsetof(struct api_descriptor_##version, member) == (offset), \
                   "layout of " #version " " #member)
#define API_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
/* Size of the functions in a table that NCCL knows. */
#define API_TABLE(version) \
    _Static_assert(offsetof(struct api_plugin_##version, reserved) == 48, "size of the table " #version)

API_AT(v1, type, 0);
API_AT(v1, parent, 8);
API_AT(v1, rank, 16);
API_AT(v1, coll.name, 24);
API_AT(v1, coll.communicator_hash, 32);
API_AT(v1, coll.sequence, 40);
API_AT(v1, coll.function, 48);
API_AT(v1, coll.send_buffer, 56);
API_AT(v1, coll.recv_buffer, 64);
API_AT(v1, coll.count, 72);
API_AT(v1, coll.root, 80);
API_AT(v1, coll.datatype, 84);
API_AT(v1, coll.operator, 88);
API_AT(v1, coll.traffic_bytes, 96);
API_AT(v1, coll.channels, 104);
API_AT(v1, coll.warps, 105);
API_AT(v1, coll.algorithm, 106);
API_AT(v1, coll.protocol, 107);
API_AT(v1, coll.is_collnet, 108);
API_AT(v1, coll.is_nvls, 112);
API_AT(v1, p2p.name, 24);
API_AT(v1, p2p.communicator_hash, 32);
API_AT(v1, p2p.function, 40);
API_AT(v1, p2p.buffer, 48);
API_AT(v1, p2p.datatype, 56);
API_AT(v1, p2p.count, 64);
API_AT(v1, p2p.peer, 72);
API_AT(v1, proxy_op.pid, 24);
API_AT(v1, proxy_op.channel, 28);
API_AT(v1, proxy_op.peer, 32);
API_AT(v1, proxy_op.steps, 36);
API_AT(v1, proxy_op.chunk_bytes, 40);
API_AT(v1, proxy_op.is_send, 44);
API_AT(v1, proxy_step.step, 24);
API_SIZE(struct api_descriptor_v1, 120);

API_AT(v2, type, 0);
API_AT(v2, parent, 8);
API_AT(v2, rank, 16);
API_AT(v2, coll.name, 24);
API_AT(v2, coll.communicator_hash, 32);
API_AT(v2, coll.sequence, 40);
API_AT(v2, coll.function, 48);
API_AT(v2, coll.send_buffer, 56);
API_AT(v2, coll.recv_buffer, 64);
API_AT(v2, coll.count, 72);
API_AT(v2, coll.root, 80);
API_AT(v2, coll.datatype, 88);
API_AT(v2, coll.traffic_bytes, 96);
API_AT(v2, coll.channels, 104);
API_AT(v2, coll.warps, 105);
API_AT(v2, coll.algorithm, 112);
API_AT(v2, coll.protocol, 120);
API_AT(v2, p2p.name, 24);
API_AT(v2, p2p.communicator_hash, 32);
API_AT(v2, p2p.function, 40);
API_AT(v2, p2p.buffer, 48);
API_AT(v2, p2p.datatype, 56);
API_AT(v2, p2p.count, 64);
API_AT(v2, p2p.peer, 72);
API_AT(v2, proxy_op.pid, 24);
API_AT(v2, proxy_op.channel, 28);
API_AT(v2, proxy_op.peer, 32);
API_AT(v2, proxy_op.steps, 36);
API_AT(v2, proxy_op.chunk_bytes, 40);
API_AT(v2, proxy_op.is_send, 44);
API_AT(v2, proxy_step.step, 24);
API_SIZE(struct api_descriptor_v2, 128);

API_AT(v3, type, 0);
API_AT(v3, parent, 8);
API_AT(v3, rank, 16);
API_AT(v3, coll.name, 24);
API_AT(v3, coll.communicator_hash, 32);
API_AT(v3, coll.sequence, 40);
API_AT(v3, coll.function, 48);
API_AT(v3, coll.send_buffer, 56);
API_AT(v3, coll.recv_buffer, 64);
API_AT(v3, coll.count, 72);
API_AT(v3, coll.root, 80);
API_AT(v3, coll.datatype, 88);
API_AT(v3, coll.channels, 96);
API_AT(v3, coll.warps, 97);
API_AT(v3, coll.algorithm, 104);
API_AT(v3, coll.protocol, 112);
API_AT(v3, p2p.name, 24);
API_AT(v3, p2p.communicator_hash, 32);
API_AT(v3, p2p.function, 40);
API_AT(v3, p2p.buffer, 48);
API_AT(v3, p2p.datatype, 56);
API_AT(v3, p2p.count, 64);
API_AT(v3, p2p.peer, 72);
API_AT(v3, proxy_op.pid, 24);
API_AT(v3, proxy_op.channel, 28);
API_AT(v3, proxy_op.peer, 32);
API_AT(v3, proxy_op.steps, 36);
API_AT(v3, proxy_op.chunk_bytes, 40);
API_AT(v3, proxy_op.is_send, 44);
API_AT(v3, proxy_step.step, 24);
API_AT(v3, kernel_ch.channel, 24);
API_AT(v3, net_plugin.id, 24);
API_AT(v3, net_plugin.data, 32);
API_SIZE(struct api_descriptor_v3, 120);

API_AT(v4, type, 0);
API_AT(v4, parent, 8);
API_AT(v4, rank, 16);
API_AT(v4, coll.sequence, 24);
API_AT(v4, coll.function, 32);
API_AT(v4, coll.send_buffer, 40);
API_AT(v4, coll.recv_buffer, 48);
API_AT(v4, coll.count, 56);
API_AT(v4, coll.root, 64);
API_AT(v4, coll.datatype, 72);
API_AT(v4, coll.channels, 80);
API_AT(v4, coll.warps, 81);
API_AT(v4, coll.algorithm, 88);
API_AT(v4, coll.protocol, 96);
API_AT(v4, p2p.function, 24);
API_AT(v4, p2p.buffer, 32);
API_AT(v4, p2p.datatype, 40);
API_AT(v4, p2p.count, 48);
API_AT(v4, p2p.peer, 56);
API_AT(v4, p2p.channels, 60);
API_AT(v4, proxy_op.pid, 24);
API_AT(v4, proxy_op.channel, 28);
API_AT(v4, proxy_op.peer, 32);
API_AT(v4, proxy_op.steps, 36);
API_AT(v4, proxy_op.chunk_bytes, 40);
API_AT(v4, proxy_op.is_send, 44);
API_AT(v4, proxy_step.step, 24);
API_AT(v4, kernel_ch.channel, 24);
API_AT(v4, kernel_ch.gpu_clock, 32);
API_AT(v4, net_plugin.id, 24);
API_AT(v4, net_plugin.data, 32);
API_SIZE(struct api_descriptor_v4, 104);

API_AT(v6, type, 0);
API_AT(v6, parent, 8);
API_AT(v6, rank, 16);
API_AT(v6, group_api.graph_captured, 24);
API_AT(v6, group_api.depth, 28);
API_AT(v6, coll_api.function, 24);
API_AT(v6, coll_api.count, 32);
API_AT(v6, coll_api.datatype, 40);
API_AT(v6, coll_api.root, 48);
API_AT(v6, coll_api.stream, 56);
API_AT(v6, coll_api.graph_captured, 64);
API_AT(v6, p2p_api.function, 24);
API_AT(v6, p2p_api.count, 32);
API_AT(v6, p2p_api.datatype, 40);
API_AT(v6, p2p_api.stream, 48);
API_AT(v6, p2p_api.graph_captured, 56);
API_AT(v6, kernel_launch.stream, 24);
API_AT(v6, coll.sequence, 24);
API_AT(v6, coll.function, 32);
API_AT(v6, coll.send_buffer, 40);
API_AT(v6, coll.recv_buffer, 48);
API_AT(v6, coll.count, 56);
API_AT(v6, coll.root, 64);
API_AT(v6, coll.datatype, 72);
API_AT(v6, coll.channels, 80);
API_AT(v6, coll.warps, 81);
API_AT(v6, coll.algorithm, 88);
API_AT(v6, coll.protocol, 96);
API_AT(v6, p2p.function, 24);
API_AT(v6, p2p.buffer, 32);
API_AT(v6, p2p.datatype, 40);
API_AT(v6, p2p.count, 48);
API_AT(v6, p2p.peer, 56);
API_AT(v6, p2p.channels, 60);
API_AT(v6, proxy_op.pid, 24);
API_AT(v6, proxy_op.channel, 28);
API_AT(v6, proxy_op.peer, 32);
API_AT(v6, proxy_op.steps, 36);
API_AT(v6, proxy_op.chunk_bytes, 40);
API_AT(v6, proxy_op.is_send, 44);
API_AT(v6, proxy_step.step, 24);
API_AT(v6, kernel_ch.channel, 24);
API_AT(v6, kernel_ch.gpu_clock, 32);
API_AT(v6, net_plugin.id, 24);
API_AT(v6, net_plugin.data, 32);
API_AT(v6, coll.parent_group, 104);
API_AT(v6, p2p.parent_group, 64);
API_AT(v6, ce_coll.sequence, 24);
API_AT(v6, ce_coll.function, 32);
API_AT(v6, ce_coll.send_buffer, 40);
API_AT(v6, ce_coll.recv_buffer, 48);
API_AT(v6, ce_coll.count, 56);
API_AT(v6, ce_coll.root, 64);
API_AT(v6, ce_coll.datatype, 72);
API_AT(v6, ce_coll.strategy, 80);
API_AT(v6, ce_coll.intra_batch_sync, 88);
API_AT(v6, ce_coll.batch_size, 92);
API_AT(v6, ce_coll.batches, 96);
API_AT(v6, ce_coll.ce_sequence, 100);
API_AT(v6, ce_coll.stream, 104);
API_AT(v6, ce_sync.is_complete, 24);
API_AT(v6, ce_sync.ranks, 28);
API_AT(v6, ce_batch.operations, 24);
API_AT(v6, ce_batch.total_bytes, 32);
API_AT(v6, ce_batch.use_intra_sync, 40);
API_AT(v6, user_tag.tag, 24);
API_SIZE(struct api_descriptor_v6, 112);

API_AT(v7, type, 0);
API_AT(v7, parent, 8);
API_AT(v7, rank, 16);
API_AT(v7, coll_api.graph_captured, 64);
API_AT(v7, coll_api.user_tag, 72);
API_AT(v7, p2p_api.graph_captured, 56);
API_AT(v7, p2p_api.user_tag, 64);
API_AT(v7, coll.parent_group, 104);
API_AT(v7, coll.kernel_variant, 112);
API_AT(v7, coll.is_symmetric, 120);
API_AT(v7, coll.user_tag, 128);
API_AT(v7, p2p.parent_group, 64);
API_AT(v7, p2p.user_tag, 72);
API_AT(v7, ce_coll.stream, 104);
API_AT(v7, ce_coll.user_tag, 112);
API_AT(v7, kernel_phase.channel, 24);
API_AT(v7, kernel_phase.phase, 25);
API_AT(v7, kernel_phase.name, 32);
API_AT(v7, kernel_phase.gpu_clock, 40);
API_SIZE(struct api_descriptor_v7, 136);

API_SIZE(union api_state_args_v1, 16);
API_SIZE(union api_state_args_v4, 8);
API_TABLE(v1);
API_TABLE(v2);
API_TABLE(v3);
API_TABLE(v4);
API_TABLE(v5);
API_TABLE(v6);
API_TABLE(v7);

_Static_assert(offsetof(struct api_net_ib_v1, qp.device) == 8, "layout of ib qp.device");
_Static_assert(offsetof(struct api_net_ib_v1, qp.wr_id) == 16, "layout of ib qp.wr_id");
_Static_assert(offsetof(struct api_net_ib_v1, qp.opcode) == 24, "layout of ib qp.opcode");
_Static_assert(offsetof(struct api_net_ib_v1, qp.qp_number) == 28, "layout of ib qp.qp_number");
_Static_assert(offsetof(struct api_net_ib_v1, qp.length) == 32, "layout of ib qp.length");
_Static_assert(offsetof(struct api_net_socket_v1, socket.descriptor) == 8,
               "layout of socket socket.descriptor");
_Static_assert(offsetof(struct api_net_socket_v1, socket.operation) == 12,
               "layout of socket socket.operation");
_Static_assert(offsetof(struct api_net_socket_v1, socket.length) == 16, "layout of socket socket.length");

#undef API_AT
#undef API_SIZE
#undef API_TABLE

#endif
