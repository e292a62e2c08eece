#ifndef NCCLPROF_ANALYSE_HEADLINE_H
#define NCCLPROF_ANALYSE_HEADLINE_H

#include "analyse/summary.h"

/* What diagnose says first of a run, for people. `names_run`: there are several. -1 when memory is out. */

/*
 * What the job was and what it lost, a line each: ranks, steps, how long they usually are; those that were
 * longer; shares of communication and of waiting; what was lost, of how much, and what explains it. Says
 * nothing of a run without operations.
 */
int headline_say_job(const struct judgement *judgement, int names_run, struct buffer *text);

/* The verdict where no finding is shown, and what it is worth. */
int headline_say_verdict(const struct judgement *judgement, int names_run, struct buffer *text);

#endif
