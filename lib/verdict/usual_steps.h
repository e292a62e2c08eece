#ifndef NCCLPROF_VERDICT_USUAL_STEPS_H
#define NCCLPROF_VERDICT_USUAL_STEPS_H

#include "baseline/baseline.h"

/*
 * How long each step should have been. Steps of one load are held against each other: those that have as many
 * operations and as many bytes, give or take a tenth, so that evaluation, accumulation and growing batches
 * are no lengthening. Their usual is what the quiet ones of them last (quiet_of): a fault may fill most of a
 * job.
 */
struct usual_steps {
    int64_t *usual_ns; /* owned; of each step; TIME_UNKNOWN where too few are like it, and in the warm-up */
    int64_t *noise_ns; /* owned; by how much steps of its load differ from one to the next, as sigma */
    int32_t *load;     /* owned; number of its load, in the order in which they came; -1 none */
    int32_t load_count;
    int64_t *bytes; /* owned; of all its operations, once for each that several ranks shared */
};

/* Wants job_index_steps and baseline_measure_steps. -1 when memory is out: release it all the same. */
int usual_steps_init(struct usual_steps *usual, const struct job *job, const struct baseline *baseline);
void usual_steps_release(struct usual_steps *usual);

#endif
