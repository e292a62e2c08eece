#ifndef NCCLPROF_JOB_CHOOSE_STEPS_H
#define NCCLPROF_JOB_CHOOSE_STEPS_H

#include "job/screening.h"

/* Steps of a run that are worth loading where memory does not hold all. */
struct chosen_steps {
    struct job_excerpt *excerpts; /* owned by the caller; ascending, none of which touch */
    size_t count;
    int32_t unusual;    /* rows of steps that stood out */
    int32_t left_out;   /* of those, of which no step is chosen */
    int32_t left_steps; /* how many steps these are */
    int32_t left_first; /* the first step of the first of these */
};

/*
 * Takes about as many steps as have `most_operations` operations, a few at the least: the first ones that are
 * recorded, from `first_step` on, the last ones, those in which the records of single ranks end, where steps
 * change or stand out, and of the rest rows of steps evenly spread; where that is few, one row. The same
 * screening always gives the same steps. -1 when memory is out.
 */
int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 struct chosen_steps *chosen);

#endif
