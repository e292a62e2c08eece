#include "store/scan.h"

#include "schemas.h"
#include "store/internal.h"

enum { SOURCE_ID, SOURCE_OWNER, SOURCE_PACKED, SOURCE_JOINED };

int scan_operations(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error)
{
    *scan = (struct block_scan){.has_joined = 1};
    block_reader_init(&scan->rows, &operation_layout);
    block_reader_init(&scan->joined, &joined_layout);
    scan->source = store_prepare_for(
        store, run_id ? schema_join_read_operations_of_run : schema_join_read_operations, run_id, error);
    return scan->source ? 0 : -1;
}

int scan_instances(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error)
{
    *scan = (struct block_scan){0};
    block_reader_init(&scan->rows, &instance_layout);
    block_reader_init(&scan->joined, &joined_layout);
    scan->source = store_prepare_for(
        store, run_id ? schema_join_read_instances_of_run : schema_join_read_instances, run_id, error);
    return scan->source ? 0 : -1;
}

void scan_release(struct block_scan *scan)
{
    statement_free(scan->source);
    block_reader_release(&scan->rows);
    block_reader_release(&scan->joined);
    scan->source = NULL;
}

static int open_block(struct block_scan *scan, struct block_reader *reader, int column, struct error *error)
{
    size_t length;
    const void *packed = statement_blob(scan->source, column, &length);
    return stored_block_open(reader, scan->block_id, packed, length, error);
}

int scan_next(struct block_scan *scan, struct error *error)
{
    int row = statement_step(scan->source, error);
    if (row != 1)
        return row;
    scan->block_id = statement_integer(scan->source, SOURCE_ID);
    scan->owner_id = statement_integer(scan->source, SOURCE_OWNER);
    if (open_block(scan, &scan->rows, SOURCE_PACKED, error))
        return -1;
    if (!scan->has_joined)
        return 1;
    if (open_block(scan, &scan->joined, SOURCE_JOINED, error))
        return -1;
    return scan->joined.count == scan->rows.count ? 1 : stored_block_damaged(scan->block_id, error);
}

int scan_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error)
{
    return stored_block_unpack(&scan->rows, scan->block_id, columns, count, error);
}

int scan_joined_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error)
{
    return stored_block_unpack(&scan->joined, scan->block_id, columns, count, error);
}
