/* The command `completion`: shell completion scripts, made from the option tables of the commands. */
#include "base/base.h"
#include "cmd/internal.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* What a completion script completes, for every shell. */

/* Kind of an option's value. */
enum completion_value {
    COMPLETE_NOTHING, /* the option takes no value */
    COMPLETE_TEXT,
    COMPLETE_WORD,
    COMPLETE_LIST, /* words separated by commas */
    COMPLETE_FILE,
    COMPLETE_DIRECTORY
};

/* Returns word `word` that option number `number` accepts. NULL after the last, and if it takes any text. */
static const char *completion_word(const struct command *command, size_t number, size_t word)
{
    const struct option *option = option_at(command->options, number);
    if (!option)
        return NULL;
    if (option->choice)
        return option->choice(word);
    if (!command->analysis || !command->analysis->word || number >= command->analysis->option_count)
        return NULL;
    return command->analysis->word(number, word);
}

/* Writes all words to standard output, separated by spaces. */
static void completion_put_words(const struct command *command, size_t number)
{
    const char *word;
    for (size_t i = 0; (word = completion_word(command, number, i)) != NULL; i++)
        printf("%s%s", i ? " " : "", word);
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum completion_value completion_value(const struct command *command, size_t number)
{
    const struct option *option = option_at(command->options, number);
    if (!option || option->takes_operands || (!option->argument && !option->choice))
        return COMPLETE_NOTHING;
    if (completion_word(command, number, 0))
        return option->argument && ends_with(option->argument, ",...") ? COMPLETE_LIST : COMPLETE_WORD;
    if (!option->argument)
        return COMPLETE_WORD;
    if (strcmp(option->argument, "FILE") == 0)
        return COMPLETE_FILE;
    return strcmp(option->argument, "DIR") == 0 ? COMPLETE_DIRECTORY : COMPLETE_TEXT;
}

/* True if the operands are files. */
static int completion_takes_files(const struct command *command)
{
    const char *operands = command->options->operands;
    return command->needs & TAKES_SIDES || (operands && strstr(operands, "PATH") != NULL);
}

/* File names are left to readline, which knows how to quote them. */

static void put_options(const struct command *command)
{
    const struct option *option;
    for (size_t i = 0; (option = option_at(command->options, i)) != NULL; i++)
        printf(" --%s", option->name);
}

static void put_commands(const struct context *context)
{
    for (size_t i = 0; i < context->command_count; i++)
        printf(" %s", context->commands[i].name);
}

/* Writes the case that completes the value after an option. */
static void put_value(const struct command *command, size_t number)
{
    const struct option *option = option_at(command->options, number);
    enum completion_value value = completion_value(command, number);
    if (value == COMPLETE_NOTHING)
        return;
    printf("    %s:--%s", command->name, option->name);
    if (option->letter)
        printf(" | %s:-%c", command->name, option->letter);
    fputs(") ", stdout);
    if (value == COMPLETE_WORD || value == COMPLETE_LIST) {
        printf("%s '", value == COMPLETE_LIST ? "_ncclprof_list" : "_ncclprof_word");
        completion_put_words(command, number);
        fputs("'; ", stdout);
    } else if (value != COMPLETE_TEXT) {
        printf("compopt -o %s; ", value == COMPLETE_FILE ? "default" : "dirnames");
    }
    puts("return ;;");
}

static void put_values(const struct context *context)
{
    for (size_t i = 0; i < context->command_count; i++)
        for (size_t k = 0; option_at(context->commands[i].options, k); k++)
            put_value(&context->commands[i], k);
}

static void put_files(const struct context *context)
{
    int is_first = 1;
    for (size_t i = 0; i < context->command_count; i++)
        if (completion_takes_files(&context->commands[i])) {
            printf("%s%s", is_first ? "" : " | ", context->commands[i].name);
            is_first = 0;
        }
}

static const char begin[] =
    "_ncclprof_word()\n{\n"
    "    COMPREPLY=($(compgen -W \"$1\" -- \"$word\"))\n"
    "}\n"
    "_ncclprof_list()\n{\n"
    "    local last=${word##*,}\n"
    "    COMPREPLY=($(compgen -P \"${word%\"$last\"}\" -W \"$1\" -- \"$last\"))\n"
    "    compopt -o nospace\n"
    "}\n"
    "_ncclprof()\n{\n"
    "    COMPREPLY=()\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} name= i\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in --store) ((i++)) ;; -*) ;; *) name=${COMP_WORDS[i]}; break ;; esac\n"
    "    done\n"
    "    case $name:$before in\n"
    "    :--store) compopt -o default; return ;;\n";

/*
 * The scripts. To add a shell, write a function `completion_SHELL` that writes its script to standard output,
 * and add a line to the table in this file.
 */
static void completion_bash(const struct context *context)
{
    fputs(begin, stdout);
    put_values(context);
    fputs(
        "    esac\n    local words=\n    case $name in\n    '') words='--store --quiet --help --version help",
        stdout);
    put_commands(context);
    fputs("' ;;\n    help) words='", stdout);
    put_commands(context);
    fputs("' ;;\n    completion) words='bash fish zsh' ;;\n", stdout);
    for (size_t i = 0; i < context->command_count; i++) {
        printf("    %s) words+='", context->commands[i].name);
        put_options(&context->commands[i]);
        fputs("' ;;\n", stdout);
    }
    fputs("    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n    case $name in ", stdout);
    put_files(context);
    fputs(
        ") [ -n \"$COMPREPLY\" ] || compopt -o default ;; esac\n"
        "}\n"
        "complete -F _ncclprof ncclprof\n",
        stdout);
}

/* Writes text in single quotes, in which single quotes and backslashes are escaped. */
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

static void completion_fish_put_value(const struct command *command, size_t number)
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

static void completion_fish_put_options(const struct command *command)
{
    const struct option *option;
    for (size_t i = 0; (option = option_at(command->options, i)) != NULL; i++) {
        printf("complete -c ncclprof -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
        if (option->letter)
            printf(" -s %c", option->letter);
        completion_fish_put_value(command, i);
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
    completion_fish_put_options(command);
    if (completion_takes_files(command))
        printf("complete -c ncclprof -n '__fish_seen_subcommand_from %s' -F\n", command->name);
}

static void completion_fish(const struct context *context)
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

/*
 * Writes text for use inside the '...' of a specification of _arguments, in which some characters separate
 * fields.
 */
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

static void completion_zsh_put_value(const struct command *command, size_t number)
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
    const struct option *option = option_at(command->options, number);
    int takes_value = completion_value(command, number) != COMPLETE_NOTHING;
    printf(" \\\n            '--%s%s[", option->name, takes_value ? "=" : "");
    put_escaped(option->help, "[]:\\");
    putchar(']');
    completion_zsh_put_value(command, number);
    putchar('\'');
    if (!option->letter)
        return;
    printf(" \\\n            '-%c%s[", option->letter, takes_value ? "+" : "");
    put_escaped(option->help, "[]:\\");
    putchar(']');
    completion_zsh_put_value(command, number);
    putchar('\'');
}

static void completion_zsh_put_command(const struct command *command)
{
    printf("    %s)\n        _arguments -s", command->name);
    for (size_t i = 0; option_at(command->options, i); i++)
        put_option(command, i);
    if (completion_takes_files(command))
        fputs(" \\\n            '*:trace:_files'", stdout);
    else if (strcmp(command->name, "completion") == 0)
        fputs(" \\\n            ':shell:(bash fish zsh)'", stdout);
    else if (command->options->command_as_operand)
        fputs(" \\\n            '*::command:_normal'", stdout);
    fputs(" ;;\n", stdout);
}

static void completion_zsh(const struct context *context)
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
        completion_zsh_put_command(&context->commands[i]);
    fputs(
        "    esac\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _ncclprof ]; then _ncclprof \"$@\"; else compdef _ncclprof ncclprof; fi\n",
        stdout);
}

static const struct shell {
    const char *name;
    void (*write)(const struct context *context);
} shells[] = {
    {"bash", completion_bash},
    {"fish", completion_fish},
    {"zsh", completion_zsh},
};

static int run(struct context *context, const struct arguments *arguments)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(arguments->operands[0], shells[i].name) == 0) {
            shells[i].write(context);
            return EXIT_DONE;
        }
    error_set(&context->error, "no completion for shell '%s': expected bash, fish or zsh",
              arguments->operands[0]);
    return EXIT_USAGE;
}

static const struct option_table table = {
    .operands = "bash|fish|zsh",
    .description =
        "In ~/.bashrc: eval \"$(ncclprof completion bash)\". In ~/.zshrc, after compinit: eval \"$(ncclprof "
        "completion zsh)\". In ~/.config/fish/config.fish: ncclprof completion fish | source. 'make install' "
        "installs all three scripts where the shells find them.",
    .operands_least = 1,
    .operands_most = 1,
};

const struct command command_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .options = &table,
    .run = run,
};
