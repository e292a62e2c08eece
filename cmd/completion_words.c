#include "cmd/completion_words.h"

#include "analyse/analysis.h"
#include "cmd/cmd.h"
#include "cmd/opt.h"

#include <stdio.h>
#include <string.h>

const struct option *completion_option(const struct command *command, size_t number)
{
    const struct option_table *table = command->options;
    size_t common = table->has_format ? COMMON_OPTIONS : COMMON_FORMAT;
    if (number < table->count)
        return &table->options[number];
    return number - table->count < common ? &common_options[number - table->count] : NULL;
}

const char *completion_word(const struct command *command, size_t number, size_t word)
{
    const struct option *option = completion_option(command, number);
    if (!option)
        return NULL;
    if (option->choice)
        return option->choice(word);
    if (!command->analysis || !command->analysis->word || number >= command->analysis->option_count)
        return NULL;
    return command->analysis->word(number, word);
}

void completion_put_words(const struct command *command, size_t number)
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

enum completion_value completion_value(const struct command *command, size_t number)
{
    const struct option *option = completion_option(command, number);
    if (!option || (!option->argument && !option->choice))
        return COMPLETE_NOTHING;
    if (completion_word(command, number, 0))
        return option->argument && ends_with(option->argument, ",...") ? COMPLETE_LIST : COMPLETE_WORD;
    if (!option->argument)
        return COMPLETE_WORD;
    if (strcmp(option->argument, "FILE") == 0)
        return COMPLETE_FILE;
    return strcmp(option->argument, "DIR") == 0 ? COMPLETE_DIRECTORY : COMPLETE_TEXT;
}

int completion_takes_files(const struct command *command)
{
    const char *operands = command->options->operands;
    return operands && strstr(operands, "PATH") != NULL;
}
