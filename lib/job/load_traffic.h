#ifndef NCCLPROF_JOB_LOAD_TRAFFIC_H
#define NCCLPROF_JOB_LOAD_TRAFFIC_H

#include "job/loader.h"

/* The network steps. Operations are laid out. */
int loader_read_traffic(struct loader *loader, struct error *error);

#endif
