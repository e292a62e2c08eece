#ifndef NCCLPROF_BASELINE_ROLES_H
#define NCCLPROF_BASELINE_ROLES_H

#include "baseline/baseline.h"

/* baseline_init's part: positions of operations, and which ranks play one role. -1 when memory is out. */
int baseline_find_roles(struct baseline *baseline, const struct job *job);

#endif
