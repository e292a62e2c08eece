#include "fakecore_unknown.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HASH 7
#define NAME "unknown"

struct play {
    const struct fake_plugin *plugin;
    void *context;
    uint64_t unknown; /* played so far */
};

static void *start(const struct play *play, struct nccl_event_v7 event)
{
    void *handle = NULL;
    fake_start(play->plugin, play->context, &handle, &event, HASH, NAME);
    return handle;
}

static void play_type(struct play *play, uint64_t type)
{
    static char begun;
    void *handle = &begun;
    if (!fake_start_unknown(play->plugin, play->context, &handle, type))
        return;
    play->unknown++;
    if (!handle)
        return;
    fprintf(stderr, "fakecore: event %lx got a handle\n", (unsigned long)type);
    exit(1);
}

static bool is_known(const struct play *play, uint64_t type)
{
    bool single = type && (type & (type - 1)) == 0;
    return single && (type & fake_events_known(play->plugin));
}

/* Each value of a byte, and of a half-word; then each bit alone and with others. */
static void play_types(struct play *play)
{
    uint64_t most = play->plugin->version < 5 ? UINT8_MAX : UINT16_MAX;
    for (uint64_t type = 0; type <= most; type++)
        if (!is_known(play, type))
            play_type(play, type);
    for (int bit = 16; bit < 64; bit++) {
        play_type(play, UINT64_C(1) << bit);
        play_type(play, UINT64_C(1) << bit | NCCL_COLL);
        play_type(play, UINT64_C(1) << bit | UINT64_C(1) << (bit - 1));
    }
    play_type(play, UINT64_MAX);
    /* Tags of the pull request have no parent: an event with a parent is something else. */
    if (play->plugin->has_tags)
        play_type(play, NCCL_USER_TAG);
}

static void play_state(struct play *play, void *handle, int state)
{
    fake_state_unknown(play->plugin, handle, state);
    play->unknown++;
}

static void play_states(struct play *play, void *handle)
{
    static const int far[] = {INT_MIN, -2, -1, 100, 127, 128, 255, 256, 0x10000, INT_MAX};
    if (!handle)
        return;
    for (int state = fake_last_state(play->plugin) + 1; state <= 40; state++)
        play_state(play, handle, state);
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
        play_state(play, handle, far[i]);
    /* Those of copy-engine events have no data. */
    for (int state = NCCL_GROUP_END_START + 1;
         state <= NCCL_CE_BATCH_COMPLETE && state <= fake_last_state(play->plugin); state++)
        fake_state_unknown(play->plugin, handle, state);
}

/* The first byte of the data is its kind; nothing may be read after it. */
static void play_net(struct play *play, void *step)
{
    static const int64_t ids[] = {0,
                                  1,
                                  2,
                                  -1,
                                  NCCL_NET_TYPE_IB,
                                  NCCL_NET_TYPE_IB | 2,
                                  NCCL_NET_TYPE_SOCKET | 2,
                                  NCCL_NET_TYPE_IB | NCCL_NET_TYPE_SOCKET | 1,
                                  NCCL_NET_TYPE_IB | 0x101,
                                  0x40001,
                                  INT64_C(1) << 32 | NCCL_NET_TYPE_IB | 1,
                                  INT64_MIN | NCCL_NET_TYPE_SOCKET | 1};
    unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) != 0)
        abort();
    struct nccl_event_v7 event = {.type = NCCL_NET_PLUGIN, .parent = step};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        event.net_plugin = (struct nccl_net_plugin){.id = ids[i], .data = pages + 4096};
        play->unknown += start(play, event) == NULL;
    }
    static const unsigned char kinds[] = {0, 2, 3, 255};
    for (size_t i = 0; i < sizeof(kinds); i++) {
        pages[4095] = kinds[i];
        event.net_plugin = (struct nccl_net_plugin){
            .id = (i % 2 ? NCCL_NET_TYPE_IB : NCCL_NET_TYPE_SOCKET) | 1, .data = pages + 4095};
        play->unknown += start(play, event) == NULL;
    }
    munmap(pages, 8192);
}

/* An operation with its parts, with unknown events among them. */
static void play_operation(struct play *play, uint64_t sequence)
{
    struct nccl_event_v7 event = {.type = NCCL_COLL};
    event.coll.sequence = sequence;
    event.coll.function = "AllReduce";
    event.coll.datatype = "ncclFloat32";
    event.coll.algorithm = "RING";
    event.coll.protocol = "LL";
    event.coll.channels = 1;
    event.coll.count = 64;
    void *task = start(play, event);
    event = (struct nccl_event_v7){.type = NCCL_KERNEL_CH, .parent = task};
    event.kernel_ch.gpu_clock = 1000;
    void *kernel = fake_events_known(play->plugin) & NCCL_KERNEL_CH ? start(play, event) : NULL;
    event = (struct nccl_event_v7){.type = NCCL_PROXY_OP, .parent = task};
    event.proxy_op.pid = getpid();
    void *operation = start(play, event);
    void *step = start(play, (struct nccl_event_v7){.type = NCCL_PROXY_STEP, .parent = operation});
    void *const handles[] = {task, kernel, operation, step};
    for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
        play_states(play, handles[i]);
    if (fake_events_known(play->plugin) & NCCL_NET_PLUGIN)
        play_net(play, step);
    play_types(play);
    fake_stop(play->plugin, step);
    fake_stop(play->plugin, operation);
    if (play->plugin->version >= 4)
        fake_state(play->plugin, kernel, NCCL_KERNEL_CH_STOP, 2000, 0);
    fake_stop(play->plugin, kernel);
    fake_stop(play->plugin, task);
}

int fake_unknown(struct fake_job *job)
{
    struct play play = {.plugin = &job->plugin};
    int mask = 0;
    fake_init(play.plugin, &play.context, &mask, HASH, NAME, 1, 2, 0, fake_logger);
    if ((unsigned)mask & ~fake_events_known(play.plugin)) {
        fprintf(stderr, "fakecore: the plugin requested unknown events %x\n", (unsigned)mask);
        return 1;
    }
    for (uint64_t sequence = 0; sequence < 2; sequence++)
        play_operation(&play, sequence);
    fake_finalize(play.plugin, play.context);
    printf("{\"pid\": %ld, \"unknown\": %lu}\n", (long)getpid(), (unsigned long)play.unknown);
    return 0;
}
