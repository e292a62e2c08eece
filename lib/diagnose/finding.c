/*
 * The list of findings: add, remove, sort order, unite candidates, apply a rule to a finding, and questions
 * about findings that other files ask.
 */
#include "diagnose/finding.h"
#include "base/base.h"
#include "diagnose/baseline.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static void release(struct finding *finding)
{
    free(finding->peers);
    free(finding->candidates);
    free(finding->ranks);
    free(finding->steps);
    free(finding->excess_up_to);
    free(finding->phases);
    free(finding->waiting);
    causes_release(finding->causes, finding->cause_count);
    free(finding->records_end);
    buffer_release(&finding->evidence);
}

void findings_release(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        release(&findings->items[i]);
    free(findings->items);
    *findings = (struct findings){0};
}

void findings_remove(struct findings *findings, size_t at)
{
    release(&findings->items[at]);
    memmove(&findings->items[at], &findings->items[at + 1],
            (--findings->count - at) * sizeof *findings->items);
}

static int is_number_before(const void *item, const void *wanted)
{
    return *(const int32_t *)item < *(const int32_t *)wanted;
}

int finding_has_step(const struct finding *finding, int32_t step)
{
    int32_t first = finding->first_step;
    if (finding->steps) {
        size_t at =
            lower_bound(finding->steps, finding->step_count, sizeof *finding->steps, is_number_before, &step);
        return at < finding->step_count && finding->steps[at] == step;
    }
    if (step < first || step > finding->last_step || finding->period < 2)
        return step >= first && step <= finding->last_step;
    if (!finding->numbers)
        return (step - first) % finding->period == 0;
    return finding->numbers[step] >= 0 &&
           (finding->numbers[step] - finding->numbers[first]) % finding->period == 0;
}

static int is_candidate(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->candidate_count; i++)
        if (finding->candidates[i] == rank)
            return 1;
    return 0;
}

int finding_has_rank(const struct finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->rank_count; i++)
        if (finding->ranks[i] == rank)
            return 1;
    return finding->rank == rank || is_candidate(finding, rank);
}

struct finding *findings_add(struct findings *findings)
{
    if (array_reserve((void **)&findings->items, &findings->capacity, findings->count + 1,
                      sizeof *findings->items))
        return NULL;
    struct finding *finding = &findings->items[findings->count++];
    *finding = (struct finding){.rank = -1,
                                .tag = -1,
                                .first_step = -1,
                                .last_step = -1,
                                .instance = -1,
                                .operation = -1,
                                .called = -1,
                                .since_ns = TIME_UNKNOWN};
    return finding;
}

struct finding *findings_add_at(struct findings *findings, const struct job *job, enum finding_kind kind,
                                int32_t rank, const struct job_instance *instance)
{
    struct finding *finding = findings_add(findings);
    if (finding) {
        finding->kind = kind;
        finding->rank = rank;
        finding->tag = instance->tag;
        finding->first_step = finding->last_step = instance->step;
        finding->instance = (int32_t)(instance - job->instances);
    }
    return finding;
}

int findings_append(struct findings *findings, struct findings *others)
{
    if (array_reserve((void **)&findings->items, &findings->capacity, findings->count + others->count,
                      sizeof *findings->items))
        return -1;
    for (size_t i = 0; i < others->count; i++)
        findings->items[findings->count++] = others->items[i];
    others->count = 0;
    findings->unexplained_hang = others->unexplained_hang;
    findings->is_snapshot = others->is_snapshot;
    return 0;
}

/* Ranks usually come in ascending order. */
static int add_rank(int32_t **ranks, size_t *count, size_t *capacity, int32_t rank)
{
    size_t at = *count;
    if (at > 0 && (*ranks)[at - 1] >= rank)
        at = lower_bound(*ranks, *count, sizeof **ranks, is_number_before, &rank);
    if (at < *count && (*ranks)[at] == rank)
        return 0;
    if (array_reserve((void **)ranks, capacity, *count + 1, sizeof **ranks))
        return -1;
    memmove(*ranks + at + 1, *ranks + at, (*count - at) * sizeof **ranks);
    (*ranks)[at] = rank;
    ++*count;
    return 0;
}

int finding_ask(const struct findings *findings, struct finding *finding, enum rule_id rule, double reading)
{
    if (findings->off.has[rule])
        return 0;
    rule_results_add(&finding->rule_results, finding->kind, rule, reading);
    if (!rule_results_fail(&finding->rule_results, rule))
        return 0;
    if (rules[rule].at_most < finding->confidence)
        finding->confidence = rules[rule].at_most;
    return 1;
}

int finding_add_peer(struct finding *finding, int32_t rank)
{
    return add_rank(&finding->peers, &finding->peer_count, &finding->peer_capacity, rank);
}

int finding_add_candidate(struct finding *finding, int32_t rank)
{
    return add_rank(&finding->candidates, &finding->candidate_count, &finding->candidate_capacity, rank);
}

int finding_take_steps(struct finding *finding, const struct step_set *set)
{
    size_t count = set->marks ? (size_t)step_set_count(set) : 0;
    finding->first_step = set->first;
    finding->last_step = set->last;
    finding->period = set->period;
    finding->numbers = set->numbers;
    if (!count || (int64_t)count > set->last - set->first)
        return 0;
    finding->steps = array_new(count, sizeof *finding->steps);
    for (int32_t step = set->first; finding->steps && step <= set->last; step++)
        if (step_set_has(set, step))
            finding->steps[finding->step_count++] = step;
    return finding->steps ? 0 : -1;
}

int finding_take_ranks(struct finding *finding, const unsigned char *has, size_t ranks)
{
    size_t count = 0;
    for (size_t rank = 0; rank < ranks; rank++)
        count += has[rank] != 0;
    if (count < 2)
        return 0;
    finding->ranks = array_new(count, sizeof *finding->ranks);
    for (size_t rank = 0; finding->ranks && rank < ranks; rank++)
        if (has[rank])
            finding->ranks[finding->rank_count++] = (int32_t)rank;
    return finding->ranks ? 0 : -1;
}

static int by_excess(const void *a, const void *b)
{
    const struct phase_excess *left = a, *right = b;
    if (left->excess_ns != right->excess_ns)
        return left->excess_ns > right->excess_ns ? -1 : 1;
    return left->tag - right->tag;
}

void finding_choose_phase(struct finding *finding)
{
    int64_t sum_ns = 0;
    if (!finding->phase_count)
        return;
    array_sort(finding->phases, finding->phase_count, sizeof *finding->phases, by_excess);
    for (size_t i = 0; i < finding->phase_count; i++)
        sum_ns += finding->phases[i].excess_ns;
    finding->tag = finding->phases[0].excess_ns > sum_ns / 2 ? finding->phases[0].tag : -1;
}

int finding_is_in_phase(const struct finding *finding, int32_t tag)
{
    for (size_t i = 0; finding->tag < 0 && i < finding->phase_count; i++)
        if (finding->phases[i].tag == tag)
            return 1;
    return finding->tag == tag;
}

void findings_remove_low(struct findings *findings, size_t from)
{
    for (size_t i = findings->count; i > from; i--)
        if (findings->items[i - 1].confidence == CONFIDENCE_LOW)
            findings_remove(findings, i - 1);
}

static int are_candidates_of_one(const struct finding *a, const struct finding *b)
{
    return a->candidate_count && b->candidate_count && a->kind == b->kind && a->stops_job == b->stops_job &&
           a->first_step == b->first_step;
}

/* A rank that is a candidate is no peer. Both lists are ascending. */
static void settle_candidates(struct finding *finding)
{
    size_t kept = 0, candidate = 0;
    if (finding->candidate_count < 2) {
        finding->candidate_count = 0;
        return;
    }
    finding->rank = finding->candidates[0];
    for (size_t i = 0; i < finding->peer_count; i++) {
        while (candidate < finding->candidate_count && finding->candidates[candidate] < finding->peers[i])
            candidate++;
        if (candidate == finding->candidate_count || finding->candidates[candidate] != finding->peers[i])
            finding->peers[kept++] = finding->peers[i];
    }
    finding->peer_count = kept;
}

static int take_over(struct findings *findings, struct finding *into, size_t at)
{
    const struct finding *other = &findings->items[at];
    for (size_t k = 0; k < other->candidate_count; k++)
        if (finding_add_candidate(into, other->candidates[k]))
            return -1;
    for (size_t k = 0; k < other->peer_count; k++)
        if (finding_add_peer(into, other->peers[k]))
            return -1;
    findings_remove(findings, at);
    return 0;
}

int findings_unite_candidates(struct findings *findings, size_t from)
{
    for (size_t i = from; i < findings->count; i++) {
        struct finding *into = &findings->items[i];
        for (size_t j = i + 1; into->candidate_count && j < findings->count;) {
            if (!are_candidates_of_one(into, &findings->items[j]))
                j++;
            else if (take_over(findings, into, j))
                return -1;
        }
        settle_candidates(into);
    }
    return 0;
}

int findings_unite_last(struct findings *findings, size_t from, size_t *into)
{
    size_t last = findings->count - 1, at = *into;
    if (findings->count <= from || !findings->items[last].candidate_count)
        return 0;
    if (at >= last || !are_candidates_of_one(&findings->items[at], &findings->items[last]))
        for (at = from; at < last; at++)
            if (are_candidates_of_one(&findings->items[at], &findings->items[last]))
                break;
    if (at == last)
        return 0;
    *into = at;
    return take_over(findings, &findings->items[at], last);
}

const char *confidence_name(enum confidence confidence)
{
    static const char *const names[] = {"low", "medium", "high"};
    return names[confidence];
}

enum colour confidence_colour(const char *name)
{
    static const enum colour colours[] = {COLOUR_CALM, COLOUR_CAUTION, COLOUR_ALARM};
    for (enum confidence i = CONFIDENCE_LOW; i <= CONFIDENCE_HIGH; i++)
        if (strcmp(name, confidence_name(i)) == 0)
            return colours[i];
    return COLOUR_NONE;
}

int findings_explain_stop(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].stops_job)
            return 1;
    return 0;
}

int findings_explain_stop_confidently(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].stops_job && findings->items[i].confidence > CONFIDENCE_LOW)
            return 1;
    return 0;
}

int finding_is_absent(const struct finding *finding, const struct job *job)
{
    return finding->kind == FINDING_LATE && finding->rank >= 0 && !job->ranks[finding->rank].count;
}

int finding_is_reported(const struct finding *finding)
{
    return finding->confidence > CONFIDENCE_LOW || finding->kind >= FINDING_MISSING || finding->broke;
}

int finding_is_before(const struct finding *a, const struct finding *b)
{
    return a->confidence != b->confidence ? a->confidence > b->confidence : a->lost_ns > b->lost_ns;
}

const struct finding *findings_of_rank(const struct findings *findings, int32_t rank)
{
    const struct finding *best = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding_is_reported(finding) && finding_has_rank(finding, rank) &&
            (!best || finding_is_before(finding, best)))
            best = finding;
    }
    return best;
}

int64_t finding_excess_ns(const struct finding *finding)
{
    int64_t sum_ns = finding->at_start ? finding->lost_ns : 0;
    for (size_t i = 0; i < finding->phase_count; i++)
        sum_ns += finding->phases[i].excess_ns;
    return sum_ns;
}

int32_t finding_steps(const struct finding *finding)
{
    int32_t period = finding->period > 1 ? finding->period : 1;
    int32_t count = (finding->last_step - finding->first_step) / period + 1;
    if (finding->steps)
        return (int32_t)finding->step_count;
    if (period == 1)
        count -= finding->breaks;
    else if (finding->numbers)
        count = 0;
    for (int32_t step = finding->first_step; period > 1 && finding->numbers && step <= finding->last_step;
         step++)
        count += finding_has_step(finding, step);
    return count > 0 ? count : 1;
}

/* The weight of all steps of a finding up to `step`. */
static int64_t weight_up_to(const struct finding *finding, int32_t step)
{
    int64_t count = 0;
    if (step < finding->first_step)
        return 0;
    if (step > finding->last_step + 1)
        step = finding->last_step + 1;
    if (finding->excess_up_to)
        return finding->excess_up_to[step - finding->first_step];
    if (finding->steps) {
        int32_t next = step + 1;
        return (int64_t)lower_bound(finding->steps, finding->step_count, sizeof *finding->steps,
                                    is_number_before, &next);
    }
    if (step > finding->last_step)
        step = finding->last_step;
    if (!finding->numbers || finding->period < 2)
        return (step - finding->first_step) / (finding->period > 1 ? finding->period : 1) + 1;
    for (int32_t i = finding->first_step; i <= step; i++)
        count += finding_has_step(finding, i);
    return count;
}

/* The difference of two parts that are rounded alike: the parts of all steps add up. */
int64_t finding_cost_in_step(const struct finding *finding, int32_t step)
{
    if (finding->first_step < 0 || (!finding->excess_up_to && !finding_has_step(finding, step)))
        return 0;
    int64_t all = weight_up_to(finding, finding->last_step + 1);
    return scale(finding->lost_ns, ratio_of(weight_up_to(finding, step), all)) -
           scale(finding->lost_ns, ratio_of(weight_up_to(finding, step - 1), all));
}

/* The same cost in each step, unless the finding was united from several. */
static int64_t even_part(const struct finding *finding, int32_t step)
{
    if (finding->steps)
        return finding_cost_in_step(finding, step);
    return finding_has_step(finding, step) ? finding->lost_ns / finding_steps(finding) : 0;
}

/*
 * The cost that may show in the duration of a step. A step that is the only one of its finding, and shows
 * later, shows in the next step alone.
 */
static int64_t cost_shown_in(const struct finding *finding, int32_t step)
{
    int is_later = finding->shows_later && finding->first_step == finding->last_step;
    int64_t most_ns = is_later ? 0 : even_part(finding, step);
    int64_t before_ns = finding->shows_later ? even_part(finding, step - 1) : 0;
    return before_ns > most_ns ? before_ns : most_ns;
}

int findings_explain(const struct findings *findings, int32_t step, int64_t longer_ns)
{
    int64_t said_ns = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (finding->confidence == CONFIDENCE_LOW && finding->kind < FINDING_MISSING)
            continue;
        if (finding->stops_job && finding_has_step(finding, step))
            return 1;
        said_ns += cost_shown_in(finding, step);
    }
    return said_ns >= longer_ns / 2;
}

/* What the trace lacks, per operation: lines, events and operations, except those missing on all ranks. */
static double job_gaps(const struct job *job)
{
    int64_t missing = job->missing_sequence - job->left_out_by_all;
    int64_t twice = job->overwritten < missing ? job->overwritten : missing;
    return ratio_of(job->damaged_lines + job->lost_events + missing - twice, (int64_t)job->operation_count);
}

void finding_ask_record(const struct findings *findings, struct finding *finding, const struct job *job,
                        const struct baseline *baseline)
{
    finding_ask(findings, finding, RULE_IRREGULAR, baseline->regular);
    finding_ask(findings, finding, RULE_GAPS, job_gaps(job));
}
