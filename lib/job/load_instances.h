#ifndef NCCLPROF_JOB_LOAD_INSTANCES_H
#define NCCLPROF_JOB_LOAD_INSTANCES_H

#include "job/loader.h"

/* The instances of the run. */
int loader_read_instances(struct loader *loader, struct error *error);

#endif
