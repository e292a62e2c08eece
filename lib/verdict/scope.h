#ifndef NCCLPROF_VERDICT_SCOPE_H
#define NCCLPROF_VERDICT_SCOPE_H

#include "baseline/baseline.h"

/*
 * What of a job was held against what is usual, and what was not: a silence is worth no more than that.
 * Operations are counted as records of single ranks. The warm-up is neither.
 */
enum gap {
    GAP_NO_STEP = 0,  /* it is in no recognised step, or at no place of its step */
    GAP_NO_TIME,      /* nothing tells when it began or ended */
    GAP_NO_OPERATION, /* called, and of what came of it there is no record */
    GAP_LOST,         /* missing between others of its sequence */
    GAP_LEFT_OUT,     /* likewise, on all ranks alike, as a recorder's filter leaves them out */
    GAP_ENDED_EARLY,  /* others did it with a rank whose record had ended */
    GAP_DAMAGED,      /* a line that cannot be read, or an event that the recorder dropped */
    GAP_COUNT
};

/* Why nothing of a job was judged; the first that applies. */
enum blindness {
    BLIND_NOT = 0,
    BLIND_NO_OPERATIONS,
    BLIND_NO_TIMES,  /* no operation says when it ran, and there are no network steps */
    BLIND_CALLS,     /* recorders tell when operations were called and how long they took: not when */
    BLIND_NO_ENDS,   /* none says when it ended, and there are no network steps */
    BLIND_ONE_RANK,  /* nobody to compare it with */
    BLIND_FEW_STEPS, /* fewer than three */
    BLIND_IRREGULAR, /* less than half of what ranks did has its place in a step */
    BLIND_LITTLE     /* less than half of the operations, of the ranks or of the time */
};

struct scope {
    enum blindness blindness;
    int networks_only;       /* late ranks cannot show */
    unsigned astray_kernels; /* enum astray: why operations may have no times */
    int64_t operations;      /* of all ranks that recorded something: with those of which no record is left */
    int64_t warm_up;         /* of those, in the steps that are never judged */
    int64_t judged;
    int64_t gaps[GAP_COUNT]; /* the rest, by reason */
    int64_t ranks;           /* that the job has, or at least */
    int64_t recorded_ranks;  /* that left a trace */
    int64_t judged_ranks;    /* of which half of the operations were judged, or more */
    int64_t time_ns;         /* of all ranks, from operation to operation; the warm-up left out */
    int64_t judged_ns;       /* of that, from one that was judged */
    int32_t first_step;      /* that were judged, in the run */
    int32_t last_step;
    int32_t loaded_steps; /* where the run is loaded in excerpts: of all, these; else 0 */
    int32_t rounds;       /* that they were loaded in */
    int32_t run_steps;
};

/* Of a job that was loaded, held against its baseline. */
void scope_measure(struct scope *scope, const struct job *job, const struct baseline *baseline);

/*
 * Adds what was judged in a later round (job/load.h) of the same run. Operations that are lacking in it are
 * not counted.
 */
void scope_add_round(struct scope *scope, const struct scope *round);

/* Whether more than a tenth of the operations, of the ranks or of the time was not judged, or a whole kind.
 */
int scope_is_partial(const struct scope *scope);

#endif
