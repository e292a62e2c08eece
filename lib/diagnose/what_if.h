#ifndef NCCLPROF_DIAGNOSE_WHAT_IF_H
#define NCCLPROF_DIAGNOSE_WHAT_IF_H

#include "delay/replay.h"
#include "diagnose/suspect.h"

/*
 * What the job would gain without each of the strongest 64 (gain_ns). Puts them in order of total_ns.
 * `replay`: of the job, and left as it is; NULL where nothing has times on the device. -1 when memory is out.
 */
int suspects_weigh(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct transfer_excess *transfers, struct replay *replay);

#endif
