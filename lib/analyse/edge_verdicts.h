#ifndef NCCLPROF_ANALYSE_EDGE_VERDICTS_H
#define NCCLPROF_ANALYSE_EDGE_VERDICTS_H

#include "base/error.h"
#include "stalls/stalls.h"
#include "verdict/finding.h"

struct store;

/*
 * One decision for all: edges that are judged by their waits take their verdict from what diagnose finds.
 * Where it blames the sending or the receiving side of an edge, that is the verdict; one that was slow and
 * that it does not blame is not confirmed. Before edges are put in another order.
 */
int edges_take_verdicts(struct stalls *stalls, struct store *store, struct error *error);

/* The same of one run (its place in `stalls`) that is diagnosed already. */
int edges_take_verdicts_of(struct stalls *stalls, int32_t run, const struct job *job,
                           const struct findings *findings, struct error *error);

#endif
