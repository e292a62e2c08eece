#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/*
 * Eight ranks in a ring, in the order of their numbers, with one operation each; and rank 2 with rank 3 in
 * another operation. Both were slow by 7000. All ranks share a clock.
 */
enum { RANKS = 8, ALL = 0, PAIR, INSTANCES, OPERATIONS = RANKS + 2, SLOW = 7000 };

struct ring {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_communicator communicators[INSTANCES];
    struct job_operation operations[OPERATIONS];
    struct hidden_lateness hidden[OPERATIONS];
    struct job_instance instances[INSTANCES];
    struct transfer_excess transfers[INSTANCES];
    int32_t members[OPERATIONS];
};

static void add_operation(struct ring *ring, int32_t rank, int32_t instance)
{
    int32_t at = (int32_t)ring->job.operation_count++;
    struct job_instance *of = &ring->instances[instance];
    ring->members[of->first_member + (uint32_t)of->members++] = at;
    of->expected = of->members;
    ring->operations[at] = (struct job_operation){
        .rank = rank, .instance = instance, .communicator = instance, .function = FUNCTION_ALL_REDUCE};
}

/* For the ring, the ends of its members by their number. */
static void ring_init(struct ring *ring, const int64_t ends_ns[RANKS])
{
    *ring = (struct ring){.job = {.rank_count = RANKS,
                                  .communicator_count = INSTANCES,
                                  .instance_count = INSTANCES,
                                  .step_count = 1}};
    ring->job.ranks = ring->ranks;
    ring->job.communicators = ring->communicators;
    ring->job.operations = ring->operations;
    ring->job.instances = ring->instances;
    ring->job.instance_members = ring->members;
    for (int32_t i = 0; i < INSTANCES; i++) {
        ring->transfers[i] = (struct transfer_excess){.beyond_ns = SLOW, .slow_ns = SLOW, .culprit = -1};
        ring->instances[i] = (struct job_instance){.communicator = i,
                                                   .function = FUNCTION_ALL_REDUCE,
                                                   .first_member = i == ALL ? 0 : RANKS,
                                                   .sender = -1,
                                                   .receiver = -1};
    }
    for (int32_t rank = 0; rank < RANKS; rank++) {
        ring->ranks[rank] = (struct job_rank){.clock_method = CLOCK_SHARED, .clock_scale = 1};
        add_operation(ring, rank, ALL);
        ring->operations[rank].end_ns = ends_ns[rank];
    }
    add_operation(ring, 2, PAIR);
    add_operation(ring, 3, PAIR);
}

/* The rank that is blamed for the operation of all. */
static int32_t culprit_of(struct ring *ring)
{
    struct error error = ERROR_INIT;
    assert_int_equal(job_index_steps(&ring->job, &error), 0);
    assert_int_equal(
        blame_without_network_steps(&ring->job, &(struct baseline){.hidden = ring->hidden}, ring->transfers),
        0);
    free(ring->job.operations_of_step);
    free(ring->job.by_step);
    free(ring->job.step_end);
    return ring->transfers[ALL].culprit;
}

static int32_t culprit_by(const int64_t ends_ns[RANKS])
{
    struct ring ring;
    ring_init(&ring, ends_ns);
    return culprit_of(&ring);
}

/*
 * Rank 2 sends slowly: rank 3 is done last; 4 to 7, 0 and 1 are done before it, one interval after the other.
 */
static const int64_t SENDER_FIRST[RANKS] = {2000, 1000, 0, 7000, 6000, 5000, 4000, 3000};
static const int64_t SENDER_AMONG_THEM[RANKS] = {1000, 0, 2300, 6000, 5000, 4000, 3000, 2000};

/* The other end of the link is in the pair with it. */
static void both_ends_in_both(void **state)
{
    assert_int_equal(culprit_by(SENDER_FIRST), -1);
    assert_int_equal(culprit_by(SENDER_AMONG_THEM), -1);
}

/* With 1 in the pair instead of 3, which fitted: only 2 was at an end of the slow link. */
static int32_t culprit_beside_1(const int64_t ends_ns[RANKS])
{
    struct ring ring;
    ring_init(&ring, ends_ns);
    ring.operations[RANKS + 1].rank = 1;
    return culprit_of(&ring);
}

static void who_is_out_of_line(void **state)
{
    assert_int_equal(culprit_beside_1(SENDER_FIRST), 2);
    assert_int_equal(culprit_beside_1(SENDER_AMONG_THEM), 2);
}

/* Rank 2 receives slowly: 1 sends to it, and does not fit. */
static void who_is_done_last(void **state)
{
    const int64_t ends_ns[] = {1000, 0, 7000, 6000, 5000, 4000, 3000, 2000};
    struct ring ring;
    ring_init(&ring, ends_ns);
    assert_int_equal(culprit_of(&ring), 2);
}

static void cleared(const int64_t ends_ns[RANKS], unsigned char *marks)
{
    struct ring ring;
    ring_init(&ring, ends_ns);
    assert_int_equal(ring_clear_members(&ring.job, &ring.instances[ALL], SLOW, marks), 0);
}

static void check_cleared(const int64_t ends_ns[RANKS], const char *expected)
{
    unsigned char marks[OPERATIONS] = {0};
    char found[RANKS + 1] = "";
    cleared(ends_ns, marks);
    for (int32_t rank = 0; rank < RANKS; rank++)
        found[rank] = marks[rank] ? 'x' : '.';
    assert_string_equal(found, expected);
}

/* The others differ from their mean interval by a quarter; if they differ by more, no rank is exonerated. */
static void intervals_that_are_uneven(void **state)
{
    check_cleared(SENDER_FIRST, "xx..xxxx");
    check_cleared((const int64_t[]){2000, 1000, 0, 7000, 5750, 5000, 4000, 3000}, "xx..xxxx");
    check_cleared((const int64_t[]){2000, 1000, 0, 7000, 5749, 5000, 4000, 3000}, "........");
    /* Two do not fit. */
    check_cleared((const int64_t[]){1000, 0, 1100, 5000, 4000, 3100, 3000, 2000}, "........");
    /* All but the first at the same time, as after the leaf of a tree. */
    check_cleared((const int64_t[]){7000, 7000, 0, 7000, 7000, 7000, 7000, 7000}, "........");
}

/*
 * Without rank 7, just before it, the others are not evenly spaced, but by less than half: it may be the one.
 */
static void two_that_may_be_out_of_line(void **state)
{
    check_cleared(SENDER_AMONG_THEM, "xx..xxx.");
}

/* Done within less than a quarter of its slowness: the data went around several times. */
static void ends_that_are_near(void **state)
{
    int64_t near_ns[RANKS];
    for (int rank = 0; rank < RANKS; rank++)
        near_ns[rank] = SENDER_FIRST[rank] * SLOW / 4 / 6000;
    check_cleared(near_ns, "xx..xxxx");
    near_ns[3]--;
    check_cleared(near_ns, "........");
}

/* Whether an operation with something other than SENDER_FIRST exonerates a rank. */
static void assert_clears(struct ring *ring, int expected)
{
    unsigned char marks[OPERATIONS] = {0};
    assert_int_equal(ring_clear_members(&ring->job, &ring->instances[ALL], SLOW, marks), 0);
    assert_int_equal(marks[0], expected);
}

static void clocks_that_do_not_tell(void **state)
{
    struct ring ring;
    ring_init(&ring, SENDER_FIRST);
    ring.ranks[5].clock = 1;
    ring.ranks[5].clock_uncertainty_ns = 750;
    assert_clears(&ring, 1);
    ring.ranks[5].clock_uncertainty_ns = 751;
    assert_clears(&ring, 0);
    ring_init(&ring, SENDER_FIRST);
    ring.ranks[5].clock_method = CLOCK_NONE;
    assert_clears(&ring, 0);
}

static void what_is_no_ring_or_does_not_tell_its_end(void **state)
{
    struct ring ring;
    ring_init(&ring, SENDER_FIRST);
    ring.instances[ALL].function = FUNCTION_ALL_TO_ALL;
    assert_clears(&ring, 0);
    ring.instances[ALL].function = FUNCTION_BROADCAST;
    assert_clears(&ring, 0);
    ring_init(&ring, SENDER_FIRST);
    ring.instances[ALL].expected = RANKS + 1;
    assert_clears(&ring, 0);
    ring_init(&ring, SENDER_FIRST);
    ring.operations[6].is_tree = 1;
    assert_clears(&ring, 0);
    ring_init(&ring, SENDER_FIRST);
    ring.operations[6].end_ns = TIME_UNKNOWN;
    assert_clears(&ring, 0);
}

/* Of four, three others easily end at even intervals. */
static void too_few(void **state)
{
    struct ring ring;
    for (int32_t count = 4; count <= 5; count++) {
        ring_init(&ring, (const int64_t[]){3000, 2000, -5000, 4000, 1000, 0, 0, 0});
        ring.instances[ALL].members = ring.instances[ALL].expected = count;
        assert_clears(&ring, count == 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_in_both),
        cmocka_unit_test(who_is_out_of_line),
        cmocka_unit_test(who_is_done_last),
        cmocka_unit_test(intervals_that_are_uneven),
        cmocka_unit_test(two_that_may_be_out_of_line),
        cmocka_unit_test(ends_that_are_near),
        cmocka_unit_test(clocks_that_do_not_tell),
        cmocka_unit_test(what_is_no_ring_or_does_not_tell_its_end),
        cmocka_unit_test(too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
