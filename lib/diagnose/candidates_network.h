#ifndef NCCLPROF_DIAGNOSE_CANDIDATES_NETWORK_H
#define NCCLPROF_DIAGNOSE_CANDIDATES_NETWORK_H

#include "diagnose/suspect.h"

struct edges;

/* Ranks whose transfers were slow. Fills in `transfers` (transfers_new). */
int suspect_network(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, struct transfer_excess *transfers,
                    const struct diagnose_options *options, struct error *error);

#endif
