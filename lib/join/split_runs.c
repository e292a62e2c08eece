/*
 * Separates the ranks behind one process id, by the difference of host and GPU clock or by the regular layout
 * of the job. ranks.c calls it for processes that are several times in one communicator.
 */
#include "base/base.h"
#include "join/internal.h"

#include <stdlib.h>

/*
 * One process id may stand for several ranks: several GPUs of one process, or processes on several hosts that
 * have the same id (containers). Host clock minus GPU clock has one value for each of them. The members of
 * the communicator that has most of them are one rank each, and the seeds. Every other member belongs to the
 * seed with the nearest value, if that is clearly nearer than the next one and not yet in the member's
 * communicator.
 */

struct seed {
    int64_t affinity;
    int32_t rank;
};

static int by_affinity(const void *a, const void *b)
{
    const struct seed *left = a, *right = b;
    if (left->affinity != right->affinity)
        return left->affinity < right->affinity ? -1 : 1;
    return left->rank - right->rank;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* Clocks drift, so of two values at about the same distance the nearer one is chance. */
enum { TIMES_NEARER = 3 };

static int is_below(const void *seed, const void *affinity)
{
    return ((const struct seed *)seed)->affinity < *(const int64_t *)affinity;
}

/* The seed nearest to a value; -1 if the second nearest is less than TIMES_NEARER times as far. */
static int64_t nearest(const struct seed *seeds, size_t count, int64_t affinity)
{
    size_t above = lower_bound(seeds, count, sizeof *seeds, is_below, &affinity);
    uint64_t best = UINT64_MAX, second = UINT64_MAX;
    int64_t at = -1;
    for (size_t i = above >= 2 ? above - 2 : 0; i < count && i < above + 2; i++) {
        uint64_t far = distance(seeds[i].affinity, affinity);
        if (far < best) {
            second = best;
            best = far;
            at = (int64_t)i;
        } else if (far < second) {
            second = far;
        }
    }
    return count > 1 && best >= second / TIMES_NEARER ? -1 : at;
}

/* The communicator in which a process has most members; of several, the largest; -2: out of memory. */
static int32_t seeding_communicator(const struct work *work, int32_t process)
{
    struct map counts;
    int32_t best = -1;
    int64_t most = 0;
    map_init(&counts);
    for (size_t i = work->by_process.first[process]; i < work->by_process.first[process + 1]; i++) {
        const struct work_member *member = &work->members[work->by_process.items[i]];
        int64_t *count = map_put(&counts, (struct map_key){{(uint64_t)member->communicator}}, 0, NULL);
        if (!count) {
            map_release(&counts);
            return -2;
        }
        ++*count;
        const struct work_communicator *here = &work->communicators[member->communicator];
        if (*count > most ||
            (*count == most && here->member_count > work->communicators[best].member_count)) {
            most = *count;
            best = member->communicator;
        }
    }
    map_release(&counts);
    return best;
}

/*
 * Makes a rank for each member in the communicator. If one of them has no clock difference, *count is 0,
 * because then no seed can be nearest.
 */
static int make_seeds(struct work *work, int32_t process, int32_t communicator, struct seed **seeds,
                      size_t *count)
{
    size_t capacity = 0, valued = 0;
    for (size_t i = work->by_process.first[process]; i < work->by_process.first[process + 1]; i++) {
        struct work_member *member = &work->members[work->by_process.items[i]];
        if (member->communicator != communicator)
            continue;
        int64_t rank = work_add_rank(work, work->processes[process].run, process);
        if (rank < 0 || array_reserve((void **)seeds, &capacity, *count + 1, sizeof **seeds))
            return -1;
        member->job_rank = (int32_t)rank;
        valued += member->affinity != INT64_MIN;
        (*seeds)[(*count)++] = (struct seed){member->affinity, (int32_t)rank};
    }
    if (valued < *count)
        *count = 0;
    array_sort(*seeds, *count, sizeof **seeds, by_affinity);
    return 0;
}

int work_split_process(struct work *work, int32_t process)
{
    struct seed *seeds = NULL;
    size_t count = 0;
    struct map taken; /* (rank, communicator) */
    map_init(&taken);
    int32_t communicator = seeding_communicator(work, process);
    int failed = communicator == -2;
    if (communicator >= 0)
        failed = make_seeds(work, process, communicator, &seeds, &count);
    size_t end = work->by_process.first[process + 1];
    for (size_t i = work->by_process.first[process]; !failed && count && i < end; i++) {
        struct work_member *member = &work->members[work->by_process.items[i]];
        if (member->job_rank >= 0 || member->affinity == INT64_MIN)
            continue;
        int64_t at = nearest(seeds, count, member->affinity);
        int added = 0;
        if (at >= 0 &&
            !map_put(&taken, (struct map_key){{(uint64_t)at, (uint64_t)member->communicator}}, 1, &added))
            failed = -1;
        if (added)
            member->job_rank = seeds[at].rank;
    }
    map_release(&taken);
    free(seeds);
    return failed;
}

/*
 * Members that could not be separated are the same rank if they have the same rank in communicators of the
 * same size (a duplicate of the world). All others are ranks of their own. So is a member that could be one
 * of several ranks: a guess would attribute operations to the wrong rank.
 */

static struct map_key alike_key(const struct work *work, const struct work_member *member)
{
    return (struct map_key){{(uint64_t)member->process, (uint64_t)member->rank + 1,
                             (uint64_t)work->communicators[member->communicator].member_count}};
}

/* Value in map `ranks` if members with equal rank and size belong to several ranks. */
enum { SEVERAL_RANKS = -2 };

/*
 * Which members are the same rank, by rank and size; and how many members of a communicator would be one
 * rank.
 */
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

/*
 * No rank is twice in a communicator. If several members would be the same rank, none of them is, so that the
 * order of files does not matter.
 */
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

/*
 * Separates ranks behind one process id by the regular layout of a job. The global ranks of a communicator's
 * members are at equal distances. Communicators of one size have the same distance, or one of a few (tensor
 * and pipeline parallel groups of the same size). A member belongs to the rank of its process that is at the
 * right place; to none if several or no ranks are.
 */

struct stride {
    int32_t run;
    int64_t size;
    int64_t distance;
};

struct places {
    struct work *work;
    const int32_t *members; /* borrowed from struct work: by communicator */
    const size_t *first;
    struct stride *strides;
    size_t stride_count;
    size_t stride_capacity;
    struct map at;    /* (process, global rank) -> rank */
    struct map taken; /* (rank, communicator) */
};

static int64_t global_rank_of(const struct places *places, int32_t member)
{
    int32_t rank = places->work->members[member].job_rank;
    return rank < 0 ? -1 : places->work->ranks[rank].global_rank;
}

static int index_ranks(struct places *places)
{
    struct work *work = places->work;
    for (size_t i = 0; i < work->rank_count; i++)
        if (work->ranks[i].process >= 0 && work->ranks[i].global_rank >= 0 &&
            !map_put(
                &places->at,
                (struct map_key){{(uint64_t)work->ranks[i].process, (uint64_t)work->ranks[i].global_rank}},
                (int64_t)i, NULL))
            return -1;
    for (size_t i = 0; i < work->member_count; i++)
        if (work->members[i].job_rank >= 0 &&
            !map_put(&places->taken,
                     (struct map_key){
                         {(uint64_t)work->members[i].job_rank, (uint64_t)work->members[i].communicator}},
                     1, NULL))
            return -1;
    return 0;
}

/* The first member of a communicator with a known global rank; -1: none. */
static int32_t anchor_of(const struct places *places, size_t communicator)
{
    for (size_t i = places->first[communicator]; i < places->first[communicator + 1]; i++)
        if (global_rank_of(places, places->members[i]) >= 0)
            return places->members[i];
    return -1;
}

/* The distance of global ranks per rank, equal for all known members from the anchor; 0: none. */
static int64_t own_distance(const struct places *places, size_t communicator, int32_t anchor)
{
    const struct work *work = places->work;
    int64_t distance = 0;
    for (size_t i = places->first[communicator]; i < places->first[communicator + 1]; i++) {
        int32_t member = places->members[i];
        int64_t apart = work->members[member].rank - work->members[anchor].rank;
        int64_t far = global_rank_of(places, member) - global_rank_of(places, anchor);
        if (member == anchor || global_rank_of(places, member) < 0 || !apart)
            continue;
        if (far % apart || (distance && far / apart != distance))
            return 0;
        distance = far / apart;
    }
    return distance;
}

static int note_strides(struct places *places)
{
    struct work *work = places->work;
    struct map seen;
    int failed = 0;
    map_init(&seen);
    for (size_t i = 0; !failed && i < work->communicator_count; i++) {
        int32_t anchor = anchor_of(places, i);
        int64_t distance = anchor < 0 ? 0 : own_distance(places, i, anchor);
        if (!distance)
            continue;
        struct stride stride = {work->communicators[i].run, work->communicators[i].size, distance};
        int added;
        failed = !map_put(&seen,
                          (struct map_key){{(uint64_t)stride.run, (uint64_t)stride.size, (uint64_t)distance}},
                          1, &added);
        if (failed || !added)
            continue;
        failed = array_reserve((void **)&places->strides, &places->stride_capacity, places->stride_count + 1,
                               sizeof *places->strides);
        if (!failed)
            places->strides[places->stride_count++] = stride;
    }
    map_release(&seen);
    return failed;
}

/* The place of a communicator: the global rank that its rank 0 has, and the distance between ranks. */
struct line {
    int64_t origin;
    int64_t distance;
};

static struct line line_through(const struct work *work, int32_t member, int64_t global_rank,
                                int64_t distance)
{
    return (struct line){global_rank - work->members[member].rank * distance, distance};
}

/* The rank of the member's process that is on the line and not yet in the communicator; -1: none. */
static int64_t rank_on(const struct places *places, struct line line, int32_t member)
{
    const struct work_member *of = &places->work->members[member];
    struct map_key key = {{(uint64_t)of->process, (uint64_t)(line.origin + of->rank * line.distance)}};
    const int64_t *rank = map_get(&places->at, key);
    if (!rank || map_get(&places->taken, (struct map_key){{(uint64_t)*rank, (uint64_t)of->communicator}}))
        return -1;
    return *rank;
}

/* Whether every member without a rank has one on the line. */
static int fits(const struct places *places, size_t communicator, struct line line)
{
    for (size_t i = places->first[communicator]; i < places->first[communicator + 1]; i++)
        if (places->work->members[places->members[i]].job_rank < 0 &&
            rank_on(places, line, places->members[i]) < 0)
            return 0;
    return 1;
}

static int same_line(struct line a, struct line b)
{
    return a.origin == b.origin && a.distance == b.distance;
}

/* Keeps a line that fits; returns how many different ones do. */
static int try_line(const struct places *places, size_t communicator, struct line line, struct line *found,
                    int count)
{
    if (!fits(places, communicator, line) || (count && same_line(line, *found)))
        return count;
    *found = line;
    return count + 1;
}

/* Tries lines with the known distances through a member, if its rank is `global_rank`. */
static int try_strides(const struct places *places, size_t communicator, int32_t member, int64_t global_rank,
                       struct line *found, int count)
{
    const struct work_communicator *of = &places->work->communicators[communicator];
    for (size_t i = 0; i < places->stride_count && count < 2; i++)
        if (places->strides[i].run == of->run && places->strides[i].size == of->size)
            count = try_line(places, communicator,
                             line_through(places->work, member, global_rank, places->strides[i].distance),
                             found, count);
    return count;
}

/* For a communicator without known members: tries each rank of the process for its first member. */
static int try_ranks(const struct places *places, size_t communicator, struct line *found)
{
    const struct work *work = places->work;
    int32_t member = places->members[places->first[communicator]];
    int count = 0;
    for (size_t i = 0; i < work->rank_count && count < 2; i++)
        if (work->ranks[i].process == work->members[member].process && work->ranks[i].global_rank >= 0)
            count = try_strides(places, communicator, member, work->ranks[i].global_rank, found, count);
    return count;
}

/* Whether exactly one line fits a communicator. */
static int find_line(const struct places *places, size_t communicator, struct line *line)
{
    const struct work *work = places->work;
    int32_t anchor = anchor_of(places, communicator);
    if (places->first[communicator] == places->first[communicator + 1])
        return 0;
    if (anchor < 0)
        return try_ranks(places, communicator, line) == 1;
    int64_t global_rank = global_rank_of(places, anchor),
            distance = own_distance(places, communicator, anchor);
    if (!distance)
        return try_strides(places, communicator, anchor, global_rank, line, 0) == 1;
    *line = line_through(work, anchor, global_rank, distance);
    return fits(places, communicator, *line);
}

int join_has_unassigned_member(const struct work *work, size_t communicator)
{
    size_t i = work->by_communicator.first[communicator], end = work->by_communicator.first[communicator + 1];
    while (i < end && work->members[work->by_communicator.items[i]].job_rank >= 0)
        i++;
    return i < end;
}

static int place_members(struct places *places, size_t communicator, size_t *placed)
{
    struct work *work = places->work;
    struct line line;
    if (!join_has_unassigned_member(work, communicator) || !find_line(places, communicator, &line))
        return 0;
    for (size_t i = places->first[communicator]; i < places->first[communicator + 1]; i++) {
        struct work_member *member = &work->members[places->members[i]];
        int64_t rank = member->job_rank < 0 ? rank_on(places, line, places->members[i]) : -1;
        if (rank < 0)
            continue;
        member->job_rank = (int32_t)rank;
        (*placed)++;
        if (!map_put(&places->taken, (struct map_key){{(uint64_t)rank, (uint64_t)communicator}}, 1, NULL))
            return -1;
    }
    return 0;
}

/*
 * Communicators of tensor, data, pipeline and expert parallelism: placing one kind may allow to place the
 * next.
 */
enum { ROUNDS = 4 };

int work_place_members(struct work *work)
{
    struct places places = {
        .work = work, .members = work->by_communicator.items, .first = work->by_communicator.first};
    map_init(&places.at);
    map_init(&places.taken);
    int failed = index_ranks(&places) || note_strides(&places);
    size_t placed = 1;
    /* Members that have been placed show where others are. */
    for (int round = 0; !failed && placed && round < ROUNDS; round++) {
        placed = 0;
        for (size_t i = 0; !failed && i < work->communicator_count; i++)
            failed = place_members(&places, i, &placed);
    }
    map_release(&places.at);
    map_release(&places.taken);
    free(places.strides);
    return failed;
}
