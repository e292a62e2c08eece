#ifndef NCCLPROF_CMD_TEMPORARY_STORE_H
#define NCCLPROF_CMD_TEMPORARY_STORE_H

#include <stddef.h>

struct context;

/*
 * Brings the traces of some paths into a store of their own, in $TMPDIR or /tmp, whose files
 * are gone when this returns: context->store alone holds it. Returns an exit_status; context->lacks_traces
 * tells whether something could not be read.
 */
int temporary_store_open(struct context *context, char *const *paths, size_t count);

/* Likewise into context->store, where --store named one: there they stay. */
int temporary_store_spare(struct context *context, char *const *paths, size_t count);

/* A place for such a store, at context->store_path, that is yet to be filled, again and again: its files keep
 * their names until temporary_store_close. An exit_status. */
int temporary_store_place(struct context *context);

/* Likewise of context->store, which is a shard and closed: a shard is not joined, its copy is. */
int temporary_store_of_shard(struct context *context);

/* After all of them are closed. */
void temporary_store_close(void);

#endif
