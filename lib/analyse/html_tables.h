#ifndef NCCLPROF_ANALYSE_HTML_TABLES_H
#define NCCLPROF_ANALYSE_HTML_TABLES_H

#include "analyse/html_run.h"

/* Sections that are tables, in part drawn. */

/* Bandwidth by phase and function. */
int html_add_bandwidth(const struct html_run *run, struct error *error);

/* Offsets of the ranks' clocks, and how sure they are. */
int html_add_clocks(const struct html_run *run, struct error *error);

/* What was judged of the run, what was not and why, and what else is worth a word. */
int html_add_coverage(const struct html_run *run, struct error *error);

/* Lines of all files that became no event, by reason. */
int html_add_ledger(struct store *store, struct html_page *page, struct error *error);

#endif
