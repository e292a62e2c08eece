/* What a later NCCL may come with, or a broken one. */
#ifndef FAKECORE_UNKNOWN_H
#define FAKECORE_UNKNOWN_H

#include "fakecore_play.h"

/*
 * Events, states and ids of network plugins that the version played does not know: who reads more of them
 * than their number dies. An exit status.
 */
int fake_unknown(struct fake_job *job);

#endif
