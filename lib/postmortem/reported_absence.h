#ifndef NCCLPROF_POSTMORTEM_REPORTED_ABSENCE_H
#define NCCLPROF_POSTMORTEM_REPORTED_ABSENCE_H

#include "verdict/finding.h"

/*
 * What ranks report of others, in PyTorch's log: its desync report says who did not join, or did not finish,
 * what the others did. Evidence of the finding that accuses that rank already, else a finding of its own,
 * unless records accuse another one surely, or show that the rank waits as the others do. Takes the place of
 * candidates that left no record. -1 when memory is out.
 */
int find_reported_absence(const struct job *job, struct findings *findings);

#endif
