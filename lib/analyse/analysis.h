#ifndef NCCLPROF_ANALYSE_ANALYSIS_H
#define NCCLPROF_ANALYSE_ANALYSIS_H

#include "base/buffer.h"
#include "base/error.h"
#include "model/table.h"

#include <stddef.h>

struct store;

/*
 * An analysis reads a joined store and answers with a table. What a new one takes stands at the head
 * of registry.c: the command, its help, its completion and its --format come from here.
 */

struct analysis_option {
    const char *name;     /* long name without dashes */
    char letter;          /* 0: none */
    const char *argument; /* what its value is called in help, "KEY,..."; NULL: a flag */
    const char *help;
    const char *fallback; /* value when not given; NULL: none */
};

struct filter;

/* One of the two runs that are held against each other. */
struct analysis_side {
    struct store *store;
    const char *run; /* its name or number; NULL: the only one of the store */
};

struct analysis_request {
    struct store *store;
    const struct filter *filter; /* NULL: nothing is left out */
    int colour;                  /* the result's text is for a terminal that shows colours */
    const char *const
        *values; /* one per option in the option table's order: text, "1" for a flag given, NULL */
    const struct analysis_side *sides; /* of one that compares: A and B, whose store `store` is; NULL: the
                                          first and the last run of the store */
};

/*
 * A table with a row for each rank and step (columns rank, process, step, host, run, duration_us, longer_us,
 * finding) may be drawn: these of its columns, names of static texts.
 */
enum { DRAWN_MOST = 3 };

struct drawing {
    const char *columns[DRAWN_MOST];
    size_t count; /* 0: the table is shown */
    int as_svg;   /* a document in place of everything else; else the picture is for people */
};

struct analysis_result {
    struct table table;
    struct drawing drawing;
    /*
     * An analysis whose answer is not a plain table fills these: `text` is shown to people in place of the
     * table, `json` (one JSON value) is shown in place of the table's JSON. Empty: the table is shown.
     * Hostile text in `text` is already escaped for a terminal; there may be colours (base/colour.h) where
     * the request takes them.
     */
    struct buffer text;
    struct buffer json;
    int wrote_output; /* standard output holds the answer already (`-o -`): nothing else is shown there */
    int alarm;        /* with --exit-code: exit status 3 */
    int undecided;    /* likewise, where that is no alarm: exit status 4 */
    int unjudged;     /* there was nothing to judge, and a warning says so: exit status 1 */
};

struct analysis {
    const char *name;
    const char *summary;
    const char *description; /* a paragraph for -h; NULL */
    const struct analysis_option *options;
    size_t option_count;
    /*
     * The words that an option takes, for completion in a shell: NULL past the last, and where it takes any
     * text. NULL: no option has some.
     */
    const char *(*word)(size_t option, size_t number);
    int compares;              /* takes two operands, each of which is a run: request->sides */
    unsigned unlisted_filters; /* FILTER_BIT of those that never apply (filter.h): help leaves them out */
    int filters_itself;        /* by request->filter; else rows of its table are left out when it is done */
    /*
     * The result is initialised by the caller (table_init with the analysis's name), who also releases it.
     * A bad option value is reported with *usage set, so that the exit status can tell it from a failure.
     */
    int (*run)(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error);
};

extern const struct analysis *const analysis_registry[]; /* ended by NULL */

#endif
