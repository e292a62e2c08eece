#include "store/scan.h"

#include "schemas.h"
#include "store/internal.h"

enum { SOURCE_ID, SOURCE_OWNER, SOURCE_PACKED, SOURCE_JOINED };

int scan_operations(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error)
{
    *scan = (struct block_scan){.has_joined = 1};
    block_reader_init(&scan->rows, &operation_layout);
    block_reader_init(&scan->joined, &joined_layout);
    scan->source = prepare_for_run(store, schema_join_read_operations, schema_join_read_operations_of_run,
                                   run_id, error);
    return scan->source ? 0 : -1;
}

int scan_instances(struct block_scan *scan, struct store *store, int64_t run_id, struct error *error)
{
    *scan = (struct block_scan){0};
    block_reader_init(&scan->rows, &instance_layout);
    block_reader_init(&scan->joined, &joined_layout);
    scan->source =
        prepare_for_run(store, schema_join_read_instances, schema_join_read_instances_of_run, run_id, error);
    return scan->source ? 0 : -1;
}

void scan_release(struct block_scan *scan)
{
    statement_free(scan->source);
    block_reader_release(&scan->rows);
    block_reader_release(&scan->joined);
    scan->source = NULL;
}

static int damaged(const struct block_scan *scan, int no_memory, struct error *error)
{
    if (no_memory)
        return error_no_memory(error);
    return error_set(error, "block %lld is damaged", (long long)scan->block_id);
}

static int open_block(struct block_scan *scan, struct block_reader *reader, int column, struct error *error)
{
    size_t length;
    int no_memory;
    const void *packed = statement_blob(scan->source, column, &length);
    return block_open(reader, packed, length, &no_memory) ? damaged(scan, no_memory, error) : 0;
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
    return scan->joined.count == scan->rows.count ? 1 : damaged(scan, 0, error);
}

static int unpack(const struct block_scan *scan, struct block_reader *reader, const int *columns,
                  size_t count, struct error *error)
{
    int no_memory;
    for (size_t i = 0; i < count; i++)
        if (block_column(reader, columns[i], &no_memory))
            return damaged(scan, no_memory, error);
    return 0;
}

int scan_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error)
{
    return unpack(scan, &scan->rows, columns, count, error);
}

int scan_joined_columns(struct block_scan *scan, const int *columns, size_t count, struct error *error)
{
    return unpack(scan, &scan->joined, columns, count, error);
}
