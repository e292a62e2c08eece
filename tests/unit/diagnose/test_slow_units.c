#include "diagnose/diagnose.h"
#include "diagnose/network.h"

#include "support/cmocka_all.h"
#include "support/sent.h"

#include <stdlib.h>

/* Units of links, from their network steps. */

static const struct network_limits acceptance_limits = {.certainty = 3, .times = 2};

struct search {
    struct sent sent;
    struct transfer_groups groups;
    struct slow_network found;
    unsigned char told_edges[SENT_RANKS * SENT_STEPS];
    unsigned char told_instances[SENT_RANKS * SENT_STEPS];
};

/* Returns whether a unit is found. */
static int search_find(struct search *search)
{
    struct told_transfers told = {search->told_edges, search->told_instances};
    assert_int_equal(transfer_groups_init(&search->groups, &search->sent.job, 1, &search->sent.edges, told),
                     0);
    assert_int_equal(slow_network_init(&search->found, &search->groups), 0);
    int is_found = slow_groups_next(&search->groups, &acceptance_limits, &search->found);
    assert_true(is_found >= 0);
    if (is_found)
        assert_int_equal(slow_units_find(&search->groups, &search->found), 0);
    return is_found;
}

/* `count` ranks from `slow` on are slow in these steps. Returns whether a unit is found. */
static int search_init(struct search *search, size_t ranks, int slow, int count, int32_t first, int32_t last)
{
    sent_init(&search->sent, ranks, slow, count, first, last);
    return search_find(search);
}

/* What a rank sends is slow in every `period`-th step from `first` to `last`. */
static void slow_down(struct sent *sent, int32_t rank, int32_t first, int32_t last, int32_t period)
{
    for (size_t i = 0; i < sent->edges.count; i++)
        if (sent->items[i].sender == rank && sent->items[i].step >= first && sent->items[i].step <= last &&
            (sent->items[i].step - first) % period == 0)
            sent->items[i].wait_ns *= 10;
}

static void slow_down_host(struct sent *sent, int32_t rank, int32_t first, int32_t last)
{
    for (int32_t i = 0; i < SENT_HOST; i++)
        slow_down(sent, rank + i, first, last, 1);
}

static void search_free(struct search *search)
{
    slow_network_release(&search->found);
    transfer_groups_release(&search->groups);
    free(search);
}

static struct search *search_new(void)
{
    struct search *search = calloc(1, sizeof *search);
    assert_non_null(search);
    return search;
}

static void one_sender(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 8, 3, 1, SENT_FIRST, SENT_LAST));
    assert_int_equal(search->found.unit, NETWORK_RANK);
    assert_int_equal(search->found.count, 1);
    assert_true(search->found.may[3] && search->found.is_unit && !search->found.is_steady);
    assert_false(search->found.receives);
    assert_int_equal(search->found.steps.first, SENT_FIRST);
    assert_int_equal(search->found.steps.last, SENT_LAST);
    assert_true(search->found.certainty > 5.3);
    search_free(search);
}

/* Ranks 4 to 7 are a host, and all that it sends is slow. */
static void all_that_a_host_sends(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 16, 4, 4, SENT_FIRST, SENT_LAST));
    assert_int_equal(search->found.unit, NETWORK_HOST);
    assert_int_equal(search->found.count, 4);
    assert_true(search->found.may[4] && search->found.may[7]);
    assert_int_equal(search->found.slow_links, 4);
    search_free(search);
}

/* All links: no host explains them better than another. */
static void all_links(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 16, 0, 16, SENT_FIRST, SENT_LAST));
    assert_int_equal(search->found.unit, NETWORK_ALL);
    assert_int_equal(search->found.count, 16);
    search_free(search);
}

/* Compared with its sisters, since it has no other steps. */
static void one_sender_in_all_steps(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 16, 2, 1, 0, SENT_STEPS - 1));
    assert_true(search->found.is_steady);
    assert_int_equal(search->found.count, 1);
    assert_true(search->found.may[2]);
    assert_int_equal(search->found.steps.first, 1);
    search_free(search);
}

/* Its own steps before it show that it was slow, although they are too few for a quartile. */
static void one_sender_in_most_steps(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 16, 2, 1, 4, SENT_STEPS - 1));
    assert_true(search->found.may[2]);
    assert_int_equal(search->found.steps.first, 4);
    search_free(search);
}

/* Of two hosts of one rank each: one other sender is enough. */
static void one_of_two_in_all_steps(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_true(search_init(search, 2, 1, 1, 0, SENT_STEPS - 1));
    assert_true(search->found.is_steady && search->found.may[1]);
    assert_int_equal(search->found.count, 1);
    search_free(search);
}

/* It is as fast as the others in a step: what varies is no fault in all steps. */
static void one_sender_in_all_steps_but_one(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 0, 0, 0, 0);
    slow_down(&search->sent, 2, 0, SENT_STEPS / 2 - 1, 1);
    slow_down(&search->sent, 2, SENT_STEPS / 2 + 1, SENT_STEPS - 1, 1);
    assert_false(search_find(search) && search->found.is_steady);
    search_free(search);
}

/* Connections are established in step 0. */
static void slow_in_the_warm_up(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_false(search_init(search, 8, 1, 1, 0, 0));
    search_free(search);
}

static void one_sender_in_every_third_step(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 8, 0, 0, 0, 0);
    slow_down(&search->sent, 2, 1, SENT_STEPS - 1, 3);
    assert_true(search_find(search));
    assert_int_equal(search->found.count, 1);
    assert_true(search->found.may[2]);
    assert_int_equal(search->found.steps.first, 1);
    assert_int_equal(search->found.steps.period, 3);
    search_free(search);
}

/* All that is sent to rank 0, from three hosts. Their other sends are not slow. */
static void one_receiver(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 0, 0, 0, 0);
    for (size_t i = 0; i < search->sent.edges.count; i++)
        if (search->sent.items[i].sender == 4 || search->sent.items[i].sender == 8)
            search->sent.items[i].receiver = 0;
    for (int32_t rank = 4; rank <= 12; rank += 4)
        slow_down(&search->sent, rank, SENT_FIRST, SENT_LAST, 1);
    assert_true(search_find(search));
    assert_int_equal(search->found.unit, NETWORK_RANK);
    assert_true(search->found.receives && search->found.may[0]);
    assert_int_equal(search->found.count, 1);
    assert_int_equal(search->found.slow_links, 3);
    search_free(search);
}

/* Hosts 0 and 1 (ranks 0 to 7) send to hosts 2 and 3 through a switch, and back. */
static void all_links_of_a_switch(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 4, 4, SENT_FIRST, SENT_LAST);
    slow_down_host(&search->sent, 12, SENT_FIRST, SENT_LAST);
    assert_true(search_find(search));
    assert_int_equal(search->found.unit, NETWORK_HOSTS);
    assert_int_equal(search->found.count, 8);
    assert_true(search->found.may[4] && search->found.may[15] && !search->found.may[0]);
    assert_int_equal(search->found.slow_links, 8);
    search_free(search);
}

/* Half of all links. */
static void all_links_of_a_switch_in_all_steps(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 4, 4, 0, SENT_STEPS - 1);
    slow_down_host(&search->sent, 12, 0, SENT_STEPS - 1);
    assert_true(search_find(search));
    assert_true(search->found.is_steady);
    assert_int_equal(search->found.unit, NETWORK_HOSTS);
    assert_int_equal(search->found.count, 8);
    assert_int_equal(search->found.slow_links, 8);
    search_free(search);
}

/* Only ranks 4 and 12, across the switch, exchange as few bytes: nothing shows that this takes long. */
static void links_of_a_switch_without_others(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 4, 4, 0, SENT_STEPS - 1);
    slow_down_host(&search->sent, 12, 0, SENT_STEPS - 1);
    for (size_t i = 0; i < search->sent.edges.count; i++)
        if (search->sent.items[i].sender == 4 || search->sent.items[i].sender == 12)
            search->sent.operations[i].bytes = 16;
    assert_true(search_find(search));
    assert_int_equal(search->found.unit, NETWORK_HOSTS);
    assert_int_equal(search->found.count, 8);
    assert_true(search->found.may[4] && search->found.may[12]);
    assert_int_equal(search->found.slow_links, 6);
    search_free(search);
}

/* Rank 4 sends few bytes, which a switch delays much more, but only at times. */
static void a_link_of_a_switch_is_much_slower(void **state)
{
    struct search *search = search_new();
    (void)state;
    sent_init(&search->sent, 16, 5, 3, SENT_FIRST, SENT_LAST);
    slow_down_host(&search->sent, 12, SENT_FIRST, SENT_LAST);
    for (size_t i = 0; i < search->sent.edges.count; i++)
        if (search->sent.items[i].sender == 4)
            search->sent.operations[i].bytes = 16;
    for (int i = 0; i < 7; i++)
        slow_down(&search->sent, 4, SENT_FIRST + 1, SENT_LAST, 2);
    assert_true(search_find(search));
    assert_int_not_equal(search->groups.items[search->found.group].rank, 4);
    assert_int_equal(search->found.unit, NETWORK_HOSTS);
    assert_int_equal(search->found.slow_links, 8);
    search_free(search);
}

static void no_sender(void **state)
{
    struct search *search = search_new();
    (void)state;
    assert_false(search_init(search, 8, 0, 0, 0, 0));
    search_free(search);
}

/* What a finding explains is not found again. */
static void what_is_told(void **state)
{
    struct search *search = search_new();
    (void)state;
    for (size_t i = 0; i < sizeof search->told_edges; i++)
        search->told_edges[i] = i % 8 == 3;
    assert_false(search_init(search, 8, 3, 1, SENT_FIRST, SENT_LAST));
    search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_sender),
                                       cmocka_unit_test(all_that_a_host_sends),
                                       cmocka_unit_test(all_links),
                                       cmocka_unit_test(one_sender_in_all_steps),
                                       cmocka_unit_test(one_sender_in_most_steps),
                                       cmocka_unit_test(one_of_two_in_all_steps),
                                       cmocka_unit_test(one_sender_in_all_steps_but_one),
                                       cmocka_unit_test(slow_in_the_warm_up),
                                       cmocka_unit_test(one_sender_in_every_third_step),
                                       cmocka_unit_test(one_receiver),
                                       cmocka_unit_test(all_links_of_a_switch),
                                       cmocka_unit_test(all_links_of_a_switch_in_all_steps),
                                       cmocka_unit_test(links_of_a_switch_without_others),
                                       cmocka_unit_test(a_link_of_a_switch_is_much_slower),
                                       cmocka_unit_test(no_sender),
                                       cmocka_unit_test(what_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
