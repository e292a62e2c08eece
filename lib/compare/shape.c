#include "compare/shape.h"

#include "base/array.h"
#include "base/hash.h"
#include "baseline/step_sequence.h"

#include <stdlib.h>
#include <string.h>

/* What the steps of a job call, as it is put together rank by rank. */
struct programme {
    const struct job *job;
    struct stretch *stretches; /* owned: of one rank, by step */
    struct stretch *scratch;   /* owned */
    uint64_t calls;
    uint64_t sizes;
    int sizes_vary;
};

/* Ranks may come in any order where they have no numbers. */
static uint64_t hash_of_rank(const struct job_rank *rank, uint64_t hash)
{
    return hash_mix(hash, rank->global_rank >= 0 ? (uint64_t)rank->global_rank : 0);
}

static uint64_t hash_call(const struct job *job, const struct job_operation *operation)
{
    return hash_mix(operation->function, (uint64_t)job->communicators[operation->communicator].size);
}

/* How many of a rank's usual steps are as the canonical one. */
static int are_mostly(const struct programme *programme, struct stretch canonical, const struct usual *usual)
{
    size_t alike = 0;
    for (size_t i = 0; i < usual->count; i++) {
        const struct stretch *stretch = &programme->stretches[usual->steps[i]];
        alike += stretch->count == canonical.count && stretch->signature == canonical.signature;
    }
    return alike * 2 >= usual->count;
}

/* Of the canonical step of a rank, in order of issue. */
static void add_calls(struct programme *programme, const struct job_rank *rank, struct stretch canonical)
{
    const struct job *job = programme->job;
    uint64_t calls = 0, sizes = 0;
    for (int32_t i = 0; i < canonical.count; i++) {
        const struct job_operation *operation = &job->operations[canonical.first + i];
        uint64_t call = hash_call(job, operation);
        calls = hash_mix(calls, call);
        sizes = hash_mix(hash_mix(sizes, call), (uint64_t)operation->bytes);
    }
    programme->calls += hash_of_rank(rank, calls);
    programme->sizes += hash_of_rank(rank, sizes);
}

static int add_rank(struct programme *programme, size_t number, const struct usual *usual)
{
    const struct job *job = programme->job;
    const struct job_rank *rank = &job->ranks[number];
    if (!rank->count)
        return 0;
    if (stretches_cut(job, rank, programme->stretches))
        return -1;
    for (int32_t step = 0; step < job->step_count; step++)
        if (usual->places[step] < 0)
            programme->stretches[step].count = 0;
    struct stretch canonical =
        stretches_canonical(programme->stretches, 0, job->step_count, programme->scratch);
    if (canonical.first < 0)
        return 0;
    programme->sizes_vary |= !are_mostly(programme, canonical, usual);
    add_calls(programme, rank, canonical);
    return 0;
}

static int measure_programme(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    size_t steps = (size_t)job->step_count + 1;
    struct programme programme = {.job = job,
                                  .stretches = array_new(steps, sizeof *programme.stretches),
                                  .scratch = array_new(steps, sizeof *programme.scratch)};
    int failed = !programme.stretches || !programme.scratch;
    for (size_t i = 0; !failed && usual->count && i < job->rank_count; i++)
        failed = add_rank(&programme, i, usual);
    run->calls = programme.calls;
    run->sizes = programme.sizes_vary ? 0 : programme.sizes;
    free(programme.stretches);
    free(programme.scratch);
    return failed ? -1 : 0;
}

static int by_members(const void *a, const void *b)
{
    const struct measured_way *left = a, *right = b;
    return (left->members > right->members) - (left->members < right->members);
}

/* Whatever numbers they have in it. */
static uint64_t hash_members(const struct job *job, const struct job_communicator *communicator)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < communicator->seat_count; i++) {
        int32_t rank = communicator->seats[i].rank;
        sum += rank < 0 ? 1 : hash_mix(1, (uint64_t)job->ranks[rank].global_rank);
    }
    return hash_mix(sum, (uint64_t)communicator->size);
}

/* Several communicators of the same ranks are one. */
static void unite_ways(struct measured_run *run)
{
    size_t kept = 0;
    array_sort(run->ways, run->way_count, sizeof *run->ways, by_members);
    for (size_t i = 0; i < run->way_count; i++)
        if (kept && run->ways[kept - 1].members == run->ways[i].members)
            run->ways[kept - 1].over_network |= run->ways[i].over_network;
        else
            run->ways[kept++] = run->ways[i];
    run->way_count = kept;
}

static int measure_ways(struct measured_run *run, const struct job *job)
{
    run->ways = array_new(job->communicator_count + 1, sizeof *run->ways);
    if (!run->ways)
        return -1;
    run->has_network = job->traffic_count > 0;
    for (size_t i = 0; i < job->communicator_count; i++)
        run->ways[i].members = hash_members(job, &job->communicators[i]);
    run->way_count = job->communicator_count;
    for (size_t i = 0; i < job->traffic_count; i++)
        run->ways[job->operations[job->traffic[i].operation].communicator].over_network = 1;
    unite_ways(run);
    return 0;
}

/* The first rank on the same host, by their numbers; -1: a host is not known. */
static int64_t first_on_host(const struct job *job, size_t number)
{
    const char *host = job->ranks[number].facts.host;
    int64_t first = job->ranks[number].global_rank;
    for (size_t i = 0; host && i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[i];
        if (rank->facts.host && strcmp(rank->facts.host, host) == 0 && rank->global_rank < first)
            first = rank->global_rank;
    }
    return host ? first : -1;
}

static int measure_hosts(struct measured_run *run, const struct job *job)
{
    int64_t *hosts = array_new(job->rank_count + 1, sizeof *hosts);
    int is_known = run->has_ranks;
    for (size_t i = 0; hosts && is_known && i < job->rank_count; i++) {
        int64_t rank = job->ranks[i].global_rank, first = first_on_host(job, i);
        is_known = first >= 0 && rank < (int64_t)job->rank_count;
        if (is_known)
            hosts[rank] = first;
    }
    if (!hosts)
        return -1;
    if (is_known)
        run->hosts = hosts;
    else
        free(hosts);
    return 0;
}

int shape_measure(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    run->ranks = (int64_t)job_recorded_ranks(job);
    run->has_ranks = job->has_global_ranks;
    for (size_t i = 0; i < job->rank_count; i++)
        run->has_ranks = run->has_ranks && job->ranks[i].global_rank >= 0;
    return measure_programme(run, job, usual) || measure_ways(run, job) || measure_hosts(run, job) ? -1 : 0;
}
