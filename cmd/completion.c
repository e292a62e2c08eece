#include "cmd/commands.h"
#include "cmd/opt.h"

#include <string.h>

/*
 * `eval "$(ncclprof completion bash)"`: a completion function made from the option tables. Names of files are
 * left to readline, which knows how to quote them.
 */

static const char *const shells[] = {"bash", NULL};

static void put_words(const struct command *command)
{
    const struct option_table *table = command->options;
    for (size_t i = 0; i < table->count; i++)
        printf(" --%s", table->options[i].name);
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        if (i != COMMON_FORMAT || table->has_format)
            printf(" --%s", common_options[i].name);
}

static void put_commands(const struct context *context)
{
    for (size_t i = 0; i < context->command_count; i++)
        printf(" %s", context->commands[i].name);
}

/* After the option's name its choices, where it has some. */
static void put_choices(const char *name, const struct option *option)
{
    if (!option->choice)
        return;
    printf("    %s:--%s) COMPREPLY=($(compgen -W '", name, option->name);
    for (size_t i = 0; option->choice(i); i++)
        printf("%s%s", i ? " " : "", option->choice(i));
    puts("' -- \"$word\")); return ;;");
}

static int run(struct context *context, const struct arguments *arguments)
{
    if (strcmp(arguments->operands[0], shells[0]) != 0) {
        error_set(&context->error, "completion is made for bash, not for '%s'", arguments->operands[0]);
        return EXIT_USAGE;
    }
    fputs(
        "_ncclprof()\n{\n"
        "    COMPREPLY=()\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} name= i\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in --store) ((i++)) ;; -*) ;; *) name=${COMP_WORDS[i]}; break ;; "
        "esac\n"
        "    done\n"
        "    case $name:$before in\n",
        stdout);
    for (size_t i = 0; i < context->command_count; i++) {
        const struct command *command = &context->commands[i];
        for (size_t k = 0; k < command->options->count; k++)
            put_choices(command->name, &command->options->options[k]);
    }
    put_choices("*", &common_options[COMMON_FORMAT]);
    fputs(
        "    *:--store | record:--plugin) compopt -o default; return ;;\n"
        "    record:--output | record:-o) compopt -o dirnames; return ;;\n"
        "    esac\n"
        "    local words=\n"
        "    case $name in\n",
        stdout);
    fputs("    '') words='--store --quiet --help --version help", stdout);
    put_commands(context);
    fputs("' ;;\n    help) words='", stdout);
    put_commands(context);
    fputs("' ;;\n", stdout);
    for (size_t i = 0; i < context->command_count; i++) {
        printf("    %s) words='", context->commands[i].name);
        put_words(&context->commands[i]);
        fputs("' ;;\n", stdout);
    }
    fputs(
        "    esac\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "    if [ \"$name\" = ingest ] && [ -z \"$COMPREPLY\" ]; then compopt -o default; fi\n"
        "}\n"
        "complete -F _ncclprof ncclprof\n",
        stdout);
    return EXIT_DONE;
}

static const struct option_table table = {
    .operands = "bash",
    .description =
        "Put this in ~/.bashrc: eval \"$(ncclprof completion bash)\". 'make install' puts it where bash "
        "finds it.",
    .operands_least = 1,
    .operands_most = 1,
};

const struct command command_completion = {
    .name = "completion",
    .summary = "write a completion script for the shell",
    .options = &table,
    .run = run,
};
