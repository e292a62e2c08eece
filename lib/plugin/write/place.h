/* Where a process runs and which one of the job it is, as far as launcher and system tell. */
#ifndef PLUGIN_WRITE_PLACE_H
#define PLUGIN_WRITE_PLACE_H

#include "plugin/write/gpu_in_use.h"
#include "plugin/write/nic_in_use.h"

/* -1 and empty texts: unknown. */
struct place {
    long rank;       /* global, as the launcher counts */
    long local_rank; /* on this host, likewise */
    char rank_name[128];
    struct gpu_in_use gpu;
    char nic[64];
    struct gpu_settings gpu_settings;
    struct nic_settings nic_settings;
};

/* Reads the environment: only on a thread of the job, which may change it. */
void place_read_environment(struct place *place);

/* Reads /proc and /sys, on any thread; `root` stands before the two: "". */
void place_find_devices(struct place *place, const char *root);

#endif
