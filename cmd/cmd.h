#ifndef NCCLPROF_CMD_H
#define NCCLPROF_CMD_H

#include "analyse/analysis.h"
#include "base/error.h"

#include <stddef.h>

struct arguments;
struct option_table;
struct store;

/*
 * The contract of a command. What a new one takes stands at the head of cmd/registry.c. An analysis
 * (lib/analyse) needs no command of its own: its registry line makes one.
 */

enum command_needs {
    NEEDS_NOTHING = 0,
    NEEDS_STORE = 1 << 0,        /* an existing store is open, for reading and writing */
    NEEDS_STORE_IF_ANY = 1 << 1, /* likewise; NULL where there is none, which the command may make */
    NEEDS_STORE_READ = 1 << 2,   /* an existing store is open, nothing can change it */
    NEEDS_JOINED = 1 << 3,       /* the derived tables match the files; made anew if not */
    TAKES_TRACES = 1 << 4, /* operands are traces, of which a store is made that takes the other's place */
    TAKES_SIDES = 1 << 5   /* the two operands are runs: of stores, or of traces of which some are made */
};

enum exit_status {
    EXIT_DONE = 0,
    EXIT_NOT_DONE = 1,
    EXIT_USAGE = 2,
    EXIT_FINDINGS = 3,
    EXIT_UNDECIDED = 4,
    EXIT_INTERRUPTED = 130
};

struct context {
    const struct command *command;
    const struct command *commands; /* all there are, in the order of help */
    size_t command_count;
    const char *store_path;
    int names_store;               /* --store was given */
    int is_default_store;          /* neither that nor $NCCLPROF_STORE */
    struct store *store;           /* open as the preconditions ask; NULL otherwise */
    struct analysis_side sides[2]; /* of TAKES_SIDES; `store` is that of the second */
    int lacks_traces;              /* something of the traces that were given could not be read */
    int jobs;                      /* threads to work with */
    int quiet;                     /* -q: no progress */
    int colour;                    /* standard output takes ANSI colours */
    int width;                     /* of the terminal on standard output, 0 when it is none */
    struct error
        error; /* printed by main, as a chain, when the command returns EXIT_NOT_DONE or EXIT_USAGE */
};

struct command {
    const char *name;
    const char *summary; /* one line for help */
    int needs;           /* command_needs */
    const struct option_table *options;
    const struct analysis *analysis; /* the one that this command runs, if any */
    /* Puts another name into context->store_path before the store is opened; NULL. Returns an exit_status. */
    int (*choose)(struct context *context, const struct arguments *arguments);
    /* Returns an exit_status. The arguments are parsed and live until it returns. */
    int (*run)(struct context *context, const struct arguments *arguments);
};

#endif
