#include "diagnose/score.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"

/* The findings for jobs with known faults: rank, steps, cost. */

static void explain(const struct slow_ranks *slow, struct slow_job *played, struct explanations *found,
                    size_t count)
{
    slow_job_init(played, slow);
    slow_job_explain(played, found);
    assert_int_equal(found->count, count);
}

static void release(struct slow_job *played, struct explanations *found)
{
    explanations_release(found);
    slow_job_release(played);
}

static void assert_set(const struct explanation *found, int first, int last, int period)
{
    assert_int_equal(found->steps.first, first);
    assert_int_equal(found->steps.last, last);
    assert_int_equal(found->steps.period, period);
}

static void assert_gains(const struct explanation *found, int64_t least_ns, int64_t most_ns)
{
    assert_in_range(found->gain_ns, least_ns, most_ns);
}

static void nothing_on_noise(void **state)
{
    static const struct slow_ranks none;
    struct slow_job played;
    struct explanations found;
    explain(&none, &played, &found, 0);
    release(&played, &found);
}

/* 1000 in each of five steps, minus the 40 that may be noise. */
static void an_interval(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 3, 1, 10, 14, 1, 1000);
    explain(&slow, &played, &found, 1);
    assert_true(explanation_has_rank(&found.items[0], 3) && !explanation_has_rank(&found.items[0], 2));
    assert_set(&found.items[0], 10, 14, 1);
    assert_int_equal(explanation_count(&found.items[0]), 5);
    assert_gains(&found.items[0], 5 * 950, 5 * 1050);
    assert_false(explanation_is_hosts(&found.items[0]));
    release(&played, &found);
}

static void what_recurs_is_one(void **state)
{
    struct slow_ranks slow = {.is_hosts = 1};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 0, 1, 3, 23, 5, 2000);
    explain(&slow, &played, &found, 1);
    assert_true(explanation_has_rank(&found.items[0], 0));
    assert_set(&found.items[0], 3, 23, 5);
    assert_gains(&found.items[0], 5 * 1900, 5 * 2100);
    assert_true(explanation_is_hosts(&found.items[0]));
    release(&played, &found);
}

/* Compared with peers, because it has no other steps; at all of its places, by one factor. */
static void through_all_steps(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 5, 1, 0, STEPS - 1, 1, FIRST_NS / 5);
    for (int step = 0; step < STEPS; step++)
        slow.second_ns[5][step] = SECOND_NS / 5;
    explain(&slow, &played, &found, 1);
    assert_true(explanation_has_rank(&found.items[0], 5));
    assert_true(found.items[0].is_steady);
    assert_true(found.items[0].slower_part == 1);
    assert_gains(&found.items[0], (STEPS - 1) * 1500, (STEPS - 1) * 1650);
    release(&played, &found);
}

/*
 * Half of the others compute less, by amounts that differ: the spread of own times hides the slow rank, but
 * all others wait for it in each step, 1500 and not more than the noise less.
 */
static void last_in_all_steps(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 5, 1, 0, STEPS - 1, 1, 1500);
    for (int rank = 0; rank < 4; rank++)
        slow_ranks_add(&slow, rank, 1, 0, STEPS - 1, 1, -600 * (rank + 1));
    explain(&slow, &played, &found, 1);
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 1);
    assert_true(explanation_has_rank(&found.items[0], 5));
    assert_true(found.items[0].is_steady && found.items[0].is_last);
    assert_gains(&found.items[0], (STEPS - 1) * 1450, (STEPS - 1) * 1500);
    release(&played, &found);
}

/* As long as the rank before, but another rank in each step. */
static void last_by_turns(void **state)
{
    static const int late[] = {3, 7, 0, 5, 1, 6, 2, 4, 7, 3, 6, 0, 2, 5, 4, 1, 0, 7, 1, 3, 5, 2, 6, 4};
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    for (int step = 0; step < STEPS; step++)
        slow_ranks_add(&slow, late[step], 1, step, step, 1, 1500);
    slow_job_init(&played, &slow);
    slow_job_explain(&played, &found);
    for (size_t i = 0; i < found.count; i++)
        assert_false(found.items[i].is_steady);
    release(&played, &found);
}

/*
 * At one place only, it may be by design: a quarter of the own time is that of the second place, if it is
 * slow, too. That the rank is the last of its role there is no design.
 */
static void heavier_at_one_place(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    for (int step = 0; step < STEPS; step++)
        slow.second_ns[5][step] = 1600;
    slow_job_init(&played, &slow);
    slow_job_explain(&played, &found);
    assert_int_equal(found.count, 1);
    assert_gains(&found.items[0], (STEPS - 1) * 1550, (STEPS - 1) * 1650);
    for (size_t i = 0; i < found.count; i++) {
        assert_true(explanation_has_rank(&found.items[i], 5));
        assert_true(found.items[i].slower_part > 0.2 && found.items[i].slower_part < 0.3);
        assert_true(found.items[i].is_last);
    }
    release(&played, &found);
}

/* None of four gains by itself while the other three are slow. */
static void a_block_of_ranks(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 4, 4, 9, 13, 1, 1500);
    explain(&slow, &played, &found, 1);
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 4);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(explanation_has_rank(&found.items[0], rank), rank >= 4);
    assert_set(&found.items[0], 9, 13, 1);
    assert_gains(&found.items[0], 5 * 1400, 5 * 1550);
    release(&played, &found);
}

/* One slow rank of four is no block. */
static void one_of_a_block(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 4, 1, 9, 13, 1, 1500);
    slow_ranks_add(&slow, 5, 1, 9, 13, 1, 40);
    explain(&slow, &played, &found, 1);
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 1);
    assert_true(explanation_has_rank(&found.items[0], 4));
    release(&played, &found);
}

/* Nor is it a block if each of its ranks has its own role, and so has no peer in it. */
static void one_of_a_block_of_roles(void **state)
{
    struct slow_ranks slow = {.in_two_roles = 1};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 4, 1, 9, 13, 1, 1500);
    explain(&slow, &played, &found, 1);
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 1);
    assert_true(explanation_has_rank(&found.items[0], 4));
    assert_set(&found.items[0], 9, 13, 1);
    release(&played, &found);
}

/* A data loader: late in every step, each time by another time; its cost is the sum of these. */
static void a_host_that_is_always_late(void **state)
{
    struct slow_ranks slow = {.is_hosts = 1};
    struct slow_job played;
    struct explanations found;
    int64_t sum_ns = 0;
    for (int step = 0; step < STEPS; step++) {
        slow.first_ns[6][step] = 300 + step * step % 11 * 400;
        sum_ns += step ? slow.first_ns[6][step] : 0;
    }
    explain(&slow, &played, &found, 1);
    assert_true(explanation_has_rank(&found.items[0], 6));
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 1);
    assert_int_equal(found.items[0].measure, MEASURE_ALWAYS_LATE);
    assert_true(explanation_is_hosts(&found.items[0]));
    assert_gains(&found.items[0], sum_ns * 9 / 10, sum_ns * 11 / 10);
    release(&played, &found);
}

/* Whether hosts are late does not depend on the number of roles of their ranks. */
static void a_block_of_roles(void **state)
{
    for (int is_hosts = 0; is_hosts <= 1; is_hosts++) {
        struct slow_ranks slow = {.is_hosts = is_hosts, .in_two_roles = 1};
        struct slow_job played;
        struct explanations found;
        slow_ranks_add(&slow, 4, 2, 9, 13, 1, 1500);
        explain(&slow, &played, &found, 1);
        assert_int_equal(played.baseline.role_count, 2);
        assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 2);
        assert_true(explanation_has_rank(&found.items[0], 4) && explanation_has_rank(&found.items[0], 5));
        assert_int_equal(explanation_is_hosts(&found.items[0]), is_hosts);
        release(&played, &found);
    }
}

/*
 * All ranks of a role are on one host, as those of a stage: they have no peers, but become slower at once
 * while the other role does not.
 */
static void a_host_that_is_a_stage(void **state)
{
    struct slow_ranks slow = {.in_two_stages = 1};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, RANKS / 2, RANKS / 2, 9, 16, 1, 1500);
    explain(&slow, &played, &found, 1);
    assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), RANKS / 2);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(explanation_has_rank(&found.items[0], rank), rank >= RANKS / 2);
    assert_set(&found.items[0], 9, 16, 1);
    assert_true(found.items[0].has_no_peers);
    assert_gains(&found.items[0], 8 * 1400, 8 * 1550);
    release(&played, &found);
}

/* The only rank of a role is compared with its past, too, as long as the others compute no longer. */
static void a_rank_without_peers(void **state)
{
    for (int others = 0; others < 2; others++) {
        struct slow_ranks slow = {.has_one_alone = 1};
        struct slow_job played;
        struct explanations found;
        slow_ranks_add(&slow, others ? 0 : RANKS - 1, others ? RANKS : 1, 9, 16, 1, 1500);
        explain(&slow, &played, &found, !others);
        if (!others) {
            assert_true(explanation_has_rank(&found.items[0], RANKS - 1) && found.items[0].has_no_peers);
            assert_int_equal(unit_size(found.items[0].partition, found.items[0].unit), 1);
            assert_set(&found.items[0], 9, 16, 1);
            assert_gains(&found.items[0], 8 * 1400, 8 * 1550);
        }
        release(&played, &found);
    }
}

/* Hosts that are late in turn, each by less than the one before: none stands out. GPUs do. */
static void hosts_late_in_turn(void **state)
{
    for (int is_hosts = 0; is_hosts < 2; is_hosts++) {
        struct slow_ranks slow = {.is_hosts = is_hosts};
        struct slow_job played;
        struct explanations found;
        for (int rank = 0; rank < RANKS - 1; rank++)
            slow_ranks_add(&slow, rank, 1, 2 + 3 * rank, 4 + 3 * rank, 1, 900 - 50 * rank);
        slow_job_init(&played, &slow);
        slow_job_explain(&played, &found);
        assert_true(is_hosts ? found.count == 0 : found.count > 0);
        release(&played, &found);
    }
}

/*
 * A rank takes as much longer in all steps, in some of them by its GPU and in the others by its host: only
 * the part that is the GPU's tells them apart.
 */
static void a_gpu_among_late_hosts(void **state)
{
    struct slow_ranks slow = {.is_hosts = 1};
    struct slow_job played;
    struct explanations found;
    size_t of_gpu = 0;
    int64_t gain_ns = 0;
    slow_ranks_add(&slow, 3, 1, 0, 7, 1, 1200);
    slow_ranks_add(&slow, 3, 1, 18, STEPS - 1, 1, 1200);
    for (int step = 8; step <= 17; step++)
        slow.gpu_ns[3][step] = 1200;
    slow_job_init(&played, &slow);
    slow_job_explain(&played, &found);
    while (of_gpu < found.count && explanation_is_hosts(&found.items[of_gpu]))
        of_gpu++;
    assert_in_range(of_gpu, 0, found.count - 1);
    assert_true(explanation_has_rank(&found.items[of_gpu], 3));
    assert_set(&found.items[of_gpu], 8, 17, 1);
    for (size_t i = 0; i < found.count; i++)
        gain_ns += found.items[i].gain_ns;
    assert_in_range(gain_ns, (STEPS - 1) * 1150, (STEPS - 1) * 1250);
    release(&played, &found);
}

/* Its past is too short to tell whether it was slow before. */
static void a_stage_without_a_past(void **state)
{
    struct slow_ranks slow = {.in_two_stages = 1};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, RANKS / 2, RANKS / 2, 3, 12, 1, 1500);
    explain(&slow, &played, &found, 0);
    release(&played, &found);
}

/* Both roles become slower: the work has grown. */
static void stages_with_more_work(void **state)
{
    struct slow_ranks slow = {.in_two_stages = 1};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 0, RANKS, 9, 16, 1, 1500);
    explain(&slow, &played, &found, 0);
    release(&played, &found);
}

/* What the first explains is no noise, and does not hide a second one. */
static void two_faults(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 1, 1, 5, 9, 1, 3000);
    slow_ranks_add(&slow, 6, 1, 14, 17, 1, 800);
    explain(&slow, &played, &found, 2);
    size_t first = !explanation_has_rank(&found.items[0], 1);
    assert_true(explanation_has_rank(&found.items[first], 1));
    assert_set(&found.items[first], 5, 9, 1);
    assert_true(explanation_has_rank(&found.items[!first], 6));
    assert_set(&found.items[!first], 14, 17, 1);
    release(&played, &found);
}

/* A certain hypothesis with a gain below the minimum, 2 % of a step, is not believed. */
static void what_costs_little(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 3, 1, 10, 14, 1, 200);
    explain(&slow, &played, &found, 0);
    release(&played, &found);
}

/* A slow moment of all ranks is attributed to none. */
static void all_at_once(void **state)
{
    struct slow_ranks slow = {.is_hosts = 0};
    struct slow_job played;
    struct explanations found;
    slow_ranks_add(&slow, 0, RANKS, 10, 14, 1, 3000);
    explain(&slow, &played, &found, 0);
    release(&played, &found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_on_noise),
                                       cmocka_unit_test(an_interval),
                                       cmocka_unit_test(what_recurs_is_one),
                                       cmocka_unit_test(through_all_steps),
                                       cmocka_unit_test(heavier_at_one_place),
                                       cmocka_unit_test(a_block_of_ranks),
                                       cmocka_unit_test(one_of_a_block_of_roles),
                                       cmocka_unit_test(a_block_of_roles),
                                       cmocka_unit_test(a_host_that_is_always_late),
                                       cmocka_unit_test(one_of_a_block),
                                       cmocka_unit_test(two_faults),
                                       cmocka_unit_test(what_costs_little),
                                       cmocka_unit_test(all_at_once),
                                       cmocka_unit_test(last_in_all_steps),
                                       cmocka_unit_test(last_by_turns),
                                       cmocka_unit_test(a_host_that_is_a_stage),
                                       cmocka_unit_test(a_rank_without_peers),
                                       cmocka_unit_test(hosts_late_in_turn),
                                       cmocka_unit_test(a_gpu_among_late_hosts),
                                       cmocka_unit_test(stages_with_more_work),
                                       cmocka_unit_test(a_stage_without_a_past)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
