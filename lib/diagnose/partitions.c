/*
 * Divides the ranks of a job into units that may be at fault together (partitions_init): ranks, hosts, blocks
 * of ranks with consecutive numbers.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/scan.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

/* Blocks grow by this factor: tensor-parallel groups, cards and hosts have powers of two as sizes. */
enum { GROWTH = 2 };

/* Fills in `first` and `ranks` from unit_of, whose entries are below `count`. */
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
    if (communicator->is_whole || (int64_t)communicator->member_list_count < communicator->size)
        return -1;
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        int32_t here = partition->unit_of[communicator->member_list[i].rank];
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

/* Whether the network connects two ranks of one block of this size, which are then on two hosts. */
static int has_edge_within(const struct edges *edges, size_t size)
{
    for (size_t i = 0; size > 0 && i < edges->count; i++)
        if ((size_t)edges->items[i].sender / size == (size_t)edges->items[i].receiver / size)
            return 1;
    return 0;
}

/* Ranks that share a clock are on one host. */
static void number_by_clocks(const struct job *job, int32_t *hosts)
{
    for (size_t rank = 0; rank < job->rank_count; rank++)
        hosts[rank] = job->ranks[rank].clock;
}

/*
 * By the host names in the files: all ranks must have one, otherwise some could be on any host. Returns -1
 * when memory runs out.
 */
static int number_by_names(const struct job *job, int32_t *hosts)
{
    struct intern names;
    int64_t number = 0;
    intern_init(&names);
    for (size_t rank = 0; rank < job->rank_count && number >= 0; rank++) {
        const char *host = job->ranks[rank].facts.host;
        number = intern_put(&names, host ? host : "", host ? strlen(host) : 0);
        hosts[rank] = host ? (int32_t)number : -1;
    }
    intern_release(&names);
    return number < 0 ? -1 : 0;
}

/* Whether there are several hosts, and at least one of them has several ranks. */
static int tells_hosts(const int32_t *hosts, size_t ranks)
{
    int several = 0, shared = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        if (hosts[rank] < 0)
            return 0;
        several |= hosts[rank] != hosts[0];
        shared |= rank > 0 && hosts[rank] == hosts[rank - 1];
    }
    return several && shared;
}

static int add_partition(struct partitions *partitions, const struct job *job, const int32_t *hosts)
{
    struct partition *partition = add(partitions, UNIT_HOST, job->rank_count);
    for (size_t rank = 0; partition && rank < job->rank_count; rank++) {
        size_t other = 0;
        while (hosts[other] != hosts[rank])
            other++;
        partition->unit_of[rank] = other < rank ? partition->unit_of[other] : (int32_t)partition->count++;
    }
    return partition ? finish(partition, job) : -1;
}

/* Clocks come first because container names need not identify hosts. */
static int add_hosts(struct partitions *partitions, const struct job *job)
{
    int32_t *hosts = array_new(job->rank_count, sizeof *hosts);
    if (!hosts)
        return -1;
    number_by_clocks(job, hosts);
    int failed = tells_hosts(hosts, job->rank_count) ? 0 : number_by_names(job, hosts);
    if (!failed && tells_hosts(hosts, job->rank_count))
        failed = add_partition(partitions, job, hosts);
    free(hosts);
    return failed;
}

static void mark_hosts(struct partitions *partitions, const struct job *job, const struct edges *edges)
{
    struct partition *largest = &partitions->items[partitions->count - 1], *second = &partitions->items[1];
    if (partitions->count < 2)
        return;
    if (second->kind == UNIT_HOST)
        second->is_host = 1;
    else
        largest->is_host = unit_size(largest, 0) * GROWTH <= job->rank_count &&
                           has_edge_within(edges, unit_size(largest, 0) * GROWTH);
}

/* Whether the blocks of this size are the hosts. */
static int are_hosts(const struct partitions *partitions, size_t ranks, size_t size)
{
    const struct partition *hosts = &partitions->items[partitions->count > 1 ? 1 : 0];
    for (size_t rank = 0; rank < ranks; rank++)
        if (hosts->kind != UNIT_HOST || hosts->unit_of[rank] != (int32_t)(rank / size))
            return 0;
    return 1;
}

int partitions_init(struct partitions *partitions, const struct job *job, const struct edges *edges)
{
    *partitions = (struct partitions){.items = array_new(MOST_PARTITIONS, sizeof *partitions->items)};
    if (!partitions->items || add_blocks(partitions, job, 1) || add_hosts(partitions, job))
        return -1;
    for (size_t size = GROWTH;
         size <= job->rank_count / 2 && partitions->count < MOST_PARTITIONS && !has_edge_within(edges, size);
         size *= GROWTH)
        if (!are_hosts(partitions, job->rank_count, size) && add_blocks(partitions, job, size))
            return -1;
    mark_hosts(partitions, job, edges);
    return 0;
}

const struct partition *partitions_hosts(const struct partitions *partitions)
{
    for (size_t i = 0; i < partitions->count; i++)
        if (partitions->items[i].kind == UNIT_HOST)
            return &partitions->items[i];
    return &partitions->items[partitions->count - 1];
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
