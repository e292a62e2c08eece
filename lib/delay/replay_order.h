#ifndef NCCLPROF_DELAY_REPLAY_ORDER_H
#define NCCLPROF_DELAY_REPLAY_ORDER_H

#include "delay/replay.h"

/* replay_init's parts, once `ends` and `after` are filled in. -1 when memory is out. */
int replay_list_leavers(struct replay *replay);
int replay_find_moves(struct replay *replay);

#endif
