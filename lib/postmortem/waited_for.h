#ifndef NCCLPROF_POSTMORTEM_WAITED_FOR_H
#define NCCLPROF_POSTMORTEM_WAITED_FOR_H

#include "verdict/finding.h"

/*
 * Whose fault it is that a job stands still, where its recorder tells how far each call came (job->calls): by
 * the graph of who waits for whom. Never who waits. -1 with `error` set when memory is out.
 */
int find_waited_for(const struct job *job, struct findings *findings, struct error *error);

#endif
