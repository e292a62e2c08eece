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
 * When recording begins and ends, for every API version's entry points: with the first communicator, and with
 * the process. Init and finalize always succeed as far as NCCL can tell.
 */

/*
 * Adds a communicator, whose mask is set here; the first one opens the files. supported: event types that
 * this API version knows. Writes the context for NCCL (null: not recorded) and the activation mask; that
 * stays as it is where others are recorded and this one could not be added in time: NCCL has one for all.
 */
void recorder_init(void **context, int *mask, uint32_t supported, struct communicator *communicator,
                   api_logger *logger);

void recorder_finalize(void *context);

/* -------------------- events.c -------------------- */

/* What happens, as records: none of these calls blocks, allocates (past a thread's first event) or fails. */

/* True from the first successful init until the process ends. */
extern _Atomic bool recorder_on;

/* record: type, slots and what belongs to the type are filled in; the rest is set here. */
void recorder_start(const void *context, void **handle, const void *parent, struct record *record);
void recorder_stop(const void *handle);
/* state: one that the caller's version knows. */
void recorder_state(const void *handle, int state, uint64_t value, int steps);

/* An event or a state of a kind that the caller's version does not know. */
void recorder_unknown(void);

/*
 * The caller knows that recording is on, or about to be. text need not be terminated; at most RECORD_TEXT_MAX
 * bytes of it are kept. context null: the whole process.
 */
void recorder_tag(const void *context, int rank, enum tag_source source, unsigned depth, const char *text,
                  size_t length, bool truncated);

/* Who calls: which library, or the program itself, some code lies in, and what that exports. */

/*
 * The symbol, if the library or program that `address` lies in exports it itself: not one of a library that
 * it depends on. Null when nobody can tell, as of a program that exports nothing. Takes the dynamic linker's
 * lock.
 */
void *caller_symbol(const void *address, const char *name);

/* What ncclGetVersion there says; 0 unknown. */
int caller_nccl_version(const void *address);

/* -------------------- tag.c -------------------- */

/*
 * Tags that the application sets for the whole process: direct calls, and NVTX ranges with their nesting. The
 * newest tag holds until the next one; leaving a range brings back the one around it.
 */

/* Domains tell ranges of different libraries apart; null is the default one. */
void tag_push(const void *domain, const char *text, size_t length);
void tag_pop(const void *domain);
void tag_mark(const char *text, size_t length);

/* ncclNotifyTag's, for one communicator; null ends the tag. */
void tag_of_nccl(const void *context, int rank, const char *text);

/* Turns recorder_on on, behind the tag set before the first communicator. */
void tag_begin(void);

/* -------------------- config.c -------------------- */

/* What the environment asks for, read once at the first init. Wrong values fall back to the default. */

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
