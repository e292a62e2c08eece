#ifndef NCCLPROF_JOIN_LOGS_H
#define NCCLPROF_JOIN_LOGS_H

#include "base/error.h"
#include "store/tables.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;

/*
 * Inspector logs in parts: rotated, copied and cut short, with the clock put back in between. What their
 * records are numbered by (coll_sn of a communicator and function, p2p_sn of a rank's sends and receives in a
 * communicator) tells their order and which of them are the same.
 *
 * logs_mend, before anything is joined, for processes of which files came or went:
 *   - a process that is found in several directories becomes one;
 *   - its files are numbered in the order of their records, so that ids tell what came first;
 *   - of records that tell of the same operation, the first stays (log_doubles.c);
 *   - times after a step of its clock are counted on as if there had been none (log_clock.c).
 * What the blocks of operations were before stays in table operation_recorded, and goes back there first.
 */
int logs_mend(struct store *store, struct error *error);

/* log_unite.c: a process that is found in several directories becomes one. */
int logs_unite_processes(struct store *store, struct error *error);

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

/* What logs_issued, logs_series and numbers take. */
#define LOG_COLUMNS                                                                            \
    OPERATION_ORDINAL, OPERATION_KIND, OPERATION_FUNCTION, OPERATION_SEQUENCE, OPERATION_PEER, \
        OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN, OPERATION_DEVICE_END

/* An operation counts as issued when its call began, or as soon as the record says; 0: it does not. */
int64_t logs_issued_ns(const struct block_reader *rows, size_t row);

/* Runs a statement that asks for nothing but a number. */
int logs_run(struct store *store, const char *sql, int64_t value, struct error *error);

/* log_order.c: numbers the files of a process in the order of their records. 1: some have other numbers now.
 */
int logs_order_files(struct logs *logs, struct error *error);

/* log_doubles.c: leaves out the operations that an earlier record tells of. */
int logs_leave_out_doubles(struct logs *logs, struct error *error);

/* log_clock.c: finds the steps of the process's clock, and counts times on behind them. */
int logs_mend_clock(struct logs *logs, struct error *error);

/* What becomes of an operation of a block (log_repack.c). */
struct log_change {
    int is_double;
    int64_t host_ns;   /* added to times of calls and enqueueing */
    int64_t device_ns; /* and on the device */
};

/* Puts another block in the place of the one that is opened whole. `changes` are row by row. */
int logs_replace(struct logs *logs, int64_t block_id, const struct log_change *changes, struct error *error);

#endif
