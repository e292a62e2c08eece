#include "diagnose/verdict.h"

#include "base/array.h"
#include "diagnose/confidence.h"
#include "diagnose/cost.h"
#include "diagnose/evidence_network.h"
#include "diagnose/evidence_own.h"
#include "diagnose/lengthening.h"
#include "diagnose/significance.h"
#include "diagnose/worth.h"

#include <stdlib.h>

/* What of the suspicion falls on each tag, and on each position of the step. */
struct tally {
    int64_t *by_tag; /* [tag + 1] */
    int64_t *by_position;
    size_t positions;
};

static void count_in(struct tally *tally, int32_t tag, int32_t position, int64_t excess_ns)
{
    tally->by_tag[tag + 1] += excess_ns;
    if (position >= 0 && (size_t)position < tally->positions)
        tally->by_position[position] += excess_ns;
}

static void count_suspect(const struct suspect *suspect, const struct job *job,
                          const struct baseline *baseline, const struct transfer_excess *transfers,
                          struct tally *tally)
{
    if (suspect->kind == FINDING_NETWORK) {
        struct job_range instances = suspect_instances(suspect, job);
        for (size_t i = instances.first; i < instances.end; i++) {
            int32_t at = job->by_step[i];
            if (suspect_has_instance(suspect, &job->instances[at], &transfers[at]))
                count_in(tally, job->instances[at].tag, -1, transfers[at].slow_ns);
        }
        return;
    }
    struct job_range range = suspect_operations(suspect, job);
    for (size_t i = range.first; i < range.end; i++)
        if (suspect_has_operation(suspect, &job->operations[i], excess_ns_at(&baseline->excess, i)))
            count_in(tally, job->operations[i].tag, baseline->positions[i],
                     excess_ns_at(&baseline->excess, i));
}

static int32_t greatest(const int64_t *values, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return count && values[best] > 0 ? (int32_t)best : -1;
}

static int judge(const struct suspects *suspects, struct suspect *suspect, const struct job *job,
                 const struct baseline *baseline, const struct edges *edges,
                 const struct transfer_excess *transfers, const struct diagnose_options *options,
                 const struct rule_set *off, struct finding *finding)
{
    struct tally tally = {0};
    struct measures measures = {0};
    int32_t role = baseline->role_of_rank[suspect->rank];
    tally.positions = role >= 0 ? (size_t)baseline->roles[role].length : 0;
    tally.by_tag = array_new(job->tags.count + 1, sizeof *tally.by_tag);
    tally.by_position = array_new(tally.positions, sizeof *tally.by_position);
    int failed = !tally.by_tag || !tally.by_position ||
                 suspect_measure_steps(suspects, suspect, job, baseline, &measures.lengthening) ||
                 (suspect->kind == FINDING_NETWORK &&
                  slowness_measure(suspect, job, edges, transfers, &measures.slowness, finding));
    if (!failed) {
        count_suspect(suspect, job, baseline, transfers, &tally);
        finding->kind = suspect->kind;
        finding->rank = suspect->rank;
        finding->tag = greatest(tally.by_tag, job->tags.count + 1) - 1;
        if (finding->tag < -1)
            finding->tag = -1;
        finding->first_step = suspect->first_step;
        finding->last_step = suspect->last_step;
        finding->confidence = confidence_of(suspects, suspect, &measures, job, baseline, options, off);
        finding->readings = suspect->readings;
        finding->slow_ns = suspect->total_ns;
        finding->shows_earlier = suspect->shows_earlier;
        finding->shows_later = suspect->shows_later;
        finding->lost_ns = cost_of(suspects, suspect, &measures.lengthening, job, finding->confidence);
        int32_t position = greatest(tally.by_position, tally.positions);
        failed = suspect->kind == FINDING_NETWORK
                     ? slowness_say_pause(suspect, &measures.slowness, finding)
                     : evidence_of_own(suspect, job, baseline, position, finding);
    }
    free(tally.by_tag);
    free(tally.by_position);
    return failed;
}

static int is_told(const struct suspect *suspect, const struct baseline *baseline,
                   const struct diagnose_options *options)
{
    return suspect_worth(suspect, baseline) >= options->min_gain / 2 && !suspect_is_noise(suspect);
}

/* Whether a suspicion that was not weighed would be believed, had it cost all that it amounts to. */
static int judge_unweighed(const struct suspects *suspects, const struct suspect *suspect,
                           const struct job *job, const struct baseline *baseline, const struct edges *edges,
                           const struct transfer_excess *transfers, const struct diagnose_options *options,
                           struct findings *findings)
{
    struct findings scratch = {0};
    struct suspect dear = *suspect;
    dear.gain_ns = dear.total_ns;
    struct finding *finding = is_told(&dear, baseline, options) ? findings_add(&scratch) : NULL;
    int failed =
        finding && judge(suspects, &dear, job, baseline, edges, transfers, options, &findings->off, finding);
    findings->unweighed += !failed && finding && finding->confidence > CONFIDENCE_LOW;
    findings_release(&scratch);
    return failed ? -1 : 0;
}

int suspects_judge(struct suspects *suspects, const struct job *job, const struct baseline *baseline,
                   const struct edges *edges, const struct transfer_excess *transfers,
                   const struct diagnose_options *options, struct findings *findings, struct error *error)
{
    for (size_t i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->items[i];
        enum confidence believed = CONFIDENCE_LOW;
        if (is_told(suspect, baseline, options)) {
            struct finding *finding = findings_add(findings);
            if (!finding ||
                judge(suspects, suspect, job, baseline, edges, transfers, options, &findings->off, finding))
                return error_no_memory(error);
            believed = finding->confidence;
        }
        if (i + suspects->unweighed < suspects->count)
            continue;
        findings->unweighed += believed > CONFIDENCE_LOW;
        if (believed == CONFIDENCE_LOW &&
            judge_unweighed(suspects, suspect, job, baseline, edges, transfers, options, findings))
            return error_no_memory(error);
    }
    return 0;
}
