#ifndef NCCLPROF_JOIN_SPLIT_BY_NUMBER_H
#define NCCLPROF_JOIN_SPLIT_BY_NUMBER_H

#include "join/work.h"

/* A rank for all that are left of the processes marked in `shared`. */
int work_place_alike(struct work *work, const unsigned char *shared, struct error *error);

#endif
