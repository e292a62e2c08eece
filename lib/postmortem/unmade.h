#ifndef NCCLPROF_POSTMORTEM_UNMADE_H
#define NCCLPROF_POSTMORTEM_UNMADE_H

#include "verdict/finding.h"

/*
 * Communicators whose making never ended, as NCCL's log tells: ranks that are in the log up to "Init START"
 * and not to "Init COMPLETE". Where no rank got past the bootstrap, and ranks of the communicator have no
 * such line, those are missing; else the ranks that are stuck are candidates, and nobody knows which of them,
 * or what between them, holds up the others. Of several such communicators the first is told. Nothing where
 * ranks made calls on it later: its lines are merely lost.
 */
int find_unmade(const struct job *job, struct findings *findings);

#endif
