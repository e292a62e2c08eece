#include "job/successions.h"

#include "base/array.h"
#include "base/hash.h"
#include "model/succession.h"

#include <stdlib.h>

/* Of an unknown hash nothing says what is the same: it succeeds none. */
static uint64_t members_of(const struct job_communicator *communicator, int32_t number)
{
    if (!communicator->hash)
        return hash_mix((uint64_t)number, 0);
    uint64_t members = hash_mix(communicator->seat_count, (uint64_t)communicator->size_is_known);
    if (communicator->size_is_known)
        members = hash_mix(members, (uint64_t)communicator->size);
    for (size_t i = 0; i < communicator->seat_count; i++)
        members = hash_mix(hash_mix(members, (uint64_t)communicator->seats[i].number),
                           (uint64_t)communicator->seats[i].rank);
    return members;
}

/* Where each is first and last used by the first of its ranks; what none of them used was never there. */
static void note_uses(const struct job *job, struct communicator_life *lives)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        const struct job_communicator *communicator = &job->communicators[operation->communicator];
        struct communicator_life *life = &lives[operation->communicator];
        if (!communicator->seat_count || communicator->seats[0].rank != operation->rank)
            continue;
        if ((int64_t)i < life->first_used)
            life->first_used = (int64_t)i;
        life->last_used = (int64_t)i;
    }
}

/* By rank, the last operation on a communicator of all; -1: none. Owned by the caller; NULL: no memory. */
static int64_t *last_with_all(const struct job *job)
{
    int64_t *last = array_new(job->rank_count, sizeof *last);
    for (size_t i = 0; last && i < job->rank_count; i++)
        last[i] = -1;
    for (size_t i = 0; last && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (job->communicators[operation->communicator].size >= (int64_t)job->rank_count)
            last[operation->rank] = (int64_t)i;
    }
    return last;
}

/* What divides a job has half of its ranks at most. One of more of them, after those of all, is of the rest.
 */
static int find_rest(struct job *job, const struct communicator_life *lives)
{
    int64_t *last = last_with_all(job);
    if (!last)
        return -1;
    for (size_t i = 0; i < job->communicator_count; i++) {
        struct job_communicator *communicator = &job->communicators[i];
        int is_used = communicator->seat_count && lives[i].first_used != INT64_MAX;
        int64_t before = is_used ? last[communicator->seats[0].rank] : -1;
        communicator->is_of_the_rest = before >= 0 && lives[i].first_used > before &&
                                       communicator->size < (int64_t)job->rank_count &&
                                       communicator->size > (int64_t)job->rank_count / 2;
    }
    free(last);
    return 0;
}

int job_find_successions(struct job *job)
{
    struct communicator_life *lives = array_new(job->communicator_count, sizeof *lives);
    int32_t *first_of = array_new(job->communicator_count, sizeof *first_of);
    int failed = !lives || !first_of;
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        lives[i] =
            (struct communicator_life){members_of(&job->communicators[i], (int32_t)i), INT64_MAX, INT64_MAX};
    if (!failed)
        note_uses(job, lives);
    failed = failed || succession_find(lives, job->communicator_count, first_of) || find_rest(job, lives);
    for (size_t i = 0; !failed && i < job->communicator_count; i++)
        job->communicators[i].succeeds = first_of[i] == (int32_t)i ? 0 : first_of[i] + 1;
    free(lives);
    free(first_of);
    return failed ? -1 : 0;
}
