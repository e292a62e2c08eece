#ifndef NCCLPROF_DIAGNOSE_RULES_COMMON_CAUSE_H
#define NCCLPROF_DIAGNOSE_RULES_COMMON_CAUSE_H

#include "verdict/finding.h"

/*
 * What more than half of the recorded ranks (three at least) are named for in most of the same steps
 * may have a cause that is common to them: such findings get low confidence. Wants what suspects_judge adds,
 * and no other findings. -1 when memory is out.
 */
int findings_doubt_crowd(struct findings *findings, const struct job *job);

/*
 * Likewise a network in two of whose steps, or in its only one, two others were slow at once and more, in all
 * by a third as much, and none of them is believed to be at fault: a switch or a host that they share may be.
 */
int findings_doubt_shared(struct findings *findings, const struct job *job);

#endif
