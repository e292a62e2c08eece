#ifndef NCCLPROF_JOB_WARNINGS_H
#define NCCLPROF_JOB_WARNINGS_H

#include "job/job.h"

struct loader;

/* What ranks warned of, and at which addresses their hosts are reached, as NCCL's log tells. */
int loader_read_warnings(struct loader *loader, struct error *error);

#endif
