/*
 * The recorder: starts and stops recording, turns events into records, and keeps the tags of the application.
 * The entry points of all API versions call it.
 */
#ifndef NCCLPROF_PLUGIN_RECORDER_RECORDER_H
#define NCCLPROF_PLUGIN_RECORDER_RECORDER_H

#include "plugin/write/write.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record;

/* -------------------- recorder.c -------------------- */

/*
 * Start and end of recording, for the entry points of every API version: with the first communicator, and
 * with the process. To NCCL, init and finalize always succeed.
 */

/*
 * Adds a communicator and sets its mask. The first communicator opens the files. `supported` holds the event
 * types that this API version knows. Writes the context for NCCL (null: not recorded) and the activation
 * mask. The mask stays unchanged if other communicators are recorded and this one could not be added in time,
 * because NCCL has one mask for all.
 */
void recorder_init(void **context, int *mask, uint32_t supported, struct communicator *communicator,
                   api_logger *logger);

void recorder_finalize(void *context);

/* -------------------- events.c -------------------- */

/*
 * Events become records. None of these calls blocks, fails, or allocates after the first event of a thread.
 */

/* True from the first successful init until the process ends. */
extern _Atomic bool recorder_on;

/* The caller fills in the type, the slots and the members of the type. The rest is set here. */
void recorder_start(const void *context, void **handle, const void *parent, struct record *record);
void recorder_stop(const void *handle);
/* The caller's version must know the state. */
void recorder_state(const void *handle, int state, uint64_t value, int steps);

/* Counts an event or a state that the caller's version does not know. */
void recorder_unknown(void);

/*
 * The caller knows that recording is on or about to start. `text` need not be terminated; at most
 * RECORD_TEXT_MAX bytes are kept. context null: applies to the whole process.
 */
void recorder_tag(const void *context, int rank, enum tag_source source, unsigned depth, const char *text,
                  size_t length, bool truncated);

/* Finds the library or program that contains an address, and what it exports. */

/*
 * Returns the symbol if the library or program that contains `address` exports it itself, and not a library
 * that it depends on. Returns null if that cannot be determined, for example for a program that exports
 * nothing. Takes the lock of the dynamic linker.
 */
void *caller_symbol(const void *address, const char *name);

/* Returns the version from ncclGetVersion of that library or program; 0: unknown. */
int caller_nccl_version(const void *address);

/* -------------------- tag.c -------------------- */

/*
 * Tags that the application sets for the whole process: by direct calls, and by NVTX ranges with their
 * nesting. The newest tag applies until the next one. The end of a range restores the tag of the enclosing
 * range.
 */

/* Domains separate the ranges of different libraries. Null is the default domain. */
void tag_push(const void *domain, const char *text, size_t length);
void tag_pop(const void *domain);
void tag_mark(const char *text, size_t length);

/* Sets the tag of ncclNotifyTag for one communicator. Null ends the tag. */
void tag_of_nccl(const void *context, int rank, const char *text);

/* Sets recorder_on after the tag that was set before the first communicator has been recorded. */
void tag_begin(void);

/* -------------------- config.c -------------------- */

/*
 * The settings in the environment, read once at the first init. Invalid values are replaced by the default.
 */

struct config {
    /* NCCLPROF_DIR, NCCLPROF_FILE, NCCLPROF_FORMAT, NCCLPROF_GZIP, NCCLPROF_BUFFER_EVENTS,
     * NCCLPROF_PENDING_EVENTS, NCCLPROF_FLUSH_MS, NCCLPROF_MAX_BYTES and NCCLPROF_MIN_FREE_BYTES */
    struct writer_settings writer;
    uint32_t mask;             /* enum api_event: NCCLPROF_EVENT_MASK or NCCL_PROFILE_EVENT_MASK */
    uint32_t mask_with_phases; /* as mask, if bit 15 means kernel phases; also reads NCCLPROF_KERNEL_PHASES */
    unsigned threads;          /* NCCLPROF_MAX_THREADS */
    int log_limit;             /* highest enum api_log_level that NCCL_DEBUG requests; 0: none */
};

void config_read(struct config *config);

/*
 * NCCLPROF_TAG_PREFIX, NCCLPROF_TAG_DOMAIN and NCCLPROF_TAG_BYTES. They are read separately, because tags can
 * be set before the first init.
 */
struct config_tags {
    char prefix[128];
    char domains[512]; /* comma-separated; "*": all except NCCL's own; empty: only the default domain */
    unsigned bytes;    /* of the text of a tag that are kept */
};

const struct config_tags *config_tags(void);

#endif
