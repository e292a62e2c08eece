#include "join/work.h"

#include "schemas.h"
#include "store/store.h"

/* Rows of statement operations, and the parameters of each. */
enum { OPERATIONS_TOGETHER = 16, OPERATION_COLUMNS = 4 };

/* Binds and runs one INSERT. The first failure sticks, so that a row reads as a list of its columns. */
struct row {
    struct statement *statement;
    struct error *error;
    int before; /* parameters of the rows before this one in the statement */
    int failed;
};

static void put(struct row *row, int parameter, int64_t value)
{
    if (!row->failed)
        row->failed = statement_bind_integer(row->statement, row->before + parameter, value, row->error);
}

/* Negative: NULL. */
static void put_known(struct row *row, int parameter, int64_t value)
{
    if (value >= 0)
        put(row, parameter, value);
    else if (!row->failed)
        row->failed = statement_bind_null(row->statement, row->before + parameter, row->error);
}

static void put_text(struct row *row, int parameter, const char *text)
{
    if (row->failed)
        return;
    row->failed = text ? statement_bind_text(row->statement, row->before + parameter, text, row->error)
                       : statement_bind_null(row->statement, row->before + parameter, row->error);
}

static void put_tag(struct row *row, int parameter, const struct work *work, int32_t tag)
{
    put_text(row, parameter, tag >= 0 ? intern_text(&work->texts, tag) : NULL);
}

static void run_row(struct row *row)
{
    if (!row->failed)
        row->failed = statement_step(row->statement, row->error) != 0;
}

static void save_run(const struct work *work, size_t i, struct row *row)
{
    const struct work_run *run = &work->runs[i];
    put(row, 1, (int64_t)i + 1);
    put(row, 2, run->rank_count);
    put(row, 3, run->expected_ranks);
    put(row, 4, run->step_count);
    put_text(row, 5, run->step_source);
    put(row, 6, run->world >= 0);
}

static void save_rank(const struct work *work, size_t i, struct row *row)
{
    const struct work_rank *rank = &work->ranks[i];
    put(row, 1, (int64_t)i + 1);
    put(row, 2, rank->run + 1);
    put_known(row, 3, rank->process >= 0 ? work->processes[rank->process].id : -1);
    put_known(row, 4, rank->global_rank);
    put_text(row, 5, rank->name);
}

static void save_member(const struct work *work, size_t i, struct row *row)
{
    put(row, 1, work->members[i].id);
    put(row, 2, work->members[i].job_rank + 1);
}

static void save_communicator(const struct work *work, size_t i, struct row *row)
{
    const struct work_communicator *communicator = &work->communicators[i];
    put(row, 1, communicator->id);
    put(row, 2, communicator->run + 1);
    put(row, 3, communicator->size);
    put(row, 4, communicator->declared_size > 0);
    put_text(row, 5, communicator->label);
}

static void save_instance(const struct work *work, size_t i, struct row *row)
{
    const struct work_instance *instance = &work->instances[i];
    put(row, 1, (int64_t)i + 1);
    put(row, 2, work->communicators[instance->communicator].run + 1);
    put(row, 3, work->communicators[instance->communicator].id);
    put(row, 4, instance->kind);
    put(row, 5, instance->function);
    put(row, 6, instance->sequence);
    put_known(row, 7, instance->sender);
    put_known(row, 8, instance->receiver);
    put_known(row, 9, instance->size_bytes);
    put(row, 10, instance->members);
    put(row, 11, instance->expected);
    put_known(row, 12, instance->transfer_ns);
    put_known(row, 13, instance->effective_ns);
    put_known(row, 14, instance->last_member >= 0 ? work->members[instance->last_member].id : -1);
    put_known(row, 15, instance->margin_ns);
    put_tag(row, 16, work, instance->tag);
    put_known(row, 17, instance->step);
}

static void save_operation(const struct work *work, size_t i, struct row *row)
{
    const struct work_operation *operation = &work->operations[i];
    put(row, 1, operation->id);
    put(row, 2, operation->instance + 1);
    put_known(row, 3, operation->step);
    put_tag(row, 4, work, operation->tag);
}

typedef void (*row_writer)(const struct work *work, size_t i, struct row *row);

/* Rows from..to, `together` in one statement, a divisor of their number. */
static int save_rows(const struct work *work, struct store *store, const char *sql, size_t from, size_t to,
                     size_t together, row_writer write, struct error *error)
{
    struct row row = {.statement = store_prepare(store, sql, error), .error = error};
    if (!row.statement)
        return -1;
    for (size_t i = from; i < to && !row.failed; i += together) {
        for (size_t k = 0; k < together; k++) {
            row.before = (int)k * OPERATION_COLUMNS;
            write(work, i + k, &row);
        }
        run_row(&row);
    }
    statement_free(row.statement);
    return row.failed ? -1 : 0;
}

static int save_operations(const struct work *work, struct store *store, struct error *error)
{
    size_t whole = work->operation_count - work->operation_count % OPERATIONS_TOGETHER;
    return save_rows(work, store, schema_join_save_operations, 0, whole, OPERATIONS_TOGETHER, save_operation,
                     error) ||
                   save_rows(work, store, schema_join_save_operation, whole, work->operation_count, 1,
                             save_operation, error)
               ? -1
               : 0;
}

/* A communicator without members has no run; nothing refers to it. */
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
        {schema_join_save_job_rank, work->rank_count, save_rank},
        {schema_join_save_member, work->member_count, save_member},
        {schema_join_save_communicator, joined_communicators(work), save_communicator},
        {schema_join_save_instance, work->instance_count, save_instance},
    };
    if (store_execute(store, schema_join_save_clear, error))
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (save_rows(work, store, parts[i].sql, 0, parts[i].count, 1, parts[i].write, error))
            return -1;
    return save_operations(work, store, error);
}
