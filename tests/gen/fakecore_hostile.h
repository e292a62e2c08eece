/*
 * Calls that NCCL should not make, may make, or makes in one of a thousand jobs. Each function returns an
 * exit status.
 */
#ifndef FAKECORE_HOSTILE_H
#define FAKECORE_HOSTILE_H

#include "fakecore_play.h"

/* Null and stale handles, contexts and parents, unknown types and states, long names, double finalize. */
int fake_hostile(struct fake_job *job);
/* Forks in the middle of a job. anew: the child continues with its own communicators. */
int fake_fork(struct fake_job *job, bool anew);
/* Sixteen threads create and end communicators at the same time. */
int fake_init_race(struct fake_job *job);
/* Plays NVTX's side of the injection interface: ranges, marks, domains, registered and wide texts. */
int fake_nvtx(struct fake_job *job);

#endif
