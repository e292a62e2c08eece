#ifndef NCCLPROF_DELAY_LATE_ARRIVALS_H
#define NCCLPROF_DELAY_LATE_ARRIVALS_H

#include "delay/propagation.h"

/*
 * Who came last and what the others waited for it, from durations alone: all that can be told of a run in
 * which no operation says when it ran. Why it came last stays unexplained. Operations are gone through once
 * and not kept, so that this takes little memory whatever their number.
 *
 * `job` has its names (job_load_names); its ranks' counts are filled in. 1 with *delays, one per rank and
 * owned by the caller (free); 0 where operations do say when they ran: then delays_measure tells more, and
 * nothing has changed; -1 on error.
 */
int waits_measure(struct job *job, struct delay **delays, struct error *error);

#endif
