/* Which events belong together, and to which tag. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fakecore_trace.h"
#include "probe.h"

/* A finished call; its handle. */
static void *play_call(void *context, bool captured)
{
    void *group = probe_start(context, (struct nccl_event_v7){.type = NCCL_GROUP_API});
    void *call = probe_start(context, (struct nccl_event_v7){.type = NCCL_COLL_API,
                                                             .parent = group,
                                                             .coll_api = {.function = "AllReduce",
                                                                          .count = 1024,
                                                                          .datatype = "ncclFloat32",
                                                                          .graph_captured = captured}});
    fake_stop(&probe_plugin, call);
    fake_stop(&probe_plugin, group);
    return call;
}

/* One capture and its replays, a millisecond apart, each with the handle of the captured call. */
void probe_replays(void)
{
    void *context = probe_init(1);
    void *call = play_call(context, true);
    for (int i = 0; i < probe_number; i++) {
        void *task = probe_task(context, call, (uint64_t)i);
        fake_stop(&probe_plugin, task);
        void *kernel = probe_kernel(context, task);
        usleep(1000);
        probe_stop_kernel(kernel);
    }
    fake_await_trace(".json", "\"cat\": \"COLL\", \"ph\": \"e\"", probe_number);
    _exit(0);
}

/* Tasks that are launched long after their calls returned. */
void probe_late_tasks(void)
{
    void *context = probe_init(1);
    for (int i = 0; i < probe_number; i++) {
        void *call = play_call(context, false);
        usleep(100000);
        probe_play_task(context, call, (uint64_t)i);
    }
    fake_finalize(&probe_plugin, context);
}

/* In a group that stays open, a task that begins half a second later and continues until it is reported. */
void probe_young_task(void)
{
    void *context = probe_init(1);
    void *group = probe_start(context, (struct nccl_event_v7){.type = NCCL_GROUP});
    probe_play_task(context, group, 0);
    usleep(500000);
    void *task = probe_task(context, group, 1);
    fake_stop(&probe_plugin, task);
    void *kernel = probe_kernel(context, task);
    fake_await_trace(".json", "\"cat\": \"COLL\", \"begin\"", 1);
    probe_stop_kernel(kernel);
    fake_stop(&probe_plugin, group);
    fake_finalize(&probe_plugin, context);
}

static void play_foreign_operation(void *context)
{
    void *operation = probe_start(
        context,
        (struct nccl_event_v7){
            .type = NCCL_PROXY_OP,
            .rank = 1,
            .proxy_op = {.pid = getpid() + 1, .peer = 1, .steps = 1, .chunk_bytes = 1, .is_send = 1}});
    fake_state(&probe_plugin, operation, NCCL_PROXY_OP_IN_PROGRESS, 0, 0);
    usleep(60000);
    void *step = probe_start(context, (struct nccl_event_v7){.type = NCCL_PROXY_STEP, .parent = operation});
    fake_state(&probe_plugin, step, NCCL_STEP_SEND_WAIT, 4096, 0);
    usleep(1000);
    fake_stop(&probe_plugin, step);
    fake_stop(&probe_plugin, operation);
}

/*
 * With PXN the context is that of another process: here of a communicator that has ended, or one that does
 * not exist.
 */
void probe_foreign_context(void)
{
    void *context = probe_init(1);
    void *ended = probe_init(2);
    fake_finalize(&probe_plugin, ended);
    usleep(100000);
    play_foreign_operation(ended);
    play_foreign_operation((void *)(uintptr_t)4711);
    fake_finalize(&probe_plugin, context);
}

static void play_tag(void *context, const char *text)
{
    fake_tag(&probe_plugin, context, 0, text);
}

/* A short name, one of 600 characters with a two-byte character at 3, a description of 400 bytes, none. */
void probe_nccl_tags(void)
{
    void *context = probe_init(1);
    char text[601];
    memset(text, 'a', 600);
    text[600] = '\0';
    text[3] = '\xc3', text[4] = '\xa4';
    play_tag(context, "one");
    play_tag(context, text);
    text[0] = '{', text[399] = '}', text[400] = '\0';
    play_tag(context, text);
    play_tag(context, NULL);
    fake_finalize(&probe_plugin, context);
}

/*
 * A communicator that lives on, so that the plugin waits for none of the others; each of those plays at most
 * one task.
 */
void probe_many_communicators(void)
{
    void *lasting = probe_init(1);
    for (int i = 1; i < probe_number; i++) {
        void *context = probe_init((uint64_t)i + 1);
        if (i > probe_number - 10)
            probe_play_task(context, NULL, 0);
        fake_finalize(&probe_plugin, context);
        if (i % 1000 == 0)
            usleep(10000);
    }
    fake_finalize(&probe_plugin, lasting);
}

static void *start_call(void *context, void *group)
{
    return probe_start(context,
                       (struct nccl_event_v7){
                           .type = NCCL_COLL_API,
                           .parent = group,
                           .coll_api = {.function = "AllReduce", .count = 1024, .datatype = "ncclFloat32"}});
}

/* Two operations in one group call; the kernel of the second one, which continues. */
static void *play_group(void *context)
{
    void *group = probe_start(context, (struct nccl_event_v7){.type = NCCL_GROUP_API});
    void *call = start_call(context, group);
    probe_play_task(context, call, 1);
    fake_stop(&probe_plugin, call);
    call = start_call(context, group);
    void *task = probe_task(context, call, 2);
    fake_stop(&probe_plugin, task);
    fake_stop(&probe_plugin, call);
    fake_stop(&probe_plugin, group);
    return probe_kernel(context, task);
}

/* It never finishes, and the job is killed when the first one is on disk. */
void probe_group_that_hangs(void)
{
    (void)play_group(probe_init(1));
    fake_await_trace(".json", "\"cat\": \"GROUP_API\", \"ph\": \"e\"", 1);
    fake_await_trace(".jsonl", "\"coll_perf\"", 1);
    kill(getpid(), SIGKILL);
}

/* It finishes after it was reported as pending, like that of a rank that waits for its turn in a pipeline. */
void probe_group_that_waits(void)
{
    void *context = probe_init(1);
    void *kernel = play_group(context);
    fake_await_trace(".json", "\"PendingOperation\"", 1);
    probe_stop_kernel(kernel);
    fake_finalize(&probe_plugin, context);
}
