#ifndef NCCLPROF_POSTMORTEM_DIVERGENCE_H
#define NCCLPROF_POSTMORTEM_DIVERGENCE_H

#include "postmortem/pending.h"

/*
 * Where nobody is merely absent: on one communicator, some wait in one operation and some in another. Who of
 * them is to blame. -1 when memory is out.
 */
int find_mismatches(const struct absence *absence, struct findings *findings);

#endif
