#include "diagnose/rules_common_cause.h"

#include "base/array.h"

#include <stdlib.h>

/* Findings that name most of the job at once, and networks that were slow along with others. */

/* Of two ranks each may have a fault of its own. */
enum { CROWD_RANKS = 3 };

/*
 * A slow link hardly slows others: what is slow on theirs in the same steps, and is not believed of any, is
 * next to nothing. From a third on, and where two others are in two of its steps, there may be one cause of
 * all.
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
    crowd->last_step = crowd->last_step > step ? crowd->last_step : step;
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

/* What was slow beside a network in networks that are not believed to be at fault. */
struct beside {
    int64_t slow_ns; /* in the network's steps */
    int32_t *ranks;  /* in each of them, of how many other ranks */
};

/* One step of three and more is a moment, and another matter. */
static void look_beside(const struct finding *finding, const struct finding *other, struct beside *beside)
{
    int32_t first = finding->first_step > other->first_step ? finding->first_step : other->first_step;
    int32_t last = finding->last_step < other->last_step ? finding->last_step : other->last_step;
    int is_moment = first == last && finding->last_step - finding->first_step >= 2;
    if (other->kind != FINDING_NETWORK || other->confidence > CONFIDENCE_LOW || is_moment)
        return;
    for (int32_t step = first; step <= last; step++) {
        beside->slow_ns += other->slow_ns / (other->last_step - other->first_step + 1);
        beside->ranks[step]++;
    }
}

/*
 * Notes the steps in which it was. A rank has no two findings of its network in one step: what is beside one
 * is of others.
 */
static int is_shared(struct findings *findings, const struct finding *finding, struct beside *beside)
{
    int32_t shared = 0;
    beside->slow_ns = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        beside->ranks[step] = 0;
    for (size_t i = 0; i < findings->count; i++)
        look_beside(finding, &findings->items[i], beside);
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += beside->ranks[step] + 1 >= CROWD_RANKS;
    int32_t least = finding->first_step == finding->last_step ? 1 : 2;
    if (shared < least || beside->slow_ns * SHARED < finding->slow_ns)
        return 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (beside->ranks[step] + 1 >= CROWD_RANKS)
            join_step(&findings->crowd, step, beside->ranks[step] + 1);
    findings->crowd.findings++;
    return 1;
}

/* None is doubted for another that is doubted here. */
int findings_doubt_shared(struct findings *findings, const struct job *job)
{
    struct beside beside = {.ranks = array_new((size_t)job->step_count + 1, sizeof *beside.ranks)};
    unsigned char *doubted = array_new(findings->count, sizeof *doubted);
    int failed = !beside.ranks || !doubted;
    for (size_t i = 0; !failed && i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        doubted[i] = finding->kind == FINDING_NETWORK && finding->confidence > CONFIDENCE_LOW &&
                     is_shared(findings, finding, &beside);
    }
    for (size_t i = 0; !failed && i < findings->count; i++)
        if (doubted[i])
            findings->items[i].confidence = CONFIDENCE_LOW;
    free(beside.ranks);
    free(doubted);
    return failed ? -1 : 0;
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
