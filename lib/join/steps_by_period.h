#ifndef NCCLPROF_JOIN_STEPS_BY_PERIOD_H
#define NCCLPROF_JOIN_STEPS_BY_PERIOD_H

#include "join/steps.h"

/* Steps of a rank without tags, from the period of its operations. */

/* What a rank's operations tell. Owned by the caller. */
struct own_steps {
    size_t *starts;                  /* numbers of operations that begin a step */
    size_t count;                    /* 0 unless cycles cover most of them */
    struct communicator_life *lives; /* of each of its members: numbers of the first and the last operation */
};

/* `operations` is how many the rank has. Release it whatever comes back. */
int steps_from_period(struct blocks *blocks, const struct work *work, int32_t rank, size_t operations,
                      struct own_steps *steps, struct error *error);
void own_steps_release(struct own_steps *steps);

/*
 * In each step but the last of a rank, its last collective on one of the communicators that all share. *count
 * is one less than that of the steps when all have one. The caller frees *ends.
 */
int steps_find_ends(struct blocks *blocks, const struct work *work, int32_t rank,
                    const struct own_steps *steps, const struct shared_communicators *shared,
                    struct step_end **ends, size_t *count, struct error *error);

#endif
