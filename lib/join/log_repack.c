/*
 * Reads and replaces blocks of operations that came from logs. Used to correct logs (logs.c), and by
 * recorders.c to add what another recorder knows.
 */
#include "base/base.h"
#include "join/internal.h"
#include "join/logs.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

int logs_init(struct logs *logs, struct store *store, pthread_mutex_t *inside, struct error *error)
{
    *logs = (struct logs){.store = store, .inside = inside};
    block_reader_init(&logs->reader, &operation_layout);
    const struct {
        struct statement **statement;
        const char *sql;
    } statements[] = {
        {&logs->list_blocks, schema_join_logs_blocks},
        {&logs->read_block, schema_join_logs_block},
        {&logs->list_members, schema_join_logs_members},
        {&logs->list_files, schema_join_logs_files},
        {&logs->is_corrected, schema_join_logs_is_corrected},
        {&logs->list_other_ranks, schema_join_logs_witnesses},
    };
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (!(*statements[i].statement = store_prepare(store, statements[i].sql, error)))
            return -1;
    return 0;
}

void logs_release(struct logs *logs)
{
    statement_free(logs->list_blocks);
    statement_free(logs->read_block);
    statement_free(logs->list_members);
    statement_free(logs->list_files);
    statement_free(logs->is_corrected);
    statement_free(logs->list_other_ranks);
    block_reader_release(&logs->reader);
    free(logs->members);
    free(logs->blocks);
}

void logs_enter(const struct logs *logs)
{
    if (logs->inside)
        inside_enter(logs->inside);
}

void logs_leave(const struct logs *logs)
{
    if (logs->inside)
        inside_leave(logs->inside);
}

static int add_blocks(struct logs *logs, size_t member, struct error *error)
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

int logs_add_blocks(struct logs *logs, size_t member, struct error *error)
{
    logs_enter(logs);
    int failed = add_blocks(logs, member, error);
    logs_leave(logs);
    return failed;
}

static int read_block(struct logs *logs, int64_t block_id, struct error *error)
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
    return failed;
}

int logs_open(struct logs *logs, int64_t block_id, const int *columns, size_t count, struct error *error)
{
    logs_enter(logs);
    int failed = read_block(logs, block_id, error);
    logs_leave(logs);
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

/*
 * Replaces a block of operations by one without some of its rows, with shifted times, or with added source
 * lines. Rows keep their ids. The times of kernel channels are packed relative to those of the device, so
 * they shift with them.
 */

static int64_t moved_by(int column, const struct log_change *change)
{
    switch (column) {
    case OPERATION_API_BEGIN:
    case OPERATION_API_END:
    case OPERATION_ENQUEUE_BEGIN:
    case OPERATION_ENQUEUE_END:
        return change->host_ns;
    case OPERATION_DEVICE_BEGIN:
    case OPERATION_DEVICE_END:
        return change->device_ns;
    default:
        return 0;
    }
}

static void copy_value(struct block_writer *writer, const struct block_reader *rows, int column, size_t row,
                       const struct log_change *change)
{
    size_t length;
    const void *bytes;
    const char *text;
    switch (operation_layout.columns[column].type) {
    case BLOCK_TEXT:
        text = block_text(rows, column, row);
        block_set_text(writer, column, !text && column == OPERATION_SOURCE ? change->source : text);
        break;
    case BLOCK_BYTES:
        bytes = block_bytes(rows, column, row, &length);
        block_set_bytes(writer, column, bytes, bytes ? length : 0);
        break;
    default:
        if (!rows->absent[column][row])
            block_set(writer, column, rows->values[column][row] + moved_by(column, change));
    }
}

/* The columns of table operation_block besides the packed rows. */
struct summary {
    int64_t operations;
    int64_t tagged;
    int64_t earliest_ns;
    int64_t latest_ns;
    int64_t greatest_peer; /* COUNT_UNKNOWN */
    int64_t distance_ns;   /* TIME_UNKNOWN */
    int64_t doubles;
    int64_t first_double;
};

static int64_t shifted_issue_ns(const struct block_reader *rows, size_t row, const struct log_change *change)
{
    int64_t issued = logs_issued_ns(rows, row);
    int by_host = !rows->absent[OPERATION_API_BEGIN][row] || !rows->absent[OPERATION_ENQUEUE_BEGIN][row];
    return issued ? issued + (by_host ? change->host_ns : change->device_ns) : 0;
}

static void sum_up(struct summary *sum, const struct block_reader *rows, size_t row,
                   const struct log_change *change)
{
    int64_t issued = shifted_issue_ns(rows, row, change);
    int64_t peer = block_value(rows, OPERATION_PEER, row, COUNT_UNKNOWN);
    int64_t begin = block_value(rows, OPERATION_DEVICE_BEGIN, row, TIME_UNKNOWN);
    int64_t gpu = block_value(rows, OPERATION_GPU_BEGIN, row, 0), distance;
    if (sum->operations++ == 0)
        sum->earliest_ns = sum->latest_ns = issued;
    sum->tagged += !rows->absent[OPERATION_TAG][row];
    sum->earliest_ns = issued < sum->earliest_ns ? issued : sum->earliest_ns;
    sum->latest_ns = issued > sum->latest_ns ? issued : sum->latest_ns;
    if (rows->values[OPERATION_KIND][row] == OPERATION_POINT_TO_POINT && peer > sum->greatest_peer)
        sum->greatest_peer = peer;
    if (begin == TIME_UNKNOWN || gpu == 0 ||
        __builtin_sub_overflow(begin + change->device_ns, gpu, &distance))
        return;
    if (sum->distance_ns == TIME_UNKNOWN || distance < sum->distance_ns)
        sum->distance_ns = distance;
}

static void take_rows(const struct block_reader *rows, const struct log_change *changes,
                      struct block_writer *writer, struct summary *sum)
{
    *sum = (struct summary){.greatest_peer = COUNT_UNKNOWN, .distance_ns = TIME_UNKNOWN};
    for (size_t row = 0; row < rows->count; row++) {
        if (changes[row].is_double) {
            if (sum->doubles++ == 0)
                sum->first_double = block_value(rows, OPERATION_BYTE_OFFSET, row, 0);
            continue;
        }
        block_add_row(writer);
        for (int column = 0; column < OPERATION_COLUMNS; column++)
            copy_value(writer, rows, column, row, &changes[row]);
        sum_up(sum, rows, row, &changes[row]);
    }
}

static int bind_known(struct statement *statement, int parameter, int64_t value, int64_t unknown,
                      struct error *error)
{
    return value == unknown ? statement_bind_null(statement, parameter, error)
                            : statement_bind_integer(statement, parameter, value, error);
}

static int run_replace(struct statement *replace, int64_t block_id, const struct summary *sum,
                       const struct buffer *packed, struct error *error)
{
    return statement_bind_integer(replace, 1, block_id, error) ||
                   statement_bind_integer(replace, 2, sum->operations, error) ||
                   statement_bind_integer(replace, 3, sum->tagged, error) ||
                   statement_bind_integer(replace, 4, sum->earliest_ns, error) ||
                   statement_bind_integer(replace, 5, sum->latest_ns, error) ||
                   bind_known(replace, 6, sum->greatest_peer, COUNT_UNKNOWN, error) ||
                   bind_known(replace, 7, sum->distance_ns, TIME_UNKNOWN, error) ||
                   statement_bind_blob(replace, 8, packed->data, packed->length, error) ||
                   statement_step(replace, error) < 0
               ? -1
               : 0;
}

/* Runs a statement on a block; with `sum`, also binds its duplicates. */
static int run_on(struct store *store, const char *sql, int64_t block_id, const struct summary *sum,
                  struct error *error)
{
    struct statement *statement = record_tables_prepare(store, sql, error);
    int failed = !statement || statement_bind_integer(statement, 1, block_id, error) ||
                 (sum && (statement_bind_integer(statement, 2, sum->doubles, error) ||
                          statement_bind_integer(statement, 3, sum->first_double, error))) ||
                 statement_step(statement, error) < 0;
    statement_free(statement);
    return failed ? -1 : 0;
}

static int put_in_place(struct logs *logs, int64_t block_id, const struct summary *sum,
                        struct block_writer *writer, struct error *error)
{
    struct buffer packed = BUFFER_INIT;
    if (!sum->operations)
        return run_on(logs->store, schema_join_logs_remove_block, block_id, NULL, error);
    struct statement *replace = store_prepare(logs->store, schema_join_logs_replace_block, error);
    int failed = !replace                      ? -1
                 : block_pack(writer, &packed) ? error_no_memory(error)
                                               : run_replace(replace, block_id, sum, &packed, error);
    statement_free(replace);
    buffer_release(&packed);
    return failed;
}

int logs_replace(struct logs *logs, int64_t block_id, const struct log_change *changes, struct error *error)
{
    struct block_writer writer;
    struct summary sum;
    int failed = block_writer_init(&writer, &operation_layout) ? error_no_memory(error) : 0;
    if (!failed) {
        take_rows(&logs->reader, changes, &writer, &sum);
        failed = run_on(logs->store, schema_join_logs_keep_recorded, block_id, NULL, error) ||
                 (sum.doubles && run_on(logs->store, schema_join_logs_tell_doubles, block_id, &sum, error)) ||
                 put_in_place(logs, block_id, &sum, &writer, error);
    }
    block_writer_release(&writer);
    return failed ? -1 : 0;
}
