#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/suspect.h"
#include "job/job.h"
#include "support/cmocka_all.h"

/* A transfer in its steps for which the rank is blamed, and nothing else. */
static void what_a_suspicion_has(void **state)
{
    const struct suspect slow = {.kind = FINDING_NETWORK, .rank = 1, .first_step = 3, .last_step = 5};
    for (int32_t step = 2; step <= 6; step++) {
        const struct job_instance instance = {.step = step};
        const struct transfer_excess transfer = {.culprit = 1, .slow_ns = 1};
        assert_int_equal(suspect_has_instance(&slow, &instance, &transfer), step >= 3 && step <= 5);
    }
    const struct job_instance instance = {.step = 4};
    assert_false(suspect_has_instance(&slow, &instance, &(struct transfer_excess){.culprit = 1}));
    assert_false(
        suspect_has_instance(&slow, &instance, &(struct transfer_excess){.culprit = 2, .slow_ns = 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_suspicion_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
