#ifndef NCCLPROF_REPORT_INTERNAL_H
#define NCCLPROF_REPORT_INTERNAL_H

#include "report/report.h"

#include <stddef.h>
#include <stdint.h>

struct diagnose_options;
struct job;
struct output;
struct rank_step;
struct rule_set;
struct statement;
struct view;

/* -------------------- report.c -------------------- */

extern const struct analysis analysis_report;

/* -------------------- filter.c -------------------- */

/* A filter that selects everything. */
extern const struct filter filter_for_all;

/* Whether it selects only some steps, or only some ranks. */
int filter_is_of_steps(const struct filter *filter);
int filter_is_of_ranks(const struct filter *filter);

/* Whether a global rank is selected; -1: not known. */
int filter_has_rank(const struct filter *filter, int64_t rank);

/* Whether any step from `first` to `last` is selected; -1: not known. */
int filter_has_steps(const struct filter *filter, int64_t first, int64_t last);

/* Whether a text equals the wanted one, if one is wanted. NULL: no text. */
int filter_is_text(const char *wanted, const char *text);

/* The option that selects one run of a store. */
#define RUN_OPTION                                                                          \
    {                                                                                       \
        "run", 0, "RUN", "only this run; name or number as in 'ncclprof info --runs'", NULL \
    }

/* The option that replaces names by pseudonyms. The caller passes the analysis a copy of the store without
 * names. */
#define ANONYMIZE_OPTION                                                                                    \
    {                                                                                                       \
        "anonymize", 0, NULL,                                                                               \
            "replace names by pseudonyms: hosts, paths, tags, communicators, addresses, processes, source " \
            "lines",                                                                                        \
            NULL                                                                                            \
    }

/* The runs of a request, ascending. */
struct runs {
    int64_t *ids; /* owned */
    size_t count;
    int64_t only; /* the selected run; 0: all runs */
};

/*
 * `option` is the index of RUN_OPTION in the values of the request, `table` the result, which learns whether
 * there is only one run. Returns -1 if the value is no run of the store, with an error that lists the runs;
 * there is nothing to release then.
 */
int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option, struct table *table,
                struct error *error);
void runs_release(struct runs *runs);

/*
 * Whether an option is given on the command line. If it is not, its value is the same pointer as its default.
 */
int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option);

/*
 * Reads the value of an option as a number from `least` to `greatest`. Returns -1 with an error that names
 * the option.
 */
int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error);

/* The same for an integer. */
int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error);

/*
 * Reads a value of --by: comma-separated words, each at most once. Writes their indices in `words`
 * (`word_count` of them) to `numbers`, which has room for as many. Returns -1 with an error if there is no
 * word, a repeated word or an unknown word.
 */
int option_keys(const char *text, const char *const *words, size_t word_count, size_t *numbers, size_t *count,
                struct error *error);

/* Columns that several reports share. The process column stands beside the rank. */
#define COMMUNICATOR_COLUMN                                            \
    {                                                                  \
        .name = "communicator", .type = CELL_TEXT,                     \
        .description = "name of the communicator, or its global ranks" \
    }
#define TAG_COLUMN                                                                                  \
    {                                                                                               \
        .name = "tag", .type = CELL_TEXT, .description = "user tag when the operations were issued" \
    }
#define SIZE_COLUMN                                                  \
    {                                                                \
        .name = "size_bytes", .type = CELL_INTEGER, .unit = "bytes", \
        .description = "message size as defined by nccl-tests"       \
    }
#define RANK_COLUMN                                                        \
    {                                                                      \
        .name = "rank", .type = CELL_INTEGER, .description = "global rank" \
    }
#define PROCESS_COLUMN                                                                       \
    {                                                                                        \
        .name = "process", .type = CELL_TEXT, .description = "name of the rank", .hidden = 1 \
    }
#define STEP_COLUMN                                                          \
    {                                                                        \
        .name = "step", .type = CELL_INTEGER, .description = "training step" \
    }
#define RUN_COLUMN                                                                               \
    {                                                                                            \
        .name = "run", .type = CELL_INTEGER, .description = "job, if the store contains several" \
    }

/* The same column, hidden unless the table has several runs. */
#define JOB_COLUMN                                                             \
    {                                                                          \
        .name = "run", .type = CELL_INTEGER, .hidden = 1, .description = "job" \
    }

/* Default thresholds of diagnose, also for other analyses that show its findings. */
#define MIN_GAIN_PERCENT "3"
#define SIGMAS "6"
#define MIN_GAIN_OPTION                                                                             \
    {                                                                                               \
        "min-gain", 0, "PERCENT",                                                                   \
            "smallest cost per affected step for medium confidence, in % of the median step; high " \
            "confidence needs "                                                                     \
            "twice that",                                                                           \
            MIN_GAIN_PERCENT                                                                        \
    }
#define SIGMAS_OPTION                                                                                        \
    {                                                                                                        \
        "sigmas", 0, "N",                                                                                    \
            "outlier threshold, in robust standard deviations of the same operation across ranks and steps", \
            SIGMAS                                                                                           \
    }

/*
 * Reads --min-gain (smallest cost of a finding) and --sigmas (outlier threshold) into `options`. Returns -1
 * with an error if one is wrong.
 */
int option_thresholds(const char *min_gain_percent, const char *sigmas, struct diagnose_options *options,
                      struct error *error);

/* Memory for loaded operations, in MiB, by default. */
#define MEMORY_MIB "1536"

/* The limit of an analysis that loads only some steps of a run that exceeds it, and says which. */
#define MEMORY_OPTION                                                                                 \
    {                                                                                                 \
        "memory", 0, "MIB",                                                                           \
            "memory limit for the operations of one run. Of a larger run only some steps are loaded " \
            "at the same time. 0: no limit",                                                          \
            MEMORY_MIB                                                                                \
    }

/* Reads --memory, in MiB. Returns -1 with an error if it is wrong. */
int option_memory(const char *mib, int64_t *memory_bytes, struct error *error);

/*
 * For work on the rules: reads NCCLPROF_RULES_OFF from the environment, a comma-separated list of rules to
 * turn off. Returns -1 with an error if it names an unknown rule.
 */
int option_rules_off(struct rule_set *off, struct error *error);

/* The value of that variable; NULL: it is not set. */
const char *option_rules_off_text(void);

/* Warns if rules are turned off by the environment. */
int caution_rules_off(struct table *table, struct error *error);

/* -------------------- steps.c -------------------- */

/* steps --map: a row for each rank and step, drawn as a picture. */

/*
 * The figures of a step that can be drawn: time above the baseline, wait time, own delay. steps_map_word
 * returns the words of --value (NULL after the last), steps_map_title what they mean.
 */
enum { STEPS_MAP_VALUES = 3 };
const char *steps_map_word(size_t number);
const char *steps_map_title(size_t number);

/*
 * The value of that figure for a step, in nanoseconds. The figure for time above the baseline is the whole
 * step time if `usual_ns` is TIME_UNKNOWN.
 */
int64_t steps_map_ns(const struct rank_step *of, size_t number, int64_t usual_ns);

/* -------------------- clocks.c -------------------- */

/* A row for each rank that recorded something: the offset of its clock and the error bound. */

/* Adds the columns. */
int clock_rows_begin(struct table *table, struct error *error);

/* Adds the rows of a run, and a warning if its offsets contradict each other. */
int clock_rows_add(const struct job *job, struct table *table, struct error *error);

/* -------------------- buffers.c -------------------- */

/*
 * Warns that `calls` calls count as registered by the rule of the allocator hook, although nothing records
 * that the hook was on.
 */
int caution_snapshot_rule(int64_t calls, struct table *table, struct error *error);

/* -------------------- export_parquet.c -------------------- */

struct parquet_options {
    int64_t group_rows; /* rows per row group, at least 1: the unit that is held in memory, and that a query
                           engine gives to a thread */
    int is_compressed;
};

/*
 * Writes a view as an Apache Parquet file. Each column of the view becomes an INT64, DOUBLE or UTF-8 column
 * that may be null. Integers are exact; invalid UTF-8 becomes U+FFFD. Each row group has the minimum, the
 * maximum and the number of nulls of each column. The key-value metadata holds the names and descriptions of
 * the view and its columns. *count is the number of rows. Returns -1 with an error if a cell has not the type
 * of its column, as in a damaged store.
 */
int parquet_file_write(struct output *output, const struct view *view, struct statement *rows,
                       const struct parquet_options *options, int64_t *count, struct error *error);

/* -------------------- export.c -------------------- */

/*
 * Writes a view as CSV (RFC 4180): a header line, then a line per row, terminated by CR LF. Numbers are
 * written so that they read back exactly; NULL is an empty field, an empty text is "". Text is written as it
 * is in the trace, with its line ends; only invalid UTF-8 is replaced. *count is the number of rows.
 */
int csv_file_write(struct output *output, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

#endif
