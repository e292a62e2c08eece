#ifndef NCCLPROF_COMPARE_USUAL_H
#define NCCLPROF_COMPARE_USUAL_H

#include "baseline/baseline.h"
#include "verdict/finding.h"

/*
 * The steps by which a run is held against another one: after the warm-up, of known length, of the regular
 * stretch that has most of them; without those that a finding of diagnose covers, as long as half are left.
 * What a finding covers is held against the other run as a finding.
 */
struct usual {
    int32_t *steps;  /* owned; ascending */
    int32_t *places; /* owned: of each step of the job, where it is in `steps`; -1 */
    size_t count;
    int32_t after_warm_up; /* of all steps */
};

/* -1 when memory is out; to be released whatever it returns. */
int usual_find(struct usual *usual, const struct job *job, const struct baseline *baseline,
               const struct findings *findings);
void usual_release(struct usual *usual);

#endif
