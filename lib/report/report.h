#ifndef NCCLPROF_REPORT_REPORT_H
#define NCCLPROF_REPORT_REPORT_H

#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct filter;
struct grown_file;
struct metrics;
struct store;
struct cached_run;
struct reported_finding;
struct walk;

/* -------------------- filter.c -------------------- */

/*
 * An analysis reads a joined store and returns a table. The command, its help, its completion and its
 * --format are all generated from struct analysis. The head of registry.c lists what a new analysis needs.
 */

struct analysis_option {
    const char *name;     /* long name without dashes */
    char letter;          /* 0: none */
    const char *argument; /* name of its value in the help, "KEY,..."; NULL: a flag */
    const char *help;
    const char *fallback; /* default value; NULL: none */
};

/* Runs that an analysis compares with those of the other side. A side may have several of these. */
struct analysis_side {
    struct store *store;
    const char *run;  /* name or number of the run; NULL: all runs of the store, which are repeats */
    int is_candidate; /* belongs to side B; 0: to side A, the baseline */
};

struct analysis_request {
    struct store *store;
    struct shared_run *shared;   /* a run that several analyses need one after the other; NULL: each loads its
                                    own */
    const struct filter *filter; /* NULL: no filter */
    int colour;                  /* the text of the result is for a terminal with colours */
    const char *const *values; /* one per option, in the order of the option table: text, "1" for a flag that
                                  is given, NULL */
    const struct analysis_side *sides; /* only for an analysis that compares: `store` is the store of the
                                          last. NULL: compare the first and the last run of the store */
    size_t side_count;
    const char *command; /* with sides: "ncclprof compare --all A B", as the user can repeat it */
};

/*
 * The part of a table that is drawn as a picture. The table has a row for each rank and step, with the
 * columns rank, process, step, host, run, duration_us, longer_us and finding. `columns` names the columns to
 * draw; the names are static texts.
 */
enum { DRAWN_MOST = 3 };

struct drawing {
    const char *columns[DRAWN_MOST];
    size_t count; /* 0: show the table */
    int as_svg;   /* write an SVG document and nothing else; 0: draw the picture in the text output */
};

struct analysis_result {
    struct table table;
    struct drawing drawing;
    /*
     * Filled by an analysis whose result is not a plain table. `text` replaces the table in the text
     * output, `json` (one JSON value) replaces the JSON of the table. When they are empty, the table is
     * shown. Text from the trace is already escaped for a terminal in `text`, which has colours
     * (base/base.h) only if the request allows them.
     */
    struct buffer text;
    struct buffer json;
    int wrote_output; /* the result is already on standard output (`-o -`): write nothing else there */
    int alarm;        /* with --exit-code: exit status 3 */
    int undecided;    /* with --exit-code, if there is no alarm: exit status 4 */
    int unjudged;     /* there was nothing to analyze, and a warning reports it: exit status 1 */
};

struct analysis {
    const char *name;
    const char *summary;
    const char *description; /* a paragraph for -h; NULL: none */
    const struct analysis_option *options;
    size_t option_count;
    /*
     * The words that an option accepts, for shell completion: returns NULL after the last word, and for
     * an option that accepts any text. NULL: no option has a list of words.
     */
    const char *(*word)(size_t option, size_t number);
    int compares; /* takes runs of two sides as operands (request->sides): A and B, or those after its first
                     two options, which are flags in `values` */
    unsigned
        unlisted_filters; /* FILTER_BIT of the filters that never apply (filter.c); help does not list them */
    int loads_run;        /* its run, diagnosed, is what others need after it: kept_results_add_next */
    int is_kept;          /* the result depends on the store and the request alone, and is kept in the store
                             (kept_result.c) */
    /* Whether the result itself, and not only what is shown of it, depends on the filters and the colours of
     * the request; NULL: never. */
    int (*reads_filters)(const struct analysis_request *request);
    int filters_itself; /* applies request->filter itself; 0: the caller removes rows from the finished table
                         */
    /*
     * The caller initialises the result (table_init with the name of the analysis) and releases it.
     * Returns -1 on error. *usage is set if an option has a wrong value, because that has an exit status
     * of its own.
     */
    int (*run)(const struct analysis_request *request, struct analysis_result *result, int *usage,
               struct error *error);
};

/* -------------------- registry.c -------------------- */

extern const struct analysis *const analysis_registry[]; /* terminated by NULL */

/* -------------------- filter.c -------------------- */

/*
 * Filters: options that every analysis has. An analysis always works on the whole job; filters only choose
 * which results are shown. The exception is report, which measures only what the filters select.
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

/* The bit of a filter in a set of filters. */
#define FILTER_BIT(filter) (1U << (filter))

/* Follow the options of the analysis itself. */
extern const struct analysis_option filter_options[FILTER_OPTIONS];

struct filter_range {
    int64_t first;
    int64_t last;
};

struct filter {
    struct filter_range *ranks; /* owned: of --rank */
    size_t rank_count;
    struct filter_range steps; /* every step without --step */
    const char *tag;           /* borrowed, NULL: any */
    const char *communicator;
    const char *host;
    const char *sort;
    int64_t top;         /* 0: no limit */
    int64_t *host_ranks; /* owned: global ranks of --host, ascending (filter_resolve) */
    size_t host_rank_count;
};

/*
 * Reads the values of filter_options. Returns -1 with an error if one is wrong. Release `filter` in any case.
 */
int filter_read(struct filter *filter, const char *const *values, struct error *error);
void filter_release(struct filter *filter);

/*
 * Finds the ranks that ran on --host, and checks that the store has what the other filters ask for, except
 * those of the bits in `except`. `run` is the value of --run, or NULL. Returns -1 on error, and if the store
 * does not have such a rank, step, tag, communicator, host or run.
 */
int filter_resolve(struct filter *filter, unsigned except, struct store *store, const char *run,
                   struct error *error);

/*
 * Removes rows from a table by their columns: rank, sender or receiver, last_rank; step, first_step to
 * last_step; tag; communicator. Returns -1 with *usage set if the table has no column for an option that is
 * given.
 */
int filter_rows(const struct filter *filter, struct table *table, int *usage, struct error *error);

/* Whether --rank, --step, --tag, --communicator or --host is given. */
int filter_selects(const struct filter *filter);

/*
 * Sorts rows by --sort and keeps the first --top of them. Numbers of ranks, steps and runs sort ascending,
 * other numbers descending.
 */
int filter_order(const struct filter *filter, struct table *table, int *usage, struct error *error);

/* -------------------- kept_result.c -------------------- */

/* The result of an analysis on its way into the store. */
struct kept_result {
    struct buffer question; /* owned, as is `packed` */
    struct buffer packed;
    int64_t state;             /* of the store when the question was asked (store.h) */
    struct shared_run *shared; /* of the request */
    int was_loaded;            /* its run was already loaded then */
};

/* A diagnosed run in memory that the requests of several analyses share; NULL if memory is out. */
struct shared_run *shared_run_new(void);
void shared_run_free(struct shared_run *shared);

/*
 * Whether the store has the result of the same request, which then fills `result`, an empty one. Release
 * `kept` in any case.
 */
int kept_result_find(struct kept_result *kept, const struct analysis *analysis,
                     const struct analysis_request *request, struct analysis_result *result);

/* Takes a result that was not found, as the analysis computed it, before filters are applied. */
void kept_result_take(struct kept_result *kept, const struct analysis_result *result);

/*
 * Keeps in the store what was taken. Returns its state after that; STATE_UNKNOWN if it is not kept. May wait
 * a moment for other processes: show the result first.
 */
int64_t kept_result_save(const struct kept_result *kept, struct store *store);
void kept_result_release(struct kept_result *kept);

/*
 * Keeps what users ask next, as far as it follows from the diagnosed run of a request without loading it
 * again: stragglers and steps, and the ranks in the steps of the first findings, as diagnose suggests. Does
 * nothing in a store with several runs, or where nothing can be kept.
 */
void kept_results_add_next(const struct analysis_request *request);

/* -------------------- computed_views.c -------------------- */

/*
 * Computes the views v_step, v_finding and v_wait of a joined store, for this connection: those that the SQL
 * names, or all if it is NULL. `memory_mib` is the value of --memory; NULL: the default. Returns -1 with an
 * error.
 */
int computed_views_fill(struct store *store, const char *sql, const char *memory_mib, struct error *error);

/* -------------------- watch_changes.c -------------------- */

/* A finding as it is kept between two polls of a job. Its texts come from the trace and are not escaped. */
struct finding_snapshot {
    char *run; /* owned, like all texts; NULL: none */
    char *kind;
    char *unit; /* "rank 3", "host node1" */
    char *host; /* hosts and GPUs of the ranks at fault; NULL: not known */
    char *gpu;
    char *action;  /* what to do first; NULL: unknown */
    char *because; /* causes, as nodes say; NULL: unknown */
    char *phase;
    char *confidence;
    char *text;    /* a sentence without its full stop */
    char *command; /* confirms it (finding_append_command); NULL: none */
    int64_t first_step;
    int64_t last_step; /* first_step and last_step are -1 if not known */
    int64_t period;    /* the finding affects every `period`-th step; 0: all of its steps */
    int64_t run_step;  /* the newest step of its run */
    int64_t lost_ns;
    int stops_job;
};

struct finding_snapshot_list {
    struct finding_snapshot *items; /* owned */
    size_t count;
    size_t capacity;
};

void finding_snapshot_list_release(struct finding_snapshot_list *list);

/* How findings changed between two polls of a job. */

enum change {
    CHANGE_NEW,
    CHANGE_CHANGED,  /* another confidence, twice the cost, or it continues after it had ended */
    CHANGE_OVER,     /* the job continues without it */
    CHANGE_WITHDRAWN /* with more of the job recorded, it is not a finding any more */
};

/* Called for each change. -1 with an error stops the comparison. */
typedef int change_listener(void *context, enum change change,
                            const struct finding_snapshot *finding_snapshot, struct error *error);

/*
 * The findings that have been reported so far. A doubtful finding can appear and disappear while a job is
 * still being recorded. Therefore a finding whose confidence is not high is reported only when two
 * consecutive polls have it, and every finding is withdrawn only when two consecutive polls lack it. The same
 * holds for a stopped job, because the files of ranks that continue are not all written at the same moment.
 */
struct difference {
    struct reported_finding *told; /* owned */
    size_t count;
    size_t capacity;
    struct finding_snapshot_list
        waiting; /* from the latest poll: reported if the next poll has them as well */
};

void reported_findings_release(struct difference *difference);

/* Starts with findings that are already known and are not reported. Returns -1 when memory is out. */
int reported_findings_begin(struct difference *difference, const struct finding_snapshot_list *now);

/* Compares `now` with what has been reported, and calls `listener` for each change. Returns -1 on error. */
int reported_findings_update(struct difference *difference, const struct finding_snapshot_list *now,
                             change_listener *listener, void *context, struct error *error);

/*
 * The job was polled again and has no new data: the findings of the latest poll are confirmed. Calls
 * `listener` for those that become reportable. Returns -1 on error.
 */
int reported_findings_confirm(struct difference *difference, change_listener *listener, void *context,
                              struct error *error);

/*
 * Writes one line for a change, as text that is escaped for a terminal or as JSON. `at_ns` is nanoseconds
 * since 1970. `names_run`: the store has several runs. Returns -1 when memory is out.
 */
int change_line_text(enum change change, const struct finding_snapshot *snapshot, int64_t at_ns,
                     int names_run, struct buffer *line);
int change_line_json(enum change change, const struct finding_snapshot *snapshot, int64_t at_ns,
                     struct buffer *line);

/* -------------------- watch_files.c -------------------- */

/* Which files changed since the latest poll, according to the file system. No file is read. */
struct growth {
    struct grown_file *files; /* owned; from the latest poll, by path */
    size_t count;
};

void growth_init(struct growth *growth);
void growth_release(struct growth *growth);

/*
 * Checks the files of `walk` and removes those that did not change. If a file is new or gone, all files stay,
 * because what is read from a file depends on the files beside it (copies, duplicate records). Returns -1
 * when memory is out.
 */
int growth_look(struct growth *growth, struct walk *walk, struct error *error);

/*
 * Seconds to wait before the next poll when the latest one used `used_s` seconds of processor time:
 * `interval_s`, or longer where that is needed to keep the share of a processor small.
 */
double growth_wait_s(double interval_s, double used_s);

/*
 * When watch reads and analyzes what is new. Times are seconds of one clock. Checking the files is cheap and
 * is done every interval_s; an analysis is followed by a rest (growth_wait_s). A job that stops writes
 * nothing any more, so files that no longer grow are analyzed without waiting for the end of the rest: when
 * none has grown for twice the longest time after which they grew again so far. Each such analysis in vain
 * doubles that time, so there are few.
 */
struct pace {
    double interval_s;
    double rests_until_s;
    double changed_at_s;    /* when a check last found that a file had changed */
    double quiet_s;         /* from then to the latest check, which found no change; 0: it found one */
    double longest_pause_s; /* of those after which files grew again; at least interval_s */
    int is_behind;          /* files have changed since they were read */
};

void pace_init(struct pace *pace, double interval_s, double now_s);
/* Notes the result of a check. */
void pace_check(struct pace *pace, int has_changed, double now_s);
/* Notes that what is new was read and analyzed; that took `used_s` of processor time. */
void pace_rest(struct pace *pace, double used_s, double now_s);
/* Whether it is time to read and analyze what is new. */
int pace_is_due(const struct pace *pace, double now_s);

/*
 * The findings of diagnose for the runs of a store, kept between polls. A run is analyzed again only if one
 * of its files was added or removed.
 */
struct verdict_cache {
    struct cached_run *runs; /* owned; by number */
    size_t count;
    uint64_t others; /* hash of the files that belong to no rank of a run */
    int shows_low;   /* include findings of low confidence */
    int wants_metrics;
    int64_t memory_bytes; /* of a run that needs more, only some steps are analyzed; 0: no limit */
};

void verdict_cache_release(struct verdict_cache *cache);

/* Updates the cache from a joined store. Returns -1 on error. */
int verdict_cache_update(struct verdict_cache *cache, struct store *store, struct error *error);

/* Add the findings and the metrics of all runs. Return -1 when memory is out. */
int verdict_cache_findings(const struct verdict_cache *cache, struct finding_snapshot_list *findings);
int verdict_cache_metrics(const struct verdict_cache *cache, struct metrics *metrics);

#endif
