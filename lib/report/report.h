#ifndef NCCLPROF_REPORT_REPORT_H
#define NCCLPROF_REPORT_REPORT_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct filter;
struct grown_file;
struct metrics;
struct store;
struct surveyed_run;
struct told_noted;
struct walk;

/* -------------------- filter.c -------------------- */

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
    unsigned unlisted_filters; /* FILTER_BIT of those that never apply (filter.c): help leaves them out */
    int filters_itself;        /* by request->filter; else rows of its table are left out when it is done */
    /*
     * The result is initialised by the caller (table_init with the analysis's name), who also releases it.
     * A bad option value is reported with *usage set, so that the exit status can tell it from a failure.
     */
    int (*run)(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error);
};

/* -------------------- registry.c -------------------- */

extern const struct analysis *const analysis_registry[]; /* ended by NULL */

/* -------------------- filter.c -------------------- */

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

/* Leaves out rows of a table by their columns (rank, sender or receiver, last_rank; step, first_step to
 * last_step; tag; communicator). -1 where it has none that an option asks for, as *usage tells. */
int filter_rows(const struct filter *filter, struct table *table, int *usage, struct error *error);

/* Puts rows in the order of --sort, numbers of ranks, steps and runs upwards, other numbers downwards, and
 * leaves --top of them. */
int filter_order(const struct filter *filter, struct table *table, int *usage, struct error *error);

/* -------------------- watch_changes.c -------------------- */

/* A finding as it is remembered from one look at a job to the next. Texts are hostile. */
struct finding_snapshot {
    char *run; /* owned, as all texts; NULL where there is none */
    char *kind;
    char *unit; /* "rank 3", "host node1" */
    char *phase;
    char *confidence;
    char *text; /* a sentence without its stop */
    int64_t first_step;
    int64_t last_step; /* -1 with first_step: not known */
    int64_t period;    /* in every so-many-th step; 0: in all of them */
    int64_t run_step;  /* the newest step of its run */
    int64_t lost_ns;
    int stops_job;
};

struct noted_list {
    struct finding_snapshot *items; /* owned */
    size_t count;
    size_t capacity;
};

void noted_list_release(struct noted_list *list);

/* What became of findings from one look at a job to the next. */

enum change {
    CHANGE_NEW,
    CHANGE_CHANGED,  /* another confidence, twice the cost, or it goes on after it was over */
    CHANGE_OVER,     /* the job goes on without it */
    CHANGE_WITHDRAWN /* with more of the job at hand, it is none any longer */
};

/* Hears of a change; -1 with an error ends the comparison. */
typedef int change_listener(void *context, enum change change,
                            const struct finding_snapshot *finding_snapshot, struct error *error);

/*
 * What was told so far. With a little more of the job at hand a doubtful finding comes and goes: one of less
 * than high confidence is believed when the next look finds it as well, and any is withdrawn when two looks
 * do not. So is that a job stopped: files of ranks that go on are not all written at the same moment.
 */
struct difference {
    struct told_noted *told; /* owned */
    size_t count;
    size_t capacity;
    struct noted_list waiting; /* of the last look: to be believed at the next */
};

void difference_release(struct difference *difference);

/* These are known already: nobody is told. -1 when memory is out. */
int difference_begin(struct difference *difference, const struct noted_list *now);

/* Tells `listener` what `now` has, and what it has no longer, against what it was told so far. */
int difference_update(struct difference *difference, const struct noted_list *now, change_listener *listener,
                      void *context, struct error *error);

/* The job was looked at again and nothing had come: what the last look said holds. */
int difference_settle(struct difference *difference, change_listener *listener, void *context,
                      struct error *error);

/*
 * One line for a change, at so many nanoseconds since 1970: for people, fit for a terminal, or as JSON.
 * `names_run`: there are several. -1 when memory is out.
 */
int change_line_text(enum change change, const struct finding_snapshot *finding_snapshot, int64_t at_ns,
                     int names_run, struct buffer *line);
int change_line_json(enum change change, const struct finding_snapshot *finding_snapshot, int64_t at_ns,
                     struct buffer *line);

/* -------------------- watch_files.c -------------------- */

/* Which files changed since they were last looked at, by what the file system says: none is read. */
struct growth {
    struct grown_file *files; /* owned; of the last look, by path */
    size_t count;
};

void growth_init(struct growth *growth);
void growth_release(struct growth *growth);

/*
 * Looks at the files of `walk`, and takes those out of it that are as they were. Where there is a new one, or
 * one is gone, all stay: what a file is worth depends on those beside it (copies, twins). -1 when memory is
 * out.
 */
int growth_look(struct growth *growth, struct walk *walk, struct error *error);

/* How long to wait before the next look, where the last one took `used_s` of a processor: `interval_s`, or as
 * much as keeps the share of a processor small. */
double growth_wait_s(double interval_s, double used_s);

/*
 * What diagnose finds in the runs of a store, kept from one look to the next: a run of which no file came or
 * went is not judged again.
 */
struct verdict_cache {
    struct surveyed_run *runs; /* owned; by number */
    size_t count;
    uint64_t others; /* of files that are of no run's ranks */
    int shows_low;   /* findings of low confidence as well */
    int wants_metrics;
};

void verdict_cache_release(struct verdict_cache *verdict_cache);

/* Looks at a joined store. */
int verdict_cache_update(struct verdict_cache *verdict_cache, struct store *store, struct error *error);

/* Findings and figures of all runs. -1 when memory is out. */
int survey_findings(const struct verdict_cache *verdict_cache, struct noted_list *findings);
int survey_metrics(const struct verdict_cache *verdict_cache, struct metrics *metrics);

#endif
