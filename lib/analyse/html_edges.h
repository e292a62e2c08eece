#ifndef NCCLPROF_ANALYSE_HTML_EDGES_H
#define NCCLPROF_ANALYSE_HTML_EDGES_H

#include "analyse/html_run.h"

/* Who sends to whom, and what that waited: where network steps were recorded. */
int html_add_edges(const struct html_run *run, struct error *error);

#endif
