#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/registry.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_WIDTH = 80, HELP_COLUMN = 28 };

/*
 * Writes `text` broken into lines that begin at column `indent`; the cursor stands at `column`. Returns where
 * it stands then.
 */
static int put_words(FILE *stream, const char *text, int indent, int column)
{
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > TEXT_WIDTH) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    return column;
}

static void put_paragraph(FILE *stream, const char *text)
{
    put_words(stream, text, 0, 0);
    fputc('\n', stream);
}

static void put_option(FILE *stream, const struct option *option)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    char argument[OPTION_ARGUMENT_BYTES];
    option_argument(option, argument);
    int column = fprintf(stream, "  %s--%s%s%s", letter, option->name, *argument ? " " : "", argument);
    if (column > HELP_COLUMN - 2)
        column = fprintf(stream, "\n") - 1;
    fprintf(stream, "%*s", HELP_COLUMN - column, "");
    column = put_words(stream, option->help, HELP_COLUMN, HELP_COLUMN);
    if (option->fallback) {
        char value[TEXT_WIDTH];
        snprintf(value, sizeof value, "%s)", option->fallback);
        column = put_words(stream, "(default:", HELP_COLUMN, column);
        put_words(stream, value, HELP_COLUMN, column);
    }
    fputc('\n', stream);
}

void help_command(const struct command *command, FILE *stream)
{
    const struct option_table *table = command->options;
    fprintf(stream, "usage: ncclprof [--store FILE] %s [OPTIONS]%s%s\n\n", command->name,
            table->operands ? " " : "", table->operands ? table->operands : "");
    put_paragraph(stream, command->summary);
    if (table->description) {
        fputc('\n', stream);
        put_paragraph(stream, table->description);
    }
    if (command->needs & TAKES_TRACES) {
        fputc('\n', stream);
        put_paragraph(
            stream,
            "PATH is a trace, or a directory of traces, as ingest takes them: with some the answer is "
            "about these alone, and no store is left, unless --store names one.");
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
