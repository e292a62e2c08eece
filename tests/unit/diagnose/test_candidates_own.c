#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"
#include "support/written.h"

#include <math.h>
#include <stdlib.h>

/* Ranks with an own delay. */

static struct suspect suspicion_of(struct small *small)
{
    return small_suspicion(small, 1);
}

/* Half of 3 % of a step in each of two steps is a suspicion, less is none. */
static void the_least_that_counts(void **state)
{
    for (int64_t excess_ns = 149; excess_ns <= 150; excess_ns++) {
        struct small small;
        small_init(&small);
        excess_at(&small, 1, 2, 0)->excess_ns = excess_at(&small, 1, 3, 0)->excess_ns = excess_ns;
        small_suspicion(&small, excess_ns == 150);
    }
}

/*
 * Rank 1 is late by `first_ns` before the first operation of step `step`, and by 1000 before the second.
 * Stages that wait for it begin late as well, and the previous step is longer for them; the warm-up is not
 * compared.
 */
static int shows_earlier_where(int32_t step, int64_t first_ns, int in_stages)
{
    struct small small;
    small_init(&small);
    if (in_stages)
        small_in_stages(&small);
    excess_at(&small, 1, step, 0)->excess_ns = first_ns;
    excess_at(&small, 1, step, 1)->excess_ns = 1000;
    return suspicion_of(&small).shows_earlier;
}

static void steps_that_begin_late(void **state)
{
    assert_true(shows_earlier_where(2, 1001, 1));
    assert_false(shows_earlier_where(2, 1000, 1));
    assert_false(shows_earlier_where(2, 1001, 0));
    assert_false(shows_earlier_where(1, 1001, 1));
}

/*
 * What lies between steps is of none: rank 1 is late by 1000 in each; what it is late by beside that, by its
 * host and after a send that may not have been over, says nothing; nor do others there.
 */
static void lateness_between_steps(void **state)
{
    struct small small;
    small_init(&small);
    small.job.blind_to_pairs = 1;
    for (int step = 1; step <= 3; step++)
        excess_at(&small, 1, step, 0)->excess_ns = 1000;
    at(&small, 1, 2, 0)->function = FUNCTION_SEND;
    at(&small, 1, 2, 0)->ends = ENDS_BY_HOST;
    struct job_operation *between = at(&small, 1, 2, 1);
    between->step = -1;
    excess_with(&small, between)->excess_ns = excess_with(&small, between)->beyond_ns =
        excess_with(&small, between)->late_beyond_ns = 9000;
    between = at(&small, 2, 2, 1);
    between->step = -1;
    excess_with(&small, between)->excess_ns = excess_with(&small, between)->beyond_ns = 5000;
    between = at(&small, 2, 3, 1);
    between->step = -1;
    hidden_at(&small, 2, 3, 1)->hidden_ns = 1500;
    struct suspect suspect = suspicion_of(&small);
    assert_int_equal(suspect.rank, 1);
    assert_int_equal(suspect.total_ns, 3000);
    assert_int_equal(suspect.kind, FINDING_COMPUTE);
    assert_false(is_doubted_at_all(&suspect));
}

/*
 * Late by 1000 of its own before the first operation of steps 1 to 3. The ranks that wait for it in the
 * second operation, on another communicator, wait for 1500 of unknown origin: 1000 of it are already known.
 * On the same communicator they had a common operation since, and it is 1500 more.
 */
static int64_t late_where(int32_t communicator, int64_t hidden_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 0; step < STEPS; step++)
        at(&small, 1, step, 1)->communicator = communicator;
    for (int step = 1; step <= 3; step++) {
        excess_at(&small, 1, step, 0)->excess_ns = 1000;
        hidden_at(&small, 1, step, 1)->hidden_ns = hidden_ns;
        at(&small, 1, step, 1)->own_ns = TIME_UNKNOWN;
    }
    return suspicion_of(&small).total_ns / 3;
}

static void hidden_lateness_counts_once(void **state)
{
    assert_int_equal(late_where(1, 1500), 1500);
    assert_int_equal(late_where(0, 1500), 2500);
    assert_int_equal(late_where(1, 600), 1000);
    assert_int_equal(late_where(1, 4000), 4000);
    /* More than four times the known part is not this rank's. */
    assert_int_equal(late_where(1, 4001), 1000);
}

/*
 * Late by 700, 500 and 400 before the first operations of steps 1 to 3. The rank that waits for it in the
 * last one, which alone is on another communicator, waits for 1500. Of that, 500 and 400 are known: the
 * previous step counts; earlier delays have been waited for long before.
 */
static void hidden_lateness_is_of_two_steps(void **state)
{
    struct small small;
    small_init(&small);
    excess_at(&small, 1, 1, 0)->excess_ns = 700;
    excess_at(&small, 1, 2, 0)->excess_ns = 500;
    excess_at(&small, 1, 3, 0)->excess_ns = 400;
    at(&small, 1, 3, 1)->communicator = 1;
    hidden_at(&small, 1, 3, 1)->hidden_ns = 1500;
    at(&small, 1, 3, 1)->own_ns = TIME_UNKNOWN;
    assert_int_equal(suspicion_of(&small).total_ns, 700 + 500 + 400 + 1500 - 900);
}

/* Rank 1 is late by 1000 in step 2, where it stays for 100; the other two for the given time. */
static int64_t margin_where(uint8_t function, int64_t first_ns, int64_t second_ns)
{
    struct small small;
    small_init(&small);
    excess_at(&small, 1, 2, 0)->excess_ns = 1000;
    for (int rank = 0; rank < RANKS; rank++)
        at(&small, rank, 2, 0)->function = function;
    at(&small, 0, 2, 0)->end_ns = first_ns;
    at(&small, 1, 2, 0)->end_ns = 100;
    at(&small, 2, 2, 0)->end_ns = second_ns;
    return suspicion_of(&small).margin_ns;
}

/* The start of another one is unknown. */
static int64_t margin_beside_unknown(void)
{
    struct small small;
    small_init(&small);
    excess_at(&small, 1, 2, 0)->excess_ns = 1000;
    for (int rank = 0; rank < RANKS; rank++)
        at(&small, rank, 2, 0)->end_ns = rank == 1 ? 100 : 600;
    at(&small, 2, 2, 0)->start_ns = TIME_UNKNOWN;
    return suspicion_of(&small).margin_ns;
}

/* The records of the other members are lost. */
static int64_t margin_without_others(void)
{
    struct small small;
    small_init(&small);
    struct job_operation *late = at(&small, 1, 2, 0);
    excess_with(&small, late)->excess_ns = 1000;
    late->end_ns = 100;
    struct job_instance *instance = &small.instances[late->instance];
    instance->first_member += 1;
    instance->members = 1;
    return suspicion_of(&small).margin_ns;
}

/*
 * What partners lost at once: the time between the arrivals of the last and the last but one, at most its
 * delay.
 */
static void how_much_later_than_the_last_but_one(void **state)
{
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 600, 1100), 500);
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 1600, 1500), 1000);
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 90, 1500), 0);
    /* If that cannot be determined, all of it; in a Broadcast no rank has to wait. */
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, TIME_UNKNOWN, 500), 1000);
    assert_int_equal(margin_beside_unknown(), 1000);
    assert_int_equal(margin_without_others(), 0);
    assert_int_equal(margin_where(FUNCTION_SEND, 600, 1100), 1000);
    assert_int_equal(margin_where(FUNCTION_BROADCAST, 600, 1100), 0);
}

/*
 * Rank 1 is late by 1000 before the second operation of steps 2 and 3, rank 2 by 3000 before the first of
 * step 3, where a receive may be hidden: returns how likely noise explains the first.
 */
static double chance_beside_a_receive(int blind)
{
    struct small small;
    small_init(&small);
    small_in_stages(&small);
    small.job.blind_to_pairs = blind;
    for (int step = 0; step < STEPS; step++)
        for (int rank = 0; rank < RANKS; rank++) {
            at(&small, rank, step, 0)->own_ns = 4000;
            at(&small, rank, step, 1)->own_ns = 1000;
        }
    for (int step = 2; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 1);
        late->own_ns = 2000;
        excess_with(&small, late)->beyond_ns = excess_with(&small, late)->excess_ns = 1000;
    }
    struct job_operation *waits = at(&small, 2, 3, 0);
    waits->own_ns = 7000;
    excess_with(&small, waits)->beyond_ns = excess_with(&small, waits)->excess_ns = 3000;
    return small_suspicion(&small, 2).chance;
}

static void receives_are_no_example_of_lateness(void **state)
{
    /* Of the nine cells, one that stands alone is as strong, or none is. */
    assert_true(fabs(chance_beside_a_receive(0) - 9 * (2. / 9) * (2. / 9)) < 1e-12);
    assert_true(fabs(chance_beside_a_receive(1) - 9 * (1. / 9) * (1. / 9)) < 1e-12);
}

/*
 * Rank 1 is late by 1000 in steps 1 and 3, before the operation with that number in both. In step 2 its own
 * time before the first operation is known, or not: the operation may have been lost, or the one before it.
 * Returns the last step of the suspicion.
 */
static int32_t last_step_late(int before, int after, int is_lost, int is_known)
{
    struct small small;
    struct suspects suspects = {0};
    struct error error = ERROR_INIT;
    int32_t of_rank[RANKS] = {0}, in_role[RANKS] = {0, 1, 2}, cells[2 * RANKS * STEPS],
            *cells_of_role = cells;
    struct role role = {.rank_count = RANKS, .length = 2};
    struct baseline baseline = {.first_step = 1,
                                .step_count = STEPS,
                                .median_step_ns = 10000,
                                .role_of_rank = of_rank,
                                .rank_in_role = in_role,
                                .roles = &role,
                                .role_count = 1,
                                .cells = &cells_of_role,
                                .positions = small.positions,
                                .excess = *written_excess(small.excess),
                                .hidden = small.hidden};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    small_init(&small);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int number = 0; number < 2; number++)
                cells[(number * RANKS + rank) * STEPS + step] = rank * EACH + 2 * step + number;
    excess_at(&small, 1, 1, before)->excess_ns = excess_at(&small, 1, 3, after)->excess_ns = 1000;
    /* A smaller delay proves nothing. */
    excess_at(&small, 1, 1, !before)->excess_ns = excess_at(&small, 1, 3, !after)->excess_ns = 900;
    if (!is_known)
        excess_at(&small, 1, 2, 0)->beyond_ns = TIME_UNKNOWN;
    if (is_lost)
        cells[1 * STEPS + 2] = -1;
    assert_int_equal(suspect_own(&suspects, &small.job, &baseline, &options, &error), 0);
    int32_t last = suspects.items[0].last_step;
    free(suspects.items);
    small_release(&small);
    return last;
}

/* If it was latest in the previous step or in the next one. */
static void late_before_and_after_what_is_not_known(void **state)
{
    assert_int_equal(last_step_late(0, 0, 0, 1), 1);
    assert_int_equal(last_step_late(0, 0, 0, 0), 3);
    assert_int_equal(last_step_late(0, 0, 1, 1), 3);
    assert_int_equal(last_step_late(0, 1, 0, 0), 3);
    assert_int_equal(last_step_late(1, 0, 0, 0), 3);
    assert_int_equal(last_step_late(1, 1, 0, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_that_counts),
        cmocka_unit_test(steps_that_begin_late),
        cmocka_unit_test(lateness_between_steps),
        cmocka_unit_test(hidden_lateness_counts_once),
        cmocka_unit_test(hidden_lateness_is_of_two_steps),
        cmocka_unit_test(how_much_later_than_the_last_but_one),
        cmocka_unit_test(receives_are_no_example_of_lateness),
        cmocka_unit_test(late_before_and_after_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
