#ifndef NCCLPROF_ANALYSE_HTML_LANES_H
#define NCCLPROF_ANALYSE_HTML_LANES_H

#include "analyse/html_run.h"

/*
 * What ranks did in chosen steps, on one clock: the steps of --step, else the longest of each finding, or of
 * the job, and a usual one beside them. -1 when memory is out.
 */
int html_add_timeline(const struct html_run *run);

#endif
