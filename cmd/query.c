/* The command `query`: runs SQL on a store, read-only. */
#include "base/base.h"
#include "cmd/internal.h"
#include "model/model.h"
#include "output/output.h"
#include "report/report.h"
#include "store/store.h"

#include "schemas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_SCHEMA, OPTION_TIMEOUT, OPTION_MEMORY, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_SCHEMA] = {.name = "schema", .help = "list the views with their columns, one per line"},
    [OPTION_TIMEOUT] = {.name = "timeout",
                        .argument = "SECONDS",
                        .help = "stop a query after SECONDS; 0: never",
                        .fallback = "60",
                        .is_number = 1,
                        .least = 0,
                        .most = 1000000},
    [OPTION_MEMORY] = {.name = "memory",
                       .argument = "MIB",
                       .help = "memory limit for the operations of a run from which v_step, v_finding and "
                               "v_wait are computed. 0: no limit",
                       .fallback = "1536",
                       .is_number = 1,
                       .least = 0,
                       .most = INT32_MAX},
};

/* The limit of one statement (lib/store/query.c). Longer SQL was not typed by a person. */
enum { LONGEST_INPUT_BYTES = 1 << 20 };

static int read_input(struct buffer *sql, struct error *error)
{
    char bytes[4096];
    size_t got;
    while ((got = fread(bytes, 1, sizeof bytes, stdin)) > 0) {
        if (buffer_append(sql, bytes, got))
            return error_no_memory(error);
        if (sql->length > LONGEST_INPUT_BYTES)
            return error_set(error, "standard input is larger than 1 MiB, the limit for SQL statements");
    }
    if (ferror(stdin))
        return error_set(error, "cannot read standard input: %s", strerror(errno));
    if (sql->data && strlen(sql->data) != sql->length)
        return error_set(error, "standard input is not text: it contains a zero byte");
    return sql->length ? 0 : error_set(error, "no SQL statement on standard input");
}

/* The statement names the columns, so all are shown. */
static int show_rows(struct context *context, const struct arguments *arguments, struct query *query)
{
    struct table *head = query_head(query);
    for (size_t i = 0; i < head->column_count; i++)
        head->columns[i].is_asked_for = 1;
    return rows_show(context, arguments, query);
}

/* Shows one result after the other, with an empty line in between in text for people. */
static int show_statements(struct context *context, const struct arguments *arguments, const char *sql,
                           const struct query_limits *limits)
{
    int is_end = 0, status = EXIT_DONE;
    for (size_t shown = 0; status == EXIT_DONE; shown++) {
        struct query *query = query_open_first(context->store, &sql, limits, &is_end, &context->error);
        if (!query)
            return is_end ? EXIT_DONE : EXIT_NOT_DONE;
        if (shown && arguments->renderer->is_for_people)
            putchar('\n');
        status = show_rows(context, arguments, query);
        query_close(query);
    }
    return status;
}

static int show_input(struct context *context, const struct arguments *arguments,
                      const struct query_limits *limits)
{
    struct buffer sql = BUFFER_INIT;
    int status = read_input(&sql, &context->error) ||
                         computed_views_fill(context->store, sql.data, arguments->values[OPTION_MEMORY],
                                             &context->error)
                     ? EXIT_NOT_DONE
                     : show_statements(context, arguments, sql.data, limits);
    buffer_release(&sql);
    return status;
}

static int show_operand(struct context *context, const struct arguments *arguments,
                        const struct query_limits *limits)
{
    const char *sql = arguments->operands[0];
    struct query *query =
        computed_views_fill(context->store, sql, arguments->values[OPTION_MEMORY], &context->error)
            ? NULL
            : query_open(context->store, sql, limits, &context->error);
    int status = query ? show_rows(context, arguments, query) : EXIT_NOT_DONE;
    query_close(query);
    return status;
}

static const struct column schema_columns[] = {
    {.name = "view", .type = CELL_TEXT, .description = "name of the view or table"},
    {.name = "columns", .type = CELL_TEXT, .description = "its columns, in order"},
};

/* Adds the columns of a view, with SQLite's names. */
static int add_view(struct context *context, const char *name, struct table *table)
{
    const struct query_limits no_limits = {.seconds = 0};
    struct buffer text = BUFFER_INIT;
    int failed = buffer_printf(&text, "%s \"%s\"", schema_info_info_rows_of, name)
                     ? error_no_memory(&context->error)
                     : 0;
    struct query *query = failed ? NULL : query_open(context->store, text.data, &no_limits, &context->error);
    failed = !query;
    buffer_clear(&text);
    for (size_t i = 0; !failed && i < query_head(query)->column_count; i++)
        if (buffer_printf(&text, "%s%s", i ? ", " : "", query_head(query)->columns[i].name))
            failed = error_no_memory(&context->error);
    failed = failed || table_add_row(table, &context->error) ||
             table_set_text(table, 0, name, &context->error) ||
             table_set_text(table, 1, text.data, &context->error);
    query_close(query);
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Copies the names of the views, because a connection runs only one query at a time. */
static int list_views(struct context *context, struct table *names)
{
    const struct query_limits no_limits = {.seconds = 0};
    const struct cell *cells;
    int more = -1;
    struct query *query = query_open(context->store, schema_info_info_views, &no_limits, &context->error);
    if (query && table_add_columns(names, schema_columns, 1, &context->error) == 0)
        while ((more = query_next(query, &cells, &context->error)) == 1)
            if (table_add_row(names, &context->error) ||
                table_set_text(names, 0, cells[0].text, &context->error))
                break;
    query_close(query);
    return more;
}

static int show_schema(struct context *context, const struct arguments *arguments)
{
    struct table names, table;
    table_init(&names, "query");
    table_init(&table, "query");
    int failed = list_views(context, &names) ||
                 table_add_columns(&table, schema_columns, sizeof schema_columns / sizeof *schema_columns,
                                   &context->error);
    for (size_t i = 0; !failed && i < names.row_count; i++)
        failed = add_view(context, table_cell(&names, i, 0)->text, &table);
    int status = failed ? EXIT_NOT_DONE : print_table(context, arguments, &table);
    table_release(&names);
    table_release(&table);
    return status;
}

static int run(struct context *context, const struct arguments *arguments)
{
    const struct query_limits limits = {.seconds = arguments_number(arguments, OPTION_TIMEOUT),
                                        .wanted = interrupt_wanted,
                                        .allows_views = 1};
    int is_schema = arguments->values[OPTION_SCHEMA] != NULL;
    if (is_schema && arguments->operand_count) {
        error_set(&context->error, "--schema takes no SQL argument");
        return EXIT_USAGE;
    }
    if (is_schema)
        return show_schema(context, arguments);
    if (arguments->operand_count == 0 && isatty(STDIN_FILENO)) {
        error_set(&context->error, "missing argument SQL");
        return EXIT_USAGE;
    }
    interrupt_watch();
    /* A single call of an SQLite function can take hours, for example instr() on long texts. */
    interrupt_exit_after((unsigned)limits.seconds);
    int from_input = arguments->operand_count == 0 || strcmp(arguments->operands[0], "-") == 0;
    int status =
        from_input ? show_input(context, arguments, &limits) : show_operand(context, arguments, &limits);
    interrupt_restore();
    return status;
}

static const struct option_table table = {
    .operands = "[SQL]",
    .description =
        "Without SQL, or with -, reads statements from standard input. ncclprof-store(5) describes the "
        "tables and views; --schema lists the views. Start with the views v_finding, v_step, v_wait, "
        "v_operation, v_instance, v_proxy_operation and the table proxy_step.",
    .options = options,
    .count = OPTIONS,
    .operands_most = 1,
    .has_format = 1,
};

const struct command command_query = {
    .name = "query",
    .summary = "run read-only SQL on the documented views",
    .needs = NEEDS_STORE_READ | NEEDS_JOINED,
    .options = &table,
    .run = run,
};
