#ifndef NCCLPROF_POSTMORTEM_PROGRAMME_H
#define NCCLPROF_POSTMORTEM_PROGRAMME_H

#include "job/job.h"

/*
 * Each rank's own programme: what it calls in a step, over all communicators and in order, as its earlier
 * steps show it; and whether what it called since keeps to that. Who stopped or waits has called a part of
 * the programme and nothing else. Who called something that is not next in it departs from it.
 */
enum course {
    COURSE_UNKNOWN = 0, /* no two of its earlier steps are alike, or records of it may be lost */
    COURSE_KEPT,
    COURSE_LEFT
};

struct course_of_rank {
    enum course course;
    int32_t usual;      /* the first operation of a usual step; so many are one */
    int32_t length;     /* 0: not known */
    int32_t same_usual; /* of another step like it */
    int32_t first;      /* the first operation of the job after its last whole step */
    int32_t called;     /* since then */
    int32_t followed;   /* of these, by its programme, before it departs from it */
    int32_t departs_at; /* COURSE_LEFT: the first operation that is not next; -1 */
    int32_t expected;   /* the operation of the usual step that is; -1 */
};

struct programme {
    const struct job *job;
    struct course_of_rank *ranks; /* owned: of each rank */
};

/*
 * `first_stuck`: the first step in which somebody waits; INT32_MAX where that is in none. -1 when memory is
 * out; to be released all the same.
 */
int programme_init(struct programme *programme, const struct job *job, int32_t first_stuck);
void programme_release(struct programme *programme);

/* How many ranks keep to their programme, and how many depart from it. */
struct courses {
    int32_t kept;
    int32_t left;
};

struct courses programme_count(const struct programme *programme);

/*
 * Whether it keeps to its programme and is in the middle of a step, as its very first one began: steps that
 * are told apart by what recurs alone may begin anywhere.
 */
int programme_is_midway(const struct programme *programme, int32_t rank);

#endif
