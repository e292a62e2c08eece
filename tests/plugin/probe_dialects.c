/* The two version 7s, kernel phases, and names of numeric tags. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecore_trace.h"
#include "probe.h"

/* The time of an arbitrary GPU clock. */
#define CLOCK UINT64_C(1700000000000000000)

static struct nccl_event_v7 tagged_task(uint64_t sequence, uint64_t user_tag)
{
    return (struct nccl_event_v7){.type = NCCL_COLL,
                                  .coll = {.sequence = sequence,
                                           .function = "AllReduce",
                                           .count = 1024,
                                           .datatype = "ncclFloat32",
                                           .channels = 1,
                                           .algorithm = "RING",
                                           .protocol = "LL",
                                           .kernel_variant = "AllReduce_AGxLL_R",
                                           .is_symmetric = true,
                                           .user_tag = user_tag}};
}

static void *start(const struct fake_plugin *plugin, void *context, struct nccl_event_v7 event)
{
    void *handle = NULL;
    fake_start(plugin, context, &handle, &event, 1, "probe");
    return handle;
}

static void play_tagged(const struct fake_plugin *plugin, void *context, uint64_t sequence, uint64_t user_tag)
{
    void *task = start(plugin, context, tagged_task(sequence, user_tag));
    fake_stop(plugin, task);
    struct nccl_event_v7 event = {.type = NCCL_KERNEL_CH, .parent = task};
    event.kernel_ch.gpu_clock = CLOCK;
    void *kernel = start(plugin, context, event);
    event = (struct nccl_event_v7){.type = NCCL_KERNEL_PHASE, .parent = kernel};
    event.kernel_phase.gpu_clock = CLOCK + 1;
    event.kernel_phase.name = "initial_sync";
    void *phase = start(plugin, context, event);
    fake_state(plugin, phase, NCCL_KERNEL_PHASE_STOP, CLOCK + 2, 0);
    fake_stop(plugin, phase);
    fake_state(plugin, kernel, NCCL_KERNEL_CH_STOP, CLOCK + 3, 0);
    fake_stop(plugin, kernel);
}

/* NCCLs of both kinds in one process, in turn, and their masks. Each tags its operations in its own way. */
void probe_both_libraries(void)
{
    struct fake_plugin plugins[2] = {probe_plugin, probe_plugin};
    void *contexts[2] = {NULL, NULL};
    int masks[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (fake_plugin_call_from(&plugins[i], probe_libraries[i]) != 0)
            exit(2);
        fake_init(&plugins[i], &contexts[i], &masks[i], (uint64_t)i + 1, "probe", 1, 2, 0, NULL);
    }
    for (uint64_t sequence = 0; sequence < 3; sequence++)
        for (int i = 0; i < 2; i++) {
            fake_tag(&plugins[i], contexts[i], 0, "forward");
            play_tagged(&plugins[i], contexts[i], sequence, 42);
        }
    for (int i = 0; i < 2; i++)
        fake_finalize(&plugins[i], contexts[i]);
    fprintf(stderr, "%x\n%x\n", (unsigned)masks[0], (unsigned)masks[1]);
}

/* The events of a communicator that got no number, after as many communicators as possible. */
void probe_unnumbered_library(void)
{
    void *lasting = probe_init(1);
    for (int i = 1; i < probe_number; i++) {
        void *context = probe_init((uint64_t)i + 1);
        if (!context) {
            fake_tag(&probe_plugin, context, 0, "forward");
            play_tagged(&probe_plugin, context, (uint64_t)i, 42);
        }
        fake_finalize(&probe_plugin, context);
        if (i % 1000 == 0)
            usleep(10000);
    }
    fake_finalize(&probe_plugin, lasting);
}

static void *start_phase(void *context, void *kernel, uint8_t number, uint64_t clock)
{
    struct nccl_event_v7 event = {.type = NCCL_KERNEL_PHASE, .parent = kernel};
    event.kernel_phase.channel = 3;
    event.kernel_phase.phase = number;
    event.kernel_phase.name = "of NCCL's";
    event.kernel_phase.gpu_clock = clock;
    return probe_start(context, event);
}

static void *start_kernel(void *context, void *task)
{
    return probe_start(context, (struct nccl_event_v7){.type = NCCL_KERNEL_CH,
                                                       .parent = task,
                                                       .kernel_ch = {.channel = 3, .gpu_clock = CLOCK}});
}

static void stop_kernel(void *kernel)
{
    fake_state(&probe_plugin, kernel, NCCL_KERNEL_CH_STOP, CLOCK + 1000, 0);
    fake_stop(&probe_plugin, kernel);
}

/*
 * Four tasks: correct phases; a phase that never stops, and one with its own number, of which only the state
 * comes; a phase after the stop of its kernel; no phases. Then a phase without a kernel, and one of a kernel
 * that does not exist.
 */
void probe_phases(void)
{
    void *context = probe_init(1);
    void *kernels[4];
    for (uint64_t i = 0; i < 4; i++) {
        void *task = probe_start(context, tagged_task(i, 0));
        fake_stop(&probe_plugin, task);
        kernels[i] = start_kernel(context, task);
    }
    for (uint8_t i = 0; i < 3; i++) {
        void *phase = start_phase(context, kernels[0], i, CLOCK + 100u * i);
        fake_state(&probe_plugin, phase, NCCL_KERNEL_PHASE_STOP, CLOCK + 100u * i + 50, 0);
        fake_stop(&probe_plugin, phase);
    }
    start_phase(context, kernels[1], 0, CLOCK + 7);
    void *odd = start_phase(context, kernels[1], 9, CLOCK + 8);
    fake_state(&probe_plugin, odd, NCCL_KERNEL_PHASE_STOP, CLOCK + 9, 0);
    for (int i = 0; i < 4; i++)
        stop_kernel(kernels[i]);
    void *late = start_phase(context, kernels[2], 2, CLOCK + 900);
    fake_state(&probe_plugin, late, NCCL_KERNEL_PHASE_STOP, CLOCK + 999, 0);
    fake_stop(&probe_plugin, late);
    void *const lone[] = {start_phase(context, NULL, 0, CLOCK),
                          start_phase(context, (void *)(uintptr_t)0x1234567, 0, CLOCK)};
    for (int i = 0; i < 2; i++) {
        fake_state(&probe_plugin, lone[i], NCCL_KERNEL_PHASE_STOP, CLOCK, 0);
        fake_stop(&probe_plugin, lone[i]);
    }
    /* It is written on its own, not at the end of the process. */
    fake_await_trace(".json", "\"cat\": \"COLL\", \"ph\": \"e\"", 4);
    fake_await_trace(".json", "\"orphans\": 2", 1);
    kill(getpid(), SIGKILL);
}

/* -- names of numeric tags -- */

static void (*set_name)(uint64_t number, const char *name);

static void find_set_name(void)
{
    void *symbol = dlsym(probe_plugin.library, "ncclprof_tag_name");
    memcpy(&set_name, &symbol, sizeof(set_name));
}

/*
 * Before the first communicator and after it; again with another and with the same name; none; in a child,
 * the name of its parent.
 */
void probe_tag_names(void)
{
    char text[401];
    memset(text, 'n', 400);
    text[400] = '\0';
    text[254] = '\xc3', text[255] = '\xa4'; /* a two-byte character across the limit */
    find_set_name();
    set_name(42, "early");
    set_name(UINT64_MAX, "bad \xc3( \"quoted\"\t");
    set_name(0, "nobody's");
    set_name(5, NULL);
    set_name(5, "");
    pid_t child = fork();
    void *context = probe_init(child == 0 ? 2 : 1);
    play_tagged(&probe_plugin, context, 1, 42);
    play_tagged(&probe_plugin, context, 2, 7);
    play_tagged(&probe_plugin, context, 3, UINT64_MAX);
    fake_await_trace(".jsonl", "\"coll_perf\"", 3);
    if (child == 0) {
        fake_finalize(&probe_plugin, context);
        exit(0);
    }
    set_name(42, "late");
    set_name(42, "late");
    set_name(8, text);
    play_tagged(&probe_plugin, context, 4, 42);
    play_tagged(&probe_plugin, context, 5, 8);
    play_tagged(&probe_plugin, context, 6, 0);
    fake_finalize(&probe_plugin, context);
    waitpid(child, NULL, 0);
}

/* This many numbers get a name, before the first communicator. */
void probe_many_tag_names(void)
{
    char text[32];
    find_set_name();
    for (int i = 1; i <= probe_number; i++) {
        snprintf(text, sizeof(text), "name %d", i);
        set_name((uint64_t)i << 32, text);
    }
    void *context = probe_init(1);
    play_tagged(&probe_plugin, context, 1, UINT64_C(1) << 32);
    fake_finalize(&probe_plugin, context);
}

static volatile sig_atomic_t names_set;

static void name_in_handler(int number)
{
    (void)number;
    set_name(1, names_set % 2 ? "one" : "two");
    names_set++;
}

/* A signal handler sets names of numbers in the middle of setting others. */
void probe_tag_names_in_handler(void)
{
    struct sigaction action = {.sa_handler = name_in_handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 100}, {0, 100}};
    const struct itimerval none = {{0, 0}, {0, 0}};
    find_set_name();
    void *context = probe_init(1);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int i = 0; i < probe_number; i++)
        set_name(2, "same");
    setitimer(ITIMER_REAL, &none, NULL);
    fake_finalize(&probe_plugin, context);
    fprintf(stderr, "%d names\n", (int)names_set);
}
