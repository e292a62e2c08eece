#ifndef NCCLPROF_VERDICT_ADVICE_H
#define NCCLPROF_VERDICT_ADVICE_H

#include "base/buffer.h"
#include "verdict/finding.h"

/*
 * What to look at next, and the command that confirms a finding, with its own ranks, steps and links: one
 * line without a full stop. Names out of a trace stand in a command only where a shell takes them as they
 * are. `names_run`: there are several. -1 when memory is out.
 */
int finding_advise(const struct finding *finding, const struct job *job, int names_run, struct buffer *text);

#endif
