#ifndef NCCLPROF_SCORE_SHEET_H
#define NCCLPROF_SCORE_SHEET_H

#include "base/statistics.h"
#include "score/place_times.h"

/*
 * Own times at one place of the step, for the units of a partition that have ranks in its role. A unit's time
 * is the lower quartile of its members', so that three of four have to show what is said of it; the others'
 * is the median over the other units of their medians. What has been explained counts for no others. Times
 * in nanoseconds, TIME_UNKNOWN where there is none.
 */
struct sheet {
    size_t steps;
    size_t units;
    const struct partition *partition; /* borrowed */
    const struct place_times *times;   /* borrowed */
    int32_t *unit;                     /* owned: numbers in the partition */
    int32_t *first;      /* owned: where in `member` those of each unit begin; one more than there are */
    int32_t *member;     /* owned: ranks of the times, by unit */
    int64_t *bound;      /* owned: of these ranks' times; INT64_MAX also where all of an operation are of the
                            unit, and make others wait later */
    int64_t *value;      /* owned: [unit * steps + step], as all below */
    int64_t *unit_pace;  /* owned: lower quartile of its members' */
    int64_t *middle;     /* owned */
    int64_t *others;     /* owned */
    int64_t *late_more;  /* owned: lateness less the others' */
    int64_t *waited;     /* owned: lower quartile of its members' bounds */
    int64_t *quiet;      /* owned: [unit], own time beyond the others' in its quiet steps */
    int64_t *quiet_pace; /* owned: [unit], pace in its quiet steps */
    int64_t *list;       /* owned: scratch, as is: */
    size_t *known;       /* owned: cells of the times */
};

/* Room for what has been read of a role, `times`; -1 when memory is out: to be released all the same. */
int sheet_init(struct sheet *sheet, const struct sheet_source *source, const struct partition *partition,
               const struct place_times *times, size_t role);
void sheet_release(struct sheet *sheet);

/*
 * Measures all units of a role at the place that its times were read of last, against each other; and notes
 * in `middles` what that takes, of each step.
 */
void sheet_measure(struct sheet *sheet, const struct sheet_source *source, size_t role,
                   struct middles *middles);
/* The same of a unit whose times alone are read, against the others as noted, but for its lateness. */
void sheet_measure_alone(struct sheet *sheet, const struct sheet_source *source, size_t role,
                         const struct middles *middles);

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
