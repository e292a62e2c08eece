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

/* Whether a global rank, -1 where it is not known, may be shown. */
int filter_has_rank(const struct filter *filter, int64_t rank);

/* Whether steps from `first` to `last` have some in common with those asked for. -1: not known. */
int filter_has_steps(const struct filter *filter, int64_t first, int64_t last);

/* Whether a text is the one asked for, if one is. NULL: it has none. */
int filter_is_text(const char *wanted, const char *text);

/* The option by which analyses are asked about one job of a store. */
#define RUN_OPTION                                                                          \
    {                                                                                       \
        "run", 0, "RUN", "only this run; name or number as in 'ncclprof info --runs'", NULL \
    }

/* The runs that a request is about, ascending. */
struct runs {
    int64_t *ids; /* owned */
    size_t count;
    int64_t only; /* the one asked about; 0: all of them */
};

/*
 * `option` is the place of RUN_OPTION in the request's values. -1 where its value is no run of the store,
 * with an error that says which there are; nothing is left to release then.
 */
int runs_choose(struct runs *runs, const struct analysis_request *request, size_t option,
                struct error *error);
void runs_release(struct runs *runs);

/* Whether an option stands on the command line: else its value is the very text of its fallback. */
int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option);

/* An option's value as a number between `least` and `greatest`; -1 with an error that names the option. */
int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error);

/* Likewise, a whole number. */
int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error);

/*
 * Of --by: numbers of the words that `text` has, with commas between, each once; `words` has `word_count` of
 * them, and `numbers` room for as many. -1 with an error where there is none, one twice or one that is no
 * key.
 */
int option_keys(const char *text, const char *const *words, size_t word_count, size_t *numbers, size_t *count,
                struct error *error);

/* Keys that reports have in common, as columns; a process stands beside the rank. */
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

/* The same, shown where there are several. */
#define JOB_COLUMN                                                             \
    {                                                                          \
        .name = "run", .type = CELL_INTEGER, .hidden = 1, .description = "job" \
    }

/* What diagnose goes by where its options say nothing, as does whatever else finds what it finds. */
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

/* What a finding must be worth (--min-gain) and stand out by (--sigmas), of these two texts. */
int option_thresholds(const char *min_gain_percent, const char *sigmas, struct diagnose_options *options,
                      struct error *error);

/* Operations of so many MiB are loaded, where nothing else is asked for. */
#define MEMORY_MIB "1536"

/* What they may take in memory (--memory), in MiB. */
int option_memory(const char *mib, int64_t *memory_bytes, struct error *error);

/*
 * For those who work on the rules: NCCLPROF_RULES_OFF in the environment names rules that are not to be
 * asked, with commas between them. -1 with an error where it names one that there is not.
 */
int option_rules_off(struct rule_set *off, struct error *error);

/* Says so, where it is set. */
int caution_rules_off(struct table *table, struct error *error);

/* -------------------- steps.c -------------------- */

/* steps --map: a row for each rank and step, which is drawn as a picture. */

/* What of a step can be drawn: longer than a usual one, waiting, own lateness. The words of --value, NULL
 * past the last, and what they stand for. */
enum { STEPS_MAP_VALUES = 3 };
const char *steps_map_word(size_t number);
const char *steps_map_title(size_t number);

/* How much of a step that is; of length all of it where `usual_ns` is TIME_UNKNOWN. */
int64_t steps_map_ns(const struct rank_step *of, size_t number, int64_t usual_ns);

/* -------------------- clocks.c -------------------- */

/* A row for each rank that recorded something: the offset of its clock, and how sure that is. */

/* The columns. */
int clock_rows_begin(struct table *table, struct error *error);

/* The rows of a run, and a warning where its offsets contradict each other. */
int clock_rows_add(const struct job *job, struct table *table, struct error *error);

/* -------------------- buffers.c -------------------- */

/* That calls count as registered by a rule of which nothing tells that it was in force. */
int caution_snapshot_rule(int64_t calls, struct table *table, struct error *error);

/* -------------------- export_parquet.c -------------------- */

struct parquet_options {
    int64_t group_rows; /* of a row group, at least 1: what is held in memory, and what an engine's thread
                           takes */
    int is_compressed;
};

/*
 * A view as an Apache Parquet file: a column for each of its own, INT64, DOUBLE or UTF-8 text, all of which
 * may be null; integers are exact, what of a text is no UTF-8 is U+FFFD. Each row group tells the least and
 * the greatest value of each column and how many are null. Names and meaning of the view and its columns
 * stand in the file as keys and values. *count is how many rows there were. An error where a cell is not what
 * its column is to hold, as in a damaged store.
 */
int parquet_file_write(struct output *output, const struct view *view, struct statement *rows,
                       const struct parquet_options *options, int64_t *count, struct error *error);

/* -------------------- export.c -------------------- */

/*
 * A view as RFC 4180 has it: a line of names, then one a row, ended by CR LF. Numbers read back as they were,
 * NULL is nothing, an empty text "". Text is as the trace has it, line ends included, but for what is no
 * UTF-8. *count is how many rows there were.
 */
int csv_file_write(struct output *output, const struct view *view, struct statement *rows, int64_t *count,
                   struct error *error);

#endif
