#ifndef NCCLPROF_DIAGNOSE_WHAT_IF_H
#define NCCLPROF_DIAGNOSE_WHAT_IF_H

#include "diagnose/suspect.h"

/* What the job would gain without each of the strongest 64 (gain_ns). Puts them in order of
 * total_ns. -1 when memory is out. */
int suspects_weigh(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct transfer_excess *transfers, struct error *error);

#endif
