#ifndef NCCLPROF_BASELINE_EXPLAINED_H
#define NCCLPROF_BASELINE_EXPLAINED_H

#include <stddef.h>
#include <stdint.h>

struct explained_slope;

/* Values of a place that go with something else that is known of each, and what that explains of them. */
struct explained {
    int64_t *by;                    /* owned: [rank * steps + step]; TIME_UNKNOWN */
    int64_t *list;                  /* owned: scratch, as many */
    int64_t *usual_by;              /* owned: of each rank, median over steps; TIME_UNKNOWN */
    int64_t *usual_value;           /* owned: likewise */
    struct explained_slope *slopes; /* owned: scratch, one for each value */
};

int explained_init(struct explained *explained, size_t ranks, size_t steps);
void explained_release(struct explained *explained);

/*
 * Takes from values, [rank * steps + step] from first_step on, what `by` beyond its median explains, by one
 * line for all ranks: that of least absolute deviations (Boscovich, 1757), the median of the slopes from the
 * middle, weighted by how far each is from there. It is sloped upwards, or nothing changes. The middle is
 * each rank's own: what ranks differ by all the time tells nothing of what goes with what. A value grows in
 * proportion at most: twice the data, twice the time. Faults that are in less than half of the weight do not
 * turn the line.
 */
void explained_remove(struct explained *explained, int64_t *value, size_t ranks, int32_t first_step,
                      int32_t steps);

#endif
