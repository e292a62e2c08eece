#ifndef NCCLPROF_SCORE_SHEET_H
#define NCCLPROF_SCORE_SHEET_H

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
 * Own times at one place of the step, for the units of a partition that have ranks in its role. A unit's time
 * is the lower quartile of its members', so that three of four have to show what is said of it; the others'
 * is the median over the other units of their medians. What has been explained counts for no others. Times
 * in nanoseconds, TIME_UNKNOWN where there is none: also after a send or a receive whose end no kernel tells.
 */
struct sheet {
    size_t ranks; /* of the role */
    size_t steps;
    size_t units;
    const struct partition *partition; /* borrowed */
    int32_t *unit;                     /* owned: numbers in the partition */
    int32_t *first;  /* owned: where in `member` those of each unit begin; one more than there are */
    int32_t *member; /* owned: places in the role, by unit */
    int64_t *own;    /* owned: [place in role * steps + step] */
    int64_t
        *pace; /* owned: own time; of ranks that compute beside communication, from the begin of the operation
                  before: who comes last is in that for less time, and computes for longer after it */
    int64_t *late;  /* owned: of the own time, what had passed when it was enqueued */
    int64_t *bound; /* owned: the longest that another member of the operation waited; INT64_MAX where all
                       are of the unit, and make others wait later */
    unsigned char *open; /* owned: it may hold the rest of an operation that does not say when it was over, or
                            that a slow link held for others */
    int64_t *value;      /* owned: [unit * steps + step], as all below */
    int64_t *unit_pace;  /* owned: lower quartile of its members' */
    int64_t *middle;     /* owned */
    int64_t *others;     /* owned */
    int64_t *late_more;  /* owned: lateness less the others' */
    int64_t *waited;     /* owned: lower quartile of its members' bounds */
    int64_t *quiet;      /* owned: [unit], own time beyond the others' in its quiet steps */
    int64_t *quiet_pace; /* owned: [unit], pace in its quiet steps */
    int64_t *list;       /* owned: scratch */
    unsigned char within; /* what comes before the place is of the same step */
};

/* Room for a role; -1 when memory is out: to be released all the same. */
int sheet_init(struct sheet *sheet, const struct sheet_source *source, const struct partition *partition,
               size_t role);
void sheet_release(struct sheet *sheet);

/* Instead of one unit of a sheet. */
#define SHEET_ALL SIZE_MAX

/* Reads the own times of a place, the same for each partition; and of the ranks of `unit` all that there is.
 */
void sheet_read(struct sheet *sheet, const struct sheet_source *source, size_t role, int32_t position,
                size_t unit);
/*
 * Takes what another one, or itself, has read of the same role, and then measures its units: all, or `unit`
 * against the others, but for its lateness.
 */
void sheet_measure(struct sheet *sheet, const struct sheet *read, const struct sheet_source *source,
                   size_t role, int32_t position, size_t unit);

/*
 * By how much a unit takes longer than the others in a cell; what is beyond its quiet steps is no more than
 * somebody waited, and no more than it grew by itself: who waits for it computes meanwhile, and then shows
 * less own time. TIME_UNKNOWN.
 */
int64_t sheet_apart(const struct sheet *sheet, size_t unit, size_t step);

/* Whether own time of a member in a cell may be something else (open): it tells of all steps, not of some. */
int sheet_is_open(const struct sheet *sheet, size_t unit, size_t step);

/* Whether an excess is the host's: by how much it was later than the others' says so; in a cell. */
int sheet_lateness_is(const struct sheet *sheet, int64_t late_ns, int64_t excess_ns);
int sheet_is_late(const struct sheet *sheet, size_t unit, size_t step, int64_t excess_ns);

#endif
