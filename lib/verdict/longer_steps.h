#ifndef NCCLPROF_VERDICT_LONGER_STEPS_H
#define NCCLPROF_VERDICT_LONGER_STEPS_H

#include "verdict/finding.h"
#include "verdict/options.h"
#include "verdict/usual_steps.h"

/*
 * Steps that lasted longer than usual (usual_steps.h), whoever is to blame: rows of them, and single ones
 * that lasted twice as long. A step is longer from a tenth of its usual length on, or from what a finding
 * must be worth if that is more, and from `sigmas` times the noise.
 */
struct longer_row {
    int32_t first; /* -1: of a later round (longer_steps_add_round), whose numbers are gone */
    int32_t last;
    int32_t run_first; /* the same in the run */
    int32_t run_last;
    int32_t steps;    /* of them, those that were longer */
    int64_t usual_ns; /* of those, on average */
    int64_t took_ns;
    int64_t lost_ns; /* by which they were longer, in all */
    int explained;   /* findings of medium or high confidence, or of a job that stopped, say half of that */
    int became;      /* it goes on for so long that it is no hiccup */
};

struct longer_steps {
    struct usual_steps usual;
    struct longer_row *rows; /* owned; in order */
    size_t count;
    size_t capacity;
    int32_t period;       /* in steps, of single steps that recur as checkpoints do; 0: they do not */
    int are_called;       /* steps last from call to call (baseline.h): no alarm */
    int32_t started_step; /* the first after the warm-up and what may be its last steps: sums begin with it */
    int64_t whole_ns;     /* of all steps whose length is known, without the warm-up */
    int64_t lost_ns;      /* by which steps were longer, or what findings say they cost if that is more */
    int64_t explained_ns; /* of that, what findings of medium or high confidence say */
};

/* Wants what findings_find fills in. -1 when memory is out: release it all the same. */
int longer_steps_find(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                      const struct findings *findings, const struct diagnose_options *options);
void longer_steps_release(struct longer_steps *longer);

/* Adds those of a later round (job/load.h) of the same run, and its sums. -1 when memory is out. */
int longer_steps_add_round(struct longer_steps *longer, const struct longer_steps *round);

/* The row that lost most of those that nothing explains and that are no recurring ones; of later rounds only
 * where there is no other; NULL: none. */
const struct longer_row *longer_steps_unexplained(const struct longer_steps *longer);

/*
 * Whether steps became longer without anybody to blame: an unexplained row that is no hiccup, or such rows
 * and single steps that cost the job a tenth of its time. Not where calls alone tell how long steps were.
 */
int longer_steps_alarm(const struct longer_steps *longer);

#endif
