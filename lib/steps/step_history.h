#ifndef NCCLPROF_STEPS_STEP_HISTORY_H
#define NCCLPROF_STEPS_STEP_HISTORY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A time of somebody in each step, beside the same of others: what a finding rests on, to be drawn. All
 * times are nanoseconds; TIME_UNKNOWN where the trace does not tell.
 */
struct step_history {
    int32_t first_step;
    int32_t steps;
    int64_t *mine_ns;  /* owned, as all below; [step - first_step]: median, where it is of several */
    int64_t *peers_ns; /* median of the others */
    int64_t *low_ns;   /* a tenth of them are at or below it */
    int64_t *high_ns;  /* and above it */
};

/* Of nothing known yet. -1 when memory is out: release it all the same. */
int step_history_init(struct step_history *history, int32_t first_step, int32_t end_step);
void step_history_release(struct step_history *history);

/* Fills in a step from lists of values, which are reordered; empty ones leave it unknown. */
void step_history_set(struct step_history *history, int32_t step, int64_t *mine, size_t mine_count,
                      int64_t *peers, size_t peer_count);

/* In how many steps the time is known. */
int32_t step_history_known(const struct step_history *history);

#endif
