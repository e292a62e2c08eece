#include "analyse/edges.h"
#include "analyse/finding.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* What a suspicion is believed. Four ranks of one role, ten steps of 1000 each; nothing else is known of
 * them. */
enum { RANKS = 4, STEPS = 10 };

/* Of the suspect's edge, one operation a step: how many times as long as usual it waited, and took. */
struct slow {
    double wait;
    double transfer;
};

static void make_slow(const struct suspect *suspect, struct slow slow, struct job_instance *instances,
                      struct edge *edges, size_t *first)
{
    for (int i = 0; i < STEPS; i++) {
        int now = i >= suspect->first_step && i <= suspect->last_step;
        int64_t wait_ns = now ? (int64_t)(100 * slow.wait) : 100;
        int64_t transfer_ns = now ? (int64_t)(100 * slow.transfer) : 100;
        instances[i] = (struct job_instance){.step = i,
                                             .culprit = now ? suspect->rank : -1,
                                             .transfer_ns = transfer_ns,
                                             .slow_ns = transfer_ns - 100};
        edges[i] = (struct edge){.instance = i,
                                 .sender = suspect->rank,
                                 .receiver = 2,
                                 .steps = 1,
                                 .wait_ns = wait_ns,
                                 .extra_ns = wait_ns - 100};
        first[i] = (size_t)i;
    }
    first[STEPS] = STEPS;
}

static enum confidence judged_by(struct suspect suspect, int finished_only, const struct slow *slow)
{
    int32_t ranks[RANKS] = {0, 1, 2, 3}, role_of_rank[RANKS] = {0};
    int64_t step_ns[STEPS];
    struct role role = {.ranks = ranks, .rank_count = RANKS};
    struct job_instance instances[STEPS];
    struct edge items[STEPS];
    size_t first[STEPS + 1];
    struct edges edges = {.items = items, .count = STEPS, .first = first};
    struct job job = {.rank_count = RANKS,
                      .step_count = STEPS,
                      .finished_only = finished_only,
                      .instances = instances,
                      .instance_count = slow ? STEPS : 0};
    struct baseline baseline = {.roles = &role,
                                .role_count = 1,
                                .rank_count = RANKS,
                                .role_of_rank = role_of_rank,
                                .rank_in_role = ranks,
                                .first_step = 1,
                                .step_count = STEPS,
                                .step_ns = step_ns,
                                .median_step_ns = 1000,
                                .regular = 1};
    struct suspects suspects = {.items = &suspect, .count = 1};
    struct findings findings = {0};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct error error = ERROR_INIT;
    for (int i = 0; i < STEPS; i++)
        step_ns[i] = TIME_UNKNOWN;
    suspect.rank = 1;
    if (slow)
        make_slow(&suspect, *slow, instances, items, first);
    assert_int_equal(job_index_steps(&job, &error), 0);
    assert_int_equal(
        suspects_judge(&suspects, &job, &baseline, slow ? &edges : NULL, &options, &findings, &error), 0);
    assert_int_equal(findings.count, 1);
    enum confidence confidence = findings.items[0].confidence;
    findings_release(&findings);
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return confidence;
}

static enum confidence judged(struct suspect suspect, int finished_only)
{
    return judged_by(suspect, finished_only, NULL);
}

/* In every step: a recorder that does not tell trees from rings cannot tell a slow rank from a tree's root.
 */
static void always(void **state)
{
    const struct suspect suspect = {.kind = FINDING_COMPUTE,
                                    .first_step = 1,
                                    .last_step = 9,
                                    .counted_steps = 9,
                                    .gain_ns = 900,
                                    .ahead = 9};
    assert_int_equal(judged(suspect, 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(suspect, 1), CONFIDENCE_LOW);
}

static struct suspect two_steps(enum finding_kind kind, double ahead)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 5,
                            .counted_steps = 2,
                            .gain_ns = 600,
                            .chance = 0.01,
                            .ahead = ahead};
}

/* Two steps are believed where no other step alone is as strong; of a network, a third as strong. */
static void two_in_a_row(void **state)
{
    assert_int_equal(judged(two_steps(FINDING_HOST, 0.99), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(two_steps(FINDING_HOST, 1), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(two_steps(FINDING_NETWORK, 2.9), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(two_steps(FINDING_NETWORK, 3), 0), CONFIDENCE_MEDIUM);
}

static struct suspect one_step(enum finding_kind kind, int64_t gain_ns, double chance, double ahead)
{
    return (struct suspect){.kind = kind,
                            .first_step = 4,
                            .last_step = 4,
                            .counted_steps = 1,
                            .gain_ns = gain_ns,
                            .chance = chance,
                            .ahead = ahead};
}

/* One step alone: 25 times any other, or ten times and unlikely; worth 6 % of a step, of a network half a
 * step. */
static void one_alone(void **state)
{
    assert_int_equal(judged(one_step(FINDING_COMPUTE, 60, 0.5, 25), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_COMPUTE, 59, 0.5, 25), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_COMPUTE, 60, 0.01, 24), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_COMPUTE, 60, 0.011, 24), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_COMPUTE, 60, 0.01, 9.9), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 500, 0.5, 25), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 499, 0.5, 25), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 500, 0.0001, 250), 0), CONFIDENCE_HIGH);
}

/* Late for a quarter of a step and five times as late as any other, where the recorder sees it all. */
static void late_alone(void **state)
{
    assert_int_equal(judged(one_step(FINDING_HOST, 250, 0.5, 5), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_HOST, 250, 1.5, 5), 0), CONFIDENCE_MEDIUM);
    assert_int_equal(judged(one_step(FINDING_HOST, 249, 0.5, 5), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_HOST, 250, 0.5, 4.9), 0), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_HOST, 250, 0.5, 5), 1), CONFIDENCE_LOW);
    assert_int_equal(judged(one_step(FINDING_NETWORK, 900, 0.5, 5), 0), CONFIDENCE_LOW);
}

/* A step or two of a slow network: five times as slow as usual, or operations of twice the length. */
static void slow_for_a_moment(void **state)
{
    const struct suspect one = one_step(FINDING_NETWORK, 900, 0.0001, 250);
    const struct suspect two = two_steps(FINDING_NETWORK, 30);
    assert_int_equal(judged_by(one, 0, &(struct slow){4.9, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(one, 0, &(struct slow){5, 1.9}), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(one, 0, &(struct slow){4.9, 2}), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(two, 0, &(struct slow){4.9, 1.9}), CONFIDENCE_LOW);
    assert_int_equal(judged_by(two, 0, &(struct slow){5, 1.9}), CONFIDENCE_MEDIUM);
}

static struct suspect three_steps(int64_t gain_ns, double ahead)
{
    return (struct suspect){.kind = FINDING_NETWORK,
                            .first_step = 4,
                            .last_step = 6,
                            .counted_steps = 3,
                            .gain_ns = gain_ns,
                            .chance = 0.001,
                            .ahead = ahead};
}

/*
 * For three steps and more: as slow as that, or a quarter of a step, or far ahead of others; or a tenth of a
 * step and two and a half times as slow.
 */
static void slow_for_long(void **state)
{
    const struct slow some = {2.5, 1.5}, less = {2.4, 1.5}, much = {5, 1.5};
    assert_int_equal(judged_by(three_steps(300, 1), 0, &some), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(300, 1), 0, &less), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(297, 1), 0, &some), CONFIDENCE_LOW);
    assert_int_equal(judged_by(three_steps(297, 1), 0, &much), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(297, 5), 0, &less), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(750, 1), 0, &less), CONFIDENCE_HIGH);
    assert_int_equal(judged_by(three_steps(747, 1), 0, &less), CONFIDENCE_LOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(always),     cmocka_unit_test(two_in_a_row),      cmocka_unit_test(one_alone),
        cmocka_unit_test(late_alone), cmocka_unit_test(slow_for_a_moment), cmocka_unit_test(slow_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
