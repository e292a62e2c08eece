#include "cmd/cmd.h"
#include "cmd/completion.h"
#include "cmd/completion_words.h"
#include "cmd/opt.h"

#include <stdio.h>
#include <string.h>

/* Inside '...' of a specification of _arguments, where some signs part its fields. */
static void put_escaped(const char *text, const char *parting)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", stdout);
        else if (strchr(parting, *text))
            putchar('\\');
        putchar(*text);
    }
}

static void put_value(const struct command *command, size_t number)
{
    switch (completion_value(command, number)) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_WORD:
        fputs(":word:(", stdout);
        completion_put_words(command, number);
        putchar(')');
        break;
    case COMPLETE_LIST:
        fputs(":word:_values -s , word ", stdout);
        completion_put_words(command, number);
        break;
    case COMPLETE_FILE:
        fputs(":file:_files", stdout);
        break;
    case COMPLETE_DIRECTORY:
        fputs(":directory:_files -/", stdout);
        break;
    case COMPLETE_TEXT:
        fputs(":value: ", stdout);
    }
}

static void put_option(const struct command *command, size_t number)
{
    const struct option *option = completion_option(command, number);
    int takes_value = completion_value(command, number) != COMPLETE_NOTHING;
    printf(" \\\n            '--%s%s[", option->name, takes_value ? "=" : "");
    put_escaped(option->help, "[]:\\");
    putchar(']');
    put_value(command, number);
    putchar('\'');
    if (!option->letter)
        return;
    printf(" \\\n            '-%c%s[", option->letter, takes_value ? "+" : "");
    put_escaped(option->help, "[]:\\");
    putchar(']');
    put_value(command, number);
    putchar('\'');
}

static void put_command(const struct command *command)
{
    printf("    %s)\n        _arguments -s", command->name);
    for (size_t i = 0; completion_option(command, i); i++)
        put_option(command, i);
    if (completion_takes_files(command))
        fputs(" \\\n            '*:trace:_files'", stdout);
    else if (strcmp(command->name, "completion") == 0)
        fputs(" \\\n            ':shell:(bash fish zsh)'", stdout);
    else if (command->options->command_as_operand)
        fputs(" \\\n            '*::command:_normal'", stdout);
    fputs(" ;;\n", stdout);
}

void completion_zsh(const struct context *context)
{
    fputs(
        "#compdef ncclprof\n_ncclprof()\n{\n    local state line context\n    local -a commands\n    typeset "
        "-A opt_args\n    commands=(\n        'help:show help for a command'\n",
        stdout);
    for (size_t i = 0; i < context->command_count; i++) {
        printf("        '%s:", context->commands[i].name);
        put_escaped(context->commands[i].summary, ":\\");
        fputs("'\n", stdout);
    }
    fputs(
        "    )\n"
        "    _arguments -C '--store=[use this store]:file:_files' '(-q --quiet)'{-q,--quiet}'[do not show "
        "progress]' \\\n"
        "        '(-h --help)'{-h,--help}'[show help]' '(-V --version)'{-V,--version}'[show the version]' "
        "\\\n"
        "        '1:command:->command' '*::argument:->argument'\n"
        "    case $state in\n"
        "    command) _describe command commands; return ;;\n"
        "    argument) ;;\n"
        "    *) return ;;\n"
        "    esac\n"
        "    case $words[1] in\n"
        "    help) _describe command commands ;;\n",
        stdout);
    for (size_t i = 0; i < context->command_count; i++)
        put_command(&context->commands[i]);
    fputs(
        "    esac\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _ncclprof ]; then _ncclprof \"$@\"; else compdef _ncclprof ncclprof; fi\n",
        stdout);
}
