#ifndef NCCLPROF_STALLS_VERDICT_H
#define NCCLPROF_STALLS_VERDICT_H

#include "base/error.h"
#include "stalls/stalls.h"

/* Gives every edge what its waits alone say, as `measured` and as verdict. */
int stalls_judge(struct stalls *stalls, const struct stalls_options *options, struct error *error);

/* Whether a verdict is that the network, or an end of it, was slow. */
int stalls_is_slow(enum stalls_verdict verdict);

/*
 * Fills in what an edge waited beyond the usual in those training steps, where its own verdict rests on none.
 * Before edges are put in another order.
 */
void stalls_measure_steps(struct stalls *stalls, size_t edge, int32_t first_step, int32_t last_step);

const char *stalls_verdict_name(enum stalls_verdict verdict);

#endif
