/*
 * Commands that are not analyses. Analyses come from lib/report/registry.c. A new command, foo, takes a line
 * in `before` or `after` below and what follows; `make check` reports what is missing.
 *
 * - cmd/foo.c: exports `const struct command command_foo` with its table of options (types: cmd/internal.h)
 * - man/ncclprof-foo.1: its page, with the options and defaults of -h
 * - man/ncclprof.1: mentions it
 * - README.md: its name under "Commands"
 * - tests/cli/: a test that runs it
 *
 * A command that prints a result, and therefore has --format, also takes:
 *
 * - tests/cli/test_golden.py: foo among COMMANDS; `make golden` writes its outputs
 * - tests/cli/test_output.py: foo among COMMANDS: JSON against a schema of schemas/output
 *
 * A command calls the library and prints the result. All decisions about the domain are in the library.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What each command's file exports to registry.c. */
extern const struct command command_record;
extern const struct command command_ingest;
extern const struct command command_merge;
extern const struct command command_info;
extern const struct command command_watch;
extern const struct command command_query;
extern const struct command command_completion;

/* In the order of help. The analyses come between these two lists. */
static const struct command *const before[] = {&command_record, &command_ingest, &command_merge,
                                               &command_watch, &command_info};
static const struct command *const after[] = {&command_query, &command_completion};

enum { BEFORE = sizeof before / sizeof *before, AFTER = sizeof after / sizeof *after };

/* Option tables made from the descriptions of the analyses. */
static struct option_table *tables;
static size_t table_count;

static struct command *commands;
static size_t command_count;

/* Number of threads of an analysis; added after all its other options. */
static const struct option jobs_option = {.name = "jobs",
                                          .letter = 'j',
                                          .argument = "N",
                                          .help = "number of threads (default: number of processors)",
                                          .is_number = 1,
                                          .least = 1,
                                          .most = 256};

static int make_table(const struct analysis *analysis, struct option_table *table, struct error *error)
{
    size_t own = analysis->option_count;
    struct option *options = array_new(own + FILTER_OPTIONS + 1, sizeof *options);
    if (!options)
        return error_no_memory(error);
    for (size_t i = 0; i < own + FILTER_OPTIONS; i++) {
        const struct analysis_option *from = i < own ? &analysis->options[i] : &filter_options[i - own];
        options[i] =
            (struct option){.name = from->name,
                            .letter = from->letter,
                            .argument = from->argument,
                            .help = from->help,
                            .fallback = from->fallback,
                            .takes_operands = analysis->compares && i < 2,
                            .is_unlisted = i >= own && analysis->unlisted_filters & FILTER_BIT(i - own)};
    }
    options[own + FILTER_OPTIONS] = jobs_option;
    *table = (struct option_table){.description = analysis->description,
                                   .options = options,
                                   .count = own + FILTER_OPTIONS + 1,
                                   .operands = analysis->compares ? "A B" : "[PATH...]",
                                   .operands_least = analysis->compares ? 2 : 0,
                                   .operands_most = SIZE_MAX,
                                   .has_format = 1};
    return 0;
}

static int call_buffer_sizes(const struct analysis *analysis)
{
    return analysis->compares ? TAKES_SIDES | NEEDS_JOINED : NEEDS_STORE_READ | NEEDS_JOINED | TAKES_TRACES;
}

int registry_jobs(const struct command *command, const struct arguments *arguments)
{
    size_t jobs = command->options->count - 1;
    return command->analysis && arguments->values[jobs] ? (int)arguments_number(arguments, jobs)
                                                        : ingest_processors();
}

static void list_commands(void)
{
    for (size_t i = 0; i < BEFORE; i++)
        commands[command_count++] = *before[i];
    for (size_t i = 0; i < table_count; i++)
        commands[command_count++] = (struct command){.name = analysis_registry[i]->name,
                                                     .summary = analysis_registry[i]->summary,
                                                     .needs = call_buffer_sizes(analysis_registry[i]),
                                                     .options = &tables[i],
                                                     .analysis = analysis_registry[i],
                                                     .run = command_run_analysis};
    for (size_t i = 0; i < AFTER; i++)
        commands[command_count++] = *after[i];
}

int registry_init(struct error *error)
{
    size_t count = 0;
    while (analysis_registry[count])
        count++;
    tables = array_new(count, sizeof *tables);
    commands = array_new(BEFORE + count + AFTER, sizeof *commands);
    if (!tables || !commands)
        return error_no_memory(error);
    for (; table_count < count; table_count++)
        if (make_table(analysis_registry[table_count], &tables[table_count], error))
            return -1;
    list_commands();
    return 0;
}

void registry_release(void)
{
    for (size_t i = 0; i < table_count; i++)
        free((struct option *)(uintptr_t)tables[i].options);
    free(tables);
    free(commands);
    tables = NULL;
    commands = NULL;
    table_count = command_count = 0;
}

const struct command *registry_commands(size_t *count)
{
    *count = command_count;
    return commands;
}

const struct command *registry_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}
