#ifndef NCCLPROF_SCORE_PLACE_TIMES_H
#define NCCLPROF_SCORE_PLACE_TIMES_H

#include "baseline/baseline.h"
#include "network/transfer_excess.h"
#include "score/units.h"

/* What the residuals of a job rest on. */
struct sheet_source {
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    const unsigned char *explained; /* [rank * steps + step]: a fault that has been found */
    const int64_t *longest_stay_ns; /* per instance, longest_stays() */
};

/* The longest stay of a member of each instance (arrival.h); INT64_MAX where the trace cannot tell. Owned by
 * the caller; NULL when memory is out. */
int64_t *longest_stays(const struct job *job);

/*
 * Own times of ranks of a role at one place of the step, and what bounds them. In nanoseconds, TIME_UNKNOWN
 * where there is none: also after a send or a receive whose end no kernel tells.
 */
struct place_times {
    size_t ranks;
    size_t steps;
    int32_t *place; /* owned: of each in the role */
    /* Owned: [rank of these * steps + step]. Beside an own time that is not known only `open` says something:
     * 0. */
    int64_t *own;
    int64_t *pace;  /* own time; of ranks that compute beside communication, from the begin of the operation
                       before: who comes last is in that for less time, and computes for longer after it */
    int64_t *late;  /* of the own time, what had passed when it was enqueued */
    int64_t *bound; /* the longest that another member of the operation waited; INT64_MAX: not known */
    int32_t *communicator; /* of its operation */
    unsigned char *open;   /* it may hold the rest of an operation that does not say when it was over, or that
                              a slow link held for others */
    unsigned char within;  /* what comes before the place is of the same step */
};

/* Instead of one unit of a partition. */
#define SHEET_ALL SIZE_MAX

/* Room for a role's ranks, or for those of a unit alone; -1 when memory is out: to be released all the same.
 */
int place_times_init(struct place_times *times, const struct sheet_source *source, size_t role,
                     const struct partition *partition, size_t unit);
void place_times_release(struct place_times *times);

void place_times_read(struct place_times *times, const struct sheet_source *source, size_t role,
                      int32_t position);

/* A rank's operations at a place, by step; -1: none. */
const int32_t *place_times_operations(const struct place_times *times, const struct baseline *baseline,
                                      size_t role, int32_t position, size_t rank);

#endif
