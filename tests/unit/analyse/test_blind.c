#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <math.h>
#include <stdlib.h>

/* What a recorder hides. */

/* Rank 0's network, what it was late by itself, and rank 2 that may have received from it: its chance then.
 */
static double joined_chance(struct suspect network, struct suspect held, struct suspect receiver)
{
    struct suspect items[3] = {network, held, receiver};
    struct suspects suspects = {.items = items, .count = 3};
    struct small small;
    small_init(&small);
    small_in_stages(&small);
    assert_int_equal(suspects_join_hidden_sends(&suspects, &small.job), 0);
    small_release(&small);
    assert_true(items[1].chance == held.chance && items[2].chance == receiver.chance);
    assert_true((items[0].ahead == network.ahead) == (items[0].chance == network.chance));
    return items[0].chance;
}

static void sends_that_a_slow_network_held(void **state)
{
    const struct suspect network = {.kind = FINDING_NETWORK,
                                    .rank = 0,
                                    .first_step = 4,
                                    .last_step = 6,
                                    .counted_steps = 3,
                                    .chance = 0.1,
                                    .ahead = 0.5};
    const struct suspect held = {.kind = FINDING_COMPUTE,
                                 .rank = 0,
                                 .first_step = 3,
                                 .last_step = 5,
                                 .hides_pairs = 1,
                                 .chance = 0.01,
                                 .ahead = 9};
    struct suspect receiver = held, other = held, few = network;
    receiver.rank = 2;
    receiver.first_step = receiver.last_step = 5;
    assert_true(joined_chance(network, held, receiver) == 0.01);
    /* Nobody who received. */
    other.hides_pairs = 0;
    other.rank = 2;
    assert_true(joined_chance(network, held, other) == 0.1);
    receiver.first_step = receiver.last_step = 7;
    assert_true(joined_chance(network, held, receiver) == 0.1);
    receiver.first_step = receiver.last_step = 5;
    receiver.rank = 1;
    assert_true(joined_chance(network, held, receiver) == 0.1);
    receiver.rank = 2;
    /* Late by what is no send, or in other steps. */
    other.rank = 0;
    assert_true(joined_chance(network, other, receiver) == 0.1);
    other.hides_pairs = 1;
    other.first_step = 1;
    other.last_step = 4;
    assert_true(joined_chance(network, other, receiver) == 0.1);
    /* Two steps. */
    few.counted_steps = 2;
    assert_true(joined_chance(few, held, receiver) == 0.1);
}

/*
 * Rank 1 is late by 1000 after operations of one function and before those of another, and the others waited
 * so long for it.
 */
static int is_doubted_between(uint8_t function, uint8_t next, int64_t waited_ns)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = 1;
    for (int step = 1; step <= 2; step++) {
        at(&small, 1, step, 0)->function = function;
        at(&small, 1, step, 1)->excess_ns = 500;
        at(&small, 1, step, 1)->function = next;
    }
    struct suspect suspect = {.kind = FINDING_COMPUTE,
                              .rank = 1,
                              .first_step = 1,
                              .last_step = 2,
                              .total_ns = 1000,
                              .margin_ns = waited_ns};
    struct suspects suspects = {.items = &suspect, .count = 1};
    assert_int_equal(suspects_doubt_unrecorded(&suspects, &small.job), 0);
    small_release(&small);
    return suspect.ambiguous;
}

static int is_doubted_after(uint8_t function, int64_t waited_ns)
{
    return is_doubted_between(function, FUNCTION_ALL_REDUCE, waited_ns);
}

/* The root of a broadcast is done before the others are, and then idle. */
static void who_ended_first(void **state)
{
    assert_true(is_doubted_after(FUNCTION_BROADCAST, 49));
    assert_true(is_doubted_after(FUNCTION_REDUCE, 0));
    assert_false(is_doubted_after(FUNCTION_BROADCAST, 50));
    assert_false(is_doubted_after(FUNCTION_ALL_GATHER, 0));
    assert_false(is_doubted_after(FUNCTION_RECV, 0));
    /* Who waited in another broadcast its durations do not say. */
    assert_false(is_doubted_between(FUNCTION_BROADCAST, FUNCTION_BROADCAST, 0));
}

/*
 * Late by the same in the same steps, where sends and receives are not recorded: one may wait for the other.
 * Which one, if only one of them can be in a receive.
 */
static void a_twin_that_may_wait(void **state)
{
    struct small small;
    small_init(&small);
    struct suspect suspects[2] = {
        {.kind = FINDING_HOST, .rank = 0, .first_step = 1, .last_step = 2, .total_ns = 1000},
        {.kind = FINDING_COMPUTE, .rank = 2, .first_step = 1, .last_step = 2, .total_ns = 900}};
    small.job.blind_to_pairs = 1;
    assert_true(small_doubted(&small, suspects, 2));
    /* One after the other, with a step in common: two of a kind. */
    suspects[1].first_step = 2;
    suspects[1].last_step = 3;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].first_step = 1;
    suspects[1].last_step = 2;
    suspects[1].hides_pairs = 1;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[0].hides_pairs = 1;
    assert_true(small_doubted(&small, suspects, 2));
    small_release(&small);
}

/* Ranks 0 and 1 are a stage, rank 2 another: there it is known which lateness may be a receive. */
static void twins_of_which_none_may_wait(void **state)
{
    struct small small;
    small_init(&small);
    small_in_stages(&small);
    struct suspect suspects[2] = {
        {.kind = FINDING_HOST, .rank = 0, .first_step = 1, .last_step = 2, .total_ns = 1000},
        {.kind = FINDING_COMPUTE, .rank = 2, .first_step = 1, .last_step = 2, .total_ns = 900}};
    assert_false(small_doubted(&small, suspects, 2));
    suspects[0].hides_pairs = 1;
    assert_true(small_doubted(&small, suspects, 2));
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_that_a_slow_network_held),
        cmocka_unit_test(who_ended_first),
        cmocka_unit_test(a_twin_that_may_wait),
        cmocka_unit_test(twins_of_which_none_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
