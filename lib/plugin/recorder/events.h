/* What happens, as records: none of these calls blocks, allocates (past a thread's first event) or fails. */
#ifndef PLUGIN_RECORDER_EVENTS_H
#define PLUGIN_RECORDER_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/ring/record.h"

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

#endif
