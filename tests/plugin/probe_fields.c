/* Every field that NCCL passes, each with a different value, for test_fields.py. */
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define HASH 0xabcdef0123u
#define NAME "everything"

static void *context;

static void *start(struct nccl_event_v7 event)
{
    void *handle = NULL;
    fake_start(&probe_plugin, context, &handle, &event, HASH, NAME);
    return handle;
}

static void *address(uintptr_t value)
{
    return (void *)value;
}

/* If the version has it. */
static void play_phase(void *kernel, uint8_t channel, uint64_t clock)
{
    void *phase = start((struct nccl_event_v7){
        .type = NCCL_KERNEL_PHASE,
        .parent = kernel,
        .kernel_phase = {.channel = channel, .phase = 2, .name = "final_sync", .gpu_clock = clock + 400}});
    fake_state(&probe_plugin, phase, NCCL_KERNEL_PHASE_STOP, clock + 900, 0);
    fake_stop(&probe_plugin, phase);
}

static void play_kernel(void *task, uint8_t channel, uint64_t clock)
{
    void *kernel = start((struct nccl_event_v7){
        .type = NCCL_KERNEL_CH, .parent = task, .kernel_ch = {.channel = channel, .gpu_clock = clock}});
    play_phase(kernel, channel, clock);
    fake_state(&probe_plugin, kernel, NCCL_KERNEL_CH_STOP, clock + 1000, 0);
    fake_stop(&probe_plugin, kernel);
}

static void play_net(void *step)
{
    struct nccl_net_ib ib = {.type = 1,
                             .qp = {.device = 41, .wr_id = 42, .opcode = 43, .qp_number = 44, .length = 45}};
    struct nccl_net_socket socket = {.type = 1, .socket = {.descriptor = 46, .operation = 47, .length = 48}};
    fake_stop(&probe_plugin,
              start((struct nccl_event_v7){.type = NCCL_NET_PLUGIN,
                                           .parent = step,
                                           .net_plugin = {.id = NCCL_NET_TYPE_IB | 1, .data = &ib}}));
    fake_stop(&probe_plugin,
              start((struct nccl_event_v7){.type = NCCL_NET_PLUGIN,
                                           .parent = step,
                                           .net_plugin = {.id = NCCL_NET_TYPE_SOCKET | 1, .data = &socket}}));
}

static void play_step(void *operation)
{
    void *step = start(
        (struct nccl_event_v7){.type = NCCL_PROXY_STEP, .parent = operation, .proxy_step = {.step = 51}});
    fake_state(&probe_plugin, step, NCCL_STEP_SEND_GPU_WAIT, 0, 0);
    if (probe_plugin.version >= 4)
        fake_state(&probe_plugin, step, NCCL_STEP_SEND_PEER_WAIT, 0, 0);
    fake_state(&probe_plugin, step, NCCL_STEP_SEND_WAIT, probe_plugin.version >= 4 ? 5200 : 0, 0);
    play_net(step);
    fake_stop(&probe_plugin, step);
}

static void play_proxy(void *task, pid_t process)
{
    void *operation = start((struct nccl_event_v7){
        .type = NCCL_PROXY_OP,
        .parent = task,
        .rank = 61,
        .proxy_op = {
            .pid = process, .channel = 62, .peer = 63, .steps = 64, .chunk_bytes = 6500, .is_send = 1}});
    if (probe_plugin.version >= 4)
        fake_state(&probe_plugin, operation, NCCL_PROXY_OP_IN_PROGRESS, 0, 0);
    else
        for (int state = NCCL_SEND_POSTED; state <= NCCL_SEND_DONE; state++)
            fake_state(&probe_plugin, operation, state, (uint64_t)(100 * (state + 1)), 71 + state);
    play_step(operation);
    fake_stop(&probe_plugin, operation);
}

static void *start_call(uint64_t type, void *group)
{
    if (type == NCCL_COLL_API)
        return start((struct nccl_event_v7){.type = type,
                                            .parent = group,
                                            .coll_api = {.function = "ReduceScatter",
                                                         .count = 81,
                                                         .datatype = "ncclUint64",
                                                         .root = 82,
                                                         .stream = address(0x83),
                                                         .graph_captured = false,
                                                         .user_tag = 1083}});
    return start((struct nccl_event_v7){.type = type,
                                        .parent = group,
                                        .p2p_api = {.function = "Recv",
                                                    .count = 84,
                                                    .datatype = "ncclFloat16",
                                                    .stream = address(0x85),
                                                    .graph_captured = true,
                                                    .user_tag = 1085}});
}

static void play_collective(void *parent)
{
    void *task = start((struct nccl_event_v7){.type = NCCL_COLL,
                                              .parent = parent,
                                              .rank = 11,
                                              .coll = {.sequence = 12,
                                                       .function = "ReduceScatter",
                                                       .send_buffer = address(0x13),
                                                       .recv_buffer = address(0x14),
                                                       .count = 15,
                                                       .root = 16,
                                                       .datatype = "ncclInt64",
                                                       .channels = 2,
                                                       .warps = 17,
                                                       .algorithm = "RING",
                                                       .protocol = "SIMPLE",
                                                       .parent_group = parent,
                                                       .kernel_variant = "ReduceScatter_variant",
                                                       .is_symmetric = true,
                                                       .user_tag = UINT64_MAX}});
    fake_stop(&probe_plugin, task);
    play_kernel(task, 18, 100000);
    play_kernel(task, 62, 200000);
    play_proxy(task, getpid());
}

static void play_receive(void *parent)
{
    void *task = start((struct nccl_event_v7){.type = NCCL_P2P,
                                              .parent = parent,
                                              .rank = 21,
                                              .p2p = {.function = "Recv",
                                                      .buffer = address(0x22),
                                                      .datatype = "ncclBfloat16",
                                                      .count = 23,
                                                      .peer = 24,
                                                      .channels = 1,
                                                      .parent_group = parent,
                                                      .user_tag = 1021}});
    fake_stop(&probe_plugin, task);
    play_kernel(task, 25, 300000);
}

static void play_group(void)
{
    bool calls = probe_plugin.version >= 5;
    void *group = start((struct nccl_event_v7){.type = calls ? NCCL_GROUP_API : NCCL_GROUP,
                                               .group_api = {.depth = 86, .graph_captured = true}});
    void *collective = calls ? start_call(NCCL_COLL_API, group) : group;
    void *receive = calls ? start_call(NCCL_P2P_API, group) : group;
    if (calls) {
        fake_stop(&probe_plugin, start((struct nccl_event_v7){.type = NCCL_KERNEL_LAUNCH,
                                                              .parent = group,
                                                              .kernel_launch = {.stream = address(0x87)}}));
        fake_stop(&probe_plugin, collective);
        fake_stop(&probe_plugin, receive);
    }
    play_collective(collective);
    play_receive(receive);
    fake_stop(&probe_plugin, group);
}

/* Each function and type for which version 1 has a number, in this order. */
static void play_names(void)
{
    static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                            "AllReduce", "SendRecv", "Send",      "Recv"};
    static const char *const types[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                        "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                        "ncclFloat64", "ncclBfloat16"};
    for (unsigned i = 0; i < 10; i++) {
        void *task = start((struct nccl_event_v7){.type = NCCL_COLL,
                                                  .rank = 11,
                                                  .coll = {.sequence = 100 + i,
                                                           .function = functions[i % 8],
                                                           .count = 1000 + i,
                                                           .datatype = types[i],
                                                           .channels = 1,
                                                           .algorithm = "RING",
                                                           .protocol = "SIMPLE"}});
        fake_stop(&probe_plugin, task);
        play_kernel(task, 0, 400000 + i);
    }
}

static void play_control(void)
{
    void *control = start((struct nccl_event_v7){.type = NCCL_PROXY_CTRL});
    fake_state(&probe_plugin, control, NCCL_CTRL_APPEND_END, 91, 0);
    fake_stop(&probe_plugin, control);
}

static void play_copy_engine(void)
{
    void *collective = start((struct nccl_event_v7){.type = NCCL_CE_COLL,
                                                    .rank = 31,
                                                    .ce_coll = {.sequence = 32,
                                                                .function = "AllGather",
                                                                .count = 33,
                                                                .root = 34,
                                                                .datatype = "ncclFloat8e4m3",
                                                                .strategy = "MC",
                                                                .stream = address(0x35),
                                                                .user_tag = 1031}});
    fake_stop(&probe_plugin, start((struct nccl_event_v7){.type = NCCL_CE_SYNC,
                                                          .parent = collective,
                                                          .ce_sync = {.is_complete = true, .ranks = 36}}));
    fake_stop(&probe_plugin,
              start((struct nccl_event_v7){.type = NCCL_CE_BATCH,
                                           .parent = collective,
                                           .ce_batch = {.operations = 37, .total_bytes = 38}}));
    fake_stop(&probe_plugin, collective);
}

/* Played as version probe_number. */
void probe_every_field(void)
{
    int mask = 0;
    fake_init(&probe_plugin, &context, &mask, HASH, NAME, 3, 12, 9, NULL);
    fake_tag(&probe_plugin, context, 95, "tagged");
    play_group();
    play_proxy(NULL, getpid() + 1);
    play_names();
    play_control();
    play_copy_engine();
    fake_finalize(&probe_plugin, context);
}
