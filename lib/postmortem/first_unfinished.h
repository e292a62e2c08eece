#ifndef NCCLPROF_POSTMORTEM_FIRST_UNFINISHED_H
#define NCCLPROF_POSTMORTEM_FIRST_UNFINISHED_H

#include "baseline/baseline.h"
#include "verdict/finding.h"

/*
 * Where only finished operations are recorded, the ranks that share the first one that was not
 * finished, of those who stopped earlier in their step than others of their role. Low confidence: who waits
 * and who never came look alike there.
 */
int find_laggards(const struct job *job, const struct baseline *baseline, struct findings *findings,
                  struct error *error);

#endif
