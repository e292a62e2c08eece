#ifndef NCCLPROF_DIAGNOSE_RULES_HIDDEN_PAIRS_H
#define NCCLPROF_DIAGNOSE_RULES_HIDDEN_PAIRS_H

#include "diagnose/suspect.h"

/* For recorders that leave point-to-point operations out. */

/*
 * Whether a pair may sit in the own time before an operation: that is usually several times what it is before
 * others of the kind, or there are none to compare it with.
 */
int may_hide_pair(const struct job *job, const struct baseline *baseline,
                  const struct job_operation *operation);

/*
 * Where all ranks meet in all collectives they may exchange what nobody recorded, as the ranks of a mixture
 * of experts do: then the own time of several is longer at once, and none of them is to blame. -1 when memory
 * is out.
 */
int suspects_doubt_exchanges(struct suspects *suspects, const struct job *job,
                             const struct baseline *baseline);

/*
 * Where the recorder leaves sends out, a rank with a slow network is late after them, too, and who receives,
 * in another stage, is late: where all that shows for several steps it is one thing, and no noise where
 * either is none. -1 when memory is out.
 */
int suspects_join_hidden_sends(struct suspects *suspects, const struct job *job);

#endif
