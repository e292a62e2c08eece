#ifndef NCCLPROF_DIAGNOSE_NOISE_H
#define NCCLPROF_DIAGNOSE_NOISE_H

#include "diagnose/step_runs.h"

/*
 * What noise does: the cells, or the samples given, that are not in a run of several steps. Sorted. Of cells
 * without what may be waiting in unrecorded receives: that is as long as the lateness of whoever sends, and
 * no measure of how late ranks are by themselves.
 */
struct noise {
    struct sample *cells;        /* owned */
    const struct sample *single; /* the cells, or the samples given */
    size_t single_count;
    double all; /* cells that there are */
    int64_t least_ns;
    int64_t whole_ns;       /* from here on up it is no noise (noise_ends) */
    unsigned char *taken;   /* owned: steps of a run of several that is no noise in each */
    struct sample *outside; /* owned: the single ones of steps that are not taken */
    size_t outside_count;
};

/* `first`: the suspects from there on are runs of these cells. -1 when memory is out: release it all the
 * same. */
int noise_init(struct noise *noise, struct strength *strength, const struct suspects *suspects, size_t first,
               int64_t least_ns);
void noise_release(struct noise *noise);

#endif
