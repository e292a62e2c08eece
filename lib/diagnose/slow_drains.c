/*
 * Adds to findings about GPUs what they cost inside operations. A GPU that computes longer runs NCCL's
 * kernels slowly as well, and takes received data late: the receivers of its host wait for their GPUs
 * (RecvGpuWait), while no sends take longer. The transfers that are slow for this reason have no other
 * culprit.
 */
#include "base/base.h"
#include "diagnose/delay.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

struct drain_search {
    struct findings *findings;
    const int64_t *cost_ns;
    const struct job *job;
    const struct baseline *baseline;
    const struct transfer_excess *transfers;
    struct replay *replay;
    struct partitions partitions;
    int64_t *list; /* owned: scratch, [step] */
    int32_t *slow; /* owned: the slow instances of the finding */
    size_t slow_count;
    struct slowness slowness;
};

/* Whether a finding that is believed blames another rank for the transfer. */
static int has_other_culprit(const struct drain_search *it, const struct finding *mine, int32_t at)
{
    int32_t culprit = it->transfers[at].culprit, step = it->job->instances[at].step;
    for (size_t i = 0; culprit >= 0 && i < it->findings->count; i++) {
        const struct finding *finding = &it->findings->items[i];
        if (finding != mine && (finding->kind == FINDING_NETWORK || finding->notice_ns) &&
            finding->confidence > CONFIDENCE_LOW && finding_has_rank(finding, culprit) &&
            finding_has_step(finding, step))
            return 1;
    }
    return 0;
}

static int has_member(const struct drain_search *it, const struct finding *finding,
                      const struct job_instance *instance)
{
    for (int32_t i = 0; i < instance->members; i++)
        if (finding_has_rank(finding, job_member(it->job, instance, i)->rank))
            return 1;
    return 0;
}

/* Lists the slow transfers that the ranks of a finding took part in. */
static void list_slow(struct drain_search *it, const struct finding *finding)
{
    const struct job *job = it->job;
    struct job_range instances = job_instances_in(job, finding->first_step, finding->last_step);
    it->slow_count = 0;
    it->slowness = (struct slowness){0};
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        const struct job_instance *instance = &job->instances[at];
        if (it->transfers[at].slow_ns <= 0 || instance->transfer_ns == TIME_UNKNOWN ||
            !finding_has_step(finding, instance->step) || !has_member(it, finding, instance) ||
            has_other_culprit(it, finding, at))
            continue;
        it->slow[it->slow_count++] = at;
        it->slowness.operations++;
        it->slowness.transfer_ns += instance->transfer_ns + it->transfers[at].some_ns;
        it->slowness.slow_ns += it->transfers[at].slow_ns;
    }
}

/* Whether the GPUs of its host took data later by at least half of the slowness, and no sends took so much
 * longer. */
static int are_drains(const struct drain_search *it, const struct finding *finding)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    int64_t drain_ns = 0, send_ns = 0, steps = finding_steps(finding);
    for (size_t rank = 0; rank < it->job->rank_count; rank++) {
        if (hosts->unit_of[rank] == hosts->unit_of[finding->rank])
            drain_ns += service_rise(finding, it->job, it->baseline, (int32_t)rank, SERVICE_DRAIN, it->list);
        send_ns += service_rise(finding, it->job, it->baseline, (int32_t)rank, SERVICE_SEND, it->list);
    }
    return drain_ns * steps * 2 >= it->slowness.slow_ns && send_ns * steps * 2 < it->slowness.slow_ns;
}

static void change_transfers(const struct drain_search *it, int sign)
{
    for (size_t i = 0; i < it->slow_count; i++)
        replay_change_transfer(it->replay, (size_t)it->slow[i], sign * it->transfers[it->slow[i]].slow_ns);
}

/* The cost with the transfers, limited by the duration of the steps. -1 when memory runs out. */
static int add_cost(const struct drain_search *it, struct finding *finding, int64_t gain_ns)
{
    struct lengthening lengthening;
    const struct costly_steps steps = {
        finding->first_step, finding->last_step, it->cost_ns, finding->lost_ns, NULL, NULL};
    gain_ns += finding->lost_ns;
    if (lengthening_measure(&lengthening, &steps, it->job, it->baseline))
        return -1;
    int64_t most_ns = finding->period > 1 ? INT64_MAX : lengthening.most_ns;
    int64_t cost_ns = gain_ns < most_ns ? gain_ns : most_ns;
    if (cost_ns > finding->lost_ns)
        finding->lost_ns = cost_ns;
    finding->slow_ns += it->slowness.slow_ns;
    return 0;
}

/* -1 when memory runs out. */
static int widen(struct drain_search *it, struct finding *finding)
{
    list_slow(it, finding);
    if (!it->slow_count || !are_drains(it, finding))
        return 0;
    int64_t with_ns = replay_run(it->replay);
    change_transfers(it, -1);
    int64_t gain_ns = with_ns - replay_run(it->replay);
    if (gain_ns <= 0) {
        change_transfers(it, 1);
        return 0;
    }
    return add_cost(it, finding, gain_ns) ||
                   buffer_append_text(
                       &finding->evidence,
                       ". The GPUs of its host took received data late (RecvGpuWait) while sends "
                       "took no longer: ") ||
                   slowness_append(&it->slowness, finding)
               ? -1
               : 0;
}

/* The time in a step that the GPUs of a rank's host took to take received data. */
static int64_t drain_in(const struct drain_search *it, int32_t rank, int32_t step)
{
    const struct partition *hosts = partitions_hosts(&it->partitions);
    int64_t drain_ns = 0;
    for (size_t other = 0; other < it->job->rank_count; other++)
        if (hosts->unit_of[other] == hosts->unit_of[rank])
            drain_ns += it->job->services[other * (size_t)it->job->step_count + (size_t)step].drain_ns;
    return drain_ns;
}

/* The median of that time in the steps of two findings, or in all other steps but those between them. */
static int64_t middle_drain(const struct drain_search *it, const struct finding *first,
                            const struct finding *second, int inside)
{
    size_t count = 0;
    for (int32_t step = it->baseline->first_step; step < it->job->step_count; step++) {
        int is_in = finding_has_step(first, step) || finding_has_step(second, step);
        if (inside ? is_in : step < first->first_step || step > second->last_step)
            it->list[count++] = drain_in(it, first->rank, step);
    }
    return median_of(it->list, count);
}

/* Whether data were taken late in each step between two findings: nearer to their steps than to the others.
 */
static int goes_on_between(const struct drain_search *it, const struct finding *first,
                           const struct finding *second)
{
    int64_t inside_ns = middle_drain(it, first, second, 1), outside_ns = middle_drain(it, first, second, 0);
    if (outside_ns == TIME_UNKNOWN || inside_ns <= outside_ns)
        return 0;
    for (int32_t step = first->last_step + 1; step < second->first_step; step++) {
        int64_t here_ns = drain_in(it, first->rank, step);
        if (here_ns - outside_ns < inside_ns - here_ns)
            return 0;
    }
    return 1;
}

static int is_gpus(const struct finding *finding)
{
    return finding->kind == FINDING_COMPUTE && finding->confidence > CONFIDENCE_LOW &&
           finding->first_step >= 0;
}

static int may_join(const struct finding *first, const struct finding *second)
{
    return is_gpus(first) && is_gpus(second) && first->rank == second->rank && !first->rank_count &&
           !second->rank_count && first->period < 2 && second->period < 2 &&
           second->first_step > first->last_step;
}

/* Whether a finding of the same GPU lies between two. */
static int has_one_between(const struct drain_search *it, const struct finding *first,
                           const struct finding *second)
{
    for (size_t i = 0; i < it->findings->count; i++)
        if (may_join(first, &it->findings->items[i]) && may_join(&it->findings->items[i], second))
            return 1;
    return 0;
}

/* Joins two findings of one GPU, if there are any, and returns whether it did. The first one's evidence
 * stays. */
static int join_two(struct drain_search *it)
{
    for (size_t i = 0; i < it->findings->count; i++)
        for (size_t j = 0; j < it->findings->count; j++) {
            struct finding *first = &it->findings->items[i], *second = &it->findings->items[j];
            if (!may_join(first, second) || has_one_between(it, first, second) ||
                !goes_on_between(it, first, second))
                continue;
            first->last_step = second->last_step;
            first->lost_ns += second->lost_ns;
            first->slow_ns += second->slow_ns;
            first->shows_later = second->shows_later;
            findings_remove(it->findings, j);
            return 1;
        }
    return 0;
}

static int widen_all(struct drain_search *it)
{
    while (join_two(it))
        ;
    for (size_t i = 0; i < it->findings->count; i++)
        if (is_gpus(&it->findings->items[i]) && widen(it, &it->findings->items[i]))
            return -1;
    return 0;
}

int findings_add_slow_drains(struct findings *findings, const int64_t *cost_ns, const struct job *job,
                             const struct baseline *baseline, const struct edges *edges,
                             const struct transfer_excess *transfers, struct replay *replay,
                             struct error *error)
{
    struct drain_search it = {.findings = findings,
                              .cost_ns = cost_ns,
                              .job = job,
                              .baseline = baseline,
                              .transfers = transfers,
                              .replay = replay};
    if (!job->services || job->step_count <= 0 || !job->traffic_count || !replay || !findings->count)
        return 0;
    it.list = array_new((size_t)job->step_count, sizeof *it.list);
    it.slow = array_new(job->instance_count + 1, sizeof *it.slow);
    int failed = !it.list || !it.slow || partitions_init(&it.partitions, job, edges) || widen_all(&it);
    partitions_release(&it.partitions);
    free(it.list);
    free(it.slow);
    return failed ? error_no_memory(error) : 0;
}
