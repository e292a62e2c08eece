#ifndef NCCLPROF_ANALYSE_OPTION_H
#define NCCLPROF_ANALYSE_OPTION_H

#include "analyse/analysis.h"

#include "verdict/options.h"

#include <stdint.h>

/* Whether an option stands on the command line: else its value is the very text of its fallback. */
int option_is_given(const struct analysis_request *request, const struct analysis_option *options,
                    size_t option);

/* An option's value as a number between `least` and `greatest`; -1 with an error that names the option. */
int option_real(const char *text, const char *name, double least, double greatest, double *value,
                struct error *error);

/* Likewise, a whole number. */
int option_integer(const char *text, const char *name, int64_t least, int64_t greatest, int64_t *value,
                   struct error *error);

/* "A-B" or "A", whole numbers from 0, A not beyond B. */
int option_range(const char *text, const char *name, int64_t *first, int64_t *last, struct error *error);

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

#endif
