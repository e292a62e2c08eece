#include "job/membership.h"

#include "base/array.h"
#include "base/lower_bound.h"

#include <stdlib.h>

/* Ranks of a communicator. Numbers and sizes are claims of a trace: nothing here is made as large as they. */

int job_seat(struct job_communicator *communicator, int64_t number, int32_t rank)
{
    if (number < 0 || number >= communicator->size)
        return 0;
    size_t count = communicator->seat_count;
    if (count && communicator->seats[count - 1].number == number) {
        communicator->seats[count - 1].rank = rank;
        return 0;
    }
    if (array_reserve((void **)&communicator->seats, &communicator->seat_capacity, count + 1,
                      sizeof *communicator->seats))
        return -1;
    communicator->seats[communicator->seat_count++] = (struct job_seat){number, rank};
    return 0;
}

static int is_seat_before(const void *seat, const void *number)
{
    return ((const struct job_seat *)seat)->number < *(const int64_t *)number;
}

static int32_t seated(const struct job_seat *seats, size_t count, int64_t number)
{
    if ((size_t)number < count && seats[number].number == number)
        return seats[number].rank;
    size_t at = lower_bound(seats, count, sizeof *seats, is_seat_before, &number);
    return at < count && seats[at].number == number ? seats[at].rank : -1;
}

static int is_rank_before(const void *rank, const void *number)
{
    int64_t global_rank = ((const struct job_rank *)rank)->global_rank;
    return global_rank >= 0 && global_rank < *(const int64_t *)number;
}

/* Ranks are in order of their global number, those without one last. */
int32_t job_rank_numbered(const struct job *job, int64_t global_rank)
{
    size_t at = lower_bound(job->ranks, job->rank_count, sizeof *job->ranks, is_rank_before, &global_rank);
    return at < job->rank_count && job->ranks[at].global_rank == global_rank ? (int32_t)at : -1;
}

static int agrees(const struct job *job, const struct job_communicator *communicator, const int64_t *members,
                  size_t count)
{
    if ((int64_t)count != communicator->size)
        return 0;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        const struct job_seat *seat = &communicator->seats[i];
        if ((uint64_t)seat->number >= count || job->ranks[seat->rank].global_rank != members[seat->number])
            return 0;
    }
    return 1;
}

int job_seat_told(const struct job *job, struct job_communicator *communicator, const int64_t *members,
                  size_t count)
{
    /* Who looked at the waits first comes here a second time. */
    free(communicator->told);
    communicator->told = NULL;
    communicator->told_count = 0;
    if (!agrees(job, communicator, members, count))
        return 0;
    communicator->told = array_new(count, sizeof *communicator->told);
    if (!communicator->told)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int is_seated = seated(communicator->seats, communicator->seat_count, (int64_t)i) >= 0;
        int32_t rank = is_seated ? -1 : job_rank_numbered(job, members[i]);
        if (rank >= 0)
            communicator->told[communicator->told_count++] = (struct job_seat){(int64_t)i, rank};
    }
    return 0;
}

/* Whether the numbers of its members are their global ranks. */
static int has_global_numbers(const struct job *job, const struct job_communicator *communicator)
{
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int64_t global_rank = job->ranks[communicator->seats[i].rank].global_rank;
        if (global_rank >= 0 && global_rank != communicator->seats[i].number)
            return 0;
    }
    return 1;
}

/*
 * Ranks that recorded nothing are no members of anything. In the communicator of all their number is their
 * global rank; elsewhere a free place can only be that of the one silent rank there is.
 */
void job_seat_silent_ranks(struct job *job)
{
    int32_t silent = -1;
    size_t silent_count = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].process_id < 0) {
            silent = (int32_t)i;
            silent_count++;
        }
    for (size_t i = 0; silent_count && i < job->communicator_count; i++) {
        struct job_communicator *communicator = &job->communicators[i];
        if (communicator->told_count)
            continue;
        communicator->is_whole =
            communicator->size == job->expected_ranks && has_global_numbers(job, communicator);
        if (silent_count == 1 && (int64_t)communicator->seat_count < communicator->size)
            communicator->silent = silent;
    }
}

int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number)
{
    const struct job_communicator *of = &job->communicators[communicator];
    if (number < 0 || number >= of->size)
        return -1;
    int32_t rank = seated(of->seats, of->seat_count, number);
    if (rank < 0)
        rank = seated(of->told, of->told_count, number);
    if (rank < 0 && of->is_whole)
        rank = job_rank_numbered(job, number);
    return rank >= 0 ? rank : of->silent;
}
