#ifndef NCCLPROF_JOIN_TOLD_MEMBERS_H
#define NCCLPROF_JOIN_TOLD_MEMBERS_H

#include "join/work.h"

/*
 * Unites processes of one job that share no communicator in what they recorded: where files list the global
 * ranks that are in a communicator, and a process of the same directory is told to be one of these, and no
 * other is. Processes are grouped (work_group_members). `parent` is of each process (base/disjoint.h).
 */
int work_unite_told(const struct work *work, int32_t *parent, struct error *error);

#endif
