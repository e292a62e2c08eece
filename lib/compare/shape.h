#ifndef NCCLPROF_COMPARE_SHAPE_H
#define NCCLPROF_COMPARE_SHAPE_H

#include "compare/measured_run.h"
#include "compare/usual.h"

/*
 * What a run is: its ranks, what a step calls, which communicators' data goes over the network, and which
 * ranks share a host. -1 when memory is out.
 */
int shape_measure(struct measured_run *run, const struct job *job, const struct usual *usual);

#endif
