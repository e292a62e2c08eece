#ifndef NCCLPROF_DIAGNOSE_RULES_COVERAGE_H
#define NCCLPROF_DIAGNOSE_RULES_COVERAGE_H

#include "diagnose/suspect.h"

/* What a record lacks, and with what a suspicion can be compared. */

/* The share of operations that are missing from their sequences; what all ranks lack was left out. */
double job_gaps(const struct job *job);

/* Records missing between others, or lines lost, leave room for another explanation. */
int job_has_gaps(const struct job *job);

/* Whether an operation may be unrecorded that a rank waited in: lost, or left out between stages. */
int job_may_hide_operations(const struct job *job);

/* Asks the rules. */
void suspect_ask_coverage(struct suspect *suspect, const struct job *job, const struct baseline *baseline);

#endif
