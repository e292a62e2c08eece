#include "analyse/edges.h"
#include "analyse/finding.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

/*
 * One AllReduce of four ranks by a ring, in step 2 of four, and what each edge waited beyond the usual. Who
 * is to blame, -1 nobody.
 */
enum { RANKS = 4 };

/* `joined` of the ranks began it; it ended at 5000, or never where that is TIME_UNKNOWN. */
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
                                    .beyond_ns = TIME_UNKNOWN,
                                    .culprit = -1,
                                    .step = 2};
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
    assert_int_equal(suspect_network(&suspects, &job, &baseline, &edges, &options, &error), 0);
    free(suspects.items);
    free(job.operations_of_step);
    free(job.by_step);
    free(job.step_end);
    return instance.culprit;
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

/* Rank 2 neither takes from rank 1 nor sends to rank 3: together that is all there is, each alone is half. */
static void a_rank_that_stands_still_is_between_its_edges(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){0, 3900, 4000, 0}), 2);
    assert_int_equal(culprit_of((const int64_t[]){4000, 0, 0, 4000}), 0);
}

/* Edges with nothing in common, or three in a row that two ranks explain alike, are nobody's. */
static void else_nobody(void **state)
{
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 0, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){0, 4000, 4000, 4000}), -1);
    assert_int_equal(culprit_of((const int64_t[]){4000, 4000, 4000, 4000}), -1);
}

/* Rank 2 sends to who never came. That is no slow link, unless others went on without it, or it ended. */
static void sends_to_who_never_came(void **state)
{
    const int64_t extra_ns[] = {0, 0, 4000, 0};
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, TIME_UNKNOWN), -1);
    assert_int_equal(culprit_where(extra_ns, RANKS, TIME_UNKNOWN), 2);
    assert_int_equal(culprit_where(extra_ns, RANKS - 1, 5000), 2);
}

/* What an edge waited in an instance beyond the usual; and of that, busy for so long that it stands out. */
struct sent {
    int32_t instance; /* ascending */
    int32_t sender;
    int32_t receiver;
    int64_t extra_ns;
    int64_t over_ns;
    int64_t wait_ns; /* 0: no more than that */
};

/* Six steps of 10000, the first the warm-up; in each instance all four ranks lasted for 5000. */
enum { STEPS = 6, INSTANCES = 8, EDGES = 24 };

struct network {
    struct job job;
    struct job_operation operations[INSTANCES * RANKS];
    struct job_instance instances[INSTANCES];
    int32_t members[INSTANCES * RANKS];
    struct edge items[EDGES];
    size_t first[INSTANCES + 1];
    struct suspects suspects;
};

/* An instance for each of `step_of`, up to -1. */
static void network_init(struct network *network, const int32_t *step_of)
{
    *network = (struct network){.job = {.rank_count = RANKS, .step_count = STEPS}};
    network->job.operations = network->operations;
    network->job.instances = network->instances;
    network->job.instance_members = network->members;
    for (int32_t i = 0; step_of[i] >= 0; i++) {
        network->instances[i] = (struct job_instance){.function = FUNCTION_ALL_REDUCE,
                                                      .members = RANKS,
                                                      .expected = RANKS,
                                                      .first_member = (uint32_t)(i * RANKS),
                                                      .transfer_ns = 5000,
                                                      .culprit = -1,
                                                      .step = step_of[i]};
        for (int32_t rank = 0; rank < RANKS; rank++) {
            network->members[i * RANKS + rank] = i * RANKS + rank;
            network->operations[i * RANKS + rank] = (struct job_operation){
                .rank = rank, .instance = i, .step = step_of[i], .previous = -1, .end_ns = 5000};
        }
        network->job.instance_count++;
        network->job.operation_count += RANKS;
    }
}

static void suspect_by(struct network *network, const struct sent *sent, size_t count)
{
    struct edges edges = {.items = network->items, .count = count, .first = network->first};
    struct role role = {.rank_count = RANKS, .length = 2};
    int32_t role_of_rank[RANKS] = {0};
    const struct baseline baseline = {.step_count = STEPS,
                                      .first_step = 1,
                                      .median_step_ns = 10000,
                                      .roles = &role,
                                      .role_count = 0,
                                      .role_of_rank = role_of_rank};
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < count; i++) {
        network->items[i] = (struct edge){.instance = sent[i].instance,
                                          .sender = sent[i].sender,
                                          .receiver = sent[i].receiver,
                                          .extra_ns = sent[i].extra_ns,
                                          .over_ns = sent[i].over_ns,
                                          .busy_ns = sent[i].over_ns,
                                          .wait_ns = sent[i].wait_ns ? sent[i].wait_ns : sent[i].extra_ns,
                                          .wait_max_ns = 800,
                                          .step = network->instances[sent[i].instance].step};
        network->first[sent[i].instance + 1]++;
    }
    for (size_t i = 0; i < INSTANCES; i++)
        network->first[i + 1] += network->first[i];
    assert_int_equal(job_index_steps(&network->job, &error), 0);
    assert_int_equal(suspect_network(&network->suspects, &network->job, &baseline, &edges, &options, &error),
                     0);
}

static void network_release(struct network *network)
{
    free(network->suspects.items);
    free(network->job.operations_of_step);
    free(network->job.by_step);
    free(network->job.step_end);
}

/* Rank 0's link is slow by so much in each step from one to another; whether that may be connections' start.
 */
static int may_be_warm_up(int32_t first_step, int32_t last_step, int64_t slow_ns)
{
    struct network network;
    struct sent sent[STEPS];
    size_t count = 0;
    network_init(&network, (const int32_t[]){0, 1, 2, 3, 4, 5, -1});
    for (int32_t step = first_step; step <= last_step; step++) {
        sent[count++] = (struct sent){step, 0, 1, slow_ns, slow_ns, 0};
        for (int32_t rank = 0; rank < RANKS; rank++)
            network.operations[step * RANKS + rank].end_ns = 50000;
    }
    suspect_by(&network, sent, count);
    assert_int_equal(network.suspects.count, 1);
    assert_int_equal(network.suspects.items[0].first_step, first_step);
    assert_int_equal(network.suspects.items[0].last_step, last_step);
    int ambiguous = network.suspects.items[0].ambiguous;
    network_release(&network);
    return ambiguous;
}

/* Slow from the first step after the warm-up and later no more, but not by a whole step in each of several.
 */
static void connections_get_up_to_speed(void **state)
{
    assert_true(may_be_warm_up(1, 3, 9999));
    assert_false(may_be_warm_up(1, 3, 10000));
    assert_true(may_be_warm_up(1, 1, 10000));
    assert_false(may_be_warm_up(2, 3, 9999));
    assert_false(may_be_warm_up(1, 5, 9999));
}

/* Two sends to rank 2 in a step, by ranks 0 and 1, slow by 4000 and by so much: who is to blame for the
 * first?
 */
static int32_t culprit_of_two(int64_t second_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    suspect_by(&network, (const struct sent[]){{0, 0, 2, 4000, 4000, 0}, {1, 1, 2, second_ns, second_ns, 0}},
               2);
    int32_t culprit = network.instances[0].culprit;
    network_release(&network);
    return culprit;
}

/* Who receives has to explain more than half as much again as any sender. */
static void a_receiver_or_its_senders(void **state)
{
    assert_int_equal(culprit_of_two(2000), 0);
    assert_int_equal(culprit_of_two(2001), 2);
    assert_int_equal(culprit_of_two(4000), 2);
}

/*
 * In step 3 and in another one ranks 0 and 1 send to rank 2, slow by 4000 and 2000, and rank 0 to rank 3 by
 * so much. Who is to blame for what rank 0 sent to rank 2 in step 3.
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
    int32_t culprit = network.instances[0].culprit;
    assert_int_equal(network.instances[3].culprit, culprit);
    assert_int_equal(network.instances[1].culprit, culprit == 2 ? 2 : 1);
    network_release(&network);
    return culprit;
}

/* Two that send nowhere else so slowly, in two steps in a row: three quarters of it to the same rank. */
static void senders_with_a_receiver_in_common(void **state)
{
    assert_int_equal(culprit_of_four(4, 0), 2);
    assert_int_equal(culprit_of_four(4, 1333), 2);
    assert_int_equal(culprit_of_four(4, 1334), 0);
    assert_int_equal(culprit_of_four(5, 0), 0);
}

/* By how much a send was slow whose link was busy for 4000 too long, to a receive that lasted for 1000. */
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
    int64_t slow_ns = network.instances[0].slow_ns;
    network_release(&network);
    return slow_ns;
}

/* Before it came, the sender waited for it, and not for the network. */
static void no_longer_than_the_receive(void **state)
{
    assert_int_equal(slow_send_ns(ENDS_BY_KERNEL), 1000);
    assert_int_equal(slow_send_ns(ENDS_BY_PROXY), 1000);
    assert_int_equal(slow_send_ns(ENDS_BY_HOST), 4000);
}

/* Who is to blame for one instance, slow by 5000 as it is. */
static int32_t culprit_among(const struct sent *sent, size_t count)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    network.instances[0].slow_ns = network.instances[0].beyond_ns = 5000;
    suspect_by(&network, sent, count);
    int32_t culprit = network.instances[0].culprit;
    network_release(&network);
    return culprit;
}

static void waiting_that_explains_half(void **state)
{
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 2500, 0, 0}}, 1), 1);
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 2499, 0, 0}}, 1), -1);
}

/* Where a link stands out by how long it was busy, what others waited says nothing. */
static void a_slow_link_beside_longer_waiting(void **state)
{
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 4000, 4000, 0}, {0, 3, 0, 9000, 0, 0}}, 2),
                     1);
    assert_int_equal(culprit_among((const struct sent[]){{0, 1, 2, 4000, 0, 0}, {0, 3, 0, 9000, 0, 0}}, 2),
                     3);
}

/*
 * Where one end holds two thirds of the waiting, what the rank at the other end of the slowest edge has to do
 * with others besides is no matter: rank 1 sends 4000 of 5900, or receives 6000 of 9000.
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
}

/* All six edges of rank 0 hold 420 of 630, two thirds; or of 631. No other rank comes near that. */
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

/* A link that delays only some members: by no more than the longest of them lasted. */
static void no_longer_than_its_members(void **state)
{
    for (int some = 0; some < 2; some++) {
        struct network network;
        network_init(&network, (const int32_t[]){3, -1});
        network.operations[2].end_ns = 3000 + 1000 * some;
        network.operations[0].end_ns = network.operations[1].end_ns = network.operations[3].end_ns = 1000;
        network.instances[0].transfer_ns = some ? 1000 : 3500;
        suspect_by(&network, (const struct sent[]){{0, 1, 2, 3500, 3500, 0}}, 1);
        assert_int_equal(network.instances[0].slow_ns, some ? 3500 : 3000);
        assert_int_equal(network.instances[0].some_ns, some ? 3500 : 0);
        network_release(&network);
    }
}

/* All but one member were there: 0 for 1000 by its kernel, the others for 900, while a link was slow by 3500.
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
    int64_t slow_ns = network->instances[0].slow_ns;
    network_release(network);
    return slow_ns;
}

/*
 * A leaf of a tree has its stop early, and a kernel with a channel of which no stop is told may have had
 * others after those that are: it was at it until the next of its stream began.
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

/* Nobody's times are known, and one never came: that is what the link waited for, unless somebody went on. */
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
 * In step 3 rank 0's link is slow by 4000. So much longer than usual took another operation that nobody is to
 * blame for, in which a link of `sender` waited for 2000, `extra_ns` beyond the usual, 800 at once: how much
 * of it counts as rank 0's.
 */
static int64_t widened_by(int32_t sender, int64_t beyond_ns, int64_t extra_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, 3, -1});
    network.instances[1].beyond_ns = beyond_ns;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, sender, 2, extra_ns, 0, 2000}},
               2);
    int64_t slow_ns = network.instances[1].culprit == 0 ? network.instances[1].slow_ns : 0;
    network_release(&network);
    return slow_ns;
}

static void what_else_it_sent(void **state)
{
    assert_int_equal(widened_by(0, 300, 10), 300);
    assert_int_equal(widened_by(3, 300, 10), 0);
    assert_int_equal(widened_by(0, TIME_UNKNOWN, 1500), 0);
    /* No longer than usual, as that is slow by its doing: where it waited twice as long as usual itself. */
    assert_int_equal(widened_by(0, -5, 1000), 0);
    assert_int_equal(widened_by(0, -5, 1001), 800);
}

/* Rank 0's link is slow by 4000 in step 4; in another step an operation took longer by 3000, or had no link.
 */
static double ahead_of_one_in(int32_t step, int has_edge)
{
    struct network network;
    network_init(&network, (const int32_t[]){4, step, -1});
    network.instances[1].beyond_ns = 3000;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}, {1, 2, 3, 10, 0, 0}},
               has_edge ? 2 : 1);
    assert_int_equal(network.suspects.count, 1);
    double ahead = network.suspects.items[0].ahead;
    network_release(&network);
    return ahead;
}

/*
 * What it is held against: all transfers by links that took longer, but in the first step after the warm-up;
 * where there are none, the least that counts, 1.5 % of a step.
 */
static void other_transfers_say_what_is_usual(void **state)
{
    assert_true(fabs(ahead_of_one_in(2, 1) - 4000.0 / 3000) < 1e-9);
    assert_true(fabs(ahead_of_one_in(1, 1) - 4000.0 / 150) < 1e-9);
    assert_true(fabs(ahead_of_one_in(2, 0) - 4000.0 / 150) < 1e-9);
}

/*
 * Rank 0's link is slow by 4000 in step 3, in an operation of which the shortest member lasted for so long
 * and that is at that position of two; another of its links is slow by so much at the first position. Whether
 * the next step shows it.
 */
static int shows_later(int64_t transfer_ns, int32_t position, int64_t before_ns, int32_t step)
{
    struct network network;
    network_init(&network, (const int32_t[]){step, step, -1});
    network.instances[1].transfer_ns = transfer_ns;
    for (int32_t rank = 0; rank < RANKS; rank++)
        network.operations[RANKS + rank].position = position;
    suspect_by(&network, (const struct sent[]){{0, 0, 2, before_ns, before_ns, 0}, {1, 0, 1, 4000, 4000, 0}},
               2);
    assert_int_equal(network.suspects.count, 1);
    int later = network.suspects.items[0].shows_later;
    network_release(&network);
    return later;
}

/* What held some at the end of a step leaves the others to wait in the next, whose length has to be known. */
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
 * In step 3 a transfer of 1000 and so much stands out by that, and a link by 4000: what the operation counts
 * as slow, of which all members show what the transfer does.
 */
static int64_t slow_beside(int64_t usual_ns, int64_t slow_ns)
{
    struct network network;
    network_init(&network, (const int32_t[]){3, -1});
    network.instances[0].slow_ns = network.instances[0].beyond_ns = slow_ns;
    network.instances[0].transfer_ns = usual_ns + slow_ns;
    suspect_by(&network, (const struct sent[]){{0, 0, 1, 4000, 4000, 0}}, 1);
    int64_t all_ns = network.instances[0].slow_ns;
    assert_int_equal(network.instances[0].some_ns, all_ns - slow_ns);
    network_release(&network);
    return all_ns;
}

static void a_link_that_was_slow_for_twice_as_long(void **state)
{
    assert_int_equal(slow_beside(1000, 0), 4000);
    assert_int_equal(slow_beside(1000, 1999), 4000);
    assert_int_equal(slow_beside(1000, 2000), 2000);
    /* Nobody was done before the link was. */
    assert_int_equal(slow_beside(3000, 1000), 1000);
}

/*
 * No network steps are recorded. Transfers last for 4800 to 5200, but in step 4 for so long, all
 * members present or not: by how much that is slow.
 */
static int64_t slow_without_links(int64_t transfer_ns, int32_t members)
{
    static const int64_t usual_ns[STEPS] = {5000, 4800, 5000, 5200, 0, 4900};
    struct network network;
    int32_t cells[RANKS * STEPS], *cells_of_role = cells, role_of_rank[RANKS] = {0};
    struct role role = {.rank_count = RANKS, .length = 1};
    const struct baseline baseline = {.step_count = STEPS,
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
        for (int32_t rank = 0; rank < RANKS; rank++)
            cells[rank * STEPS + step] = step * RANKS + rank;
    }
    network.instances[4].members = members;
    assert_int_equal(job_index_steps(&network.job, &error), 0);
    assert_int_equal(suspect_network(&network.suspects, &network.job, &baseline, &edges, &options, &error),
                     0);
    int64_t slow_ns = network.instances[4].slow_ns;
    network_release(&network);
    return slow_ns;
}

/* Beyond what transfers differ by anyway. Of one that lacks members another may have been in it for less. */
static void transfers_that_stand_out(void **state)
{
    assert_int_equal(slow_without_links(5300, RANKS), 0);
    int64_t slow_ns = slow_without_links(9000, RANKS);
    assert_true(slow_ns >= 9000 - 5200 && slow_ns <= 9000 - 4800);
    assert_int_equal(slow_without_links(9000, RANKS - 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slow_edge_is_its_senders),
        cmocka_unit_test(a_rank_that_stands_still_is_between_its_edges),
        cmocka_unit_test(else_nobody),
        cmocka_unit_test(sends_to_who_never_came),
        cmocka_unit_test(connections_get_up_to_speed),
        cmocka_unit_test(a_receiver_or_its_senders),
        cmocka_unit_test(senders_with_a_receiver_in_common),
        cmocka_unit_test(no_longer_than_the_receive),
        cmocka_unit_test(waiting_that_explains_half),
        cmocka_unit_test(a_slow_link_beside_longer_waiting),
        cmocka_unit_test(an_end_that_explains_it_alone),
        cmocka_unit_test(a_rank_all_of_whose_edges_wait),
        cmocka_unit_test(no_longer_than_its_members),
        cmocka_unit_test(no_longer_than_until_the_next),
        cmocka_unit_test(not_for_want_of_a_member),
        cmocka_unit_test(transfers_that_stand_out),
        cmocka_unit_test(what_else_it_sent),
        cmocka_unit_test(other_transfers_say_what_is_usual),
        cmocka_unit_test(slow_at_the_end_of_a_step),
        cmocka_unit_test(a_link_that_was_slow_for_twice_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
