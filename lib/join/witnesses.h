#ifndef NCCLPROF_JOIN_WITNESSES_H
#define NCCLPROF_JOIN_WITNESSES_H

#include "join/work.h"

/*
 * One job, told by several recorders (a profiler plugin, PyTorch's profiler, Flight Recorder): they become
 * one run. The one that tells most of it counts; operations of the others leave, counted in the ledger, and
 * what the first does not know comes from them: from where a program called, hosts and GPUs.
 *
 * Two files are of one rank of one job where it has the same global rank in a job of the same size, the same
 * communicators, and each call came at the same time in both, by clocks that both read, one number apart all
 * along: never by rank alone. What may be so and is not plain stays apart, and table witness_doubt says why.
 */

/* To be done before the base tables are loaded: what came or went is heard anew. */
int witnesses_hear_anew(struct store *store, struct error *error);

/* Wants ranks and runs. 1: the base tables are other ones now, to be loaded anew; 0; -1. */
int witnesses_unite(struct work *work, struct store *store, struct error *error);

/* To be done once the runs are saved: witnesses belong to the run that they tell of. */
int witnesses_save(struct store *store, struct error *error);

#endif
