#include "base/base.h"
#include "job/job.h"
#include "job/load.h"
#include "store/store.h"

#include <stdlib.h>

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
    const struct communicator_set_member *last = &communicator->member_list[communicator->seat_count - 1];
    int64_t greatest = job->ranks[last->rank].global_rank;
    if (last->number + 1 < communicator->size && greatest < openings->above)
        openings->above = greatest;
    if (last->number + 1 == (int64_t)communicator->seat_count)
        return;
    openings->below[openings->count++] = greatest;
    for (size_t i = 0; i + 1 < communicator->seat_count; i++)
        ranks[communicator->member_list[i].rank].below++;
}

static void count_memberships(const struct job *job, struct openings *openings, struct memberships *ranks)
{
    for (size_t i = 0; i < job->rank_count; i++)
        openings->silent += job->ranks[i].process_id < 0;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        if (!communicator->hash || !communicator->seat_count)
            continue;
        for (size_t j = 0; j < communicator->seat_count; j++)
            ranks[communicator->member_list[j].rank].all++;
        if (!communicator->told_count &&
            communicator->size - (int64_t)communicator->seat_count > openings->silent)
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

static int is_not_above(const void *below, const void *global_rank)
{
    return *(const int64_t *)below <= *(const int64_t *)global_rank;
}

/* Whether there is a place for the rank in a communicator that it is not in; one without a number fits any.
 */
static int fits(const struct openings *openings, int64_t global_rank, int32_t is_below)
{
    if (global_rank < 0 || global_rank > openings->above)
        return openings->count || openings->above != INT64_MAX;
    size_t past =
        lower_bound(openings->below, openings->count, sizeof *openings->below, is_not_above, &global_rank);
    return openings->count - past > (size_t)is_below;
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
