#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <math.h>
#include <stdlib.h>

/* Ranks that came late by themselves, and how much of that is sure to be theirs. */

static void suspicions_of(struct small *small, struct suspects *suspects)
{
    struct error error = ERROR_INIT;
    const struct baseline baseline = {.first_step = 1, .step_count = STEPS, .median_step_ns = 10000};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    assert_int_equal(suspect_own(suspects, &small->job, &baseline, &options, &error), 0);
}

/* Of `count` that there are the first; releases the job. */
static struct suspect first_suspicion_of(struct small *small, size_t count)
{
    struct suspects suspects = {0};
    suspicions_of(small, &suspects);
    assert_int_equal(suspects.count, count);
    struct suspect suspect = suspects.items[0];
    free(suspects.items);
    small_release(small);
    return suspect;
}

static struct suspect suspicion_of(struct small *small)
{
    return first_suspicion_of(small, 1);
}

/*
 * Rank 1 is late by 1000 before the first operation of steps 1 to 3, by its host or not, and by `hidden_ns`
 * before the second, whose own time nobody knows and which had been enqueued long before: that does not say
 * whose it is.
 */
static enum finding_kind kind_where(int by_host, int64_t hidden_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 1; step <= 3; step++) {
        struct job_operation *known = at(&small, 1, step, 0), *hidden = at(&small, 1, step, 1);
        known->excess_ns = 1000;
        known->late_beyond_ns = by_host ? 900 : 0;
        hidden->excess_ns = hidden_ns;
        hidden->own_ns = TIME_UNKNOWN;
        hidden->start_ns = 50000;
        hidden->enqueued_ns = 0;
    }
    return suspicion_of(&small).kind;
}

static void known_own_time_says_whose_it_is(void **state)
{
    assert_int_equal(kind_where(1, 1500), FINDING_HOST);
    assert_int_equal(kind_where(0, 1500), FINDING_COMPUTE);
    /* As long as it is a quarter of all. */
    assert_int_equal(kind_where(1, 3000), FINDING_HOST);
    assert_int_equal(kind_where(1, 3001), FINDING_COMPUTE);
}

/* Rank 1 is late by 1000 in steps 2 and 3; its host by `late_ns`, before the first operation or the second.
 */
static enum finding_kind kind_of(int number, int64_t late_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        at(&small, 1, step, number)->excess_ns = 1000;
        at(&small, 1, step, number)->late_beyond_ns = late_ns;
    }
    return suspicion_of(&small).kind;
}

/* Half of it; within a step an eighth, since what it computes beside communication is late with it. */
static void how_late_the_host_has_to_be(void **state)
{
    assert_int_equal(kind_of(0, 500), FINDING_HOST);
    assert_int_equal(kind_of(0, 499), FINDING_COMPUTE);
    assert_int_equal(kind_of(1, 125), FINDING_HOST);
    assert_int_equal(kind_of(1, 124), FINDING_COMPUTE);
    assert_int_equal(kind_of(1, TIME_UNKNOWN), FINDING_COMPUTE);
}

/* The host was late before the first operation of each step, by 1000, and not before the second. */
static enum finding_kind kind_where_half(int64_t second_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        at(&small, 1, step, 0)->excess_ns = at(&small, 1, step, 0)->late_beyond_ns = 1000;
        at(&small, 1, step, 1)->excess_ns = second_ns;
    }
    return suspicion_of(&small).kind;
}

static void more_than_half_is_the_hosts(void **state)
{
    assert_int_equal(kind_where_half(999), FINDING_HOST);
    assert_int_equal(kind_where_half(1000), FINDING_COMPUTE);
}

/* Nobody knows what came before it: it was enqueued `before_ns` before it began, and 1000 late. */
static enum finding_kind kind_where_enqueued(int64_t before_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 0);
        late->excess_ns = 1000;
        late->own_ns = TIME_UNKNOWN;
        late->start_ns = 50000;
        late->enqueued_ns = 50000 - before_ns;
    }
    return suspicion_of(&small).kind;
}

static void a_host_that_was_late_where_own_time_is_unknown(void **state)
{
    assert_int_equal(kind_where_enqueued(499), FINDING_HOST);
    assert_int_equal(kind_where_enqueued(500), FINDING_COMPUTE);
}

/*
 * Late by 1000 of its own before the first operation of steps 1 to 3; who waits for it in the second, which
 * is on another communicator, waits for 1500 that nobody knows the origin of: 1000 of it are known already.
 * On the same communicator they met since, and it is 1500 more.
 */
static int64_t late_where(int32_t communicator, int64_t hidden_ns)
{
    struct small small;
    small_init(&small);
    for (int step = 0; step < STEPS; step++)
        at(&small, 1, step, 1)->communicator = communicator;
    for (int step = 1; step <= 3; step++) {
        at(&small, 1, step, 0)->excess_ns = 1000;
        at(&small, 1, step, 1)->hidden_ns = hidden_ns;
        at(&small, 1, step, 1)->own_ns = TIME_UNKNOWN;
    }
    return suspicion_of(&small).total_ns / 3;
}

static void hidden_lateness_counts_once(void **state)
{
    assert_int_equal(late_where(1, 1500), 1500);
    assert_int_equal(late_where(0, 1500), 2500);
    assert_int_equal(late_where(1, 600), 1000);
    /* More than four times what is known is not this rank's. */
    assert_int_equal(late_where(1, 4001), 1000);
}

/*
 * Late by 700, 500 and 400 before the first operations of steps 1 to 3; who waits for it in the last one,
 * which alone is on another communicator, waits for 1500. Of that, 500 and 400 are known: the step before it
 * counts, what was earlier has been waited for long since.
 */
static void hidden_lateness_is_of_two_steps(void **state)
{
    struct small small;
    small_init(&small);
    at(&small, 1, 1, 0)->excess_ns = 700;
    at(&small, 1, 2, 0)->excess_ns = 500;
    at(&small, 1, 3, 0)->excess_ns = 400;
    at(&small, 1, 3, 1)->communicator = 1;
    at(&small, 1, 3, 1)->hidden_ns = 1500;
    at(&small, 1, 3, 1)->own_ns = TIME_UNKNOWN;
    assert_int_equal(suspicion_of(&small).total_ns, 700 + 500 + 400 + 1500 - 900);
}

/* Rank 1 is late by 1000 in step 2, where it stays for 100; the other two for so long. */
static int64_t margin_where(uint8_t function, int64_t first_ns, int64_t second_ns)
{
    struct small small;
    small_init(&small);
    at(&small, 1, 2, 0)->excess_ns = 1000;
    for (int rank = 0; rank < RANKS; rank++)
        at(&small, rank, 2, 0)->function = function;
    at(&small, 0, 2, 0)->end_ns = first_ns;
    at(&small, 1, 2, 0)->end_ns = 100;
    at(&small, 2, 2, 0)->end_ns = second_ns;
    return suspicion_of(&small).margin_ns;
}

/* What partners lost at once: how much later it came than the last but one, no more than it was late by. */
static void how_much_later_than_the_last_but_one(void **state)
{
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 600, 1100), 500);
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 1600, 1500), 1000);
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, 90, 1500), 0);
    /* Where that cannot be read, all of it; nobody has to wait in a Broadcast. */
    assert_int_equal(margin_where(FUNCTION_ALL_REDUCE, TIME_UNKNOWN, 500), 1000);
    assert_int_equal(margin_where(FUNCTION_SEND, 600, 1100), 1000);
    assert_int_equal(margin_where(FUNCTION_BROADCAST, 600, 1100), 0);
}

static int is_doubtful_after_groups(uint8_t ends, int finished_only)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = finished_only;
    small_group(&small, FUNCTION_SEND, ends);
    for (int step = 1; step <= 3; step++)
        at(&small, 1, step, 0)->excess_ns = 1000;
    return suspicion_of(&small).ambiguous;
}

/* Late in three steps in a row after calls whose last to end nobody knows. */
static void own_time_after_a_call_with_an_open_end(void **state)
{
    assert_true(is_doubtful_after_groups(ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_KERNEL, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_HOST, 0));
}

/*
 * Rank 1 is late after an operation in step 2, and so in step 3, or not; and by three times as much in one
 * whose own time nobody knows, which says nothing by itself.
 */
static int is_doubtful_after(uint8_t function, uint8_t ends, int steps)
{
    struct small small;
    small_init(&small);
    for (int step = 2; step < 2 + steps; step++) {
        struct job_operation *before = at(&small, 1, step, 0), *late = at(&small, 1, step, 1);
        before->function = function;
        before->ends = ends;
        before->own_ns = TIME_UNKNOWN;
        before->start_ns = 50000;
        before->enqueued_ns = 0;
        before->hidden_ns = 3000;
        late->excess_ns = 1000;
    }
    return suspicion_of(&small).ambiguous;
}

/* In one step alone it may as well have waited for a send or a receive that was not over yet. */
static void own_time_after_a_rough_end(void **state)
{
    assert_true(is_doubtful_after(FUNCTION_SEND, ENDS_BY_HOST, 1));
    assert_true(is_doubtful_after(FUNCTION_SEND, ENDS_BY_PROXY, 1));
    assert_true(is_doubtful_after(FUNCTION_RECV, ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after(FUNCTION_RECV, ENDS_BY_PROXY, 1));
    assert_false(is_doubtful_after(FUNCTION_SEND, ENDS_BY_KERNEL, 1));
    assert_false(is_doubtful_after(FUNCTION_ALL_REDUCE, ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after(FUNCTION_SEND, ENDS_BY_HOST, 2));
}

/*
 * Late by `late_ns` in steps 2 and 3 after sends that may not have been over yet, and by `rest_ns` before
 * them, of which 3 % of a step, 300, would do by itself where it is a quarter of all.
 */
static int is_doubtful_but_for(int64_t late_ns, int64_t rest_ns, int blind_to_pairs)
{
    struct small small;
    small_init(&small);
    small.job.blind_to_pairs = blind_to_pairs;
    for (int step = 2; step <= 3; step++) {
        at(&small, 1, step, 0)->function = FUNCTION_SEND;
        at(&small, 1, step, 0)->ends = ENDS_BY_HOST;
        at(&small, 1, step, 0)->excess_ns = rest_ns;
        at(&small, 1, step, 1)->excess_ns = late_ns;
    }
    return suspicion_of(&small).ambiguous;
}

static void the_rest_would_do_by_itself(void **state)
{
    assert_true(is_doubtful_but_for(600, 299, 1));
    assert_false(is_doubtful_but_for(600, 300, 1));
    assert_true(is_doubtful_but_for(1000, 333, 1));
    assert_false(is_doubtful_but_for(1000, 334, 1));
    /* Where pairs are recorded it is enough that there are several steps. */
    assert_false(is_doubtful_but_for(600, 299, 0));
}

/*
 * Rank 1 is late by 1000 at the begin of steps 2 and 3, where its own time is usually four times what it is
 * before the other operation. Its host was late, or not; the one that all had left before then, by the
 * clocks: they went on for `others_ns` after rank 1.
 */
static struct suspect late_after(uint8_t function, int32_t communicator, int by_host, int64_t others_ns)
{
    struct small small;
    small_init(&small);
    small_in_stages(&small);
    for (int step = 0; step < STEPS; step++)
        for (int rank = 0; rank < RANKS; rank++) {
            struct job_operation *last = at(&small, rank, step, 1);
            last->function = function;
            last->communicator = communicator;
            last->own_ns = 1000;
            last->end_ns = rank == 1 ? 10000 : 10000 + others_ns;
            at(&small, rank, step, 0)->own_ns = 4000;
        }
    for (int i = 0; i < EACH; i++)
        small.instances[i].expected = RANKS;
    for (int rank = 0; rank < RANKS; rank++) {
        small.ranks[rank].clock_method = CLOCK_SHARED;
        small.ranks[rank].clock_scale = 1;
    }
    for (int step = 2; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 0);
        late->own_ns = 5000;
        late->beyond_ns = late->excess_ns = 1000;
        late->late_beyond_ns = by_host ? 500 : 0;
    }
    return suspicion_of(&small);
}

static struct suspect late_at_the_begin(int by_host, int64_t others_ns)
{
    return late_after(FUNCTION_ALL_REDUCE, 0, by_host, others_ns);
}

/* A receive that nobody recorded holds the GPU, not the host; who has left an operation of all waits for
 * none.
 */
static void own_time_that_may_be_a_receive(void **state)
{
    assert_true(late_at_the_begin(0, 0).hides_pairs);
    assert_true(late_at_the_begin(0, 0).ambiguous);
    assert_false(late_at_the_begin(1, 500).hides_pairs);
    assert_false(late_at_the_begin(1, 500).ambiguous);
    assert_true(late_at_the_begin(1, 501).hides_pairs);
    /* Others may not have come to a Broadcast yet, and those of other stages are in none of its own. */
    assert_true(late_after(FUNCTION_BROADCAST, 0, 1, 500).hides_pairs);
    assert_true(late_after(FUNCTION_ALL_REDUCE, 1, 1, 500).hides_pairs);
}

/*
 * Rank 1 is late by 1000 before the second operation of steps 2 and 3, rank 2 by 5000 before the first of
 * step 3, where a receive may sit: how likely noise makes the first.
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
        late->beyond_ns = late->excess_ns = 1000;
    }
    struct job_operation *waits = at(&small, 2, 3, 0);
    waits->own_ns = 9000;
    waits->beyond_ns = waits->excess_ns = 5000;
    return first_suspicion_of(&small, 2).chance;
}

static void receives_are_no_example_of_lateness(void **state)
{
    /* Of the nine cells one stands alone that is as strong, or none. */
    assert_true(fabs(chance_beside_a_receive(0) - 9 * (2. / 9) * (2. / 9)) < 1e-12);
    assert_true(fabs(chance_beside_a_receive(1) - 9 * (1. / 9) * (1. / 9)) < 1e-12);
}

/*
 * Rank 1 is late by 1000 before the first operation of steps 1 and 3. Of step 2 its own time there is known,
 * or not: the operation may have been lost, or the one before it.
 */
static int32_t last_step_late(int is_lost, int is_known)
{
    struct small small;
    struct suspects suspects = {0};
    struct error error = ERROR_INIT;
    int32_t of_rank[RANKS] = {0}, in_role[RANKS] = {0, 1, 2}, cells[2 * RANKS * STEPS],
            *cells_of_role = cells;
    struct role role = {.rank_count = RANKS, .length = 2};
    const struct baseline baseline = {.first_step = 1,
                                      .step_count = STEPS,
                                      .median_step_ns = 10000,
                                      .role_of_rank = of_rank,
                                      .rank_in_role = in_role,
                                      .roles = &role,
                                      .role_count = 1,
                                      .cells = &cells_of_role};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    small_init(&small);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int number = 0; number < 2; number++) {
                at(&small, rank, step, number)->position = number;
                at(&small, rank, step, number)->own_is_known = 1;
                cells[(number * RANKS + rank) * STEPS + step] = rank * EACH + 2 * step + number;
            }
    at(&small, 1, 1, 0)->excess_ns = at(&small, 1, 3, 0)->excess_ns = 1000;
    at(&small, 1, 2, 0)->own_is_known = is_known != 0;
    if (is_lost)
        cells[1 * STEPS + 2] = -1;
    assert_int_equal(suspect_own(&suspects, &small.job, &baseline, &options, &error), 0);
    int32_t last = suspects.items[0].last_step;
    free(suspects.items);
    small_release(&small);
    return last;
}

static void late_before_and_after_what_is_not_known(void **state)
{
    assert_int_equal(last_step_late(0, 1), 1);
    assert_int_equal(last_step_late(0, 0), 3);
    assert_int_equal(last_step_late(1, 1), 3);
}

static int is_doubtful_in(int first_step, int last_step)
{
    struct small small;
    small_init(&small);
    for (int step = first_step; step <= last_step; step++)
        at(&small, 1, step, 0)->excess_ns = 1000;
    return suspicion_of(&small).ambiguous;
}

/* The first step after the warm-up may still be part of that. */
static void the_first_step_alone(void **state)
{
    assert_true(is_doubtful_in(1, 1));
    assert_false(is_doubtful_in(2, 2));
    assert_false(is_doubtful_in(1, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_own_time_says_whose_it_is),
        cmocka_unit_test(how_late_the_host_has_to_be),
        cmocka_unit_test(more_than_half_is_the_hosts),
        cmocka_unit_test(a_host_that_was_late_where_own_time_is_unknown),
        cmocka_unit_test(hidden_lateness_counts_once),
        cmocka_unit_test(hidden_lateness_is_of_two_steps),
        cmocka_unit_test(how_much_later_than_the_last_but_one),
        cmocka_unit_test(own_time_after_a_call_with_an_open_end),
        cmocka_unit_test(own_time_after_a_rough_end),
        cmocka_unit_test(the_rest_would_do_by_itself),
        cmocka_unit_test(own_time_that_may_be_a_receive),
        cmocka_unit_test(receives_are_no_example_of_lateness),
        cmocka_unit_test(late_before_and_after_what_is_not_known),
        cmocka_unit_test(the_first_step_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
