/*
 * What would be slow without showing: a network that all transfers share, and a host that alone does its
 * work, if they are slow from the first step on; and a rank that is late before operations whose root is not
 * known. An all-clear does not cover them, so their size is measured.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

/* Transfers and differences of less than this part of a step are not worth a line. */
static const double LEAST_PART = 0.1;

struct uncompared_search {
    const struct job *job;
    const struct baseline *baseline;
    const struct partition *hosts;
    int64_t *rank_ns; /* owned: own time of each rank */
    int64_t *host_ns; /* owned: median of the ranks of each host; scratch behind it */
};

/* Whether members of an instance are on both of two hosts. */
static int is_of_two_hosts(const struct uncompared_search *it, const struct job_instance *instance)
{
    int32_t first = it->hosts->unit_of[job_member(it->job, instance, 0)->rank];
    for (int32_t i = 1; i < instance->members; i++)
        if (it->hosts->unit_of[job_member(it->job, instance, i)->rank] != first)
            return 1;
    return 0;
}

/*
 * Whether nothing shows how long the transfer of an instance usually takes: all that crosses between the only
 * two hosts takes the same way, and what all ranks do together has no sister.
 */
static int is_alone(const struct uncompared_search *it, const struct job_instance *instance)
{
    if (!instance->members || instance->members != instance->expected || instance->transfer_ns <= 0 ||
        instance->step < it->baseline->first_step || instance->step >= it->baseline->step_count)
        return 0;
    return (size_t)instance->members == it->job->rank_count ||
           (it->hosts->count == 2 && is_of_two_hosts(it, instance));
}

/* The mean over the steps after the warm-up. */
static int64_t per_step(const struct uncompared_search *it, int64_t sum_ns)
{
    int32_t steps = it->baseline->step_count - it->baseline->first_step;
    return steps > 0 ? sum_ns / steps : 0;
}

/* Mean over the ranks. */
static int64_t shared_transfers_ns(const struct uncompared_search *it)
{
    double sum_ns = 0;
    for (size_t i = 0; i < it->job->instance_count; i++) {
        const struct job_instance *instance = &it->job->instances[i];
        if (is_alone(it, instance))
            sum_ns += (double)instance->transfer_ns * instance->members;
    }
    int64_t step_ns = per_step(it, (int64_t)(sum_ns / (double)it->job->rank_count));
    /* Transfers of several streams overlap. */
    return step_ns < it->baseline->median_step_ns ? step_ns : it->baseline->median_step_ns;
}

/* Whether another host has ranks of the same role. */
static int has_peers(const struct uncompared_search *it, size_t host)
{
    for (size_t i = it->hosts->first[host]; i < it->hosts->first[host + 1]; i++) {
        int32_t role = it->baseline->role_of_rank[it->hosts->ranks[i]];
        for (size_t j = 0; role >= 0 && j < it->baseline->roles[role].rank_count; j++)
            if (it->hosts->unit_of[it->baseline->roles[role].ranks[j]] != (int32_t)host)
                return 1;
    }
    return 0;
}

static void measure_hosts(const struct uncompared_search *it)
{
    for (size_t i = 0; i < it->job->operation_count; i++) {
        const struct job_operation *operation = &it->job->operations[i];
        if (operation->step >= it->baseline->first_step && operation->own_ns != TIME_UNKNOWN)
            it->rank_ns[operation->rank] += operation->own_ns;
    }
    for (size_t host = 0; host < it->hosts->count; host++) {
        size_t count = 0;
        int64_t *list = it->host_ns + it->hosts->count;
        for (size_t i = it->hosts->first[host]; i < it->hosts->first[host + 1]; i++)
            list[count++] = it->rank_ns[it->hosts->ranks[i]];
        it->host_ns[host] = per_step(it, median_of(list, count));
    }
}

/* Finds the host whose ranks compute longest, and how long those of the next one do. */
static void find_slowest(const struct uncompared_search *it, struct uncompared *found)
{
    size_t slowest = 0;
    for (size_t host = 1; host < it->hosts->count; host++)
        slowest = it->host_ns[host] > it->host_ns[slowest] ? host : slowest;
    int64_t next_ns = 0;
    for (size_t host = 0; host < it->hosts->count; host++)
        if (host != slowest && it->host_ns[host] > next_ns)
            next_ns = it->host_ns[host];
    if ((double)(it->host_ns[slowest] - next_ns) < LEAST_PART * (double)it->baseline->median_step_ns ||
        has_peers(it, slowest))
        return;
    found->rank = it->hosts->ranks[it->hosts->first[slowest]];
    found->computes_ns = it->host_ns[slowest];
    found->next_ns = next_ns;
}

/* In an operation with a root, some members do not wait for others; which ones depends on the root. */
static int is_rootless(const struct job *job, const struct job_operation *operation)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    return operation->kind == OPERATION_COLLECTIVE && operation->root < 0 &&
           (operation->function == FUNCTION_BROADCAST || operation->function == FUNCTION_REDUCE) &&
           !arrival_is_told(instance, operation->function);
}

static void count_rootless(const struct job *job, struct uncompared *found)
{
    int64_t rootless = 0;
    for (size_t i = 0; i < job->operation_count; i++) {
        found->operations += job->operations[i].step >= 0;
        rootless += job->operations[i].step >= 0 && is_rootless(job, &job->operations[i]);
    }
    if ((double)rootless >= LEAST_PART * (double)found->operations)
        found->rootless = rootless;
}

/* NULL: the hosts are not known, or there is one. */
static const struct partition *hosts_of(const struct partitions *partitions)
{
    for (size_t i = 0; i < partitions->count; i++)
        if (partitions->items[i].is_host && partitions->items[i].count > 1)
            return &partitions->items[i];
    return NULL;
}

int findings_measure_uncompared(struct findings *findings, const struct job *job,
                                const struct baseline *baseline, const struct edges *edges,
                                struct error *error)
{
    struct partitions partitions = {0};
    struct uncompared_search it = {.job = job,
                                   .baseline = baseline,
                                   .rank_ns = array_new(job->rank_count + 1, sizeof *it.rank_ns),
                                   .host_ns = array_new(2 * job->rank_count + 1, sizeof *it.host_ns)};
    findings->uncompared = (struct uncompared){.rank = -1};
    count_rootless(job, &findings->uncompared);
    int failed =
        !it.rank_ns || !it.host_ns || (job->rank_count > 1 && partitions_init(&partitions, job, edges));
    it.hosts = failed ? NULL : hosts_of(&partitions);
    if (it.hosts && baseline->median_step_ns > 0) {
        int64_t network_ns = shared_transfers_ns(&it);
        findings->uncompared.are_two_hosts = it.hosts->count == 2;
        if ((double)network_ns >= LEAST_PART * (double)baseline->median_step_ns)
            findings->uncompared.network_ns = network_ns;
        measure_hosts(&it);
        find_slowest(&it, &findings->uncompared);
    }
    partitions_release(&partitions);
    free(it.rank_ns);
    free(it.host_ns);
    return failed ? error_no_memory(error) : 0;
}

int uncompared_append_network(const struct uncompared *uncompared, int64_t step_ns, struct buffer *text)
{
    return buffer_append_text(text, uncompared->are_two_hosts
                                        ? "whether the network between the two hosts is slow in every step: "
                                          "transfers over it take "
                                        : "whether the network is slow in every step: operations of all "
                                          "ranks take ") ||
                   text_time(text, uncompared->network_ns) ||
                   buffer_printf(text, " (%.0f %% of the median step), and no other %s what is usual",
                                 100 * (double)uncompared->network_ns / (double)step_ns,
                                 uncompared->are_two_hosts ? "hosts show" : "group of ranks shows")
               ? -1
               : 0;
}

int uncompared_append_host(const struct uncompared *uncompared, const struct job *job, struct buffer *text)
{
    return buffer_printf(text, "whether the host of rank %s is slow in every step: its ranks compute ",
                         job->ranks[uncompared->rank].name) ||
                   text_time(text, uncompared->computes_ns) ||
                   buffer_append_text(text, " per step, those of the next host ") ||
                   text_time(text, uncompared->next_ns) ||
                   buffer_append_text(text, ", and no other host does the same work")
               ? -1
               : 0;
}

int uncompared_append_roots(const struct uncompared *uncompared, struct buffer *text)
{
    return buffer_printf(text,
                         "which rank others wait for in %lld of %lld operations: they are broadcasts and "
                         "reductions to one rank, and the trace does not show which rank is their root",
                         (long long)uncompared->rootless, (long long)uncompared->operations);
}
