#ifndef NCCLPROF_VERDICT_FINDING_UNITE_H
#define NCCLPROF_VERDICT_FINDING_UNITE_H

#include "verdict/finding.h"

/*
 * Findings of several rounds of a run (job/load.h), in steps of one job that has all of these: what two
 * rounds tell of the same ranks, the same way and of steps between which none was judged, is one fault.
 */

/* The kinds that a few steps tell of; how a job stops is told by its end. */
int finding_is_of_steps(const struct finding *finding);

/*
 * Adds findings of a round to those of others, `to`; `from` is empty then. Of two that are one fault the
 * surer one gives the evidence, the earlier one says where it shows first, and what they cost is summed. -1
 * when memory is out: both are to be released.
 */
int findings_unite_round(struct findings *to, struct findings *from, const struct job *job);

#endif
