#ifndef NCCLPROF_POSTMORTEM_CALLED_OTHERWISE_H
#define NCCLPROF_POSTMORTEM_CALLED_OTHERWISE_H

#include "postmortem/wait_graph.h"
#include "verdict/finding.h"

/*
 * Where ranks wait: who made another call than the others under the same number: another function, datatype
 * or size, and of AlltoAll, whose sizes may differ, another width of its rows. The majority is right; where
 * there is none, all are candidates. -1 when memory is out.
 */
int find_called_otherwise(const struct wait_graph *graph, struct findings *findings);

#endif
