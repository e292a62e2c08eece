#ifndef NCCLPROF_REPORT_HTML_H
#define NCCLPROF_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct buffer;
struct error;
struct filter;
struct finding;
struct findings;
struct html_page;
struct html_table;
struct job;
struct judgement;
struct store;
struct table;

/* -------------------- html_tables.c -------------------- */

/* A run of the report while its sections are written. Borrowed members live longer than the struct. */
struct html_run {
    struct store *store;
    const struct filter *filter; /* NULL: no filter */
    const struct job *job;       /* what is drawn: of a run that does not fit in memory, some steps */
    const struct baseline *baseline;
    const struct findings *findings; /* sorted, in steps of `job` (judged_run_shown) */
    const struct job *told_job;      /* the run as it was diagnosed, for texts */
    const struct findings *told;     /* the same findings, with their details, in steps of told_job */
    const struct judgement *judgement;
    int64_t number;   /* in ids, unique in the report */
    int names_run;    /* the report has several runs */
    const char *side; /* of a comparison, "A" or "B"; else NULL */
    size_t runs;      /* number of runs */
    struct html_page *whole;
    struct buffer *page; /* body of the page */
    struct buffer *list; /* list of all runs; NULL: none */
    struct buffer *data; /* members of the run's object for the script */
    struct table *notes; /* warnings: what could not be analyzed */
};

/*
 * Begins a section with its heading and the id "run-1-KEY". If the report has several runs, the heading has
 * the name of the run, and the list of all runs links to it instead of the top of the page. Returns -1 when
 * memory is out.
 */
int html_run_section(const struct html_run *run, const char *key, const char *heading);

/*
 * Like html_add_table, but how->rest_command has only the words of the command: it becomes a command line for
 * the store (store_append_command), and for a run unless `run_id` is 0.
 */
int html_add_table_of(const struct store *store, int64_t run_id, struct buffer *page,
                      const struct table *table, const struct html_table *how);

/* Appends "Run 2 (traces-b): ", or the side instead of the number. Returns -1 when memory is out. */
int html_run_append_name(const struct html_run *run, struct buffer *text);

/* The finding of `told` for one of `findings`: texts need it, and told_job. */
const struct finding *html_run_told(const struct html_run *run, const struct finding *finding);

/*
 * Pictures of steps begin at this step of the job, and all steps from there on are consecutive; and the
 * number that a step of the job has in the run.
 */
int32_t html_run_first_step(const struct html_run *run);
int32_t html_run_step(const struct html_run *run, int32_t step);

/* Number of findings that are shown as findings, that is, those that diagnose shows by default. */
size_t html_run_finding_count(const struct html_run *run);

/* Sections with tables, some of them drawn as pictures. */

/* Bandwidth by phase and function. */
int html_add_bandwidth(const struct html_run *run, struct error *error);

/* Clock offsets of the ranks, with their error bounds. */
int html_add_clocks(const struct html_run *run, struct error *error);

/* Coverage of the run: what was analyzed, what was not and why, and further notes. */
int html_add_coverage(const struct html_run *run, struct error *error);

/* Skipped input of all files, by reason. */
int html_add_ledger(struct store *store, struct html_page *page, struct error *error);

/* -------------------- html_verdict.c -------------------- */

/*
 * The first section of a run: its findings with what to do, or the smallest fault that would have been
 * detected. In a report with several runs also adds the run to the list of all runs; else sets the lead of
 * the report.
 */
int html_add_verdict(const struct html_run *run, struct error *error);

/*
 * Puts the kind of a finding, its confidence, and the host and GPU if `headline` does not name them. Returns
 * -1 when memory is out.
 */
int html_put_badges(const struct html_run *run, const struct finding *finding, const char *headline);

/*
 * Puts the lines of a paragraph (finding_add_paragraph) below its first one that begin with one of `names`,
 * which ends with NULL; all of them if `names` is NULL. Returns -1 when memory is out.
 */
int html_put_paragraph(const struct html_run *run, const char *paragraph, const char *const *names);

/* -------------------- html_compare.c -------------------- */

/* A run that is compared. */
struct html_compared {
    struct store *store;
    int64_t run_id;         /* 0: the side has no operations, and is left out */
    const char *side;       /* "A" or "B" */
    const char *memory_mib; /* the value of --memory */
};

/*
 * Writes the page of a comparison: `words`, its differences in sentences, one per line; its rows and
 * warnings; and the verdict and the findings of each run. `command` shows all rows. Returns -1 with an error.
 */
int html_write_comparison(const char *path, const struct html_compared *runs, size_t count,
                          const struct table *table, const char *words, const char *command,
                          struct error *error);

/* -------------------- html_findings.c -------------------- */

/* Each finding with its evidence, drawn where possible. */
int html_add_findings(const struct html_run *run, struct error *error);

/* -------------------- html_rows.c -------------------- */

/* Why a rank is shown where there is no room for all ranks. */
enum html_row_why {
    HTML_ROW_NONE = 0, /* it is not shown */
    HTML_ROW_ACCUSED,
    HTML_ROW_OTHER_END, /* of a link of a network finding */
    HTML_ROW_WAITING,
    HTML_ROW_PEER, /* it does the same work as a rank at fault */
    HTML_ROW_OTHER
};

enum { HTML_ROWS_MOST = 32 };

/* The ranks that are shown: all of them, or those of the findings and some to compare them with. */
struct html_rows {
    int32_t *ranks; /* owned: job ranks in the order in which they are shown */
    size_t count;
    unsigned char *why; /* owned: per rank of the job, enum html_row_why */
};

/*
 * Chooses at most HTML_ROWS_MOST ranks, of those that `filter` selects; NULL: no filter. Returns -1 when
 * memory is out. Release the rows in any case.
 */
int html_rows_init(struct html_rows *rows, const struct html_run *run, const struct filter *filter);
void html_rows_release(struct html_rows *rows);

/* The reason in words; NULL: none to show. */
const char *html_row_reason(unsigned char why);

/* -------------------- html_steps.c -------------------- */

/*
 * Rank by step: step time, wait time, own delay, and waits for the network. Gives the reason if there is
 * nothing to draw. Returns -1 when memory is out.
 */
int html_add_steps(const struct html_run *run);

/* -------------------- html_links.c -------------------- */

/*
 * The mean wait for the network (SendWait) on the slowest link of each rank, of those on which it sends, or
 * receives, in each step, [rank * step_count + step], as a multiple of the baseline: that of the link in
 * steps without a finding about it, or the median baseline of all links where that is greater. NAN: not
 * known. The caller frees it; NULL when memory is out.
 */
double *html_link_ratios_new(const struct html_run *run, int by_receiver);

/* The links: who sends to whom, and how long it waited. Only if network steps were recorded. */
int html_add_links(const struct html_run *run, struct error *error);

/* -------------------- html_lanes.c -------------------- */

/*
 * Operations of ranks in selected steps on the common clock: the steps of --step, else the longest step of
 * each finding or of the job, with a step of baseline duration beside them. Returns -1 when memory is out.
 */
int html_add_timeline(const struct html_run *run);

/* An operation of a rank on the common clock of the run, in nanoseconds. */
struct step_bar {
    int32_t operation;
    int64_t begin_ns;
    int64_t end_ns;     /* TIME_UNKNOWN: not recorded, or it never ended */
    int is_open;        /* it started and never ended */
    int64_t waiting_ns; /* wait for the last rank to arrive (job/arrival.c); 0 if not known */
};

struct step_bars {
    struct step_bar *items; /* owned; sorted by begin */
    size_t count;
    int is_unclocked; /* the clock of the rank is not aligned with the others */
    int is_empty;     /* the rank has no operation in the step */
    int is_untimed;   /* no operation has a timestamp */
};

/*
 * The operations of a rank in a step that have a start time, and those that never ended. Returns -1 when
 * memory is out. Release the bars in any case.
 */
int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step);
void step_bars_release(struct step_bars *bars);

#endif
