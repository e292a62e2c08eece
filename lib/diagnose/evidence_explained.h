#ifndef NCCLPROF_DIAGNOSE_EVIDENCE_EXPLAINED_H
#define NCCLPROF_DIAGNOSE_EVIDENCE_EXPLAINED_H

#include "score/explain.h"
#include "verdict/finding.h"

/*
 * Says as evidence of a finding the figures of an explanation at the place of the step where its slowest rank
 * is slow by most: medians of own time there, of it in the steps concerned, of the ranks of its role that are
 * not at fault, and of itself in other steps. -1 when memory is out.
 */
int evidence_of_explanation(const struct explanation *explanation, const struct job *job,
                            const struct baseline *baseline, struct finding *finding);

#endif
