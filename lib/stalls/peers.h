#ifndef NCCLPROF_STALLS_PEERS_H
#define NCCLPROF_STALLS_PEERS_H

#include "stalls/judge.h"

/* Holds the edges against those that do the same work. -1: memory is out. */
int judge_compare_edges(struct judge *judge);

#endif
