/*
 * What the files of the command line share: the contract of a command, its options, the terminal, and what
 * ingest, merge and watch report. Functions that return an exit_status leave the cause in context->error;
 * main prints it.
 */
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
 * The contract of a command. The head of cmd/registry.c lists what a new command needs. An analysis
 * (lib/report) needs no command of its own: its line in the registry makes one.
 */

enum command_needs {
    NEEDS_NOTHING = 0,
    NEEDS_STORE = 1 << 0,        /* an existing store is open for reading and writing */
    NEEDS_STORE_IF_ANY = 1 << 1, /* the same; NULL if there is no store, and the command may create one */
    NEEDS_STORE_READ = 1 << 2,   /* an existing store is open, read-only */
    NEEDS_JOINED = 1 << 3,       /* the derived tables match the files; they are rebuilt if not */
    TAKES_TRACES = 1 << 4, /* operands are traces; a temporary store made from them replaces the store */
    TAKES_SIDES = 1 << 5   /* the operands are runs of two sides, each in a store or as traces */
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
    const struct command *commands; /* all commands, in the order of help */
    size_t command_count;
    const char *store_path;
    const char *given_store_path; /* that of the command line, also while store_path is a temporary one */
    int names_store;              /* --store was given */
    int is_default_store;         /* neither --store nor $NCCLPROF_STORE was given */
    struct store *store;          /* open as command_needs requires; otherwise NULL */
    struct analysis_side *sides;  /* owned, for TAKES_SIDES; `store` is the store of the last */
    size_t side_count;
    struct buffer sides_command; /* "ncclprof compare --all A B", for TAKES_SIDES */
    int lacks_traces;            /* part of the given traces could not be read */
    int jobs;                    /* number of threads */
    int quiet;                   /* -q: no progress line */
    int colour;                  /* standard output accepts ANSI colours */
    int width;                   /* width of the terminal on standard output; 0: no terminal */
    struct error error; /* main prints it as a chain when the command returns EXIT_NOT_DONE or EXIT_USAGE */
};

struct command {
    const char *name;
    const char *summary; /* one line for help */
    int needs;           /* bits of command_needs */
    const struct option_table *options;
    const struct analysis *analysis; /* analysis that this command runs, or NULL */
    /* Changes context->store_path before the store is opened. May be NULL. Returns an exit_status. */
    int (*choose)(struct context *context, const struct arguments *arguments);
    /*
     * Runs the command and returns an exit_status. The arguments are parsed and stay valid until it returns.
     */
    int (*run)(struct context *context, const struct arguments *arguments);
};

/* -------------------- registry.c -------------------- */

/*
 * All commands in the order of help, including those of the analyses. Borrowed; valid until registry_release.
 */
const struct command *registry_commands(size_t *count);

/* NULL if no command has that name. */
const struct command *registry_find(const char *name);

/*
 * Turns the analyses into commands. Call it once, before the other functions. Call registry_release even if
 * it fails.
 */
int registry_init(struct error *error);
void registry_release(void);

/*
 * Number of threads that the user requested for a command that takes --jobs; otherwise the number of
 * processors.
 */
int registry_jobs(const struct command *command, const struct arguments *arguments);

/* -------------------- analysis.c -------------------- */

/*
 * Opens the operands of a command as context->sides: A and B, or those after --baseline and --candidate. An
 * operand is a store, a run in a store (STORE:RUN), traces from which a temporary store is made, or a run in
 * the store of the command line. Returns an exit_status; context->lacks_traces is set if something could not
 * be read.
 */
int sides_open(struct context *context, const struct arguments *arguments);

/* Closes the sides that are open. */
void sides_close(struct context *context);

/*
 * Ingests the traces of some paths into a temporary store in $TMPDIR or /tmp. Its files are removed when this
 * returns, and only context->store keeps it alive. Returns an exit_status; context->lacks_traces is set if
 * something could not be read.
 */
int temporary_store_open(struct context *context, char *const *paths, size_t count);

/*
 * Like temporary_store_open, but ingests into the store that --store names, if it was given. That store is
 * kept.
 */
int temporary_store_ingest(struct context *context, char *const *paths, size_t count);

/*
 * Sets context->store_path to a place for a temporary store that is filled repeatedly. Its files keep their
 * names until temporary_store_close. Returns an exit_status.
 */
int temporary_store_prepare(struct context *context);

/*
 * Replaces context->store by a temporary copy of it without names (store_anonymize). Returns an exit_status.
 */
int temporary_store_anonymize(struct context *context);

/* Removes the temporary directory. Close all temporary stores first. */
void temporary_store_close(void);

/*
 * Opens context->store_path as context->store, in the way that `needs` (command_needs) asks for.
 * context->store stays NULL if the command needs no store, or if it may create one and none exists. Returns
 * -1 with an error.
 */
int open_store(struct context *context, int needs);

/* -------------------- record_node.c -------------------- */

/* Parses a number of bytes with an optional suffix k, M, G or T. Returns -1 if the text is none. */
int record_parse_bytes(const char *text, uint64_t *bytes);

/* Creates the directory and those above it (mode 0700). Returns -1 if nothing can be written to it. */
int record_make_directories(char *path, struct error *error);

/*
 * Starts the sampler of the node for the job that this process becomes. The settings come from the
 * environment, as those of the plugin. The words are those of the command.
 */
void record_node_start(char **words, size_t word_count);

/* Prints what the sampler could read here, one line for each source. */
void record_node_check(void);

/* -------------------- command_line.c -------------------- */

/*
 * Sets how suggested command lines begin and end (store_set_command): they read the given traces again, or,
 * if `count` is 0, the store of the command line. Call it when context->store is joined. Returns -1 with an
 * error.
 */
int command_line_remember(struct context *context, char *const *paths, size_t count);

/* Appends " PATH", or " PATH:RUN" for a run of a store. `run` NULL: no run. Returns -1 when memory is out. */
int command_line_append_operand(const char *path, const char *run, struct buffer *text);

/* Appends the program: "ncclprof" if a shell finds it by this name. Returns -1 when memory is out. */
int command_line_append_program(struct buffer *text);

/*
 * Appends "ncclprof WORDS PATH" for a file or directory; nothing for anything else, such as a pipe. Returns
 * -1 when memory is out.
 */
int command_line_append(const char *words, const char *path, struct buffer *text);

/* -------------------- opt.c -------------------- */

/*
 * One table per command. It is used for parsing, -h, shell completion and the comparison with the man page.
 * Every command also takes -h, -q and --store, and commands with has_format take --format. Options and
 * operands may be mixed; `--` ends the options.
 */
struct option {
    const char *name; /* long name without dashes */
    char letter;      /* 0: none */
    /*
     * Name of the value in help. NULL: the choices are shown. For a flag NULL as well; its value is "1" if
     * given.
     */
    const char *argument;
    const char *help;
    const char *fallback;                 /* value if the option is not given; NULL: none */
    const char *(*choice)(size_t number); /* the words that it accepts, NULL after the last; NULL: any text */
    int is_unlisted;                      /* it has no effect; help omits it */
    int takes_operands; /* the operands after it, up to the next such option, belong to it */
    int is_number;      /* an integer from `least` to `most` */
    int64_t least;
    int64_t most;
};

struct option_table {
    const char *operands;    /* "PATH..." for help; NULL: no operands */
    const char *description; /* a paragraph for -h, or NULL */
    const char *examples;    /* lines of at most 80 characters at the end of -h, or NULL */
    const struct option *options;
    size_t count;
    size_t operands_least;
    size_t operands_most;
    int has_format;         /* takes --format and prints a table */
    int command_as_operand; /* everything after the first operand is an operand: `record -- COMMAND -x` */
};

struct arguments {
    const struct option_table *table;
    const char **values; /* one per option, numbered as by option_at; owned array, borrowed texts */
    char **operands;     /* owned array with a final NULL; borrowed texts */
    size_t operand_count;
    const struct option **owners;    /* owned: per operand, the option that takes it; NULL: none */
    const struct renderer *renderer; /* the default renderer if --format was not given */
};

/*
 * Parses `argv`, without the name of the command, with the table of the command. `before` holds the options
 * before that name. Returns -1 with a usage error. Call arguments_release in either case.
 */
int arguments_parse(struct arguments *arguments, const struct command *command,
                    const struct arguments *before, int argc, char **argv, struct error *error);
void arguments_release(struct arguments *arguments);

/*
 * For the options before the name of the command: arguments_begin makes arguments without any, and
 * arguments_take adds the option at argv[*at]; *at is then the index of its last word. Both return -1 with an
 * error. Call arguments_release after arguments_begin in either case.
 */
int arguments_begin(struct arguments *arguments, int argc, struct error *error);
int arguments_take(struct arguments *arguments, int argc, char **argv, int *at, struct error *error);

/*
 * Writes the name of an option's value in help, or its choices separated by `|`; nothing for a flag. Text
 * that does not fit is truncated.
 */
enum { OPTION_ARGUMENT_BYTES = 128 };
void option_argument(const struct option *option, char text[OPTION_ARGUMENT_BYTES]);

/* Value of a number option. The option must have a value. */
int64_t arguments_number(const struct arguments *arguments, size_t option);

/*
 * The options of a command: its own in the order of its table, then those that every command takes (opt.c),
 * and --format if it has_format. NULL after the last.
 */
const struct option *option_at(const struct option_table *table, size_t number);

extern const struct option format_option;

/* Value of an option that every command takes. NULL: not given. */
const char *arguments_common(const struct arguments *arguments, const char *name);

/* Returns word `number` of a list; NULL after the last. */
typedef const char *(*similar_word)(const void *list, size_t number);

/*
 * Finds the word of a list that `typed` probably means. It is the nearest word by letters omitted, inserted,
 * changed or swapped with the next, at most a third of its letters (the share that git's help.autocorrect
 * allows for short names), or the only word that begins with `typed`. Returns NULL if there is none, or if
 * `typed` is longer than any name.
 */
const char *similar_find(const char *typed, similar_word word, const void *list);

/* -------------------- ingest_paths.c -------------------- */

/* Which files to ingest, and how. */
struct ingest_request {
    char *const *paths;
    size_t path_count;
    int jobs; /* number of files read, and of ranks joined, in parallel */
    int force;
    int is_silent;        /* nothing is printed; the report contains everything */
    int is_shard;         /* the store is not joined */
    int64_t share_number; /* only files whose number modulo share_count equals this one; share_count 0: all */
    int64_t share_count;
    struct input_limits limits;
    struct follower *follower; /* NULL: all files are read from their start */
    /*
     * Removes files that are not to be read from the walk. It may remove all of them. NULL: all files are
     * read.
     */
    int (*choose)(void *context, struct walk *walk, struct error *error);
    void *context;
};

/* Number of processors that this process may use; 1 if unknown. */
int ingest_processors(void);

/*
 * Ingests the files of a walk into context->store. If that is NULL and there is something to write, creates
 * it at context->store_path. Reports problems with files on standard error. The result of each file is added
 * to `report`, which uses the paths of `walk`; the caller initialises both. Returns an exit_status and sets
 * *is_lacking if something could not be read or was not a trace.
 */
int ingest_paths(struct context *context, const struct ingest_request *wishes, struct walk *walk,
                 struct report *report, int *is_lacking);

/*
 * The position of this process among the tasks of a job, as set by Slurm, Open MPI or another MPI launcher.
 */
struct task {
    int64_t number; /* 0 if unknown, as for a single task */
    int64_t count;  /* 1 if unknown */
    char host[256];
    char job[128]; /* "" if unknown; stays the same when the job is requeued */
};

/* -------------------- terminal.c -------------------- */

/* A progress line for ingest. It is shown only on a terminal. */
struct progress {
    int shown; /* standard error is a terminal and -q was not given */
    int drawn;
    uint64_t files;
    uint64_t total_files;
    uint64_t bytes;       /* bytes read so far by all workers */
    uint64_t total_bytes; /* 0: unknown */
    struct timespec begun;
    struct timespec last;
};

void progress_begin(struct progress *progress, int quiet, uint64_t total_files, uint64_t total_bytes);

/* Draws the line, at most a few times per second. */
void progress_show(struct progress *progress);

/* Erases the line, so that other output can be printed. */
void progress_clear(struct progress *progress);

/* Seconds since progress_begin. */
double progress_seconds(const struct progress *progress);

/* -------------------- ingest_paths.c -------------------- */

/*
 * Receives events of an ingest or a merge from the library: updates the progress line and adds to the report.
 */
struct ingest_listener {
    struct report *report;
    int is_silent;            /* nothing is printed; the report contains everything */
    struct progress progress; /* the caller calls progress_begin */
};

struct ingest_hooks ingest_listener_hooks(struct ingest_listener *listener);

/* -------------------- ingest_report.c -------------------- */

/* The results of all files. */
struct report {
    struct file_result *results; /* owned */
    size_t count;
    size_t capacity;
    double seconds;
};

void report_release(struct report *report);

/* Adds a result and takes ownership of it and what it owns. */
int report_add(struct report *report, struct file_result *result, struct error *error);

/*
 * Adds a path that cannot be read. `start` is its number among the requested paths. The cause `why` is
 * cleared.
 */
int report_add_failed(struct report *report, const char *path, size_t start, struct error *why);

/* Prints a line on standard error if the file failed or part of it could not be read. */
void report_print_problem(const struct file_result *result);

/* Prints a line on standard error if files have a later version of their format than this program knows. */
void report_print_newer(const struct report *report);

/*
 * Prints a line on standard error with the number of files that were read again because their reader has
 * improved.
 */
void report_print_read_again(const struct report *report);

/* True if a file failed or could not be read completely, now or when it was added to the store. */
int report_has_trouble(const struct report *report);

/* Prints a line on standard error for each likely reason why files contain no event. */
void report_print_remarks(const struct report *report);

/*
 * Prints a line on standard error for each requested directory that contains no trace. Returns the number of
 * these.
 */
size_t report_print_empty(const struct report *report, const struct walk *walk, char *const *paths);

/* Writes the result to standard output. Returns an exit_status. */
int report_show(struct context *context, const struct arguments *arguments, const struct report *report);

/* -------------------- terminal.c -------------------- */

/* Prints "ncclprof: TEXT" as a line on standard error. Unsafe characters are escaped. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the chain of causes, outermost first, one per line. */
void print_error(const struct error *error);

/* Prints a table to standard output in the format of --format. */
int print_table(struct context *context, const struct arguments *arguments, const struct table *table);

/* Prints the warnings of a table on standard error if the output has no place for them. */
void print_warnings(const struct table *table);

/* Prints the rows of a query to standard output while they are read. Returns an exit_status. */
int rows_show(struct context *context, const struct arguments *arguments, struct query *query);

/*
 * From now on the first Ctrl-C (or SIGTERM) requests a clean stop, and the command has to check
 * interrupt_wanted. The second one kills the process as usual. interrupt_restore ends this.
 */
void interrupt_watch(void);
void interrupt_restore(void);

/*
 * For work that checks too rarely and can safely end at any time. The process exits with status 130 a few
 * seconds after the first Ctrl-C, and with status 1 a few seconds after `seconds` (0: never).
 */
void interrupt_exit_after(unsigned seconds);

/* From now on Ctrl-C ends the process immediately, with status 130. The store rolls back by itself. */
void interrupt_at_once(void);

/*
 * Sets a directory, and up to two files in it, to remove when Ctrl-C or a closed pipe ends the process
 * immediately. The caller keeps the three texts.
 */
void interrupt_set_removal(const char *directory, const char *file, const char *other);

/*
 * True if a stop was requested. `context` is not used: it is there because the function serves as a callback.
 */
int interrupt_wanted(void *context);

/* -------------------- analysis.c -------------------- */

/* Runs context->command->analysis (analysis.c). */
int command_run_analysis(struct context *context, const struct arguments *arguments);

#endif
