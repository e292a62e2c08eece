/* Events of a later or a broken NCCL. */
#ifndef FAKECORE_UNKNOWN_H
#define FAKECORE_UNKNOWN_H

#include "fakecore_play.h"

/*
 * Events, states and IDs of network plugins that the played version does not know: reading more of them than
 * their number crashes. Returns an exit status.
 */
int fake_unknown(struct fake_job *job);

#endif
