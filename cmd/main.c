/*
 * The start of the program: global options, help, the pager, and the call of a command with its store open.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "store/store.h"

#include "commit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager;

static const char *choose(void)
{
    const char *wanted = getenv("NCCLPROF_PAGER"), *terminal = getenv("TERM");
    if (!terminal || strcmp(terminal, "dumb") == 0)
        return NULL;
    if (!wanted)
        wanted = getenv("PAGER");
    if (!wanted)
        wanted = "if command -v less >/dev/null; then exec less; else exec cat; fi";
    return *wanted && strcmp(wanted, "cat") != 0 ? wanted : NULL;
}

/* Runs in the child and never returns. */
static void run(const char *command, const int *ends)
{
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/*
 * Sends output that does not fit on the screen through a pager, like git: $NCCLPROF_PAGER, otherwise $PAGER,
 * otherwise less, run by the shell. Empty or "cat": no pager. Only if standard output is a terminal and not a
 * dumb one. Unless $LESS is set, less exits if everything fits on the screen, keeps colours, and does not
 * clear the screen (LESS=FRX).
 */
static void pager_begin(void)
{
    const char *command = choose();
    int ends[2];
    if (!command || !isatty(STDOUT_FILENO) || pipe2(ends, O_CLOEXEC))
        return;
    pager = fork();
    if (pager == 0)
        run(command, ends);
    if (pager > 0)
        dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    /* When the user quits the pager, the next write fails and the program ends. Ctrl-C goes to the pager. */
    if (pager > 0)
        signal(SIGINT, SIG_IGN);
}

/* Called after the last output, when standard output is closed: waits until the user has quit the pager. */
static void pager_end(void)
{
    if (pager <= 0)
        return;
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
        ;
    pager = 0;
}

enum { HELP_COLUMN = 28 };

/*
 * Wraps the text at spaces, with all lines after the first indented to column `hang`. Prints it unwrapped if
 * memory is out.
 */
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

/* The options that every command takes. */
static void put_common_options(FILE *stream)
{
    static const struct option_table none = {.count = 0};
    const struct option *option;
    for (size_t i = 0; (option = option_at(&none, i)); i++)
        put_option(stream, option);
}

/* `ncclprof COMMAND -h`. */
static void help_command(const struct command *command, FILE *stream)
{
    const struct option_table *table = command->options;
    fprintf(stream, "usage: ncclprof [--store FILE] %s [OPTIONS]%s%s\n", command->name,
            table->operands ? " " : "", table->operands ? table->operands : "");
    if (command->needs & TAKES_SIDES)
        fprintf(stream, "       ncclprof [--store FILE] %s [OPTIONS] --%s %s\n                --%s %s\n",
                command->name, table->options[0].name, table->options[0].argument, table->options[1].name,
                table->options[1].argument);
    fputc('\n', stream);
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
                    "that name, it is the name or number of a run in --store. All runs of a store or a "
                    "directory are repeats, and so are all runs after --baseline, and after --candidate.",
                    0);
    }
    fputs("\noptions:\n", stream);
    for (size_t i = 0; i < table->count; i++)
        if (!table->options[i].is_unlisted)
            put_option(stream, &table->options[i]);
    if (table->has_format)
        put_option(stream, &format_option);
    put_common_options(stream);
    if (table->examples)
        fprintf(stream, "\nexamples:\n%s", table->examples);
    fprintf(stream, "\nSee also: man ncclprof-%s\n", command->name);
}

/* Commands in the order of help, under headings. */
static const struct {
    const char *heading;
    const char *names[6]; /* NULL after the last */
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

/* A command that is in no group is listed under the last heading. */
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

/* `ncclprof --help`. */
static void help_all(FILE *stream)
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
    put_common_options(stream);
    fputs(
        "  -V, --version             show the version\n\n"
        "Run 'ncclprof help COMMAND' or 'man ncclprof-COMMAND' for details.\n",
        stream);
}

static void find_terminal(struct context *context)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return;
    context->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    context->colour = terminal && strcmp(terminal, "dumb") != 0 && !(no_colour && *no_colour);
}

/* True if some command has this option, so that it is only in the wrong place. */
static int is_command_option(const char *word)
{
    size_t length = strcspn(word, "="), count;
    const struct command *commands = registry_commands(&count);
    if (strncmp(word, "--", 2) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const struct option_table *table = commands[i].options;
        for (size_t k = 0; k < table->count; k++)
            if (strlen(table->options[k].name) == length - 2 &&
                strncmp(table->options[k].name, word + 2, length - 2) == 0)
                return 1;
    }
    return length == strlen("--format") && strncmp(word, "--format", length) == 0;
}

/* Returns 0, for use in parse_global. */
static int refuse(const char *word, int *status)
{
    if (strcmp(word, "--store") == 0 || strncmp(word, "--store=", strlen("--store=")) == 0)
        print_line("--store needs a file name; see 'ncclprof --help'");
    else if (is_command_option(word))
        print_line("option %.*s must follow the command name; see 'ncclprof --help'", (int)strcspn(word, "="),
                   word);
    else
        print_line("unknown option %s; see 'ncclprof --help'", word);
    *status = EXIT_USAGE;
    return 0;
}

static void tell_version(void)
{
    static const char commit[] = NCCLPROF_COMMIT;
    printf("ncclprof %s%s%s%s\n", NCCLPROF_VERSION, *commit ? " (" : "", commit, *commit ? ")" : "");
}

/*
 * Parses the options before the name of the command. Returns the index of the name, or 0 if the program is
 * done.
 */
static int parse_global(struct arguments *before, int argc, char **argv, int *status)
{
    struct error error = ERROR_INIT;
    *status = EXIT_DONE;
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (*word != '-')
            return at;
        if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
            tell_version();
            return 0;
        }
        if (!word[1] || arguments_take(before, argc, argv, &at, &error)) {
            error_clear(&error);
            return refuse(word, status);
        }
        if (arguments_common(before, "help")) {
            help_all(stdout);
            return 0;
        }
    }
    help_all(stderr);
    *status = EXIT_USAGE;
    return 0;
}

static void choose_store(struct context *context, const struct arguments *arguments)
{
    const char *environment = getenv("NCCLPROF_STORE");
    context->store_path = arguments_common(arguments, "store");
    context->names_store = context->store_path != NULL;
    context->is_default_store = !context->names_store && !(environment && *environment);
    if (!context->names_store)
        context->store_path = context->is_default_store ? "ncclprof.db" : environment;
    context->given_store_path = context->store_path;
    context->quiet = arguments_common(arguments, "quiet") != NULL;
}

/* Returns an exit_status. */
static int run_with_store(struct context *context, const struct arguments *arguments)
{
    const struct command *command = context->command;
    int status = command->choose ? command->choose(context, arguments) : EXIT_DONE;
    if (status != EXIT_DONE)
        return status;
    if (command->needs & NEEDS_JOINED)
        pager_begin();
    int has_traces = command->needs & TAKES_TRACES && arguments->operand_count;
    if (command->needs & TAKES_SIDES)
        status = sides_open(context, arguments);
    else if (has_traces && !context->names_store)
        status = temporary_store_open(context, arguments->operands, arguments->operand_count);
    else if (open_store(context, has_traces ? NEEDS_STORE_IF_ANY : command->needs))
        status = EXIT_NOT_DONE;
    else if (has_traces)
        status = temporary_store_ingest(context, arguments->operands, arguments->operand_count);
    int is_temporary = has_traces && !context->names_store;
    if (status == EXIT_DONE && command->needs & NEEDS_JOINED && !(command->needs & TAKES_SIDES) &&
        command_line_remember(context, arguments->operands, is_temporary ? arguments->operand_count : 0))
        status = EXIT_NOT_DONE;
    if (status == EXIT_DONE)
        status = command->run(context, arguments);
    sides_close(context);
    store_close(context->store);
    temporary_store_close();
    return status == EXIT_DONE && context->lacks_traces ? EXIT_NOT_DONE : status;
}

static int run_command(struct context *context, const struct command *command, const struct arguments *before,
                       int argc, char **argv)
{
    struct arguments arguments;
    int status = EXIT_USAGE;
    context->command = command;
    if (arguments_parse(&arguments, command, before, argc, argv, &context->error) == 0) {
        choose_store(context, &arguments);
        context->jobs = registry_jobs(command, &arguments);
        if (arguments_common(&arguments, "help")) {
            help_command(command, stdout);
            status = EXIT_DONE;
        } else {
            status = run_with_store(context, &arguments);
        }
    } else if (context->error.is_no_memory) {
        status = EXIT_NOT_DONE;
    }
    arguments_release(&arguments);
    if (status == EXIT_USAGE)
        print_line("%s: %s; see 'ncclprof %s -h'", command->name,
                   context->error.depth ? context->error.cause[0] : "invalid usage", command->name);
    else if (status == EXIT_NOT_DONE)
        print_error(&context->error);
    return status;
}

static const char *command_name(const void *list, size_t number)
{
    size_t count;
    const struct command *commands = registry_commands(&count);
    return number < count ? commands[number].name : NULL;
}

/* Names that other tools have for what a command does. */
static const char *const names_elsewhere[][2] = {{"diff", "compare"}, {"top", "watch"}};

static const char *command_meant(const char *name)
{
    for (size_t i = 0; i < sizeof names_elsewhere / sizeof *names_elsewhere; i++)
        if (strcmp(name, names_elsewhere[i][0]) == 0)
            return names_elsewhere[i][1];
    return similar_find(name, command_name, NULL);
}

static int refuse_command(const char *name)
{
    const char *meant = command_meant(name);
    if (meant)
        print_line("unknown command '%s'; did you mean '%s'? See 'ncclprof --help'", name, meant);
    else
        print_line("unknown command '%s'; see 'ncclprof --help'", name);
    return EXIT_USAGE;
}

/* `ncclprof help [COMMAND]`, which users try before --help. */
static int help_on(const char *name)
{
    if (!name || *name == '-') {
        help_all(stdout);
        return EXIT_DONE;
    }
    const struct command *command = registry_find(name);
    if (!command)
        return refuse_command(name);
    help_command(command, stdout);
    return EXIT_DONE;
}

/* Output counts only if it was written: a full disk must not look like success. */
static int close_output(int status)
{
    errno = 0;
    int failed = ferror(stdout) | fflush(stdout) | fclose(stdout);
    if (!failed || status != EXIT_DONE)
        return failed && status == EXIT_FINDINGS ? EXIT_NOT_DONE : status;
    if (errno != EPIPE)
        print_line("cannot write output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
    return EXIT_NOT_DONE;
}

int main(int argc, char **argv)
{
    struct context context = {.store_path = NULL};
    const struct command *command;
    struct arguments before;
    int status;
    find_terminal(&context);
    int failed = arguments_begin(&before, argc, &context.error) || registry_init(&context.error);
    int at = failed ? -1 : parse_global(&before, argc, argv, &status);
    context.commands = registry_commands(&context.command_count);
    if (at < 0) {
        print_error(&context.error);
        status = EXIT_NOT_DONE;
    } else if (at > 0 && strcmp(argv[at], "help") == 0) {
        status = help_on(argv[at + 1]);
    } else if (at > 0 && strcmp(argv[at], "version") == 0) {
        tell_version();
        status = EXIT_DONE;
    } else if (at > 0 && !(command = registry_find(argv[at]))) {
        status = refuse_command(argv[at]);
    } else if (at > 0) {
        status = run_command(&context, command, &before, argc - at - 1, argv + at + 1);
    }
    arguments_release(&before);
    registry_release();
    status = close_output(status);
    pager_end();
    return status;
}
