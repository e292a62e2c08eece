#ifndef NCCLPROF_DIAGNOSE_EVIDENCE_OWN_H
#define NCCLPROF_DIAGNOSE_EVIDENCE_OWN_H

#include "diagnose/suspect.h"

/*
 * Says as evidence of a finding the figures that a suspicion of compute or host rests on at a position of the
 * step: its own time there, its peers', and its own in other steps, medians; of the step in which it was
 * latest there where the median does not stand out. Nothing where it was not late there. -1 when memory is
 * out.
 */
int evidence_of_own(const struct suspect *suspect, const struct job *job, const struct baseline *baseline,
                    int32_t position, struct finding *finding);

#endif
