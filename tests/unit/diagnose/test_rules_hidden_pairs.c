#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"
#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"

/* What is hidden if a recorder omits sends and receives. */

/* Rank 0's network, its own delay, and rank 2, which may have received from it: returns the chance. */
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
    /* No rank received. */
    other.hides_pairs = 0;
    other.rank = 2;
    assert_true(joined_chance(network, held, other) == 0.1);
    receiver.first_step = receiver.last_step = 7;
    assert_true(joined_chance(network, held, receiver) == 0.1);
    receiver.first_step = receiver.last_step = 5;
    receiver.rank = 1;
    assert_true(joined_chance(network, held, receiver) == 0.1);
    receiver.rank = 2;
    /* Late in an operation that is no send, or in other steps. */
    other.rank = 0;
    assert_true(joined_chance(network, other, receiver) == 0.1);
    other.hides_pairs = 1;
    other.first_step = 1;
    other.last_step = 4;
    assert_true(joined_chance(network, other, receiver) == 0.1);
    assert_limit(LIMIT_STEPS_TOLD, 3);
    /* Two steps. */
    few.counted_steps = 2;
    assert_true(joined_chance(few, held, receiver) == 0.1);
}

static struct rule_results last_read;

static int may_exchange(struct small *small, struct suspect *suspect)
{
    struct suspects all = {.items = suspect, .count = 1};
    assert_int_equal(suspects_check_exchanges(&all, &small->job, &small->baseline), 0);
    last_read = suspect->rule_results;
    return is_doubted_at_all(suspect);
}

/*
 * Pairs are not recorded and all ranks join in all operations: of ranks that are late at the same time, by at
 * least half as much, none is blamed.
 */
static void exchanges_that_nobody_recorded(void **state)
{
    struct small small;
    small_init(&small);
    struct suspect suspect = {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 3};
    small.job.blind_to_pairs = 1;
    for (int step = 1; step <= 3; step++)
        excess_at(&small, 1, step, step % 2)->excess_ns = 600;
    assert_false(may_exchange(&small, &suspect));
    excess_at(&small, 2, 1, 0)->excess_ns = excess_at(&small, 2, 2, 0)->excess_ns = 300;
    assert_true(may_exchange(&small, &suspect));
    assert_speaks(&last_read, RULE_EXCHANGE);
    /* In one of three steps two faults may coincide. */
    excess_at(&small, 2, 2, 0)->excess_ns = 299;
    assert_false(may_exchange(&small, &suspect));
    assert_quiet(&last_read, RULE_EXCHANGE);
    excess_at(&small, 0, 2, 1)->excess_ns = 300;
    assert_true(may_exchange(&small, &suspect));
    small.job.blind_to_pairs = 0;
    assert_false(may_exchange(&small, &suspect));
    small_release(&small);
}

/*
 * Ranks 0 and 1 have common operations, and so do 1 and a rank without a trace: there are no stages if that
 * is rank 2.
 */
static void exchanges_by_way_of_a_silent_rank(void **state)
{
    struct small small;
    small_init(&small);
    struct communicator_set_member first[2] = {{0, 0}, {1, 1}}, second[1] = {{0, 1}};
    struct job_communicator communicators[3] = {
        small.world,
        {.size = 2, .member_list = first, .member_list_count = 2, .silent = -1},
        {.size = 2, .member_list = second, .member_list_count = 1, .silent = 2}};
    struct suspect suspect = {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1};
    small.job.communicators = communicators;
    small.job.communicator_count = 3;
    small.job.blind_to_pairs = 1;
    excess_at(&small, 1, 1, 0)->excess_ns = excess_at(&small, 2, 1, 0)->excess_ns = 600;
    assert_int_equal(job_find_stages(&small.job), 0);
    assert_true(may_exchange(&small, &suspect));
    communicators[2].silent = -1;
    assert_int_equal(job_find_stages(&small.job), 0);
    assert_false(may_exchange(&small, &suspect));
    small_release(&small);
}

/* A receive may be hidden in own time whose baseline is several times that of the others of its kind. */
static void where_a_pair_may_hide(void **state)
{
    assert_limit(LIMIT_HIDDEN_PAIR, 3);
    struct small small;
    small_init(&small);
    struct job_operation *operation = at(&small, 1, 2, 1);
    at(&small, 1, 2, 0)->own_ns = 100;
    operation->own_ns = 1000;
    excess_with(&small, operation)->beyond_ns = 700; /* baseline 300 */
    assert_false(may_hide_pair(&small.job, &small.baseline, operation));
    excess_with(&small, operation)->beyond_ns = 699;
    assert_true(may_hide_pair(&small.job, &small.baseline, operation));
    excess_at(&small, 1, 2, 0)->beyond_ns = -10; /* baseline 110 */
    assert_false(may_hide_pair(&small.job, &small.baseline, operation));
    /* There is no other one to compare with. */
    at(&small, 1, 2, 0)->function = FUNCTION_ALL_GATHER;
    assert_true(may_hide_pair(&small.job, &small.baseline, operation));
    at(&small, 1, 2, 0)->function = FUNCTION_ALL_REDUCE;
    at(&small, 1, 2, 0)->own_ns = TIME_UNKNOWN;
    assert_true(may_hide_pair(&small.job, &small.baseline, operation));
    small_release(&small);
}

/*
 * The record between two steps was lost, and they look like one: the same place of the other step, or none,
 * does not count as another one.
 */
static void where_a_pair_may_hide_in_two_steps(void **state)
{
    for (int position = -1; position <= 1; position++) {
        struct small small;
        small_init(&small);
        struct job_operation *operation = at(&small, 1, 2, 1);
        at(&small, 1, 2, 0)->own_ns = 100;
        small.positions[at(&small, 1, 2, 0) - small.operations] = position;
        operation->own_ns = 200;
        assert_int_equal(may_hide_pair(&small.job, &small.baseline, operation), position != 0);
        small_release(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_that_a_slow_network_held),
        cmocka_unit_test(exchanges_that_nobody_recorded),
        cmocka_unit_test(exchanges_by_way_of_a_silent_rank),
        cmocka_unit_test(where_a_pair_may_hide),
        cmocka_unit_test(where_a_pair_may_hide_in_two_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
