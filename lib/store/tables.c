#include "store/tables.h"

#define NEAR(column) (1 + (column))

#define FAR_FROM_OTHERS(...)
#define NEAR_EARLIER(name, column, member, unknown, earlier) \
    [OPERATION_##name] = {.minus = NEAR(OPERATION_##earlier)},
#define OF_TYPE(name, column, kind) [OPERATION_##name] = {.type = BLOCK_##kind},

static const struct block_column operation_columns[OPERATION_COLUMNS] = {
    PACKED_OPERATION(FAR_FROM_OTHERS, FAR_FROM_OTHERS, NEAR_EARLIER, OF_TYPE)};

const struct block_layout operation_layout = {operation_columns, OPERATION_COLUMNS, OPERATION_COLUMNS_FIRST};

static const struct block_column joined_columns[JOINED_COLUMNS] = {
    [JOINED_TAG] = {.type = BLOCK_TEXT},
};

const struct block_layout joined_layout = {joined_columns, JOINED_COLUMNS, JOINED_COLUMNS};

static const struct block_column instance_columns[INSTANCE_COLUMNS] = {
    [INSTANCE_EFFECTIVE] = {.minus = NEAR(INSTANCE_TRANSFER)},
    [INSTANCE_TAG] = {.type = BLOCK_TEXT},
};

const struct block_layout instance_layout = {instance_columns, INSTANCE_COLUMNS, INSTANCE_COLUMNS};

int stored_block_damaged(int64_t block_id, struct error *error)
{
    return error_set(error, "block %lld is damaged", (long long)block_id);
}

int stored_block_open(struct block_reader *reader, int64_t block_id, const void *packed, size_t length,
                      struct error *error)
{
    int no_memory;
    if (block_open(reader, packed, length, &no_memory) == 0)
        return 0;
    return no_memory ? error_no_memory(error) : stored_block_damaged(block_id, error);
}

int stored_block_unpack(struct block_reader *reader, int64_t block_id, const int *columns, size_t count,
                        struct error *error)
{
    int no_memory;
    for (size_t i = 0; i < count; i++)
        if (block_column(reader, columns[i], &no_memory))
            return no_memory ? error_no_memory(error) : stored_block_damaged(block_id, error);
    return 0;
}
