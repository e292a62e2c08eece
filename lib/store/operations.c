/*
 * Reads operations from the store for the analyses: row by row, merged from the open blocks
 * (operation_cursor_*), or block by block and by column (scan_*).
 */

#include "base/base.h"
#include "model/model.h"
#include "store/internal.h"
#include "store/records.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

/* A block that was opened and has rows left. */
struct open_block {
    int64_t id;
    int64_t member_id;
    size_t row; /* the next row */
    struct block_reader rows;
    struct block_reader joined;
};

struct operation_cursor {
    struct store *store;
    int64_t run_id;
    struct statement *source;   /* NULL before the first row */
    int has_next;               /* the source is at a block that is not open yet */
    struct known_blocks *found; /* owned: the blocks that were read; NULL: they are not written down */
    struct store_version version;
    struct open_block **open;
    size_t open_count;
    size_t open_capacity;
    struct open_block *spare; /* a finished block, for reuse */
    int is_given;             /* the current row of open[given] was returned to the caller */
    size_t given;
    operation_wanted is_wanted; /* NULL: all steps are wanted */
    const void *context;
    int64_t latest_step; /* the step that is_wanted was asked about last, and its answer */
    int latest_wanted;
};

enum { SOURCE_ID, SOURCE_MEMBER, SOURCE_PACKED, SOURCE_JOINED };

static void free_block(struct open_block *block)
{
    if (!block)
        return;
    block_reader_release(&block->rows);
    block_reader_release(&block->joined);
    free(block);
}

static struct open_block *new_block(void)
{
    struct open_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block_reader_init(&block->rows, &operation_layout);
    block_reader_init(&block->joined, &joined_layout);
    return block;
}

struct operation_cursor *operation_cursor_open(struct store *store, int64_t run_id, struct error *error)
{
    struct operation_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        error_no_memory(error);
        return NULL;
    }
    cursor->store = store;
    cursor->run_id = run_id;
    return cursor;
}

void operation_cursor_close(struct operation_cursor *cursor)
{
    if (!cursor)
        return;
    statement_free(cursor->source);
    for (size_t i = 0; i < cursor->open_count; i++)
        free_block(cursor->open[i]);
    free_block(cursor->spare);
    free(cursor->open);
    known_blocks_free(cursor->found);
    free(cursor);
}

void operation_cursor_choose(struct operation_cursor *cursor, operation_wanted is_wanted, const void *context)
{
    cursor->is_wanted = is_wanted;
    cursor->context = context;
    cursor->latest_step = -1;
    cursor->latest_wanted = is_wanted(context, -1);
}

/* Moves the source to its next block. */
static int step_source(struct operation_cursor *cursor, struct error *error)
{
    int row = statement_step(cursor->source, error);
    cursor->has_next = row == 1;
    return row < 0 ? -1 : 0;
}

/* Begins to read all blocks, or those of the run. */
static int begin_all(struct operation_cursor *cursor, struct error *error)
{
    cursor->source = store_prepare_for(
        cursor->store, cursor->run_id ? schema_join_read_operations_of_run : schema_join_read_operations,
        cursor->run_id, error);
    return cursor->source ? step_source(cursor, error) : -1;
}

/* Begins to read only the blocks with steps that are wanted. */
static int begin_known(struct operation_cursor *cursor, struct error *error)
{
    struct buffer ids = BUFFER_INIT;
    int failed = known_blocks_list(cursor->store, cursor->is_wanted, cursor->context, &ids)
                     ? error_no_memory(error)
                     : 0;
    if (!failed) {
        cursor->source = store_prepare(cursor->store, schema_join_read_operations_of_blocks, error);
        failed = !cursor->source || statement_bind_text(cursor->source, 1, ids.data, error) ||
                 step_source(cursor, error);
    }
    buffer_release(&ids);
    return failed ? -1 : 0;
}

/*
 * Begins to read. The version is read while the statement reads, so that it is that of its rows; what was
 * known may turn out to be out of date only then.
 */
static int begin(struct operation_cursor *cursor, struct error *error)
{
    if (!cursor->is_wanted || !cursor->run_id)
        return begin_all(cursor, error);
    if (store_version_read(cursor->store, &cursor->version, error))
        return -1;
    if (known_blocks_apply(cursor->store, cursor->run_id, cursor->version)) {
        if (begin_known(cursor, error) || store_version_read(cursor->store, &cursor->version, error))
            return -1;
        if (known_blocks_apply(cursor->store, cursor->run_id, cursor->version))
            return 0;
        statement_free(cursor->source);
        cursor->source = NULL;
    }
    cursor->found = known_blocks_new(cursor->run_id);
    if (!cursor->found)
        return error_no_memory(error);
    return begin_all(cursor, error) || store_version_read(cursor->store, &cursor->version, error) ? -1 : 0;
}

static int open_packed(struct block_reader *reader, struct statement *source, int column, int64_t id,
                       struct error *error)
{
    size_t length;
    const void *packed = statement_blob(source, column, &length);
    return stored_block_open(reader, id, packed, length, error);
}

static int unpack_all(struct block_reader *reader, int64_t id, struct error *error)
{
    for (int i = 0; i < (int)reader->layout->count; i++)
        if (stored_block_unpack(reader, id, &i, 1, error))
            return -1;
    return 0;
}

/* Operations follow each other in steps, so most have the step of the one before. */
static int wants(struct operation_cursor *cursor, int64_t step)
{
    if (step != cursor->latest_step) {
        cursor->latest_step = step;
        cursor->latest_wanted = cursor->is_wanted(cursor->context, step);
    }
    return cursor->latest_wanted;
}

/* Skips rows that are not wanted, up to the end of the block. */
static void pass_unwanted(struct operation_cursor *cursor, struct open_block *block)
{
    while (cursor->is_wanted && block->row < block->joined.count &&
           !wants(cursor, block_value(&block->joined, JOINED_STEP, block->row, -1)))
        block->row++;
}

/* Opens the results of the join for the block, and finds its first row that is wanted. */
static int read_joined(struct operation_cursor *cursor, struct open_block *block, struct error *error)
{
    static const int step = JOINED_STEP;
    if (open_packed(&block->joined, cursor->source, SOURCE_JOINED, block->id, error) ||
        stored_block_unpack(&block->joined, block->id, &step, 1, error))
        return -1;
    if (cursor->found && known_blocks_add(cursor->found, block->id, &block->joined))
        return error_no_memory(error);
    pass_unwanted(cursor, block);
    return 0;
}

/* If no row of the block is wanted, its operations are not unpacked. */
static int read_block(struct operation_cursor *cursor, struct open_block *block, struct error *error)
{
    block->id = statement_integer(cursor->source, SOURCE_ID);
    block->member_id = statement_integer(cursor->source, SOURCE_MEMBER);
    block->row = 0;
    if (read_joined(cursor, block, error))
        return -1;
    if (block->row < block->joined.count) {
        if (unpack_all(&block->joined, block->id, error) ||
            open_packed(&block->rows, cursor->source, SOURCE_PACKED, block->id, error) ||
            unpack_all(&block->rows, block->id, error))
            return -1;
        if (block->rows.count != block->joined.count)
            return stored_block_damaged(block->id, error);
    }
    if (step_source(cursor, error))
        return -1;
    if (!cursor->has_next && cursor->found) {
        known_blocks_keep(cursor->store, cursor->found, cursor->version);
        cursor->found = NULL;
    }
    return 0;
}

/* Closes a finished block and keeps its memory for the next one. */
static void close_block(struct operation_cursor *cursor, size_t at)
{
    free_block(cursor->spare);
    cursor->spare = cursor->open[at];
    cursor->open[at] = cursor->open[--cursor->open_count];
}

/* Opens the source's block if any of its rows is wanted. */
static int open_next(struct operation_cursor *cursor, struct error *error)
{
    if (array_reserve((void **)&cursor->open, &cursor->open_capacity, cursor->open_count + 1,
                      sizeof *cursor->open))
        return error_no_memory(error);
    struct open_block *block = cursor->spare ? cursor->spare : new_block();
    cursor->spare = NULL;
    if (!block)
        return error_no_memory(error);
    cursor->open[cursor->open_count++] = block;
    if (read_block(cursor, block, error))
        return -1;
    if (block->row == block->joined.count)
        close_block(cursor, cursor->open_count - 1);
    return 0;
}

/* Moves past the operation returned last. */
static void go_on(struct operation_cursor *cursor)
{
    if (!cursor->is_given)
        return;
    cursor->is_given = 0;
    struct open_block *block = cursor->open[cursor->given];
    block->row++;
    pass_unwanted(cursor, block);
    if (block->row == block->rows.count)
        close_block(cursor, cursor->given);
}

static int64_t next_id(const struct open_block *block)
{
    return block->id + block->rows.values[OPERATION_ORDINAL][block->row];
}

/* The index of the open block with the next operation; open_count if none is open. */
static size_t least(const struct operation_cursor *cursor)
{
    size_t best = 0;
    for (size_t i = 1; i < cursor->open_count; i++)
        if (next_id(cursor->open[i]) < next_id(cursor->open[best]))
            best = i;
    return best;
}

static int64_t get(const struct open_block *block, int column, int64_t unknown)
{
    return block_value(&block->rows, column, block->row, unknown);
}

#define GET_KNOWN(name, column, member, unknown, ...) .member = get(block, OPERATION_##name, unknown),
#define GET_ALWAYS(name, column, member) GET_KNOWN(name, column, member, 0, )
#define GET_NOT(...)

static struct operation get_operation(const struct open_block *block)
{
    int64_t flags = get(block, OPERATION_FLAGS, 0);
    return (struct operation){.ordinal = next_id(block) & INT64_C(0xffffffff),
                              .graph_captured = (flags & OPERATION_IS_CAPTURED) != 0,
                              .tag_is_number = (flags & OPERATION_HAS_NUMBER) != 0,
                              .is_symmetric = (flags & OPERATION_IS_SYMMETRIC) != 0,
                              .told_step = get(block, OPERATION_TOLD_STEP, -1) + 1,
                              .told_sequence = get(block, OPERATION_TOLD_SEQUENCE, -1) + 1,
                              .source = block_text(&block->rows, OPERATION_SOURCE, block->row),
                              .tag = block_text(&block->rows, OPERATION_TAG, block->row),
                              .unfinished = (flags & OPERATION_IS_UNFINISHED) != 0,
                              PACKED_OPERATION(GET_ALWAYS, GET_KNOWN, GET_KNOWN, GET_NOT)};
}

static void give(const struct open_block *block, struct stored_operation *stored)
{
    *stored = (struct stored_operation){
        .id = next_id(block),
        .member_id = block->member_id,
        .instance_id = block_value(&block->joined, JOINED_INSTANCE, block->row, 0),
        .step = block_value(&block->joined, JOINED_STEP, block->row, -1),
        .tag = block_text(&block->joined, JOINED_TAG, block->row),
        .operation = get_operation(block),
        .byte_offset = get(block, OPERATION_BYTE_OFFSET, 0),
    };
    stored->kernel_channels =
        block_bytes(&block->rows, OPERATION_KERNEL_CHANNELS, block->row, &stored->kernel_channels_bytes);
}

int operation_cursor_next(struct operation_cursor *cursor, struct stored_operation *stored,
                          struct error *error)
{
    if (!cursor->source && begin(cursor, error))
        return -1;
    go_on(cursor);
    size_t best = least(cursor);
    while (cursor->has_next && (cursor->open_count == 0 ||
                                statement_integer(cursor->source, SOURCE_ID) < next_id(cursor->open[best]))) {
        if (open_next(cursor, error))
            return -1;
        best = least(cursor);
    }
    if (cursor->open_count == 0)
        return 0;
    cursor->is_given = 1;
    cursor->given = best;
    give(cursor->open[best], stored);
    return 1;
}

enum { SCAN_SOURCE_ID, SOURCE_OWNER, SCAN_SOURCE_PACKED, SCAN_SOURCE_JOINED };

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
    scan->block_id = statement_integer(scan->source, SCAN_SOURCE_ID);
    scan->owner_id = statement_integer(scan->source, SOURCE_OWNER);
    if (open_block(scan, &scan->rows, SCAN_SOURCE_PACKED, error))
        return -1;
    if (!scan->has_joined)
        return 1;
    if (open_block(scan, &scan->joined, SCAN_SOURCE_JOINED, error))
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
