/*
 * Reads blocks of operations from the store for the join, in the order of issue, and writes what the join
 * finds: results for operations, instances, and at the end the other derived tables. All worker threads use
 * the store through blocks_enter and blocks_leave.
 */
#include "base/base.h"
#include "join/internal.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a thread tries to lock the store before it sleeps: about 50 microseconds. */
enum { ASK_AGAIN = 1000 };

int blocks_init(struct blocks *blocks, struct store *store, pthread_mutex_t *inside, struct intern *texts,
                struct error *error)
{
    *blocks = (struct blocks){.texts = texts, .inside = inside, .packed = BUFFER_INIT};
    block_reader_init(&blocks->joined, &joined_layout);
    if (block_writer_init(&blocks->joined_rows, &joined_layout) ||
        block_writer_init(&blocks->instance_rows, &instance_layout))
        return error_no_memory(error);
    blocks->list = store_prepare(store, schema_join_load_blocks, error);
    blocks->read = blocks->list ? store_prepare(store, schema_join_load_block, error) : NULL;
    blocks->read_joined = blocks->read ? store_prepare(store, schema_join_load_joined_block, error) : NULL;
    blocks->write_joined =
        blocks->read_joined ? store_prepare(store, schema_join_save_joined_block, error) : NULL;
    blocks->write_instances =
        blocks->write_joined ? store_prepare(store, schema_join_save_instances, error) : NULL;
    return blocks->write_instances ? 0 : -1;
}

void blocks_release(struct blocks *blocks)
{
    statement_free(blocks->list);
    statement_free(blocks->read);
    statement_free(blocks->read_joined);
    statement_free(blocks->write_joined);
    statement_free(blocks->write_instances);
    block_reader_release(&blocks->joined);
    block_writer_release(&blocks->joined_rows);
    block_writer_release(&blocks->instance_rows);
    buffer_release(&blocks->packed);
}

static void wait_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * Another thread holds the lock for less time than it takes to fall asleep and wake up, so spin for a while
 * first. An adaptive mutex gives up too soon, and sched_yield() gives the processor to other programs.
 */
void inside_enter(pthread_mutex_t *inside)
{
    for (int asked = 0; asked < ASK_AGAIN; asked++) {
        if (pthread_mutex_trylock(inside) == 0)
            return;
        wait_a_moment();
    }
    pthread_mutex_lock(inside);
}

void inside_leave(pthread_mutex_t *inside)
{
    pthread_mutex_unlock(inside);
}

void blocks_enter(struct blocks *blocks)
{
    inside_enter(blocks->inside);
}

void blocks_leave(struct blocks *blocks)
{
    inside_leave(blocks->inside);
}

static int list(struct blocks *blocks, int64_t member_id, struct block_place **places, size_t *count,
                struct error *error)
{
    size_t capacity = 0;
    int row = statement_bind_integer(blocks->list, 1, member_id, error) ? -1 : 1;
    *count = 0;
    while (row == 1 && (row = statement_step(blocks->list, error)) == 1) {
        if (array_reserve((void **)places, &capacity, *count + 1, sizeof **places))
            return error_no_memory(error);
        (*places)[(*count)++] = (struct block_place){.id = statement_integer(blocks->list, 0),
                                                     .earliest_ns = statement_integer(blocks->list, 1)};
    }
    return row;
}

int blocks_list(struct blocks *blocks, int64_t member_id, struct block_place **places, size_t *count,
                struct error *error)
{
    blocks_enter(blocks);
    int outcome = list(blocks, member_id, places, count, error);
    blocks_leave(blocks);
    return outcome;
}

/* Reads the block with a number. 1; 0 if there is none; -1 on error. */
static int take_block(struct statement *statement, int64_t block_id, struct block_reader *reader,
                      struct error *error)
{
    size_t length;
    int found = statement_bind_integer(statement, 1, block_id, error) ? -1 : statement_step(statement, error);
    if (found != 1)
        return found;
    const void *packed = statement_blob(statement, 0, &length);
    int failed = stored_block_open(reader, block_id, packed, length, error);
    statement_reset(statement);
    return failed ? -1 : 1;
}

/* Reads a block of operations and, with `joined`, its results, under one lock. */
static int open_blocks(struct blocks *blocks, int64_t block_id, int joined, struct operation_rows *rows,
                       struct error *error)
{
    blocks_enter(blocks);
    int found = take_block(blocks->read, block_id, &rows->reader, error);
    if (found == 1 && joined)
        found = take_block(blocks->read_joined, block_id, &blocks->joined, error);
    blocks_leave(blocks);
    return found == 0 ? stored_block_damaged(block_id, error) : found < 0 ? -1 : 0;
}

/*
 * The issue time of an operation is when its call began, else when it was enqueued, else when it began or
 * ended on the device. Columns that no operation of the block needs stay packed.
 */
static int find_issue(struct operation_rows *rows, struct error *error)
{
    static const int columns[] = {OPERATION_API_BEGIN, OPERATION_ENQUEUE_BEGIN, OPERATION_DEVICE_BEGIN,
                                  OPERATION_DEVICE_END};
    struct block_reader *reader = &rows->reader;
    uint8_t unknown[BLOCK_ROWS];
    memset(unknown, 1, reader->count);
    memset(rows->issued_ns, 0, reader->count * sizeof *rows->issued_ns);
    memset(rows->at_end, 0, reader->count);
    for (size_t at = 0; at < sizeof columns / sizeof *columns && memchr(unknown, 1, reader->count); at++) {
        if (stored_block_unpack(reader, rows->block_id, &columns[at], 1, error))
            return -1;
        const uint8_t *absent = reader->absent[columns[at]];
        if (!memchr(absent, 0, reader->count))
            continue;
        for (size_t i = 0; i < reader->count; i++) {
            if (!unknown[i] || absent[i])
                continue;
            rows->issued_ns[i] = reader->values[columns[at]][i];
            rows->at_end[i] = columns[at] == OPERATION_DEVICE_END;
            unknown[i] = 0;
        }
    }
    return 0;
}

/* Unpacks the device times if some operations have no duration. */
static int find_durations(struct operation_rows *rows, struct error *error)
{
    static const int columns[] = {OPERATION_DEVICE_BEGIN, OPERATION_DEVICE_END};
    struct block_reader *reader = &rows->reader;
    if (!memchr(reader->absent[OPERATION_DURATION], 1, reader->count))
        return 0;
    return stored_block_unpack(reader, rows->block_id, columns, sizeof columns / sizeof *columns, error);
}

struct issue {
    int64_t at;
    int64_t function; /* sends and receives of a group call may share their number; 0: does not matter */
    int64_t peer;     /* the same */
    int64_t ordinal;
    uint16_t row;
};

static int by_issue(const void *a, const void *b)
{
    const struct issue *left = a, *right = b;
    if (left->at != right->at)
        return left->at < right->at ? -1 : 1;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    return (left->ordinal > right->ordinal) - (left->ordinal < right->ordinal);
}

static struct issue issue_at(const struct operation_rows *rows, int64_t at, int64_t function, size_t row)
{
    return (struct issue){at, function, function ? block_value(&rows->reader, OPERATION_PEER, row, 0) : 0,
                          rows->reader.values[OPERATION_ORDINAL][row], (uint16_t)row};
}

static void sort_rows(struct operation_rows *rows)
{
    struct issue issues[BLOCK_ROWS];
    for (size_t i = 0; i < rows->reader.count; i++)
        issues[i] = issue_at(rows, rows->issued_ns[i], 0, i);
    array_sort(issues, rows->reader.count, sizeof *issues, by_issue);
    for (size_t i = 0; i < rows->reader.count; i++)
        rows->order[i] = issues[i].row;
}

int64_t operation_rows_call(const struct operation_rows *rows, size_t row)
{
    const struct block_reader *reader = &rows->reader;
    return function_is_point_to_point((enum function)reader->values[OPERATION_FUNCTION][row])
               ? block_value(reader, OPERATION_SEQUENCE, row, COUNT_UNKNOWN)
               : COUNT_UNKNOWN;
}

/*
 * Sends and receives issued at the same time, or at an unknown time, are recorded in the order in which they
 * ended. Sorts them by their own numbers into the places that they have among the rows.
 */
static void sort_calls(struct operation_rows *rows, size_t first, size_t end)
{
    struct issue calls[BLOCK_ROWS];
    size_t count = 0, taken = 0;
    for (size_t i = first; i < end; i++)
        if (operation_rows_call(rows, rows->order[i]) != COUNT_UNKNOWN)
            calls[count++] =
                issue_at(rows, operation_rows_call(rows, rows->order[i]),
                         rows->reader.values[OPERATION_FUNCTION][rows->order[i]], rows->order[i]);
    array_sort(calls, count, sizeof *calls, by_issue);
    for (size_t i = first; i < end; i++)
        if (operation_rows_call(rows, rows->order[i]) != COUNT_UNKNOWN)
            rows->order[i] = calls[taken++].row;
}

/*
 * Sends and receives of which only ends are known were issued before those with greater numbers, and at the
 * same time as those with the same number.
 */
static void issue_before_later(struct operation_rows *rows)
{
    struct issue calls[BLOCK_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < rows->reader.count; i++)
        if (rows->at_end[i] && operation_rows_call(rows, i) != COUNT_UNKNOWN)
            calls[count++] = issue_at(rows, operation_rows_call(rows, i), 0, i);
    array_sort(calls, count, sizeof *calls, by_issue);
    for (size_t i = count; i-- > 1;)
        if (rows->issued_ns[calls[i].row] < rows->issued_ns[calls[i - 1].row])
            rows->issued_ns[calls[i - 1].row] = rows->issued_ns[calls[i].row];
    for (size_t i = 1; i < count; i++)
        if (calls[i].at == calls[i - 1].at)
            rows->issued_ns[calls[i].row] = rows->issued_ns[calls[i - 1].row];
}

/* Rows are stored by ordinal, which is usually the order of issue as well. */
static void order_rows(struct operation_rows *rows)
{
    size_t count = rows->reader.count;
    int sorted = 1;
    rows->next = 0;
    issue_before_later(rows);
    for (size_t i = 1; i < count; i++)
        sorted &= rows->issued_ns[i - 1] <= rows->issued_ns[i];
    for (size_t i = 0; i < count; i++)
        rows->order[i] = (uint16_t)i;
    if (!sorted)
        sort_rows(rows);
    for (size_t first = 0, end; first < count; first = end) {
        int64_t at_ns = rows->issued_ns[rows->order[first]];
        for (end = first + 1; end < count && rows->issued_ns[rows->order[end]] == at_ns;)
            end++;
        if (end > first + 1)
            sort_calls(rows, first, end);
    }
}

/* Maps the texts of a block to their numbers in `texts`. */
static int intern_texts(struct intern *texts, const struct block_reader *reader, int32_t *numbers,
                        struct error *error)
{
    for (size_t i = 0; i < reader->text_count; i++) {
        const char *text = reader->packed.data + reader->text_at[i];
        int64_t number = intern_put(texts, text, strlen(text));
        if (number < 0)
            return error_no_memory(error);
        numbers[i] = (int32_t)number;
    }
    return 0;
}

static int read_joined(struct blocks *blocks, struct operation_rows *rows, struct error *error)
{
    static const int columns[] = {JOINED_ORDINAL, JOINED_INSTANCE, JOINED_STEP, JOINED_TAG};
    struct block_reader *joined = &blocks->joined;
    int32_t tags[BLOCK_ROWS];
    if (joined->count != rows->reader.count)
        return stored_block_damaged(rows->block_id, error);
    if (stored_block_unpack(joined, rows->block_id, columns, JOINED_COLUMNS, error) ||
        intern_texts(blocks->texts, joined, tags, error))
        return -1;
    for (size_t i = 0; i < joined->count; i++)
        rows->joined[i] = (struct joined_row){
            .number = block_value(joined, JOINED_INSTANCE, i, 0),
            .step = (int32_t)block_value(joined, JOINED_STEP, i, -1),
            .tag = joined->absent[JOINED_TAG][i] ? -1 : tags[joined->values[JOINED_TAG][i]]};
    return 0;
}

int blocks_read(struct blocks *blocks, int64_t block_id, int joined, struct operation_rows *rows,
                struct error *error)
{
    static const int columns[] = {OPERATION_ORDINAL,   OPERATION_KIND,          OPERATION_FUNCTION,
                                  OPERATION_SEQUENCE,  OPERATION_BYTES,         OPERATION_PEER,
                                  OPERATION_DURATION,  OPERATION_TAG,           OPERATION_FLAGS,
                                  OPERATION_TOLD_STEP, OPERATION_TOLD_SEQUENCE, OPERATION_INITIAL_SYNC};
    if (open_blocks(blocks, block_id, joined, rows, error))
        return -1;
    rows->block_id = block_id;
    if (stored_block_unpack(&rows->reader, block_id, columns, sizeof columns / sizeof *columns, error) ||
        find_issue(rows, error) || find_durations(rows, error))
        return -1;
    order_rows(rows);
    if (joined)
        return read_joined(blocks, rows, error);
    return intern_texts(blocks->texts, &rows->reader, rows->tags, error);
}

/* Packs the rows of a writer and inserts them as one row: number, [owner,] block. */
static int write_block(struct blocks *blocks, struct statement *statement, struct block_writer *writer,
                       int64_t block_id, const int64_t *owner_id, struct error *error)
{
    buffer_clear(&blocks->packed);
    if (block_pack(writer, &blocks->packed))
        return error_no_memory(error);
    blocks_enter(blocks);
    int failed =
        statement_bind_integer(statement, 1, block_id, error) ||
        (owner_id && statement_bind_integer(statement, 2, *owner_id, error)) ||
        statement_bind_blob(statement, owner_id ? 3 : 2, blocks->packed.data, blocks->packed.length, error) ||
        statement_step(statement, error);
    blocks_leave(blocks);
    return failed ? -1 : 0;
}

int blocks_write_joined(struct blocks *blocks, const struct operation_rows *rows, struct error *error)
{
    struct block_writer *writer = &blocks->joined_rows;
    for (size_t i = 0; i < rows->reader.count; i++) {
        const struct joined_row *joined = &rows->joined[i];
        block_add_row(writer);
        block_set(writer, JOINED_ORDINAL, rows->reader.values[OPERATION_ORDINAL][i]);
        block_set(writer, JOINED_INSTANCE, joined->number);
        if (joined->step >= 0)
            block_set(writer, JOINED_STEP, joined->step);
        block_set_text(writer, JOINED_TAG, joined->tag >= 0 ? intern_text(blocks->texts, joined->tag) : NULL);
    }
    return write_block(blocks, blocks->write_joined, writer, rows->block_id, NULL, error);
}

int blocks_write_instances(struct blocks *blocks, int64_t block_id, int64_t communicator_id,
                           struct error *error)
{
    return write_block(blocks, blocks->write_instances, &blocks->instance_rows, block_id, &communicator_id,
                       error);
}

struct operation_rows *operation_rows_new(void)
{
    struct operation_rows *rows = calloc(1, sizeof *rows);
    if (rows)
        block_reader_init(&rows->reader, &operation_layout);
    return rows;
}

void operation_rows_free(struct operation_rows *rows)
{
    if (!rows)
        return;
    block_reader_release(&rows->reader);
    free(rows);
}

/* Binds and runs one INSERT. Keeps the first error, so that callers list the columns without checks. */
struct save_row {
    struct statement *statement;
    struct error *error;
    int failed;
};

static void put(struct save_row *row, int parameter, int64_t value)
{
    if (!row->failed)
        row->failed = statement_bind_integer(row->statement, parameter, value, row->error);
}

/* A negative value becomes NULL. */
static void put_known(struct save_row *row, int parameter, int64_t value)
{
    if (value >= 0)
        put(row, parameter, value);
    else if (!row->failed)
        row->failed = statement_bind_null(row->statement, parameter, row->error);
}

static void put_text(struct save_row *row, int parameter, const char *text)
{
    if (row->failed)
        return;
    row->failed = text ? statement_bind_text(row->statement, parameter, text, row->error)
                       : statement_bind_null(row->statement, parameter, row->error);
}

static void run_row(struct save_row *row)
{
    if (!row->failed)
        row->failed = statement_step(row->statement, row->error) != 0;
}

static const char *const step_sources[] = {
    [STEPS_NONE] = "none", [STEPS_BY_TAGS] = "tags", [STEPS_BY_PERIOD] = "period", [STEPS_TOLD] = "told"};

static void save_run(const struct work *work, size_t i, struct save_row *row)
{
    const struct work_run *run = &work->runs[i];
    put(row, 1, run->number);
    put(row, 2, run->rank_count);
    put(row, 3, run->expected_ranks);
    put(row, 4, run->step_count);
    put_text(row, 5, step_sources[run->step_source]);
    put(row, 6, run->world >= 0 || run->is_told);
    put_text(row, 7, intern_text(&work->run_names, run->name));
    put(row, 8, run->first_step);
    put(row, 9, run->step_base);
}

static void save_process(const struct work *work, size_t i, struct save_row *row)
{
    put(row, 1, work->processes[i].id);
    put(row, 2, work->runs[work->processes[i].run].number);
}

static void save_rank(const struct work *work, size_t i, struct save_row *row)
{
    const struct work_rank *rank = &work->ranks[i];
    put(row, 1, (int64_t)i + 1);
    put(row, 2, work->runs[rank->run].number);
    put_known(row, 3, rank->process >= 0 ? work->processes[rank->process].id : -1);
    put_known(row, 4, rank->global_rank);
    put_text(row, 5, rank->name);
}

static void save_member(const struct work *work, size_t i, struct save_row *row)
{
    put(row, 1, work->members[i].id);
    put(row, 2, work->members[i].job_rank + 1);
}

static void save_communicator(const struct work *work, size_t i, struct save_row *row)
{
    const struct work_communicator *communicator = &work->communicators[i];
    put(row, 1, communicator->id);
    put(row, 2, communicator->run >= 0 ? work->runs[communicator->run].number : 0);
    put(row, 3, communicator->size);
    put(row, 4, communicator->declared_size > 0);
    put_text(row, 5, communicator->label);
}

static void put_rank(struct save_row *row, int parameter, int64_t rank)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)rank);
    put_text(row, parameter, rank >= 0 ? text : "none");
}

static void save_contradiction(const struct work *work, size_t i, struct save_row *row)
{
    const struct work_contradiction *contradiction = &work->contradictions[i];
    put(row, 1, work->processes[contradiction->process].id);
    put_text(row, 2, "global rank");
    put_rank(row, 3, contradiction->kept);
    put_rank(row, 4, contradiction->other);
}

typedef void (*row_writer)(const struct work *work, size_t i, struct save_row *row);

static int save_rows(const struct work *work, struct store *store, const char *sql, size_t count,
                     row_writer write, struct error *error)
{
    struct save_row row = {.statement = store_prepare(store, sql, error), .error = error};
    if (!row.statement)
        return -1;
    for (size_t i = 0; i < count && !row.failed; i++) {
        write(work, i, &row);
        run_row(&row);
    }
    statement_free(row.statement);
    return row.failed ? -1 : 0;
}

/* A communicator without members has no run, and nothing refers to it. These come last. */
static size_t joined_communicators(const struct work *work)
{
    size_t count = work->communicator_count;
    while (count && work->communicators[count - 1].run < 0)
        count--;
    return count;
}

int work_save(const struct work *work, struct store *store, struct error *error)
{
    const struct {
        const char *sql;
        size_t count;
        row_writer write;
    } parts[] = {
        {schema_join_save_run, work->run_count, save_run},
        {schema_join_save_process, work->process_count, save_process},
        {schema_join_save_job_rank, work->rank_count, save_rank},
        {schema_join_save_member, work->member_count, save_member},
        {schema_join_save_contradiction, work->contradiction_count, save_contradiction},
        {schema_join_save_communicator, joined_communicators(work), save_communicator},
    };
    if (store_execute(store, schema_join_save_clear, error))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (save_rows(work, store, parts[i].sql, parts[i].count, parts[i].write, error))
            return -1;
    return store_set_fact(store, "last_run", work->last_run, error);
}
