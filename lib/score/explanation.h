#ifndef NCCLPROF_SCORE_EXPLANATION_H
#define NCCLPROF_SCORE_EXPLANATION_H

#include "score/scan.h"
#include "score/units.h"

/* One hypothesis (explain.h): who, in which steps, how certain, at what cost. */
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

/* Whether its hosts are to blame, and whether it is worth what its partners lost where that is more than the
 * gain. */
int explanation_is_hosts(const struct explanation *explanation);
int explanation_counts_partners(const struct explanation *explanation);

/* Whether it is of that rank, and of that step. */
int explanation_has_rank(const struct explanation *explanation, int32_t rank);
int explanation_has_step(const struct explanation *explanation, int32_t step);

/* How many steps it is of. */
int32_t explanation_count(const struct explanation *explanation);

#endif
