#include "store/membership.h"

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

int32_t job_seated(const struct job_communicator *communicator, int64_t number)
{
    return number < 0 ? -1 : seated(communicator->seats, communicator->seat_count, number);
}

static int64_t at(const int64_t *numbers, const struct run_ranks *run, size_t rank)
{
    return *(const int64_t *)((const char *)numbers + rank * run->bytes);
}

static int is_rank_before(const void *global_rank, const void *number)
{
    int64_t rank = *(const int64_t *)global_rank;
    return rank >= 0 && rank < *(const int64_t *)number;
}

int32_t run_rank_numbered(const struct run_ranks *run, int64_t global_rank)
{
    if (!run->count)
        return -1;
    const char *first = (const char *)run->global_ranks + run->first * run->bytes;
    size_t found = lower_bound(first, run->count, run->bytes, is_rank_before, &global_rank);
    size_t rank = run->first + found;
    return found < run->count && at(run->global_ranks, run, rank) == global_rank ? (int32_t)rank : -1;
}

struct silent_ranks run_silent_ranks(const struct run_ranks *run)
{
    struct silent_ranks silent = {0, -1};
    for (size_t i = run->first; i < run->first + run->count; i++)
        if (at(run->process_ids, run, i) < 0) {
            silent.last = (int32_t)i;
            silent.count++;
        }
    return silent;
}

static int agrees(const struct run_ranks *run, const struct job_communicator *communicator)
{
    if ((int64_t)communicator->member_count != communicator->size)
        return 0;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        const struct job_seat *seat = &communicator->seats[i];
        if ((uint64_t)seat->number >= communicator->member_count ||
            at(run->global_ranks, run, (size_t)seat->rank) != communicator->members[seat->number])
            return 0;
    }
    return 1;
}

int job_seat_told(const struct run_ranks *run, struct job_communicator *communicator)
{
    size_t count = communicator->member_count;
    if (!count || !agrees(run, communicator))
        return 0;
    communicator->told = array_new(count, sizeof *communicator->told);
    if (!communicator->told)
        return -1;
    for (size_t i = 0; i < count; i++) {
        int is_seated = job_seated(communicator, (int64_t)i) >= 0;
        int32_t rank = is_seated ? -1 : run_rank_numbered(run, communicator->members[i]);
        if (rank >= 0)
            communicator->told[communicator->told_count++] = (struct job_seat){(int64_t)i, rank};
    }
    return 0;
}

/* Whether the numbers of its members are their global ranks. */
static int has_global_numbers(const struct run_ranks *run, const struct job_communicator *communicator)
{
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int64_t global_rank = at(run->global_ranks, run, (size_t)communicator->seats[i].rank);
        if (global_rank >= 0 && global_rank != communicator->seats[i].number)
            return 0;
    }
    return 1;
}

/*
 * Ranks that recorded nothing are no members of anything. In the communicator of all their number is their
 * global rank; elsewhere a free place can only be that of the one silent rank there is.
 */
void job_seat_silent(const struct run_ranks *run, struct silent_ranks silent,
                     struct job_communicator *communicator)
{
    if (!silent.count || communicator->told_count)
        return;
    communicator->is_whole = communicator->size == run->expected && has_global_numbers(run, communicator);
    if (silent.count == 1 && (int64_t)communicator->seat_count < communicator->size)
        communicator->silent = silent.last;
}

int32_t run_rank_in(const struct run_ranks *run, const struct job_communicator *communicator, int64_t number)
{
    if (number < 0 || number >= communicator->size)
        return -1;
    int32_t rank = job_seated(communicator, number);
    if (rank < 0)
        rank = seated(communicator->told, communicator->told_count, number);
    if (rank < 0 && communicator->is_whole)
        rank = run_rank_numbered(run, number);
    return rank >= 0 ? rank : communicator->silent;
}

void job_communicator_release(struct job_communicator *communicator)
{
    free(communicator->label);
    free(communicator->members);
    free(communicator->seats);
    free(communicator->told);
    *communicator = (struct job_communicator){.silent = -1};
}
