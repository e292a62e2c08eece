/* The tables that users, `ncclprof query` and exports see: their names, descriptions, columns and indexes. */

#include "base/base.h"
#include "model/model.h"
#include "store/sqlite.h"
#include "store/store.h"

#include "schemas.h"

/* Name, type, unit and meaning of a column. */
#define COLUMN(called, is, in, says)                                        \
    {                                                                       \
        .name = (called), .type = (is), .unit = (in), .description = (says) \
    }

static const struct column run_columns[] = {
    COLUMN("run_id", CELL_INTEGER, NULL, "number of the run"),
    COLUMN("name", CELL_TEXT, NULL, "name of the run, as in ncclprof info --runs"),
    COLUMN("rank_count", CELL_INTEGER, NULL, "ranks with at least one record"),
    COLUMN("expected_ranks", CELL_INTEGER, NULL, "number of ranks, as far as the communicators show"),
    COLUMN("first_step", CELL_INTEGER, NULL, "first recorded training step"),
    COLUMN("step_count", CELL_INTEGER, NULL,
           "training steps, including those before the first recorded one; 0: none were detected"),
    COLUMN("step_base", CELL_INTEGER, NULL, "number that the program gives to step 0"),
    COLUMN("step_source", CELL_TEXT, NULL, "source of the steps: tags, period, told or none"),
    COLUMN("global_ranks", CELL_INTEGER, NULL, "1: the global ranks are known"),
};

static const struct column file_columns[] = {
    COLUMN("file_id", CELL_INTEGER, NULL, "number of the file"),
    COLUMN("path", CELL_TEXT, NULL, "absolute path; - for standard input"),
    COLUMN("dialect", CELL_TEXT, NULL, "format and version of the file"),
    COLUMN("status", CELL_TEXT, NULL, "ingested, or partial (read only in part)"),
    COLUMN("bytes", CELL_INTEGER, "bytes", "size on disk"),
    COLUMN("unpacked_bytes", CELL_INTEGER, "bytes", "size after decompression"),
    COLUMN("events", CELL_INTEGER, NULL, "events read"),
    COLUMN("skipped", CELL_INTEGER, NULL, "lines without an event"),
    COLUMN("modified_ns", CELL_INTEGER, "ns", "time of the last modification, since 1970"),
};

static const struct column proxy_step_columns[] = {
    COLUMN("proxy_operation_id", CELL_INTEGER, NULL, "proxy operation"),
    COLUMN("operation_id", CELL_INTEGER, NULL, "operation that it belongs to"),
    COLUMN("member_id", CELL_INTEGER, NULL, "rank of a communicator"),
    COLUMN("direction", CELL_INTEGER, NULL, "0 send, 1 receive"),
    COLUMN("channel", CELL_INTEGER, NULL, "channel"),
    COLUMN("peer", CELL_INTEGER, NULL, "peer, as rank in the communicator"),
    COLUMN("step", CELL_INTEGER, NULL, "number of the network step"),
    COLUMN("buffer_begin_ns", CELL_INTEGER, "ns", "start of the wait for a free buffer"),
    COLUMN("buffer_end_ns", CELL_INTEGER, "ns", "end of the wait for a free buffer"),
    COLUMN("buffer_us", CELL_REAL, "us", "duration of the wait for a free buffer"),
    COLUMN("gpu_begin_ns", CELL_INTEGER, "ns", "start of the wait for its own GPU"),
    COLUMN("gpu_end_ns", CELL_INTEGER, "ns", "end of the wait for its own GPU"),
    COLUMN("gpu_us", CELL_REAL, "us", "duration of the wait for its own GPU"),
    COLUMN("peer_begin_ns", CELL_INTEGER, "ns", "start of the wait for the receiver's credit"),
    COLUMN("peer_end_ns", CELL_INTEGER, "ns", "end of the wait for the receiver's credit"),
    COLUMN("peer_us", CELL_REAL, "us", "duration of the wait for the receiver's credit"),
    COLUMN("network_begin_ns", CELL_INTEGER, "ns", "start of the wait for the network"),
    COLUMN("network_end_ns", CELL_INTEGER, "ns", "end of the wait for the network"),
    COLUMN("network_us", CELL_REAL, "us", "duration of the wait for the network"),
    COLUMN("flush_begin_ns", CELL_INTEGER, "ns", "start of the wait for the receiver's GPU to see the data"),
    COLUMN("flush_end_ns", CELL_INTEGER, "ns", "end of the wait for the receiver's GPU to see the data"),
    COLUMN("flush_us", CELL_REAL, "us", "duration of the wait for the receiver's GPU to see the data"),
};

/* The columns of the views, generated from the comments in schemas/view. */
static const struct column v_rank_columns[] = {SCHEMA_COLUMNS_v_rank(COLUMN)};
static const struct column v_rank_fact_columns[] = {SCHEMA_COLUMNS_v_rank_fact(COLUMN)};
static const struct column v_communicator_columns[] = {SCHEMA_COLUMNS_v_communicator(COLUMN)};
static const struct column v_operation_columns[] = {SCHEMA_COLUMNS_v_operation(COLUMN)};
static const struct column v_instance_columns[] = {SCHEMA_COLUMNS_v_instance(COLUMN)};
static const struct column v_proxy_operation_columns[] = {SCHEMA_COLUMNS_v_proxy_operation(COLUMN)};
static const struct column v_tag_columns[] = {SCHEMA_COLUMNS_v_tag(COLUMN)};
static const struct column v_call_columns[] = {SCHEMA_COLUMNS_v_call(COLUMN)};
static const struct column v_node_sample_columns[] = {SCHEMA_COLUMNS_v_node_sample(COLUMN)};
static const struct column v_node_event_columns[] = {SCHEMA_COLUMNS_v_node_event(COLUMN)};
static const struct column v_node_fact_columns[] = {SCHEMA_COLUMNS_v_node_fact(COLUMN)};
static const struct column v_sample_columns[] = {SCHEMA_COLUMNS_v_sample(COLUMN)};
static const struct column v_ledger_columns[] = {SCHEMA_COLUMNS_v_ledger(COLUMN)};
static const struct column v_loss_columns[] = {SCHEMA_COLUMNS_v_loss(COLUMN)};
static const struct column v_step_columns[] = {SCHEMA_COLUMNS_v_step(COLUMN)};
static const struct column v_finding_columns[] = {SCHEMA_COLUMNS_v_finding(COLUMN)};
static const struct column v_wait_columns[] = {SCHEMA_COLUMNS_v_wait(COLUMN)};
static const struct column v_dropped_columns[] = {SCHEMA_COLUMNS_v_dropped(COLUMN)};

#define MEMBERS_OF_RUN "SELECT member_id FROM member_join JOIN job_rank USING (job_rank_id) WHERE run_id = ?1"
#define OF_RUN "run_id = ?1"
#define OF_MEMBERS "member_id IN (" MEMBERS_OF_RUN ")"
#define OF_PROCESSES "process_id IN (SELECT process_id FROM job_rank WHERE run_id = ?1)"
#define OF_FILES "file_id IN (SELECT file_id FROM file_member WHERE member_id IN (" MEMBERS_OF_RUN "))"

/* Metrics belong to no run. */
#define OF_NONE "?1 IS NULL"

#define COLUMNS(name) \
    .columns = name##_columns, .column_count = sizeof name##_columns / sizeof *name##_columns

const struct view store_views[] = {
    {.name = "run", .description = "a job", COLUMNS(run), .of_run = OF_RUN, .has_number = 1},
    {.name = "file",
     .description = "a file that was read",
     COLUMNS(file),
     .of_run = OF_FILES,
     .has_number = 1},
    {.name = "v_rank",
     .description = "a rank of a job",
     COLUMNS(v_rank),
     .of_run = OF_RUN,
     .keys = {"run_id, rank"}},
    {.name = "v_rank_fact",
     .description = "what a file states about the process of a rank",
     COLUMNS(v_rank_fact),
     .of_run = OF_RUN,
     .keys = {"run_id, rank"}},
    {.name = "v_communicator",
     .description = "a communicator",
     COLUMNS(v_communicator),
     .of_run = OF_RUN,
     .keys = {"run_id"},
     .has_number = 1},
    {.name = "v_operation",
     .description = "an operation as one rank recorded it",
     COLUMNS(v_operation),
     .of_run = OF_RUN,
     .keys = {"instance_id", "run_id, step, rank"},
     .has_number = 1},
    {.name = "v_instance",
     .description = "an operation of a whole communicator: a collective, or a send with its receive",
     COLUMNS(v_instance),
     .of_run = OF_RUN,
     .keys = {"run_id, step", "communicator_id"},
     .has_number = 1},
    {.name = "v_proxy_operation",
     .description = "work of the network thread of a rank for one channel of an operation",
     COLUMNS(v_proxy_operation),
     .of_run = OF_RUN,
     .keys = {"operation_id", "run_id, training_step, rank"},
     .has_number = 1},
    {.name = "proxy_step",
     .description = "a network step of a proxy operation",
     COLUMNS(proxy_step),
     .of_run = OF_MEMBERS,
     .keys = {"proxy_operation_id", "operation_id"},
     .is_network_steps = 1},
    {.name = "v_tag",
     .description = "a user tag as it was set",
     COLUMNS(v_tag),
     .of_run = OF_PROCESSES,
     .keys = {"process_id, at_us"},
     .has_number = 1},
    {.name = "v_call",
     .description = "a program's description of a call",
     COLUMNS(v_call),
     .of_run = OF_RUN,
     .keys = {"operation_id"},
     .has_number = 1},
    {.name = "v_sample",
     .description = "an average from Inspector's Prometheus text",
     COLUMNS(v_sample),
     .of_run = OF_NONE,
     .has_number = 1},
    {.name = "v_node_sample",
     .description = "a measurement on a node",
     COLUMNS(v_node_sample),
     .of_run = OF_NONE,
     .has_number = 1},
    {.name = "v_node_event",
     .description = "a message of a node's kernel or driver",
     COLUMNS(v_node_event),
     .of_run = OF_NONE,
     .has_number = 1},
    {.name = "v_node_fact",
     .description = "what a record says about a node or one of its GPUs once",
     COLUMNS(v_node_fact),
     .of_run = OF_NONE,
     .has_number = 1},
    {.name = "v_ledger",
     .description = "skipped input of a file, by reason",
     COLUMNS(v_ledger),
     .of_run = OF_FILES},
    {.name = "v_loss",
     .description = "events that a recorder reports as dropped",
     COLUMNS(v_loss),
     .of_run = OF_PROCESSES,
     .has_number = 1},
    {.name = "v_step",
     .description = "a training step of a run",
     COLUMNS(v_step),
     .of_run = OF_RUN,
     .keys = {"run_id, step"}},
    {.name = "v_finding",
     .description = "a finding of diagnose",
     COLUMNS(v_finding),
     .of_run = OF_RUN,
     .keys = {"run_id, rank"}},
    {.name = "v_wait",
     .description = "a rank in a training step: its wait for other ranks, and its own delay",
     COLUMNS(v_wait),
     .of_run = OF_RUN,
     .keys = {"run_id, step, rank"}},
    {.name = "v_dropped", .description = "the same, added up", COLUMNS(v_dropped), .of_run = OF_PROCESSES},
    {0},
};

_Static_assert(sizeof store_views / sizeof *store_views - 1 <= STORE_VIEWS_MOST, "raise STORE_VIEWS_MOST");

struct statement *view_rows(struct store *store, const struct view *view, int64_t run_id, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_append_text(&sql, "SELECT ");
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = buffer_printf(&sql, "%s\"%s\"", i ? ", " : "", view->columns[i].name);
    failed = failed || buffer_printf(&sql, " FROM %s", view->name) ||
             (run_id && buffer_printf(&sql, " WHERE %s", view->of_run));
    struct statement *rows = NULL;
    if (failed)
        error_no_memory(error);
    else
        rows = store_prepare_for(store, sql.data, run_id, error);
    buffer_release(&sql);
    return rows;
}

/* Returns the statement that inserts a row into the temporary table that replaces the view. NULL on error. */
static struct statement *make_temporary(struct store *store, const struct view *view, struct error *error)
{
    static const char *const types[] = {
        [CELL_INTEGER] = "INTEGER", [CELL_REAL] = "REAL", [CELL_TEXT] = "TEXT"};
    struct buffer make = BUFFER_INIT, insert = BUFFER_INIT;
    int failed = buffer_printf(&make, "DROP VIEW IF EXISTS temp.%s; DROP TABLE IF EXISTS temp.%s; ",
                               view->name, view->name) ||
                 buffer_printf(&make, "CREATE TEMP TABLE %s (", view->name) ||
                 buffer_printf(&insert, "INSERT INTO temp.%s VALUES (", view->name);
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = buffer_printf(&make, "%s\"%s\" %s", i ? ", " : "", view->columns[i].name,
                               types[view->columns[i].type]) ||
                 buffer_append_text(&insert, i ? ", ?" : "?");
    struct statement *statement = NULL;
    if (failed || buffer_append_byte(&make, ')') || buffer_append_byte(&insert, ')'))
        error_no_memory(error);
    else if (store_execute(store, make.data, error) == 0)
        statement = store_prepare(store, insert.data, error);
    buffer_release(&make);
    buffer_release(&insert);
    return statement;
}

static int bind(struct statement *insert, int parameter, const struct cell *cell, struct error *error)
{
    switch (cell ? cell->type : CELL_NULL) {
    case CELL_INTEGER:
        return statement_bind_integer(insert, parameter, cell->integer, error);
    case CELL_REAL:
        return statement_bind_real(insert, parameter, cell->real, error);
    case CELL_TEXT:
        return statement_bind_text(insert, parameter, cell->text, error);
    default:
        return statement_bind_null(insert, parameter, error);
    }
}

static int insert_rows(struct store *store, const struct view *view, const struct table *table,
                       const int *columns, struct error *error)
{
    struct statement *insert = make_temporary(store, view, error);
    int failed = !insert;
    for (size_t row = 0; !failed && row < table->row_count; row++) {
        for (size_t i = 0; i < view->column_count && !failed; i++)
            failed = bind(insert, (int)i + 1, table_cell(table, row, (size_t)columns[i]), error);
        failed = failed || statement_step(insert, error) < 0;
    }
    statement_free(insert);
    return failed;
}

/* 1: the connection may not write, not even temporary tables; 0: it may; -1: error. */
static int may_only_read(struct store *store, struct error *error)
{
    struct statement *statement = store_prepare(store, "PRAGMA query_only", error);
    int only = statement && statement_step(statement, error) == 1 ? statement_integer(statement, 0) != 0 : -1;
    statement_free(statement);
    return only;
}

int view_fill(struct store *store, const struct view *view, const struct table *table, const int *columns,
              struct error *error)
{
    int only = may_only_read(store, error);
    int failed = only < 0 || (only && store_execute(store, "PRAGMA query_only=OFF", error)) ||
                 store_execute(store, "SAVEPOINT fill", error) ||
                 insert_rows(store, view, table, columns, error) ||
                 store_execute(store, "RELEASE fill", error) ||
                 (only && store_execute(store, "PRAGMA query_only=ON", error));
    return failed ? error_wrap(error, "cannot fill %s", view->name) : 0;
}
