#ifndef NCCLPROF_CMD_COMPLETION_WORDS_H
#define NCCLPROF_CMD_COMPLETION_WORDS_H

#include <stddef.h>

struct command;
struct option;

/* What completion scripts complete, whatever the shell. */

/* Option number `number` of a command, the common ones behind its own; NULL past the last. */
const struct option *completion_option(const struct command *command, size_t number);

/* Word `word` that option number `number` takes; NULL past the last, and where it takes any text. */
const char *completion_word(const struct command *command, size_t number, size_t word);

/* Writes them all to standard output, with blanks between. */
void completion_put_words(const struct command *command, size_t number);

/* What a value is. */
enum completion_value {
    COMPLETE_NOTHING, /* it takes none */
    COMPLETE_TEXT,
    COMPLETE_WORD,
    COMPLETE_LIST, /* words with commas between */
    COMPLETE_FILE,
    COMPLETE_DIRECTORY
};

enum completion_value completion_value(const struct command *command, size_t number);

/* Whether its operands are files. */
int completion_takes_files(const struct command *command);

#endif
