#include "cmd/cmd.h"
#include "cmd/completion.h"
#include "cmd/completion_words.h"
#include "cmd/opt.h"

#include <stdio.h>

/* Names of files are left to readline, which knows how to quote them. */

static void put_options(const struct command *command)
{
    const struct option *option;
    for (size_t i = 0; (option = completion_option(command, i)) != NULL; i++)
        printf(" --%s", option->name);
}

static void put_commands(const struct context *context)
{
    for (size_t i = 0; i < context->command_count; i++)
        printf(" %s", context->commands[i].name);
}

/* What follows an option's name. */
static void put_value(const struct command *command, size_t number)
{
    const struct option *option = completion_option(command, number);
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
        for (size_t k = 0; completion_option(&context->commands[i], k); k++)
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

void completion_bash(const struct context *context)
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
