#ifndef NCCLPROF_COMPARE_NETWORK_PARTS_H
#define NCCLPROF_COMPARE_NETWORK_PARTS_H

#include "compare/usual.h"

/* What transfers over the network take of a usual step, mean over ranks: what differs most from run to run.
 */
struct network_parts {
    /*
     * Owned: of each communicator, whether its data may go over a network: recorders that tell of the network
     * tell of it, or of nobody's and its members are not known to share a host.
     */
    unsigned char *is_over;
    double all_us;
    double *by_step; /* owned: the same in each usual step */
    double *by_tag;  /* owned: of each tag of the job, and behind them of no tag */
};

/* -1 when memory is out; to be released whatever it returns. */
int network_parts_init(struct network_parts *parts, const struct job *job, const struct usual *usual);
void network_parts_release(struct network_parts *parts);

/*
 * What becomes of own time where transfers take longer: computation that goes on beside them leaves so much
 * less of it behind them. Its part of what transfers take longer, from 0 (nothing goes on beside them) to 1,
 * as own times of `count` usual steps tell, by their slope against transfers; where they tell it only
 * roughly, the greatest that it may be (two standard errors).
 */
double network_parts_overlap(const struct network_parts *parts, const double *own_us, size_t count);

#endif
