#ifndef NCCLPROF_COMPARE_MEASURE_NETWORK_H
#define NCCLPROF_COMPARE_MEASURE_NETWORK_H

#include "compare/measured_run.h"
#include "compare/usual.h"

/* Transfers by function, size and number of ranks. `is_over`: of each communicator, whether its data goes
 * over the network. -1 when memory is out. */
int measure_transfers(struct measured_run *run, const struct job *job, const struct usual *usual,
                      const unsigned char *is_over);

/* Edges, by sender and receiver, as the sending side recorded them. -1 when memory is out. */
int measure_edges(struct measured_run *run, const struct job *job, const struct usual *usual);

#endif
