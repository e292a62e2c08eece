#ifndef NCCLPROF_POSTMORTEM_PENDING_H
#define NCCLPROF_POSTMORTEM_PENDING_H

#include "postmortem/programme.h"
#include "postmortem/progress.h"
#include "verdict/finding.h"

struct extents;

/* Operations that some of their members began and nobody got past, and who is missing from them. */

/* Where a rank is, and where it is not. */
struct attendance {
    int32_t missing_from; /* the first pending instance that it is missing from; -1 */
    int32_t place;        /* of that, in its step */
    int32_t came_to;      /* the last pending instance looked at that it is a member of; -1 */
    int is_waiting;       /* in a pending operation, or on its GPU for one that never got there */
    int is_lost;          /* its record ends before what others got past with it */
};

struct absence {
    int64_t pieces; /* of the store, see job_count_pieces */
    const struct job *job;
    const int32_t *positions; /* the baseline's, by operation */
    const struct extents *extents;
    unsigned char *pending; /* per instance */
    struct attendance *ranks;
    struct passing passing;
    struct programme programme;
    struct courses courses;
    int32_t last_step;       /* of all operations */
    int32_t last_begun_step; /* of those that a GPU began; last_step where none tells */
    int32_t first_stuck;     /* the first step in which somebody is held up, else last_step */
    int is_stuck;            /* somebody is */
    int is_sure;             /* that the instance looked at is pending */
    size_t absent_count;     /* ranks that are merely absent, by records that have their end */
    size_t unrecorded_count; /* others whose record is not there, or was cut */
};

/*
 * Whether none of those who began an instance got past it, and somebody never came. Where nobody can be done
 * before all have come, an end beside others that never came is no end: the leaf of a tree has its stop once
 * it has passed on what it had. To be sure, who lacks an end as always is past it.
 */
int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure);

/* Notes who waits in a pending instance, and who is missing from it. */
void note_pending(struct absence *absence, int32_t instance);

/*
 * Notes who waits on its GPU in an instance that all hosts called: where somebody's GPU has not begun it, or
 * nobody's got past.
 */
void note_waiting(struct absence *absence, const struct job_instance *instance);

/* Names who waits in a pending instance, as the finding's peers and in its evidence. -1 when memory is out.
 */
int say_waiting(const struct absence *absence, int32_t instance, struct finding *finding);

#endif
