#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/slow_links.h"

#include <stdlib.h>

/* Which rank is at fault for slow links. */

/*
 * One AllReduce of four ranks by a ring, in step 2 of four, and the wait of each link above its baseline.
 * Returns the rank at fault, -1 for none.
 */
/* `joined` of the ranks started it; it ended at 5000, or never if that is TIME_UNKNOWN. */
static int32_t culprit_where(const int64_t extra_ns[RANKS], int32_t joined, int64_t end_ns)
{
    struct job_operation operations[RANKS];
    int32_t members[RANKS];
    struct edge items[RANKS];
    size_t first[2] = {0, RANKS};
    struct job_instance instance = {.function = FUNCTION_ALL_REDUCE,
                                    .members = joined,
                                    .expected = RANKS,
                                    .transfer_ns = end_ns,
                                    .step = 2};
    struct transfer_excess transfer = {.beyond_ns = TIME_UNKNOWN, .culprit = -1};
    for (int32_t i = 0; i < RANKS; i++) {
        members[i] = i;
        operations[i] = (struct job_operation){.rank = i, .step = 2, .previous = -1, .end_ns = end_ns};
        items[i] = (struct edge){.sender = i,
                                 .receiver = (i + 1) % RANKS,
                                 .wait_ns = extra_ns[i] + 10,
                                 .extra_ns = extra_ns[i],
                                 .busy_ns = extra_ns[i] + 10,
                                 .over_ns = extra_ns[i],
                                 .step = 2};
    }
    struct job job = {.rank_count = RANKS,
                      .operations = operations,
                      .operation_count = RANKS,
                      .instances = &instance,
                      .instance_count = 1,
                      .instance_members = members,
                      .step_count = 4};
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&job, &error), 0);
    struct edges edges = {.items = items, .count = RANKS, .first = first};
    int32_t role_of_rank[RANKS] = {-1, -1, -1, -1};
    struct baseline baseline = {
        .step_count = 4, .first_step = 1, .median_step_ns = 10000, .role_of_rank = role_of_rank};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct suspects suspects = {0};
    assert_int_equal(suspect_network(&suspects, &job, &baseline, &edges, &transfer, &options, &error), 0);
    free(suspects.items);
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return transfer.culprit;
}

static int32_t culprit_of(const int64_t extra_ns[RANKS])
{
    return culprit_where(extra_ns, RANKS, 5000);
}

static void one_slow_edge_is_its_senders(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 0}), 1);
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 1900}), 1);
}

/*
 * Rank 2 neither receives from rank 1 nor sends to rank 3 in time: together these are the whole wait, each
 * alone is half.
 */
static void a_rank_that_stands_still_is_between_its_edges(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){0, 3900, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){4000, 0, 0, 4000}), 0);
}

/* Links without a common rank, or three in a row that two ranks explain equally, are not attributed. */
static void else_nobody(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){4000, 4000, 4000, 4000}), -1);
}

/*
 * Rank 2 sends to a rank that never joined. That is no slow link, unless others continued without it, or it
 * ended.
 */
static void sends_to_who_never_came(void **state)
{
    const int64_t extra_ns[] = {0, 0, 4000, 0};
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, TIME_UNKNOWN), -1);
    assert_int_equal(culprit_where(extra_ns, RANKS, TIME_UNKNOWN), 2);
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, 5000), 2);
}

/*
 * Two sends to rank 2 in a step, by ranks 0 and 1, slow by 4000 and by the given time: which rank is at fault
 * for the first?
 */
static int32_t culprit_of_two(int64_t second_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    suspect_by(&network, (const struct sent[]){{0, 0, 2, 4000, 4000, 0}, {1, 1, 2, second_ns, second_ns, 0}},
               2);
    int32_t culprit = network.transfers[0].culprit;
    network_release(&network);
    return culprit;
}

/* A receiver must explain more than 1.5 times as much as any sender. */
static void a_receiver_or_its_senders(void **state)
{
    assert_int_equal(culprit_of_two(2000), 0);
    assert_int_equal(culprit_of_two(2001), 2);
    assert_int_equal(culprit_of_two(4000), 2);
}

/*
 * In step 3 and in another one ranks 0 and 1 send to rank 2, slow by 4000 and 2000, and rank 0 sends to rank
 * 3, slow by the given time. Returns the rank at fault for the send from rank 0 to rank 2 in step 3.
 */
static int32_t culprit_of_four(int32_t other_step, int64_t elsewhere_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, 3, other_step, other_step, other_step, -1});
    suspect_by(&network,
               (const struct sent[]){{0, 0, 2, 4000, 4000, 0},
                                     {1, 1, 2, 2000, 2000, 0},
                                     {2, 0, 3, elsewhere_ns, elsewhere_ns, 0},
                                     {3, 0, 2, 4000, 4000, 0},
                                     {4, 1, 2, 2000, 2000, 0},
                                     {5, 0, 3, elsewhere_ns, elsewhere_ns, 0}},
               6);
    int32_t culprit = network.transfers[0].culprit;
    assert_int_equal(network.transfers[3].culprit, culprit);
    assert_int_equal(network.transfers[1].culprit, culprit == 2 ? 2 : 1);
    network_release(&network);
    return culprit;
}

/*
 * Two ranks that send to no other rank as slowly, in two consecutive steps: three quarters of it to the same
 * rank.
 */
static void senders_with_a_receiver_in_common(void **state)
{
    assert_int_equal(culprit_of_four(4, 0), 2);
    assert_int_equal(culprit_of_four(4, 1333), 2);
    assert_int_equal(culprit_of_four(4, 1334), 0);
    assert_int_equal(culprit_of_four(5, 0), 0);
}

/*
 * In step 3 ranks 0 and 1 send to rank 2 alone, slow by 4000 and 2000; in another step `sender` sends to
 * `receiver`, and perhaps rank 1 as well, slow by 3000. Returns the rank at fault for the first.
 */
static int32_t culprit_beside(int32_t other_step, int32_t sender, int32_t receiver, int is_several)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, other_step, other_step, -1});
    suspect_by(&network,
               (const struct sent[]){{0, 0, 2, 4000, 4000, 0},
                                     {1, 1, 2, 2000, 2000, 0},
                                     {2, sender, receiver, 3000, 3000, 0},
                                     {3, 1, receiver, 3000, 3000, 0}},
               is_several ? 4 : 3);
    int32_t culprit = network.transfers[0].culprit;
    network_release(&network);
    return culprit;
}

/* Or next to one step in which that rank is at fault for what was sent to it. */
static void beside_a_step_of_the_receiver(void **state)
{
    assert_int_equal(culprit_beside(4, 0, 2, 1), 2);
    assert_int_equal(culprit_beside(2, 0, 2, 1), 2);
    assert_int_equal(culprit_beside(5, 0, 2, 1), 0);
    assert_int_equal(culprit_beside(1, 0, 2, 1), 0);
    for (int32_t step = 2; step <= 4; step += 2) {
        /* Another rank receives slowly; that rank sends slowly, or one sender to it does. */
        assert_int_equal(culprit_beside(step, 0, 3, 1), 0);
        assert_int_equal(culprit_beside(step, 2, 3, 0), 0);
        assert_int_equal(culprit_beside(step, 0, 2, 0), 0);
    }
}

/* The rank at fault for one instance, which is slow by 5000. */
static int32_t culprit_among(const struct sent *sent, size_t count)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    network.transfers[0].slow_ns = network.transfers[0].beyond_ns = 5000;
    suspect_by(&network, sent, count);
    int32_t culprit = network.transfers[0].culprit;
    network_release(&network);
    return culprit;
}

static void waiting_that_explains_half(void **state)
{
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 2500, 0, 0}}, 1), 1);
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 2499, 0, 0}}, 1), -1);
}

/* If a link stands out by the time for which it was busy, the waits of others prove nothing. */
static void a_slow_link_beside_longer_waiting(void **state)
{
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 4000, 4000, 0}, {0, 3, 0, 9000, 0, 0}}, 2),
                     1);
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 4000, 0, 0}, {0, 3, 0, 9000, 0, 0}}, 2),
                     3);
}

/*
 * If one end accounts for two thirds of the wait, other traffic of the rank at the other end of the slowest
 * link does not matter: rank 1 sends 4000 of 5900, or receives 6000 of 9000.
 */
static void an_end_that_explains_it_alone(void **state)
{
    assert_int_equal(
        culprit_among(
            (const struct sent[]){{0, 1, 2, 2100, 0, 0}, {0, 1, 3, 1900, 0, 0}, {0, 2, 0, 1900, 0, 0}}, 3),
        1);
    assert_int_equal(culprit_among((const struct sent[]){{0, 2, 1, 5500, 0, 0},
                                                         {0, 3, 1, 500, 0, 0},
                                                         {0, 0, 2, 1500, 0, 0},
                                                         {0, 3, 2, 1500, 0, 0}},
                                   4),
                     1);
    /* Two thirds are enough. */
    assert_int_equal(
        culprit_among(
            (const struct sent[]){{0, 1, 2, 2000, 0, 0}, {0, 1, 3, 2000, 0, 0}, {0, 2, 0, 2000, 0, 0}}, 3),
        1);
}

/*
 * Rank 0 sends over a link that waits for 10000 and receives over one that does: 20000. Rank 1 has the first
 * of these and one of its own, with which it may account for three quarters of that, or less.
 */
static void a_rank_that_another_comes_near(void **state)
{
    struct sent sent[] = {{0, 0, 1, 10000, 0, 0}, {0, 2, 0, 10000, 0, 0}, {0, 1, 3, 4999, 0, 0}};
    assert_int_equal(culprit_among(sent, 3), 0);
    sent[2].extra_ns = 5000;
    assert_int_equal(culprit_among(sent, 3), -1);
}

/* All six links of rank 0 have 420 of 630, two thirds; or of 631. No other rank comes close. */
static void a_rank_all_of_whose_edges_wait(void **state)
{
    struct sent sent[] = {{0, 0, 1, 700, 0, 0}, {0, 0, 2, 700, 0, 0}, {0, 0, 3, 700, 0, 0},
                          {0, 1, 0, 700, 0, 0}, {0, 2, 0, 700, 0, 0}, {0, 3, 0, 700, 0, 0},
                          {0, 1, 2, 600, 0, 0}, {0, 2, 3, 600, 0, 0}, {0, 3, 1, 600, 0, 0},
                          {0, 2, 1, 300, 0, 0}};
    assert_int_equal(culprit_among(sent, 10), 0);
    sent[9].extra_ns = 301;
    assert_int_equal(culprit_among(sent, 10), -1);
}

/* This many instances of step 3, and again of step 4, each with these links; the rank at fault for each. */
struct share {
    int32_t instance; /* of one step */
    int32_t sender;
    int32_t receiver;
    int64_t over_ns;
};

static void assert_blamed(const struct share *shares, size_t count, int in_two_steps, const int32_t *culprits)
{
    struct network network;
    struct sent sent[EDGES];
    int32_t step_of[INSTANCES + 1], each = shares[count - 1].instance + 1;
    size_t edges = 0;
    for (int32_t step = 0; step <= in_two_steps; step++) {
        for (int32_t i = 0; i < each; i++)
            step_of[step * each + i] = 3 + step;
        for (size_t i = 0; i < count; i++)
            sent[edges++] = (struct sent){step * each + shares[i].instance,
                                          shares[i].sender,
                                          shares[i].receiver,
                                          shares[i].over_ns,
                                          shares[i].over_ns,
                                          0};
    }
    step_of[each * (1 + in_two_steps)] = -1;
    network_init(&network, step_of);
    for (size_t i = 0; i < network.job.operation_count; i++)
        network.operations[i].end_ns = 50000;
    suspect_by(&network, sent, edges);
    for (int32_t i = 0; i < each * (1 + in_two_steps); i++)
        assert_int_equal(network.transfers[i].culprit, culprits[i % each]);
    network_release(&network);
}

/*
 * The end that explains most is blamed for everything that it explains, then the next one. In the following,
 * a rank sends or receives the given number of thousands.
 */
static void the_end_that_explains_most(void **state)
{
    /* Rank 3 receives 8, rank 0 sends 4 of them; the sends of rank 2 are no part of that. */
    assert_blamed((const struct share[]){{0, 0, 3, 4000}, {1, 1, 3, 4000}, {2, 2, 1, 100}}, 3, 0,
                  (const int32_t[]){3, 3, 2});
    /* Rank 0 receives 8. */
    assert_blamed((const struct share[]){{0, 1, 0, 4000}, {1, 2, 0, 4000}, {2, 3, 1, 100}}, 3, 0,
                  (const int32_t[]){0, 0, 3});
    /* Rank 0 sends 5. Of the rest rank 2 receives 4; what it received from rank 0 is explained. */
    assert_blamed((const struct share[]){{0, 0, 2, 1000}, {1, 0, 3, 4000}, {2, 1, 2, 2000}, {3, 3, 2, 2000}},
                  4, 0, (const int32_t[]){0, 0, 2, 2});
    /* Rank 2 receives 8. Rank 3 receives the same from two ranks, neither of which sends two thirds of it. */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 1, 2, 4000}, {2, 0, 3, 100}, {2, 1, 3, 100}}, 4,
                  0, (const int32_t[]){2, 2, 3});
    /* Rank 0 sends 8. Rank 1 sends the same to two ranks. */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 0, 3, 4000}, {2, 1, 2, 100}, {2, 1, 3, 100}}, 4,
                  0, (const int32_t[]){0, 0, 1});
}

/* In two consecutive steps. */
static void who_has_a_receiver_in_common(void **state)
{
    /* Two sends of one rank are not two senders. */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 0, 2, 4000}}, 2, 1, (const int32_t[]){0, 0});
    /*
     * Ranks 0 and 1 send almost everything to rank 2; rank 2 is not at fault for what rank 0 sent to rank 3.
     */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 1, 2, 2000}, {2, 0, 3, 1000}}, 3, 1,
                  (const int32_t[]){2, 2, 0});
    /* Ranks 1 and 2 to rank 0. */
    assert_blamed((const struct share[]){{0, 1, 0, 4000}, {1, 2, 0, 2000}, {2, 1, 3, 1000}}, 3, 1,
                  (const int32_t[]){0, 0, 1});
    /* Rank 3 sends half to rank 1: its sends are slow, also those to rank 2. */
    assert_blamed(
        (const struct share[]){
            {0, 0, 2, 4000}, {1, 1, 2, 2000}, {2, 3, 1, 3000}, {3, 3, 2, 1500}, {4, 3, 0, 1500}},
        5, 1, (const int32_t[]){2, 2, 3, 3, 3});
    /* Or less than three quarters to rank 2. */
    assert_blamed((const struct share[]){{0, 0, 2, 3000}, {1, 1, 2, 1500}, {2, 3, 2, 3000}, {3, 3, 1, 2000}},
                  4, 1, (const int32_t[]){2, 2, 3, 3});
    /* The same if it sends almost everything to rank 1, which no other rank does. */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 1, 2, 2000}, {2, 3, 1, 5000}, {3, 3, 2, 1000}},
                  4, 1, (const int32_t[]){2, 2, 3, 3});
    /* In any order. */
    assert_blamed((const struct share[]){{0, 0, 3, 1000}, {1, 0, 2, 2000}, {2, 1, 2, 2000}, {3, 0, 2, 2000}},
                  4, 1, (const int32_t[]){0, 2, 2, 2});
    /* Rank 1 sends too little to show the same slowness; a quarter is enough. */
    assert_blamed((const struct share[]){{0, 0, 2, 8000}, {1, 1, 2, 1990}}, 2, 1, (const int32_t[]){0, 1});
    assert_blamed((const struct share[]){{0, 1, 2, 1990}, {1, 0, 2, 8000}}, 2, 1, (const int32_t[]){1, 0});
    assert_blamed((const struct share[]){{0, 0, 2, 8000}, {1, 1, 2, 2000}}, 2, 1, (const int32_t[]){2, 2});
    /* Of three, two of them do. */
    assert_blamed((const struct share[]){{0, 0, 2, 8000}, {1, 1, 2, 1000}, {2, 3, 2, 4000}}, 3, 1,
                  (const int32_t[]){2, 2, 2});
    /*
     * Slow sends of rank 0 to several ranks remain its own fault, unless one rank is found to receive slowly.
     */
    assert_blamed((const struct share[]){{0, 0, 2, 4000}, {1, 0, 1, 500}, {1, 0, 3, 500}}, 3, 1,
                  (const int32_t[]){0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slow_edge_is_its_senders),
        cmocka_unit_test(a_rank_that_stands_still_is_between_its_edges),
        cmocka_unit_test(else_nobody),
        cmocka_unit_test(sends_to_who_never_came),
        cmocka_unit_test(a_receiver_or_its_senders),
        cmocka_unit_test(senders_with_a_receiver_in_common),
        cmocka_unit_test(beside_a_step_of_the_receiver),
        cmocka_unit_test(waiting_that_explains_half),
        cmocka_unit_test(a_slow_link_beside_longer_waiting),
        cmocka_unit_test(an_end_that_explains_it_alone),
        cmocka_unit_test(a_rank_all_of_whose_edges_wait),
        cmocka_unit_test(a_rank_that_another_comes_near),
        cmocka_unit_test(the_end_that_explains_most),
        cmocka_unit_test(who_has_a_receiver_in_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
