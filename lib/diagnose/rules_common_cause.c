/*
 * Measures for the rules about findings that may have a common cause: most of the job blamed at once, slow
 * networks side by side.
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

/* Findings that blame most of the job at once, and networks that were slow together with others. */

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

/* Lists the findings of at least medium confidence, sorted by rank. */
static size_t list_named(const struct findings *findings, struct named *named)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].confidence > CONFIDENCE_LOW)
            named[count++] = (struct named){findings->items[i].rank, i};
    array_sort(named, count, sizeof *named, by_rank);
    return count;
}

/* Counts the ranks with a finding in each step. `last` has room for one number per step, zeroed. */
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

static void join_step(struct common_slowdown *slowdown, int32_t step, int32_t ranks)
{
    slowdown->first_step = slowdown->ranks && slowdown->first_step < step ? slowdown->first_step : step;
    slowdown->last_step = slowdown->last_step > step ? slowdown->last_step : step;
    slowdown->ranks = ranks > slowdown->ranks ? ranks : slowdown->ranks;
}

static void join_crowd(struct common_slowdown *slowdown, const struct finding *finding, const int32_t *ranks,
                       size_t recorded)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_crowd(ranks[step], recorded))
            join_step(slowdown, step, ranks[step]);
    slowdown->findings++;
}

static void doubt(struct findings *findings, const struct named *named, size_t count, const int32_t *ranks,
                  const struct job *job)
{
    size_t recorded = job_recorded_ranks(job);
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = &findings->items[named[i].finding];
        if (finding_ask(findings, finding, RULE_CROWD, measure_crowd(finding, ranks, recorded)))
            join_crowd(&findings->common_slowdown, finding, ranks, recorded);
    }
}

/* Slowness beside a network finding, in networks whose findings have low confidence. */
struct beside {
    int64_t slow_ns; /* in the steps of the finding */
    int32_t *ranks;  /* by step: how many other ranks were slow */
};

/* A single shared step of three or more is coincidence. */
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
 * The slowness beside a network finding as a share of its own, where others were slow in enough of its steps.
 * A rank has no two network findings in one step, so all of it is of other ranks.
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

/* Adds its steps to the common slowdown. */
static void join_shared(struct common_slowdown *slowdown, const struct finding *finding,
                        const struct beside *beside)
{
    for (int32_t step = finding->first_step; step <= finding->last_step; step++)
        if (is_shared_in(beside, step))
            join_step(slowdown, step, beside->ranks[step] + 1);
    slowdown->findings++;
}

/*
 * A slow link hardly slows down others, so networks that are slow together have another cause. All measures
 * are taken before any is applied, so that one doubted finding does not count against the next.
 */
int findings_check_shared(struct findings *findings, const struct job *job)
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
        if (rule_is_violated(RULE_SHARED_NETWORK, shared[i]))
            join_shared(&findings->common_slowdown, finding, &beside);
    }
    for (size_t i = 0; !failed && i < findings->count; i++)
        finding_ask(findings, &findings->items[i], RULE_SHARED_NETWORK, shared[i]);
    free(beside.ranks);
    free(shared);
    return failed ? -1 : 0;
}

int findings_check_common_slowdown(struct findings *findings, const struct job *job)
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
