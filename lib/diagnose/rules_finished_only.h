#ifndef NCCLPROF_DIAGNOSE_RULES_FINISHED_ONLY_H
#define NCCLPROF_DIAGNOSE_RULES_FINISHED_ONLY_H

#include "diagnose/suspect.h"

/*
 * Where only finished operations are listed, without network steps and algorithms: own time after an
 * AllReduce may be part of it, where others were in it for longer (the leaf of a tree); so may what comes
 * after operations that have a root, where nobody waited for it.
 */
void suspects_doubt_unrecorded(struct suspects *suspects, const struct job *job,
                               const struct baseline *baseline);

/*
 * Whether by the clocks all members of an operation had left it by `after_ns` after this one did, which may
 * have been the leaf of a tree; 0 where that is not known.
 */
int all_have_left(const struct job *job, const struct job_operation *member, int64_t after_ns);

#endif
