#ifndef NCCLPROF_BASELINE_SEQUENCE_MATCH_H
#define NCCLPROF_BASELINE_SEQUENCE_MATCH_H

#include "baseline/step_sequence.h"

/*
 * Sets the positions (by operation) of a rank's operations: which of the canonical sequence each one is, in
 * order; -1 for one that is none of them. Where records are missing, by sequence numbers; else by size and
 * call. Steps of more than four times as many operations are left alone. Linear in the operations. -1 when
 * memory is out.
 */
int positions_match(const struct job *job, const struct stretch *stretches, struct stretch canonical,
                    int32_t *positions);

#endif
