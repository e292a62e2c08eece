#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"

/* Suspicions that the trace cannot distinguish from another cause. */

/*
 * Rank 0's network in step 1 is suspected because of sends in calls of several, by 300 of 500; or by less
 * than half.
 */
static void slow_sends_in_calls_of_several(void **state)
{
    struct small small;
    struct suspect suspect = {.kind = FINDING_NETWORK, .first_step = 1, .last_step = 1, .total_ns = 500};
    small_init(&small);
    small.job.finished_only = 1;
    small_group(&small, FUNCTION_SEND, ENDS_BY_HOST);
    for (int i = 2; i < 4; i++) {
        small.transfers[i].culprit = 0;
        small.transfers[i].slow_ns = i == 2 ? 300 : 200;
    }
    small.instances[3].function = FUNCTION_ALL_REDUCE;
    assert_speaks(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small.transfers[3].slow_ns = 300;
    assert_quiet(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    /* For which another rank may be blamed. */
    small.transfers[3].culprit = 1;
    assert_speaks(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small.transfers[3].culprit = 0;
    small.transfers[3].slow_ns = 200;
    small.job.finished_only = 0;
    assert_not_asked(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small.job.finished_only = 1;
    /* It was called alone. */
    at(&small, 0, 1, 1)->group++;
    assert_quiet(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slow_sends_in_calls_of_several)

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
