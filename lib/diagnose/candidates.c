/*
 * Finds suspects: ranks whose network was slow in consecutive steps. Sums the slowness of transfers by rank
 * and step; significance.c turns the sums into suspects. Also finds the GPU that sets the pace of a pipeline.
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/*
 * Ranks whose transfers were slow. The transfers that stand out have been found by comparison with the same
 * position of other steps and with other communicators, and each has been blamed on a rank by its links
 * (blame_by_edges.c).
 */

static void candidates_network_gather(const struct job *job, const struct transfer_excess *transfers,
                                      struct strength *strength)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        int32_t step = job->instances[i].step;
        if (transfers[i].culprit >= 0 && step >= 0)
            *strength_cell(strength, (size_t)transfers[i].culprit, step) += transfers[i].slow_ns;
    }
}

/*
 * Collects the noise of single steps: every transfer with network steps that took longer than its baseline,
 * whether it stands out or not.
 */
static int take_samples(const struct job *job, const struct edges *edges,
                        const struct transfer_excess *transfers, struct strength *strength)
{
    strength->samples = array_new(job->instance_count, sizeof *strength->samples);
    for (size_t i = 0; strength->samples && i < job->instance_count; i++) {
        int32_t step = job->instances[i].step;
        if (step <= strength->first_step || transfers[i].beyond_ns <= 0 ||
            edges->first[i] == edges->first[i + 1])
            continue;
        strength->samples[strength->sample_count++] =
            (struct sample){transfers[i].beyond_ns, transfers[i].culprit, step};
    }
    return strength->samples ? 0 : -1;
}

/*
 * What a suspect's link added to an operation that was no slower than its baseline at this position, because
 * that baseline already contains the suspect's effect elsewhere at the same time: the longest wait on the
 * link, if the link waited at least twice its baseline.
 */
static int64_t added_by(const struct edge *edge)
{
    if (edge->extra_ns * 2 <= edge->wait_ns)
        return 0;
    return edge->extra_ns < edge->wait_max_ns ? edge->extra_ns : edge->wait_max_ns;
}

/*
 * Adds to a suspected sender the other operations that it sent in during its steps, where they took longer
 * than the baseline but not by enough to stand out alone: the cost of a fault includes them.
 */
static void widen(const struct suspect *suspect, const struct job *job, const struct edges *edges,
                  struct transfer_excess *transfers)
{
    struct job_range instances = suspect_instances(suspect, job);
    for (size_t i = instances.first; i < instances.end; i++) {
        int32_t at = job->by_step[i];
        struct transfer_excess *transfer = &transfers[at];
        if (transfer->culprit >= 0 || transfer->beyond_ns == TIME_UNKNOWN)
            continue;
        for (size_t j = edges->first[at]; j < edges->first[at + 1]; j++) {
            const struct edge *edge = &edges->items[j];
            int64_t slow_ns = transfer->beyond_ns > 0 ? transfer->beyond_ns : added_by(edge);
            if ((edge->sender == suspect->rank || edge->receiver == suspect->rank) && edge->extra_ns > 0 &&
                slow_ns > 0) {
                transfer->slow_ns = slow_ns;
                transfer->some_ns = transfer->some_ns < slow_ns ? transfer->some_ns : slow_ns;
                transfer->culprit = suspect->rank;
            }
        }
    }
}

/*
 * Connections need several steps to reach full speed. A network that is slow from the start and then no more
 * may be just that, unless the excess is longer than a step in each of its steps.
 */
static void doubt_connecting(struct suspect *suspect, const struct baseline *baseline)
{
    if (suspect->after_warm_up && suspect->last_step < baseline->step_count - 1 && suspect_steps(suspect) > 2)
        suspect_ask(suspect, RULE_CONNECTING, ratio_of(suspect->weakest_ns, baseline->median_step_ns));
}

/* Whether an operation is the last one of its rank in a step. */
static int ends_step(const struct job *job, const struct baseline *baseline, int32_t operation)
{
    const struct job_operation *last = &job->operations[operation];
    int32_t role = baseline->role_of_rank[last->rank];
    int32_t position = role >= 0 ? baseline->positions[operation] : -1;
    return position >= 0 && position == role_sequence(&baseline->roles[role], position).end - 1;
}

/*
 * Whether more than half of the excess in the suspect's last step falls on the last operation of the step,
 * and only some ranks waited there. The step time is measured between starts of steps, and the other ranks
 * start the next step and wait there, so the slow link makes that step longer.
 */
static int is_slow_at_end(const struct suspect *suspect, const struct job *job,
                          const struct baseline *baseline, const struct transfer_excess *transfers)
{
    int64_t all_ns = 0, end_ns = 0;
    struct job_range instances = job_instances_in(job, suspect->last_step, suspect->last_step);
    for (size_t i = instances.first; i < instances.end; i++) {
        const struct job_instance *instance = &job->instances[job->by_step[i]];
        const struct transfer_excess *transfer = &transfers[job->by_step[i]];
        if (!suspect_has_instance(suspect, instance, transfer))
            continue;
        all_ns += transfer->slow_ns;
        if (instance->transfer_ns != TIME_UNKNOWN &&
            ends_step(job, baseline, job->instance_members[instance->first_member]))
            end_ns += transfer->some_ns;
    }
    return end_ns * 2 > all_ns && suspect->last_step + 2 < baseline->step_count;
}

int suspect_network(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                    const struct edges *edges, struct transfer_excess *transfers,
                    const struct diagnose_options *options, struct error *error)
{
    struct strength strength = {0};
    size_t first = suspects->count;
    if (transfers_find_slow(job, baseline, options->sigmas, transfers))
        return error_no_memory(error);
    /* Without network steps, nothing shows whose links were slow. */
    if (!edges->count)
        return 0;
    int failed = strength_init(&strength, job, baseline) ||
                 transfers_find_slow_links(job, edges, transfers) || edges_blame(job, edges, transfers);
    int64_t least_ns = scale(baseline->median_step_ns, options->min_gain / 2);
    if (!failed)
        candidates_network_gather(job, transfers, &strength);
    failed = failed || take_samples(job, edges, transfers, &strength) ||
             strength_find(&strength, least_ns > 0 ? least_ns : 1, suspects);
    for (size_t i = first; !failed && i < suspects->count; i++) {
        doubt_connecting(&suspects->items[i], baseline);
        widen(&suspects->items[i], job, edges, transfers);
        suspects->items[i].shows_later = is_slow_at_end(&suspects->items[i], job, baseline, transfers);
    }
    strength_release(&strength);
    return failed ? error_no_memory(error) : 0;
}

/* At least this many steps must have a GPU time: fewer may be exceptions. */
enum { LEAST_STEPS = 3 };

/*
 * GPU time that a rank computed between its operations in a step; TIME_UNKNOWN where it has none in that
 * step.
 */
static int64_t work_in(const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    int64_t sum_ns = 0;
    int is_there = 0;
    for (size_t i = range.first; i < range.end; i++) {
        if (job->operations[i].step != step)
            continue;
        is_there = 1;
        if (job->operations[i].group == (int32_t)i) /* operations of one group call share their kernel */
            sum_ns += job->gpu_busy_ns[i];
    }
    return is_there ? sum_ns : TIME_UNKNOWN;
}

/* The median over the steps. */
static int64_t usual_work(const struct job *job, const struct baseline *baseline, int32_t rank, int64_t *list)
{
    size_t count = 0;
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        int64_t work_ns = work_in(job, rank, step);
        if (work_ns != TIME_UNKNOWN)
            list[count++] = work_ns;
    }
    return count < LEAST_STEPS ? TIME_UNKNOWN : median_of(list, count);
}

int busiest_find(struct busiest *busiest, const struct job *job, const struct baseline *baseline)
{
    *busiest = (struct busiest){.rank = -1};
    if (!job->gpu_busy_ns || job_silent_ranks(job) > 0 || job->rank_count < 2)
        return 0;
    int64_t *list = array_new((size_t)baseline->step_count + 1, sizeof *list);
    int all = list != NULL;
    for (size_t i = 0; all && i < job->rank_count; i++) {
        int64_t work_ns = usual_work(job, baseline, (int32_t)i, list);
        all = work_ns != TIME_UNKNOWN;
        if (all && work_ns > busiest->work_ns) {
            busiest->next_ns = busiest->work_ns;
            busiest->work_ns = work_ns;
            busiest->rank = (int32_t)i;
        } else if (all && work_ns > busiest->next_ns) {
            busiest->next_ns = work_ns;
        }
    }
    free(list);
    if (!all)
        busiest->rank = -1;
    return list ? 0 : -1;
}

static int lacks_peers(const struct baseline *baseline, int32_t rank)
{
    int32_t role = baseline->role_of_rank[rank];
    return role >= 0 && (double)baseline->roles[role].rank_count < limit_of(LIMIT_RANKS_OF_ROLE);
}

/* Whether a GPU computes for most of the step, so that the others wait for it. */
static int sets_pace(const struct busiest *busiest, const struct baseline *baseline)
{
    return busiest->rank >= 0 && busiest->work_ns > busiest->next_ns &&
           (double)busiest->work_ns >= limit_of(LIMIT_HALF) * (double)baseline->median_step_ns;
}

static int is_said(const struct findings *findings, int32_t rank)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW && finding_has_rank(&findings->items[i], rank))
            return 1;
    return 0;
}

static void ask(const struct findings *findings, struct finding *finding, const struct busiest *busiest,
                const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    double worth = ratio_of(busiest->work_ns - busiest->next_ns, baseline->median_step_ns);
    worth = options->min_gain > 0 ? worth / options->min_gain : 2;
    finding->confidence = CONFIDENCE_HIGH;
    finding_ask(findings, finding, RULE_BUSIEST, ratio_of(busiest->work_ns, busiest->next_ns));
    finding_ask(findings, finding, RULE_STEADY, 1);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    finding_ask(findings, finding, RULE_SHARED_PROCESS, job->ranks[busiest->rank].is_part);
    finding_ask_record(findings, finding, job, baseline);
}

static int say(const struct busiest *busiest, const struct job *job, struct buffer *text)
{
    return buffer_printf(text, "In each step, the GPU of rank %s computes for ",
                         job->ranks[busiest->rank].name) ||
                   text_time(text, busiest->work_ns) ||
                   buffer_append_text(text, "; that of the busiest other rank for ") ||
                   text_time(text, busiest->next_ns)
               ? -1
               : 0;
}

int findings_take_busiest(struct findings *findings, const struct job *job, const struct baseline *baseline,
                          const struct diagnose_options *options, struct error *error)
{
    struct busiest busiest;
    if (busiest_find(&busiest, job, baseline))
        return error_no_memory(error);
    if (!sets_pace(&busiest, baseline) || !lacks_peers(baseline, busiest.rank) ||
        is_said(findings, busiest.rank))
        return 0;
    struct finding *finding = findings_add(findings);
    if (!finding || say(&busiest, job, &finding->evidence))
        return error_no_memory(error);
    int32_t steps = baseline->step_count - baseline->first_step;
    finding->kind = FINDING_COMPUTE;
    finding->rank = busiest.rank;
    finding->tag = -1;
    finding->first_step = baseline->first_step;
    finding->last_step = baseline->step_count - 1;
    finding->lost_ns = finding->slow_ns = scale(busiest.work_ns - busiest.next_ns, steps);
    ask(findings, finding, &busiest, job, baseline, options);
    return 0;
}
