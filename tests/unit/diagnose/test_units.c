#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "diagnose/score.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* Which ranks may be at fault together: eight ranks, on two hosts if their clocks show it. */

enum { RANKS = 8 };

static void divide(struct partitions *partitions, const int *clocks, struct edge *edge)
{
    struct job_rank ranks[RANKS] = {{0}};
    for (int rank = 0; clocks && rank < RANKS; rank++)
        ranks[rank].clock = clocks[rank];
    const struct job job = {.rank_count = RANKS, .ranks = ranks};
    const struct edges edges = {.items = edge, .count = edge != NULL};
    assert_int_equal(partitions_init(partitions, &job, &edges), 0);
}

/* Each rank, and blocks of two and of four: half of the job. */
static void blocks(void **state)
{
    struct partitions partitions;
    divide(&partitions, NULL, NULL);
    assert_int_equal(partitions.count, 3);
    assert_int_equal(partitions.items[0].kind, UNIT_RANK);
    assert_int_equal(partitions.items[0].count, RANKS);
    assert_int_equal(partitions.items[1].count, 4);
    assert_int_equal(partitions.items[2].count, 2);
    assert_int_equal(partitions.items[2].unit_of[3], 0);
    assert_int_equal(partitions.items[2].unit_of[4], 1);
    assert_int_equal(unit_size(&partitions.items[2], 1), 4);
    assert_int_equal(partitions.items[2].ranks[partitions.items[2].first[1]], 4);
    partitions_release(&partitions);
}

/* Ranks that use the network between them are on two hosts: 2 and 3 are in no block of two. */
static void no_edge_of_the_network_within_a_block(void **state)
{
    struct partitions partitions;
    struct edge across = {.sender = 3, .receiver = 4}, within = {.sender = 3, .receiver = 2};
    divide(&partitions, NULL, &across);
    assert_int_equal(partitions.count, 3);
    assert_false(partitions.items[1].is_host);
    assert_true(partitions.items[2].is_host);
    partitions_release(&partitions);
    divide(&partitions, NULL, NULL);
    assert_false(partitions.items[2].is_host);
    partitions_release(&partitions);
    divide(&partitions, NULL, &within);
    assert_int_equal(partitions.count, 1);
    partitions_release(&partitions);
}

static void hosts_by_their_clocks(void **state)
{
    struct partitions partitions;
    const int clocks[RANKS] = {0, 0, 0, 1, 1, 1, 1, 0};
    divide(&partitions, clocks, NULL);
    const struct partition *hosts = &partitions.items[1];
    assert_int_equal(hosts->kind, UNIT_HOST);
    assert_true(hosts->is_host);
    assert_int_equal(hosts->count, 2);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(hosts->unit_of[rank], clocks[rank]);
    assert_int_equal(unit_size(hosts, 0), 4);
    partitions_release(&partitions);
}

static size_t count_hosts(const char *const *names, const int *clocks)
{
    struct job_rank ranks[RANKS] = {{0}};
    struct partitions partitions;
    for (int rank = 0; rank < RANKS; rank++) {
        ranks[rank].clock = clocks ? clocks[rank] : rank;
        if (names[rank])
            assert_non_null(ranks[rank].facts.host = strdup(names[rank]));
    }
    const struct job job = {.rank_count = RANKS, .ranks = ranks};
    const struct edges edges = {.count = 0};
    assert_int_equal(partitions_init(&partitions, &job, &edges), 0);
    size_t hosts = partitions.items[1].kind == UNIT_HOST ? partitions.items[1].count : 0;
    partitions_release(&partitions);
    for (int rank = 0; rank < RANKS; rank++)
        free(ranks[rank].facts.host);
    return hosts;
}

/* If clocks do not show it; but not if one has no name, nor if each has its own. */
static void hosts_by_their_names(void **state)
{
    const char *const two[RANKS] = {"a", "a", "a", "a", "b", "b", "b", "b"};
    const char *const three[RANKS] = {"a", "a", "c", "c", "b", "b", "a", "b"};
    const char *const unknown[RANKS] = {"a", "a", "a", "a", "b", "b", "b", NULL};
    const char *const own[RANKS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const char *const same[RANKS] = {"a", "a", "a", "a", "a", "a", "a", "a"};
    const int clocks[RANKS] = {0, 0, 0, 0, 1, 1, 2, 3};
    assert_int_equal(count_hosts(two, NULL), 2);
    assert_int_equal(count_hosts(three, NULL), 3);
    assert_int_equal(count_hosts(unknown, NULL), 0);
    assert_int_equal(count_hosts(own, NULL), 0);
    assert_int_equal(count_hosts(same, NULL), 0);
    assert_int_equal(count_hosts(two, clocks), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks), cmocka_unit_test(no_edge_of_the_network_within_a_block),
        cmocka_unit_test(hosts_by_their_clocks), cmocka_unit_test(hosts_by_their_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
