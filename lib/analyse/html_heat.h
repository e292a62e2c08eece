#ifndef NCCLPROF_ANALYSE_HTML_HEAT_H
#define NCCLPROF_ANALYSE_HTML_HEAT_H

#include "analyse/html_run.h"

/* Rank by step: length, waiting, own lateness. Says why where there is nothing to draw. -1 when memory is
 * out. */
int html_add_steps(const struct html_run *run);

#endif
