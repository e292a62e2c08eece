#ifndef NCCLPROF_ANALYSE_HTML_RUN_H
#define NCCLPROF_ANALYSE_HTML_RUN_H

#include "analyse/filter.h"
#include "analyse/summary.h"
#include "html/page.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"

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

#endif
