#include "join/log_repack.h"

#include "model/block_write.h"
#include "model/event.h"
#include "schemas.h"
#include "store/record_tables.h"
#include "store/store.h"

/*
 * A block of operations in the place of another: without some of its rows, with times that are moved, and
 * what another recorder knows. Rows keep their ids. The times of kernel channels move with the device's,
 * which they are packed against.
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

/* What table operation_block says of a block beside its bytes. */
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

/* Runs a statement on a block; with `sum` on its doubles, too. */
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
