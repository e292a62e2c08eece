#ifndef NCCLPROF_STORE_SCAN_H
#define NCCLPROF_STORE_SCAN_H

#include "base/error.h"
#include "store/tables.h"

struct statement;
struct store;

/*
 * Operations or instances of a run block by block, for who goes through all of them and wants few columns:
 * ten times as fast as rows. The store must be joined.
 *
 *     struct block_scan scan;
 *     int more = scan_operations(&scan, store, run_id, error) ? -1 : 1;
 *     while (more == 1 && (more = scan_next(&scan, error)) == 1)
 *         if (scan_columns(&scan, columns, count, error)) more = -1;
 *         else ... block_value(&scan.rows, OPERATION_DURATION, row, ...) for each row < scan.rows.count
 *     scan_release(&scan);
 */
struct block_scan {
    struct statement *source;
    int64_t block_id; /* a row's id is this plus its ordinal */
    int64_t owner_id; /* the member, of instances the communicator, that all rows belong to */
    struct block_reader rows;
    struct block_reader joined; /* of operations: what the join says of the same rows */
    int has_joined;
};

/* By ascending block. `run_id` 0: all runs. Release it whatever comes back. */
int scan_operations(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
int scan_instances(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error);
void scan_release(struct block_scan *scan);

/* 1 with the next block, nothing of it unpacked yet; 0 after the last; -1. */
int scan_next(struct block_scan *scan, struct error *error);

/* Unpacks columns of `rows`, or of `joined`. */
int scan_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);
int scan_joined_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error);

/*
 * How long an operation was on the device: as its recorder says, else from its begin to its end; `unknown`
 * where neither is told. Wants the columns OPERATION_DURATION, OPERATION_DEVICE_BEGIN and _END.
 */
static inline int64_t scan_duration(const struct block_reader *rows, size_t row, int64_t unknown)
{
    if (!rows->absent[OPERATION_DURATION][row])
        return rows->values[OPERATION_DURATION][row];
    if (rows->absent[OPERATION_DEVICE_BEGIN][row] || rows->absent[OPERATION_DEVICE_END][row])
        return unknown;
    return rows->values[OPERATION_DEVICE_END][row] - rows->values[OPERATION_DEVICE_BEGIN][row];
}

#endif
