#include "diagnose/rules_finished_only.h"
#include "diagnose/rules_hidden_pairs.h"
#include "job/membership.h"
#include "job/stages.h"

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

static int may_exchange(struct small *small, struct suspect *suspect)
{
    struct suspects all = {.items = suspect, .count = 1};
    suspect->ambiguous = 0;
    assert_int_equal(suspects_doubt_exchanges(&all, &small->job), 0);
    return suspect->ambiguous;
}

/* Pairs are not recorded and all meet in all: of ranks late at once, by half as much, none is to blame. */
static void exchanges_that_nobody_recorded(void **state)
{
    struct small small;
    small_init(&small);
    struct suspect suspect = {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 3};
    small.job.blind_to_pairs = 1;
    for (int step = 1; step <= 3; step++)
        at(&small, 1, step, step % 2)->excess_ns = 600;
    assert_false(may_exchange(&small, &suspect));
    at(&small, 2, 1, 0)->excess_ns = at(&small, 2, 2, 0)->excess_ns = 300;
    assert_true(may_exchange(&small, &suspect));
    /* In one of three steps two faults may well meet. */
    at(&small, 2, 2, 0)->excess_ns = 299;
    assert_false(may_exchange(&small, &suspect));
    at(&small, 0, 2, 1)->excess_ns = 300;
    assert_true(may_exchange(&small, &suspect));
    small.job.blind_to_pairs = 0;
    assert_false(may_exchange(&small, &suspect));
    small_release(&small);
}

/* Ranks 0 and 1 meet, and 1 and one that left no trace: not in stages, if that is rank 2. */
static void exchanges_by_way_of_a_silent_rank(void **state)
{
    struct small small;
    small_init(&small);
    struct job_seat first[2] = {{0, 0}, {1, 1}}, second[1] = {{0, 1}};
    struct job_communicator communicators[3] = {small.world,
                                                {.size = 2, .seats = first, .seat_count = 2, .silent = -1},
                                                {.size = 2, .seats = second, .seat_count = 1, .silent = 2}};
    struct suspect suspect = {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1};
    small.job.communicators = communicators;
    small.job.communicator_count = 3;
    small.job.blind_to_pairs = 1;
    at(&small, 1, 1, 0)->excess_ns = at(&small, 2, 1, 0)->excess_ns = 600;
    assert_int_equal(job_find_stages(&small.job), 0);
    assert_true(may_exchange(&small, &suspect));
    communicators[2].silent = -1;
    assert_int_equal(job_find_stages(&small.job), 0);
    assert_false(may_exchange(&small, &suspect));
    small_release(&small);
}

/* A receive may sit in own time that is usually several times what it is before the others of its kind. */
static void where_a_pair_may_hide(void **state)
{
    struct small small;
    small_init(&small);
    struct job_operation *operation = at(&small, 1, 2, 1);
    at(&small, 1, 2, 0)->own_ns = 100;
    operation->own_ns = 1000;
    operation->beyond_ns = 700; /* usually 300 */
    assert_false(may_hide_pair(&small.job, operation));
    operation->beyond_ns = 699;
    assert_true(may_hide_pair(&small.job, operation));
    at(&small, 1, 2, 0)->beyond_ns = -10; /* usually 110 */
    assert_false(may_hide_pair(&small.job, operation));
    /* There is no other to compare it with. */
    at(&small, 1, 2, 0)->function = FUNCTION_ALL_GATHER;
    assert_true(may_hide_pair(&small.job, operation));
    at(&small, 1, 2, 0)->function = FUNCTION_ALL_REDUCE;
    at(&small, 1, 2, 0)->own_ns = TIME_UNKNOWN;
    assert_true(may_hide_pair(&small.job, operation));
    small_release(&small);
}

/* The record between two steps was lost, and they are one: the same place of the other, or none, is no other.
 */
static void where_a_pair_may_hide_in_two_steps(void **state)
{
    for (int position = -1; position <= 1; position++) {
        struct small small;
        small_init(&small);
        struct job_operation *operation = at(&small, 1, 2, 1);
        at(&small, 1, 2, 0)->own_ns = 100;
        at(&small, 1, 2, 0)->position = position;
        operation->own_ns = 200;
        assert_int_equal(may_hide_pair(&small.job, operation), position != 0);
        small_release(&small);
    }
}

static int may_be_unrecorded(struct small *small, struct suspect *suspect)
{
    struct suspects all = {.items = suspect, .count = 1};
    suspect->ambiguous = 0;
    assert_int_equal(suspects_doubt_unrecorded(&all, &small->job), 0);
    return suspect->ambiguous;
}

/* Rank 1 is late by 100 in each of steps 1 to 3. An operation that was slow in step 1 counts for 1 and for 2.
 */
static void lateness_behind_what_nobody_explains(void **state)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = 1;
    struct suspect suspect = {
        .kind = FINDING_HOST, .rank = 1, .first_step = 1, .last_step = 3, .total_ns = 300};
    assert_false(may_be_unrecorded(&small, &suspect));
    small.instances[2].slow_ns = 200;
    assert_true(may_be_unrecorded(&small, &suspect));
    small.instances[2].slow_ns = 199;
    assert_false(may_be_unrecorded(&small, &suspect));
    /* In step 3 it counts for that alone: one of three. */
    small.instances[2].slow_ns = 0;
    small.instances[6].slow_ns = 200;
    assert_false(may_be_unrecorded(&small, &suspect));
    small.instances[1].slow_ns = 200;
    assert_true(may_be_unrecorded(&small, &suspect));
    /* Somebody is to blame for it; the network is suspected; the recorder tells algorithms. */
    small.instances[1].culprit = 0;
    assert_false(may_be_unrecorded(&small, &suspect));
    small.instances[1].culprit = -1;
    suspect.kind = FINDING_NETWORK;
    assert_false(may_be_unrecorded(&small, &suspect));
    suspect.kind = FINDING_HOST;
    small.job.finished_only = 0;
    assert_false(may_be_unrecorded(&small, &suspect));
    small_release(&small);
}

/* Rank 1 is late by 600 after the first AllReduce of step 1, which it left at 1000, and rank 2 at 1310. */
static void leaf_init(struct small *small)
{
    small_init(small);
    small->job.finished_only = 1;
    for (int rank = 0; rank < RANKS; rank++) {
        small->ranks[rank].clock = rank;
        small->ranks[rank].clock_method = CLOCK_MEETINGS;
        small->ranks[rank].clock_scale = 1;
        at(small, rank, 1, 0)->end_ns = 1000;
    }
    small->ranks[1].clock_uncertainty_ns = 4;
    small->ranks[2].clock_uncertainty_ns = 6;
    at(small, 2, 1, 0)->end_ns = 1310;
    at(small, 1, 1, 1)->excess_ns = 600;
}

/* 310 later, less 4 and 6 that the clocks may be off: half of 600. */
static void lateness_after_the_leaf_of_a_tree(void **state)
{
    struct small small;
    leaf_init(&small);
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 600};
    assert_true(may_be_unrecorded(&small, &suspect));
    small.ranks[1].clock_uncertainty_ns = 5;
    assert_false(may_be_unrecorded(&small, &suspect));
    small.ranks[1].clock_uncertainty_ns = 4;
    small.ranks[2].clock_uncertainty_ns = 7;
    assert_false(may_be_unrecorded(&small, &suspect));
    /* Of one clock nothing is in doubt. */
    small.ranks[1].clock = 2;
    assert_true(may_be_unrecorded(&small, &suspect));
    small.ranks[1].clock = 1;
    small.ranks[2].clock_uncertainty_ns = 6;
    /* No clock says; no tree does that; the recorder tells trees. */
    small.ranks[2].clock_method = CLOCK_NONE;
    assert_false(may_be_unrecorded(&small, &suspect));
    small.ranks[2].clock_method = CLOCK_SHARED;
    at(&small, 1, 1, 0)->function = FUNCTION_ALL_GATHER;
    assert_false(may_be_unrecorded(&small, &suspect));
    at(&small, 1, 1, 0)->function = FUNCTION_ALL_REDUCE;
    small.job.finished_only = 0;
    assert_false(may_be_unrecorded(&small, &suspect));
    small_release(&small);
}

/* As late before an operation that has no tree before it: half of its lateness is its own for sure. */
static void lateness_of_which_half_is_a_leafs(void **state)
{
    struct small small;
    leaf_init(&small);
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 1199};
    at(&small, 1, 2, 1)->excess_ns = 599;
    assert_true(may_be_unrecorded(&small, &suspect));
    at(&small, 1, 2, 1)->excess_ns = 600;
    suspect.total_ns = 1200;
    assert_false(may_be_unrecorded(&small, &suspect));
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_that_a_slow_network_held),
        cmocka_unit_test(who_ended_first),
        cmocka_unit_test(a_twin_that_may_wait),
        cmocka_unit_test(twins_of_which_none_may_wait),
        cmocka_unit_test(exchanges_that_nobody_recorded),
        cmocka_unit_test(exchanges_by_way_of_a_silent_rank),
        cmocka_unit_test(where_a_pair_may_hide),
        cmocka_unit_test(where_a_pair_may_hide_in_two_steps),
        cmocka_unit_test(lateness_behind_what_nobody_explains),
        cmocka_unit_test(lateness_after_the_leaf_of_a_tree),
        cmocka_unit_test(lateness_of_which_half_is_a_leafs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
