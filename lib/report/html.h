#ifndef NCCLPROF_REPORT_HTML_H
#define NCCLPROF_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>

struct baseline;
struct buffer;
struct error;
struct filter;
struct findings;
struct html_page;
struct html_table;
struct job;
struct judgement;
struct store;
struct table;
struct transfer_excess;

/* -------------------- html_tables.c -------------------- */

/* A run of the report while its sections are written. Borrowed members live longer than the struct. */
struct html_run {
    struct store *store;
    const struct filter *filter; /* NULL: no filter */
    const struct job *job;
    const struct baseline *baseline;
    const struct findings *findings; /* sorted, with their details */
    const struct transfer_excess *transfers;
    const struct judgement *judgement;
    int names_run; /* the report has several runs */
    size_t runs;   /* number of runs */
    struct html_page *whole;
    struct buffer *page; /* body of the page */
    struct buffer *data; /* members of the run's object for the script */
    struct table *notes; /* warnings: what could not be analyzed */
};

/*
 * Begins a section with its heading and the id "run-1-KEY". If the report has several runs, the heading has
 * the name of the run and only the section with the summary is linked. Returns -1 when memory is out.
 */
int html_run_section(const struct html_run *run, const char *key, const char *heading);

/*
 * Like html_add_table, but how->rest_command has only the words of the command: it becomes a command line for
 * the store (store_append_command), and for a run unless `run_id` is 0.
 */
int html_add_table_of(const struct store *store, int64_t run_id, struct buffer *page,
                      const struct table *table, const struct html_table *how);

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

/*
 * Rank by step: step time, wait time, own delay. Gives the reason if there is nothing to draw. Returns -1
 * when memory is out.
 */
int html_add_steps(const struct html_run *run);

/* -------------------- html_findings.c -------------------- */

/*
 * The verdict of a run in words: its findings, or the smallest fault that would have been detected. The first
 * section of a run.
 */
int html_add_verdict(const struct html_run *run, struct error *error);

/* Each finding with its evidence, drawn where possible. */
int html_add_findings(const struct html_run *run, struct error *error);

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
    int is_untimed;   /* no operation has a timestamp */
};

/*
 * The operations of a rank in a step that have a start time, and those that never ended. Returns -1 when
 * memory is out. Release the bars in any case.
 */
int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step);
void step_bars_release(struct step_bars *bars);

#endif
