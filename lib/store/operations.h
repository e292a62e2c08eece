#ifndef NCCLPROF_STORE_OPERATIONS_H
#define NCCLPROF_STORE_OPERATIONS_H

#include "base/error.h"
#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * The operations of a run, and what the join says of them, one after the other: several times as fast as SQL
 * on the virtual tables (tables.h), and by id without any sorting. The store must be joined.
 *
 *     struct operation_cursor *cursor = operation_cursor_open(store, run_id, error);
 *     while (cursor && (more = operation_cursor_next(cursor, &stored, error)) == 1) ...
 *     operation_cursor_close(cursor);
 */
struct operation_cursor;

struct stored_operation {
    int64_t id;
    int64_t member_id;
    int64_t instance_id;
    int64_t step;    /* -1: none */
    const char *tag; /* that applies, whether the record carries it or not; NULL: none */
    /* As it was recorded; what is not known is as in model/event.h. Its `channels` stay packed: */
    struct operation operation;
    const void *kernel_channels; /* model/pack.h; NULL: none */
    size_t kernel_channels_bytes;
    int64_t byte_offset; /* in the unpacked file */
};

/* `run_id` 0: all runs. NULL on error. */
struct operation_cursor *operation_cursor_open(struct store *store, int64_t run_id, struct error *error);
void operation_cursor_close(struct operation_cursor *cursor); /* NULL: nothing */

/*
 * From then on only operations of steps that are wanted come, -1 for none; called before the first. Blocks
 * without any are not unpacked. `context` is borrowed until the cursor is closed.
 */
typedef int (*operation_wanted)(const void *context, int64_t step);
void operation_cursor_choose(struct operation_cursor *cursor, operation_wanted is_wanted,
                             const void *context);

/* 1 with the next operation (texts and bytes are borrowed until the next call), 0 after the last, -1. */
int operation_cursor_next(struct operation_cursor *cursor, struct stored_operation *stored,
                          struct error *error);

#endif
