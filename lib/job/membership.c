#include "base/array.h"
#include "base/map.h"
#include "base/sort.h"
#include "job/loader.h"

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
        communicator->is_whole = communicator->size == job->expected_ranks;
        if (silent_count == 1 && (int64_t)communicator->seat_count < communicator->size)
            communicator->silent = silent;
    }
}

static int32_t seated(const struct job_communicator *communicator, int64_t number)
{
    const struct job_seat *seats = communicator->seats;
    size_t low = 0, high = communicator->seat_count;
    if ((size_t)number < high && seats[number].number == number)
        return seats[number].rank;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (seats[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < communicator->seat_count && seats[low].number == number ? seats[low].rank : -1;
}

/* Ranks are in order of their global number, those without one last. */
static int32_t numbered(const struct job *job, int64_t number)
{
    size_t low = 0, high = job->rank_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t global_rank = job->ranks[middle].global_rank;
        if (global_rank >= 0 && global_rank < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->rank_count && job->ranks[low].global_rank == number ? (int32_t)low : -1;
}

int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number)
{
    const struct job_communicator *of = &job->communicators[communicator];
    if (number < 0 || number >= of->size)
        return -1;
    int32_t rank = seated(of, number);
    if (rank < 0 && of->is_whole)
        rank = numbered(job, number);
    return rank >= 0 ? rank : of->silent;
}

/* What a rank is in: all of its communicators, and those with places left below a last member that it is not.
 */
struct memberships {
    int32_t all;
    int32_t below;
};

/*
 * Communicators with places left that no silent rank takes. Global ranks ascend with the numbers in one. Of
 * what a rank shared with silent ones nothing may be known at all.
 */
struct openings {
    int64_t above;  /* the least global rank of a last member with places above it; INT64_MAX: none */
    int64_t *below; /* owned: of those with places below their last member, its global rank. Sorted. */
    size_t count;
    int64_t silent; /* ranks */
};

static void add_opening(const struct job *job, const struct job_communicator *communicator,
                        struct openings *openings, struct memberships *ranks)
{
    const struct job_seat *last = &communicator->seats[communicator->seat_count - 1];
    int64_t greatest = job->ranks[last->rank].global_rank;
    if (last->number + 1 < communicator->size && greatest < openings->above)
        openings->above = greatest;
    if (last->number + 1 == (int64_t)communicator->seat_count)
        return;
    openings->below[openings->count++] = greatest;
    for (size_t i = 0; i + 1 < communicator->seat_count; i++)
        ranks[communicator->seats[i].rank].below++;
}

static void count_memberships(const struct job *job, struct openings *openings, struct memberships *ranks)
{
    for (size_t i = 0; i < job->rank_count; i++)
        openings->silent += job->ranks[i].process_id < 0;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        if (!communicator->hashed || !communicator->seat_count)
            continue;
        for (size_t j = 0; j < communicator->seat_count; j++)
            ranks[communicator->seats[j].rank].all++;
        if (communicator->size - (int64_t)communicator->seat_count > openings->silent)
            add_opening(job, communicator, openings, ranks);
    }
    sort_integers(openings->below, openings->count);
}

/* Files get lost, none is added: what any rank is in at most, all may be in. */
static int32_t most_count(const struct memberships *ranks, size_t rank_count)
{
    int32_t most = 0;
    for (size_t i = 0; i < rank_count; i++)
        most = ranks[i].all > most ? ranks[i].all : most;
    return most;
}

/* Whether there is a place for the rank in a communicator that it is not in; one without a number fits any.
 */
static int fits(const struct openings *openings, int64_t global_rank, int32_t is_below)
{
    size_t low = 0, high = openings->count;
    if (global_rank < 0 || global_rank > openings->above)
        return openings->count || openings->above != INT64_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (openings->below[middle] > global_rank)
            high = middle;
        else
            low = middle + 1;
    }
    return openings->count - low > (size_t)is_below;
}

int job_find_lost_files(struct job *job)
{
    struct memberships *ranks = array_new(job->rank_count, sizeof *ranks);
    struct openings openings = {.above = INT64_MAX,
                                .below = array_new(job->communicator_count, sizeof *openings.below)};
    int failed = !ranks || !openings.below;
    if (!failed)
        count_memberships(job, &openings, ranks);
    int32_t most = failed ? 0 : most_count(ranks, job->rank_count);
    job->lacks_files = openings.silent > 0;
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        job->ranks[i].may_lack_file =
            job->ranks[i].process_id >= 0 && ranks[i].all < most &&
            (openings.silent > 0 || fits(&openings, job->ranks[i].global_rank, ranks[i].below));
        job->lacks_files |= job->ranks[i].may_lack_file != 0;
    }
    free(ranks);
    free(openings.below);
    return failed;
}

/* Of a process: its ranks with operations, those in the communicator last looked at, the most in any. */
struct crew {
    size_t ranks;
    size_t here;
    size_t most;
    size_t communicator;
};

/* Of each rank the number of its process; their ranks with operations are counted. -1: out of memory. */
static int number_processes(const struct job *job, int64_t *process, struct crew *crews)
{
    struct map numbers;
    int failed = 0;
    map_init(&numbers);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        int64_t *number = map_put(&numbers, (struct map_key){{(uint64_t)job->ranks[i].process_id}},
                                  (int64_t)numbers.count, NULL);
        failed = !number;
        process[i] = failed ? 0 : *number;
        crews[process[i]].ranks += job->ranks[i].count > 0;
    }
    map_release(&numbers);
    return failed ? -1 : 0;
}

static void count_crews(const struct job *job, const int64_t *process, struct crew *crews)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        for (size_t j = 0; j < job->communicators[i].seat_count; j++) {
            int32_t rank = job->communicators[i].seats[j].rank;
            struct crew *crew = &crews[process[rank]];
            if (!job->ranks[rank].count)
                continue;
            if (crew->communicator != i + 1)
                crew->here = 0;
            crew->communicator = i + 1;
            if (++crew->here > crew->most)
                crew->most = crew->here;
        }
}

int job_find_parts(struct job *job)
{
    int64_t *process = array_new(job->rank_count, sizeof *process);
    struct crew *crews = array_new(job->rank_count + 1, sizeof *crews);
    int failed = !process || !crews || number_processes(job, process, crews);
    if (!failed)
        count_crews(job, process, crews);
    for (size_t i = 0; !failed && i < job->rank_count; i++)
        job->ranks[i].is_part = crews[process[i]].ranks > crews[process[i]].most;
    free(process);
    free(crews);
    return failed;
}
