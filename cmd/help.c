#include "base/wrap.h"
#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/registry.h"

#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 28 };

/* Breaks it at blanks; what follows its first line begins at column `hang`. Whole where memory is out. */
static void put_wrapped(FILE *stream, const char *text, size_t hang)
{
    struct buffer lines = BUFFER_INIT;
    if (wrap_line(&lines, text, strlen(text), LINE_WIDTH, hang))
        fprintf(stream, "%s\n", text);
    else
        fwrite(lines.data, 1, lines.length, stream);
    buffer_release(&lines);
}

static void put_option(FILE *stream, const struct option *option)
{
    struct buffer line = BUFFER_INIT;
    char letter[8] = "    ", argument[OPTION_ARGUMENT_BYTES];
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    option_argument(option, argument);
    int failed = buffer_printf(&line, "  %s--%s%s%s", letter, option->name, *argument ? " " : "", argument);
    if (!failed && line.length > HELP_COLUMN - 2) {
        fprintf(stream, "%s\n", line.data);
        buffer_clear(&line);
    }
    failed = failed || buffer_printf(&line, "%*s%s", HELP_COLUMN - (int)line.length, "", option->help) ||
             (option->fallback && buffer_printf(&line, " (default: %s)", option->fallback));
    if (failed)
        fprintf(stream, "  --%s\n", option->name);
    else
        put_wrapped(stream, line.data, HELP_COLUMN);
    buffer_release(&line);
}

void help_command(const struct command *command, FILE *stream)
{
    const struct option_table *table = command->options;
    fprintf(stream, "usage: ncclprof [--store FILE] %s [OPTIONS]%s%s\n\n", command->name,
            table->operands ? " " : "", table->operands ? table->operands : "");
    put_wrapped(stream, command->summary, 0);
    if (table->description) {
        fputc('\n', stream);
        put_wrapped(stream, table->description, 0);
    }
    if (command->needs & TAKES_TRACES) {
        fputc('\n', stream);
        put_wrapped(
            stream,
            "PATH is a trace, or a directory of traces, as ingest takes them: with some the answer is "
            "about these alone, and no store is left, unless --store names one.",
            0);
    }
    if (command->needs & TAKES_SIDES) {
        fputc('\n', stream);
        put_wrapped(
            stream,
            "A and B are each STORE, STORE:RUN, a trace or a directory of traces, or, where no file is "
            "of that name, the name or number of a run of --store.",
            0);
    }
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < table->count; i++)
        put_option(stream, &table->options[i]);
    if (table->has_format)
        put_option(stream, &common_options[COMMON_FORMAT]);
    for (size_t i = 0; i < COMMON_FORMAT; i++)
        put_option(stream, &common_options[i]);
    fprintf(stream, "\nSee also: man ncclprof-%s\n", command->name);
}

void help_all(FILE *stream)
{
    fputs(
        "usage: ncclprof [--store FILE] COMMAND [OPTIONS] [ARGS]\n\n"
        "Finds out which rank, phase and link holds up a multi-GPU job, from the traces\n"
        "of NCCL's profiler plugins.\n\n"
        "commands:\n",
        stream);
    size_t count;
    const struct command *commands = registry_commands(&count);
    for (size_t i = 0; i < count; i++)
        fprintf(stream, "  %-12s  %s\n", commands[i].name, commands[i].summary);
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < COMMON_FORMAT; i++)
        put_option(stream, &common_options[i]);
    fputs(
        "  -V, --version             show the version\n\n"
        "'ncclprof help COMMAND' tells more of a command, so does 'man ncclprof'.\n"
        "First steps:  ncclprof diagnose TRACES...\n",
        stream);
}
