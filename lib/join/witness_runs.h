#ifndef NCCLPROF_JOIN_WITNESS_RUNS_H
#define NCCLPROF_JOIN_WITNESS_RUNS_H

#include "join/witness_ranks.h"

/* Runs by one recorder each, and whether two of them are one job. */

enum witness_kind {
    KIND_UNKNOWN,
    KIND_FRAMEWORK_LOG,
    KIND_LOG,
    KIND_DUMP,
    KIND_INSPECTOR, /* this and what follows knows how long operations took */
    KIND_PROFILER,
    KIND_PLUGIN
};

struct witness_run {
    enum witness_kind kind; /* of its recorders the one that knows most of an operation */
    int by_number;          /* see told_calls_load */
    int is_changed;
    int64_t operations;
    int64_t first_ns; /* when it called something first and last, on the wall clock; INT64_MAX and */
    int64_t last_ns;  /* TIME_UNKNOWN: nothing tells */
    char dialect[32]; /* of that recorder */
};

struct witness_runs {
    struct witness_run *items; /* owned: of each run */
    struct wall_clock *clocks; /* owned: of each process */
    struct grouping ranks;     /* those that recorded something, by run */
    size_t process_count;
};

/* Release it whatever comes back. */
int witness_runs_load(struct witness_runs *runs, struct work *work, struct store *store, struct error *error);
void witness_runs_release(struct witness_runs *runs);

/* Of two runs of one job, 1: the first counts. */
int witness_counts(const struct witness_runs *runs, int32_t run, int32_t other);

/* A process of the one and one of the other that are one rank, and what they say against each other. */
struct witness_pair {
    int32_t one;
    int32_t other;
    struct witness_quarrel sizes;
    struct witness_quarrel datatypes;
};

enum encounter_verdict { ENCOUNTER_DIFFERENT, ENCOUNTER_DOUBTFUL, ENCOUNTER_SAME };

struct encounter {
    int32_t one; /* run; it counts */
    int32_t other;
    enum encounter_verdict verdict;
    const char *why;            /* where doubtful */
    struct witness_pair *pairs; /* owned */
    size_t pair_count;
    size_t pair_capacity;
    struct witness_seats seats;
    struct witness_gift *gifts; /* owned */
    size_t gift_count;
    size_t gift_capacity;
};

/* Compares encounter->one and encounter->other. Release it whatever comes back. */
int encounter_judge(struct encounter *encounter, struct hearing *hearing, const struct witness_runs *runs,
                    struct error *error);
void encounter_release(struct encounter *encounter);

#endif
