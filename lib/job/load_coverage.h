#ifndef NCCLPROF_JOB_LOAD_COVERAGE_H
#define NCCLPROF_JOB_LOAD_COVERAGE_H

#include "job/loader.h"

/* What of the run is damaged, lost, cut off or left out by its recorder. Instances are there. */
int loader_read_coverage(struct loader *loader, struct error *error);

#endif
