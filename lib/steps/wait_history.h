#ifndef NCCLPROF_STEPS_WAIT_HISTORY_H
#define NCCLPROF_STEPS_WAIT_HISTORY_H

#include "job/job.h"
#include "steps/step_history.h"

/*
 * What network steps waited for the network (SendWait) on average, of what some ranks send, or of what is
 * sent to them, beside that of each other rank. -1 when memory is out: release it all the same.
 */
int wait_history_init(struct step_history *history, const struct job *job, const int32_t *ranks,
                      size_t rank_count, int by_receiver);

#endif
