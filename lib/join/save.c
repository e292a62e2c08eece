#include "join/save.h"

#include "schemas.h"
#include "store/store.h"

#include <stdio.h>

/* Binds and runs one INSERT. The first failure sticks, so that a row reads as a list of its columns. */
struct row {
    struct statement *statement;
    struct error *error;
    int failed;
};

static void put(struct row *row, int parameter, int64_t value)
{
    if (!row->failed)
        row->failed = statement_bind_integer(row->statement, parameter, value, row->error);
}

/* Negative: NULL. */
static void put_known(struct row *row, int parameter, int64_t value)
{
    if (value >= 0)
        put(row, parameter, value);
    else if (!row->failed)
        row->failed = statement_bind_null(row->statement, parameter, row->error);
}

static void put_text(struct row *row, int parameter, const char *text)
{
    if (row->failed)
        return;
    row->failed = text ? statement_bind_text(row->statement, parameter, text, row->error)
                       : statement_bind_null(row->statement, parameter, row->error);
}

static void run_row(struct row *row)
{
    if (!row->failed)
        row->failed = statement_step(row->statement, row->error) != 0;
}

static const char *const step_sources[] = {
    [STEPS_NONE] = "none", [STEPS_BY_TAGS] = "tags", [STEPS_BY_PERIOD] = "period", [STEPS_TOLD] = "told"};

static void save_run(const struct work *work, size_t i, struct row *row)
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

static void save_process(const struct work *work, size_t i, struct row *row)
{
    put(row, 1, work->processes[i].id);
    put(row, 2, work->runs[work->processes[i].run].number);
}

static void save_rank(const struct work *work, size_t i, struct row *row)
{
    const struct work_rank *rank = &work->ranks[i];
    put(row, 1, (int64_t)i + 1);
    put(row, 2, work->runs[rank->run].number);
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
    put(row, 2, communicator->run >= 0 ? work->runs[communicator->run].number : 0);
    put(row, 3, communicator->size);
    put(row, 4, communicator->declared_size > 0);
    put_text(row, 5, communicator->label);
}

static void put_rank(struct row *row, int parameter, int64_t rank)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)rank);
    put_text(row, parameter, rank >= 0 ? text : "none");
}

static void save_contradiction(const struct work *work, size_t i, struct row *row)
{
    const struct work_contradiction *contradiction = &work->contradictions[i];
    put(row, 1, work->processes[contradiction->process].id);
    put_text(row, 2, "global rank");
    put_rank(row, 3, contradiction->kept);
    put_rank(row, 4, contradiction->other);
}

typedef void (*row_writer)(const struct work *work, size_t i, struct row *row);

static int save_rows(const struct work *work, struct store *store, const char *sql, size_t count,
                     row_writer write, struct error *error)
{
    struct row row = {.statement = store_prepare(store, sql, error), .error = error};
    if (!row.statement)
        return -1;
    for (size_t i = 0; i < count && !row.failed; i++) {
        write(work, i, &row);
        run_row(&row);
    }
    statement_free(row.statement);
    return row.failed ? -1 : 0;
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
