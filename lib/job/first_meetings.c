#include "job/first_meetings.h"

#include "base/array.h"
#include "job/arrival.h"

#include <stdlib.h>

enum { NONE_YET = -1, UNLIKE = -2 };

/* A rank's first operation of a communicator: the first of all ranks there says which it has to be. */
static void meet(int32_t *first, int32_t instance)
{
    if (*first == NONE_YET)
        *first = instance;
    else if (*first != instance)
        *first = UNLIKE;
}

/* By communicator, the instance with which all began on it. NULL: no memory. */
static int32_t *find_meetings(const struct job *job)
{
    int32_t *first = array_new(job->communicator_count, sizeof *first);
    int32_t *seen_by = array_new(job->communicator_count, sizeof *seen_by);
    for (size_t i = 0; first && seen_by && i < job->communicator_count; i++)
        first[i] = seen_by[i] = NONE_YET;
    for (size_t i = 0; first && seen_by && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (seen_by[operation->communicator] == operation->rank)
            continue;
        seen_by[operation->communicator] = operation->rank;
        meet(&first[operation->communicator], operation->instance);
    }
    if (!seen_by) {
        free(first);
        first = NULL;
    }
    free(seen_by);
    return first;
}

static struct job_start start_of(int32_t communicator, int32_t rank)
{
    return (struct job_start){.rank = rank,
                              .communicator = communicator,
                              .parent = -1,
                              .function = -1,
                              .told = START_UP_UNKNOWN,
                              .waited_ns = TIME_UNKNOWN,
                              .late_ns = TIME_UNKNOWN};
}

static size_t add_seats(const struct job *job, int32_t communicator, struct job_start *starts)
{
    const struct job_communicator *of = &job->communicators[communicator];
    for (size_t i = 0; i < of->seat_count; i++)
        starts[i] = start_of(communicator, of->seats[i].rank);
    return of->seat_count;
}

static size_t add_meeting(const struct job *job, int32_t communicator, const struct job_instance *instance,
                          struct job_start *starts)
{
    for (int32_t i = 0; i < instance->members; i++) {
        int32_t at = job_member_at(job, instance, i);
        starts[i] = start_of(communicator, job->operations[at].rank);
        starts[i].waited_ns = arrival_stay_ns(job, at);
    }
    starts_compare(starts, (size_t)instance->members, start_told_ns(START_BY_PARTS));
    return (size_t)instance->members;
}

/* Whether a log tells of it: starts are in order of communicators. */
static int is_logged(const struct job *job, int32_t communicator, size_t *at)
{
    while (*at < job->start_count && job->starts[*at].communicator < communicator)
        ++*at;
    return *at < job->start_count && job->starts[*at].communicator == communicator;
}

static size_t fill(const struct job *job, const int32_t *meetings, struct job_start *starts)
{
    size_t count = 0, at = 0;
    for (int32_t i = 0; i < (int32_t)job->communicator_count; i++) {
        const struct job_instance *meeting = meetings[i] < 0 ? NULL : &job->instances[meetings[i]];
        if (is_logged(job, i, &at))
            continue;
        int is_told = meeting && meeting->members == meeting->expected &&
                      (size_t)meeting->members == job->communicators[i].seat_count &&
                      arrival_last(job, meeting) >= 0;
        count += is_told ? add_meeting(job, i, meeting, starts + count) : add_seats(job, i, starts + count);
    }
    return count;
}

int job_first_meetings(const struct job *job, struct job_start **starts, size_t *count)
{
    size_t seats = 0;
    int32_t *meetings = find_meetings(job);
    for (size_t i = 0; i < job->communicator_count; i++)
        seats += job->communicators[i].seat_count;
    *starts = meetings ? array_new(seats, sizeof **starts) : NULL;
    *count = *starts ? fill(job, meetings, *starts) : 0;
    free(meetings);
    return *starts ? 0 : -1;
}
