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
struct job;
struct judgement;
struct store;
struct table;
struct transfer_excess;

/* -------------------- html_tables.c -------------------- */

/* A run of the report while its sections are made; what is borrowed outlives it. */
struct html_run {
    struct store *store;
    const struct filter *filter; /* NULL: nothing is chosen */
    const struct job *job;
    const struct baseline *baseline;
    const struct findings *findings; /* sorted, with their detail */
    const struct transfer_excess *transfers;
    const struct judgement *judgement;
    int names_run; /* there are several */
    size_t runs;   /* so many */
    struct html_page *whole;
    struct buffer *page; /* its body */
    struct buffer *data; /* members of the run's object for the script */
    struct table *notes; /* what could not be judged, as warnings */
};

/* A section with its heading, "run-1-KEY"; with the run's name where there are several, of which the summary
 * alone is linked. -1 when memory is
 * out. */
int html_run_section(const struct html_run *run, const char *key, const char *heading);

/* How many findings are shown as such: told unasked. */
size_t html_run_told(const struct html_run *run);

/* Sections that are tables, in part drawn. */

/* Bandwidth by phase and function. */
int html_add_bandwidth(const struct html_run *run, struct error *error);

/* Offsets of the ranks' clocks, and how sure they are. */
int html_add_clocks(const struct html_run *run, struct error *error);

/* What was judged of the run, what was not and why, and what else is worth a word. */
int html_add_coverage(const struct html_run *run, struct error *error);

/* Lines of all files that became no event, by reason. */
int html_add_ledger(struct store *store, struct html_page *page, struct error *error);

/* Rank by step: length, waiting, own lateness. Says why where there is nothing to draw. -1 when memory is
 * out. */
int html_add_steps(const struct html_run *run);

/* -------------------- html_findings.c -------------------- */

/* The verdict of a run in words: its findings, or what their absence is worth. Beginning of its sections. */
int html_add_verdict(const struct html_run *run, struct error *error);

/* Each finding with its evidence, drawn where it can be. */
int html_add_findings(const struct html_run *run, struct error *error);

/* -------------------- html_lanes.c -------------------- */

/*
 * What ranks did in chosen steps, on one clock: the steps of --step, else the longest of each finding, or of
 * the job, and a usual one beside them. -1 when memory is out.
 */
int html_add_timeline(const struct html_run *run);

/* An operation of a rank on the run's common clock, in nanoseconds. */
struct step_bar {
    int32_t operation;
    int64_t begin_ns;
    int64_t end_ns;     /* TIME_UNKNOWN: not recorded, or it never ended */
    int is_open;        /* it was begun and never ended */
    int64_t waiting_ns; /* what it waited for the last to arrive (arrival.h); 0 where that is not known */
};

struct step_bars {
    struct step_bar *items; /* owned; by begin */
    size_t count;
    int is_unclocked; /* its clock is not aligned with the others' */
    int is_untimed;   /* no operation says when it ran */
};

/*
 * Those of a rank in a step that say when they began, and those that wait for good. -1 when memory is out:
 * release it all the same.
 */
int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step);
void step_bars_release(struct step_bars *bars);

#endif
