#ifndef NCCLPROF_POSTMORTEM_OPEN_CALLS_H
#define NCCLPROF_POSTMORTEM_OPEN_CALLS_H

#include "postmortem/pending.h"

/*
 * Jobs of which only calls are recorded (struct job, calls_only): NCCL's log, and its RAS. What became of a
 * call is not known. Yet nobody gets past one that others never made; and hosts that wait call nothing more.
 */

/*
 * How sure it is that a rank which never made a call others made is what they wait for. Low where the log may
 * be of a job that still ran: who made the call went on to different places, which hosts that wait do not;
 * where the rank may itself wait for one of which there is no log; and where NCCL's RAS
 * saw what hosts that run look like, too.
 */
enum confidence open_calls_confidence(const struct absence *absence, int32_t rank);

/*
 * Whether those who made the call are the exception, in one moment that NCCL's RAS saw: of hosts that run
 * some are always ahead, and nobody is missing.
 */
int open_calls_are_ahead(const struct job *job, const struct job_instance *instance);

#endif
