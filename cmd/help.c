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
        put_wrapped(stream,
                    "With PATH arguments (trace files or directories), analyze only these, in a temporary "
                    "store. With --store as well, add them to that store and analyze all of it.",
                    0);
    }
    if (command->needs & TAKES_SIDES) {
        fputc('\n', stream);
        put_wrapped(stream,
                    "A and B are each a store, STORE:RUN, a trace, or a directory of traces. If no file has "
                    "that name, it is the name or number of a run in --store.",
                    0);
    }
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < table->count; i++)
        if (!table->options[i].is_unlisted)
            put_option(stream, &table->options[i]);
    if (table->has_format)
        put_option(stream, &common_options[COMMON_FORMAT]);
    for (size_t i = 0; i < COMMON_FORMAT; i++)
        put_option(stream, &common_options[i]);
    if (table->examples)
        fprintf(stream, "\nexamples:\n%s", table->examples);
    fprintf(stream, "\nSee also: man ncclprof-%s\n", command->name);
}

/* Commands in the order of help, under headings. */
static const struct {
    const char *heading;
    const char *names[6]; /* NULL past the last */
} groups[] = {
    {"record and load", {"record", "ingest", "merge"}},
    {"find the fault", {"diagnose", "stragglers", "stalls", "steps", "startup"}},
    {"measure", {"report", "buffers", "clocks"}},
    {"compare and monitor", {"compare", "watch"}},
    {"show and export", {"info", "query", "timeline", "html", "export"}},
};

enum { GROUPS = sizeof groups / sizeof *groups };

static int is_grouped(const char *name)
{
    for (size_t i = 0; i < GROUPS; i++)
        for (const char *const *grouped = groups[i].names; *grouped; grouped++)
            if (strcmp(*grouped, name) == 0)
                return 1;
    return 0;
}

static void put_command(FILE *stream, const struct command *command)
{
    fprintf(stream, "  %-12s  %s\n", command->name, command->summary);
}

/* A command that no group names is listed under the last heading. */
static void put_commands(FILE *stream)
{
    for (size_t i = 0; i < GROUPS; i++) {
        fprintf(stream, "\n %s\n", groups[i].heading);
        for (const char *const *name = groups[i].names; *name; name++)
            put_command(stream, registry_find(*name));
    }
    size_t count;
    const struct command *commands = registry_commands(&count);
    fputs("\n other\n", stream);
    for (size_t i = 0; i < count; i++)
        if (!is_grouped(commands[i].name))
            put_command(stream, &commands[i]);
}

void help_all(FILE *stream)
{
    fputs(
        "usage: ncclprof [--store FILE] COMMAND [OPTIONS] [ARGS]\n\n"
        "Find the rank, phase or link that slows down or hangs a multi-GPU job, from NCCL\n"
        "and PyTorch traces.\n\n"
        "Start here:  ncclprof diagnose TRACES...\n\n"
        "commands:\n",
        stream);
    put_commands(stream);
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < COMMON_FORMAT; i++)
        put_option(stream, &common_options[i]);
    fputs(
        "  -V, --version             show the version\n\n"
        "Run 'ncclprof help COMMAND' or 'man ncclprof-COMMAND' for details.\n",
        stream);
}
