#ifndef NCCLPROF_POSTMORTEM_UNRECORDED_H
#define NCCLPROF_POSTMORTEM_UNRECORDED_H

#include "verdict/finding.h"

/*
 * What can be said of ranks that left no record of their calls. A rank without one need not have ended, and
 * need not be at fault: its file may not have been given. So it is only a candidate, and only where the
 * others wait for it, and most of those that there are left a record.
 */
struct unrecorded {
    const struct job *job;
    int32_t *recorded; /* owned: of each communicator, how many of its members left a record */
    int64_t ranks;     /* of the job, that left one */
    int64_t present;   /* of which anything is known */
};

/* -1 when memory is out; to be released all the same. */
int unrecorded_init(struct unrecorded *unrecorded, const struct job *job);
void unrecorded_release(struct unrecorded *unrecorded);

/* Whether members of a communicator that left no record can be named: else those that did are too few. */
int unrecorded_can_be_named(const struct unrecorded *unrecorded, int32_t communicator);

/* Asks the rules that doubt a finding of such ranks in a communicator. */
void unrecorded_doubt(const struct unrecorded *unrecorded, const struct findings *findings,
                      int32_t communicator, struct finding *finding);

#endif
