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
    assert_int_equal(allowed_confidence(&less), CONFIDENCE_LOW);
}

/* In steps 5 to 7 of ten the sends of rank 0 take 300 longer, and rank 1 takes data 700 later. */
static void rise_of_services(void **state)
{
    enum { RANKS = 2, STEPS = 10 };
    struct job_service services[RANKS * STEPS] = {{0}};
    const struct job job = {.rank_count = RANKS, .step_count = STEPS, .services = services};
    const struct baseline baseline = {.first_step = 1};
    struct finding finding = {.kind = FINDING_NETWORK, .first_step = 5, .last_step = 7};
    int64_t list[STEPS];
    (void)state;
    for (int step = 0; step < STEPS; step++) {
        int is_slow = step >= 5 && step <= 7;
        /* Warm-up does not count. */
        services[step].send_ns = step == 0 ? 900000 : 1000 + (is_slow ? 300 : 0);
        services[STEPS + step].drain_ns = step == 0 ? 900000 : 2000 + (is_slow ? 700 : 0);
    }
    assert_int_equal(service_rise(&finding, &job, &baseline, 0, SERVICE_SEND, list), 300);
    assert_int_equal(service_rise(&finding, &job, &baseline, 0, SERVICE_DRAIN, list), 0);
    assert_int_equal(service_rise(&finding, &job, &baseline, 1, SERVICE_DRAIN, list), 700);
    /* There are no other steps. */
    finding.first_step = 0;
    finding.last_step = STEPS - 1;
    assert_int_equal(service_rise(&finding, &job, &baseline, 1, SERVICE_DRAIN, list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_of_notices),
        cmocka_unit_test(rise_of_services),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
