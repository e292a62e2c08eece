#ifndef NCCLPROF_NETWORK_BLAME_BY_EDGES_H
#define NCCLPROF_NETWORK_BLAME_BY_EDGES_H

#include "network/edges.h"
#include "network/transfer_excess.h"

/* Whose links made slow instances slow (culprit). -1 when memory is out. */
int edges_blame(const struct job *job, const struct edges *edges, struct transfer_excess *transfers);

#endif
