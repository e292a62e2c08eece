#ifndef NCCLPROF_POSTMORTEM_UNANSWERING_H
#define NCCLPROF_POSTMORTEM_UNANSWERING_H

#include "verdict/finding.h"

/*
 * Ranks whose process does not answer NCCL's RAS, which has a thread of its own in each: stopped, dead, or
 * cut off from the network. Low where most are so: then it may be whom was asked that is cut off. Adds to
 * nobody who is accused already. -1 when memory is out.
 */
int find_unanswering(const struct job *job, struct findings *findings);

#endif
