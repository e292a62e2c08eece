#include "analyse/finding.h"

#include "base/array.h"

#include <stdlib.h>

/* Findings that name most of the job at once, and networks that were slow along with others. */

/* Of two ranks each may have a fault of its own. */
enum { CROWD_RANKS = 3 };

/*
 * A slow link hardly slows others: what is slow on theirs in the same steps, and is not believed of any, is
 * next to nothing. From a third on there may be one cause of all.
 */
enum { SHARED = 3 };

struct named {
    int32_t rank;
    size_t finding;
};

static int by_rank(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    return left->rank != right->rank ? (left->rank < right->rank ? -1 : 1)
                                     : (left->finding > right->finding) - (left->finding < right->finding);
}

/* The findings that are believed, those of a rank side by side. */
static size_t list_named(const struct findings *findings, struct named *named)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW)
            named[count++] = (struct named){findings->items[i].rank, i};
    array_sort(named, count, sizeof *named, by_rank);
    return count;
}

/* How many ranks are named in each step. `last` has room for a number per step, zeroed. */
static void count_ranks(const struct findings *findings, const struct named *named, size_t count,
                        int32_t *last, int32_t *ranks)
{
    for (size_t i = 0; i < count; i++) {
        const struct finding *finding = &findings->items[named[i].finding];
        for (int32_t step = finding->first_step; step <= finding->last_step; step++) {
            ranks[step] += last[step] != finding->rank + 1;
            last[step] = finding->rank + 1;
        }
    }
}

static int is_crowd(int32_t ranks, size_t recorded)
{
    return ranks >= CROWD_RANKS && (size_t)ranks * 2 > recorded;
}

static int is_crowded(const struct finding *finding, const int32_t *ranks, size_t recorded)
{
    int32_t crowded = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        crowded += is_crowd(ranks[step], recorded);
    return crowded * 2 > finding->last_step - finding->first_step + 1;
}

static void join_step(struct crowd *crowd, int32_t step, int32_t ranks)
{
    crowd->first_step = crowd->ranks && crowd->first_step < step ? crowd->first_step : step;
    crowd->last_step = crowd->ranks && crowd->last_step > step ? crowd->last_step : step;
    crowd->ranks = ranks > crowd->ranks ? ranks : crowd->ranks;
}

static void join_crowd(struct crowd *crowd, const struct finding *finding, const int32_t *ranks,
                       size_t recorded)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_crowd(ranks[step], recorded))
            join_step(crowd, step, ranks[step]);
    crowd->findings++;
}

static void doubt(struct findings *findings, const struct named *named, size_t count, const int32_t *ranks,
                  const struct job *job)
{
    size_t recorded = job_recorded_ranks(job);
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = &findings->items[named[i].finding];
        if (!is_crowded(finding, ranks, recorded))
            continue;
        finding->confidence = CONFIDENCE_LOW;
        join_crowd(&findings->crowd, finding, ranks, recorded);
    }
}

/* Steps that two findings have in common; how many. */
static int32_t steps_in_common(const struct finding *a, const struct finding *b, int32_t *first)
{
    int32_t last = a->last_step < b->last_step ? a->last_step : b->last_step;
    *first = a->first_step > b->first_step ? a->first_step : b->first_step;
    return last >= *first ? last - *first + 1 : 0;
}

/*
 * What was slow in another's network, which is not believed to be at fault, in the steps of this one; 0 where
 * that is one step of three or more: a moment in one of several is another matter.
 */
static int64_t slow_beside(const struct finding *finding, const struct finding *other, int32_t *first,
                           int32_t *steps)
{
    *steps = steps_in_common(finding, other, first);
    if (other->kind != FINDING_NETWORK || other->confidence > CONFIDENCE_LOW ||
        (*steps < 2 && finding->last_step - finding->first_step >= 2))
        return 0;
    return other->slow_ns / (other->last_step - other->first_step + 1) * *steps;
}

/* Those that a network is not told apart from, itself among them; none of what is not believed. */
static struct crowd crowd_beside(const struct findings *findings, const struct finding *finding)
{
    struct crowd crowd = {0};
    int64_t slow_ns = 0;
    if (finding->kind != FINDING_NETWORK || finding->confidence == CONFIDENCE_LOW)
        return crowd;
    for (size_t i = 0; i < findings->count; i++) {
        int32_t first, steps;
        /* A rank has no two findings of its network in one step: what is beside one is of others. */
        int64_t beside_ns = slow_beside(finding, &findings->items[i], &first, &steps);
        if (!beside_ns)
            continue;
        slow_ns += beside_ns;
        int32_t ranks = crowd.ranks ? crowd.ranks + 1 : 2;
        join_step(&crowd, first, ranks);
        join_step(&crowd, first + steps - 1, ranks);
    }
    crowd.findings = crowd.ranks && slow_ns * SHARED >= finding->slow_ns;
    return crowd;
}

/* All are held against what was believed before any of them was doubted. */
int findings_doubt_shared(struct findings *findings)
{
    struct crowd *crowds = array_new(findings->count, sizeof *crowds);
    for (size_t i = 0; crowds && i < findings->count; i++)
        crowds[i] = crowd_beside(findings, &findings->items[i]);
    for (size_t i = 0; crowds && i < findings->count; i++) {
        if (!crowds[i].findings)
            continue;
        findings->items[i].confidence = CONFIDENCE_LOW;
        join_step(&findings->crowd, crowds[i].first_step, crowds[i].ranks);
        join_step(&findings->crowd, crowds[i].last_step, crowds[i].ranks);
        findings->crowd.findings++;
    }
    int failed = crowds ? 0 : -1;
    free(crowds);
    return failed;
}

int findings_doubt_crowd(struct findings *findings, const struct job *job)
{
    size_t steps = (size_t)job->step_count + 1;
    struct named *named = array_new(findings->count, sizeof *named);
    int32_t *last = array_new(steps, sizeof *last), *ranks = array_new(steps, sizeof *ranks);
    int failed = !named || !last || !ranks;
    if (!failed) {
        size_t count = list_named(findings, named);
        count_ranks(findings, named, count, last, ranks);
        doubt(findings, named, count, ranks, job);
    }
    free(named);
    free(last);
    free(ranks);
    return failed ? -1 : 0;
}
