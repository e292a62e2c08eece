#ifndef NCCLPROF_JOIN_RUN_NAMES_H
#define NCCLPROF_JOIN_RUN_NAMES_H

#include "join/work.h"

/*
 * Numbers and names of runs, which stay as long as a process of the run does. A run takes the least number
 * that one of its processes had before; of one that fell apart, the part with its first process does. A new
 * run takes a number that no run had before, and the name of the folder that all its files lie in, with "-2",
 * "-3"... where that is taken. A name has no blanks, commas and control characters, does not begin with a
 * dash and is no number.
 */
int work_name_runs(struct work *work, struct store *store, struct error *error);

#endif
