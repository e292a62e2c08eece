#ifndef NCCLPROF_JOIN_CHANGES_H
#define NCCLPROF_JOIN_CHANGES_H

#include "join/work.h"

/* Which runs are to be joined anew, and what is known of the others' steps. */
int work_find_changes(struct work *work, struct store *store, struct error *error);

#endif
