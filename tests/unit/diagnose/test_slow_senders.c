#include "diagnose/diagnose.h"
#include "diagnose/score.h"

#include "support/cmocka_all.h"
#include "support/sent.h"

#include <stdlib.h>

static const struct sender_limits acceptance_limits = {.certainty = 3, .times = 2};
static const struct baseline baseline = {.first_step = 1};

static void search_init(struct sender_search *search, struct slow_senders *found, const struct sent *sent)
{
    assert_int_equal(sender_search_init(search, &sent->job, &baseline, &sent->edges, acceptance_limits), 0);
    *found = (struct slow_senders){.has = calloc(sent->job.rank_count, 1)};
    assert_non_null(found->has);
}

static void search_release(struct sender_search *search, struct slow_senders *found)
{
    free(found->has);
    sender_search_release(search);
}

static void those_of_one_host_are_one(void **state)
{
    struct sent sent;
    struct sender_search search;
    struct slow_senders found;
    (void)state;
    sent_init(&sent, 8, 2, 2, SENT_FIRST, SENT_LAST);
    search_init(&search, &found, &sent);
    assert_int_equal(slow_senders_next(&search, &found), 1);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.rank, 2);
    assert_true(found.has[2] && found.has[3]);
    assert_false(found.is_steady);
    assert_int_equal(found.steps.first, SENT_FIRST);
    assert_int_equal(found.steps.last, SENT_LAST);
    assert_true(found.certainty > 5.3);
    assert_true(slow_senders_excess(&search, &found, 3, SENT_FIRST) > 1);
    assert_true(slow_senders_excess(&search, &found, 3, SENT_FIRST - 1) <= 0);
    assert_true(slow_senders_excess(&search, &found, 4, SENT_FIRST) <= 0);
    assert_int_equal(slow_senders_next(&search, &found), 0);
    search_release(&search, &found);
}

/* Ranks 3 and 4 are neighbours on two hosts. */
static void those_of_two_hosts_are_two(void **state)
{
    struct sent sent;
    struct sender_search search;
    struct slow_senders found;
    (void)state;
    sent_init(&sent, 8, 3, 2, SENT_FIRST, SENT_LAST);
    search_init(&search, &found, &sent);
    assert_int_equal(slow_senders_next(&search, &found), 1);
    assert_int_equal(found.count, 1);
    assert_int_equal(slow_senders_next(&search, &found), 1);
    assert_int_equal(found.count, 1);
    assert_int_equal(slow_senders_next(&search, &found), 0);
    search_release(&search, &found);
}

static void nobody_is_slow(void **state)
{
    struct sent sent;
    struct sender_search search;
    struct slow_senders found;
    (void)state;
    sent_init(&sent, 8, 0, 0, 0, 0);
    search_init(&search, &found, &sent);
    assert_int_equal(slow_senders_next(&search, &found), 0);
    assert_int_equal(search.partitions.count, 0);
    search_release(&search, &found);
}

/* In all steps: the number of ranks on their host that send there as fast as others. */
static void count_on_way(int slow, int count, int expected)
{
    struct sent sent;
    struct sender_search search;
    struct slow_senders found;
    sent_init(&sent, 16, slow, count, 0, SENT_STEPS - 1);
    search_init(&search, &found, &sent);
    assert_int_equal(slow_senders_next(&search, &found), 1);
    assert_true(found.is_steady);
    assert_int_equal(found.steps.first, 1);
    assert_int_equal(found.count, count);
    assert_int_equal(slow_senders_count_fast_peers(&search, &found), expected);
    search_release(&search, &found);
}

static void the_way_is_shared_with_others(void **state)
{
    (void)state;
    count_on_way(2, 2, 2);
}

static void a_whole_host_may_be_far_away(void **state)
{
    (void)state;
    count_on_way(0, 4, 0);
}

static void one_alone_may_have_its_own_way(void **state)
{
    (void)state;
    count_on_way(2, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_of_one_host_are_one),
                                       cmocka_unit_test(those_of_two_hosts_are_two),
                                       cmocka_unit_test(nobody_is_slow),
                                       cmocka_unit_test(the_way_is_shared_with_others),
                                       cmocka_unit_test(a_whole_host_may_be_far_away),
                                       cmocka_unit_test(one_alone_may_have_its_own_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
