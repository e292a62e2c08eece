#ifndef NCCLPROF_JOIN_STEPS_BY_ALL_RANKS_H
#define NCCLPROF_JOIN_STEPS_BY_ALL_RANKS_H

#include "join/steps.h"

/* Steps where traces lost operations, so that no single rank tells them. */

/* Whether operations of a rank on a communicator are missing in their sequences. */
int steps_have_losses(struct blocks *blocks, const struct work *work, int32_t rank, int32_t communicator,
                      int *lost, struct error *error);

/*
 * What steps_find_ends finds, where no rank's operations repeat: from the collectives of the communicators
 * that all share, put together from all ranks. Each begins a step. *count is one less than that of the steps,
 * 0 when those do not repeat either. *more tells whether all together have
 * operations that the one rank has not. The caller frees *ends.
 */
int steps_from_shared(struct blocks *blocks, const struct work *work, int32_t rank,
                      const struct shared_communicators *shared, struct step_end **ends, size_t *count,
                      int *more, struct error *error);

#endif
