#ifndef NCCLPROF_NETWORK_BLAME_BY_EDGES_H
#define NCCLPROF_NETWORK_BLAME_BY_EDGES_H

#include "network/edges.h"

/* Whose links made slow instances slow (culprit). -1 when memory is out. */
int edges_blame(struct job *job, const struct edges *edges);

#endif
