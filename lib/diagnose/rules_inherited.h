#ifndef NCCLPROF_DIAGNOSE_RULES_INHERITED_H
#define NCCLPROF_DIAGNOSE_RULES_INHERITED_H

#include "diagnose/suspect.h"

struct edges;

/*
 * Where what a rank is under suspicion for may be waiting for another one under greater suspicion,
 * because receives or some channels do not say when they ended, the trace cannot tell.
 */
void suspects_doubt(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, const struct transfer_excess *transfers);

#endif
