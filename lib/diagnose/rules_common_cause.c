#include "diagnose/rules_common_cause.h"

#include "base/array.h"

#include <stdlib.h>

/* Findings that name most of the job at once, and networks that were slow along with others. */

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
    return ranks >= limit_of(LIMIT_CROWD) && (size_t)ranks * 2 > recorded;
}

static double measure_crowd(const struct finding *finding, const int32_t *ranks, size_t recorded)
{
    int32_t crowded = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        crowded += is_crowd(ranks[step], recorded);
    return ratio_of(crowded, finding->last_step - finding->first_step + 1);
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
        if (finding_ask(findings, finding, RULE_CROWD, measure_crowd(finding, ranks, recorded)))
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

static int is_shared_in(const struct beside *beside, int32_t step)
{
    return beside->ranks[step] + 1 >= limit_of(LIMIT_CROWD);
}

/*
 * What was slow beside a network, as a share of what it was, where others were in as many of its steps. A
 * rank has no two findings of its network in one step: what is beside one is of others.
 */
static double measure_shared(const struct findings *findings, const struct finding *finding,
                             struct beside *beside)
{
    int32_t shared = 0;
    beside->slow_ns = 0;
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        beside->ranks[step] = 0;
    for (size_t i = 0; i < findings->count; i++)
        look_beside(finding, &findings->items[i], beside);
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        shared += is_shared_in(beside, step);
    double least = finding->first_step == finding->last_step ? 1 : limit_of(LIMIT_SHARED_STEPS);
    return shared >= least ? ratio_of(beside->slow_ns, finding->slow_ns) : NOT_ASKED;
}

/* Notes the steps in which it was. */
static void join_shared(struct crowd *crowd, const struct finding *finding, const struct beside *beside)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_shared_in(beside, step))
            join_step(crowd, step, beside->ranks[step] + 1);
    crowd->findings++;
}

/* A slow link hardly slows others. None is doubted for another that is doubted here: all are read first. */
int findings_doubt_shared(struct findings *findings, const struct job *job)
{
    struct beside beside = {.ranks = array_new((size_t)job->step_count + 1, sizeof *beside.ranks)};
    double *shared = array_new(findings->count, sizeof *shared);
    int failed = !beside.ranks || !shared;
    for (size_t i = 0; !failed && i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        shared[i] = NOT_ASKED;
        if (findings->off.has[RULE_SHARED_NETWORK] || finding->kind != FINDING_NETWORK ||
            finding->confidence == CONFIDENCE_LOW)
            continue;
        shared[i] = measure_shared(findings, finding, &beside);
        if (rule_speaks(RULE_SHARED_NETWORK, shared[i]))
            join_shared(&findings->crowd, finding, &beside);
    }
    for (size_t i = 0; !failed && i < findings->count; i++)
        finding_ask(findings, &findings->items[i], RULE_SHARED_NETWORK, shared[i]);
    free(beside.ranks);
    free(shared);
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
