#ifndef NCCLPROF_BASELINE_PLACE_H
#define NCCLPROF_BASELINE_PLACE_H

#include "job/job.h"

/*
 * The values of one place of the step, by rank (or communicator) and step, and what stands out among them:
 * the statistics of baseline.h.
 */
struct place {
    int64_t *value;    /* [rank * steps + step]; TIME_UNKNOWN where there is none */
    int64_t *bytes;    /* likewise, of a transfer; all 0 where sizes say nothing */
    int64_t *evened;   /* scratch */
    int64_t *usual;    /* of each rank: least tenth, or lower quartile, over steps */
    int64_t *middle;   /* of each rank: median over steps */
    int64_t *apart;    /* [rank * steps + step]: the value less the rank's median; TIME_UNKNOWN */
    int64_t *list;     /* scratch */
    int64_t unlike_ns; /* place_measure_alike: by how much a row's usual has to be more than the others' to
                          stand out in all steps; TIME_UNKNOWN where too few rows are known */
    int64_t *residual;
};

int place_init(struct place *place, size_t ranks, size_t steps);
void place_release(struct place *place);

/*
 * Replaces value[] by the excess over max(the others' median in the step, own usual) and returns sigma, from
 * the residuals against max(the others' median, own median). The own usual is what the least tenth of the
 * steps, two at least, are below: what a link could do in those it can do, and a fault may last for more than
 * three quarters of the steps. Steps before first_step are not looked at.
 *
 * Where sizes differ, what more data takes longer is no excess: it has to be one of the times as they are,
 * and of those that a size would have taken which a tenth of them are below. The lesser of the two counts,
 * against the greater sigma. Where a size is not known (0), none is looked at.
 */
int64_t place_measure(struct place *place, size_t ranks, int32_t first_step, int32_t steps);

/*
 * The same for a place whose rows should be alike: where at most a quarter of the rows, and of four at least,
 * all of one owner, have lower quartiles that stand out from the others' by more than `sigmas` and are
 * `factor` times theirs, their own past is no measure of them, and the others' takes its place. `owner` may
 * be NULL: each row is its own. A row that is alone may be unlike itself by design: its usual is its lower
 * quartile.
 */
int64_t place_measure_alike(struct place *place, size_t ranks, int32_t first_step, int32_t steps,
                            double sigmas, double factor, const int32_t *owner);

#endif
