#ifndef NCCLPROF_POSTMORTEM_LATE_START_H
#define NCCLPROF_POSTMORTEM_LATE_START_H

#include "verdict/finding.h"

/*
 * Who was late at start-up: came to the making of the first communicator of its process by start-late or more
 * after all others, who waited for it (job/start_ups.h). What is made later is not judged: what held a rank
 * up may be another that made it wait. -1: no memory.
 */
int find_late_starts(const struct job *job, struct findings *findings);

#endif
