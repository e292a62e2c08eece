#include "join/split_by_shape.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

/*
 * Ranks behind one process id that no clock tells apart (split_by_clock.c), by the regular shape of a job:
 * the global ranks of a communicator's members lie at even distances, the same in communicators of one size,
 * or one of a few (tensor and pipeline parallel groups of the same size). A member goes to the rank of its
 * process that lies where it should; to none when there are several or none of them.
 */

struct stride {
    int32_t run;
    int64_t size;
    int64_t distance;
};

struct places {
    struct work *work;
    const int32_t *members; /* of struct work: by communicator */
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

/* The first member of a communicator whose global rank is known; -1. */
static int32_t anchor_of(const struct places *places, size_t communicator)
{
    for (size_t i = places->first[communicator]; i < places->first[communicator + 1]; i++)
        if (global_rank_of(places, places->members[i]) >= 0)
            return places->members[i];
    return -1;
}

/* The one distance that all known members have from the anchor, per rank; 0 when there is none. */
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

/* Where a communicator lies: the global rank of its rank 0, were there one, and the distance between ranks.
 */
struct line {
    int64_t origin;
    int64_t distance;
};

static struct line line_through(const struct work *work, int32_t member, int64_t global_rank,
                                int64_t distance)
{
    return (struct line){global_rank - work->members[member].rank * distance, distance};
}

/* The rank of the member's process that lies on the line and is not in the communicator yet; -1. */
static int64_t rank_on(const struct places *places, struct line line, int32_t member)
{
    const struct work_member *of = &places->work->members[member];
    struct map_key key = {{(uint64_t)of->process, (uint64_t)(line.origin + of->rank * line.distance)}};
    const int64_t *rank = map_get(&places->at, key);
    if (!rank || map_get(&places->taken, (struct map_key){{(uint64_t)*rank, (uint64_t)of->communicator}}))
        return -1;
    return *rank;
}

/* Whether every member that has no rank yet finds one on the line. */
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

/* Keeps the one line that fits; returns how many do. */
static int try_line(const struct places *places, size_t communicator, struct line line, struct line *found,
                    int count)
{
    if (!fits(places, communicator, line) || (count && same_line(line, *found)))
        return count;
    *found = line;
    return count + 1;
}

/* Lines of the known distances through a member, if `global_rank` is its rank. */
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

/* Without any known member: through the first of them, whichever of its process's ranks that is. */
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

int work_has_homeless(const struct work *work, size_t communicator)
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
    if (!work_has_homeless(work, communicator) || !find_line(places, communicator, &line))
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

/* Communicators of tensor, data, pipeline and expert parallelism each tell the next kind at most. */
enum { ROUNDS = 4 };

int work_place_members(struct work *work)
{
    struct places places = {
        .work = work, .members = work->by_communicator.items, .first = work->by_communicator.first};
    map_init(&places.at);
    map_init(&places.taken);
    int failed = index_ranks(&places) || note_strides(&places);
    size_t placed = 1;
    /* What is placed tells where others lie. */
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
