#ifndef NCCLPROF_POSTMORTEM_LEFT_LOOP_H
#define NCCLPROF_POSTMORTEM_LEFT_LOOP_H

#include "postmortem/pending.h"

/*
 * Where only one rank's record is there, and it has its end: whether the rank left in the middle of a step,
 * with nothing unfinished. It does not wait for anybody, so others wait for it. -1 when memory is out.
 */
int find_left_loop(const struct absence *absence, struct findings *findings);

#endif
