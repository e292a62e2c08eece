#ifndef NCCLPROF_JOB_CHOOSE_STEPS_H
#define NCCLPROF_JOB_CHOOSE_STEPS_H

#include "job/screening.h"

/* Steps that memory holds at once, ascending, none of which touch. */
struct step_round {
    struct job_excerpt *excerpts; /* owned */
    size_t count;
};

/* There is an end to looking at places that stand out: each round reads what the store says of all steps. */
enum { MOST_ROUNDS = 16 };

/*
 * Steps of a run that are worth loading where memory does not hold all: the first round, and more of them,
 * of other steps, for places that stand out and found no room in it. All begin with the first step, by which
 * warm-up and times are told; no other is in two.
 */
struct chosen_steps {
    struct step_round rounds[MOST_ROUNDS];
    size_t count;       /* of rounds */
    int32_t unusual;    /* rows of steps that stood out */
    int32_t left_out;   /* of those, of which no step is chosen */
    int32_t left_steps; /* how many steps these are */
    int32_t left_first; /* the first step of the first of these */
};

/*
 * In the first round about as many steps as have `most_operations` operations, a few at the least: the first
 * ones that are recorded, from `first_step` on, the last ones, those in which the records of single ranks
 * end, where steps change or stand out, and of the rest rows of steps evenly spread. Where that is few, one
 * row, or none where something stands out and has a round of its own; `most_rounds` are MOST_ROUNDS or less.
 * The same screening always gives the same steps. -1 when memory is out; release it all the same.
 */
int steps_choose(const struct screening *screening, int32_t first_step, int64_t most_operations,
                 int32_t most_rounds, struct chosen_steps *chosen);
void chosen_steps_release(struct chosen_steps *chosen);

#endif
