/* Parsing of a command's options and operands by its option table, and suggestions for mistyped words. */
#include "base/base.h"
#include "cmd/internal.h"
#include "output/output.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 31 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * The optimal string alignment distance (Damerau 1964): the number of letters omitted, inserted, changed or
 * swapped with their neighbour. Computed row by row in the usual table. Neither word is longer than LONGEST.
 */
static unsigned distance(const char *left, const char *right)
{
    unsigned rows[3][LONGEST + 1];
    size_t height = strlen(left), width = strlen(right);
    for (unsigned k = 0; k <= width; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= height; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= width; k++) {
            unsigned changed = above[k - 1] + (left[i - 1] != right[k - 1]);
            row[k] = least(changed, least(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && left[i - 1] == right[k - 2] && left[i - 2] == right[k - 1])
                row[k] = least(row[k], twice_above[k - 2] + 1);
        }
    }
    return rows[height % 3][width];
}

/* Returns the only word that begins with `typed`. NULL: none, or several. */
static const char *find_longer(const char *typed, size_t length, similar_word word, const void *list)
{
    const char *found = NULL, *candidate;
    for (size_t i = 0; (candidate = word(list, i)) != NULL; i++) {
        if (strncmp(candidate, typed, length) != 0)
            continue;
        if (found)
            return NULL;
        found = candidate;
    }
    return found;
}

const char *similar_find(const char *typed, similar_word word, const void *list)
{
    size_t length = strlen(typed);
    const char *nearest = NULL, *candidate;
    unsigned nearest_distance = UINT32_MAX;
    if (length < 2 || length > LONGEST)
        return NULL;
    const char *longer = find_longer(typed, length, word, list);
    if (longer)
        return longer;
    for (size_t i = 0; (candidate = word(list, i)) != NULL; i++) {
        if (strlen(candidate) > LONGEST)
            continue;
        unsigned far = distance(typed, candidate);
        if (far < nearest_distance && far * 3 <= strlen(candidate)) {
            nearest = candidate;
            nearest_distance = far;
        }
    }
    return nearest;
}

/*
 * The options that every command takes, also before its name. A new one takes a row here, code that asks
 * arguments_common for it, a test in tests/cli/test_usage.py, and an item under OPTIONS of man/ncclprof.1.
 */
static const struct option common_options[] = {
    {.name = "help", .letter = 'h', .help = "show this help"},
    {.name = "quiet", .letter = 'q', .help = "do not show progress"},
    {.name = "store",
     .argument = "FILE",
     .help = "use this store (default: $NCCLPROF_STORE, else ./ncclprof.db)"},
};

enum { COMMON_OPTIONS = sizeof common_options / sizeof *common_options };

const struct option format_option = {
    .name = "format", .choice = renderer_name, .help = "output format (default: table)"};

const struct option *option_at(const struct option_table *table, size_t number)
{
    if (number < table->count)
        return &table->options[number];
    if (number - table->count < COMMON_OPTIONS)
        return &common_options[number - table->count];
    return table->has_format && number - table->count == COMMON_OPTIONS ? &format_option : NULL;
}

const char *arguments_common(const struct arguments *arguments, const char *name)
{
    const size_t own = arguments->table->count;
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        if (strcmp(common_options[i].name, name) == 0)
            return arguments->values[own + i];
    return NULL;
}

/* Lists the choices, separated by `between`, and by `last` before the last one. */
static void list_choices(const struct option *option, const char *between, const char *last,
                         char text[OPTION_ARGUMENT_BYTES])
{
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; option->choice(i) && length < OPTION_ARGUMENT_BYTES; i++) {
        const char *before = i == 0 ? "" : option->choice(i + 1) ? between : last;
        length += (size_t)snprintf(text + length, OPTION_ARGUMENT_BYTES - length, "%s%s", before,
                                   option->choice(i));
    }
}

void option_argument(const struct option *option, char text[OPTION_ARGUMENT_BYTES])
{
    if (option->choice)
        list_choices(option, "|", "|", text);
    else
        snprintf(text, OPTION_ARGUMENT_BYTES, "%s", option->argument ? option->argument : "");
}

static int takes_value(const struct option *option)
{
    return (option->argument || option->choice) && !option->takes_operands;
}

/* State of the parser. */
struct parser {
    struct arguments *arguments;
    int argc;
    char **argv;
    int at;
    const struct option *owner; /* of the next operands; NULL: none */
    struct error *error;
};

static int check_number(const struct option *option, const char *value, struct error *error)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end || errno || number < option->least || number > option->most)
        return error_set(error, "invalid --%s '%s': expected an integer from %lld to %lld", option->name,
                         value, (long long)option->least, (long long)option->most);
    return 0;
}

static int check_choice(const struct option *option, const char *value, struct error *error)
{
    for (size_t i = 0; option->choice(i); i++)
        if (strcmp(option->choice(i), value) == 0)
            return 0;
    char words[OPTION_ARGUMENT_BYTES];
    option_argument(option, words);
    return error_set(error, "invalid --%s '%s': expected %s", option->name, value, words);
}

static int set_format(struct parser *parser, const char *value)
{
    char names[OPTION_ARGUMENT_BYTES];
    parser->arguments->renderer = renderer_find(value);
    if (parser->arguments->renderer)
        return 0;
    list_choices(&format_option, ", ", " or ", names);
    return error_set(parser->error, "invalid --format '%s': expected %s", value, names);
}

static int set(struct parser *parser, size_t which, const char *value)
{
    const struct option *option = option_at(parser->arguments->table, which);
    if (option == &format_option)
        return set_format(parser, value);
    if (!*value && strcmp(option->name, "store") == 0)
        return error_set(parser->error, "--store needs a file name");
    if ((option->is_number && check_number(option, value, parser->error)) ||
        (option->choice && check_choice(option, value, parser->error)))
        return -1;
    parser->arguments->values[which] = value;
    parser->owner = option->takes_operands ? option : parser->owner;
    return 0;
}

static int matches(const struct option *option, char letter, const char *name, size_t length)
{
    if (letter)
        return option->letter == letter;
    return strlen(option->name) == length && strncmp(option->name, name, length) == 0;
}

/* Returns the option with this letter or name, and its number. */
static const struct option *find(const struct parser *parser, char letter, const char *name, size_t length,
                                 size_t *which)
{
    const struct option *option;
    for (*which = 0; (option = option_at(parser->arguments->table, *which)); ++*which)
        if (matches(option, letter, name, length))
            return option;
    return NULL;
}

/* Returns -1. */
static int lacks_value(const struct parser *parser, const struct option *option, const char *dashes,
                       const char *name)
{
    char argument[OPTION_ARGUMENT_BYTES];
    option_argument(option, argument);
    return error_set(parser->error, "%s%s needs a value (%s)", dashes, name, argument);
}

static const char *next_word(struct parser *parser)
{
    return parser->at + 1 < parser->argc ? parser->argv[++parser->at] : NULL;
}

static const char *option_name(const void *list, size_t number)
{
    const struct option *option = option_at(list, number);
    return option ? option->name : NULL;
}

/* Returns -1. */
static int refuse_option(const struct parser *parser, const char *text, size_t length)
{
    char typed[32];
    snprintf(typed, sizeof typed, "%.*s", (int)length, text);
    const char *meant =
        length < sizeof typed ? similar_find(typed, option_name, parser->arguments->table) : NULL;
    if (!meant)
        return error_set(parser->error, "unknown option --%.*s", (int)length, text);
    return error_set(parser->error, "unknown option --%.*s (did you mean --%s?)", (int)length, text, meant);
}

static int parse_long(struct parser *parser, const char *text)
{
    size_t which, length = strcspn(text, "=");
    const struct option *option = find(parser, 0, text, length, &which);
    if (!option)
        return refuse_option(parser, text, length);
    const char *value = text[length] == '=' ? text + length + 1 : NULL;
    if (!takes_value(option) && value)
        return error_set(parser->error, "--%s takes no value", option->name);
    if (takes_value(option) && !value && !(value = next_word(parser)))
        return lacks_value(parser, option, "--", option->name);
    return set(parser, which, takes_value(option) ? value : "1");
}

/* "-qj4": flags can be combined after one dash, and a value can follow its letter directly. */
static int parse_letters(struct parser *parser, const char *text)
{
    for (; *text; text++) {
        size_t which;
        const struct option *option = find(parser, *text, "", 0, &which);
        if (!option)
            return error_set(parser->error, "unknown option -%c", *text);
        if (!takes_value(option)) {
            if (set(parser, which, "1"))
                return -1;
            continue;
        }
        const char *value = text[1] ? text + 1 : next_word(parser);
        if (!value)
            return lacks_value(parser, option, "-", (const char[]){*text, '\0'});
        return set(parser, which, value);
    }
    return 0;
}

/* Parses an option: a word that begins with a dash and has more than that. */
static int parse_option(struct parser *parser)
{
    const char *word = parser->argv[parser->at];
    return word[1] == '-' ? parse_long(parser, word + 2) : parse_letters(parser, word + 1);
}

static int parse_words(struct parser *parser)
{
    struct arguments *arguments = parser->arguments;
    int only_operands = 0;
    for (parser->at = 0; parser->at < parser->argc; parser->at++) {
        char *word = parser->argv[parser->at];
        if (only_operands || *word != '-' || !word[1]) {
            arguments->owners[arguments->operand_count] = parser->owner;
            arguments->operands[arguments->operand_count++] = word;
            only_operands |= arguments->table->command_as_operand;
        } else if (strcmp(word, "--") == 0) {
            only_operands = 1;
        } else if (parse_option(parser)) {
            return -1;
        }
        if (arguments_common(arguments, "help"))
            return 0;
    }
    return 0;
}

static int check_operands(const struct parser *parser)
{
    const struct option_table *table = parser->arguments->table;
    size_t count = parser->arguments->operand_count;
    if (count < table->operands_least)
        return error_set(parser->error, "missing argument %s", table->operands);
    if (count > table->operands_most)
        return error_set(parser->error, "unexpected argument '%s'",
                         parser->arguments->operands[table->operands_most]);
    return 0;
}

static int begin(struct arguments *arguments, const struct option_table *table, int argc, struct error *error)
{
    *arguments = (struct arguments){.table = table, .renderer = renderer_registry[0]};
    arguments->values = array_new(table->count + COMMON_OPTIONS, sizeof *arguments->values);
    arguments->operands = array_new((size_t)argc + 1, sizeof *arguments->operands);
    arguments->owners = array_new((size_t)argc + 1, sizeof *arguments->owners);
    return arguments->values && arguments->operands && arguments->owners ? 0 : error_no_memory(error);
}

int arguments_begin(struct arguments *arguments, int argc, struct error *error)
{
    static const struct option_table none = {.count = 0};
    return begin(arguments, &none, argc, error);
}

int arguments_take(struct arguments *arguments, int argc, char **argv, int *at, struct error *error)
{
    struct parser parser = {.arguments = arguments, .argc = argc, .argv = argv, .at = *at, .error = error};
    int failed = parse_option(&parser);
    *at = parser.at;
    return failed;
}

int arguments_parse(struct arguments *arguments, const struct command *command,
                    const struct arguments *before, int argc, char **argv, struct error *error)
{
    const struct option_table *table = command->options;
    if (begin(arguments, table, argc, error))
        return -1;
    for (size_t i = 0; i < table->count; i++)
        arguments->values[i] = table->options[i].fallback;
    for (size_t i = 0; i < COMMON_OPTIONS; i++)
        arguments->values[table->count + i] = before->values[i];
    struct parser parser = {.arguments = arguments, .argc = argc, .argv = argv, .error = error};
    if (parse_words(&parser))
        return -1;
    return arguments_common(arguments, "help") ? 0 : check_operands(&parser);
}

void arguments_release(struct arguments *arguments)
{
    free(arguments->values);
    free(arguments->operands);
    free(arguments->owners);
    *arguments = (struct arguments){.values = NULL};
}

int64_t arguments_number(const struct arguments *arguments, size_t option)
{
    return strtoll(arguments->values[option], NULL, 10);
}
