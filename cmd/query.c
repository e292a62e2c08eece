#include "store/query.h"

#include "cmd/commands.h"
#include "cmd/interrupt.h"
#include "cmd/opt.h"
#include "cmd/rows.h"

enum { OPTION_TIMEOUT, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_TIMEOUT] = {.name = "timeout",
                        .argument = "SECONDS",
                        .help = "stop a query that takes longer; 0: never",
                        .fallback = "60",
                        .is_number = 1,
                        .least = 0,
                        .most = 1000000},
};

static int run(struct context *context, const struct arguments *arguments)
{
    const struct query_limits limits = {.seconds = arguments_number(arguments, OPTION_TIMEOUT),
                                        .wanted = interrupt_wanted};
    interrupt_watch();
    /* A single call of a function of SQLite, instr() of long texts for one, can last for hours. */
    interrupt_insist((unsigned)limits.seconds);
    struct query *query = query_open(context->store, arguments->operands[0], &limits, &context->error);
    int status = query ? rows_show(context, arguments, query) : EXIT_NOT_DONE;
    query_close(query);
    interrupt_restore();
    return status;
}

static const struct option_table table = {
    .operands = "SQL",
    .description =
        "Tables and views are described in ncclprof-store(5); 'SELECT name, sql FROM sqlite_schema' "
        "lists them. Begin with v_operation, v_instance, v_proxy_operation and proxy_step.",
    .options = options,
    .count = OPTIONS,
    .operands_least = 1,
    .operands_most = 1,
    .has_format = 1,
};

const struct command command_query = {
    .name = "query",
    .summary = "answer a question in SQL, reading only",
    .needs = NEEDS_STORE_READ | NEEDS_JOINED,
    .options = &table,
    .run = run,
};
