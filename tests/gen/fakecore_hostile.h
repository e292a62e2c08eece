/* What NCCL should not do, may do, or does once in a thousand jobs. Each returns an exit status. */
#ifndef FAKECORE_HOSTILE_H
#define FAKECORE_HOSTILE_H

#include "fakecore_play.h"

/* Null and stale handles, contexts and parents, unknown types and states, long names, double finalize. */
int fake_hostile(struct fake_job *job);
/* Forks in the middle of a job. anew: the child goes on with communicators of its own. */
int fake_fork(struct fake_job *job, bool anew);
/* Sixteen threads create and end communicators at once. */
int fake_init_race(struct fake_job *job);
/* Plays NVTX's side of the injection interface: ranges, marks, domains, registered and wide texts. */
int fake_nvtx(struct fake_job *job);

#endif
