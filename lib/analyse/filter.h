#ifndef NCCLPROF_ANALYSE_FILTER_H
#define NCCLPROF_ANALYSE_FILTER_H

#include "analyse/analysis.h"

#include <stdint.h>

struct store;

/*
 * What every analysis is asked to leave out, by the same options. What is judged is the whole job: filters
 * choose what of the answer is shown, but for report, which measures what is left.
 */

enum {
    FILTER_RANK,
    FILTER_STEP,
    FILTER_TAG,
    FILTER_COMMUNICATOR,
    FILTER_HOST,
    FILTER_SORT,
    FILTER_TOP,
    FILTER_OPTIONS
};

/* The bit of a filter in a set of them. */
#define FILTER_BIT(filter) (1U << (filter))

/* Stand behind an analysis's own. */
extern const struct analysis_option filter_options[FILTER_OPTIONS];

struct filter_range {
    int64_t first;
    int64_t last;
};

struct filter {
    struct filter_range *ranks; /* owned: of --rank */
    size_t rank_count;
    struct filter_range steps; /* all, where there is no --step */
    const char *tag;           /* borrowed, NULL: any */
    const char *communicator;
    const char *host;
    const char *sort;
    int64_t top;         /* 0: all */
    int64_t *host_ranks; /* owned: global ranks on --host, ascending (filter_find_host) */
    size_t host_rank_count;
};

/* From the values of filter_options; -1 with an error where one is wrong. Release it in any case. */
int filter_read(struct filter *filter, const char *const *values, struct error *error);
void filter_release(struct filter *filter);

/* Looks up which ranks ran on --host; -1, also where none did. */
int filter_find_host(struct filter *filter, struct store *store, struct error *error);

/* Whether a global rank, -1 where it is not known, may be shown. */
int filter_has_rank(const struct filter *filter, int64_t rank);

/* Whether steps from `first` to `last` have some in common with those asked for. -1: not known. */
int filter_has_steps(const struct filter *filter, int64_t first, int64_t last);

/* Whether a text is the one asked for, if one is. NULL: it has none. */
int filter_is_text(const char *wanted, const char *text);

/* Leaves out rows of a table by their columns (rank, sender or receiver, last_rank; step, first_step to
 * last_step; tag; communicator). -1 where it has none that an option asks for, as *usage tells. */
int filter_rows(const struct filter *filter, struct table *table, int *usage, struct error *error);

/* Puts rows in the order of --sort, numbers of ranks, steps and runs upwards, other numbers downwards, and
 * leaves --top of them. */
int filter_order(const struct filter *filter, struct table *table, int *usage, struct error *error);

#endif
