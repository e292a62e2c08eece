#ifndef NCCLPROF_POSTMORTEM_MISMATCH_H
#define NCCLPROF_POSTMORTEM_MISMATCH_H

#include "verdict/finding.h"

/*
 * Who called a collective with another size, datatype or root than the other members, or two in
 * another order: of each communicator the first that holds somebody up, else the first. `stuck` says so, by
 * instance; `positions` are the baseline's. -1 when memory is out.
 */
int find_disagreements(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                       struct findings *findings);

#endif
