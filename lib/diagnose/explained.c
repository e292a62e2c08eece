/*
 * Turns explanations into findings. An explanation (score.h) is a set of ranks and steps that the statistical
 * score finds slow as one: a host, a rank in recurring steps, a rank in all steps. Runs after the suspects
 * have become findings, and replaces those that an explanation covers.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "diagnose/suspect.h"
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
 * The gain, or the time that its partners lost where that is certain and greater, as for a suspect
 * (suspect.c).
 */
static double measure_worth(const struct explanation *explanation, const struct baseline *baseline,
                            const struct diagnose_options *options)
{
    int is_sure = explanation->certainty >= limit_of(LIMIT_CERTAINTY_SURE);
    int64_t time_ns = explanation->gain_ns;
    if (is_sure && explanation_counts_partners(explanation) && explanation->margin_ns > time_ns)
        time_ns = explanation->margin_ns;
    double worth = worth_of(explanation, baseline, time_ns);
    return options->min_gain > 0 ? worth / options->min_gain : worth > 0 ? 2 : 0;
}

static int lacks_records(const struct explanation *explanation, const struct job *job)
{
    const struct partition *partition = explanation->partition;
    for (size_t i = partition->first[explanation->unit]; i < partition->first[explanation->unit + 1]; i++)
        if (job->ranks[partition->ranks[i]].may_lack_file ||
            job->ranks[partition->ranks[i]].tail_step <= explanation->steps.last)
            return 1;
    return job_silent_ranks(job) > 0;
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
 * Applies the rule that compares the cost with the duration of the steps. Only for consecutive steps:
 * recurring steps have others between them, and a fault in all steps leaves no steps to compare with. -1 when
 * memory runs out.
 */
static int ask_steps(const struct findings *findings, struct finding *finding,
                     const struct suspects *suspects, const struct explanation *explanation,
                     const struct job *job, const struct baseline *baseline)
{
    struct lengthening lengthening;
    struct suspect suspect = {.kind = finding->kind,
                              .rank = finding->rank,
                              .first_step = finding->first_step,
                              .last_step = finding->last_step,
                              .total_ns = explanation->slow_ns,
                              .gain_ns = explanation->gain_ns};
    if (explanation->is_steady || explanation->steps.period > 1)
        return 0;
    if (suspect_measure_steps(suspects, &suspect, job, baseline, &lengthening))
        return -1;
    suspect_ask_steps(&suspect, &lengthening);
    if (suspect.rule_results.asked[RULE_NOT_IN_STEPS_OF_LATE])
        finding_ask(findings, finding, RULE_NOT_IN_STEPS_OF_LATE,
                    suspect.rule_results.values[RULE_NOT_IN_STEPS_OF_LATE]);
    return 0;
}

/* Whether several ranks could only seem to be slow because they wait for one of them where it is not
 * recorded. */
static int may_be_one(const struct explanation *explanation, const struct job *job)
{
    return job->blind_to_pairs && unit_size(explanation->partition, explanation->unit) > 1;
}

/* Applies the rules that apply to it. */
static void ask(const struct findings *findings, struct finding *finding,
                const struct explanation *explanation, const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    double worth = measure_worth(explanation, baseline, options);
    finding->confidence = CONFIDENCE_HIGH;
    double certainty = explanation->certainty - log(job_selection_ratio(job));
    finding_ask(findings, finding, RULE_CERTAINTY, certainty);
    finding_ask(findings, finding, RULE_CERTAINTY_SURE, certainty);
    finding_ask(findings, finding, RULE_WORTH, worth);
    finding_ask(findings, finding, RULE_WORTH_SURE, worth);
    if (explanation->is_steady) {
        finding_ask(findings, finding, RULE_STEADY, 1);
        /* A design makes places heavier for a role. It does not make one rank the last of its role. */
        finding_ask(findings, finding, RULE_ONE_PLACE,
                    explanation->is_last ? NOT_ASKED : explanation->slower_part);
    }
    if (job->finished_only)
        finding_ask(findings, finding, RULE_LEAF_OF_TREE, explanation->leaf_part);
    if (may_be_one(explanation, job))
        finding_ask(findings, finding, RULE_EXCHANGE, explanation->common_part);
    finding_ask(findings, finding, RULE_ESTIMATED_STEADY,
                explanation->on_estimates ? explanation->is_steady : NOT_ASKED);
    finding_ask(findings, finding, RULE_ESTIMATED, explanation->on_estimates);
    finding_ask(findings, finding, RULE_SHARED_PROCESS, is_part(explanation, job));
    finding_ask(findings, finding, RULE_LOST_RECORDS, lacks_records(explanation, job));
    finding_ask_record(findings, finding, job, baseline);
}

/*
 * Rules that leave a suspect at low confidence because the trace cannot tell it from something unrecorded.
 * The score is computed from the same trace, so a high certainty does not answer them.
 */
static const enum rule_id of_record[] = {RULE_ROUGH_END,    RULE_EXCHANGE,    RULE_SHARED_PROCESS,
                                         RULE_LOST_RECORDS, RULE_SILENT_RANK, RULE_TWIN_OF_HIDDEN_PAIR};

/* What several ranks have in common tells more about exchanges than how late each of them is. */
static int is_answered(const struct explanation *explanation, const struct job *job, enum rule_id rule)
{
    return may_be_one(explanation, job) && (rule == RULE_EXCHANGE || rule == RULE_TWIN_OF_HIDDEN_PAIR);
}

static void ask_again(const struct findings *findings, struct finding *finding, const struct finding *said,
                      const struct explanation *explanation, const struct job *job)
{
    for (size_t i = 0; i < sizeof of_record / sizeof *of_record; i++)
        if (!is_answered(explanation, job, of_record[i]) &&
            rule_results_fail(&said->rule_results, of_record[i]))
            finding_ask(findings, finding, of_record[i], said->rule_results.values[of_record[i]]);
}

static int add_ranks(struct finding *finding, const struct explanation *explanation)
{
    size_t count = unit_size(explanation->partition, explanation->unit);
    if (count < 2)
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

static int fill(struct finding *finding, const struct explanation *explanation)
{
    finding->kind = kind_of(explanation);
    finding->rank = explanation->rank;
    finding->tag = explanation->tag;
    finding->first_step = explanation->steps.first;
    finding->last_step = explanation->steps.last;
    finding->period = explanation->steps.period;
    finding->numbers = explanation->steps.numbers;
    finding->certainty = explanation->certainty;
    finding->lost_ns = explanation->gain_ns > 0 ? explanation->gain_ns : 0;
    finding->slow_ns = explanation->slow_ns;
    finding->has_no_peers = explanation->has_no_peers;
    return add_ranks(finding, explanation);
}

/* The number of a finding's steps that are in the explanation. */
static int32_t shared_steps(const struct finding *finding, const struct explanation *explanation)
{
    int32_t shared = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += explanation_has_step(explanation, step);
    return shared;
}

/*
 * Whether a compute or host finding and an explanation share more than half of the steps of the shorter one.
 */
static int is_in(const struct finding *finding, const struct explanation *explanation)
{
    if (finding->kind == FINDING_NETWORK || finding->certainty > 0 ||
        !explanation_has_rank(explanation, finding->rank))
        return 0;
    int32_t steps = finding->last_step - finding->first_step + 1;
    return shared_steps(finding, explanation) * 2 >
           (steps < explanation->counted ? steps : explanation->counted);
}

/*
 * Whether a finding of at least medium confidence already reports it, in consecutive steps: that finding has
 * more evidence than the score. Not where the explanation adds that the rank is part of a group, or which
 * steps recur.
 */
static int is_told(const struct findings *findings, const struct explanation *explanation)
{
    if (explanation->is_steady || explanation->steps.period > 1 ||
        unit_size(explanation->partition, explanation->unit) > 1)
        return 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW && is_in(&findings->items[i], explanation))
            return 1;
    return 0;
}

/* Whether there is a finding of it without the score, with any confidence. */
static int is_said(const struct findings *findings, const struct explanation *explanation)
{
    for (size_t i = 0; i < findings->count; i++)
        if (is_in(&findings->items[i], explanation))
            return 1;
    return 0;
}

/*
 * Beside a fault in all steps, a finding of at least medium confidence with fewer than half as many steps is
 * a second fault.
 */
static int is_other(const struct finding *finding, const struct explanation *explanation)
{
    return explanation->is_steady && finding->confidence > CONFIDENCE_LOW &&
           (finding->last_step - finding->first_step + 1) * 2 < explanation->counted;
}

static void take_in(struct findings *findings, const struct explanation *explanation)
{
    for (size_t i = findings->count; i-- > 0;)
        if (is_in(&findings->items[i], explanation) && !is_other(&findings->items[i], explanation))
            findings_remove(findings, i);
}

static int take(struct findings *findings, const struct suspects *suspects,
                const struct explanation *explanation, const struct job *job, const struct baseline *baseline,
                const struct diagnose_options *options)
{
    if (is_told(findings, explanation))
        return 0;
    struct finding *finding = findings_add(findings);
    if (!finding || fill(finding, explanation) ||
        evidence_of_explanation(explanation, job, baseline, finding))
        return -1;
    ask(findings, finding, explanation, job, baseline, options);
    if (ask_steps(findings, finding, suspects, explanation, job, baseline))
        return -1;
    for (size_t i = 0; i + 1 < findings->count; i++)
        if (is_in(&findings->items[i], explanation))
            ask_again(findings, finding, &findings->items[i], explanation, job);
    /* An explanation of low confidence does not replace a finding. */
    if (finding->confidence > CONFIDENCE_LOW)
        take_in(findings, explanation);
    else if (is_said(findings, explanation))
        findings_remove(findings, findings->count - 1);
    return 0;
}

static int is_recurring_of(const struct finding *finding, const struct finding *said, int32_t step)
{
    return finding->period > 1 && finding->confidence > CONFIDENCE_LOW && finding->rank == said->rank &&
           !finding->rank_count && finding_has_step(finding, step);
}

/* Whether recurring findings together cover most steps of a suspect's finding. */
static int is_in_recurring(const struct findings *findings, const struct finding *said)
{
    int32_t shared = 0;
    for (int32_t step = said->first_step; step <= said->last_step; step++) {
        int is_shared = 0;
        for (size_t i = 0; i < findings->count; i++)
            is_shared |= is_recurring_of(&findings->items[i], said, step);
        shared += is_shared;
    }
    return shared * 2 > said->last_step - said->first_step + 1;
}

static void take_in_recurring(struct findings *findings)
{
    for (size_t i = findings->count; i-- > 0;)
        if (findings->items[i].kind < FINDING_NETWORK && !(findings->items[i].certainty > 0) &&
            findings->items[i].first_step >= 0 && is_in_recurring(findings, &findings->items[i]))
            findings_remove(findings, i);
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

/*
 * A late host of so many steps rests on their number, which proves less where noise is related from step to
 * step: the speed of a host wanders, that of a GPU hardly does.
 */
enum { SEVERAL_STEPS = 3 };

static int rests_on_steps(const struct finding *finding)
{
    return finding->kind == FINDING_HOST && finding->first_step >= 0 && !finding->notice_ns &&
           finding->last_step - finding->first_step + 1 >= SEVERAL_STEPS;
}

/* The lateness of hosts (struct baseline), as rows of the score. */
struct lateness {
    const struct job *job;
    const struct baseline *baseline;
    double sigma;  /* spread of all ranks and steps */
    int64_t *list; /* owned: scratch, [step] */
    double *row;   /* owned: scratch, [step] */
    double *rows;  /* owned: scratch, [MOST_SAMPLED][step], and as much again */
};

/* The least spread, as a part of a step: the resolution of clocks. */
static const double LEAST_SPREAD = 0.002;

/* The quiet steps of a host are its quarter with the least lateness. */
static const double QUIET_PART = 0.25;

static int lateness_init(struct lateness *lateness, const struct job *job, const struct baseline *baseline)
{
    size_t steps = (size_t)baseline->step_count, count = 0;
    int64_t *list = array_new(job->rank_count * steps + 1, sizeof *list);
    *lateness = (struct lateness){.job = job,
                                  .baseline = baseline,
                                  .list = array_new(steps + 1, sizeof *lateness->list),
                                  .row = array_new(steps + 1, sizeof *lateness->row),
                                  .rows = array_new(MOST_SAMPLED * steps * 2 + 1, sizeof *lateness->rows)};
    for (size_t rank = 0; list && rank < job->rank_count; rank++)
        for (size_t step = (size_t)baseline->first_step; step < steps; step++)
            list[count++] = baseline->late_ns[rank * steps + step];
    int64_t middle = count ? pick_quantile(list, count, 0.5) : 0;
    int64_t sigma = count ? sigma_about(list, count, middle) : 0,
            least = scale(baseline->median_step_ns, LEAST_SPREAD);
    sigma = sigma > least ? sigma : least;
    lateness->sigma = sigma > 0 ? (double)sigma : 1;
    free(list);
    return list && lateness->list && lateness->row && lateness->rows ? 0 : -1;
}

static void lateness_release(struct lateness *lateness)
{
    free(lateness->list);
    free(lateness->row);
    free(lateness->rows);
}

/* Above its baseline or, for a rank that was late in most of its steps, above its quiet steps. */
static void read_lateness(const struct lateness *lateness, size_t rank, int is_mostly_late, double *row)
{
    const struct baseline *baseline = lateness->baseline;
    size_t steps = (size_t)baseline->step_count, first = (size_t)baseline->first_step;
    const int64_t *late_ns = &baseline->late_ns[rank * steps];
    memcpy(lateness->list, late_ns + first, (steps - first) * sizeof *late_ns);
    int64_t quiet_ns = is_mostly_late ? pick_quantile(lateness->list, steps - first, QUIET_PART) : 0;
    quiet_ns = quiet_ns < 0 ? quiet_ns : 0;
    for (size_t step = 0; step < steps; step++)
        row[step] = step < first ? NAN : (double)(late_ns[step] - quiet_ns) / lateness->sigma;
}

/* How certain it is that a host was late in these steps, among the lateness of other hosts: log odds. */
static double rate_lateness(const struct lateness *lateness, const struct finding *finding)
{
    const struct baseline *baseline = lateness->baseline;
    size_t ranks = lateness->job->rank_count, steps = (size_t)baseline->step_count, others = 0;
    size_t stride = (ranks + MOST_SAMPLED - 1) / MOST_SAMPLED;
    struct step_set set = {.first = finding->first_step,
                           .last = finding->last_step,
                           .period = 1,
                           .numbers = lateness->job->step_numbers};
    int is_mostly_late = step_set_count(&set) * 2 > baseline->step_count - baseline->first_step;
    read_lateness(lateness, (size_t)finding->rank, is_mostly_late, lateness->row);
    scan_set(lateness->row, SCAN_TAIL_OWN, &set);
    for (size_t rank = 0; rank < ranks; rank += stride)
        if (rank != (size_t)finding->rank)
            read_lateness(lateness, rank, 0, lateness->rows + others++ * steps);
    double score = scan_related_score(lateness->row, &set, lateness->rows, others, (int32_t)steps,
                                      SCAN_TAIL_OWN, lateness->rows + MOST_SAMPLED * steps);
    return score - scan_sets(baseline->step_count - baseline->first_step) - log((double)ranks);
}

/* Asks findings that rest on their number of steps how certain they are. -1 when memory runs out. */
static int ask_late_hosts(struct findings *findings, const struct job *job, const struct baseline *baseline)
{
    struct lateness lateness;
    int failed = lateness_init(&lateness, job, baseline);
    for (size_t i = 0; !failed && i < findings->count; i++)
        if (rests_on_steps(&findings->items[i]))
            finding_ask(findings, &findings->items[i], RULE_CERTAINTY,
                        rate_lateness(&lateness, &findings->items[i]) - log(job_selection_ratio(job)));
    lateness_release(&lateness);
    return failed;
}

int findings_take_explanations(struct findings *findings, const struct suspects *suspects,
                               const struct job *job, const struct baseline *baseline,
                               const struct edges *edges, const struct transfer_excess *transfers,
                               struct replay *replay, const struct diagnose_options *options,
                               struct error *error)
{
    struct explanations explanations = {0};
    const struct acceptance_limits acceptance = {
        .certainty = limit_of(LIMIT_CERTAINTY),
        .worth_ns = scale(baseline->median_step_ns, options->min_gain / 2),
        .sure = limit_of(LIMIT_CERTAINTY_SURE),
        .worth_waited_ns = scale(baseline->median_step_ns, options->min_gain),
        .least_ns = scale(baseline->median_step_ns, options->min_gain * limit_of(LIMIT_NO_GAIN))};
    if (!replay)
        return 0;
    if (ask_late_hosts(findings, job, baseline))
        return error_no_memory(error);
    unsigned char *explained = mark_late_notices(findings, job);
    int failed = explained ? explanations_find(&explanations, job, baseline, edges, transfers, replay,
                                               explained, &acceptance, error)
                           : error_no_memory(error);
    free(explained);
    for (size_t i = 0; !failed && i < explanations.count; i++)
        if (take(findings, suspects, &explanations.items[i], job, baseline, options))
            failed = error_no_memory(error);
    take_in_recurring(findings);
    explanations_release(&explanations);
    return failed;
}
