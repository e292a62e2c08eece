#ifndef NCCLPROF_JOIN_STEPS_BY_PERIOD_H
#define NCCLPROF_JOIN_STEPS_BY_PERIOD_H

#include "join/steps.h"

/* Steps of a rank without tags, from the period of its operations. */

/*
 * The cycle of a rank's operations: the numbers of those that begin a step; *count 0 unless it covers most of
 * them. The caller frees *starts. `operations` is how many there are.
 */
int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      size_t **starts, size_t *count, struct error *error);

/*
 * In each step but the last of a rank, its last collective on a communicator that all share. *count is one
 * less than that of the steps when all have one. The caller frees *ends.
 */
int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank, const size_t *starts,
                    size_t start_count, int32_t shared, struct step_end **ends, size_t *count,
                    struct error *error);

#endif
