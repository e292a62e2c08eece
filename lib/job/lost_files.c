/*
 * Finds ranks that may have lost the file of one of their communicators. Called at the end of loading, when
 * members are known.
 */
#include "base/base.h"
#include "job/job.h"
#include "job/load.h"
#include "store/store.h"

#include <stdlib.h>

/*
 * The communicators of a rank: how many in total, and how many that have free places below a last member
 * other than this rank.
 */
struct memberships {
    int32_t all;
    int32_t below;
};

/*
 * Communicators with more free places than there are silent ranks. Global ranks ascend with the ranks in a
 * communicator. Communicators that a rank shared only with silent ranks may be entirely unknown.
 */
struct openings {
    int64_t above;  /* lowest global rank of a last member with free places after it; INT64_MAX: none */
    int64_t *below; /* owned, sorted: global rank of the last member of each communicator with free places
                       before that member */
    size_t count;
    int64_t silent; /* number of ranks without records */
};

static void add_opening(const struct job *job, const struct job_communicator *communicator,
                        struct openings *openings, struct memberships *ranks)
{
    const struct communicator_set_member *last =
        &communicator->member_list[communicator->member_list_count - 1];
    int64_t greatest = job->ranks[last->rank].global_rank;
    if (last->number + 1 < communicator->size && greatest < openings->above)
        openings->above = greatest;
    if (last->number + 1 == (int64_t)communicator->member_list_count)
        return;
    openings->below[openings->count++] = greatest;
    for (size_t i = 0; i + 1 < communicator->member_list_count; i++)
        ranks[communicator->member_list[i].rank].below++;
}

static void count_memberships(const struct job *job, struct openings *openings, struct memberships *ranks)
{
    for (size_t i = 0; i < job->rank_count; i++)
        openings->silent += job->ranks[i].process_id < 0;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        if (!communicator->hash || !communicator->member_list_count)
            continue;
        for (size_t j = 0; j < communicator->member_list_count; j++)
            ranks[communicator->member_list[j].rank].all++;
        if (!communicator->told_count &&
            communicator->size - (int64_t)communicator->member_list_count > openings->silent)
            add_opening(job, communicator, openings, ranks);
    }
    sort_integers(openings->below, openings->count);
}

/*
 * Files get lost but none are added, so every rank may be in as many communicators as the rank with the most.
 */
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

/*
 * Whether a communicator that the rank is not known to be in has a free place for it. A rank without a number
 * fits into any free place.
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
