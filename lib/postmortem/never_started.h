#ifndef NCCLPROF_POSTMORTEM_NEVER_STARTED_H
#define NCCLPROF_POSTMORTEM_NEVER_STARTED_H

#include "verdict/finding.h"

struct passing;

/* Whose GPU never began what its host had called, where others wait. -1 when memory is out. */
int find_frozen(const struct passing *passing, struct findings *findings);

#endif
