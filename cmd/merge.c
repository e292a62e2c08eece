/* The command `merge`: combines shards into one store. */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "join/join.h"
#include "store/store.h"

#include <stdint.h>

enum { OPTION_OUTPUT, OPTION_SHARD, OPTION_EXPECT, OPTION_JOBS, OPTIONS };

static const struct option options[OPTIONS] = {
    [OPTION_OUTPUT] = {.name = "output",
                       .letter = 'o',
                       .argument = "FILE",
                       .help = "merge into this store; created if missing (default: --store)"},
    [OPTION_SHARD] = {.name = "shard", .help = "write a shard, to be merged with other shards later"},
    [OPTION_EXPECT] = {.name = "expect",
                       .argument = "N",
                       .help =
                           "number of shards that must exist (default: the number recorded in the shards)",
                       .is_number = 1,
                       .least = 1,
                       .most = 1000000},
    [OPTION_JOBS] = {.name = "jobs",
                     .letter = 'j',
                     .argument = "N",
                     .help = "number of threads (default: number of processors)",
                     .is_number = 1,
                     .least = 1,
                     .most = 256},
};

static int choose(struct context *context, const struct arguments *arguments)
{
    if (arguments->values[OPTION_OUTPUT]) {
        context->store_path = arguments->values[OPTION_OUTPUT];
        context->is_default_store = 0;
    }
    store_expect_threads();
    return EXIT_DONE;
}

/* A shard that an ingest makes stays a shard, and one store cannot have two roles. */
static int check_store(struct context *context, int stays_shard)
{
    struct shards shards;
    if (!context->store)
        return 0;
    int is_shard = store_is_shard(context->store, &context->error);
    if (is_shard < 0 || shards_read(&shards, context->store, &context->error))
        return -1;
    int failed = 0;
    if (shards_self(&shards))
        failed = error_set(&context->error, "%s is a shard itself; choose another file with -o",
                           context->store_path);
    else if (stays_shard && !is_shard)
        failed = error_set(&context->error, "%s is a store, not a shard; choose another file with -o",
                           context->store_path);
    shards_release(&shards);
    return failed;
}

/* Prints a line on standard error for each shard that lacks something. Returns the number of these, or -1. */
static int64_t report_missing_parts(struct context *context, int64_t expected)
{
    struct shards shards;
    int64_t lacking = 0, there = 0;
    if (shards_read(&shards, context->store, &context->error))
        return -1;
    for (size_t i = 0; i < shards.count; i++) {
        const struct shard *shard = &shards.items[i];
        const char *reason = shard->reason ? shard->reason : "";
        there += shard->state != SHARD_MISSING;
        if (shard->state == SHARD_WHOLE || (shard->state == SHARD_MISSING && *shard->path))
            continue;
        lacking++;
        if (shard->state == SHARD_MISSING)
            print_line("shard %lld/%lld is missing", (long long)shard->number, (long long)shard->count);
        else
            print_line("%s (host %s, shard %lld/%lld): %s", shard->path,
                       *shard->host ? shard->host : "unknown", (long long)shard->number,
                       (long long)shard->count, reason);
    }
    shards_release(&shards);
    if (there < expected)
        print_line("only %lld of %lld shards are present", (long long)there, (long long)expected);
    return lacking + (there < expected);
}

static int merge_shards(struct context *context, const struct arguments *arguments, struct merge *merge,
                        struct report *report)
{
    struct ingest_listener listener = {.report = report};
    merge->stays_shard = arguments->values[OPTION_SHARD] != NULL;
    merge->expected = arguments->values[OPTION_EXPECT] ? arguments_number(arguments, OPTION_EXPECT) : 0;
    merge->hooks = ingest_listener_hooks(&listener);
    interrupt_watch();
    progress_begin(&listener.progress, context->quiet, merge->plan.file_count, 0);
    int outcome = merge_run(merge, &context->store, context->store_path, &context->error);
    progress_clear(&listener.progress);
    report->seconds = progress_seconds(&listener.progress);
    interrupt_at_once();
    if (outcome == 0 && !merge->stays_shard)
        outcome =
            join_store(context->store,
                       (size_t)(arguments->values[OPTION_JOBS] ? arguments_number(arguments, OPTION_JOBS)
                                                               : ingest_processors()),
                       &context->error);
    if (outcome == 0)
        return EXIT_DONE;
    if (!interrupt_wanted(NULL))
        return EXIT_NOT_DONE;
    print_line("interrupted; completed files are in the store. Run the same command again to continue.");
    return EXIT_INTERRUPTED;
}

static int run(struct context *context, const struct arguments *arguments)
{
    struct merge merge = {.expected = 0};
    struct report report = {.results = NULL};
    int status = EXIT_NOT_DONE;
    if (check_store(context, arguments->values[OPTION_SHARD] != NULL) == 0 &&
        merge_plan_make(&merge.plan, arguments->operands, arguments->operand_count, context->store_path,
                        &context->error) == 0)
        status = merge_shards(context, arguments, &merge, &report);
    if (merge.plan.stale_count && !context->quiet)
        print_line("%zu file%s skipped: another shard has newer content for the same path",
                   merge.plan.stale_count, merge.plan.stale_count == 1 ? "" : "s");
    int64_t lacking = status == EXIT_DONE ? report_missing_parts(context, merge.expected) : 0;
    int shown = report.count || status == EXIT_DONE ? report_show(context, arguments, &report) : EXIT_DONE;
    if (status == EXIT_DONE)
        status = lacking < 0 ? EXIT_NOT_DONE : shown;
    if (status == EXIT_DONE && (lacking || report_has_trouble(&report)))
        status = EXIT_NOT_DONE;
    report_release(&report);
    merge_plan_release(&merge.plan);
    return status;
}

static const struct option_table table = {
    .operands = "SHARD...",
    .description =
        "Combines the stores (shards) that 'ncclprof ingest --shard' wrote on several nodes. The result is "
        "the same as if one 'ncclprof ingest' had read all their files. Files that are already in FILE are "
        "skipped. Missing, damaged or incomplete shards are listed; all others are merged, and the store "
        "records what is missing.",
    .options = options,
    .count = OPTIONS,
    .operands_least = 1,
    .operands_most = SIZE_MAX,
    .has_format = 1,
};

const struct command command_merge = {
    .name = "merge",
    .summary = "combine the stores that several nodes wrote",
    .needs = NEEDS_STORE_IF_ANY,
    .options = &table,
    .choose = choose,
    .run = run,
};
