#include "cmd/completion.h"

#include "cmd/commands.h"
#include "cmd/opt.h"

#include <string.h>

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
