#ifndef NCCLPROF_JOIN_LOST_FILES_H
#define NCCLPROF_JOIN_LOST_FILES_H

#include "join/work.h"

/*
 * Of each run, whether files that were lost explain the places left in its communicators, the world aside:
 * ranks that are in fewer than most could take all of them, by number and by their order. Owned by the
 * caller; NULL: out of memory.
 */
unsigned char *work_find_lost_files(const struct work *work);

#endif
