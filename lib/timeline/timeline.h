#ifndef NCCLPROF_TIMELINE_TIMELINE_H
#define NCCLPROF_TIMELINE_TIMELINE_H

#include "job/job.h"
#include "verdict/finding.h"

struct output;

/* What of a job is drawn. Texts are borrowed; NULL: any. */
struct timeline_selection {
    const char *ranks; /* of each job rank, whether it is */
    int has_steps;     /* only steps `first_step` to `last_step` */
    int64_t first_step;
    int64_t last_step;
    const char *tag;
    const char *communicator;
    int64_t arrow_ns; /* from so much waiting on, an arrow says for whom */
    int with_proxies; /* what network threads did, too */
};

struct timeline_counts {
    int64_t ranks; /* with a track */
    int64_t operations;
    int64_t slices; /* of all kinds */
    int64_t arrows;
    int64_t findings;
    int64_t untimed;        /* operations that the trace tells no time of */
    int64_t crowded;        /* what overlaps too much else, and is not drawn */
    int64_t unaligned;      /* ranks whose clock is not aligned: they have no arrows */
    int64_t adrift;         /* ranks of the run that begin at 0 for want of a wall clock, too */
    int64_t uncertainty_ns; /* the greatest of those whose clock is */
    int32_t most_uncertain; /* whose; -1: none */
};

/*
 * Writes a job as a trace for Perfetto (perfetto.h): a process a rank, and on its tracks steps with their
 * phases, operations, what of them was waiting, and calls; findings beside all of them and on the ranks that
 * they accuse. `findings` are those that are told, with their details (diagnose/findings_detail.h).
 */
int timeline_write(const struct job *job, const struct findings *findings,
                   const struct timeline_selection *selection, struct output *output,
                   struct timeline_counts *counts, struct error *error);

#endif
