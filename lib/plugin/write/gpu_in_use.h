/* Which GPU a process computes on, from what the system shows of it: CUDA is not asked. */
#ifndef PLUGIN_WRITE_GPU_IN_USE_H
#define PLUGIN_WRITE_GPU_IN_USE_H

#include <stdbool.h>

/* What the environment says of the order in which CUDA counts the visible devices. */
struct gpu_settings {
    bool is_by_bus;   /* CUDA_DEVICE_ORDER */
    bool keeps_order; /* CUDA_VISIBLE_DEVICES leaves it as it is */
};

void gpu_settings_read(struct gpu_settings *settings);

struct gpu_in_use {
    int number;    /* CUDA's in this process; -1 unknown */
    char bus[24];  /* "0000:3b:00.0"; empty: unknown, as below */
    char uuid[64]; /* "GPU-..." */
};

/*
 * `root` stands before /proc: "". Says nothing where it is not plain: a process that has contexts on several
 * devices, or none yet.
 */
void gpu_in_use_find(struct gpu_in_use *gpu, const struct gpu_settings *settings, const char *root);

#endif
