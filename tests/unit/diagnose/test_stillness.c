#include "diagnose/network.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* Ranks 0 and 1 left a trace, rank 2 did not. Rank 0 starts last, at 0; the operation ends at 1000. */
enum { RANKS = 3, CHANNELS = 2, END_NS = 1000, EARLIER_NS = 300 };

struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[2];
    struct job_instance instance;
    int32_t members[2];
    struct job_arrivals arrivals[CHANNELS];
    struct job_communicator communicator;
    struct communicator_set_member recorded[2];
};

/* On each channel, 9 network steps, from the first to the last end. */
struct channel {
    int32_t sender;
    int64_t first_ns;
    int64_t longest_ns;
    int64_t last_ns;
    int32_t before_longest;
};

static struct stillness play(struct played *played, struct channel zero, struct channel one)
{
    const struct channel channels[CHANNELS] = {zero, one};
    *played = (struct played){.ranks = {{.process_id = 0}, {.process_id = 1}, {.process_id = -1}},
                              .operations = {{.rank = 0, .start_ns = 0, .end_ns = END_NS},
                                             {.rank = 1, .start_ns = -EARLIER_NS, .end_ns = END_NS}},
                              .instance = {.members = 2, .expected = RANKS, .transfer_ns = END_NS},
                              .members = {0, 1},
                              .recorded = {{.number = 0, .rank = 0}, {.number = 1, .rank = 1}},
                              .communicator = {.size = RANKS, .member_list_count = 2, .silent = 2}};
    played->communicator.member_list = played->recorded;
    played->job = (struct job){.ranks = played->ranks,
                               .rank_count = RANKS,
                               .operations = played->operations,
                               .operation_count = 2,
                               .instances = &played->instance,
                               .instance_count = 1,
                               .instance_members = played->members,
                               .communicators = &played->communicator,
                               .communicator_count = 1,
                               .arrivals = played->arrivals,
                               .arrival_count = CHANNELS};
    for (int32_t i = 0; i < CHANNELS; i++)
        played->arrivals[i] = (struct job_arrivals){.operation = i,
                                                    .sender = channels[i].sender,
                                                    .steps = 9,
                                                    .first_ns = channels[i].first_ns,
                                                    .last_ns = channels[i].last_ns,
                                                    .longest_ns = channels[i].longest_ns,
                                                    .before_longest = channels[i].before_longest};
    return stillness_of(&played->job, &played->instance, 2);
}

static int64_t wait_of(struct channel zero, struct channel one)
{
    struct played played;
    struct stillness still = play(&played, zero, one);
    return stillness_wait_ns(&still);
}

static const struct channel REGULAR = {1, 100, 110, 950, 5};

static void no_network_steps(void **state)
{
    struct played played;
    play(&played, REGULAR, REGULAR);
    played.job.arrival_count = 0;
    assert_int_equal(stillness_of(&played.job, &played.instance, 2).at_any_ns, INT64_MAX);
}

static void data_at_its_pace(void **state)
{
    struct played played;
    struct stillness still = play(&played, REGULAR, REGULAR);
    assert_int_equal(still.at_any_ns, 0);
    assert_int_equal(still.unusual_ns, 0);
    assert_int_equal(stillness_wait_ns(&still), 0);
}

/* Nothing arrives anywhere until 800; then data arrives every 10. */
static void nothing_on_any_channel(void **state)
{
    const struct channel late = {1, 800, 10, 880, 5};
    assert_int_equal(wait_of(late, late), 790);
    assert_int_equal(wait_of(late, REGULAR), 0);
}

/* What other ranks sent has arrived before that channel stands still. */
static void nothing_from_the_rank_without_a_trace(void **state)
{
    const struct channel from_absent = {2, 800, 10, 880, 5}, other = {0, 10, 790, 880, 5};
    int64_t pace_of_other_ns = (880 - 790) / 8;
    assert_int_equal(wait_of(from_absent, other), 790 - pace_of_other_ns);
    assert_int_equal(wait_of(from_absent, REGULAR), 0);
}

/* All started, data arrived from all, and then it stood still: that is no late start. */
static void a_pause_in_the_middle(void **state)
{
    const struct channel paused = {2, 10, 800, 890, 1};
    struct played played;
    struct stillness still = play(&played, paused, paused);
    assert_int_equal(stillness_wait_ns(&still), 0);
    assert_int_equal(still.at_any_ns, 800 - (890 - 800) / 8);
}

/* What the ranks between the one without a trace and the receiver sent has arrived before all stands still.
 */
static void until_data_of_the_rank_is_due(void **state)
{
    int64_t pace_ns = (880 - 790) / 8;
    const struct channel next = {2, 10, 790, 880, 0}, after_next = {0, 10, 790, 880, 1},
                         other = {0, 10, 790, 880, 2}, never = {0, 10, 20, 950, 1};
    assert_int_equal(wait_of(after_next, after_next), 790 - pace_ns);
    assert_int_equal(wait_of(next, after_next), 790 - pace_ns);
    assert_int_equal(wait_of(other, other), 0);
    assert_int_equal(wait_of(after_next, other), 0);
    assert_int_equal(wait_of(after_next, never), 0);
}

/* Of 9 network steps the longest may take log(9) + 3 = 5.197 times the average of the others. */
static void what_may_be_chance(void **state)
{
    const struct channel chance = {1, 51, 10, 131, 5}, wait = {1, 53, 10, 133, 5};
    struct played played;
    struct stillness still = play(&played, chance, chance);
    assert_int_equal(stillness_wait_ns(&still), 0);
    assert_int_equal(still.unusual_ns, 51 - 2 * 10);
    assert_int_equal(wait_of(wait, wait), 43);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_network_steps),       cmocka_unit_test(data_at_its_pace),
        cmocka_unit_test(nothing_on_any_channel), cmocka_unit_test(nothing_from_the_rank_without_a_trace),
        cmocka_unit_test(a_pause_in_the_middle),  cmocka_unit_test(until_data_of_the_rank_is_due),
        cmocka_unit_test(what_may_be_chance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
