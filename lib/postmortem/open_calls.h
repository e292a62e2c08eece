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
 * saw what hosts that run look like, too. -1: it is not to be named, as RAS saw the job once, and
 * most ranks where this one is.
 */
int open_calls_confidence(const struct absence *absence, int32_t rank);

#endif
