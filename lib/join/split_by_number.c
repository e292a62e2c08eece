#include "join/split_by_number.h"

#include "base/map.h"

/*
 * Members that nothing told apart go together when they have the same rank number in communicators of the
 * same size (a duplicate of the world); each of the others counts as a rank. So does one that could be any of
 * several ranks: a guess would credit one rank with what others did.
 */

static struct map_key alike_key(const struct work *work, const struct work_member *member)
{
    return (struct map_key){{(uint64_t)member->process, (uint64_t)member->rank + 1,
                             (uint64_t)work->communicators[member->communicator].member_count}};
}

/* What map `ranks` says where placed members of one number and size are of several ranks. */
enum { SEVERAL_RANKS = -2 };

/* Who goes with whom, by number and size; and how many members of a communicator would be one rank. */
struct alike {
    struct map ranks;  /* alike_key -> rank */
    struct map claims; /* (rank, communicator) */
};

static int claim(struct alike *alike, int64_t rank, const struct work_member *member)
{
    struct map_key key = {{(uint64_t)rank, (uint64_t)member->communicator}};
    int64_t *claims = map_put(&alike->claims, key, 0, NULL);
    if (!claims)
        return -1;
    ++*claims;
    return 0;
}

static int note_placed(struct alike *alike, const struct work *work, const struct work_member *member)
{
    int64_t *rank = map_put(&alike->ranks, alike_key(work, member), member->job_rank, NULL);
    if (!rank)
        return -1;
    if (*rank != member->job_rank)
        *rank = SEVERAL_RANKS;
    return claim(alike, member->job_rank, member);
}

static int note_unplaced(struct alike *alike, const struct work *work, const struct work_member *member)
{
    const int64_t *rank = map_get(&alike->ranks, alike_key(work, member));
    return rank && *rank >= 0 ? claim(alike, *rank, member) : 0;
}

/* Nobody is two ranks of a communicator: of those that would be one none is, whoever was read first. */
static int is_alone(const struct alike *alike, int64_t rank, const struct work_member *member)
{
    struct map_key key = {{(uint64_t)rank, (uint64_t)member->communicator}};
    const int64_t *claims = map_get(&alike->claims, key);
    return !claims || *claims == 1;
}

static int place_alike(struct alike *alike, struct work *work, struct work_member *member)
{
    int added;
    int64_t *known = map_put(&alike->ranks, alike_key(work, member), -1, &added);
    if (!known)
        return -1;
    int64_t rank = *known;
    if (rank < 0 || !is_alone(alike, rank, member))
        rank = work_add_rank(work, work->processes[member->process].run, member->process);
    if (added)
        *known = rank;
    member->job_rank = (int32_t)rank;
    return rank < 0 ? -1 : 0;
}

int work_place_alike(struct work *work, const unsigned char *shared, struct error *error)
{
    struct alike alike;
    int failed = 0;
    map_init(&alike.ranks);
    map_init(&alike.claims);
    for (size_t i = 0; !failed && i < work->member_count; i++)
        if (shared[work->members[i].process] && work->members[i].job_rank >= 0)
            failed = note_placed(&alike, work, &work->members[i]);
    for (size_t i = 0; !failed && i < work->member_count; i++)
        if (work->members[i].job_rank < 0)
            failed = note_unplaced(&alike, work, &work->members[i]);
    for (size_t i = 0; !failed && i < work->member_count; i++)
        if (work->members[i].job_rank < 0)
            failed = place_alike(&alike, work, &work->members[i]);
    map_release(&alike.ranks);
    map_release(&alike.claims);
    return failed ? error_no_memory(error) : 0;
}
