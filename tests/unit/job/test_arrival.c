#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/network.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/written.h"

#include <stdlib.h>

/* One operation of three ranks, each at its place. */
enum { MEMBERS = 3 };

struct meeting {
    struct job job;
    struct job_rank ranks[MEMBERS];
    struct job_operation operations[MEMBERS];
    struct job_instance instance;
    int32_t members[MEMBERS];
    int64_t syncs_ns[MEMBERS];
};

static void make(struct meeting *meeting, enum function function, const int64_t *durations_ns,
                 const int64_t *syncs_ns)
{
    *meeting = (struct meeting){.instance = {.members = MEMBERS,
                                             .expected = MEMBERS,
                                             .sender = -1,
                                             .receiver = -1,
                                             .function = (uint8_t)function}};
    for (int32_t i = 0; i < MEMBERS; i++) {
        int known = durations_ns[i] != TIME_UNKNOWN;
        meeting->members[i] = i;
        meeting->syncs_ns[i] = syncs_ns ? syncs_ns[i] : 0;
        meeting->ranks[i] = (struct job_rank){.first = (size_t)i, .count = 1};
        meeting->operations[i] =
            (struct job_operation){.rank = i,
                                   .group = i,
                                   .previous = -1,
                                   .function = (uint8_t)function,
                                   .start_ns = known ? 1000 : TIME_UNKNOWN,
                                   .end_ns = known ? 1000 + durations_ns[i] : TIME_UNKNOWN,
                                   .own_ns = TIME_UNKNOWN,
                                   .ends = known ? ENDS_BY_KERNEL : ENDS_UNKNOWN};
    }
    meeting->job = (struct job){.rank_count = MEMBERS,
                                .ranks = meeting->ranks,
                                .operations = meeting->operations,
                                .operation_count = MEMBERS,
                                .instances = &meeting->instance,
                                .instance_count = 1,
                                .instance_members = meeting->members,
                                .initial_sync_ns = syncs_ns ? meeting->syncs_ns : NULL};
    job_find_synced(&meeting->job);
    meeting->instance.transfer_ns = arrival_transfer_ns(&meeting->job, &meeting->instance);
}

/* The rank that arrived last, -1 if unknown; *waited_ns: how long the others waited for it. */
static int32_t last_of(const struct meeting *meeting, int64_t *waited_ns)
{
    struct error error = ERROR_INIT;
    struct excess excess[MEMBERS] = {{0}};
    const struct transfer_excess transfer = {.beyond_ns = TIME_UNKNOWN, .culprit = -1};
    const struct baseline baseline = {.excess = *written_excess(excess)};
    struct delay *delays = delays_measure(&meeting->job, &baseline, &transfer, &error);
    int32_t last = -1;
    *waited_ns = 0;
    assert_non_null(delays);
    for (int32_t i = 0; i < MEMBERS; i++) {
        if (delays[i].times_last)
            last = i;
        *waited_ns +=
            delays[i].own_ns + delays[i].inherited_ns + delays[i].network_ns + delays[i].unexplained_ns;
    }
    free(delays);
    return last;
}

/* No rank leaves before all have arrived: the rank with the shortest duration arrived last. */
static void durations_tell(void **state)
{
    static const int64_t durations_ns[] = {500, 200, 250};
    struct meeting meeting;
    int64_t waited_ns;
    make(&meeting, FUNCTION_ALL_REDUCE, durations_ns, NULL);
    assert_false(meeting.instance.is_synced);
    assert_int_equal(meeting.instance.transfer_ns, 200);
    assert_int_equal(last_of(&meeting, &waited_ns), 1);
    assert_int_equal(waited_ns, 300 + 50);
}

/*
 * Rank 0 arrived last: its barrier took its minimum of 10. Rank 2's kernel is long because of its work after
 * the barrier, and rank 1's is the shortest although it waited for 100.
 */
static void durations_lie(void **state)
{
    static const int64_t durations_ns[] = {400, 310, 900}, syncs_ns[] = {10, 110, 60};
    struct meeting meeting;
    int64_t waited_ns;
    make(&meeting, FUNCTION_ALL_GATHER, durations_ns, syncs_ns);
    assert_true(meeting.instance.is_synced);
    assert_int_equal(arrival_stay_ns(&meeting.job, 2), 60);
    assert_int_equal(last_of(&meeting, &waited_ns), 0);
    assert_int_equal(waited_ns, 100 + 50);
    /* The durations without wait: 400, 210, 850. */
    assert_int_equal(meeting.instance.transfer_ns, 210);
}

/* If the phase of one rank is unknown, for example of another kernel, durations decide for all. */
static void all_members_have_to_say(void **state)
{
    static const int64_t durations_ns[] = {400, 310, 900}, syncs_ns[] = {10, 0, 60};
    struct meeting meeting;
    int64_t waited_ns;
    make(&meeting, FUNCTION_ALL_GATHER, durations_ns, syncs_ns);
    assert_false(meeting.instance.is_synced);
    assert_int_equal(last_of(&meeting, &waited_ns), 1);
    assert_int_equal(waited_ns, 90 + 590);
    assert_int_equal(meeting.instance.transfer_ns, 310);
}

/* A barrier is one whatever comes after it; without one, a rank that does not wait for all shows nothing. */
static void any_function_may_begin_with_a_barrier(void **state)
{
    static const int64_t durations_ns[] = {500, 200, 250}, syncs_ns[] = {10, 310, 60};
    struct meeting meeting;
    int64_t waited_ns;
    make(&meeting, FUNCTION_BROADCAST, durations_ns, NULL);
    assert_int_equal(last_of(&meeting, &waited_ns), -1);
    make(&meeting, FUNCTION_BROADCAST, durations_ns, syncs_ns);
    assert_int_equal(last_of(&meeting, &waited_ns), 0);
    assert_int_equal(waited_ns, 300 + 50);
}

/* The wait time is known without the stop of a kernel; the transfer time from those with a stop. */
static void stops_are_not_needed(void **state)
{
    static const int64_t durations_ns[] = {TIME_UNKNOWN, 310, TIME_UNKNOWN}, syncs_ns[] = {10, 110, 60};
    static const int64_t none_ns[] = {TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
    struct meeting meeting;
    int64_t waited_ns;
    make(&meeting, FUNCTION_ALL_REDUCE, durations_ns, syncs_ns);
    assert_int_equal(last_of(&meeting, &waited_ns), 0);
    assert_int_equal(waited_ns, 100 + 50);
    assert_int_equal(meeting.instance.transfer_ns, 210);
    make(&meeting, FUNCTION_ALL_REDUCE, none_ns, syncs_ns);
    assert_int_equal(last_of(&meeting, &waited_ns), 0);
    assert_true(meeting.instance.transfer_ns == TIME_UNKNOWN);
    make(&meeting, FUNCTION_ALL_REDUCE, durations_ns, NULL);
    assert_int_equal(last_of(&meeting, &waited_ns), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_tell),          cmocka_unit_test(durations_lie),
        cmocka_unit_test(all_members_have_to_say), cmocka_unit_test(any_function_may_begin_with_a_barrier),
        cmocka_unit_test(stops_are_not_needed),
    };
    return cmocka_run_group_tests_name("arrival", tests, NULL, NULL);
}
