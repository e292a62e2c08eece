#ifndef NCCLPROF_CMD_INTERNAL_H
#define NCCLPROF_CMD_INTERNAL_H

#include "ingest/ingest.h"
#include "report/report.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct arguments;
struct command;
struct option_table;
struct query;
struct renderer;
struct report;
struct store;
struct timespec;

/* -------------------- main.c -------------------- */

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

/* -------------------- registry.c -------------------- */

/* All commands in the order of help, those of the analyses included; borrowed until registry_release. */
const struct command *registry_commands(size_t *count);

/* NULL when there is none of that name. */
const struct command *registry_find(const char *name);

/* Turns the analyses into commands. Call once, before the others; release it whatever comes back. */
int registry_init(struct error *error);
void registry_release(void);

/* How many threads a command was asked to work with, which analyses can be; the number of processors. */
int registry_jobs(const struct command *command, const struct arguments *arguments);

/* -------------------- analysis.c -------------------- */

/*
 * Opens what the two operands of a command mean, into context->sides: a store, a run of a store (STORE:RUN),
 * traces, of which a temporary store is made, or a run of the store of the command line. Returns an
 * exit_status; context->lacks_traces tells whether something could not be read.
 */
int sides_open(struct context *context, const struct arguments *arguments);

/* Closes those that are open. */
void sides_close(struct context *context);

/*
 * Brings the traces of some paths into a store of their own, in $TMPDIR or /tmp, whose files
 * are gone when this returns: context->store alone holds it. Returns an exit_status; context->lacks_traces
 * tells whether something could not be read.
 */
int temporary_store_open(struct context *context, char *const *paths, size_t count);

/* Likewise into context->store, where --store named one: there they stay. */
int temporary_store_spare(struct context *context, char *const *paths, size_t count);

/* A place for such a store, at context->store_path, that is yet to be filled, again and again: its files keep
 * their names until temporary_store_close. An exit_status. */
int temporary_store_place(struct context *context);

/* After all of them are closed. */
void temporary_store_close(void);

/*
 * Opens context->store_path as a command needs it (command_needs) into context->store, which stays NULL where
 * it needs none, or may make it and there is none. -1 with an error.
 */
int open_store(struct context *context, int needs);

/* -------------------- opt.c -------------------- */

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

/* The options that every command takes, and --format. */
extern const struct option common_options[];
enum { COMMON_HELP, COMMON_QUIET, COMMON_STORE, COMMON_FORMAT, COMMON_OPTIONS };

/* Word number `number` of a list; NULL past the last. */
typedef const char *(*similar_word)(const void *list, size_t number);

/*
 * The word of a list that `typed` was probably meant to be: the nearest one by letters left out, put in,
 * changed or swapped with the next, a third of its letters at most (the share that git's help.autocorrect
 * comes to for short names), or the only one that begins with `typed`. NULL: none, or `typed` is longer than
 * any name.
 */
const char *similar_find(const char *typed, similar_word word, const void *list);

/* -------------------- ingest_paths.c -------------------- */

/* What is to be brought in, and how. */
struct ingest_wishes {
    char *const *paths;
    size_t path_count;
    int jobs; /* files read, and ranks joined, at once */
    int force;
    int is_silent; /* nothing is told: the report has it */
    int is_shard;  /* the store is left unjoined */
    int64_t
        share_number; /* of the files, those whose number is this one modulo share_count; that is 0: all */
    int64_t share_count;
    struct input_limits limits;
    /* Takes files out of the walk that are not to be read; where none is left, that is all. NULL: all are. */
    int (*choose)(void *context, struct walk *walk, struct error *error);
    void *context;
};

/* As many as this process may use; 1 where nobody knows. */
int ingest_processors(void);

/*
 * Brings paths into context->store, which is made at context->store_path where it is NULL and there is
 * something to write. Tells on standard error what is wrong with files; what became of each goes into
 * `report`, whose paths are `walk`'s, initialised by the caller. Returns an exit_status; *is_lacking where
 * something could not be read, or was no trace.
 */
int ingest_paths(struct context *context, const struct ingest_wishes *wishes, struct walk *walk,
                 struct report *report, int *is_lacking);

/* Which of the tasks of a job this process is, as Slurm, Open MPI or another MPI's launcher tells it. */
struct task {
    int64_t number; /* 0 where nobody says, as of a single one */
    int64_t count;  /* 1 likewise */
    char host[256];
    char job[128]; /* "" where nobody says; the same when it is queued again */
};

void task_find(struct task *task);

/* "K/N", K from 0, into number and count. -1 with `error` set. */
int task_parse(struct task *task, const char *text, struct error *error);

/*
 * A file's name for this task: %t in `pattern` is its number, %n how many there are, %h the host, %j the job,
 * %% a per cent sign. Owned by the caller; NULL with `error` set.
 */
char *task_name(const struct task *task, const char *pattern, struct error *error);

/* -------------------- terminal.c -------------------- */

/* A line on a terminal that tells how far an ingest is; nothing anywhere else. */
struct progress {
    int shown; /* standard error is a terminal and nobody asked for quiet */
    int drawn;
    uint64_t files;
    uint64_t total_files;
    uint64_t bytes;       /* read so far, by all workers */
    uint64_t total_bytes; /* 0: not known */
    struct timespec begun;
    struct timespec last;
};

void progress_begin(struct progress *progress, int quiet, uint64_t total_files, uint64_t total_bytes);

/* Draws, some times a second. */
void progress_show(struct progress *progress);

/* Takes the line away, so that others can print. */
void progress_clear(struct progress *progress);

/* Seconds since progress_begin. */
double progress_seconds(const struct progress *progress);

/* -------------------- ingest_paths.c -------------------- */

/* Where the library's news of an ingest or a merge go: a line on a terminal, and a report. */
struct ingest_listener {
    struct report *report;
    int is_silent;            /* nothing is told: the report has it */
    struct progress progress; /* begun by the caller */
};

struct ingest_hooks ingest_listener_hooks(struct ingest_listener *listener);

/* -------------------- ingest_report.c -------------------- */

/* What became of all files. */
struct report {
    struct file_result *results; /* owned */
    size_t count;
    size_t capacity;
    double seconds;
};

void report_release(struct report *report);

/* Takes a result over, with what it owns. */
int report_add(struct report *report, struct file_result *result, struct error *error);

/* Path number `start` was asked for and cannot be read, for the reason in `why`, which is cleared. */
int report_add_failed(struct report *report, const char *path, size_t start, struct error *why);

/* A line on standard error for a file that failed or of which part could not be read. */
void report_tell(const struct file_result *result);

/* A line on standard error where files are of a later version of their format than is known. */
void report_tell_newer(const struct report *report);

/* A line on standard error that says how many files were read again for the sake of a better reader. */
void report_tell_read_again(const struct report *report);

/* Whether some file failed or could not be read whole, now or when it came into the store. */
int report_has_trouble(const struct report *report);

/* A line on standard error for each likely reason of files that hold no event. */
void report_tell_remarks(const struct report *report);

/* A line on standard error for each directory asked for in which nothing is a trace. How many there are. */
size_t report_tell_empty(const struct report *report, const struct walk *walk, char *const *paths);

/* Writes the result to standard output. Returns an exit_status. */
int report_show(struct context *context, const struct arguments *arguments, const struct report *report);

/* -------------------- terminal.c -------------------- */

/* A line on standard error, "ncclprof: TEXT", hostile characters escaped. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The chain of causes, outermost first, a line each. */
void print_error(const struct error *error);

/* Renders a table to standard output as --format asks. */
int print_table(struct context *context, const struct arguments *arguments, const struct table *table);

/* Warnings of a table that what is shown has no place for, on standard error. */
void print_warnings(const struct table *table);

/* Renders a query's rows to standard output as they come. Returns an exit_status. */
int rows_show(struct context *context, const struct arguments *arguments, struct query *query);

/*
 * From here on the first Ctrl-C (or SIGTERM) asks for a clean stop, which the command has to look for; the
 * second one kills as usual. interrupt_restore ends that.
 */
void interrupt_watch(void);
void interrupt_restore(void);

/*
 * For work that looks too seldom, and leaves nothing half done when it ends at once: some seconds after the
 * first Ctrl-C, and some seconds after `seconds` (0: never), the process exits with status 130 and 1.
 */
void interrupt_insist(unsigned seconds);

/* From here on Ctrl-C ends the process at once, with status 130: the store rolls back by itself. */
void interrupt_at_once(void);

/* A directory, kept by the caller as are the two files that may be in it, that is removed when Ctrl-C or a
 * closed pipe ends the process at once. */
void interrupt_removes(const char *directory, const char *file, const char *other);

/* Whether a stop was asked for. `context` is not looked at: the function serves as a callback. */
int interrupt_wanted(void *context);

/* -------------------- analysis.c -------------------- */

/* Runs context->command->analysis (analysis.c). */
int command_run_analysis(struct context *context, const struct arguments *arguments);

#endif
