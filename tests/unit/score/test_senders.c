#include "score/senders.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

/* Four or five senders of one kind of operation, an edge in each of so many steps. */
enum { MOST = 5, STEPS = 16, FIRST = 6, LAST = 10 };

static void measure(struct senders *senders, size_t ranks, int32_t first, int32_t last)
{
    struct job_instance instances[MOST * STEPS] = {{0}};
    struct job_operation operations[MOST * STEPS] = {{0}};
    int32_t members[MOST * STEPS];
    struct edge items[MOST * STEPS];
    struct job_communicator communicator = {.size = 2};
    size_t count = ranks * STEPS;
    for (size_t i = 0; i < count; i++) {
        int32_t rank = (int32_t)(i % ranks), step = (int32_t)(i / ranks);
        int is_slow = rank == 1 && step >= first && step <= last;
        members[i] = (int32_t)i;
        operations[i].bytes = 1024;
        instances[i] = (struct job_instance){.first_member = (uint32_t)i, .step = step};
        /* Noise of a tenth, another in each cell. */
        items[i] = (struct edge){.instance = (int32_t)i,
                                 .sender = rank,
                                 .step = step,
                                 .steps = 2,
                                 .wait_ns = (is_slow ? 20000 : 2000) + (int64_t)((i * 37) % 11) * 20};
    }
    struct job job = {.rank_count = ranks,
                      .operations = operations,
                      .instances = instances,
                      .instance_members = members,
                      .communicators = &communicator,
                      .step_count = STEPS};
    struct baseline baseline = {.step_count = STEPS};
    struct edges edges = {.items = items, .count = count};
    assert_int_equal(senders_init(senders, &job, &baseline, &edges), 0);
}

static void a_row_of_steps(void **state)
{
    struct senders senders;
    struct step_set best;
    (void)state;
    measure(&senders, 4, FIRST, LAST);
    assert_int_equal(senders_scan(&senders, 1, &best), 0);
    assert_int_equal(best.first, FIRST);
    assert_int_equal(best.last, LAST);
    assert_true(senders_certainty(&senders, 0, &best) > 3);
    assert_int_equal(senders_scan(&senders, 0, &best), 0);
    assert_true(senders_certainty(&senders, 0, &best) < 0);
    senders_release(&senders);
}

static void all_steps_against_the_others(void **state)
{
    struct senders senders;
    struct step_set all = {.first = 1, .last = STEPS - 1, .period = 1}, other = all;
    (void)state;
    measure(&senders, 4, 0, STEPS - 1);
    assert_true(fabs(senders.usual[1] - log(10)) < 0.2);
    assert_int_equal(senders_score(&senders, 1, 1, &all), 0);
    assert_int_equal(senders_score(&senders, 2, 1, &other), 0);
    assert_true(senders_certainty(&senders, 1, &all) > 3);
    assert_true(senders_certainty(&senders, 1, &other) < 3);
    senders_release(&senders);
}

/* The middle one of two others is one of them. */
static void too_few_to_compare(void **state)
{
    struct senders senders;
    (void)state;
    measure(&senders, 3, FIRST, LAST);
    assert_int_equal(senders.count, 0);
    assert_true(isnan(senders.usual[1]));
    senders_release(&senders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_of_steps),
                                       cmocka_unit_test(all_steps_against_the_others),
                                       cmocka_unit_test(too_few_to_compare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
