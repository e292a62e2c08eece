#ifndef NCCLPROF_ANALYSE_ROUNDS_H
#define NCCLPROF_ANALYSE_ROUNDS_H

#include "analyse/summary.h"
#include "job/load.h"
#include "verdict/finding.h"

/*
 * What rounds of a run (job/load.h) find, once they are gone: told of by one job, which has the names of the
 * run, the steps of all rounds, and of operations only those in which findings show first.
 */
struct rounds {
    struct job *job; /* borrowed: as job_plan made it */
    struct findings findings;
    struct judgement later; /* sums of the later rounds: judgement_add_round */
    struct quote *quotes;   /* operations that findings name, in job->operations */
    size_t quote_count;
    size_t quote_capacity;
    size_t instance_capacity;
    size_t operations; /* of the later rounds */
    int64_t timed_operations;
};

/* All return -1 when memory is out; release it whatever comes back. */
int rounds_init(struct rounds *rounds, struct job *names, const struct chosen_steps *chosen);

/* Keeps what a later round found, `findings` with their details: they are empty then. */
int rounds_keep(struct rounds *rounds, const struct judgement *judgement, struct findings *findings);

/*
 * Adds the first round, which comes last: `findings` are then those of all, in steps of rounds->job, and the
 * judgement is of all.
 */
int rounds_end(struct rounds *rounds, struct judgement *judgement, struct findings *findings);

void rounds_release(struct rounds *rounds);

#endif
