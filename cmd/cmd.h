#ifndef NCCLPROF_CMD_H
#define NCCLPROF_CMD_H

#include "base/error.h"

struct store;
struct option;

/*
 * The contract of a command. Adding one:
 *   1. cmd/foo.c: an option table (cmd/opt.h), `int command_foo(struct context *, int argc, char **argv)`;
 *   2. one line in cmd/registry.c with its preconditions;
 *   3. man/ncclprof-foo.1 (make check compares it with -h);
 *   4. a test in tests/cli.
 * A command parses its options, calls the library, renders. It decides nothing of the domain. An analysis
 * (lib/analyse) needs no command of its own: its registry line makes one.
 */

enum command_needs {
    NEEDS_NOTHING = 0,
    NEEDS_STORE = 1 << 0,         /* an existing store is open, for reading and writing */
    NEEDS_STORE_CREATED = 1 << 1, /* likewise, and made when missing */
    NEEDS_STORE_READ = 1 << 2,    /* an existing store is open, nothing can change it */
    NEEDS_JOINED = 1 << 3         /* the derived tables match the files; made anew if not */
};

enum exit_status {
    EXIT_DONE = 0,
    EXIT_NOT_DONE = 1,
    EXIT_USAGE = 2,
    EXIT_FINDINGS = 3,
    EXIT_INTERRUPTED = 130
};

struct context {
    const char *store_path;
    struct store *store; /* open as the preconditions ask; NULL otherwise */
    int quiet;           /* -q: no progress */
    int colour;          /* standard output takes ANSI colours */
    int width;           /* of the terminal on standard output, 0 when it is none */
    struct error error;  /* printed by main, as a chain, when the command returns EXIT_NOT_DONE */
};

struct command {
    const char *name;
    const char *summary; /* one line for help */
    int needs;           /* command_needs */
    /* argv[0] is the command's name. Returns an exit_status. */
    int (*run)(struct context *context, int argc, char **argv);
};

#endif
