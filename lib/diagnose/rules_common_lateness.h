#ifndef NCCLPROF_DIAGNOSE_RULES_COMMON_LATENESS_H
#define NCCLPROF_DIAGNOSE_RULES_COMMON_LATENESS_H

#include "diagnose/suspect.h"

/*
 * In a step in which all hosts, or all of one role, are later than usual (kernels loaded for a new
 * shape, a checkpoint, a collection of garbage) some are latest, and none of them is to blame; nor is a GPU
 * for most of such steps; nor does lateness say anything where there is no other rank to hold it against.
 * Fills in suspects->unrest_ns. -1 when memory is out.
 */
int suspects_doubt_unrest(struct suspects *suspects, const struct job *job, const struct baseline *baseline);

#endif
