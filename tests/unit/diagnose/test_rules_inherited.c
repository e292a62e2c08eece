#include "support/cmocka_all.h"
#include "support/small_job.h"
#include "support/spoken.h"

/* Suspicions that the trace cannot distinguish from another cause. */

/* Rank 1's own time in steps 1 and 2, after an operation that rank 0's link to 2 made slow. */
static void own_time_behind_a_slow_link(void **state)
{
    struct small small;
    small_init(&small);
    for (int step = 1; step <= 2; step++) {
        excess_at(&small, 1, step, 1)->excess_ns = 600;
        at(&small, 1, step, 0)->incomplete = 1;
        small.transfers[2 * step].culprit = 0;
    }
    /* One slow link in the first operation of step 1; its extra wait is 300 in total. */
    small.edge = (struct edge){.sender = 0, .receiver = 2, .over_ns = 200, .extra_ns = 300};
    small.edges.items = &small.edge;
    small.edges.count = 1;
    for (int i = 3; i <= EACH; i++)
        small.first[i] = 1;
    small.transfers[4].culprit = -1;
    excess_at(&small, 1, 2, 1)->excess_ns = 0;
    struct suspect suspects[2] = {
        {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1, .total_ns = 600},
        {.kind = FINDING_NETWORK, .rank = 0, .first_step = 1, .last_step = 1, .total_ns = 900}};
    assert_speaks(small_read(&small, suspects, 2), RULE_WAITED_FOR_OTHER);
    /* More than twice the delay that the link can have caused. */
    excess_at(&small, 1, 1, 1)->excess_ns = suspects[0].total_ns = 602;
    assert_quiet(small_read(&small, suspects, 2), RULE_WAITED_FOR_OTHER);
    excess_at(&small, 1, 1, 1)->excess_ns = suspects[0].total_ns = 600;
    /* All channels have a stop. */
    at(&small, 1, 1, 0)->incomplete = 0;
    assert_false(small_doubted(&small, suspects, 2));
    at(&small, 1, 1, 0)->incomplete = 1;
    /* All of them received, and that is known to be over; but in a tree, they may have sent after that. */
    at(&small, 1, 1, 0)->all_taken = 1;
    assert_false(small_doubted(&small, suspects, 2));
    at(&small, 1, 1, 0)->is_tree = 1;
    assert_speaks(small_read(&small, suspects, 2), RULE_WAITED_FOR_OTHER);
    at(&small, 1, 1, 0)->is_tree = at(&small, 1, 1, 0)->all_taken = 0;
    /* The network is under weaker suspicion, or under none. */
    suspects[1].total_ns = 500;
    assert_false(small_doubted(&small, suspects, 2));
    assert_false(small_doubted(&small, suspects, 1));
    /* It is another rank's, its own, or not of that step. */
    suspects[1].total_ns = 900;
    suspects[1].rank = 2;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].rank = small.transfers[2].culprit = 1;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].rank = small.transfers[2].culprit = 0;
    for (int step = 0; step <= 2; step++) {
        suspects[1].first_step = suspects[1].last_step = step;
        assert_int_equal(small_doubted(&small, suspects, 2), step == 1);
    }
    suspects[1].first_step = suspects[1].last_step = 1;
    /* A host that was late within the step waits for no GPU. */
    suspects[1].total_ns = 900;
    excess_at(&small, 1, 1, 1)->late_beyond_ns = 600;
    excess_at(&small, 1, 1, 1)->beyond_ns = 600;
    assert_false(small_doubted(&small, suspects, 2));
    small_release(&small);
}

/* Most of its own time comes after the point where its file was truncated. */
static void own_time_after_the_record_ends(void **state)
{
    struct small small;
    small_init(&small);
    excess_at(&small, 1, 1, 1)->excess_ns = 500;
    excess_at(&small, 1, 2, 1)->excess_ns = 600;
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 1100};
    assert_false(small_doubted(&small, &suspect, 1));
    small.ranks[1].tail_step = 2;
    assert_speaks(small_read(&small, &suspect, 1), RULE_LOST_RECORDS);
    excess_at(&small, 1, 2, 1)->excess_ns = 500;
    suspect.total_ns = 1000;
    assert_quiet(small_read(&small, &suspect, 1), RULE_LOST_RECORDS);
    suspect.kind = FINDING_NETWORK;
    small.ranks[1].tail_step = 0;
    assert_false(small_doubted(&small, &suspect, 1));
    small_release(&small);
}

/*
 * Other operations of a rank that cannot be distinguished from others of its process are unknown; those of
 * its links are known.
 */
static void a_rank_that_is_not_told_apart(void **state)
{
    struct small small;
    small_init(&small);
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 600};
    excess_at(&small, 1, 1, 1)->excess_ns = excess_at(&small, 1, 2, 1)->excess_ns = 300;
    assert_quiet(small_read(&small, &suspect, 1), RULE_SHARED_PROCESS);
    small.ranks[1].is_part = 1;
    assert_speaks(small_read(&small, &suspect, 1), RULE_SHARED_PROCESS);
    suspect.kind = FINDING_HOST;
    assert_speaks(small_read(&small, &suspect, 1), RULE_SHARED_PROCESS);
    suspect.kind = FINDING_NETWORK;
    assert_false(small_doubted(&small, &suspect, 1));
    small_release(&small);
}

/*
 * Rank 1's own time after a send in step 1, and before one, while its network is under stronger suspicion:
 * only the host recorded their ends.
 */
static void own_time_beside_a_slow_network(void **state)
{
    struct small small;
    struct suspect suspects[2] = {
        {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1, .total_ns = 600},
        {.kind = FINDING_NETWORK, .rank = 1, .first_step = 1, .last_step = 1, .total_ns = 900}};
    small_init(&small);
    small.job.finished_only = 1;
    struct job_operation *send = at(&small, 1, 1, 0), *next = at(&small, 1, 1, 1);
    excess_with(&small, next)->excess_ns = 600;
    send->function = FUNCTION_SEND;
    send->ends = ENDS_BY_HOST;
    assert_true(small_doubted(&small, suspects, 2));
    send->function = FUNCTION_RECV;
    assert_true(small_doubted(&small, suspects, 2));
    /*
     * The GPU or a proxy recorded its end; it is no send; the network is under weaker suspicion, or
     * another's.
     */
    send->ends = ENDS_BY_PROXY;
    assert_false(small_doubted(&small, suspects, 2));
    send->ends = ENDS_BY_HOST;
    send->function = FUNCTION_ALL_REDUCE;
    assert_false(small_doubted(&small, suspects, 2));
    send->function = FUNCTION_SEND;
    suspects[1].total_ns = 500;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].total_ns = 900;
    suspects[1].rank = 2;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].rank = 1;
    suspects[1].kind = FINDING_HOST;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].kind = FINDING_NETWORK;
    /* If more than finished operations is recorded, proxies and kernels show it. */
    small.job.finished_only = 0;
    assert_false(small_doubted(&small, suspects, 2));
    small.job.finished_only = 1;
    /* The send itself is late. */
    excess_with(&small, next)->excess_ns = 0;
    excess_with(&small, send)->excess_ns = 600;
    assert_true(small_doubted(&small, suspects, 2));
    assert_false(small_doubted(&small, suspects, 1));
    send->function = FUNCTION_ALL_REDUCE;
    assert_false(small_doubted(&small, suspects, 2));
    send->function = FUNCTION_SEND;
    send->ends = ENDS_BY_KERNEL;
    assert_false(small_doubted(&small, suspects, 2));
    small_release(&small);
}

/*
 * Rank 0's network in step 1 is suspected because of sends in calls of several, by 300 of 500; or by less
 * than half.
 */
static void slow_sends_in_calls_of_several(void **state)
{
    struct small small;
    struct suspect suspect = {.kind = FINDING_NETWORK, .first_step = 1, .last_step = 1, .total_ns = 500};
    small_init(&small);
    small.job.finished_only = 1;
    small_group(&small, FUNCTION_SEND, ENDS_BY_HOST);
    for (int i = 2; i < 4; i++) {
        small.transfers[i].culprit = 0;
        small.transfers[i].slow_ns = i == 2 ? 300 : 200;
    }
    small.instances[3].function = FUNCTION_ALL_REDUCE;
    assert_speaks(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small.transfers[3].slow_ns = 300;
    assert_quiet(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    /* For which another rank may be blamed. */
    small.transfers[3].culprit = 1;
    assert_speaks(small_read(&small, &suspect, 1), RULE_IN_GROUPS);
    small.transfers[3].culprit = 0;
    small.transfers[3].slow_ns = 200;
    suspect.kind = FINDING_COMPUTE;
    assert_false(small_doubted(&small, &suspect, 1));
    suspect.kind = FINDING_NETWORK;
    small.job.finished_only = 0;
    assert_false(small_doubted(&small, &suspect, 1));
    small.job.finished_only = 1;
    /* It was called alone. */
    at(&small, 0, 1, 1)->group++;
    assert_false(small_doubted(&small, &suspect, 1));
    small_release(&small);
}

/* Rank 1's own time in step 1 after a receive from rank 0, whose end a proxy recorded. */
static void own_time_after_a_receive_from_a_suspect(void **state)
{
    struct small small;
    struct suspect suspects[2] = {
        {.kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1, .total_ns = 600},
        {.kind = FINDING_HOST, .rank = 0, .first_step = 1, .last_step = 2, .total_ns = 1202}};
    small_init(&small);
    struct job_operation *receive = at(&small, 1, 1, 0);
    excess_at(&small, 1, 1, 1)->excess_ns = 600;
    receive->function = FUNCTION_RECV;
    receive->ends = ENDS_BY_PROXY;
    small.instances[2].sender = 0;
    assert_true(small_doubted(&small, suspects, 2));
    /* 600 in each of two steps are no stronger suspicion; nor is another rank's, or one of other steps. */
    suspects[1].total_ns = 1200;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].total_ns = 1202;
    suspects[1].rank = 2;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].rank = 0;
    suspects[1].first_step = 2;
    suspects[1].last_step = 3;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].first_step = suspects[1].last_step = 0;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].first_step = 1;
    suspects[1].last_step = 2;
    /* It sends what rank 0 receives; or its kernel shows when the data had arrived. */
    receive->function = FUNCTION_SEND;
    assert_false(small_doubted(&small, suspects, 2));
    receive->function = FUNCTION_RECV;
    receive->ends = ENDS_BY_KERNEL;
    assert_false(small_doubted(&small, suspects, 2));
    receive->ends = ENDS_BY_PROXY;
    /* Its links are not those that waited. */
    suspects[0].kind = FINDING_NETWORK;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[0].kind = FINDING_COMPUTE;
    /* A later one that is no part of the same call. */
    receive->function = FUNCTION_ALL_REDUCE;
    at(&small, 1, 2, 0)->function = FUNCTION_RECV;
    at(&small, 1, 2, 0)->ends = ENDS_BY_PROXY;
    small.instances[4].sender = 0;
    assert_false(small_doubted(&small, suspects, 2));
    /* Time between steps is no part of the suspicion. */
    receive->function = FUNCTION_RECV;
    at(&small, 1, 1, 1)->step = -1;
    excess_at(&small, 1, 2, 0)->excess_ns = suspects[0].total_ns;
    suspects[0].last_step = 2;
    assert_false(small_doubted(&small, suspects, 2));
    small_release(&small);
}

/* Network steps are not recorded: the operation before was slower than its baseline, by half of 600. */
static void own_time_after_a_slow_operation(void **state)
{
    struct small small;
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 1, .total_ns = 600};
    small_init(&small);
    excess_at(&small, 1, 1, 1)->excess_ns = 600;
    at(&small, 1, 1, 0)->is_tree = 1;
    small.transfers[2].beyond_ns = 300;
    assert_speaks(small_read(&small, &suspect, 1), RULE_WAITED_FOR_OTHER);
    small.transfers[2].beyond_ns = 299;
    assert_false(small_doubted(&small, &suspect, 1));
    small.transfers[2].beyond_ns = 300;
    /* All of its channels have a stop. */
    at(&small, 1, 1, 0)->is_tree = 0;
    assert_false(small_doubted(&small, &suspect, 1));
    at(&small, 1, 1, 0)->incomplete = 1;
    assert_speaks(small_read(&small, &suspect, 1), RULE_WAITED_FOR_OTHER);
    /* Time between steps is no part of the suspicion. */
    suspect.last_step = 2;
    at(&small, 1, 1, 1)->step = -1;
    excess_at(&small, 1, 2, 0)->excess_ns = 600;
    assert_false(small_doubted(&small, &suspect, 1));
    suspect.last_step = at(&small, 1, 1, 1)->step = 1;
    excess_at(&small, 1, 2, 0)->excess_ns = 0;
    /* That is half of it, and not most. */
    suspect.total_ns = 1200;
    assert_false(small_doubted(&small, &suspect, 1));
    suspect.total_ns = 600;
    /* Within a step a late host waits for no GPU; after it, it may. */
    excess_at(&small, 1, 1, 1)->late_beyond_ns = 600;
    assert_quiet(small_read(&small, &suspect, 1), RULE_WAITED_FOR_OTHER);
    excess_at(&small, 1, 1, 1)->excess_ns = 0;
    excess_at(&small, 1, 1, 0)->excess_ns = excess_at(&small, 1, 1, 0)->late_beyond_ns = 600;
    at(&small, 1, 0, 1)->is_tree = 1;
    small.transfers[1].beyond_ns = 300;
    assert_speaks(small_read(&small, &suspect, 1), RULE_WAITED_FOR_OTHER);
    small_release(&small);
}

/* All three ranks are late by 200 in steps 1 and 2, without a visible cause. */
static void suspects_of_all(struct suspect suspects[RANKS])
{
    for (int32_t rank = 0; rank < RANKS; rank++)
        suspects[rank] = (struct suspect){
            .kind = FINDING_COMPUTE, .rank = rank, .first_step = 1, .last_step = 2, .total_ns = 400};
}

static void late_by_the_same_at_once(void **state)
{
    struct small small;
    struct suspect suspects[RANKS];
    small_init(&small);
    suspects_of_all(suspects);
    assert_speaks(small_read(&small, suspects, 3), RULE_TWINS);
    /* Two faults may coincide. */
    assert_quiet(small_read(&small, suspects, 2), RULE_TWINS);
    assert_limit(LIMIT_ALIKE, 0.2);
    /* Less by at most a fifth in each step; in more than half of its steps. */
    suspects[1].total_ns = 320;
    assert_speaks(small_read(&small, suspects, 3), RULE_TWINS);
    suspects[1].total_ns = 318;
    assert_false(small_doubted(&small, suspects, 3));
    suspects[1].total_ns = 200;
    suspects[1].last_step = 1;
    assert_quiet(small_read(&small, suspects, 3), RULE_TWINS);
    suspects[0].last_step = 3;
    suspects[0].total_ns = 600;
    suspects[1].last_step = 2;
    suspects[1].total_ns = 400;
    assert_speaks(small_read(&small, suspects, 3), RULE_TWINS);
    /* In no common step; the network, which proves nothing about a rank. */
    suspects[1].first_step = suspects[1].last_step = 3;
    assert_false(small_doubted(&small, suspects, 3));
    suspects_of_all(suspects);
    suspects[1].kind = FINDING_NETWORK;
    assert_false(small_doubted(&small, suspects, 3));
    suspects_of_all(suspects);
    suspects[0].kind = FINDING_NETWORK;
    assert_false(small_doubted(&small, suspects, 3));
    small_release(&small);
}

/* One of them whose host alone was late is the cause of the others' wait. */
static void late_by_the_same_as_a_host(void **state)
{
    struct small small;
    struct suspect suspects[RANKS];
    small_init(&small);
    suspects_of_all(suspects);
    suspects[0].kind = FINDING_HOST;
    assert_false(small_doubted(&small, suspects, 3));
    suspects[1].kind = FINDING_HOST;
    assert_true(small_doubted(&small, suspects, 3));
    suspects[0].kind = FINDING_COMPUTE;
    assert_true(small_doubted(&small, suspects, 3));
    /* If the recorder omits sends and receives, two are enough, whatever their hosts. */
    small.job.blind_to_pairs = 1;
    suspects[0].kind = FINDING_HOST;
    suspects[1].kind = FINDING_COMPUTE;
    assert_true(small_doubted(&small, suspects, 3));
    assert_true(small_doubted(&small, suspects, 2));
    assert_false(small_doubted(&small, suspects, 1));
    small_release(&small);
}

/*
 * Rank 1 is late before the second operation of steps 1 and 2, where its baseline own time is the given
 * multiple of that before the first, and a file of it may be lost.
 */
static int may_be_of_a_lost_file(int times, int by_host, int between)
{
    struct small small;
    struct suspect suspect = {
        .kind = FINDING_COMPUTE, .rank = 1, .first_step = 1, .last_step = 2, .total_ns = 1200};
    small_init(&small);
    small.ranks[1].may_lack_file = 1;
    for (int step = 1; step <= 2; step++) {
        struct job_operation *late = at(&small, 1, step, 1);
        excess_with(&small, late)->excess_ns = excess_with(&small, late)->beyond_ns = 600;
        late->own_ns = times * 1000 + 600;
        excess_with(&small, late)->late_beyond_ns = by_host ? 600 : 0;
        if (between)
            late->step = -1;
    }
    int doubted = small_doubted(&small, &suspect, 1);
    small_release(&small);
    return doubted;
}

/* Time between steps is no part of it. */
static void own_time_that_may_be_of_a_lost_file(void **state)
{
    assert_true(may_be_of_a_lost_file(4, 0, 0));
    assert_false(may_be_of_a_lost_file(2, 0, 0));
    assert_false(may_be_of_a_lost_file(4, 1, 0));
    assert_false(may_be_of_a_lost_file(4, 0, 1));
}

/*
 * Late by the same in the same steps, with unrecorded sends and receives: one may wait for the other. It is
 * known which one, if only one of them can be in a receive.
 */
static void a_twin_that_may_wait(void **state)
{
    struct small small;
    small_init(&small);
    struct suspect suspects[2] = {
        {.kind = FINDING_HOST, .rank = 0, .first_step = 1, .last_step = 2, .total_ns = 1000},
        {.kind = FINDING_COMPUTE, .rank = 2, .first_step = 1, .last_step = 2, .total_ns = 900}};
    small.job.blind_to_pairs = 1;
    assert_speaks(small_read(&small, suspects, 2), RULE_TWIN_OF_HIDDEN_PAIR);
    /* One after the other, with a common step: two of a kind. */
    suspects[1].first_step = 2;
    suspects[1].last_step = 3;
    assert_false(small_doubted(&small, suspects, 2));
    suspects[1].first_step = 1;
    suspects[1].last_step = 2;
    suspects[1].hides_pairs = 1;
    assert_quiet(small_read(&small, suspects, 2), RULE_TWIN_OF_HIDDEN_PAIR);
    suspects[0].hides_pairs = 1;
    assert_speaks(small_read(&small, suspects, 2), RULE_TWIN_OF_HIDDEN_PAIR);
    small_release(&small);
}

/* Ranks 0 and 1 are a stage, rank 2 another: there it is known which delay may be a receive. */
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
        cmocka_unit_test(own_time_behind_a_slow_link),
        cmocka_unit_test(own_time_after_the_record_ends),
        cmocka_unit_test(a_rank_that_is_not_told_apart),
        cmocka_unit_test(own_time_beside_a_slow_network),
        cmocka_unit_test(slow_sends_in_calls_of_several),
        cmocka_unit_test(own_time_after_a_receive_from_a_suspect),
        cmocka_unit_test(own_time_after_a_slow_operation),
        cmocka_unit_test(late_by_the_same_at_once),
        cmocka_unit_test(late_by_the_same_as_a_host),
        cmocka_unit_test(own_time_that_may_be_of_a_lost_file),
        cmocka_unit_test(a_twin_that_may_wait),
        cmocka_unit_test(twins_of_which_none_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
