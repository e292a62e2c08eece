#ifndef NCCLPROF_SCORE_EXPLAIN_H
#define NCCLPROF_SCORE_EXPLAIN_H

#include "delay/replay.h"
#include "network/transfer_excess.h"
#include "score/explanation.h"

/*
 * One score for every hypothesis: a unit of ranks (units.h) was slow, by itself, in a set of steps (scan.h).
 * The score is deflated by what innocent units reach (genomic control: Devlin and Roeder, Biometrics 55,
 * 1999) and paid for by the logarithm of the number of hypotheses: certainty is what is left. The greatest is
 * believed first; what it explains is taken out of the replay, of the others' peers and of the noise, until
 * nothing is left that is certain.
 */

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

/*
 * What is to be believed, the greatest certainty first. What is believed is taken out of `replay`, which is
 * of the job as it was. Release it whatever comes back.
 */
int explanations_find(struct explanations *explanations, const struct job *job,
                      const struct baseline *baseline, const struct edges *edges,
                      const struct transfer_excess *transfers, struct replay *replay,
                      const struct belief *belief, struct error *error);
void explanations_release(struct explanations *explanations);

#endif
