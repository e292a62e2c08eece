#ifndef NCCLPROF_JOIN_BLOCKS_H
#define NCCLPROF_JOIN_BLOCKS_H

#include "base/error.h"
#include "base/intern.h"
#include "model/block_write.h"
#include "store/tables.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/* What the join finds out of one operation. */
struct joined_row {
    int64_t number; /* first what tells it from others of its member (occurrences.h), in the end its
                       instance's id */
    int32_t step;   /* -1 none */
    int32_t tag;    /* interned; -1 none */
};

/* A block of operations in memory, and what the join says of them, both by row. */
struct operation_rows {
    int64_t block_id;
    int32_t member;
    struct block_reader reader;
    int32_t tags[BLOCK_ROWS];   /* the numbers of its texts among work's */
    uint16_t order[BLOCK_ROWS]; /* rows as their operations were issued */
    int64_t issued_ns[BLOCK_ROWS];
    size_t next; /* in order[] */
    struct joined_row joined[BLOCK_ROWS];
};

/*
 * Blocks out of the store, and into it. Several threads may each have one on the same store: whoever is in it
 * holds `inside` (blocks_enter), and nobody holds it while blocks are packed and unpacked.
 */
struct blocks {
    struct intern *texts;    /* borrowed */
    pthread_mutex_t *inside; /* borrowed */
    struct statement *list;
    struct statement *read;
    struct statement *read_joined;
    struct statement *write_joined;
    struct statement *write_instances;
    struct block_reader joined;
    struct block_writer joined_rows;
    struct block_writer instance_rows;
    struct buffer packed;
};

/* Release it whatever comes back. */
int blocks_init(struct blocks *blocks, struct store *store, pthread_mutex_t *inside, struct intern *texts,
                struct error *error);
void blocks_release(struct blocks *blocks);

/* Around everything else that is done with the store meanwhile. */
void blocks_enter(struct blocks *blocks);
void blocks_leave(struct blocks *blocks);

/* A block of a member: its number, and when its first operation was issued. */
struct block_place {
    int64_t id;
    int64_t earliest_ns;
};

/* The blocks of a member, in the order in which they begin. Adds them to an array that the caller frees. */
int blocks_list(struct blocks *blocks, int64_t member_id, struct block_place **places, size_t *count,
                struct error *error);

/* Reads a block; `rows` was initialised by operation_rows_new. With `joined` also what was said of it. */
int blocks_read(struct blocks *blocks, int64_t block_id, int joined, struct operation_rows *rows,
                struct error *error);

/* Puts into the store what the join says of a block's operations. */
int blocks_write_joined(struct blocks *blocks, const struct operation_rows *rows, struct error *error);

/* Puts the rows of `instance_rows` into the store as the block of that number. */
int blocks_write_instances(struct blocks *blocks, int64_t block_id, int64_t communicator_id,
                           struct error *error);

/* The number that a send or receive has of its own, which orders those of one moment; COUNT_UNKNOWN. */
int64_t operation_rows_call(const struct operation_rows *rows, size_t row);

struct operation_rows *operation_rows_new(void); /* NULL when memory is out */
void operation_rows_free(struct operation_rows *rows);

#endif
