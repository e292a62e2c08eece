/* The command `info`: what a store contains. */
#include "base/base.h"
#include "cmd/internal.h"
#include "model/model.h"
#include "output/output.h"
#include "store/store.h"

#include "schemas.h"

/* Which rows to show. Without any of these, one row of counts. */
enum {
    OPTION_RUNS,
    OPTION_COMMUNICATORS,
    OPTION_PROCESSES,
    OPTION_FILES,
    OPTION_WARNINGS,
    OPTION_LEDGER,
    OPTION_SHARDS,
    OPTIONS
};

static const struct option options[OPTIONS] = {
    [OPTION_RUNS] = {.name = "runs", .help = "list runs (jobs), one row per run"},
    [OPTION_COMMUNICATORS] = {.name = "communicators",
                              .help = "list communicators, one row per communicator"},
    [OPTION_PROCESSES] = {.name = "processes", .help = "list processes, one row per process"},
    [OPTION_FILES] = {.name = "files", .help = "list files, one row per file"},
    [OPTION_WARNINGS] = {.name = "warnings", .help = "list NCCL warnings, one row per process and kind"},
    [OPTION_LEDGER] = {.name = "ledger", .help = "list skipped input, one row per reason"},
    [OPTION_SHARDS] = {.name = "shards", .help = "list shards, one row per merged or missing shard"},
};

static const char *const row_sql[OPTIONS] = {
    [OPTION_RUNS] = schema_info_info_runs,           [OPTION_COMMUNICATORS] = schema_info_info_communicators,
    [OPTION_PROCESSES] = schema_info_info_processes, [OPTION_FILES] = schema_info_info_files,
    [OPTION_WARNINGS] = schema_info_info_warnings,   [OPTION_LEDGER] = schema_info_info_ledger,
    [OPTION_SHARDS] = schema_info_info_shards,
};

static const struct column descriptions[] = {
    {.name = "processes", .description = "processes that recorded events"},
    {.name = "communicators", .description = "communicators, counted by hash"},
    {.name = "collectives", .description = "collective operations, counted on each rank"},
    {.name = "p2p", .description = "sends and receives, counted on each rank"},
    {.name = "proxy_ops", .description = "proxy operations of the network threads"},
    {.name = "proxy_steps", .description = "network steps of the proxy operations"},
    {.name = "tags", .description = "number of times a user tag was set"},
    {.name = "steps", .description = "training steps of the longest run"},
    {.name = "files", .description = "trace files"},
    {.name = "skipped", .description = "lines without an event; see --ledger"},
    {.name = "collective_instances", .description = "collectives, joined across ranks"},
    {.name = "p2p_instances", .description = "sends joined with their receives"},
    {.name = "distinct_tags", .description = "distinct user tags"},
    {.name = "runs", .description = "jobs (processes that share communicators)"},
    {.name = "bytes", .unit = "bytes", .description = "size of the trace files"},
    {.name = "unpacked_bytes", .unit = "bytes", .description = "size of the trace files after decompression"},
    {.name = "dropped", .description = "events that recorders report as dropped"},
    {.name = "partial_files", .description = "files that could be read only in part"},
    {.name = "warnings", .description = "NCCL warnings; see --warnings"},
    {.name = "node_samples", .description = "measurements on nodes; equal ones in a row count once"},
    {.name = "node_events", .description = "messages of nodes' kernels and drivers"},
    {.name = "run", .description = "permanent number of the job; other commands accept it as --run"},
    {.name = "communicator", .description = "its global ranks, or its name if they are unknown"},
    {.name = "hash", .description = "hash of the communicator, hexadecimal, as NCCL prints it"},
    {.name = "name", .description = "name given by the application"},
    {.name = "size", .description = "number of ranks"},
    {.name = "size_is_known", .description = "0: size is inferred from the ranks seen"},
    {.name = "ranks_seen", .description = "ranks that left a trace"},
    {.name = "nodes", .description = "number of hosts, if the recorder reports it"},
    {.name = "rank", .description = "global rank; null if no communicator contains all processes"},
    {.name = "rank_name", .description = "name of the rank in findings"},
    {.name = "host", .description = "host on which the process ran"},
    {.name = "pid", .description = "process id on its host"},
    {.name = "local_rank", .description = "rank among the processes of its host, as the launcher counts"},
    {.name = "gpu", .description = "CUDA device number of its GPU"},
    {.name = "gpu_bus_id", .description = "PCI address of its GPU"},
    {.name = "gpu_serial", .description = "serial number or UUID of its GPU"},
    {.name = "nic", .description = "network cards that carry its traffic"},
    {.name = "framework_name", .description = "name of the rank in the training framework"},
    {.name = "file_set", .description = "directory of its files"},
    {.name = "path", .description = "path of the file"},
    {.name = "dialect", .description = "recorder that wrote the file, as named in ncclprof-formats(5)"},
    {.name = "status", .description = "ingested, or partial (read only in part)"},
    {.name = "events", .description = "events read"},
    {.name = "reason", .description = "why the lines gave no event"},
    {.name = "damage", .description = "1: lost or unreadable; 0: understood, but not stored"},
    {.name = "count", .description = "number of occurrences"},
    {.name = "offset", .description = "byte offset of the first occurrence in the unpacked file"},
    {.name = "example", .description = "text of the first occurrence"},
    {.name = "first_file", .description = "file of the first occurrence"},
    {.name = "time", .description = "time of the first occurrence, on the clock of the log"},
    {.name = "about",
     .description = "what the warning is about: a failed transfer of a network card, a network card, the "
                    "connection to a peer, or other"},
    {.name = "ib_status", .description = "InfiniBand status of the failed transfer; 12: retries exceeded"},
    {.name = "peer", .description = "address or name of the host at the other end"},
    {.name = "text", .description = "text of the first occurrence"},
    {.name = "shard", .description = "number of the shard, from 0"},
    {.name = "shards", .description = "number of shards in its set; 1: not counted"},
    {.name = "job", .description = "scheduler's name of the job that wrote the shard"},
    {.name = "is_of_host",
     .description = "1: its files are on the host that wrote the shard; 0: all hosts see them"},
    {.name = "state",
     .description = "whole, lacking (files could not be read), unfinished (its ingest or merge did not "
                    "finish) or missing"},
};

/* Column descriptions that differ if a row is a shard. */
static const struct column descriptions_of_shards[] = {
    {.name = "host", .description = "host that wrote the shard"},
    {.name = "path", .description = "path of the shard when it was merged"},
    {.name = "reason", .description = "reason for the state"},
};

/* Column descriptions that differ if a row is a run. */
static const struct column descriptions_of_runs[] = {
    {.name = "name", .description = "permanent name of the job; other commands accept it as --run"},
    {.name = "ranks", .description = "ranks that left a trace"},
    {.name = "expected_ranks", .description = "ranks that the job must have had"},
    {.name = "steps", .description = "training steps; 0 if none were detected"},
    {.name = "recorder", .description = "dialect of the traces whose operations are used"},
    {.name = "other_recorders",
     .description = "dialects of traces of the same operations, used for what the recorder does not know"},
    {.name = "files", .description = "trace files with records of the job"},
    {.name = "file_set", .description = "directory of the first file"},
    {.name = "first_file", .description = "first file by name"},
};

static void describe(struct table *head, const struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int at = table_find_column(head, columns[i].name);
        if (at < 0)
            continue;
        head->columns[at].unit = columns[i].unit;
        head->columns[at].description = columns[i].description;
    }
    head->command = "info";
}

static const struct column upright[] = {
    {.name = "what", .type = CELL_TEXT},
    {.name = "count", .type = CELL_INTEGER},
    {.name = "meaning", .type = CELL_TEXT},
};

static int stand_up(const struct table *head, const struct cell *cells, struct table *table,
                    struct error *error)
{
    if (table_add_columns(table, upright, sizeof upright / sizeof *upright, error))
        return -1;
    for (size_t i = 0; i < head->column_count; i++) {
        if (table_add_row(table, error) || table_set_text(table, 0, head->columns[i].name, error) ||
            (head->columns[i].description && table_set_text(table, 2, head->columns[i].description, error)))
            return -1;
        table_set_integer(table, 1, cells[i].integer);
    }
    return 0;
}

/* One wide row is hard to read, so people get one column per line. */
static int show_upright(struct context *context, const struct arguments *arguments, struct query *query)
{
    const struct cell *cells;
    if (query_next(query, &cells, &context->error) != 1)
        return EXIT_NOT_DONE;
    struct table table;
    table_init(&table, "info");
    int status = EXIT_NOT_DONE;
    if (stand_up(query_head(query), cells, &table, &context->error) == 0)
        status = print_table(context, arguments, &table);
    table_release(&table);
    return status;
}

static int run(struct context *context, const struct arguments *arguments)
{
    const struct query_limits no_limits = {.seconds = 0};
    const char *sql = NULL;
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!arguments->values[i])
            continue;
        if (sql) {
            error_set(&context->error,
                      "use only one of --runs, --communicators, --processes, --files, --warnings, --ledger, "
                      "--shards");
            return EXIT_USAGE;
        }
        sql = row_sql[i];
    }
    struct query *query =
        query_open(context->store, sql ? sql : schema_info_info_counts, &no_limits, &context->error);
    if (!query)
        return EXIT_NOT_DONE;
    describe(query_head(query), descriptions, sizeof descriptions / sizeof *descriptions);
    if (arguments->values[OPTION_RUNS])
        describe(query_head(query), descriptions_of_runs,
                 sizeof descriptions_of_runs / sizeof *descriptions_of_runs);
    if (arguments->values[OPTION_SHARDS])
        describe(query_head(query), descriptions_of_shards,
                 sizeof descriptions_of_shards / sizeof *descriptions_of_shards);
    int status = !sql && arguments->renderer->is_for_people ? show_upright(context, arguments, query)
                                                            : rows_show(context, arguments, query);
    query_close(query);
    return status;
}

static const struct option_table table = {
    .description =
        "Shows totals. With one of the options, lists the runs, communicators, processes, files, NCCL "
        "warnings, skipped input or shards instead.",
    .options = options,
    .count = OPTIONS,
    .operands = "[PATH...]",
    .operands_most = (size_t)-1,
    .has_format = 1,
};

const struct command command_info = {
    .name = "info",
    .summary = "list the contents of the store",
    .needs = NEEDS_STORE_READ | NEEDS_JOINED | TAKES_TRACES,
    .options = &table,
    .run = run,
};
