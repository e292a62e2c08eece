#ifndef NCCLPROF_DIAGNOSE_STEP_RUNS_H
#define NCCLPROF_DIAGNOSE_STEP_RUNS_H

#include "diagnose/suspect.h"

/*
 * Excess by rank and step, the raw material of suspicion. Runs of consecutive steps in which a rank's excess
 * is worth at least half of min_gain become suspects. How likely noise makes such a run is estimated from the
 * steps that stand alone: with N (rank, step) cells and a share p of them standing alone with at least as
 * much, N p^L runs of L steps are expected; a step alone is held against the tail of all others; and where
 * runs of other ranks are as strong at other times, no fewer than those let expect (significance.c).
 */
struct sample {
    int64_t excess_ns;
    int32_t rank; /* -1: nobody's */
    int32_t step;
};

struct strength {
    const struct job *job;  /* borrowed */
    int64_t *excess_ns;     /* owned; [rank * steps + step] */
    int64_t *unbounded_ns;  /* owned; NULL, or excess before it was bounded by what others waited */
    int64_t *hidden_ns;     /* owned; NULL, or what of it may be receives that the recorder leaves out */
    unsigned char *blank;   /* owned; NULL, or whether nothing is known where the steps beside it were late */
    struct sample *samples; /* owned; NULL, or what is usual in single steps where the cells do not say it */
    size_t sample_count;
    size_t rank_count;
    int32_t steps;
    int32_t first_step;
    int64_t whole_ns; /* a median step; 0 unknown */
};

int strength_init(struct strength *strength, const struct job *job, const struct baseline *baseline);
void strength_release(struct strength *strength);

/* The cell of a rank and step. */
static inline int64_t *strength_cell(const struct strength *strength, size_t rank, int32_t step)
{
    return &strength->excess_ns[rank * (size_t)strength->steps + (size_t)step];
}

/* Adds the runs of steps that are each worth `least_ns` to the suspects. -1 when memory is out. */
int step_runs_find(const struct strength *strength, int64_t least_ns, enum finding_kind kind,
                   struct suspects *suspects);

#endif
