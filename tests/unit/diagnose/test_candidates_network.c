#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/slow_links.h"
#include "support/spoken.h"

#include <math.h>
#include <stdlib.h>

static struct rule_results last_read;

/*
 * Rank 0's link is slow by the given time in each step except the last, and there by `last_ns`: are the
 * connections still ramping up?
 */
static int may_be_warm_up(int32_t first_step, int32_t last_step, int64_t each_ns, int64_t last_ns)
{
    struct network network;
    struct sent sent[STEPS];
    size_t count = 0;
    network_init(&network, (const int32_t[]){0, 1, 2, 3, 4, 5, -1});
    for (int32_t step = first_step; step <= last_step; step++) {
        int64_t slow_ns = step < last_step ? each_ns : last_ns;
        sent[count++] = (struct sent){step, 0, 1, slow_ns, slow_ns, 0};
        for (int32_t rank = 0; rank < RANKS; rank++)
            network.operations[step * RANKS + rank].end_ns = 50000;
    }
    suspect_by(&network, sent, count);
    assert_int_equal(network.suspects.count, 1);
    assert_int_equal(network.suspects.items[0].first_step, first_step);
    assert_int_equal(network.suspects.items[0].last_step, last_step);
    last_read = network.suspects.items[0].rule_results;
    int is_doubted = is_doubted_at_all(&network.suspects.items[0]);
    network_release(&network);
    return is_doubted;
}

/* Slow from the first step after the warm-up and not later, but not by a whole step in each of several. */
static void connections_get_up_to_speed(void **state)
{
    assert_true(may_be_warm_up(1, 3, 9999, 9999));
    assert_speaks(&last_read, RULE_CONNECTING);
    assert_false(may_be_warm_up(1, 3, 10000, 10000));
    assert_quiet(&last_read, RULE_CONNECTING);
    assert_false(may_be_warm_up(2, 3, 9999, 9999));
    assert_false(may_be_warm_up(1, 5, 9999, 9999));
}

/* By how much a send was slow whose link was busy for 4000 too long, to a receive that took 1000. */
static int64_t slow_send_ns(enum end_kind ends)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    network.instances[0].function = FUNCTION_SEND;
    network.instances[0].members = network.instances[0].expected = 2;
    for (int32_t rank = 0; rank < RANKS; rank++)
        network.operations[rank].group = rank;
    network.operations[0].function = FUNCTION_SEND;
    network.operations[1].function = FUNCTION_RECV;
    network.operations[1].start_ns = 4000;
    network.operations[1].ends = (uint8_t)ends;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}}, 1);
    int64_t slow_ns = network.transfers[0].slow_ns;
    network_release(&network);
    return slow_ns;
}

/* Before the receiver arrived, the sender waited for it, not for the network. */
static void no_longer_than_the_receive(void **state)
{
    assert_int_equal(slow_send_ns(ENDS_BY_KERNEL), 1000);
    assert_int_equal(slow_send_ns(ENDS_BY_PROXY), 1000);
    assert_int_equal(slow_send_ns(ENDS_BY_HOST), 4000);
}

/* A link that delays only some members: by at most the longest duration among them. */
static void no_longer_than_its_members(void **state)
{
    for (int some = 0; some < 2; some++) {
        struct network network;
        network_init(&network, (const int32_t[]){3, -1});
        network.operations[2].end_ns = 3000 + 1000 * some;
        network.operations[0].end_ns = network.operations[1].end_ns = network.operations[3].end_ns = 1000;
        network.instances[0].transfer_ns = some ? 1000 : 3500;
        suspect_by(&network, (const struct sent[]){{0, 1, 2, 3500, 3500, 0}}, 1);
        assert_int_equal(network.transfers[0].slow_ns, some ? 3500 : 3000);
        assert_int_equal(network.transfers[0].some_ns, some ? 3500 : 0);
        network_release(&network);
    }
}

/* Nothing is known about a member without a recorded end. */
static void no_longer_than_what_is_known_of_members(void **state)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    for (int rank = 0; rank < RANKS; rank++) {
        network.operations[rank].start_ns = 100;
        network.operations[rank].end_ns = rank ? TIME_UNKNOWN : 1100;
    }
    suspect_by(&network, (const struct sent[]){{0, 1, 2, 3500, 3500, 0}}, 1);
    assert_int_equal(network.transfers[0].slow_ns, 1000);
    network_release(&network);
}

/*
 * All members except one were there: 0 for 1000 by its kernel, the others for 900, while a link was slow by
 * 3500.
 */
static void network_init_early(struct network *network, int64_t next_ns)
{
    network_init(network, (const int32_t[]){3, 3, -1});
    for (int rank = 0; rank < RANKS; rank++)
        network->operations[rank].end_ns = rank ? 900 : 1000;
    network->instances[0].transfer_ns = 900;
    network->instances[0].members = RANKS - 1;
    network->operations[RANKS].previous = next_ns == TIME_UNKNOWN ? -1 : 0;
    network->operations[RANKS].start_ns = next_ns;
}

static int64_t slow_by_link(struct network *network)
{
    suspect_by(network, (const struct sent[]){{0, 1, 2, 3500, 3500, 0}}, 1);
    int64_t slow_ns = network->transfers[0].slow_ns;
    network_release(network);
    return slow_ns;
}

/*
 * A leaf of a tree has an early stop, and a kernel with a channel without a stop may have had later stops
 * than the recorded ones: it was occupied until the next operation of its stream began.
 */
static void no_longer_than_until_the_next(void **state)
{
    static const int64_t next_ns[] = {TIME_UNKNOWN, 3000, 9000},
                         expected[3][3] = {{1000, 1000, 1000}, {1000, 3000, 3500}, {1000, 3000, 3500}};
    for (unsigned why = 0; why < 3; why++)
        for (int i = 0; i < 3; i++) {
            struct network network;
            network_init_early(&network, next_ns[i]);
            network.operations[0].is_tree = why == 1;
            network.operations[0].incomplete = why == 2;
            assert_int_equal(slow_by_link(&network), expected[why][i]);
        }
}

/* No times are known, and one member never joined: the link waited for it, unless another rank continued. */
static void not_for_want_of_a_member(void **state)
{
    for (int went_on = 0; went_on < 2; went_on++) {
        struct network network;
        network_init_early(&network, went_on ? 9000 : TIME_UNKNOWN);
        for (int rank = 0; rank < RANKS; rank++)
            network.operations[rank].start_ns = network.operations[rank].end_ns = TIME_UNKNOWN;
        assert_int_equal(slow_by_link(&network), went_on ? 3500 : 0);
    }
}

/*
 * In step 3 rank 0's link is slow by 4000. Another operation, for which no rank is blamed, took longer than
 * its baseline by the given time; a link of `sender` waited in it for 2000, `extra_ns` above the baseline,
 * 800 of it at once: returns how much of it counts for rank 0.
 */
static int64_t widened_by(int32_t sender, int64_t beyond_ns, int64_t extra_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    network.transfers[1].beyond_ns = beyond_ns;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, sender, 2, extra_ns, 0, 2000}},
               2);
    int64_t slow_ns = network.transfers[1].culprit == 0 ? network.transfers[1].slow_ns : 0;
    assert_int_equal(network.transfers[1].culprit, slow_ns ? 0 : -1);
    network_release(&network);
    return slow_ns;
}

/*
 * In step 3 another operation took 300 longer, in which the link from rank 3 to 0 waited for 10 above its
 * baseline.
 */
static int32_t culprit_beside(int64_t over_ns, int64_t *slow_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    network.transfers[1].beyond_ns = 300;
    suspect_by(&network,
               (const struct sent[]){
                   {0, 0, 1, 4000, 4000, 0}, {1, 3, 2, over_ns, over_ns, 0}, {1, 3, 0, 10, 0, 2000}},
               3);
    int32_t culprit = network.transfers[1].culprit;
    *slow_ns = network.transfers[1].slow_ns;
    network_release(&network);
    return culprit;
}

/* Its receives count as well; but not what another rank is blamed for. */
static void what_it_received(void **state)
{
    int64_t slow_ns;
    assert_int_equal(culprit_beside(0, &slow_ns), 0);
    assert_int_equal(slow_ns, 300);
    assert_int_equal(culprit_beside(3000, &slow_ns), 3);
    assert_int_equal(slow_ns, 3000);
}

static void what_else_it_sent(void **state)
{
    assert_int_equal(widened_by(0, 300, 10), 300);
    assert_int_equal(widened_by(3, 300, 10), 0);
    assert_int_equal(widened_by(0, 300, 0), 0);
    assert_int_equal(widened_by(0, 300, -10), 0);
    assert_int_equal(widened_by(0, TIME_UNKNOWN, 1500), 0);
    /*
     * No longer than the baseline, because that is slow for the same reason: if it waited twice as long as
     * the baseline itself.
     */
    assert_int_equal(widened_by(0, -5, 1000), 0);
    assert_int_equal(widened_by(0, -5, 1001), 800);
}

/*
 * Two links of an operation without a common rank delayed some members by 4000, of which all members show
 * 1000. Rank 0, which one of them leads to, is blamed elsewhere: the operation counts as its fault, too, in
 * full.
 */
static void what_held_some_of_what_else_it_sent(void **state)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    network.transfers[1].slow_ns = network.transfers[1].beyond_ns = 1000;
    network.instances[1].transfer_ns = 2000;
    suspect_by(
        &network,
        (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, 1, 2, 4000, 4000, 0}, {1, 3, 0, 4000, 4000, 0}},
        3);
    assert_int_equal(network.transfers[1].culprit, 0);
    assert_int_equal(network.transfers[1].slow_ns, 4000);
    assert_int_equal(network.transfers[1].some_ns, 3000);
    network_release(&network);
}

/*
 * Rank 0's link is slow by 4000 in step 4; in another step an operation took longer by 3000, or had no link.
 */
static double ahead_of_one_in(int32_t step, int has_edge)
{
    struct network network;
    network_init(&network, (const int32_t[]){4, step, -1});
    network.transfers[1].beyond_ns = 3000;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, 2, 3, 10, 0, 0}},
               has_edge ? 2 : 1);
    assert_int_equal(network.suspects.count, 1);
    double ahead = network.suspects.items[0].ahead;
    network_release(&network);
    return ahead;
}

/* The transfer of step 2 took 100 longer, a link of it 3500: the other one is compared with that. */
static void a_slow_link_says_what_is_usual(void **state)
{
    struct network network;
    network_init(&network, (const int32_t[]){4, 2, -1});
    network.transfers[1].beyond_ns = 100;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, 2, 3, 3500, 3500, 0}}, 2);
    assert_int_equal(network.suspects.count, 2);
    for (size_t i = 0; i < 2; i++)
        if (network.suspects.items[i].rank == 0)
            assert_true(fabs(network.suspects.items[i].ahead - 4000.0 / 3500) < 1e-9);
    network_release(&network);
}

/*
 * What it is compared with: all transfers on links that took longer, except in the first step after the
 * warm-up; if there are none, the minimum of 1.5 % of a step.
 */
static void other_transfers_say_what_is_usual(void **state)
{
    assert_true(fabs(ahead_of_one_in(2, 1) - 4000.0 / 3000) < 1e-9);
    assert_true(fabs(ahead_of_one_in(1, 1) - 4000.0 / 150) < 1e-9);
    assert_true(fabs(ahead_of_one_in(2, 0) - 4000.0 / 150) < 1e-9);
}

/*
 * Rank 0's link is slow by 4000 in step 3, in an operation whose shortest member has the given duration and
 * that is at the given of two positions; another of its links is slow by the given time at the first
 * position. Returns whether the next step shows it.
 */
static int shows_later(int64_t transfer_ns, int32_t position, int64_t before_ns, int32_t step)
{
    struct network network;
    network_init(&network, (const int32_t[]){step, step, -1});
    network.instances[1].transfer_ns = transfer_ns;
    for (int32_t rank = 0; rank < RANKS; rank++)
        network.positions[RANKS + rank] = position;
    suspect_by(&network, (const struct sent[]){{0, 0, 2, before_ns, before_ns, 0}, {1, 0, 1, 4000, 4000, 0}},
               2);
    assert_int_equal(network.suspects.count, 1);
    int later = network.suspects.items[0].shows_later;
    network_release(&network);
    return later;
}

/* A link of another rank at the first position was slow by at least as much. */
static void slow_at_the_end_beside_another(void **state)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    network.instances[1].transfer_ns = 1000;
    for (int32_t rank = 0; rank < RANKS; rank++)
        network.positions[RANKS + rank] = 1;
    suspect_by(&network, (const struct sent[]){{0, 2, 3, 4500, 4500, 0}, {1, 0, 1, 4000, 4000, 0}}, 2);
    assert_int_equal(network.suspects.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(network.suspects.items[i].shows_later, network.suspects.items[i].rank == 0);
    network_release(&network);
}

/*
 * A delay of some members at the end of a step makes the others wait in the next one, whose duration must be
 * known.
 */
static void slow_at_the_end_of_a_step(void **state)
{
    assert_true(shows_later(1000, 1, 0, 3));
    assert_false(shows_later(1000, 0, 0, 3));
    /* All members show it. */
    assert_false(shows_later(4000, 1, 0, 3));
    assert_false(shows_later(TIME_UNKNOWN, 1, 0, 3));
    assert_true(shows_later(1000, 1, 3999, 3));
    assert_false(shows_later(1000, 1, 4000, 3));
    assert_false(shows_later(1000, 1, 0, 4));
}

/*
 * In step 3 a transfer of 1000 and the given time stands out by that time, and a link by 4000: returns how
 * slow the operation counts, of which all members show the excess of the transfer.
 */
static int64_t slow_beside(int64_t usual_ns, int64_t slow_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    network.transfers[0].slow_ns = network.transfers[0].beyond_ns = slow_ns;
    network.instances[0].transfer_ns = usual_ns + slow_ns;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}}, 1);
    int64_t all_ns = network.transfers[0].slow_ns;
    assert_int_equal(network.transfers[0].some_ns, all_ns - slow_ns);
    network_release(&network);
    return all_ns;
}

static void a_link_that_was_slow_for_longer(void **state)
{
    assert_int_equal(slow_beside(1000, 0), 4000);
    assert_int_equal(slow_beside(1000, 1999), 4000);
    assert_int_equal(slow_beside(1000, 2000), 2000);
    /* No member finished before the link. */
    assert_int_equal(slow_beside(3000, 1000), 1000);
}

/*
 * Network steps are not recorded. Transfers of 1000 bytes take 4800 to 5200, but in step 4 the given size
 * takes the given time, with all members present or not: returns by how much that is slow.
 */
static int64_t slow_without_links(int64_t bytes, int64_t transfer_ns, int32_t members)
{
    static const int64_t usual_ns[STEPS] = {5000, 4800, 5000, 5200, 0, 4900};
    struct network network;
    int32_t cells[RANKS * STEPS], *cells_of_role = cells, role_of_rank[RANKS] = {0};
    struct role role = {.rank_count = RANKS, .length = 1};
    const struct baseline baseline = {.positions = network.positions,
                                      .hidden = network.hidden,
                                      .step_count = STEPS,
                                      .first_step = 1,
                                      .median_step_ns = 10000,
                                      .roles = &role,
                                      .role_count = 1,
                                      .role_of_rank = role_of_rank,
                                      .cells = &cells_of_role};
    const struct edges edges = {.first = network.first};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct error error = ERROR_INIT;
    network_init(&network, (const int32_t[]){0, 1, 2, 3, 4, 5, -1});
    for (int32_t step = 0; step < STEPS; step++) {
        network.instances[step].transfer_ns = step == 4 ? transfer_ns : usual_ns[step];
        for (int32_t rank = 0; rank < RANKS; rank++) {
            cells[rank * STEPS + step] = step * RANKS + rank;
            network.operations[step * RANKS + rank].bytes = step == 4 ? bytes : 1000;
        }
    }
    network.instances[4].members = members;
    assert_int_equal(job_index_steps(&network.job, &error), 0);
    assert_int_equal(suspect_network(&network.suspects, &network.job, &baseline, &edges, network.transfers,
                                     &options, &error),
                     0);
    int64_t slow_ns = network.transfers[4].slow_ns;
    network_release(&network);
    return slow_ns;
}

/*
 * Beyond the normal differences of transfers. If members are missing, another one may have been in it for a
 * shorter time.
 */
static void transfers_that_stand_out(void **state)
{
    assert_int_equal(slow_without_links(1000, 5300, RANKS), 0);
    int64_t slow_ns = slow_without_links(1000, 9000, RANKS);
    assert_true(slow_ns >= 9000 - 5200 && slow_ns <= 9000 - 4800);
    assert_int_equal(slow_without_links(1000, 9000, RANKS - 1), 0);
    /* Twice as much data takes longer. */
    assert_int_equal(slow_without_links(2000, 9000, RANKS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_longer_than_what_is_known_of_members),
        cmocka_unit_test(what_it_received),
        cmocka_unit_test(what_held_some_of_what_else_it_sent),
        cmocka_unit_test(a_slow_link_says_what_is_usual),
        cmocka_unit_test(slow_at_the_end_beside_another),
        cmocka_unit_test(connections_get_up_to_speed),
        cmocka_unit_test(no_longer_than_the_receive),
        cmocka_unit_test(no_longer_than_its_members),
        cmocka_unit_test(no_longer_than_until_the_next),
        cmocka_unit_test(not_for_want_of_a_member),
        cmocka_unit_test(transfers_that_stand_out),
        cmocka_unit_test(what_else_it_sent),
        cmocka_unit_test(other_transfers_say_what_is_usual),
        cmocka_unit_test(slow_at_the_end_of_a_step),
        cmocka_unit_test(a_link_that_was_slow_for_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
