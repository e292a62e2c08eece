#ifndef NCCLPROF_SCORE_SENDERS_H
#define NCCLPROF_SCORE_SENDERS_H

#include "network/edges.h"
#include "score/scan.h"

/*
 * How much longer a rank's network steps waited (SendWait) than those of other senders of the same kind of
 * operation (function, bytes, size of the communicator) in the same step: the logarithm of their ratio, mean
 * over its network steps. Logarithms, because a slow link multiplies what it has to do. Where fewer than
 * three others send there is nothing to hold it against: the middle one of two is one of them.
 */
struct senders {
    size_t ranks;
    int32_t steps;
    const int32_t *numbers; /* borrowed: of each step (job.h); NULL: the same */
    int32_t first_step;     /* after the warm-up */
    double *ratio;          /* owned: [rank * steps + step]; NAN: not known, and in the warm-up */
    double *beyond; /* owned: the same beyond the rank's own quiet quartile, about 0 where nothing is wrong */
    double *usual;  /* owned: [rank], that quartile; NAN: it sends too little */
    double spread;  /* standard deviation of `beyond`, from the median of its distances from 0;
                             0: there is nothing to tell */
    double steady_spread;  /* of `ratio` */
    struct step_set *best; /* owned: [rank], the best row of steps; its period 0: there is none */
    double deflation;      /* what innocent senders' best rows of steps reach, in what they should */
    size_t count;          /* ranks that have a usual */
};

/* Steps before the first are warm-up. -1 when memory is out; release it whatever comes back. */
int senders_init(struct senders *senders, const struct job *job, int32_t first_step,
                 const struct edges *edges);
void senders_release(struct senders *senders);

/* The score of a rank in steps that are given, beyond its quiet ones; or against the others. -1 when memory
 * is out. */
int senders_score(const struct senders *senders, size_t rank, int is_steady, struct step_set *set);

/* What the choice among rows of steps costs; and the log of odds, penalties paid. */
double senders_penalty(const struct senders *senders, int is_steady);
double senders_certainty(const struct senders *senders, int is_steady, const struct step_set *set);

#endif
