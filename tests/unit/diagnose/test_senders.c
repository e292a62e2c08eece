#include "diagnose/score.h"

#include "support/cmocka_all.h"
#include "support/sent.h"

#include <math.h>

static void a_row_of_steps(void **state)
{
    struct sent sent;
    struct senders senders;
    (void)state;
    sent_init(&sent, 4, 1, 1, SENT_FIRST, SENT_LAST);
    assert_int_equal(senders_init(&senders, &sent.job, 1, &sent.edges), 0);
    assert_int_equal(senders.best[1].first, SENT_FIRST);
    assert_int_equal(senders.best[1].last, SENT_LAST);
    assert_true(senders_certainty(&senders, 0, &senders.best[1]) > 3);
    assert_true(senders_certainty(&senders, 0, &senders.best[0]) < 0);
    senders_release(&senders);
}

static void all_steps_against_the_others(void **state)
{
    struct sent sent;
    struct senders senders;
    struct step_set all = {.first = 1, .last = SENT_STEPS - 1, .period = 1}, other = all;
    (void)state;
    sent_init(&sent, 4, 1, 1, 0, SENT_STEPS - 1);
    assert_int_equal(senders_init(&senders, &sent.job, 1, &sent.edges), 0);
    assert_true(fabs(senders.usual[1] - log(10)) < 0.2);
    assert_int_equal(senders_score(&senders, 1, 1, &all), 0);
    assert_int_equal(senders_score(&senders, 2, 1, &other), 0);
    assert_true(senders_certainty(&senders, 1, &all) > 3);
    assert_true(senders_certainty(&senders, 1, &other) < 3);
    senders_release(&senders);
}

/* The median of two others is one of them. */
static void too_few_to_compare(void **state)
{
    struct sent sent;
    struct senders senders;
    (void)state;
    sent_init(&sent, 3, 1, 1, SENT_FIRST, SENT_LAST);
    assert_int_equal(senders_init(&senders, &sent.job, 1, &sent.edges), 0);
    assert_int_equal(senders.count, 0);
    assert_true(isnan(senders.usual[1]));
    senders_release(&senders);
}

/* Slowness before the first step was the warm-up. */
static void warm_up_tells_nothing(void **state)
{
    struct sent sent;
    struct senders senders;
    (void)state;
    sent_init(&sent, 4, 1, 1, 0, 2);
    assert_int_equal(senders_init(&senders, &sent.job, 3, &sent.edges), 0);
    assert_true(isnan(senders.ratio[1 * SENT_STEPS + 2]));
    assert_false(isnan(senders.ratio[1 * SENT_STEPS + 3]));
    assert_true(senders_certainty(&senders, 0, &senders.best[1]) < 0);
    senders_release(&senders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_steps), cmocka_unit_test(all_steps_against_the_others),
        cmocka_unit_test(too_few_to_compare), cmocka_unit_test(warm_up_tells_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
