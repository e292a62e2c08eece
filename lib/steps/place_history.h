#ifndef NCCLPROF_STEPS_PLACE_HISTORY_H
#define NCCLPROF_STEPS_PLACE_HISTORY_H

#include "baseline/baseline.h"
#include "steps/step_history.h"

/* What of the call at one place of a step is looked at. */
enum place_time {
    PLACE_GAP,     /* own time before it */
    PLACE_TRANSFER /* its transfer; peers are instances that none of the ranks is in */
};

/*
 * Of some ranks of one role, beside the others of it, at a position of the role; the warm-up is left out. -1
 * when memory is out: release it all the same.
 */
int place_history_init(struct step_history *history, const struct job *job, const struct baseline *baseline,
                       const int32_t *ranks, size_t rank_count, int32_t position, enum place_time what);

#endif
