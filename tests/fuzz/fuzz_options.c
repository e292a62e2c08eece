/*
 * Arbitrary words as a command line: the first byte selects the command, NULs separate the words. Accepted
 * options keep the promises of the option table.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 64 };

static int is_choice(const struct option *option, const char *value)
{
    const char *word;
    for (size_t i = 0; (word = option->choice(i)); i++)
        if (strcmp(word, value) == 0)
            return 1;
    return 0;
}

static void check_option(const struct option *option, const struct arguments *arguments, size_t at)
{
    const char *value = arguments->values[at];
    if (!value)
        return;
    require(option->argument || option->choice || strcmp(value, "1") == 0, "a flag's value is 1");
    if (option->is_number) {
        int64_t number = arguments_number(arguments, at);
        require(number >= option->least && number <= option->most, "a number in its bounds");
    }
    if (option->choice)
        require(is_choice(option, value), "one of the choices");
}

static void check(const struct option_table *table, const struct arguments *arguments)
{
    require(arguments->renderer != NULL, "a format");
    require(arguments->operands[arguments->operand_count] == NULL, "operands with an end");
    for (size_t i = 0; i < table->count; i++)
        check_option(&table->options[i], arguments, i);
    if (arguments_common(arguments, "help"))
        return;
    require(arguments->operand_count >= table->operands_least, "enough operands");
    require(arguments->operand_count <= table->operands_most, "operands not too many");
}

/* Splits the text into words and returns their number. */
static int part(char *text, size_t length, char **words)
{
    int count = 0;
    for (size_t at = 0; at < length && count < MOST_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static int is_ready;
    struct error error = ERROR_INIT;
    struct arguments arguments, before;
    char *words[MOST_WORDS + 1];
    if (!is_ready)
        require(registry_init(&error) == 0, "commands");
    is_ready = 1;
    if (length == 0)
        return 0;
    size_t count;
    const struct command *commands = registry_commands(&count);
    const struct command *command = &commands[bytes[0] % count];
    char *text = calloc(1, length);
    require(text != NULL, "memory");
    memcpy(text, bytes + 1, length - 1);
    require(arguments_begin(&before, 0, &error) == 0, "memory");
    if (arguments_parse(&arguments, command, &before, part(text, length - 1, words), words, &error) == 0)
        check(command->options, &arguments);
    else
        require(error.depth > 0 && *error.cause[0], "a reason");
    arguments_release(&arguments);
    arguments_release(&before);
    free(text);
    return 0;
}
