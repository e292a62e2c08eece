#ifndef NCCLPROF_BASELINE_PROGRAMMES_H
#define NCCLPROF_BASELINE_PROGRAMMES_H

#include "baseline/step_sequence.h"

/* So many programmes of a rank have places of their own. */
enum { MOST_PROGRAMMES = 16 };

/*
 * What the steps of a rank are like: the sequence that most of them have, and those of its other regular
 * stretches (batches that ramp up, longer sequences, an evaluation), each in as many steps in a row as make
 * one. The same sequence under another load (loads.h) is another programme. Each step is of one of them,
 * however little of it it has: where it is as none of them, of that which came before it, or else after it.
 */
struct programmes {
    struct stretch canonical[MOST_PROGRAMMES];
    int32_t load[MOST_PROGRAMMES];
    int32_t first_step[MOST_PROGRAMMES]; /* that is of it */
    int32_t count;                       /* 0: the rank has no steps */
    int32_t *of_step;                    /* owned */
};

/*
 * `stretches` are those of the rank, one for each step of the job, as are `loads`; `scratch` has room for as
 * many. Release them whatever comes back: -1 when memory is out.
 */
int programmes_find(struct programmes *programmes, const struct stretch *stretches, const int32_t *loads,
                    int32_t first_step, int32_t step_count, struct stretch *scratch);
void programmes_release(struct programmes *programmes);

#endif
