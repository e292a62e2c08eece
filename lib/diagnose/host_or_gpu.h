#ifndef NCCLPROF_DIAGNOSE_HOST_OR_GPU_H
#define NCCLPROF_DIAGNOSE_HOST_OR_GPU_H

#include "diagnose/suspect.h"

/*
 * Whether the host is to blame for an operation's excess: it was handed to the GPU later than usual,
 * when that had nothing to do, by half of the excess. Otherwise the GPU had it in its queue and was busy.
 * Within a step an eighth is enough: computation that runs beside communication is late with the host, and
 * then takes its time. A host that waits for GPU work after the last operation of a step is late likewise:
 * nothing in a trace of communication tells the two apart.
 */
int is_late_by_host(const struct job *job, const struct baseline *baseline,
                    const struct job_operation *operation);
/* Whether its host was late within the step: that hides nothing. It waits for its GPU at the end of one. */
int is_late_within(const struct job *job, const struct baseline *baseline,
                   const struct job_operation *operation);

/*
 * Whether more than half of the excess is the host's: of that before operations whose own time is known,
 * where it is a quarter of all or more. Lateness of hidden origin does not say whose it is.
 */
int is_mostly_hosts(const struct suspect *suspect, const struct job *job, const struct baseline *baseline);

/* The sentence of the evidence that says which of the two it was: ". The host enqueued it late". */
const char *host_or_gpu_text(enum finding_kind kind);

#endif
