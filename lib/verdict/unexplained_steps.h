#ifndef NCCLPROF_VERDICT_UNEXPLAINED_STEPS_H
#define NCCLPROF_VERDICT_UNEXPLAINED_STEPS_H

#include "baseline/baseline.h"
#include "model/table.h"
#include "network/transfer_excess.h"
#include "verdict/finding.h"

/*
 * Steps that lasted longer than usual, where the findings do not explain half of that: the row of them, or
 * the single one, that lost most. Several in a row count from a tenth of the median step, and from `sigmas`
 * times its noise; one alone where it lasted twice as long. Wants what findings_find fills in.
 */
int caution_unexplained(const struct job *job, const struct baseline *baseline,
                        const struct transfer_excess *transfers, const struct findings *findings,
                        double sigmas, struct table *table, struct error *error);

#endif
