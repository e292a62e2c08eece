/*
 * Calls of the plugin by NCCL and a job that no training job of the fake core makes, one scenario per run.
 * usage: probe PLUGIN SCENARIO [NUMBER [LIBRARY...]]; the first library is the NCCL that calls the plugin.
 */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fake_plugin probe_plugin;
int probe_number;
char **probe_libraries;

static const struct scenario {
    const char *name;
    int api; /* 0: the number from the command line */
    void (*play)(void);
} scenarios[] = {
    {"every-field", 0, probe_every_field},
    {"replays", 6, probe_replays},
    {"late-tasks", 6, probe_late_tasks},
    {"young-task", 4, probe_young_task},
    {"foreign-context", 6, probe_foreign_context},
    {"nccl-tags", 7, probe_nccl_tags},
    {"group-that-hangs", 6, probe_group_that_hangs},
    {"group-that-waits", 6, probe_group_that_waits},
    {"changed-environment", 3, probe_changed_environment},
    {"two-causes", 6, probe_two_causes},
    {"logger-after-finalize", 6, probe_logger_after_finalize},
    {"many-communicators", 6, probe_many_communicators},
    {"tags-in-handler", 6, probe_tags_in_handler},
    {"changed-tag-settings", 7, probe_changed_tag_settings},
    {"exit-in-handler", 6, probe_exit_in_handler},
    {"exit-at-steps", 6, probe_exit_at_steps},
    {"exit-during-init", 6, probe_exit_during_init},
    {"fork-during-init", 6, probe_fork_during_init},
    {"bare-fork", 6, probe_bare_fork},
    {"nested-fork", 6, probe_nested_fork},
    {"end-without-a-ring", 6, probe_end_without_a_ring},
    {"end-beside-another", 6, probe_end_beside_another},
    {"both-libraries", 7, probe_both_libraries},
    {"unnumbered-library", 7, probe_unnumbered_library},
    {"phases", 7, probe_phases},
    {"tag-names", 7, probe_tag_names},
    {"many-tag-names", 7, probe_many_tag_names},
    {"tag-names-in-handler", 7, probe_tag_names_in_handler},
    {"hanging-disk", 0, probe_hanging_disk},
    {"fork-in-first-init", 0, probe_fork_in_first_init},
    {"fork-on-hanging-disk", 6, probe_fork_on_hanging_disk},
    {"init-beside-long-fork", 6, probe_init_beside_long_fork},
    {"finalize-beside-long-fork", 6, probe_finalize_beside_long_fork},
    {"first-init-beside-long-fork", 6, probe_first_init_beside_long_fork},
    {"reserved-words", 0, probe_reserved_words},
    {"deleted-directory", 0, probe_deleted_directory},
};

uint64_t probe_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *probe_init(uint64_t hash)
{
    void *context = NULL;
    int mask = 0;
    fake_init(&probe_plugin, &context, &mask, hash, "probe", 1, 2, 0, NULL);
    return context;
}

void *probe_start(void *context, struct nccl_event_v7 event)
{
    void *handle = NULL;
    fake_start(&probe_plugin, context, &handle, &event, 1, "probe");
    return handle;
}

void *probe_task(void *context, void *parent, uint64_t sequence)
{
    return probe_start(context, (struct nccl_event_v7){.type = NCCL_COLL,
                                                       .parent = parent,
                                                       .coll = {.parent_group = parent,
                                                                .sequence = sequence,
                                                                .function = "AllReduce",
                                                                .count = 1024,
                                                                .datatype = "ncclFloat32",
                                                                .channels = 1,
                                                                .algorithm = "RING",
                                                                .protocol = "LL"}});
}

void *probe_kernel(void *context, void *task)
{
    return probe_start(context, (struct nccl_event_v7){.type = NCCL_KERNEL_CH,
                                                       .parent = task,
                                                       .kernel_ch = {.gpu_clock = probe_now_ns()}});
}

void probe_stop_kernel(void *kernel)
{
    fake_state(&probe_plugin, kernel, NCCL_KERNEL_CH_STOP, probe_now_ns(), 0);
    fake_stop(&probe_plugin, kernel);
}

void probe_play_task(void *context, void *parent, uint64_t sequence)
{
    void *task = probe_task(context, parent, sequence);
    fake_stop(&probe_plugin, task);
    probe_stop_kernel(probe_kernel(context, task));
}

int main(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "";
    probe_number = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    probe_libraries = argc > 4 ? argv + 4 : NULL;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (strcmp(scenarios[i].name, name) != 0)
            continue;
        int api = scenarios[i].api ? scenarios[i].api : probe_number;
        if (fake_plugin_load(&probe_plugin, argv[1], api) != 0 ||
            (probe_libraries && fake_plugin_call_from(&probe_plugin, probe_libraries[0]) != 0))
            return 2;
        scenarios[i].play();
        return 0;
    }
    fputs("usage: probe PLUGIN SCENARIO [NUMBER [LIBRARY...]]\n", stderr);
    return 2;
}
