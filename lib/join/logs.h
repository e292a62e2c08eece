#ifndef NCCLPROF_JOIN_LOGS_H
#define NCCLPROF_JOIN_LOGS_H

#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct statement;
struct store;
struct work;

/* -------------------- logs.c -------------------- */

/*
 * Inspector logs in parts: rotated, copied and cut short, with the clock put back in between. What their
 * records are numbered by (coll_sn of a communicator and function, p2p_sn of a rank's sends and receives in a
 * communicator) tells their order and which of them are the same.
 *
 * logs_correct, before anything is joined, for processes of which files came or went:
 *   - a process that is found in several directories becomes one (logs.c);
 *   - its files are numbered in the order of their records (logs.c), so that ids tell what came
 *     first;
 *   - of records that tell of the same operation, the first stays (log_duplicates.c);
 *   - times after a step of its clock are counted on as if there had been none (log_clock.c).
 * What the blocks of operations were before stays in table operation_recorded, and goes back there first.
 */
int logs_correct(struct store *store, struct error *error);

/* -------------------- log_repack.c -------------------- */

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

/* -------------------- log_clock.c -------------------- */

/* Finds the steps of the process's clock, and counts times on behind them. */
int logs_correct_clock(struct logs *logs, struct error *error);

/* -------------------- log_duplicates.c -------------------- */

/* Leaves out the operations that an earlier record tells of. */
int logs_drop_duplicates(struct logs *logs, struct error *error);

/* Operations of one series may be seen so much out of order without the clock having stepped. */
#define LOG_CLOCK_TOLERANCE_NS INT64_C(1000000)

/* A step of the clock as one series of a member shows it: between two of its operations. */
struct log_step {
    size_t member;
    int64_t series;
    int64_t number_before;
    int64_t number_after;
    int64_t before_ns; /* when they were issued, as the clock was then */
    int64_t after_ns;
    int64_t floor_ns;     /* it takes so much to be added for the one after to come after all before it */
    int64_t operation_id; /* the one after */
    int64_t add_ns;       /* to times after it, so that they go on from those before */
    int is_measured;      /* against others that its operations ended with, not by what it takes at least */
    int is_clear;         /* most of those are far from having such differences without a step */
    int64_t number_end;   /* there the series shows the next step */
};

/*
 * Fills in add_ns, is_measured and is_clear. `other` is for reading logs in and was initialised; whose logs
 * it holds afterwards is nobody's business.
 */
int log_step_measure(const struct logs *logs, struct logs *other, struct log_step *step, struct error *error);

/* -------------------- log_repack.c -------------------- */

/* What becomes of an operation of a block. */
struct log_change {
    int is_double;
    int64_t host_ns;    /* added to times of calls and enqueueing */
    int64_t device_ns;  /* and on the device */
    const char *source; /* file:line of the program, where the row has none; NULL */
};

/* Puts another block in the place of the one that is opened whole. `changes` are row by row. */
int logs_replace(struct logs *logs, int64_t block_id, const struct log_change *changes, struct error *error);

/* -------------------- call_list.c -------------------- */

/* Descriptions of calls as the join has them in memory, and whose they are. */

/* Instead of a group's number; GROUP_DAMAGED is that of no operation, GROUP_ANY may be that of each. */
enum { GROUP_OF_ALL = -1, GROUP_DAMAGED = -2, GROUP_ANY = -3 };

/* A kind of operation that descriptions of a rank tell of; also the key of operations. */
struct call_class {
    int32_t rank; /* of the job */
    int32_t group;
    int32_t function;
    int32_t is_barrier;
    int64_t message_bytes; /* of a barrier 0 */
    int64_t peer;          /* global rank; COUNT_UNKNOWN */
};

struct call {
    int64_t id;      /* ascending; the file is its upper half */
    int32_t process; /* of a mark; -1 */
    int32_t correlation;
    int64_t said_rank;
    int64_t at_ns; /* of a mark, on its process's clock */
    int64_t said_ns;
    struct call_class of; /* rank -1: not known */
    int64_t class;        /* number of `of`; -1: none */
    int64_t operation_id; /* 0: none */
    const char *reason;   /* static; where it has none */
};

struct call_list {
    struct call *items; /* owned, by id */
    size_t count;
    size_t capacity;
    struct intern groups; /* their ranks, ascending, as text */
    struct intern correlations;
};

void call_list_init(struct call_list *list);
void call_list_release(struct call_list *list);

/* Those of the store, with the rank of each or the reason why there is none. */
int call_list_load(struct call_list *list, const struct work *work, struct store *store, struct error *error);

/* The number of a group of `count` global ranks, which are sorted; -1: no memory. */
int64_t call_group(struct call_list *list, int64_t *ranks, size_t count);

/* -------------------- call_operations.c -------------------- */

/* The operations that descriptions may be of. */

struct call_operation {
    int64_t class;
    int64_t at_ns;   /* when it was issued, on its process's clock; 0: not known */
    int64_t wall_ns; /* the same as wall clock; TIME_UNKNOWN */
    int64_t id;
    int64_t series; /* index */
    int32_t rank;
};

/* A rank's operations of one function and communicator, of all sizes. */
struct call_series {
    int64_t least; /* number among them */
    int64_t greatest;
    int64_t count;
    int has_gaps; /* some have no number */
};

/* When a rank issued one of the operations. */
struct call_moment {
    int32_t rank;
    int64_t at_ns;
};

struct call_operations {
    struct call_operation *items; /* owned, as all arrays here; by class, moment and id */
    size_t count;
    size_t capacity;
    size_t class_count;
    size_t *first;               /* those of class i are items[first[i]] to items[first[i + 1] - 1] */
    struct call_moment *moments; /* of all items, by rank and moment */
    struct call_series *series;
    size_t series_count;
    size_t series_capacity;
};

void call_operations_release(struct call_operations *operations); /* also one that is all 0 */

/* Gives each description of `list` its class, and finds the operations of these classes. */
int call_operations_load(struct call_operations *operations, struct call_list *list, const struct work *work,
                         struct store *store, struct error *error);

/* Whether a rank issued any of them in [begin_ns, end_ns). */
int call_operations_between(const struct call_operations *operations, int32_t rank, int64_t begin_ns,
                            int64_t end_ns);

/*
 * Which end of a class's operations is whole, as their numbers tell: 1 the beginning (they count from 0, and
 * none is missing between), -1 not that one (they begin later, and none is missing between), 0: it cannot be
 * told.
 */
int call_operations_whole_end(const struct call_operations *operations, int64_t class);

/* -------------------- call_match.c -------------------- */

/*
 * Which operation each description is of. Those of one class and file are taken in their order:
 *
 * - marks, whose times are on the clock of the operations: the first operation after it. A mark without one
 *   before the next of its class has none, but for marks that one call made (the same correlation id), or
 *   with no operation of the rank between them: these come before all operations of theirs.
 * - what was printed: where each that was said at a known second has but one place in the order. Without
 *   times that is where there are as many operations as descriptions, or where their numbers tell that
 *   operations are missing at one end only.
 */
int call_match(struct call_list *list, const struct call_operations *operations, struct error *error);

/*
 * Joins descriptions of calls (model/call.h) to operations: by rank, group, function, size, peer and order,
 * each to one operation of its rank at most, whose each description comes from another file. Where it was
 * said when, that is heeded. What could be one of several operations is left without one: tables call_join
 * and call_place. Everything else of the join is in the store. -1 on error.
 */
int calls_join(const struct work *work, struct store *store, struct error *error);

#endif
