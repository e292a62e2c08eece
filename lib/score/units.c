#include "score/units.h"

#include "base/array.h"

#include <stdlib.h>

/* Blocks grow by this factor: tensor groups, cards and hosts have powers of two as sizes. */
enum { GROWTH = 2 };

/* Fills in members from unit_of, which has numbers below `count`. */
static int list_members(struct partition *partition, size_t ranks)
{
    partition->first = array_new(partition->count + 2, sizeof *partition->first);
    partition->ranks = array_new(ranks, sizeof *partition->ranks);
    if (!partition->first || !partition->ranks)
        return -1;
    for (size_t rank = 0; rank < ranks; rank++)
        partition->first[partition->unit_of[rank] + 2]++;
    for (size_t unit = 2; unit < partition->count + 2; unit++)
        partition->first[unit] += partition->first[unit - 1];
    for (size_t rank = 0; rank < ranks; rank++)
        partition->ranks[partition->first[partition->unit_of[rank] + 1]++] = (int32_t)rank;
    return 0;
}

static int32_t unit_of_all(const struct partition *partition, const struct job_communicator *communicator)
{
    int32_t unit = communicator->silent >= 0 ? partition->unit_of[communicator->silent] : -1;
    if (communicator->is_whole || (int64_t)communicator->seat_count < communicator->size)
        return -1;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int32_t here = partition->unit_of[communicator->seats[i].rank];
        if (i && here != unit)
            return -1;
        unit = here;
    }
    return unit;
}

static int finish(struct partition *partition, const struct job *job)
{
    partition->within = array_new(job->communicator_count, sizeof *partition->within);
    if (!partition->within || list_members(partition, job->rank_count))
        return -1;
    for (size_t i = 0; i < job->communicator_count; i++)
        partition->within[i] = unit_of_all(partition, &job->communicators[i]);
    return 0;
}

static struct partition *add(struct partitions *partitions, enum unit_kind kind, size_t ranks)
{
    struct partition *partition = &partitions->items[partitions->count++];
    *partition = (struct partition){.kind = kind, .unit_of = array_new(ranks, sizeof *partition->unit_of)};
    return partition->unit_of ? partition : NULL;
}

static int add_blocks(struct partitions *partitions, const struct job *job, size_t size)
{
    struct partition *partition = add(partitions, size > 1 ? UNIT_BLOCK : UNIT_RANK, job->rank_count);
    for (size_t rank = 0; partition && rank < job->rank_count; rank++)
        partition->unit_of[rank] = (int32_t)(rank / size);
    if (partition)
        partition->count = (job->rank_count + size - 1) / size;
    return partition ? finish(partition, job) : -1;
}

/* Whether the network joins two ranks of one block of that size: they are on two hosts then. */
static int has_edge_within(const struct edges *edges, size_t size)
{
    for (size_t i = 0; i < edges->count; i++)
        if ((size_t)edges->items[i].sender / size == (size_t)edges->items[i].receiver / size)
            return 1;
    return 0;
}

/* Ranks that share a clock are on one host. Returns whether there are several hosts, and one of several. */
static int tells_hosts(const struct job *job)
{
    int several = 0, shared = 0;
    for (size_t rank = 1; rank < job->rank_count; rank++) {
        several |= job->ranks[rank].clock != job->ranks[0].clock;
        shared |= job->ranks[rank].clock == job->ranks[rank - 1].clock;
    }
    return several && shared;
}

static int add_hosts(struct partitions *partitions, const struct job *job)
{
    struct partition *partition = add(partitions, UNIT_HOST, job->rank_count);
    for (size_t rank = 0; partition && rank < job->rank_count; rank++) {
        size_t other = 0;
        while (job->ranks[other].clock != job->ranks[rank].clock)
            other++;
        partition->unit_of[rank] = other < rank ? partition->unit_of[other] : (int32_t)partition->count++;
    }
    return partition ? finish(partition, job) : -1;
}

int partitions_init(struct partitions *partitions, const struct job *job, const struct edges *edges)
{
    *partitions = (struct partitions){.items = array_new(MOST_PARTITIONS, sizeof *partitions->items)};
    if (!partitions->items || add_blocks(partitions, job, 1) ||
        (tells_hosts(job) && add_hosts(partitions, job)))
        return -1;
    for (size_t size = GROWTH;
         size <= job->rank_count / 2 && partitions->count < MOST_PARTITIONS && !has_edge_within(edges, size);
         size *= GROWTH)
        if (add_blocks(partitions, job, size))
            return -1;
    return 0;
}

void partitions_release(struct partitions *partitions)
{
    for (size_t i = 0; i < partitions->count; i++) {
        free(partitions->items[i].first);
        free(partitions->items[i].ranks);
        free(partitions->items[i].unit_of);
        free(partitions->items[i].within);
    }
    free(partitions->items);
    *partitions = (struct partitions){0};
}
