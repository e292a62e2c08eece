#ifndef NCCLPROF_DIAGNOSE_FINDINGS_DETAIL_H
#define NCCLPROF_DIAGNOSE_FINDINGS_DETAIL_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"

/*
 * Fills in of findings what is only asked for when they are told: the first operation in which each shows and
 * when that was, how much falls on each phase, and who waited. -1 when memory is out.
 *
 * What falls on a phase is excess own time that stands out (baseline.h); of findings that the score tells,
 * own time beyond the median of the ranks of its role that are not accused; of a network, slow transfers. It
 * is summed over operations, of which some run side by side, and of several ranks it is the mean.
 */
int findings_detail(struct findings *findings, const struct job *job, const struct baseline *baseline,
                    const struct transfer_excess *transfers);

#endif
