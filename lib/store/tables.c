#include "store/tables.h"

#define NEAR(column) (1 + (column))

static const struct block_column operation_columns[OPERATION_COLUMNS] = {
    [OPERATION_ORDINAL] = {.name = "ordinal"},
    [OPERATION_KIND] = {.name = "kind"},
    [OPERATION_FUNCTION] = {.name = "function"},
    [OPERATION_SEQUENCE] = {.name = "sequence"},
    [OPERATION_COUNT] = {.name = "count"},
    [OPERATION_DATATYPE] = {.name = "datatype"},
    [OPERATION_BYTES] = {.name = "bytes"},
    [OPERATION_ROOT] = {.name = "root"},
    [OPERATION_PEER] = {.name = "peer"},
    [OPERATION_ALGORITHM] = {.name = "algorithm"},
    [OPERATION_PROTOCOL] = {.name = "protocol"},
    [OPERATION_CHANNEL_COUNT] = {.name = "channel_count"},
    [OPERATION_STREAM] = {.name = "stream"},
    [OPERATION_API_BEGIN] = {.name = "api_begin_ns"},
    [OPERATION_API_END] = {.name = "api_end_ns", .minus = NEAR(OPERATION_API_BEGIN)},
    [OPERATION_ENQUEUE_BEGIN] = {.name = "enqueue_begin_ns", .minus = NEAR(OPERATION_API_BEGIN)},
    [OPERATION_ENQUEUE_END] = {.name = "enqueue_end_ns", .minus = NEAR(OPERATION_ENQUEUE_BEGIN)},
    [OPERATION_DEVICE_BEGIN] = {.name = "device_begin_ns", .minus = NEAR(OPERATION_ENQUEUE_BEGIN)},
    [OPERATION_DEVICE_END] = {.name = "device_end_ns", .minus = NEAR(OPERATION_DEVICE_BEGIN)},
    [OPERATION_END_SOURCE] = {.name = "end_source"},
    [OPERATION_GPU_BEGIN] = {.name = "gpu_begin"},
    [OPERATION_GPU_END] = {.name = "gpu_end", .minus = NEAR(OPERATION_GPU_BEGIN)},
    [OPERATION_DURATION] = {.name = "duration_ns"},
    [OPERATION_TAG] = {.name = "tag", .type = BLOCK_TEXT},
    [OPERATION_FLAGS] = {.name = "flags"},
    [OPERATION_BYTE_OFFSET] = {.name = "byte_offset"},
    [OPERATION_KERNEL_CHANNELS] = {.name = "kernel_channels", .type = BLOCK_BYTES},
};

const struct block_layout operation_layout = {operation_columns, OPERATION_COLUMNS};

static const struct block_column joined_columns[JOINED_COLUMNS] = {
    [JOINED_ORDINAL] = {.name = "ordinal"},
    [JOINED_INSTANCE] = {.name = "instance_id"},
    [JOINED_STEP] = {.name = "step"},
    [JOINED_TAG] = {.name = "tag", .type = BLOCK_TEXT},
};

const struct block_layout joined_layout = {joined_columns, JOINED_COLUMNS};

static const struct block_column instance_columns[INSTANCE_COLUMNS] = {
    [INSTANCE_ORDINAL] = {.name = "ordinal"},
    [INSTANCE_KIND] = {.name = "kind"},
    [INSTANCE_FUNCTION] = {.name = "function"},
    [INSTANCE_SEQUENCE] = {.name = "sequence"},
    [INSTANCE_SENDER] = {.name = "sender"},
    [INSTANCE_RECEIVER] = {.name = "receiver"},
    [INSTANCE_SIZE_BYTES] = {.name = "size_bytes"},
    [INSTANCE_MEMBERS] = {.name = "members"},
    [INSTANCE_EXPECTED] = {.name = "expected"},
    [INSTANCE_TRANSFER] = {.name = "transfer_ns"},
    [INSTANCE_EFFECTIVE] = {.name = "effective_ns", .minus = NEAR(INSTANCE_TRANSFER)},
    [INSTANCE_LAST_MEMBER] = {.name = "last_member_id"},
    [INSTANCE_MARGIN] = {.name = "margin_ns"},
    [INSTANCE_TAG] = {.name = "tag", .type = BLOCK_TEXT},
    [INSTANCE_STEP] = {.name = "step"},
};

const struct block_layout instance_layout = {instance_columns, INSTANCE_COLUMNS};
