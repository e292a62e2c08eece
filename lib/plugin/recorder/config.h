/* What the environment asks for, read once at the first init. Wrong values fall back to the default. */
#ifndef PLUGIN_RECORDER_CONFIG_H
#define PLUGIN_RECORDER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/write/writer.h"

struct config {
    /* NCCLPROF_DIR, NCCLPROF_FILE, NCCLPROF_FORMAT, NCCLPROF_GZIP, NCCLPROF_BUFFER_EVENTS,
     * NCCLPROF_PENDING_EVENTS, NCCLPROF_FLUSH_MS, NCCLPROF_MAX_BYTES and NCCLPROF_MIN_FREE_BYTES */
    struct writer_settings writer;
    uint32_t mask;             /* enum api_event: NCCLPROF_EVENT_MASK or NCCL_PROFILE_EVENT_MASK */
    uint32_t mask_with_phases; /* where bit 15 means kernel phases: NCCLPROF_KERNEL_PHASES as well */
    unsigned threads;          /* NCCLPROF_MAX_THREADS */
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
