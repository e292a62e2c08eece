/*
 * The time that an event takes on its thread: calls the plugin's entry points as a proxy thread does, and
 * measures them together. `plugin_events PLUGIN [REPEATS]` prints medians and spread in nanoseconds.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugin/ring/api.h"

/* A burst fits easily into the default ring buffer; the writer thread empties it in the pauses. */
#define STEPS_PER_BURST 2000
#define CALLS_PER_STEP 5
#define BURSTS 60

static struct api_plugin_v6 *plugin;
static void *context;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *start(uint64_t type, void *parent, int step)
{
    struct api_descriptor_v6 event = {.type = type, .parent = parent};
    void *handle = NULL;
    if (type == API_PROXY_STEP) {
        event.proxy_step.step = step;
    } else if (type == API_PROXY_OP) {
        event.proxy_op.pid = getpid();
        event.proxy_op.steps = STEPS_PER_BURST;
    } else if (type == API_COLL) {
        event.coll.function = "AllReduce";
        event.coll.datatype = "ncclFloat32";
        event.coll.algorithm = "RING";
        event.coll.protocol = "SIMPLE";
    }
    plugin->start_event(context, &handle, &event);
    return handle;
}

static uint64_t time_steps(void *op)
{
    static const int states[] = {API_STEP_SEND_GPU_WAIT, API_STEP_SEND_PEER_WAIT, API_STEP_SEND_WAIT};
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < STEPS_PER_BURST; i++) {
        void *step = start(API_PROXY_STEP, op, i);
        union api_state_args_v4 values = {.proxy_step = {.transferred_bytes = 524288}};
        for (int j = 0; j < 3; j++)
            plugin->record_event_state(step, states[j], &values);
        plugin->stop_event(step);
    }
    return now_ns() - begin_ns;
}

static uint64_t time_colls(void)
{
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < STEPS_PER_BURST; i++)
        plugin->stop_event(start(API_COLL, NULL, 0));
    return now_ns() - begin_ns;
}

static uint64_t time_clock(void)
{
    volatile uint64_t sum = 0;
    uint64_t begin_ns = now_ns();
    for (int i = 0; i < STEPS_PER_BURST * CALLS_PER_STEP; i++)
        sum += now_ns();
    return now_ns() - begin_ns;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void report(const char *what, double *figures, int count, double limit)
{
    qsort(figures, (size_t)count, sizeof(*figures), compare);
    printf("%-44s median %6.1f ns  (p5 %.1f, p95 %.1f, %d bursts)%s\n", what, figures[count / 2],
           figures[count / 20], figures[count - 1 - count / 20], count,
           limit > 0 && figures[count / 2] > limit ? "  ABOVE THE LIMIT" : "");
}

static void quiet(int level, unsigned long subsystem, const char *file, int line, const char *format, ...)
{
    (void)level, (void)subsystem, (void)file, (void)line, (void)format;
}

int main(int argc, char **argv)
{
    static double step_call[BURSTS], step_event[BURSTS], coll[BURSTS], clock_read[BURSTS];
    int mask = 0;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    plugin = library ? dlsym(library, "ncclProfiler_v6") : NULL;
    if (!plugin) {
        fprintf(stderr, "usage: plugin_events PLUGIN\n");
        return 2;
    }
    plugin->init(&context, 1, &mask, "bench", 1, 2, 0, quiet);
    for (int i = 0; i < BURSTS; i++) {
        void *task = start(API_COLL, NULL, 0);
        void *op = start(API_PROXY_OP, task, 0);
        step_event[i] = (double)time_steps(op) / STEPS_PER_BURST;
        step_call[i] = step_event[i] / CALLS_PER_STEP;
        plugin->stop_event(op);
        plugin->stop_event(task);
        usleep(60000);
        coll[i] = (double)time_colls() / STEPS_PER_BURST;
        clock_read[i] = (double)time_clock() / (STEPS_PER_BURST * CALLS_PER_STEP);
        usleep(60000);
    }
    report("one call (start, state or stop of a step)", step_call, BURSTS, 100);
    report("a network step (start, 3 states, stop)", step_event, BURSTS, 0);
    report("a collective (start and stop)", coll, BURSTS, 0);
    report("reading CLOCK_MONOTONIC alone", clock_read, BURSTS, 0);
    plugin->finalize(context);
    return 0;
}
