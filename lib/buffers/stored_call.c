#include "buffers/stored_call.h"

#include "model/block_read.h"

const int stored_call_columns[STORED_CALL_COLUMNS] = {
    OPERATION_FUNCTION,     OPERATION_SEQUENCE,    OPERATION_BYTES,
    OPERATION_ROOT,         OPERATION_API_BEGIN,   OPERATION_ENQUEUE_BEGIN,
    OPERATION_DEVICE_BEGIN, OPERATION_SEND_BUFFER, OPERATION_RECEIVE_BUFFER,
};

static int64_t issued_ns(const struct block_reader *rows, size_t row)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!rows->absent[columns[i]][row])
            return rows->values[columns[i]][row];
    return TIME_UNKNOWN;
}

struct known_call stored_call(const struct block_scan *scan, const struct roster_member *member, size_t row)
{
    const struct block_reader *rows = &scan->rows;
    int64_t function = block_value(rows, OPERATION_FUNCTION, row, 0);
    return (struct known_call){
        .member = member,
        .file_id = scan->block_id >> 32,
        .function = function >= 0 && function < FUNCTION_COUNT ? (enum function)function : FUNCTION_OTHER,
        .sequence = block_value(rows, OPERATION_SEQUENCE, row, COUNT_UNKNOWN),
        .bytes = block_value(rows, OPERATION_BYTES, row, COUNT_UNKNOWN),
        .root = block_value(rows, OPERATION_ROOT, row, COUNT_UNKNOWN),
        .local_ns = issued_ns(rows, row),
        .send_buffer = (uint64_t)block_value(rows, OPERATION_SEND_BUFFER, row, 0),
        .receive_buffer = (uint64_t)block_value(rows, OPERATION_RECEIVE_BUFFER, row, 0),
    };
}
