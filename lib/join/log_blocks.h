#ifndef NCCLPROF_JOIN_LOG_BLOCKS_H
#define NCCLPROF_JOIN_LOG_BLOCKS_H

#include "base/error.h"
#include "store/tables.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/* The logs of a process, as the blocks of operations that came of them. */

struct log_member {
    int64_t id;
    int64_t communicator_id;
};

struct log_block {
    int64_t id; /* of table operation_block */
    size_t member;
};

/* The logs of one process. */
struct logs {
    struct store *store;           /* borrowed */
    struct statement *list_blocks; /* owned, as are the others */
    struct statement *read_block;
    int64_t process_id;
    struct log_member *members; /* owned */
    size_t member_count;
    size_t member_capacity;
    struct log_block *blocks; /* owned; as they were written: by id */
    size_t block_count;
    size_t block_capacity;
    struct block_reader reader; /* the block that was opened last */
};

/* Release it whatever comes back. */
int logs_init(struct logs *logs, struct store *store, struct error *error);
void logs_release(struct logs *logs);

/* The members and blocks of a process, instead of the last one's. */
int logs_list(struct logs *logs, int64_t process_id, struct error *error);

/* Adds a member's blocks to those there are. */
int logs_add_blocks(struct logs *logs, size_t member, struct error *error);

/* Opens a block and unpacks some columns; logs_open_whole: all of them. */
int logs_open(struct logs *logs, int64_t block_id, const int *columns, size_t count, struct error *error);
int logs_open_whole(struct logs *logs, int64_t block_id, struct error *error);

/* What a row's number is one of: operations of one member and of one series are numbered in order. */
enum { LOG_SERIES_OF_PAIRS = 1 << 8 };
int64_t logs_series(const struct block_reader *rows, size_t row);

/* What logs_issued_ns, logs_series and numbers take. */
#define LOG_COLUMNS                                                                            \
    OPERATION_ORDINAL, OPERATION_KIND, OPERATION_FUNCTION, OPERATION_SEQUENCE, OPERATION_PEER, \
        OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN, OPERATION_DEVICE_END

/* An operation counts as issued when its call began, or as soon as the record says; 0: it does not. */
int64_t logs_issued_ns(const struct block_reader *rows, size_t row);

/* Runs a statement that asks for nothing but a number. */
int logs_run(struct store *store, const char *sql, int64_t value, struct error *error);

#endif
