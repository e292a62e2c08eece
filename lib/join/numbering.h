#ifndef NCCLPROF_JOIN_NUMBERING_H
#define NCCLPROF_JOIN_NUMBERING_H

#include "join/internal.h"
#include "join/steps.h"

#include <stddef.h>
#include <stdint.h>

/* How the steps of a run without tags are determined. */
struct period {
    struct own_steps own; /* of one rank; the count is corrected if all ranks together show more or fewer */
    struct step_end *ends;
    size_t end_count;
    struct shared_communicators shared; /* the communicators of the ends */
};

/* The sequence numbers that are missing between the collectives of a member, and where its steps begin. */
struct missing {
    int64_t count;   /* NUMBERS_REPEAT: unknown */
    uint64_t hash;   /* of the numbers */
    uint64_t begins; /* hash of the numbers with which steps begin */
    uint64_t pairs;  /* sum of pair_step_hash */
    int64_t seen;    /* how many collectives there are */
};

enum { NUMBERS_REPEAT = -1 };

/* State for numbering the ranks of a run. */
struct ranks {
    struct worker_pool *worker_pool;
    const int32_t *items; /* the ranks to number */
    struct series_table *series;
    struct period period;
    const char *begin;              /* first tag on most ranks; NULL: none. Text of the first worker */
    struct missing *missing;        /* for each member */
    struct step_votes *votes;       /* of each worker; only while ranks are asked for steps */
    const struct step_table *table; /* what they answered */
    struct own_answer *answers;     /* of each rank that is compared with that */
    struct pair_plans plans;
    struct pair_counts *counts; /* of each worker; only while transfers without numbers are counted */
};

/* How the steps of a rank's collectives compare with those that other ranks tell. */
struct own_answer {
    int32_t first; /* the told step of its first one; -1: none */
    int32_t last;  /* the greatest told step; -1: none */
    int64_t count; /* of its operations, and of those before the first that is told */
    int64_t before;
    int32_t shift; /* how much later most of them are than its own steps */
    int contradicts;
};

/* -------------------- lossy_ranks.c -------------------- */

/* Whether the ends of the steps are known, on communicators that all ranks share. */
int period_has_steps(const struct period *period);

/*
 * Mends the steps and numbers of those ranks of a run that lost operations or tags, so that operations have
 * the steps that they have on the other ranks. All ranks must be numbered. `items` has room for them.
 */
int lossy_ranks_mend(struct work *work, int32_t run, struct ranks *ranks, int32_t *items,
                     struct error *error);

#endif
