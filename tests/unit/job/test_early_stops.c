#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/*
 * An AllReduce of two ranks by a tree, then one by a ring. Rank 0, the root, arrives at 1000 and stops at
 * 1100. Rank 1, a leaf whose clock is 50 behind, arrived at 0 on its own clock and stopped at 10. Its next
 * operation starts at `next_ns`.
 */
struct small {
    struct job job;
    struct job_rank ranks[2];
    struct job_operation operations[68];
    int64_t free_ns[68];
    struct job_instance instances[2];
    int32_t members[4];
};

enum { ROOT, ROOT_NEXT, LEAF, LEAF_NEXT, LEAF_OTHER };

static void small_init(struct small *small, int64_t next_ns)
{
    *small = (struct small){
        .ranks = {{.first = ROOT, .count = 2, .clock_method = CLOCK_REFERENCE, .clock_scale = 1},
                  {.first = LEAF,
                   .count = 2,
                   .clock = 1,
                   .clock_method = CLOCK_CONSTRAINTS,
                   .clock_scale = 1,
                   .clock_offset_ns = 50}},
        .operations =
            {[ROOT] = {.rank = 0, .start_ns = 1000, .end_ns = 1100, .previous = -1, .is_tree = 1},
             [ROOT_NEXT] = {.rank = 0, .instance = 1, .start_ns = 1200, .end_ns = 1300, .previous = ROOT},
             [LEAF] = {.rank = 1, .start_ns = 0, .end_ns = 10, .previous = -1, .is_tree = 1},
             [LEAF_NEXT] = {.rank = 1, .instance = 1, .start_ns = next_ns, .end_ns = 1250, .previous = LEAF}},
        .free_ns = {1100, 1300, 10, 1250},
        .instances = {{.members = 2, .expected = 2, .first_member = 0, .function = FUNCTION_ALL_REDUCE},
                      {.members = 2, .expected = 2, .first_member = 2, .function = FUNCTION_ALL_REDUCE}},
        .members = {ROOT, LEAF, ROOT_NEXT, LEAF_NEXT},
    };
    small->job = (struct job){.ranks = small->ranks,
                              .rank_count = 2,
                              .operations = small->operations,
                              .operation_count = 4,
                              .drafts = {.free_ns = small->free_ns},
                              .instances = small->instances,
                              .instance_count = 2,
                              .instance_members = small->members};
}

static int correct(struct small *small)
{
    int mended;
    struct error error = ERROR_INIT;
    assert_int_equal(job_correct_ends(&small->job, &mended, &error), 0);
    return mended;
}

static void a_leaf_ends_with_its_root(void **state)
{
    struct small small;
    small_init(&small, 1150);
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1050);
    assert_int_equal(small.free_ns[LEAF], 1050);
    assert_int_equal(small.operations[ROOT].end_ns, 1100);
    assert_int_equal(small.operations[LEAF_NEXT].end_ns, 1250);
}

static void not_after_the_next_began(void **state)
{
    struct small small;
    small_init(&small, 1040);
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1040);
}

/* The collectives of a communicator run one after the other, also on different streams. */
static void not_after_the_next_of_its_communicator(void **state)
{
    for (int32_t communicator = 0; communicator < 2; communicator++) {
        struct small small;
        small_init(&small, 1040);
        small.job.communicator_count = 2;
        small.operations[LEAF].group = LEAF;
        small.operations[LEAF_NEXT].group = LEAF_NEXT;
        small.operations[LEAF_NEXT].previous = -1;
        small.operations[LEAF_NEXT].communicator = communicator;
        assert_true(correct(&small));
        assert_int_equal(small.operations[LEAF].end_ns, communicator ? 1050 : 1040);
    }
}

/* In any order of reading; and if nothing follows on its stream, or something follows before its own stop. */
static void as_late_as_the_last_member(void **state)
{
    struct small small;
    small_init(&small, 1150);
    small.members[0] = LEAF;
    small.members[1] = ROOT;
    small.operations[LEAF_NEXT].previous = -1;
    small.operations[ROOT_NEXT].start_ns = 1050;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1050);
    assert_int_equal(small.operations[ROOT].end_ns, 1100);
    assert_int_equal(small.free_ns[ROOT], 1100);
    /* They ended at the same time. */
    small_init(&small, 1150);
    small.operations[LEAF].end_ns = 1050;
    assert_false(correct(&small));
}

/* The root has the result first: the leaf's host takes it from the network later, by any of its GPUs. */
static void with_the_last_data_of_its_host(void **state)
{
    struct small small;
    small_init(&small, 1150);
    small.free_ns[LEAF] = 1080;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1080);
    assert_int_equal(small.operations[ROOT].end_ns, 1100);
    /* Not after its next operation began. */
    small_init(&small, 1070);
    small.free_ns[LEAF] = 1080;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1070);
    /* Data that arrive at one host say nothing about another host. */
    small_init(&small, 1150);
    small.free_ns[ROOT] = 1140;
    assert_true(correct(&small));
    assert_int_equal(small.operations[ROOT].end_ns, 1140);
    assert_int_equal(small.operations[LEAF].end_ns, 1050);
    /* On the same host, it ends with the other GPU. */
    small_init(&small, 1150);
    small.free_ns[ROOT] = 1140;
    small.ranks[0].clock = 1;
    small.ranks[0].clock_offset_ns = 50;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1140);
}

/* Without a common clock, or for a ring, the end is not corrected. */
static void else_as_recorded(void **state)
{
    struct small small;
    small_init(&small, 1150);
    small.ranks[1].clock_method = CLOCK_CONTRADICTORY;
    assert_false(correct(&small));
    small_init(&small, 1150);
    small.operations[ROOT].is_tree = small.operations[LEAF].is_tree = 0;
    assert_false(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 10);
}

/* It did not end before the last one that left a trace. */
static void beside_a_rank_without_a_trace(void **state)
{
    struct small small;
    small_init(&small, 1150);
    small.instances[0].expected = 3;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1050);
}

/*
 * If the algorithm is unknown: no member finishes before all have arrived, within the precision of the
 * clocks.
 */
static int64_t ended_untold(int64_t next_ns, int64_t uncertainty_ns, int64_t start_ns)
{
    struct small small;
    small_init(&small, next_ns);
    small.operations[ROOT].is_tree = small.operations[LEAF].is_tree = 0;
    small.operations[ROOT].may_be_tree = small.operations[LEAF].may_be_tree = 1;
    small.operations[ROOT].start_ns = start_ns;
    small.ranks[1].clock_uncertainty_ns = uncertainty_ns;
    int mended = correct(&small);
    assert_int_equal(mended, small.operations[LEAF].end_ns > 10);
    assert_int_equal(small.operations[ROOT].end_ns, 1100);
    assert_int_equal(small.free_ns[LEAF], small.operations[LEAF].end_ns);
    return small.operations[LEAF].end_ns;
}

/*
 * The member without a trace may be the one that took the data of the leaf's host. Then nothing tells when
 * the leaf ended, and it is assumed to have ended when its next operation began: no own time is seen.
 */
static void whose_host_took_data_unseen(void **state)
{
    struct small small;
    small_init(&small, 1150);
    small.instances[0].expected = 3;
    char node0[] = "node0", node1[] = "node1";
    small.ranks[0].facts.host = node0;
    small.ranks[1].facts.host = node1;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1150);
    assert_int_equal(small.operations[ROOT].end_ns, 1100);
    /* Data that its host took tell it. */
    small_init(&small, 1150);
    small.instances[0].expected = 3;
    small.ranks[0].facts.host = node0;
    small.ranks[1].facts.host = node1;
    small.free_ns[LEAF] = 1080;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1080);
    /* The root's host has the result when the root stops. */
    small_init(&small, 1150);
    small.instances[0].expected = 3;
    small.ranks[0].facts.host = small.ranks[1].facts.host = node0;
    assert_true(correct(&small));
    assert_int_equal(small.operations[LEAF].end_ns, 1050);
}

static void an_early_stop_tells_a_tree(void **state)
{
    assert_int_equal(ended_untold(1150, 0, 1000), 950);
    /* The clocks may be off by as much, or the next operation began before. */
    assert_int_equal(ended_untold(1150, 100, 1000), 850);
    assert_int_equal(ended_untold(900, 0, 1000), 900);
    /* All had arrived before its stop, or may have, or it is unknown. */
    assert_int_equal(ended_untold(1150, 0, 60), 10);
    assert_int_equal(ended_untold(1150, 1000, 1000), 10);
    assert_int_equal(ended_untold(1150, 0, TIME_UNKNOWN), 10);
}

/*
 * An AllReduce by a ring; rank 1 from 0 to 10 on its own clock, by the one channel with a stop. Rank 0 ended
 * at 1100, and began `begin_ns` before that. Returns when rank 1's stream was free.
 */
static int64_t freed(int64_t begin_ns, int64_t next_ns, int64_t uncertainty_ns, int incomplete)
{
    struct small small;
    small_init(&small, next_ns);
    for (int i = 0; i < 4; i++) {
        small.operations[i].is_tree = 0;
        small.operations[i].function = FUNCTION_ALL_REDUCE;
    }
    small.operations[ROOT].start_ns = 1100 - begin_ns;
    small.operations[LEAF].incomplete = (uint8_t)incomplete;
    small.ranks[1].clock_uncertainty_ns = uncertainty_ns;
    correct(&small);
    assert_int_equal(small.operations[LEAF].end_ns, 10);
    assert_int_equal(small.operations[LEAF].held, small.free_ns[LEAF] > 10);
    return small.free_ns[LEAF];
}

static void an_open_channel_is_held_as_long_as_the_last(void **state)
{
    assert_int_equal(freed(1100, 1150, 0, 1), 1050);
    assert_int_equal(freed(1100, 1150, 0, 0), 10);
    /* It began something else before, or the clocks are too imprecise. */
    assert_int_equal(freed(1100, 900, 0, 1), 10);
    assert_int_equal(freed(1100, 1150, 1040, 1), 10);
    assert_int_equal(freed(1100, 1000, 60, 1), 1000);
    /*
     * At least half of the duration on the last rank; less is the normal difference between the ends of
     * ranks.
     */
    assert_int_equal(freed(2080, 1150, 0, 1), 1050);
    assert_int_equal(freed(2082, 1150, 0, 1), 10);
}

/*
 * In any order of reading; the duration on the last rank must be known, and that no other rank may be the
 * last.
 */
static void held_as_long_as_the_last(void **state)
{
    for (int i = 0; i < 3; i++) {
        int known = i != 0, whole = i != 1;
        struct small small;
        small_init(&small, 1150);
        for (int j = 0; j < 4; j++) {
            small.operations[j].is_tree = 0;
            small.operations[j].function = FUNCTION_ALL_REDUCE;
        }
        small.members[0] = LEAF;
        small.members[1] = ROOT;
        small.operations[LEAF].incomplete = 1;
        if (!known)
            small.operations[ROOT].start_ns = TIME_UNKNOWN;
        small.instances[0].expected = whole ? 2 : 3;
        assert_int_equal(correct(&small), known && whole);
        assert_int_equal(small.free_ns[LEAF], known && whole ? 1050 : 10);
    }
}

/*
 * No kernel of a ring shows how long it was occupied, but rank 0's stream took data until 1100, by its
 * network steps, and rank 1's began nothing before that: both were occupied, rank 1 within the clocks. Not if
 * that was no longer than the normal difference between ends.
 */
static void a_stream_that_took_data_says_it_too(void **state)
{
    for (int held = 0; held < 2; held++) {
        struct small small;
        small_init(&small, 1150);
        for (int i = 0; i < 4; i++) {
            small.operations[i].is_tree = 0;
            small.operations[i].function = FUNCTION_ALL_REDUCE;
        }
        small.operations[ROOT].incomplete = small.operations[LEAF].incomplete = 1;
        small.operations[ROOT].start_ns = 0;
        small.operations[ROOT].end_ns = 60;
        small.free_ns[ROOT] = held ? 1100 : 110;
        assert_int_equal(correct(&small), held);
        assert_int_equal(small.operations[ROOT].held, held);
        assert_int_equal(small.operations[LEAF].held, held);
        assert_int_equal(small.free_ns[ROOT], held ? 1100 : 110);
        assert_int_equal(small.free_ns[LEAF], held ? 1050 : 10);
        assert_int_equal(small.operations[ROOT].end_ns, 60);
    }
}

/*
 * Rank 0's stream took data until 1500, by its network steps, but the next operation began at its recorded
 * start, or before its own stop: rank 1 was occupied until then, or until that stop, 50 less on its clock.
 */
static void no_longer_than_the_last_ones_stream(void **state)
{
    static const int64_t begun_ns[] = {1400, 1100, 1050, TIME_UNKNOWN}, held_ns[] = {1350, 1050, 1050, 1450};
    for (int i = 0; i < 4; i++) {
        struct small small;
        small_init(&small, 2000);
        for (int j = 0; j < 4; j++) {
            small.operations[j].is_tree = 0;
            small.operations[j].function = FUNCTION_ALL_REDUCE;
        }
        small.operations[ROOT].start_ns = 0;
        small.free_ns[ROOT] = 1500;
        small.operations[ROOT_NEXT].start_ns = begun_ns[i];
        small.operations[LEAF].incomplete = 1;
        correct(&small);
        assert_int_equal(small.free_ns[LEAF], held_ns[i]);
    }
}

/*
 * Operations that the rank began on another stream within the error of the clocks began after that; not those
 * that began before, or later.
 */
static void what_began_on_another_stream_came_after(void **state)
{
    static const struct {
        int64_t start_ns, free_ns;
    } cases[] = {{1000, 1000}, {990, 990}, {989, 1050}, {1050, 1050}, {1100, 1050}, {TIME_UNKNOWN, 1050}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct small small;
        small_init(&small, 2000);
        for (int j = 0; j < 4; j++) {
            small.operations[j].is_tree = 0;
            small.operations[j].function = FUNCTION_ALL_REDUCE;
        }
        small.operations[LEAF].incomplete = 1;
        small.ranks[1].clock_uncertainty_ns = 60;
        small.operations[LEAF_OTHER] = (struct job_operation){
            .rank = 1, .instance = -1, .start_ns = cases[i].start_ns, .end_ns = 1900, .previous = -1};
        small.ranks[1].count = 3;
        small.job.operation_count = 5;
        correct(&small);
        assert_int_equal(small.free_ns[LEAF], cases[i].free_ns);
    }
}

/* As above: of the 64 operations issued next the last is examined, the following one is only counted. */
static void what_began_after_many_others(void **state)
{
    for (int many = 64; many <= 65; many++) {
        struct small small;
        small_init(&small, 2000);
        for (int j = 0; j < 4; j++) {
            small.operations[j].is_tree = 0;
            small.operations[j].function = FUNCTION_ALL_REDUCE;
        }
        small.operations[LEAF].incomplete = 1;
        small.ranks[1].clock_uncertainty_ns = 60;
        for (int j = LEAF_OTHER; j <= LEAF + many; j++)
            small.operations[j] = (struct job_operation){.rank = 1,
                                                         .instance = -1,
                                                         .start_ns = j == LEAF + many ? 990 : 1100,
                                                         .end_ns = 1900,
                                                         .previous = -1};
        small.ranks[1].count = (size_t)many + 1;
        small.job.operation_count = (size_t)many + 3;
        correct(&small);
        assert_int_equal(small.free_ns[LEAF], many == 64 ? 990 : 1050);
        assert_int_equal(small.job.bounded_ends, many == 65);
    }
}

/*
 * A send and a receive of one group call in each direction. By the clocks the receive of rank 1 ended at 60
 * while rank 0 arrived at 1000: it did not end before 1000, 950 on its own clock, and no kernel shows how
 * long after. If it is alone in its call, it has the stop of its kernel.
 */
static void receive_init(struct small *small, int64_t next_ns, int grouped)
{
    small_init(small, next_ns);
    for (int i = 0; i < 4; i++)
        small->operations[i].is_tree = 0;
    small->instances[0].function = FUNCTION_SEND;
    small->operations[ROOT].function = FUNCTION_SEND;
    small->operations[LEAF].function = FUNCTION_RECV;
    small->operations[ROOT].group = ROOT;
    small->operations[ROOT_NEXT].group = ROOT_NEXT;
    small->operations[LEAF].group = LEAF;
    small->operations[LEAF].ends = ENDS_BY_KERNEL;
    small->operations[LEAF_NEXT].group = grouped ? LEAF : LEAF_NEXT;
    small->instances[1].function = FUNCTION_ALL_REDUCE;
}

static void a_receive_ends_after_its_sender_came(void **state)
{
    struct small small;
    for (int grouped = 0; grouped < 2; grouped++) {
        receive_init(&small, 2000, grouped);
        assert_int_equal(correct(&small), grouped);
        assert_int_equal(small.operations[LEAF].end_ns, grouped ? 950 : 10);
        assert_int_equal(small.free_ns[LEAF], grouped ? 950 : 10);
        assert_int_equal(small.operations[LEAF].ends, grouped ? ENDS_BY_SENDER : ENDS_BY_KERNEL);
    }
}

/*
 * The end of a receive whose sender arrived 940 after it, if the clocks are off by this much, or the sender's
 * clock is unknown; its stream continues then.
 */
static int64_t received_at(int64_t next_ns, int64_t doubt_ns, int known)
{
    struct small small;
    receive_init(&small, next_ns == TIME_UNKNOWN ? 2000 : next_ns, 1);
    if (next_ns == TIME_UNKNOWN)
        small.operations[LEAF_NEXT].previous = -1;
    small.ranks[1].clock_doubt_ns = doubt_ns;
    small.ranks[1].clock_uncertainty_ns = doubt_ns + 1000; /* what ends of exchanges show counts */
    small.ranks[0].clock_method = known ? CLOCK_REFERENCE : CLOCK_NONE;
    correct(&small);
    return small.operations[LEAF].end_ns;
}

/* As for a tree, no longer than until the next one began, and more than the error of the clocks. */
static void how_far_a_receive_is_moved(void **state)
{
    assert_int_equal(received_at(TIME_UNKNOWN, 0, 1), 950);
    assert_int_equal(received_at(900, 0, 1), 900);
    assert_int_equal(received_at(5, 0, 1), 10);
    assert_int_equal(received_at(2000, 939, 1), 950);
    assert_int_equal(received_at(2000, 940, 1), 10);
    assert_int_equal(received_at(2000, 0, 0), 10);
}

/* The part of own time that had passed when the operation was enqueued: none of it, some, or all. */
static void lateness_is_a_part_of_own_time(void **state)
{
    static const struct {
        int64_t enqueued_ns, own_ns, late_ns;
    } cases[] = {
        {950, 100, 50},
        {900, 100, 0},
        {300, 100, 0},
        {1000, 100, 100},
        {1020, 100, 100},
        {1000, 0, 0},
        {TIME_UNKNOWN, 100, TIME_UNKNOWN},
        {950, TIME_UNKNOWN, TIME_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job_rank rank = {.count = 1};
        struct job_operation operation = {
            .start_ns = 1000, .enqueued_ns = cases[i].enqueued_ns, .own_ns = cases[i].own_ns};
        const struct job job = {.ranks = &rank, .rank_count = 1, .operations = &operation};
        assert_int_equal(job_lateness(&job, &operation), cases[i].late_ns);
    }
}

/*
 * An operation that ended on another stream in the meantime may have occupied it; one that ended before or
 * continues did not.
 */
static void other_streams_may_hold(void **state)
{
    struct job_rank rank = {.count = 5, .has_streams = 1};
    struct job_operation operations[] = {
        {.end_ns = 880, .group = 0},
        {.end_ns = 940, .group = 1},
        {.end_ns = TIME_UNKNOWN, .group = 2},
        {.end_ns = 1001, .group = 3},
        {.start_ns = 1000, .end_ns = 1100, .enqueued_ns = 960, .own_ns = 100, .group = 4},
    };
    const struct job job = {.ranks = &rank, .rank_count = 1, .operations = operations, .operation_count = 5};
    assert_int_equal(job_idle_time(&job, &operations[4]), 60);
    assert_int_equal(job_lateness(&job, &operations[4]), 20);
    rank.has_streams = 0;
    assert_int_equal(job_idle_time(&job, &operations[4]), 100);
    assert_int_equal(job_lateness(&job, &operations[4]), 60);
    /* Called together with it. */
    rank.has_streams = 1;
    operations[4].group = operations[1].group = 1;
    assert_int_equal(job_idle_time(&job, &operations[4]), 100);
    operations[4].own_ns = TIME_UNKNOWN;
    assert_int_equal(job_idle_time(&job, &operations[4]), TIME_UNKNOWN);
}

/* One whose stream was free later than it ended, according to the list of such operations. */
static void one_that_held_its_stream(void **state)
{
    struct job_rank rank = {.count = 4, .has_streams = 1};
    struct job_operation operations[] = {
        {.end_ns = 880, .group = 0, .held = 1},
        {.end_ns = 910, .group = 1},
        {.end_ns = 900, .group = 2, .held = 1},
        {.start_ns = 1000, .end_ns = 1100, .own_ns = 100, .group = 3},
    };
    struct job_hold holds[] = {{.operation = 0, .until_ns = 960}, {.operation = 2, .until_ns = 1001}};
    struct job job = {.ranks = &rank,
                      .rank_count = 1,
                      .operations = operations,
                      .operation_count = 4,
                      .holds = holds,
                      .hold_count = 2};
    assert_int_equal(job_idle_time(&job, &operations[3]), 40);
    holds[1].until_ns = 1000;
    assert_int_equal(job_idle_time(&job, &operations[3]), 0);
    operations[2].held = 0;
    assert_int_equal(job_idle_time(&job, &operations[3]), 40);
    job.hold_count = 0;
    assert_int_equal(job_idle_time(&job, &operations[3]), 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_ends_with_its_root),
        cmocka_unit_test(not_after_the_next_began),
        cmocka_unit_test(not_after_the_next_of_its_communicator),
        cmocka_unit_test(else_as_recorded),
        cmocka_unit_test(beside_a_rank_without_a_trace),
        cmocka_unit_test(whose_host_took_data_unseen),
        cmocka_unit_test(an_early_stop_tells_a_tree),
        cmocka_unit_test(as_late_as_the_last_member),
        cmocka_unit_test(with_the_last_data_of_its_host),
        cmocka_unit_test(held_as_long_as_the_last),
        cmocka_unit_test(a_receive_ends_after_its_sender_came),
        cmocka_unit_test(how_far_a_receive_is_moved),
        cmocka_unit_test(an_open_channel_is_held_as_long_as_the_last),
        cmocka_unit_test(lateness_is_a_part_of_own_time),
        cmocka_unit_test(other_streams_may_hold),
        cmocka_unit_test(one_that_held_its_stream),
        cmocka_unit_test(no_longer_than_the_last_ones_stream),
        cmocka_unit_test(what_began_on_another_stream_came_after),
        cmocka_unit_test(what_began_after_many_others),
        cmocka_unit_test(a_stream_that_took_data_says_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
