#ifndef NCCLPROF_ANALYSE_HTML_EVIDENCE_H
#define NCCLPROF_ANALYSE_HTML_EVIDENCE_H

#include "analyse/html_run.h"

/*
 * What a finding rests on, drawn: the gap, the transfer or the wait of those at fault, step by step, beside
 * their peers' and their own in other steps. Nothing where no step tells it. -1 when memory is out.
 */
int html_add_evidence(const struct html_run *run, const struct finding *finding);

#endif
