#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"

/* What is hidden if a recorder lists finished operations only. */

static struct rule_results last_read;

/*
 * Rank 1 is late by 1000 after operations of one function and before those of another, and the others waited
 * for it by the given time.
 */
static int is_doubted_between(uint8_t function, uint8_t next, int64_t waited_ns)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = 1;
    for (int step = 1; step <= 2; step++) {
        at(&small, 1, step, 0)->function = function;
        excess_at(&small, 1, step, 1)->excess_ns = 500;
        at(&small, 1, step, 1)->function = next;
    }
    struct suspect suspect = {.kind = FINDING_COMPUTE,
                              .rank = 1,
                              .first_step = 1,
                              .last_step = 2,
                              .total_ns = 1000,
                              .margin_ns = waited_ns};
    struct suspects suspects = {.items = &suspect, .count = 1};
    suspects_check_unrecorded(&suspects, &small.job, &small.baseline);
    small_release(&small);
    last_read = suspect.rule_results;
    return is_doubted_at_all(&suspect);
}

static int is_doubted_after(uint8_t function, int64_t waited_ns)
{
    return is_doubted_between(function, FUNCTION_ALL_REDUCE, waited_ns);
}

/* The root of a broadcast finishes before the others, and is then idle. */
static void who_ended_first(void **state)
{
    assert_limit(LIMIT_WAITED, 0.05);
    assert_true(is_doubted_after(FUNCTION_BROADCAST, 49));
    assert_speaks(&last_read, RULE_BEHIND_ROOT);
    assert_true(is_doubted_after(FUNCTION_REDUCE, 0));
    assert_false(is_doubted_after(FUNCTION_BROADCAST, 50));
    assert_not_asked(&last_read, RULE_BEHIND_ROOT);
    assert_false(is_doubted_after(FUNCTION_ALL_GATHER, 0));
    assert_quiet(&last_read, RULE_BEHIND_ROOT);
    assert_false(is_doubted_after(FUNCTION_RECV, 0));
    /* The durations of another broadcast do not show which ranks waited. */
    assert_false(is_doubted_between(FUNCTION_BROADCAST, FUNCTION_BROADCAST, 0));
}

static int may_be_unrecorded(struct small *small, struct suspect *suspect)
{
    struct suspects all = {.items = suspect, .count = 1};
    suspects_check_unrecorded(&all, &small->job, &small->baseline);
    last_read = suspect->rule_results;
    return is_doubted_at_all(suspect);
}

/* Rank 1 is late by 600 after the first AllReduce of step 1, which it left at 1000, and rank 2 at 1310. */
static void leaf_init(struct small *small)
{
    small_init(small);
    small->job.finished_only = 1;
    for (int rank = 0; rank < RANKS; rank++) {
        small->ranks[rank].clock = rank;
        small->ranks[rank].clock_method = CLOCK_CONSTRAINTS;
        small->ranks[rank].clock_scale = 1;
        at(small, rank, 1, 0)->end_ns = 1000;
    }
    small->ranks[1].clock_uncertainty_ns = 4;
    small->ranks[2].clock_uncertainty_ns = 6;
    at(small, 2, 1, 0)->end_ns = 1310;
    excess_at(small, 1, 1, 1)->excess_ns = 600;
}

/* 310 later, minus error bounds of 4 and 6: half of 600. */
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
    /* On one clock there is no doubt. */
    small.ranks[1].clock = 2;
    assert_true(may_be_unrecorded(&small, &suspect));
    small.ranks[1].clock = 1;
    small.ranks[2].clock_uncertainty_ns = 6;
    /* No clock shows it; no tree does that; the recorder records trees. */
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

/* As late before an operation without a tree before it: half of its delay is certainly its own. */
static void lateness_of_which_half_is_a_leafs(void **state)
{
    struct small small;
    leaf_init(&small);
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 1199};
    excess_at(&small, 1, 2, 1)->excess_ns = 599;
    assert_true(may_be_unrecorded(&small, &suspect));
    assert_speaks(&last_read, RULE_LEAF_OF_TREE);
    excess_at(&small, 1, 2, 1)->excess_ns = 600;
    suspect.total_ns = 1200;
    assert_false(may_be_unrecorded(&small, &suspect));
    assert_quiet(&last_read, RULE_LEAF_OF_TREE);
    small_release(&small);
}

/*
 * Rank 1 is late by 600 in all steps, after the AllReduce that all left at 1000. Only the clocks can show
 * that it is not a leaf in every step.
 */
static struct suspect steady_init(struct small *small)
{
    leaf_init(small);
    at(small, 2, 1, 0)->end_ns = 1000;
    return (struct suspect){.kind = FINDING_COMPUTE,
                            .rank = 1,
                            .first_step = small->baseline.first_step,
                            .last_step = small->baseline.step_count - 1,
                            .total_ns = 600};
}

static void steady_lateness_that_clocks_tell_from_a_leaf(void **state)
{
    struct small small;
    struct suspect suspect = steady_init(&small);
    assert_false(may_be_unrecorded(&small, &suspect));
    assert_quiet(&last_read, RULE_LEAF_OF_TREE);
    /* 290 later, and the clocks may be off by 10. */
    at(&small, 2, 1, 0)->end_ns = 1290;
    assert_true(may_be_unrecorded(&small, &suspect));
    assert_speaks(&last_read, RULE_LEAF_OF_TREE);
    at(&small, 2, 1, 0)->end_ns = 1289;
    assert_false(may_be_unrecorded(&small, &suspect));
    /* Of two that share its clock, one left when it did: whoever is beyond a leaf's host does not matter. */
    at(&small, 2, 1, 0)->end_ns = 1500;
    small.ranks[0].clock = 1;
    assert_false(may_be_unrecorded(&small, &suspect));
    at(&small, 0, 1, 0)->end_ns = 1300;
    assert_true(may_be_unrecorded(&small, &suspect));
    small_release(&small);
}

/* No clock shows anything. In some steps, its other steps are evidence; no other operation is a tree. */
static void steady_lateness_that_no_clock_tells_from_a_leaf(void **state)
{
    struct small small;
    struct suspect suspect = steady_init(&small);
    for (int rank = 0; rank < RANKS; rank++)
        small.ranks[rank].clock_method = CLOCK_NONE;
    assert_true(may_be_unrecorded(&small, &suspect));
    suspect.first_step++;
    excess_at(&small, 1, 2, 1)->excess_ns = 600;
    assert_false(may_be_unrecorded(&small, &suspect));
    suspect.first_step--;
    excess_at(&small, 1, 2, 1)->excess_ns = 0;
    at(&small, 1, 1, 0)->function = FUNCTION_ALL_GATHER;
    assert_false(may_be_unrecorded(&small, &suspect));
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ended_first),
        cmocka_unit_test(lateness_after_the_leaf_of_a_tree),
        cmocka_unit_test(lateness_of_which_half_is_a_leafs),
        cmocka_unit_test(steady_lateness_that_clocks_tell_from_a_leaf),
        cmocka_unit_test(steady_lateness_that_no_clock_tells_from_a_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
