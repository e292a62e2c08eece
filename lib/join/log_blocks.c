#include "join/log_blocks.h"

#include "base/array.h"
#include "model/event.h"
#include "schemas.h"
#include "store/record_tables.h"
#include "store/store.h"

#include <stdlib.h>

int logs_init(struct logs *logs, struct store *store, struct error *error)
{
    *logs = (struct logs){.store = store};
    block_reader_init(&logs->reader, &operation_layout);
    logs->list_blocks = store_prepare(store, schema_join_logs_blocks, error);
    logs->read_block = logs->list_blocks ? store_prepare(store, schema_join_logs_block, error) : NULL;
    return logs->read_block ? 0 : -1;
}

void logs_release(struct logs *logs)
{
    statement_free(logs->list_blocks);
    statement_free(logs->read_block);
    block_reader_release(&logs->reader);
    free(logs->members);
    free(logs->blocks);
}

static int list_members(struct logs *logs, struct error *error)
{
    struct statement *statement = store_prepare(logs->store, schema_join_logs_members, error);
    int row = statement && !statement_bind_integer(statement, 1, logs->process_id, error) ? 1 : -1;
    while (row == 1 && (row = statement_step(statement, error)) == 1) {
        if (array_reserve((void **)&logs->members, &logs->member_capacity, logs->member_count + 1,
                          sizeof *logs->members)) {
            row = error_no_memory(error);
            break;
        }
        logs->members[logs->member_count++] =
            (struct log_member){statement_integer(statement, 0), statement_integer(statement, 1)};
    }
    statement_free(statement);
    return row;
}

int logs_add_blocks(struct logs *logs, size_t member, struct error *error)
{
    struct statement *list = logs->list_blocks;
    int row = statement_bind_integer(list, 1, logs->members[member].id, error) ? -1 : 1;
    while (row == 1 && (row = statement_step(list, error)) == 1) {
        if (array_reserve((void **)&logs->blocks, &logs->block_capacity, logs->block_count + 1,
                          sizeof *logs->blocks))
            return error_no_memory(error);
        logs->blocks[logs->block_count++] = (struct log_block){statement_integer(list, 0), member};
    }
    return row;
}

static int by_id(const void *a, const void *b)
{
    const struct log_block *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

int logs_list(struct logs *logs, int64_t process_id, struct error *error)
{
    logs->process_id = process_id;
    logs->member_count = logs->block_count = 0;
    if (list_members(logs, error))
        return -1;
    for (size_t i = 0; i < logs->member_count; i++)
        if (logs_add_blocks(logs, i, error))
            return -1;
    array_sort(logs->blocks, logs->block_count, sizeof *logs->blocks, by_id);
    return 0;
}

int logs_open(struct logs *logs, int64_t block_id, const int *columns, size_t count, struct error *error)
{
    size_t length;
    int found = statement_bind_integer(logs->read_block, 1, block_id, error)
                    ? -1
                    : statement_step(logs->read_block, error);
    if (found != 1)
        return found ? -1 : stored_block_damaged(block_id, error);
    const void *packed = statement_blob(logs->read_block, 0, &length);
    int failed = stored_block_open(&logs->reader, block_id, packed, length, error);
    statement_reset(logs->read_block);
    return failed ? -1 : stored_block_unpack(&logs->reader, block_id, columns, count, error);
}

int logs_open_whole(struct logs *logs, int64_t block_id, struct error *error)
{
    int columns[OPERATION_COLUMNS];
    for (int i = 0; i < OPERATION_COLUMNS; i++)
        columns[i] = i;
    return logs_open(logs, block_id, columns, OPERATION_COLUMNS, error);
}

int64_t logs_series(const struct block_reader *rows, size_t row)
{
    enum function function = (enum function)(uint8_t)rows->values[OPERATION_FUNCTION][row];
    if (function_is_point_to_point(function))
        return LOG_SERIES_OF_PAIRS;
    return (int64_t)((uint64_t)(uint8_t)rows->values[OPERATION_KIND][row] << 16 | (uint64_t)function);
}

int64_t logs_issued_ns(const struct block_reader *rows, size_t row)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN,
                                  OPERATION_DEVICE_END};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!rows->absent[columns[i]][row])
            return rows->values[columns[i]][row];
    return 0;
}

int logs_run(struct store *store, const char *sql, int64_t value, struct error *error)
{
    struct statement *statement = record_tables_prepare(store, sql, error);
    int failed = !statement || statement_bind_integer(statement, 1, value, error) ||
                 statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}
