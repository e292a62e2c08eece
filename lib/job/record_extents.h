#ifndef NCCLPROF_JOB_RECORD_EXTENTS_H
#define NCCLPROF_JOB_RECORD_EXTENTS_H

#include "base/map.h"
#include "job/job.h"

/*
 * How far the records of a job go, by communicator and collective function: what each rank began last, and
 * what somebody got past. Nobody gets past a full exchange before all have come: whose record ends before
 * that took part in more than it has a record of.
 */
struct extents {
    struct map last; /* (communicator, function, rank) -> greatest sequence number */
    struct map past; /* (communicator, function) -> the same, of full exchanges */
};

/* To be released, whatever it returns. -1 when memory is out. */
int extents_init(struct extents *extents, const struct job *job);
void extents_release(struct extents *extents);

/* The greatest sequence number that a rank began; NULL where nothing is recorded. */
const int64_t *extents_last(const struct extents *extents, int32_t rank, int32_t communicator,
                            uint8_t function);

/* Whether others got past more than is recorded of a rank. */
int extents_lack(const struct extents *extents, int32_t rank, int32_t communicator, uint8_t function);

/*
 * Fills in tail_step of the ranks: a rank whose record of a communicator ends before what others got past
 * there has a file that was cut, and what it did there meanwhile looks like its own time. Recorders of
 * finished operations lose some anywhere, and are left out, as are those that were on for a while only.
 */
void job_find_tails(struct job *job, const struct extents *extents);

#endif
