/*
 * Turns explanations into findings. An explanation (score.h) is a set of ranks and steps that the statistical
 * score finds slow as one: a host, a rank in recurring steps, a rank in all steps.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum finding_kind kind_of(const struct explanation *explanation)
{
    return explanation_is_hosts(explanation) ? FINDING_HOST : FINDING_COMPUTE;
}

/* A time in each of its steps, as a share of a median step. */
static double worth_of(const struct explanation *explanation, const struct baseline *baseline,
                       int64_t time_ns)
{
    return ratio_of(time_ns, baseline->median_step_ns) / explanation->counted;
}

/*
 * The gain if nothing else is slow, or the time that its partners lost where that is certain and greater, and
 * where the replay shows enough of it.
 */
static double measure_worth(const struct explanation *explanation, const struct baseline *baseline,
                            const struct diagnose_options *options)
{
    int is_sure = explanation->certainty >= limit_of(LIMIT_CERTAINTY_SURE);
    int64_t time_ns =
        explanation->alone_ns > explanation->gain_ns ? explanation->alone_ns : explanation->gain_ns;
    if (is_sure && explanation_counts_partners(explanation) && explanation->margin_ns > time_ns &&
        scale(explanation->margin_ns, limit_of(LIMIT_SHOWN)) <= time_ns)
        time_ns = explanation->margin_ns;
    double worth = worth_of(explanation, baseline, time_ns);
    return options->min_gain > 0 ? worth / options->min_gain : worth > 0 ? 2 : 0;
}

/* The part of its steps from which on the record of a rank is incomplete. */
static double part_after_tail(const struct explanation *explanation, const struct job_rank *rank)
{
    int32_t after = 0;
    for (int32_t step = explanation->steps.first; step <= explanation->steps.last; step++)
        after += step >= rank->tail_step && step_set_has(&explanation->steps, step);
    return explanation->counted > 0 ? (double)after / explanation->counted : after > 0;
}

/*
 * The part of it that operations in lost records may explain. Where each rank has one file, a rank with a
 * trace has recorded all of its own operations, whichever other traces are lost.
 */
static double lost_part(const struct explanation *explanation, const struct job *job)
{
    const struct partition *partition = explanation->partition;
    double most = 0;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++) {
        const struct job_rank *rank = &job->ranks[partition->ranks[i]];
        most = fmax(most, rank->may_lack_file ? 1 : part_after_tail(explanation, rank));
    }
    return most;
}

static int is_part(const struct explanation *explanation, const struct job *job)
{
    const struct partition *partition = explanation->partition;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++)
        if (job->ranks[partition->ranks[i]].is_part)
            return 1;
    return 0;
}

/*
 * Applies the rule that compares the cost with the duration of the steps. Not for recurring
 * steps, which have others between them. A fault in all steps leaves no steps to compare with but those in
 * which another rank arrived last. -1 when memory runs out.
 */
static int ask_steps(const struct findings *findings, struct finding *finding, const int64_t *cost_ns,
                     const struct explanation *explanation, const struct job *job,
                     const struct baseline *baseline)
{
    struct lengthening lengthening;
    const struct costly_steps steps = {finding->first_step,  finding->last_step,       cost_ns,
                                       explanation->gain_ns, explanation->steps.marks, explanation->led};
    if ((explanation->is_steady && !explanation->led) || explanation->steps.period > 1)
        return 0;
    if (lengthening_measure(&lengthening, &steps, job, baseline))
        return -1;
    /* Only times of calls show how late the others would have been while they waited. */
    lengthening.has_to_show = !explanation->steps.marks && !job_records_calls(job, finding->rank);
    finding_ask_steps(findings, finding, &lengthening, explanation->gain_ns);
    return 0;
}

/* Whether several ranks could only seem to be slow because they wait for one of them where it is not
 * recorded. */
static int may_be_one(const struct explanation *explanation, const struct job *job)
{
    return job->blind_to_pairs && unit_size(explanation->partition, explanation->unit) > 1;
}

/*
 * The speed of hosts wanders, and the other ranks tell how. Where some left no trace, fewer than this do not,
 * and those without a trace may have been as late at the same time.
 */
enum { FEWEST_RANKS = 4 };

static int has_few_hosts(const struct job *job)
{
    return job_silent_ranks(job) && job_recorded_ranks(job) < FEWEST_RANKS;
}

/*
 * Whether it is one rank among at least three others that do the same work. A design makes places heavier for
 * a role, not for one of its ranks, unless the amounts of data that they receive differ.
 */
static int is_one_of_many(const struct explanation *explanation, const struct baseline *baseline)
{
    return unit_size(explanation->partition, explanation->unit) == 1 && !baseline->explained_ns &&
           baseline->same_work[explanation->rank] > limit_of(LIMIT_RANKS_OF_ROLE);
}

/* Applies the rules that apply to it. */
static void ask(const struct findings *findings, struct finding *finding,
                const struct explanation *explanation, const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    double worth = measure_worth(explanation, baseline, options);
    finding->confidence = CONFIDENCE_HIGH;
    double certainty = explanation->certainty;
    /* Single steps are compared with the greatest of all, which are loaded. */
    if (!explanation->steps.marks)
        certainty -= log(job_selection_ratio(job));
    if (explanation_is_hosts(explanation) && !explanation->is_steady && has_few_hosts(job))
        certainty = 0;
    finding_ask(findings, finding, RULE_CERTAINTY, certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, certainty);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    if (explanation->is_steady) {
        int is_one = is_one_of_many(explanation, baseline);
        finding_ask(findings, finding, RULE_BY_DESIGN,
                    explanation->is_last || is_one ? NOT_ASKED : explanation->slower_part);
    } else if (explanation->has_no_peers && explanation->steps.period > 1)
        finding_ask(findings, finding, RULE_BY_DESIGN, explanation->slower_part);
    /* The greater of two values, of which those that are not asked are not numbers. */
    finding_ask(
        findings, finding, RULE_HIDDEN_WAIT,
        fmax(job_lacks_stage_p2p(job) && finding->kind != FINDING_HOST ? explanation->hidden_part : NOT_ASKED,
             may_be_one(explanation, job) ? explanation->common_part : NOT_ASKED));
    finding_ask(findings, finding, RULE_EARLY_ENDS,
                fmax(fmax(job->finished_only ? explanation->leaf_part : NOT_ASKED,
                          explanation->on_estimates ? explanation->doubted_part : NOT_ASKED),
                     finding->kind == FINDING_HOST ? explanation->late_doubted_part : NOT_ASKED));
    finding_ask(findings, finding, RULE_SHARED_PROCESS, is_part(explanation, job));
    finding_ask(findings, finding, RULE_LOST_RECORDS, lost_part(explanation, job));
    finding_ask(findings, finding, RULE_ESTIMATED,
                explanation->on_estimates || !job_records_calls(job, finding->rank));
    finding_ask_record(findings, finding, job, baseline);
}

static int add_ranks(struct finding *finding, const struct explanation *explanation)
{
    size_t count = unit_size(explanation->partition, explanation->unit);
    if (count < 2 || explanation->is_alone)
        return 0;
    finding->ranks = array_new(count, sizeof *finding->ranks);
    if (!finding->ranks)
        return -1;
    memcpy(finding->ranks, &explanation->partition->ranks[explanation->partition->first[explanation->unit]],
           count * sizeof *finding->ranks);
    finding->rank_count = count;
    finding->rank = finding->ranks[0];
    return 0;
}

/*
 * Whether several ranks could seem to be late because they wait for one of them, where no call times show
 * when each of them got there: in operations of fewer than all ranks that are too small to be recorded, or if
 * they vary together.
 */
static int may_wait_unrecorded(const struct explanation *explanation, const struct job *job)
{
    return unit_size(explanation->partition, explanation->unit) > 1 &&
           !job_records_calls(job, explanation->rank) &&
           (job->left_out > job->left_out_by_all || explanation->common_part > limit_of(LIMIT_HALF));
}

/* Makes the ranks of a finding candidates. */
static int take_as_candidates(struct finding *finding, const struct job *job)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding_add_candidate(finding, finding->ranks[i]))
            return -1;
    free(finding->ranks);
    finding->ranks = NULL;
    finding->rank_count = 0;
    return buffer_append_text(
               &finding->evidence,
               ". Either all of these ranks are late, or one of them, and the others wait for it") ||
                   (job->left_out > job->left_out_by_all &&
                    buffer_append_text(&finding->evidence,
                                       " in operations that are too small to be recorded"))
               ? -1
               : 0;
}

static int fill(struct finding *finding, const struct explanation *explanation)
{
    finding->kind = kind_of(explanation);
    finding->rank = explanation->rank;
    finding->tag = explanation->tag;
    finding->certainty = explanation->certainty;
    finding->lost_ns = explanation->gain_ns > 0 ? explanation->gain_ns : 0;
    finding->slow_ns = explanation->slow_ns;
    finding->has_no_peers = explanation->has_no_peers;
    return finding_take_steps(finding, &explanation->steps) ? -1 : add_ranks(finding, explanation);
}

static int take(struct findings *findings, const int64_t *cost_ns, const struct explanation *explanation,
                const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    struct finding *finding = findings_add(findings);
    if (!finding || fill(finding, explanation) ||
        evidence_of_explanation(explanation, job, baseline, finding) ||
        (may_wait_unrecorded(explanation, job) && take_as_candidates(finding, job)))
        return -1;
    ask(findings, finding, explanation, job, baseline, options);
    int failed = ask_steps(findings, finding, cost_ns, explanation, job, baseline);
    /* The rules about gaps are those of a GPU, whichever of the two was late. */
    if (!job_records_calls(job, finding->rank))
        finding->kind = FINDING_LATE;
    return failed;
}

/* The ranks and steps that late proxy threads explain: [rank * steps + step]. NULL when memory runs out. */
static unsigned char *mark_late_notices(const struct findings *findings, const struct job *job)
{
    size_t steps = (size_t)job->step_count;
    unsigned char *explained = array_new(job->rank_count * steps + 1, 1);
    for (size_t i = 0; explained && i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        for (size_t rank = 0; finding->notice_ns && rank < job->rank_count; rank++)
            for (int32_t step = finding->first_step; step <= finding->last_step; step++)
                if (finding_has_rank(finding, (int32_t)rank) && finding_has_step(finding, step))
                    explained[rank * steps + (size_t)step] = 1;
    }
    return explained;
}

/* The costs of all explanations count for each other where they are compared with the durations of steps. */
static void add_costs(int64_t *cost_ns, const struct explanations *explanations, int32_t steps)
{
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->items[i];
        for (int32_t step = 0; step < steps && explanation->gain_ns > 0; step++)
            if (explanation_has_step(explanation, step))
                cost_ns[step] += explanation->gain_ns / explanation->counted;
    }
}

/* Steps in which any of several ranks led that are late in all steps do not show what steps take without
 * them. */
static void unite_led(const struct explanations *explanations, int32_t steps)
{
    unsigned char *all = NULL;
    for (size_t i = 0; i < explanations->count; i++) {
        struct explanation *explanation = &explanations->items[i];
        if (!explanation->is_steady || !explanation->led)
            continue;
        for (int32_t step = 0; all && step < steps; step++)
            all[step] |= explanation->led[step];
        all = all ? all : explanation->led;
        explanation->led = all;
    }
}

/* The least gain of a certain fault that its partners waited for, in units of --min-gain: a replay is no more
 * exact. */
static const double LEAST_GAIN = 0.1;

int findings_take_explanations(struct findings *findings, int64_t *cost_ns, const struct job *job,
                               const struct baseline *baseline, const struct edges *edges,
                               const struct transfer_excess *transfers, struct replay *replay,
                               const struct diagnose_options *options, struct error *error)
{
    struct explanations explanations = {0};
    const struct acceptance_limits acceptance = {
        .certainty = limit_of(LIMIT_CERTAINTY),
        .worth_ns = scale(baseline->median_step_ns, options->min_gain / 2),
        .sure = limit_of(LIMIT_CERTAINTY_SURE),
        .worth_waited_ns = scale(baseline->median_step_ns, options->min_gain),
        .least_ns = scale(baseline->median_step_ns, options->min_gain * LEAST_GAIN)};
    if (!replay)
        return 0;
    unsigned char *explained = mark_late_notices(findings, job);
    int failed = explained ? explanations_find(&explanations, job, baseline, edges, transfers, replay,
                                               explained, &acceptance, error)
                           : error_no_memory(error);
    free(explained);
    if (!failed)
        add_costs(cost_ns, &explanations, baseline->step_count);
    unite_led(&explanations, baseline->step_count);
    findings->three_steps_ns = explanations.three_steps_ns;
    for (size_t i = 0; !failed && i < explanations.count; i++)
        if (take(findings, cost_ns, &explanations.items[i], job, baseline, options))
            failed = error_no_memory(error);
    explanations_release(&explanations);
    return failed;
}
