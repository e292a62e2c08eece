#ifndef NCCLPROF_JOIN_LOGS_H
#define NCCLPROF_JOIN_LOGS_H

#include "store/store.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;
struct work;

/* -------------------- logs.c -------------------- */

/*
 * Inspector logs in several parts: rotated, copied, truncated, or written across a change of the clock. The
 * sequence numbers of the records (coll_sn of a communicator and function, p2p_sn of the sends and receives
 * of a rank in a communicator) show their order and which of them are the same.
 *
 * logs_correct runs before anything is joined, for processes whose files were added or removed:
 *   - processes found in several directories that are the same become one (logs.c);
 *   - the files of a process are numbered in the order of their records (logs.c), so that ids are in order;
 *   - of several records of the same operation only the first is kept (log_duplicates.c);
 *   - times after a step of the clock are shifted as if the clock had not been set (log_clock.c).
 *
 * Most processes need no correction. So several threads look at all processes first, and change nothing. Then
 * one thread corrects those that need it, one after the other, because times are corrected by those of other
 * processes.
 *
 * Table operation_recorded keeps the original blocks of operations. A new correction starts from these.
 */
int logs_correct(struct store *store, size_t threads, struct error *error);

/* -------------------- log_repack.c -------------------- */

/* The Inspector logs of a process, as the blocks of operations that were made from them. */

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
    pthread_mutex_t *inside;       /* borrowed; held while the store is read. NULL: by one thread only */
    struct statement *list_blocks; /* owned, like the next five */
    struct statement *read_block;
    struct statement *list_members;
    struct statement *list_files;
    struct statement *is_corrected;
    struct statement *list_other_ranks;
    int64_t process_id;
    struct log_member *members; /* owned */
    size_t member_count;
    size_t member_capacity;
    struct log_block *blocks; /* owned; in the order in which they were written: by id */
    size_t block_count;
    size_t block_capacity;
    struct block_reader reader; /* the block that was opened last */
};

/* Call logs_release even after an error. */
int logs_init(struct logs *logs, struct store *store, pthread_mutex_t *inside, struct error *error);
void logs_release(struct logs *logs);

/* Around each use of a statement of `logs`, whose results must be read before another thread uses the store.
 */
void logs_enter(const struct logs *logs);
void logs_leave(const struct logs *logs);

/* Appends the blocks of a member to the list. */
int logs_add_blocks(struct logs *logs, size_t member, struct error *error);

/* Opens a block and unpacks some of its columns; logs_open_whole unpacks all. */
int logs_open(struct logs *logs, int64_t block_id, const int *columns, size_t count, struct error *error);
int logs_open_whole(struct logs *logs, int64_t block_id, struct error *error);

/*
 * The series of a row: the operations of one member and one series are numbered in order. All sends and
 * receives of a member are one series.
 */
enum { LOG_SERIES_OF_PAIRS = 1 << 8 };
int64_t logs_series(const struct block_reader *rows, size_t row);

/* The columns that logs_issued_ns, logs_series and the sequence numbers need. */
#define LOG_COLUMNS                                                                            \
    OPERATION_ORDINAL, OPERATION_KIND, OPERATION_FUNCTION, OPERATION_SEQUENCE, OPERATION_PEER, \
        OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN, OPERATION_DEVICE_END

/*
 * The time at which an operation was issued: when its call began, else when it was enqueued, else when it
 * began or ended on the device; 0: unknown.
 */
int64_t logs_issued_ns(const struct block_reader *rows, size_t row);

/* Runs a statement with one integer parameter. */
int logs_run(struct store *store, const char *sql, int64_t value, struct error *error);

/* -------------------- log_clock.c -------------------- */

/*
 * Finds the steps of the clock of the process and corrects the times after each. `other` is for reading other
 * processes, as for log_steps_measure.
 */
int logs_correct_clock(struct logs *logs, struct logs *other, struct error *error);

/*
 * Whether the clock stepped, without a change to the store: 1, 0 or -1. `*by_others` receives whether records
 * of other processes were needed to say so.
 */
int logs_find_step(struct logs *logs, struct logs *other, int *by_others, struct error *error);

/* -------------------- log_duplicates.c -------------------- */

/* Removes operations that an earlier record has already. */
int logs_drop_duplicates(struct logs *logs, struct error *error);

/* Whether numbers of operations occur again, which duplicates have: 1, 0 or -1. */
int logs_have_repeated(struct logs *logs, struct error *error);

/* Times of consecutive operations of a series may go back this much without a step of the clock. */
#define LOG_CLOCK_TOLERANCE_NS INT64_C(1000000)

/* A step of the clock as one series of a member shows it, between two of its operations. */
struct log_step {
    size_t member;
    int64_t series;
    int64_t number_before;
    int64_t number_after;
    int64_t before_ns; /* when the two were issued, as recorded */
    int64_t after_ns;
    int64_t floor_ns;     /* least correction that puts the operation after the step behind all before it */
    int64_t operation_id; /* of the operation after the step */
    int64_t add_ns;       /* correction of the times after the step */
    int is_measured;      /* add_ns comes from ranks that ended the same collectives; else it is floor_ns */
    /* for most of these ranks the difference is much larger than the usual variation */
    int is_clear;
    int64_t number_end; /* number with which the series shows the next step of the clock */
};

/* Whether the same operations show both. */
int log_step_is_of_same_series(const struct log_step *a, const struct log_step *b);

/*
 * Sets add_ns, is_measured and is_clear of each. `other` is an initialised struct logs for reading other
 * members; its contents afterwards are unspecified. Steps of one series are measured together, so that the
 * blocks of the other ranks are read once.
 */
int log_steps_measure(const struct logs *logs, struct logs *other, struct log_step *steps, size_t count,
                      struct error *error);

/* -------------------- log_repack.c -------------------- */

/* A change to one operation of a block. */
struct log_change {
    int is_double;
    int64_t host_ns;    /* added to the times of the call and of enqueueing */
    int64_t device_ns;  /* added to the times on the device */
    const char *source; /* file:line of the program, for a row without one; NULL: no change */
};

/* Replaces the block that was opened whole by a changed one. `changes` has one entry for each row. */
int logs_replace(struct logs *logs, int64_t block_id, const struct log_change *changes, struct error *error);

/* -------------------- call_list.c -------------------- */

/* Descriptions of calls (lib/model/model.h) in memory, with the rank of each. */

/* Values in place of a group's number. GROUP_DAMAGED matches no operation, GROUP_ANY can match every one. */
enum { GROUP_OF_ALL = -1, GROUP_DAMAGED = -2, GROUP_ANY = -3 };

/* What a description states about the operation: the key by which operations are found. */
struct call_class {
    int32_t rank; /* job rank */
    int32_t group;
    int32_t function;
    int32_t is_barrier;
    int64_t message_bytes; /* 0 for a barrier */
    int64_t peer;          /* global rank; COUNT_UNKNOWN */
};

struct call {
    int64_t id;      /* ascending; the upper 32 bits are the file */
    int32_t process; /* process of a mark; -1: printed text */
    int32_t correlation;
    int64_t said_rank;
    int64_t at_ns; /* of a mark: its time, on the clock of its process */
    int64_t said_ns;
    struct call_class of; /* rank -1: unknown */
    int64_t class;        /* number of the class in `of`; -1: none */
    int64_t operation_id; /* 0: no operation */
    const char *reason;   /* static; why it has no operation */
};

struct call_list {
    struct call *items; /* owned, by id */
    size_t count;
    size_t capacity;
    struct intern groups; /* their global ranks, ascending, as text */
    struct intern correlations;
};

void call_list_init(struct call_list *list);
void call_list_release(struct call_list *list);

/* Loads the descriptions of the store, each with its rank or the reason why it has none. */
int call_list_load(struct call_list *list, const struct work *work, struct store *store, struct error *error);

/* The number of a group of `count` global ranks; sorts `ranks`. -1: out of memory. */
int64_t call_group(struct call_list *list, int64_t *ranks, size_t count);

/* -------------------- call_operations.c -------------------- */

/* The operations that the descriptions may refer to. */

struct call_operation {
    int64_t class;
    int64_t at_ns;   /* when it was issued, on the clock of its process; 0: unknown */
    int64_t wall_ns; /* the same on the wall clock; TIME_UNKNOWN */
    int64_t id;
    int64_t series; /* index in call_operations.series */
    int32_t rank;
};

/* The operations of one member and function, of all sizes. */
struct call_series {
    int64_t least; /* smallest sequence number */
    int64_t greatest;
    int64_t count;
    int has_gaps; /* some operations have no number */
};

/* When a rank issued one of the operations. */
struct call_moment {
    int32_t rank;
    int64_t at_ns;
};

struct call_operations {
    struct call_operation *items; /* owned, like all arrays here; sorted by class, time and id */
    size_t count;
    size_t capacity;
    size_t class_count;
    size_t *first;               /* class i has items[first[i]] to items[first[i + 1] - 1] */
    struct call_moment *moments; /* of all items, sorted by rank and time */
    struct call_series *series;
    size_t series_count;
    size_t series_capacity;
};

void call_operations_release(struct call_operations *operations); /* Also accepts an all-zero struct. */

/* Gives each description of `list` its class, and finds the operations of these classes. */
int call_operations_load(struct call_operations *operations, struct call_list *list, const struct work *work,
                         struct store *store, struct error *error);

/* Whether a rank issued any of the operations in [begin_ns, end_ns). */
int call_operations_between(const struct call_operations *operations, int32_t rank, int64_t begin_ns,
                            int64_t end_ns);

/*
 * Which end of a class's operations is complete, by their sequence numbers. 1: the beginning (they start at 0
 * without a gap). -1: not the beginning (they start later, without a gap). 0: cannot be determined.
 */
int call_operations_whole_end(const struct call_operations *operations, int64_t class);

/* -------------------- call_match.c -------------------- */

/*
 * Finds the operation of each description. Descriptions of one class and file are matched in order:
 *
 * - Marks have times on the same clock as the operations: a mark gets the first operation after it. A mark
 * without an operation before the next mark of its class gets none, with two exceptions: marks made by one
 * call (equal correlation id), and marks without any operation of the rank between them. These all come
 * before their operations.
 * - Printed descriptions are matched if, in order, each printed at a known second has only one possible
 * operation. Without times this holds if there are as many operations as descriptions, or if sequence numbers
 * show that operations are missing at one end only.
 */
int call_match(struct call_list *list, const struct call_operations *operations, struct error *error);

/*
 * Joins descriptions of calls to operations by rank, group, function, size, peer and order, and by time if
 * known. A description gets at most one operation of its rank; several descriptions of one operation come
 * from different files. A description that fits several operations gets none. Reads everything else from the
 * store; writes tables call_join and call_place. -1 on error.
 */
int calls_join(const struct work *work, struct store *store, struct error *error);

#endif
