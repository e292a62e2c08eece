/*
 * Unites findings of several rounds of a run that are one fault (finding.h). lib/report/judged_run.c calls it
 * after each round.
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

/*
 * Whether the steps of two findings are consecutive or overlap. The time before the first operation of the
 * first step after an unloaded part cannot be measured, so that step need not show the fault for the two to
 * be one.
 */
static int meet(const struct finding *a, const struct finding *b, const struct job *job)
{
    const struct finding *first = a->first_step <= b->first_step ? a : b, *second = first == a ? b : a;
    int32_t next = first->last_step + 1;
    return second->first_step <= next + 1 || (second->first_step == next + 2 && job_is_break(job, next));
}

/* Whether `b` recurs and the single step of `a` is one of its steps: the steps between are healthy. */
static int recurs_as(const struct finding *a, const struct finding *b)
{
    return a->period > 1 && b->first_step == b->last_step && finding_has_step(a, b->first_step);
}

static int recur_alike(const struct finding *a, const struct finding *b)
{
    int32_t apart = a->numbers && b->numbers ? a->numbers[a->first_step] - b->numbers[b->first_step]
                                             : a->first_step - b->first_step;
    return a->period > 1 && a->period == b->period && apart % a->period == 0;
}

static int are_one(const struct finding *a, const struct finding *b, const struct job *job)
{
    if (a->kind != b->kind || a->rank != b->rank || a->receives != b->receives ||
        a->rank_count != b->rank_count || a->candidate_count || b->candidate_count || a->pause_ns ||
        b->pause_ns || !a->notice_ns != !b->notice_ns || !finding_is_of_steps(a) || !finding_is_of_steps(b) ||
        !finding_is_reported(a) || !finding_is_reported(b) ||
        (a->rank_count && memcmp(a->ranks, b->ranks, a->rank_count * sizeof *a->ranks) != 0))
        return 0;
    if (a->period > 1 || b->period > 1)
        return recur_alike(a, b) || recurs_as(a, b) || recurs_as(b, a);
    return meet(a, b, job);
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
    finding_sort_phases(into);
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

static int absorb(struct finding *into, const struct finding *other, const struct job *job)
{
    if (other->first_step < into->first_step)
        take_first_seen(into, other);
    if (other->period > 1) {
        into->period = other->period;
        into->numbers = other->numbers;
    }
    into->first_step = other->first_step < into->first_step ? other->first_step : into->first_step;
    into->last_step = other->last_step > into->last_step ? other->last_step : into->last_step;
    into->breaks = job_breaks_in(job, into->first_step, into->last_step);
    into->lost_ns += other->lost_ns;
    into->slow_ns += other->slow_ns;
    for (size_t i = 0; i < other->peer_count; i++)
        if (finding_add_peer(into, other->peers[i]))
            return -1;
    return add_phases(into, other) || add_waiting(into, other) ? -1 : 0;
}

/* Adds to a finding those of earlier rounds, the first `*count`, that are one fault with it. */
static int absorb_all(struct findings *to, size_t *count, struct finding *finding, const struct job *job)
{
    for (size_t i = 0; i < *count;) {
        struct finding *other = &to->items[i];
        if (!are_one(finding, other, job)) {
            i++;
            continue;
        }
        if (finding_is_before(other, finding)) {
            struct finding surer = *other;
            *other = *finding;
            *finding = surer;
        }
        if (absorb(finding, other, job))
            return -1;
        findings_remove(to, i);
        --*count;
        /* It has more steps now, so earlier ones may fit. */
        i = 0;
    }
    return 0;
}

int findings_unite_round(struct findings *to, struct findings *from, const struct job *job)
{
    size_t count = to->count;
    for (size_t i = 0; i < from->count; i++)
        if (absorb_all(to, &count, &from->items[i], job))
            return -1;
    return findings_append(to, from);
}
