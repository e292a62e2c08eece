#include "cmd/cmd.h"
#include "cmd/completion.h"
#include "cmd/completion_words.h"
#include "cmd/opt.h"

#include <stdio.h>

/* In single quotes, which end at the next single quote or backslash. */
static void put_quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void put_value(const struct command *command, size_t number)
{
    switch (completion_value(command, number)) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_WORD:
        fputs(" -x -a '", stdout);
        completion_put_words(command, number);
        putchar('\'');
        break;
    case COMPLETE_LIST:
        fputs(" -x -a '(__ncclprof_list ", stdout);
        completion_put_words(command, number);
        fputs(")'", stdout);
        break;
    case COMPLETE_FILE:
        fputs(" -r -F", stdout);
        break;
    case COMPLETE_DIRECTORY:
        fputs(" -x -a '(__fish_complete_directories)'", stdout);
        break;
    case COMPLETE_TEXT:
        fputs(" -x", stdout);
    }
}

static void put_options(const struct command *command)
{
    const struct option *option;
    for (size_t i = 0; (option = completion_option(command, i)) != NULL; i++) {
        printf("complete -c ncclprof -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
        if (option->letter)
            printf(" -s %c", option->letter);
        put_value(command, i);
        fputs(" -d ", stdout);
        put_quoted(option->help);
        putchar('\n');
    }
}

static void put_command(const struct command *command)
{
    printf("complete -c ncclprof -n __fish_use_subcommand -a %s -d ", command->name);
    put_quoted(command->summary);
    putchar('\n');
    put_options(command);
    if (completion_takes_files(command))
        printf("complete -c ncclprof -n '__fish_seen_subcommand_from %s' -F\n", command->name);
}

void completion_fish(const struct context *context)
{
    fputs(
        "function __ncclprof_list\n    set -l before (string replace -r '[^,]*$' '' -- (commandline -ct | "
        "string replace -r '^--[^=]*=' ''))\n    for word in $argv\n        echo $before$word\n    "
        "end\nend\ncomplete -c ncclprof -f\ncomplete -c ncclprof -n __fish_use_subcommand -l store -r -F -d "
        "'use this store'\ncomplete -c ncclprof -n __fish_use_subcommand -s V -l version -d 'show the "
        "version'\ncomplete -c ncclprof -n __fish_use_subcommand -s h -l help -d 'show help'\ncomplete -c "
        "ncclprof -n __fish_use_subcommand -a help -d 'show help for a command'\ncomplete -c ncclprof -n "
        "'__fish_seen_subcommand_from completion' -a 'bash fish zsh'\n",
        stdout);
    for (size_t i = 0; i < context->command_count; i++)
        put_command(&context->commands[i]);
    fputs("complete -c ncclprof -n '__fish_seen_subcommand_from help' -a '", stdout);
    for (size_t i = 0; i < context->command_count; i++)
        printf("%s%s", i ? " " : "", context->commands[i].name);
    fputs("'\n", stdout);
}
