#ifndef NCCLPROF_STORE_TABLES_H
#define NCCLPROF_STORE_TABLES_H

#include "base/error.h"
#include "model/block_read.h"
#include "model/event.h"

/*
 * Tables that a store keeps packed, up to BLOCK_ROWS rows in one (model/block.h). A row's id is its block's
 * number plus its ordinal, the first column of each; rows stand by id, and no block spans more than
 * BLOCK_SPAN ids, so that a row is found in the blocks of so many numbers up to its own. SQL sees them as
 * virtual tables (packed_table.c).
 */

enum { BLOCK_SPAN = 4096 };

/* operation_block: operations of one member, as model/event.h packs them. */
#define NUMBERED(name, ...) OPERATION_##name,
enum operation_column {
    OPERATION_ORDINAL,
    PACKED_OPERATION(NUMBERED, NUMBERED, NUMBERED, NUMBERED) OPERATION_COLUMNS,
    OPERATION_COLUMNS_FIRST = OPERATION_KERNEL_CHANNELS + 1 /* so many had blocks of form 1 */
};
#undef NUMBERED

/* Bits of OPERATION_FLAGS. */
enum {
    OPERATION_IS_UNFINISHED = 1,
    OPERATION_IS_CAPTURED = 2,
    OPERATION_HAS_NUMBER = 4, /* as its tag */
    OPERATION_IS_SYMMETRIC = 8
};

extern const struct block_layout operation_layout;

/* operation_join_block: what the join says of the operations of the block with the same number, row by row.
 */
enum joined_column { JOINED_ORDINAL, JOINED_INSTANCE, JOINED_STEP, JOINED_TAG, JOINED_COLUMNS };

extern const struct block_layout joined_layout;

/* instance_block: instances of one communicator. */
enum instance_column {
    INSTANCE_ORDINAL,
    INSTANCE_KIND,
    INSTANCE_FUNCTION,
    INSTANCE_SEQUENCE,
    INSTANCE_SENDER,
    INSTANCE_RECEIVER,
    INSTANCE_SIZE_BYTES,
    INSTANCE_MEMBERS,
    INSTANCE_EXPECTED,
    INSTANCE_TRANSFER,
    INSTANCE_EFFECTIVE,
    INSTANCE_LAST_MEMBER,
    INSTANCE_MARGIN,
    INSTANCE_TAG,
    INSTANCE_STEP,
    INSTANCE_COLUMNS
};

extern const struct block_layout instance_layout;

/* block_open and block_column (model/block_read.h) of a stored block: -1 with an error that names the block.
 */
int stored_block_open(struct block_reader *reader, int64_t block_id, const void *packed, size_t length,
                      struct error *error);
int stored_block_unpack(struct block_reader *reader, int64_t block_id, const int *columns, size_t count,
                        struct error *error);
int stored_block_damaged(int64_t block_id, struct error *error); /* -1: it does not hold together */

#endif
