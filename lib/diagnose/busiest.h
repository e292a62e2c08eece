#ifndef NCCLPROF_DIAGNOSE_BUSIEST_H
#define NCCLPROF_DIAGNOSE_BUSIEST_H

#include "diagnose/suspect.h"

/*
 * The GPU that sets the pace. A rank that has no peers in its role, or one, as each of a pipeline of single
 * GPUs has, is held against next to nothing, and where it is slow in every step it has no history either.
 * Recorders that tell all that GPUs do tell it all the same: of whose GPU computes for most of each step,
 * while all others wait.
 */

/* What a step's computing takes; the two longest of all ranks. */
struct busiest {
    int32_t rank; /* -1: not all ranks tell it */
    int64_t work_ns;
    int64_t next_ns; /* of any other rank */
};

/* -1 when memory is out. */
int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline);

/* Adds a finding of it where there is none. */
int findings_take_busiest(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct diagnose_options *options, struct error *error);

#endif
