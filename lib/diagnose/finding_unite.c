/*
 * Unites findings that have one cause (finding.h): lib/report/diagnosis.c calls it when all findings of a
 * round are known, and lib/report/judged_run.c for those of several rounds.
 */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"

#include <stdlib.h>
#include <string.h>

int finding_is_of_steps(const struct finding *finding)
{
    return finding->kind < FINDING_MISSING && finding->first_step >= 0 && !finding->at_start &&
           !finding->broke && !finding->stops_job;
}

/* Whether two findings have the same cause if they have the same steps, or any steps. */
static int are_alike(const struct finding *a, const struct finding *b)
{
    return a->kind == b->kind && a->receives == b->receives && !a->candidate_count && !b->candidate_count &&
           !a->pause_ns && !b->pause_ns && !a->notice_ns == !b->notice_ns && finding_is_of_steps(a) &&
           finding_is_of_steps(b) && finding_is_reported(a) && finding_is_reported(b);
}

static int have_same_ranks(const struct finding *a, const struct finding *b)
{
    return a->rank == b->rank && a->rank_count == b->rank_count &&
           (!a->rank_count || memcmp(a->ranks, b->ranks, a->rank_count * sizeof *a->ranks) == 0);
}

/* The number of steps, without breaks, that both have. */
static int32_t shared_steps(const struct finding *a, const struct finding *b, const struct job *job)
{
    int32_t shared = 0;
    for (int32_t step = a->first_step; step <= a->last_step; step++)
        shared += finding_has_step(a, step) && finding_has_step(b, step) && !job_is_break(job, step);
    return shared;
}

/* Whether one names a group of ranks and the other one of them, in more than half of the steps of each. */
static int are_group_and_rank(const struct finding *a, const struct finding *b, const struct job *job)
{
    const struct finding *group = a->rank_count > b->rank_count ? a : b, *one = group == a ? b : a;
    int32_t most = finding_steps(a) > finding_steps(b) ? finding_steps(a) : finding_steps(b);
    return !one->rank_count && group->rank_count && finding_has_rank(group, one->rank) &&
           a->kind != FINDING_NETWORK && shared_steps(a, b, job) * 2 > most;
}

static int add_phases(struct finding *into, const struct finding *other)
{
    size_t capacity = into->phase_count;
    for (size_t i = 0; i < other->phase_count; i++) {
        size_t at = 0;
        while (at < into->phase_count && into->phases[at].tag != other->phases[i].tag)
            at++;
        if (at == into->phase_count) {
            if (array_reserve((void **)&into->phases, &capacity, at + 1, sizeof *into->phases))
                return -1;
            into->phases[into->phase_count++] = (struct phase_excess){.tag = other->phases[i].tag};
        }
        into->phases[at].excess_ns += other->phases[i].excess_ns;
    }
    finding_choose_phase(into);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static int add_waiting(struct finding *into, const struct finding *other)
{
    size_t capacity = into->waiting_count, kept = 0;
    if (array_reserve((void **)&into->waiting, &capacity, into->waiting_count + other->waiting_count,
                      sizeof *into->waiting))
        return -1;
    for (size_t i = 0; i < other->waiting_count; i++)
        into->waiting[into->waiting_count++] = other->waiting[i];
    array_sort(into->waiting, into->waiting_count, sizeof *into->waiting, by_number);
    for (size_t i = 0; i < into->waiting_count; i++)
        if (!kept || into->waiting[kept - 1] != into->waiting[i])
            into->waiting[kept++] = into->waiting[i];
    into->waiting_count = kept;
    return 0;
}

static void take_first_seen(struct finding *into, const struct finding *other)
{
    into->operation = other->operation;
    into->instance = other->instance;
    into->since_ns = other->since_ns;
}

/* At least this many steps make a period, and three in four of the steps of a period show the fault. */
enum { STEPS_TO_RECUR = 3, RECUR_LEAST = 3, RECUR_OF = 4 };

static int32_t common_divisor(int32_t a, int32_t b)
{
    while (b) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The number of loaded steps at a distance of multiples of `period`. */
static int32_t times_of(const struct job *job, int32_t first, int32_t last, int32_t period)
{
    int32_t times = 0;
    for (int32_t step = first; step <= last; step++)
        times +=
            !job_is_break(job, step) && (job_run_step(job, step) - job_run_step(job, first)) % period == 0;
    return times;
}

/* The common distance of ascending steps, in at least three of four of whose multiples they lie; 0: none. */
static int32_t period_of(const struct job *job, const int32_t *steps, size_t count)
{
    int32_t divisor = 0;
    for (size_t i = 1; i < count; i++)
        divisor = common_divisor(job_run_step(job, steps[i]) - job_run_step(job, steps[i - 1]), divisor);
    if (divisor < 2 || count < STEPS_TO_RECUR)
        return 0;
    return (int32_t)count * RECUR_OF >= times_of(job, steps[0], steps[count - 1], divisor) * RECUR_LEAST
               ? divisor
               : 0;
}

/*
 * Describes ascending steps: as all from the first to the last, as each period-th, or as a list, which it
 * takes.
 */
static void set_steps(struct finding *finding, const struct job *job, int32_t *steps, size_t count)
{
    int32_t first = steps[0], last = steps[count - 1], period = period_of(job, steps, count);
    int32_t breaks = job_breaks_in(job, first, last);
    int is_whole = (int32_t)count == last - first + 1 - breaks ||
                   (period && (int32_t)count == times_of(job, first, last, period));
    if (steps != finding->steps)
        free(finding->steps);
    finding->first_step = first;
    finding->last_step = last;
    finding->breaks = breaks;
    finding->period = period;
    finding->numbers = period ? job->step_numbers : NULL;
    finding->steps = is_whole ? NULL : steps;
    finding->step_count = is_whole ? 0 : count;
    if (is_whole)
        free(steps);
}

/* The end of the range of consecutive steps that begins at index `at` of a list. */
static size_t range_end(const int32_t *steps, size_t count, size_t at)
{
    while (at + 1 < count && steps[at + 1] == steps[at] + 1)
        at++;
    return at + 1;
}

/* Drops the last steps of each range while they have less than half of the excess of the step before. */
static size_t drop_fading(int32_t *steps, size_t count, const int64_t *excess_ns)
{
    size_t kept = 0;
    for (size_t at = 0, next; at < count; at = next) {
        next = range_end(steps, count, at);
        size_t end = next;
        while (end > at + 1 && excess_ns[steps[end - 1]] < excess_ns[steps[end - 2]] / 2)
            end--;
        for (; at < end; at++)
            steps[kept++] = steps[at];
    }
    return kept;
}

/* Drops the second step of each range, if no range is longer and the first steps recur. */
static size_t drop_second(const struct job *job, int32_t *steps, size_t count)
{
    size_t firsts = 0;
    int32_t *first = array_new(count, sizeof *first);
    for (size_t at = 0, next; first && at < count; at = next) {
        next = range_end(steps, count, at);
        if (next - at > 2)
            firsts = count;
        if (firsts == count)
            break;
        first[firsts++] = steps[at];
    }
    if (first && firsts < count && period_of(job, first, firsts)) {
        memcpy(steps, first, firsts * sizeof *steps);
        count = firsts;
    }
    free(first);
    return first ? count : 0;
}

int finding_drop_after_effects(struct finding *finding, const struct job *job, const int64_t *excess_ns)
{
    if (!finding->steps)
        return 0;
    size_t count =
        drop_second(job, finding->steps, drop_fading(finding->steps, finding->step_count, excess_ns));
    if (!count)
        return -1;
    if (count == finding->step_count)
        return 0;
    finding->shows_later = 1;
    set_steps(finding, job, finding->steps, count);
    return 0;
}

/* Gives a finding the steps of another as well. */
static int add_steps(struct finding *into, const struct finding *other, const struct job *job)
{
    int32_t first = into->first_step < other->first_step ? into->first_step : other->first_step,
            last = into->last_step > other->last_step ? into->last_step : other->last_step;
    int32_t *steps = array_new((size_t)(last - first) + 1, sizeof *steps);
    size_t count = 0;
    for (int32_t step = first; steps && step <= last; step++)
        if ((finding_has_step(into, step) || finding_has_step(other, step)) && !job_is_break(job, step))
            steps[count++] = step;
    if (!steps)
        return -1;
    if (count)
        set_steps(into, job, steps, count);
    else
        free(steps);
    return 0;
}

/* Writes which steps the evidence is from, where they are one range and the finding has more. */
static int name_steps_of_evidence(struct finding *finding, const struct job *job)
{
    int first = (int)job_run_step(job, finding->first_step),
        last = (int)job_run_step(job, finding->last_step);
    struct buffer text = BUFFER_INIT;
    if (finding->evidence_is_of_part || !finding->evidence.length || finding->period > 1)
        return 0;
    finding->evidence_is_of_part = 1;
    int failed = (first == last ? buffer_printf(&text, "In step %d: ", first)
                                : buffer_printf(&text, "In steps %d-%d: ", first, last)) ||
                 buffer_append(&text, finding->evidence.data, finding->evidence.length);
    if (failed) {
        buffer_release(&text);
        return -1;
    }
    buffer_release(&finding->evidence);
    finding->evidence = text;
    return 0;
}

static int has_all_steps_of(const struct finding *a, const struct finding *b)
{
    for (int32_t step = b->first_step; step <= b->last_step; step++)
        if (finding_has_step(b, step) && !finding_has_step(a, step))
            return 0;
    return 1;
}

static int absorb(struct finding *into, const struct finding *other, const struct job *job)
{
    int is_same = have_same_ranks(into, other),
        is_added = is_same || (into->certainty > 0 && other->certainty > 0);
    if (other->first_step < into->first_step)
        take_first_seen(into, other);
    if ((!has_all_steps_of(into, other) && name_steps_of_evidence(into, job)) || add_steps(into, other, job))
        return -1;
    free(into->excess_up_to);
    into->excess_up_to = NULL;
    if (is_added || other->lost_ns > into->lost_ns)
        into->lost_ns = other->lost_ns + (is_added ? into->lost_ns : 0);
    if (is_added || other->slow_ns > into->slow_ns)
        into->slow_ns = other->slow_ns + (is_added ? into->slow_ns : 0);
    into->sign_ns += other->sign_ns;
    into->account_ns += other->account_ns;
    into->certainty = other->certainty > into->certainty ? other->certainty : into->certainty;
    into->shows_later |= other->shows_later;
    for (size_t i = 0; i < other->peer_count; i++)
        if (finding_add_peer(into, other->peers[i]))
            return -1;
    return add_phases(into, other) || add_waiting(into, other) ? -1 : 0;
}

static int absorb_surer_first(struct finding *into, struct finding *other, const struct job *job)
{
    if (finding_is_before(other, into)) {
        struct finding surer = *other;
        *other = *into;
        *into = surer;
    }
    return absorb(into, other, job);
}

/* Whether a finding recurs with another, or in the steps after it. */
static int has_rhythm_of(const struct finding *a, const struct finding *b, const struct job *job)
{
    int32_t apart = job_run_step(job, b->first_step) - job_run_step(job, a->first_step);
    return a->period > 1 && a->period == b->period && (apart % a->period + a->period) % a->period <= 1;
}

/* Whether each step of a finding is a step of another, or the one after such a step. */
static int follows(const struct finding *a, const struct finding *b, const struct job *job)
{
    for (int32_t step = b->first_step; step <= b->last_step; step++)
        if (finding_has_step(b, step) && !job_is_break(job, step) && !finding_has_step(a, step) &&
            !finding_has_step(a, step - 1))
            return 0;
    return 1;
}

/* A finding of this kind accuses what ranks do, all of which one cause may slow down. */
static int is_of_ranks(const struct finding *finding)
{
    return finding_is_of_steps(finding) && finding_is_reported(finding) && !finding->candidate_count &&
           !finding->receives && !finding->pause_ns && finding->kind < FINDING_MISSING;
}

/*
 * Whether a transfer that is slow after each recurrence of a fault elsewhere is its effect: it has the period
 * of the fault, and costs at most this part.
 */
static const double EFFECT_PART = 0.25;

static int is_effect_of(const struct finding *a, const struct finding *b, const struct job *job)
{
    return a->kind != FINDING_NETWORK && b->kind == FINDING_NETWORK && a->confidence >= b->confidence &&
           (double)b->lost_ns <= EFFECT_PART * (double)(a->lost_ns - a->sign_ns) && has_rhythm_of(a, b, job);
}

/*
 * Whether a finding is another sign of the fault that a greater one names. A GPU or a CPU that other programs
 * use makes several things slow at the same ranks: computing, the host, the proxy threads and with them what
 * the ranks send. The host may be late in the step after, too, because it was held up in the step before.
 */
static int is_sign_of(const struct finding *a, const struct finding *b, const struct job *job)
{
    if (!is_of_ranks(a) || !is_of_ranks(b))
        return 0;
    if (!have_same_ranks(a, b))
        return is_effect_of(a, b, job);
    return a->kind == b->kind ? !a->notice_ns != !b->notice_ns
                              : has_rhythm_of(a, b, job) || follows(a, b, job) || follows(b, a, job);
}

/* The cause: what the host does decides what it sends. Else the greater one. */
static int is_greater(const struct finding *a, const struct finding *b)
{
    if ((a->kind == FINDING_NETWORK) != (b->kind == FINDING_NETWORK) &&
        (a->kind == FINDING_HOST || b->kind == FINDING_HOST))
        return a->kind == FINDING_HOST;
    return a->lost_ns > b->lost_ns;
}

/* Appends "Also: GPU of rank 2 computes longer than its peers, steps 9-24, 5.02 ms". */
static int append_sign(struct finding *into, const struct finding *sign, const struct job *job)
{
    return (into->evidence.length && buffer_append_text(&into->evidence, ". ")) ||
                   buffer_append_text(&into->evidence, "Also: ") ||
                   finding_append_headline(sign, job, &into->evidence) ||
                   (sign->lost_ns > 0 &&
                    (buffer_append_text(&into->evidence, ", ") || text_time(&into->evidence, sign->lost_ns)))
               ? -1
               : 0;
}

/* The costs were found one after the other, each without what the others explain. */
static int absorb_sign(struct finding *into, const struct finding *sign, const struct job *job)
{
    int is_here = have_same_ranks(into, sign);
    int is_longer = is_here && !has_rhythm_of(into, sign, job) && !follows(into, sign, job);
    if ((is_longer && name_steps_of_evidence(into, job)) || append_sign(into, sign, job))
        return -1;
    into->shows_later |= sign->shows_later || (is_here && !is_longer && !has_all_steps_of(into, sign));
    if (is_longer && add_steps(into, sign, job))
        return -1;
    into->lost_ns += sign->lost_ns;
    into->sign_ns += sign->lost_ns;
    into->account_ns += sign->account_ns;
    into->confidence = sign->confidence > into->confidence ? sign->confidence : into->confidence;
    return add_phases(into, sign) || add_waiting(into, sign) ? -1 : 0;
}

static int unite_signs(struct findings *findings, const struct job *job)
{
    for (size_t i = 0; i < findings->count; i++)
        for (size_t j = 0; j < findings->count;) {
            struct finding *into = &findings->items[i], *sign = &findings->items[j];
            if (i == j || !is_greater(into, sign) || !is_sign_of(into, sign, job)) {
                j++;
                continue;
            }
            if (absorb_sign(into, sign, job))
                return -1;
            findings_remove(findings, j);
            i -= j < i;
        }
    return 0;
}

int findings_unite(struct findings *findings, const struct job *job)
{
    for (int groups = 0; groups < 2; groups++)
        for (size_t i = 0; i < findings->count; i++)
            for (size_t j = i + 1; finding_is_reported(&findings->items[i]) && j < findings->count;) {
                struct finding *into = &findings->items[i], *other = &findings->items[j];
                if (!are_alike(into, other) ||
                    !(groups ? are_group_and_rank(into, other, job) : have_same_ranks(into, other))) {
                    j++;
                    continue;
                }
                if (absorb_surer_first(into, other, job))
                    return -1;
                findings_remove(findings, j);
            }
    return unite_signs(findings, job);
}

int findings_unite_round(struct findings *to, struct findings *from, const struct job *job)
{
    size_t count = to->count;
    for (size_t i = 0; i < from->count; i++)
        for (size_t j = 0; j < count; j++) {
            struct finding *into = &from->items[i], *other = &to->items[j];
            if (!are_alike(into, other) || !have_same_ranks(into, other))
                continue;
            if (absorb_surer_first(into, other, job))
                return -1;
            findings_remove(to, j);
            count--;
            break;
        }
    return findings_append(to, from);
}
