#ifndef NCCLPROF_SCORE_EXPLAIN_H
#define NCCLPROF_SCORE_EXPLAIN_H

#include "network/transfer_excess.h"
#include "score/scan.h"
#include "score/units.h"

/*
 * One score for every hypothesis: a unit of ranks (units.h) was slow, by itself, in a set of steps (scan.h).
 * The score is deflated by what innocent units reach (genomic control: Devlin and Roeder, Biometrics 55,
 * 1999) and paid for by the logarithm of the number of hypotheses: certainty is what is left. The greatest is
 * believed first; what it explains is taken out of the replay, of the others' peers and of the noise, until
 * nothing is left that is certain.
 */
struct explanation {
    const struct partition *partition; /* of the explanations' */
    size_t unit;
    struct step_set steps;
    int32_t counted;    /* steps */
    int is_steady;      /* through all steps: against other units, not against its past */
    double slower_part; /* of the others' own time, at places where it takes longer: 1 of a slow clock, less
                           of what is heavier by design */
    double most_part;   /* of an own time, that it may be */
    double certainty;   /* log of odds, penalties paid */
    int64_t gain_ns;    /* of the job, by replay, beyond what those before it gain */
    int64_t margin_ns; /* by how much its ranks came after everybody else: what their partners lost at once */
    int64_t
        slow_ns; /* by how much its ranks were slow in its steps, as long as somebody waited; mean of them */
    int64_t more_ns;  /* the same without places where they took less */
    int64_t host_ns;  /* of that, before operations that its hosts enqueued late */
    int32_t rank;     /* the one of them that was slowest */
    int32_t position; /* of the place at which that was slow by most; -1 */
    int32_t tag;      /* of the phase in which most of it is; -1 */
};

/* From where on something is believed. */
struct belief {
    double certainty; /* of all */
    int64_t worth_ns; /* gain in each step */
    double sure; /* from this certainty on, where partners lost worth_waited_ns, the least gain will do */
    int64_t worth_waited_ns;
    int64_t least_ns;
};

struct explanations {
    struct partitions partitions;
    struct explanation *items; /* owned: as they were believed */
    size_t count;
    size_t capacity;
};

/* What is to be believed, the greatest certainty first. Release it whatever comes back. */
int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, const struct belief *belief,
                      struct error *error);
void explanations_release(struct explanations *explanations);

/* Whether its hosts are to blame, and whether it is worth what its partners lost where that is more than the
 * gain. */
int explanation_is_hosts(const struct explanation *explanation);
int explanation_counts_partners(const struct explanation *explanation);

/* Whether it is of that rank, and of that step. */
int explanation_has_rank(const struct explanation *explanation, int32_t rank);
int explanation_has_step(const struct explanation *explanation, int32_t step);

#endif
