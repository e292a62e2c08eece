#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "support/cmocka_all.h"
#include "support/spoken.h"

#include <math.h>
#include <string.h>

static struct rule_results of(enum finding_kind kind, enum rule_id rule, double reading)
{
    struct rule_results rule_results = {0};
    rule_results_add(&rule_results, kind, rule, reading);
    return rule_results;
}

static void limit_of_notices(void **state)
{
    struct rule_results less = of(FINDING_HOST, RULE_NOTICES, 0.029),
                        late = of(FINDING_HOST, RULE_NOTICES, 0.03);
    assert_speaks(&less, RULE_NOTICES);
    assert_quiet(&late, RULE_NOTICES);
    assert_int_equal(rule_results_confidence(&less), CONFIDENCE_LOW);
}

/* Rank 0 sends to rank 1 in ten steps. From step 5 to step 7 something is slow. */
enum { RANKS = 2, STEPS = 10, FIRST = 5, LAST = 7 };

struct drained {
    struct job job;
    struct baseline baseline;
    struct job_service services[RANKS * STEPS];
    struct finding finding;
    int32_t peer;
};

static double part_of(int64_t send_ns, int64_t drain_ns, int64_t slow_ns, int receives)
{
    struct drained drained = {.job = {.rank_count = RANKS, .step_count = STEPS},
                              .baseline = {.first_step = 1}};
    drained.job.services = drained.services;
    drained.peer = !receives;
    drained.finding = (struct finding){.kind = FINDING_NETWORK,
                                       .rank = receives,
                                       .receives = receives,
                                       .first_step = FIRST,
                                       .last_step = LAST,
                                       .slow_ns = slow_ns,
                                       .peers = &drained.peer,
                                       .peer_count = 1};
    for (int step = 0; step < STEPS; step++) {
        int is_slow = step >= FIRST && step <= LAST;
        /* Warm-up does not count. */
        drained.services[step].send_ns = step == 0 ? 900000 : 1000 + (is_slow ? send_ns : 0);
        drained.services[STEPS + step].drain_ns = step == 0 ? 900000 : 2000 + (is_slow ? drain_ns : 0);
    }
    double part;
    assert_int_equal(finding_measure_drain(&drained.finding, &drained.job, &drained.baseline, &part), 0);
    return part;
}

static void sends_or_the_receivers_gpu(void **state)
{
    for (int receives = 0; receives <= 1; receives++) {
        assert_true(part_of(100, 1000, 3000, receives) == 0.1);
        assert_true(part_of(3000, 1000, 3000, receives) == 3);
        assert_true(part_of(600, 1000, 6000, receives) == 0.3);
        /* Sends that became faster took no longer. */
        assert_true(part_of(-500, 1000, 3000, receives) == 0);
        /* The GPU explains less than half of it. */
        assert_true(isnan(part_of(100, 1000, 6100, receives)));
        assert_true(isnan(part_of(100, 0, 0, receives)));
    }
}

/* Nothing is recorded, or there are no other steps. */
static void services_that_are_unknown(void **state)
{
    struct drained drained = {.job = {.rank_count = RANKS, .step_count = STEPS}};
    double part = 0;
    drained.finding = (struct finding){.kind = FINDING_NETWORK, .last_step = STEPS - 1, .slow_ns = 1};
    assert_int_equal(finding_measure_drain(&drained.finding, &drained.job, &drained.baseline, &part), 0);
    assert_true(isnan(part));
    drained.job.services = drained.services;
    for (int step = 0; step < STEPS; step++)
        drained.services[step].drain_ns = 1000;
    drained.finding.receives = 1;
    assert_int_equal(finding_measure_drain(&drained.finding, &drained.job, &drained.baseline, &part), 0);
    assert_true(isnan(part));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_notices),
        cmocka_unit_test(sends_or_the_receivers_gpu),
        cmocka_unit_test(services_that_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
