#ifndef NCCLPROF_CMD_OPT_H
#define NCCLPROF_CMD_OPT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct command;
struct renderer;

/*
 * One table a command: parsing, -h, shell completion and the comparison with the man page all come from it.
 * Besides its own options every command takes -h, -q and --store; one whose table says so takes --format.
 * Options and operands may be mixed; `--` ends the options.
 */
struct option {
    const char *name;     /* long name without dashes */
    char letter;          /* 0: none */
    const char *argument; /* what its value is called in help; NULL: its choices, or of a flag, whose value is
                             "1" when given, nothing */
    const char *help;
    const char *fallback;                 /* value when not given; NULL: none */
    const char *(*choice)(size_t number); /* the words it takes, NULL past the last; NULL: any text */
    int is_unlisted;                      /* it never applies: help leaves it out */
    int is_number;                        /* a whole number from `least` to `most` */
    int64_t least;
    int64_t most;
};

struct option_table {
    const char *operands;    /* "PATH..." for help; NULL: none are taken */
    const char *description; /* a paragraph for -h; NULL */
    const char *examples;    /* lines of at most 80 characters at the end of -h; NULL */
    const struct option *options;
    size_t count;
    size_t operands_least;
    size_t operands_most;
    int has_format;         /* takes --format and renders a table */
    int command_as_operand; /* everything from the first operand on is one: `record -- COMMAND -x` */
};

struct arguments {
    const char **values; /* one per option of the table, in its order; owned array, borrowed texts */
    char **operands;     /* owned array, ended by NULL; borrowed texts */
    size_t operand_count;
    const char *store_path; /* NULL: not given */
    int quiet;
    int help;
    const struct renderer *renderer; /* the default one when --format was not given */
};

/*
 * Reads `argv` (without the command's name) by the command's table. Returns -1 with a usage error. The
 * arguments are released by arguments_release in either case.
 */
int arguments_parse(struct arguments *arguments, const struct command *command, int argc, char **argv,
                    struct error *error);
void arguments_release(struct arguments *arguments);

/* What an option's value is called in help, or its choices with `|` between; of a flag nothing. Text that
 * does not fit is cut. */
enum { OPTION_ARGUMENT_BYTES = 128 };
void option_argument(const struct option *option, char text[OPTION_ARGUMENT_BYTES]);

/* The value of a number option that has a value. */
int64_t arguments_number(const struct arguments *arguments, size_t option);

/* `ncclprof COMMAND -h`. */
void help_command(const struct command *command, FILE *stream);

/* `ncclprof --help`. */
void help_all(FILE *stream);

/* The options that every command takes, and --format. */
extern const struct option common_options[];
enum { COMMON_HELP, COMMON_QUIET, COMMON_STORE, COMMON_FORMAT, COMMON_OPTIONS };

#endif
