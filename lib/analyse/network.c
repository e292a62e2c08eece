#include "analyse/edges.h"
#include "analyse/finding.h"
#include "analyse/place.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * Ranks whose transfers were slow. First the instances whose transfer stands out against the same place of
 * other steps and of other communicators; then, for each, the edge whose network steps waited so much longer
 * than usual that it explains the delay. Without network steps, the rank that all slow transfers of a step
 * share.
 */

/* The transfer of an instance is told once: at the first of its members. */
static int64_t transfer_at(const struct job *job, int32_t cell)
{
    if (cell < 0)
        return TIME_UNKNOWN;
    const struct job_instance *instance = &job->instances[job->operations[cell].instance];
    int complete = instance->members == instance->expected;
    return complete && job->instance_members[instance->first_member] == cell ? instance->transfer_ns
                                                                             : TIME_UNKNOWN;
}

static void measure_place(struct job *job, const struct baseline *baseline, int32_t role, int32_t position,
                          struct place *place, double sigmas)
{
    size_t ranks = baseline->roles[role].rank_count, steps = (size_t)baseline->step_count;
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = 0; step < baseline->step_count; step++)
            place->value[rank * steps + (size_t)step] =
                transfer_at(job, baseline_cell(baseline, role, position, rank, step));
    int64_t sigma = place_measure(place, ranks, baseline->first_step, baseline->step_count);
    for (size_t rank = 0; rank < ranks; rank++)
        for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
            int64_t excess = place->value[rank * steps + (size_t)step];
            if (excess == TIME_UNKNOWN || excess <= 0 || (double)excess <= sigmas * (double)sigma)
                continue;
            int32_t cell = baseline_cell(baseline, role, position, rank, step);
            job->instances[job->operations[cell].instance].slow_ns = excess;
        }
}

static int find_slow(struct job *job, const struct baseline *baseline, double sigmas)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct place place = {0};
        if (place_init(&place, baseline->roles[i].rank_count, (size_t)baseline->step_count)) {
            place_release(&place);
            return -1;
        }
        for (int32_t position = 0; position < baseline->roles[i].length; position++)
            measure_place(job, baseline, (int32_t)i, position, &place, sigmas);
        place_release(&place);
    }
    return 0;
}

/* An edge explains a slow transfer when nobody else's steps waited half as much more than usual. */
static int32_t slowest_sender(const struct edges *edges, const struct job *job, size_t number)
{
    const struct edge *best = NULL;
    int64_t second = 0;
    for (size_t i = edges->first[number]; i < edges->first[number + 1]; i++)
        if (!best || edges->items[i].extra_ns > best->extra_ns)
            best = &edges->items[i];
    if (!best)
        return -1;
    for (size_t i = edges->first[number]; i < edges->first[number + 1]; i++)
        if (edges->items[i].sender != best->sender && edges->items[i].extra_ns > second)
            second = edges->items[i].extra_ns;
    int explains = best->extra_ns * 2 >= job->instances[number].slow_ns;
    return explains && best->extra_ns >= 2 * second ? best->sender : -1;
}

static void blame_edges(struct job *job, const struct edges *edges)
{
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].slow_ns > 0)
            job->instances[i].culprit = slowest_sender(edges, job, i);
}

/* Slow transfers of one step, by the ranks that may have sent slowly in them. */
struct shares {
    int64_t *slow_ns; /* per rank */
    int64_t total_ns;
};

static void for_each_sender(const struct job *job, const struct job_instance *instance, struct shares *shares)
{
    shares->total_ns += instance->slow_ns;
    if (instance->function == FUNCTION_SEND) {
        if (instance->sender >= 0)
            shares->slow_ns[instance->sender] += instance->slow_ns;
        return;
    }
    for (int32_t i = 0; i < instance->members; i++)
        shares->slow_ns[job->operations[job->instance_members[instance->first_member + (size_t)i]].rank] +=
            instance->slow_ns;
}

/* The one rank that (nearly) all of it goes through while no other is in nearly as much. */
static int32_t common_rank(const struct shares *shares, size_t rank_count)
{
    int64_t best = 0, second = 0;
    int32_t rank = -1;
    for (size_t i = 0; i < rank_count; i++) {
        if (shares->slow_ns[i] > best) {
            second = best;
            best = shares->slow_ns[i];
            rank = (int32_t)i;
        } else if (shares->slow_ns[i] > second) {
            second = shares->slow_ns[i];
        }
    }
    int covers = best * 10 >= shares->total_ns * 8;
    return covers && second * 10 <= best * 8 ? rank : -1;
}

static int rank_is_in(const struct job *job, const struct job_instance *instance, int32_t rank)
{
    if (instance->function == FUNCTION_SEND)
        return instance->sender == rank;
    for (int32_t i = 0; i < instance->members; i++)
        if (job->operations[job->instance_members[instance->first_member + (size_t)i]].rank == rank)
            return 1;
    return 0;
}

static int blame_common(struct job *job, const struct baseline *baseline)
{
    struct shares shares = {.slow_ns = array_new(job->rank_count, sizeof *shares.slow_ns)};
    if (!shares.slow_ns)
        return -1;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        shares.total_ns = 0;
        for (size_t i = 0; i < job->rank_count; i++)
            shares.slow_ns[i] = 0;
        for (size_t i = 0; i < job->instance_count; i++)
            if (job->instances[i].step == step && job->instances[i].slow_ns > 0)
                for_each_sender(job, &job->instances[i], &shares);
        int32_t rank = common_rank(&shares, job->rank_count);
        for (size_t i = 0; rank >= 0 && i < job->instance_count; i++)
            if (job->instances[i].step == step && rank_is_in(job, &job->instances[i], rank))
                job->instances[i].culprit = rank;
    }
    free(shares.slow_ns);
    return 0;
}

static void gather(const struct job *job, struct strength *strength)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        if (instance->culprit >= 0 && instance->step >= 0)
            strength
                ->excess_ns[(size_t)instance->culprit * (size_t)strength->steps + (size_t)instance->step] +=
                instance->slow_ns;
    }
}

int suspect_network(struct suspects *suspects, struct job *job, const struct baseline *baseline,
                    const struct diagnose_options *options, struct error *error)
{
    struct edges edges;
    struct strength strength = {0};
    if (edges_init(&edges, job, baseline->first_step, error))
        return -1;
    int failed = find_slow(job, baseline, options->sigmas) || strength_init(&strength, job, baseline);
    if (!failed && edges.count)
        blame_edges(job, &edges);
    else if (!failed)
        failed = blame_common(job, baseline);
    edges_release(&edges);
    int64_t least_ns = (int64_t)(options->min_gain * (double)baseline->median_step_ns / 2);
    if (!failed)
        gather(job, &strength);
    failed = failed || strength_find(&strength, least_ns > 0 ? least_ns : 1, FINDING_NETWORK, suspects);
    strength_release(&strength);
    return failed ? error_no_memory(error) : 0;
}
