/* What the environment asks for, read once at the first init. Wrong values fall back to the default. */
#ifndef PLUGIN_CONFIG_H
#define PLUGIN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct config {
    char path[4096];           /* file pattern, directory included, without suffix */
    bool chrome;               /* NCCLPROF_FORMAT chrome or both */
    bool inspector;            /* NCCLPROF_FORMAT inspector or both */
    bool gzip;                 /* NCCLPROF_GZIP */
    uint32_t mask;             /* enum api_event: NCCLPROF_EVENT_MASK or NCCL_PROFILE_EVENT_MASK */
    uint32_t mask_with_phases; /* where bit 15 means kernel phases: NCCLPROF_KERNEL_PHASES as well */
    uint64_t buffer_slots;     /* NCCLPROF_BUFFER_EVENTS, per thread */
    uint32_t pending_events;   /* NCCLPROF_PENDING_EVENTS */
    unsigned threads;          /* NCCLPROF_MAX_THREADS */
    uint64_t flush_ns;         /* NCCLPROF_FLUSH_MS */
    int log_limit;             /* highest enum api_log_level that NCCL_DEBUG asks for; 0: none */
};

void config_read(struct config *config);

/* NCCLPROF_TAG_PREFIX, NCCLPROF_TAG_DOMAIN and NCCLPROF_TAG_BYTES: tags can come before the first init. */
struct config_tags {
    char prefix[128];
    char domains[512]; /* comma-separated; "*" for all but NCCL's own; empty: the default domain alone */
    unsigned bytes;    /* of a tag's text kept */
};

const struct config_tags *config_tags(void);

#endif
