#ifndef NCCLPROF_ANALYSE_HTML_FINDINGS_H
#define NCCLPROF_ANALYSE_HTML_FINDINGS_H

#include "analyse/html_run.h"

/* The verdict of a run in words: its findings, or what their absence is worth. Beginning of its sections. */
int html_add_verdict(const struct html_run *run, struct error *error);

/* Each finding with its evidence, drawn where it can be. */
int html_add_findings(const struct html_run *run, struct error *error);

#endif
