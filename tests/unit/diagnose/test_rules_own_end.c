#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"

/* How much of a rank's delay is certainly its own. */

static struct suspect suspicion_of(struct small *small)
{
    return small_suspicion(small, 1);
}

static int is_doubtful(struct small *small)
{
    struct suspect suspect = suspicion_of(small);
    return is_doubted_at_all(&suspect);
}

static int is_doubtful_after_groups(uint8_t ends, int finished_only)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = finished_only;
    small_group(&small, FUNCTION_SEND, ends);
    at(&small, 2, 3, 1)->ends = ENDS_BY_HOST;
    for (int step = 1; step <= 3; step++)
        excess_at(&small, 1, step, 0)->excess_ns = 1000;
    return is_doubtful(&small);
}

/* Late in three consecutive steps after calls whose last end is unknown. */
static void own_time_after_a_call_with_an_open_end(void **state)
{
    assert_true(is_doubtful_after_groups(ENDS_BY_HOST, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_KERNEL, 1));
    assert_false(is_doubtful_after_groups(ENDS_BY_HOST, 0));
}

/*
 * Late by 1000 in step 2 and by the given time in step 3. Only the host recorded the end of the last
 * operation of each step; those of steps 0 and 3, and of step 1 or none besides, were in one call with the
 * other.
 */
static struct suspect late_after_one_group(int in_group, int64_t first_ns)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = 1;
    small_group(&small, FUNCTION_SEND, ENDS_BY_HOST);
    for (int step = in_group ? 2 : 1; step <= 2; step++)
        at(&small, 1, step, 1)->group++;
    excess_at(&small, 1, 2, 0)->excess_ns = first_ns;
    excess_at(&small, 1, 3, 0)->excess_ns = 1000;
    return suspicion_of(&small);
}

/* An operation that was called alone is over at its own end; and most of a suspicion must be uncertain. */
static void own_time_mostly_after_such_a_call(void **state)
{
    struct suspect alone = late_after_one_group(0, 1000);
    assert_quiet(&alone.rule_results, RULE_GROUP_END);
    struct suspect half = late_after_one_group(1, 1000), most = late_after_one_group(1, 1001);
    assert_quiet(&half.rule_results, RULE_GROUP_END);
    assert_speaks(&most.rule_results, RULE_GROUP_END);
}

/* The last operation of a step is in one call with the first of the next, whose second one is late. */
static int is_doubtful_within(int by_host)
{
    struct small small;
    small_init(&small);
    small.job.finished_only = 1;
    for (int step = 1; step <= 3; step++) {
        struct job_operation *before = at(&small, 1, step - 1, 1), *first = at(&small, 1, step, 0);
        first->group = before->group;
        first->function = before->function = FUNCTION_SEND;
        first->ends = before->ends = ENDS_BY_HOST;
        excess_at(&small, 1, step, 1)->excess_ns = 1000;
        excess_at(&small, 1, step, 1)->late_beyond_ns = by_host ? 1000 : 0;
    }
    return is_doubtful(&small);
}

/* Within a step a late host does not wait for anything on the GPU. */
static void a_host_late_after_a_call_with_an_open_end(void **state)
{
    assert_true(is_doubtful_within(0));
    assert_false(is_doubtful_within(1));
}

/*
 * Rank 1 is late after an operation in step 2, and the same in step 3, or not; and by three times as much in
 * one whose own time is unknown, which proves nothing by itself.
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
        hidden_at(&small, 1, step, 0)->hidden_ns = 3000;
        excess_with(&small, late)->excess_ns = 1000;
    }
    return is_doubtful(&small);
}

/* In a single step it may also have waited for a send or a receive that was not over yet. */
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
 * In one step late by 1000 after an AllReduce, and by the given time after a send whose end the host
 * recorded.
 */
static struct suspect late_after_a_send(int64_t late_ns)
{
    struct small small;
    small_init(&small);
    at(&small, 1, 2, 0)->function = FUNCTION_SEND;
    at(&small, 1, 2, 0)->ends = ENDS_BY_HOST;
    excess_at(&small, 1, 2, 0)->excess_ns = 1000;
    excess_at(&small, 1, 2, 1)->excess_ns = late_ns;
    return suspicion_of(&small);
}

static void own_time_mostly_after_a_rough_end(void **state)
{
    struct suspect half = late_after_a_send(1000), most = late_after_a_send(1001);
    assert_quiet(&half.rule_results, RULE_ROUGH_END);
    assert_speaks(&most.rule_results, RULE_ROUGH_END);
}

/* The first step after the warm-up, or one more. */
static void own_time_after_the_warm_up(void **state)
{
    for (int more = 0; more < 2; more++) {
        struct small small;
        small_init(&small);
        for (int step = 1; step <= 1 + more; step++)
            excess_at(&small, 1, step, 0)->excess_ns = 1000;
        struct suspect suspect = suspicion_of(&small);
        if (more)
            assert_quiet(&suspect.rule_results, RULE_AFTER_WARM_UP);
        else
            assert_speaks(&suspect.rule_results, RULE_AFTER_WARM_UP);
    }
}

/* As above, but the host was late. */
static void a_host_late_after_a_rough_end(void **state)
{
    struct small small;
    small_init(&small);
    at(&small, 1, 2, 0)->function = FUNCTION_SEND;
    at(&small, 1, 2, 0)->ends = ENDS_BY_HOST;
    excess_at(&small, 1, 2, 1)->excess_ns = excess_at(&small, 1, 2, 1)->late_beyond_ns = 1000;
    assert_false(is_doubtful(&small));
}

/*
 * Late in step 2 alone, by the given time after a send that may not have been over, and by the given time
 * before it.
 */
static int is_doubtful_in_one(int64_t late_ns, int64_t rest_ns)
{
    struct small small;
    small_init(&small);
    at(&small, 1, 2, 0)->function = FUNCTION_SEND;
    at(&small, 1, 2, 0)->ends = ENDS_BY_HOST;
    excess_at(&small, 1, 2, 0)->excess_ns = rest_ns;
    excess_at(&small, 1, 2, 1)->excess_ns = late_ns;
    return is_doubtful(&small);
}

static void most_of_one_step_is_doubtful(void **state)
{
    assert_false(is_doubtful_in_one(1000, 1000));
    assert_true(is_doubtful_in_one(1001, 1000));
}

/*
 * Late by `late_ns` in steps 2 and 3 after sends that may not have been over yet, and by `rest_ns` before
 * them, of which 3 % of a step, 300, would be enough alone if it is a quarter of all.
 */
static int is_doubtful_but_for(int64_t late_ns, int64_t rest_ns, int blind_to_pairs)
{
    struct small small;
    small_init(&small);
    small.job.blind_to_pairs = blind_to_pairs;
    for (int step = 2; step <= 3; step++) {
        at(&small, 1, step, 0)->function = FUNCTION_SEND;
        at(&small, 1, step, 0)->ends = ENDS_BY_HOST;
        excess_at(&small, 1, step, 0)->excess_ns = rest_ns;
        excess_at(&small, 1, step, 1)->excess_ns = late_ns;
    }
    return is_doubtful(&small);
}

static void the_rest_would_do_by_itself(void **state)
{
    assert_true(is_doubtful_but_for(600, 299, 1));
    assert_false(is_doubtful_but_for(600, 300, 1));
    assert_true(is_doubtful_but_for(1000, 333, 1));
    assert_false(is_doubtful_but_for(1000, 334, 1));
    assert_false(is_doubtful_but_for(1500, 500, 1));
    /* If pairs are recorded, several steps are enough. */
    assert_false(is_doubtful_but_for(600, 299, 0));
}

/* The reason why the delay before the second operation of a step is uncertain. */
enum doubtful { ROUGH_END = 1, RECEIVE = 2, BOTH = ROUGH_END | RECEIVE };

/* Late by an uncertain 600 per step, and by a certain amount, from step 1 on up to -1. */
static struct suspect late_but_for(enum doubtful why, const int64_t *rest_ns)
{
    struct small small;
    small_init(&small);
    small.job.blind_to_pairs = 1;
    small.job.in_stages = why & RECEIVE;
    for (int step = 0; step < STEPS; step++) {
        struct job_operation *first = at(&small, 1, step, 0), *second = at(&small, 1, step, 1);
        first->function = second->function = FUNCTION_SEND;
        first->ends = why & ROUGH_END ? ENDS_BY_HOST : ENDS_BY_KERNEL;
        second->own_ns = 4000;
    }
    for (int step = 1; step < STEPS && rest_ns[step - 1] >= 0; step++) {
        struct job_operation *first = at(&small, 1, step, 0), *second = at(&small, 1, step, 1);
        excess_with(&small, first)->excess_ns = excess_with(&small, first)->beyond_ns = rest_ns[step - 1];
        first->own_ns += rest_ns[step - 1];
        excess_with(&small, second)->excess_ns = excess_with(&small, second)->beyond_ns = 600;
        second->own_ns += 600;
    }
    return suspicion_of(&small);
}

/*
 * The rest would be enough alone: 300 per step, 3 % of it, and in half of the steps. A delay that is
 * uncertain for two reasons counts once.
 */
static void the_rest_is_in_half_of_the_steps(void **state)
{
    static const struct {
        int64_t rest_ns[4];
        int is_doubtful;
    } cases[] = {{{300, 0, -1}, 1},  {{600, 0, -1}, 0},  {{300, 300, -1}, 0}, {{900, 0, 0, -1}, 1},
                 {{600, 300, 0}, 0}, {{599, 300, 0}, 1}, {{602, 299, 0}, 1}};
    assert_limit(LIMIT_REST, 0.25);
    static const enum doubtful whys[] = {ROUGH_END, RECEIVE, BOTH};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t j = 0; j < sizeof whys / sizeof *whys; j++) {
            struct suspect suspect = late_but_for(whys[j], cases[i].rest_ns);
            assert_int_equal(is_doubted_at_all(&suspect), cases[i].is_doubtful);
            if (!(whys[j] & ROUGH_END))
                assert_int_equal(suspect.hides_pairs, cases[i].is_doubtful);
        }
}

/*
 * Rank 1 is late by 1000 at the beginning of steps 2 and 3, where its baseline own time is four times that
 * before the other operation. Its host was late, or not. All ranks had left the operation before by then, by
 * the clocks: they stayed `others_ns` longer than rank 1.
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
        excess_with(&small, late)->beyond_ns = excess_with(&small, late)->excess_ns = 1000;
        excess_with(&small, late)->late_beyond_ns = by_host ? 500 : 0;
    }
    return suspicion_of(&small);
}

static struct suspect late_at_the_begin(int by_host, int64_t others_ns)
{
    return late_after(FUNCTION_ALL_REDUCE, 0, by_host, others_ns);
}

/*
 * An unrecorded receive occupies the GPU, not the host; a rank that has left an operation of all ranks waits
 * for none.
 */
static void own_time_that_may_be_a_receive(void **state)
{
    assert_true(late_at_the_begin(0, 0).hides_pairs);
    struct suspect late = late_at_the_begin(0, 0), host = late_at_the_begin(1, 500);
    assert_true(is_doubted_at_all(&late));
    assert_false(late_at_the_begin(1, 500).hides_pairs);
    assert_false(is_doubted_at_all(&host));
    assert_true(late_at_the_begin(1, 501).hides_pairs);
    /*
     * Others may not have arrived at a Broadcast yet, and those of other stages are in none of its
     * operations.
     */
    assert_true(late_after(FUNCTION_BROADCAST, 0, 1, 500).hides_pairs);
    assert_true(late_after(FUNCTION_ALL_REDUCE, 1, 1, 500).hides_pairs);
}

/*
 * Late by 1000 within steps 2 and 3, after a Broadcast, where its baseline own time is the given one and
 * elsewhere 1000.
 */
static int may_be_receive_within(int by_host, int64_t usual_ns)
{
    struct small small;
    small_init(&small);
    small_in_stages(&small);
    for (int step = 0; step < STEPS; step++) {
        at(&small, 1, step, 0)->function = at(&small, 1, step, 1)->function = FUNCTION_BROADCAST;
        at(&small, 1, step, 1)->own_ns = usual_ns;
    }
    for (int step = 2; step <= 3; step++) {
        struct job_operation *late = at(&small, 1, step, 1);
        late->own_ns += 1000;
        excess_with(&small, late)->beyond_ns = excess_with(&small, late)->excess_ns = 1000;
        excess_with(&small, late)->late_beyond_ns = by_host ? 125 : 0;
    }
    return suspicion_of(&small).hides_pairs;
}

/* Not if its own time is no longer than before others of the kind, nor if its host was late. */
static void own_time_within_a_step_that_may_be_a_receive(void **state)
{
    assert_true(may_be_receive_within(0, 4000));
    assert_false(may_be_receive_within(0, 2000));
    assert_false(may_be_receive_within(1, 4000));
}

static int is_doubtful_in(int first_step, int last_step)
{
    struct small small;
    small_init(&small);
    for (int step = first_step; step <= last_step; step++)
        excess_at(&small, 1, step, 0)->excess_ns = 1000;
    return is_doubtful(&small);
}

/* The first step after the warm-up may still belong to it. */
static void the_first_step_alone(void **state)
{
    assert_true(is_doubtful_in(1, 1));
    assert_false(is_doubtful_in(2, 2));
    assert_false(is_doubtful_in(1, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_time_after_a_call_with_an_open_end),
        cmocka_unit_test(own_time_after_a_rough_end),
        cmocka_unit_test(the_rest_would_do_by_itself),
        cmocka_unit_test(own_time_that_may_be_a_receive),
        cmocka_unit_test(the_first_step_alone),
        cmocka_unit_test(own_time_mostly_after_such_a_call),
        cmocka_unit_test(own_time_mostly_after_a_rough_end),
        cmocka_unit_test(own_time_after_the_warm_up),
        cmocka_unit_test(a_host_late_after_a_call_with_an_open_end),
        cmocka_unit_test(a_host_late_after_a_rough_end),
        cmocka_unit_test(most_of_one_step_is_doubtful),
        cmocka_unit_test(the_rest_is_in_half_of_the_steps),
        cmocka_unit_test(own_time_within_a_step_that_may_be_a_receive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
