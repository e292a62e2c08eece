#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/job.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <string.h>

/*
 * The details of a finding on rank 1, steps 1 to 3; the first AllReduce of a step is in one phase, the second
 * in another.
 */
static void play(struct small *small)
{
    small_init(small);
    assert_int_equal(intern_put(&small->job.tags, "first", 5), 0);
    assert_int_equal(intern_put(&small->job.tags, "second", 6), 1);
    for (int i = 0; i < OPERATIONS; i++) {
        small->operations[i].tag = i % 2;
        small->operations[i].start_ns = 5000 + 10000 * small->operations[i].step + 1000 * (i % 2);
        small->instances[i % EACH].tag = i % 2;
    }
    for (int rank = 0; rank < RANKS; rank++)
        small->ranks[rank].clock_scale = 1;
    for (int rank = 0; rank < RANKS; rank++)
        small->ranks[rank].clock_method = CLOCK_SHARED;
}

static struct finding *detailed(struct small *small, struct findings *findings, struct finding like)
{
    struct finding *finding = findings_add(findings);
    assert_non_null(finding);
    finding->kind = like.kind;
    finding->rank = 1;
    finding->first_step = like.first_step;
    finding->last_step = like.last_step;
    finding->period = like.period;
    finding->certainty = like.certainty;
    assert_int_equal(findings_detail(findings, &small->job, &small->baseline, small->transfers), 0);
    return finding;
}

static void check_phase(const struct finding *finding, size_t number, int32_t tag, int64_t excess_ns)
{
    assert_true(number < finding->phase_count);
    assert_int_equal(finding->phases[number].tag, tag);
    assert_int_equal(finding->phases[number].excess_ns, excess_ns);
}

static void check_waiting(const struct finding *finding)
{
    assert_int_equal(finding->waiting_count, 2);
    assert_int_equal(finding->waiting[0], 0);
    assert_int_equal(finding->waiting[1], 2);
}

static void release(struct small *small, struct findings *findings)
{
    findings_release(findings);
    intern_release(&small->job.tags);
    small_release(small);
}

static void own_time_by_phase(void **state)
{
    struct small small;
    struct findings findings = {0};
    play(&small);
    excess_at(&small, 1, 0, 1)->excess_ns = 70; /* not of its steps, nor of another rank */
    excess_at(&small, 2, 2, 1)->excess_ns = 70;
    excess_at(&small, 1, 2, 1)->excess_ns = 300;
    excess_at(&small, 1, 3, 1)->excess_ns = 400;
    excess_at(&small, 1, 3, 0)->excess_ns = 50;
    struct finding *finding =
        detailed(&small, &findings, (struct finding){.kind = FINDING_HOST, .first_step = 1, .last_step = 3});
    assert_int_equal(finding->phase_count, 2);
    check_phase(finding, 0, 1, 700);
    check_phase(finding, 1, 0, 50);
    assert_int_equal(finding_excess_ns(finding), 750);
    check_waiting(finding);
    /* First in the second AllReduce of step 2, which began 21 us after the job's first operation. */
    assert_int_equal(finding->operation, at(&small, 1, 2, 1) - small.operations);
    assert_int_equal(finding->since_ns, 21000);
    release(&small, &findings);
}

static void steps_of_a_period_alone(void **state)
{
    struct small small;
    struct findings findings = {0};
    play(&small);
    for (int step = 1; step < STEPS; step++)
        excess_at(&small, 1, step, 0)->excess_ns = 100;
    struct finding *finding =
        detailed(&small, &findings,
                 (struct finding){.kind = FINDING_COMPUTE, .first_step = 1, .last_step = 3, .period = 2});
    assert_int_equal(finding->phase_count, 1);
    check_phase(finding, 0, 0, 200);
    release(&small, &findings);
}

/* What the score found stands out from its peers, whether or not it does from its own other steps. */
static void own_time_beyond_peers(void **state)
{
    struct small small;
    struct findings findings = {0};
    int32_t cells[2 * RANKS * STEPS], *of_role = cells, ranks[RANKS] = {0, 1, 2}, roles[RANKS] = {0};
    struct role role = {.ranks = ranks, .rank_count = RANKS, .length = 2};
    play(&small);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int position = 0; position < 2; position++)
                cells[(position * RANKS + rank) * STEPS + step] =
                    (int32_t)(at(&small, rank, step, position) - small.operations);
    small.baseline.roles = &role;
    small.baseline.role_count = 1;
    small.baseline.rank_count = RANKS;
    small.baseline.role_of_rank = roles;
    small.baseline.rank_in_role = ranks;
    small.baseline.cells = &of_role;
    for (int step = 0; step < STEPS; step++) {
        at(&small, 1, step, 0)->own_ns = 1200; /* the others': 1000 */
        at(&small, 1, step, 1)->own_ns = 900;
    }
    struct finding *finding =
        detailed(&small, &findings,
                 (struct finding){.kind = FINDING_COMPUTE, .first_step = 1, .last_step = 3, .certainty = 9});
    assert_int_equal(finding->phase_count, 1);
    check_phase(finding, 0, 0, 3 * 200);
    assert_int_equal(finding->operation, at(&small, 1, 1, 0) - small.operations);
    release(&small, &findings);
}

static void slow_transfers_by_phase(void **state)
{
    struct small small;
    struct findings findings = {0};
    play(&small);
    small.transfers[2 * 1] = (struct transfer_excess){.culprit = 1, .slow_ns = 30};
    small.transfers[2 * 2] = (struct transfer_excess){.culprit = 1, .slow_ns = 40};
    small.transfers[2 * 2 + 1] = (struct transfer_excess){.culprit = 2, .slow_ns = 90};
    struct finding *finding = detailed(
        &small, &findings, (struct finding){.kind = FINDING_NETWORK, .first_step = 1, .last_step = 2});
    assert_int_equal(finding->phase_count, 1);
    check_phase(finding, 0, 0, 70);
    check_waiting(finding);
    assert_int_equal(finding->instance, 2);
    release(&small, &findings);
}

/* In a hang, the rank that the finding names waits; it shows in the record of one of the waiting ranks. */
static void who_waits_for_good(void **state)
{
    struct small small;
    struct findings findings = {0};
    play(&small);
    struct finding *finding = findings_add_at(&findings, &small.job, FINDING_MISSING, 1, &small.instances[5]);
    assert_non_null(finding);
    assert_int_equal(finding_add_peer(finding, 2), 0);
    small.instances[5].members = 1; /* rank 0 alone started it */
    assert_int_equal(findings_detail(&findings, &small.job, &small.baseline, small.transfers), 0);
    assert_int_equal(finding->waiting_count, 1);
    assert_int_equal(finding->waiting[0], 2);
    assert_int_equal(finding->operation, at(&small, 0, 2, 1) - small.operations);
    assert_int_equal(finding->phase_count, 0);
    release(&small, &findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_time_by_phase),     cmocka_unit_test(steps_of_a_period_alone),
        cmocka_unit_test(own_time_beyond_peers), cmocka_unit_test(slow_transfers_by_phase),
        cmocka_unit_test(who_waits_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
