#ifndef NCCLPROF_SCORE_UNITS_H
#define NCCLPROF_SCORE_UNITS_H

#include "network/edges.h"

/*
 * What may be at fault as one: a rank, or ranks that share a host, a network card or a switch. A partition
 * puts each rank of the job in one unit of its kind.
 */
enum unit_kind {
    UNIT_RANK = 0,
    UNIT_HOST, /* ranks whose traces say that they ran on one host */
    UNIT_BLOCK /* neighbours by number that no network edge joins: a host, or a part of one */
};

struct partition {
    enum unit_kind kind;
    size_t count;
    size_t *first;    /* owned: where in `ranks` the members of each unit begin; one more than there are */
    int32_t *ranks;   /* owned: job ranks, by unit */
    int32_t *unit_of; /* owned: of each rank */
    int32_t *within;  /* owned: of each communicator, the unit that all its ranks are of; -1: of several */
};

enum { MOST_PARTITIONS = 16 };

struct partitions {
    struct partition *items; /* owned: ranks first, then the larger units */
    size_t count;
};

/*
 * Each rank by itself; hosts where the job knows several, else blocks of 2, 4, 8 and so on ranks, up to half
 * of the job, as far as no edge of the network lies within one. -1 when memory is out; to be released all the
 * same.
 */
int partitions_init(struct partitions *partitions, const struct job *job, const struct edges *edges);
void partitions_release(struct partitions *partitions);

static inline size_t unit_size(const struct partition *partition, size_t unit)
{
    return partition->first[unit + 1] - partition->first[unit];
}

#endif
