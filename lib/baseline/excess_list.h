#ifndef NCCLPROF_BASELINE_EXCESS_LIST_H
#define NCCLPROF_BASELINE_EXCESS_LIST_H

#include "job/job.h"

/* What of an operation is beyond the usual at its place: durations in nanoseconds of its device timeline. */
struct excess {
    int64_t late_beyond_ns; /* where excess_ns is not 0: its host's lateness (job_lateness) less the usual;
                               TIME_UNKNOWN */
    int64_t beyond_ns;      /* own time less the usual, less than 0 where it is shorter; TIME_UNKNOWN */
    int64_t excess_ns; /* by how much its rank was late by itself: own time that stands out, bounded by what
                          others waited; 0 where it does not. Where own time is unknown, of hidden_ns what is
                          found to be the rank's own (candidates_own.c) */
};

/*
 * One for each operation, in four bytes where nothing stands out and beyond_ns is below a second: of most
 * that is all there is to say. The others are written out.
 */
struct excess_list {
    int32_t *brief;         /* owned: beyond_ns; EXCESS_UNKNOWN; from EXCESS_WRITTEN on, the number of one in
                               `written` */
    struct excess *written; /* owned */
    size_t count;           /* of those */
    size_t capacity;
    int32_t base; /* of a part: its numbers begin after so many of those before it */
    size_t most;  /* that can be written out */
    int failed;   /* some could not be written: memory is out */
};

enum { EXCESS_UNKNOWN = INT32_MIN, EXCESS_WRITTEN = 1 << 30 };

/* Of nothing anything is known. -1 when memory is out. */
int excess_list_init(struct excess_list *list, size_t operations);
void excess_list_release(struct excess_list *list);

/*
 * One of `parts` parts of a list in which nothing is written out yet, for operations that no other part is
 * asked about: several threads fill them side by side. excess_list_join puts what they wrote out into the
 * list and releases them; it sets `failed` where one of them has it, or memory is out.
 */
struct excess_list excess_list_part(const struct excess_list *list, size_t number, size_t parts);
void excess_list_join(struct excess_list *list, struct excess_list *parts, size_t count, size_t operations);

/* Sets `failed`, unless it could. */
void excess_put(struct excess_list *list, size_t operation, struct excess excess);

/* Any value can be changed there, until another one is put. NULL when memory is out: `failed` is set. */
struct excess *excess_written(struct excess_list *list, size_t operation);

static inline struct excess excess_listed(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return list->written[brief - EXCESS_WRITTEN - list->base];
    return (struct excess){.late_beyond_ns = TIME_UNKNOWN,
                           .beyond_ns = brief == EXCESS_UNKNOWN ? TIME_UNKNOWN : brief};
}

/* How much of its rank's lateness by itself: excess_ns. */
static inline int64_t excess_ns_at(const struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    return brief >= EXCESS_WRITTEN ? list->written[brief - EXCESS_WRITTEN - list->base].excess_ns : 0;
}

#endif
