#include "diagnose/score.h"
#include "job/job.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"

#include <stdlib.h>

/* Own times from the operations of a job (slow_ranks.h); rank 3 is slow by 1000 in step 7. */

enum { SLOW = 3, IN_STEP = 7, SLOW_NS = 1000, FIRST = 0, SECOND = 1 };

static void start(struct slow_job *played, int is_hosts)
{
    struct slow_ranks slow = {.is_hosts = is_hosts};
    slow_ranks_add(&slow, SLOW, 1, IN_STEP, IN_STEP, 1, SLOW_NS);
    slow_job_init(played, &slow);
}

static void read(struct place_times *times, const struct slow_job *played, size_t unit, int32_t position)
{
    assert_int_equal(place_times_init(times, &played->source, 0, &played->partitions.items[0], unit), 0);
    place_times_read(times, &played->source, 0, position);
}

static const struct job_operation *operation_of(const struct slow_job *played, size_t rank, size_t step,
                                                int32_t position)
{
    return &played->operations[rank * INSTANCES + step * EACH + (size_t)position];
}

/* How much longer, at most, another rank stayed than this one: it arrived earlier. */
static int64_t waited_for(const struct slow_job *played, size_t rank, size_t step, int32_t position)
{
    int64_t longest_ns = 0, mine_ns = 0;
    for (size_t other = 0; other < RANKS; other++) {
        const struct job_operation *operation = operation_of(played, other, step, position);
        int64_t stay_ns = operation->end_ns - operation->start_ns;
        longest_ns = stay_ns > longest_ns ? stay_ns : longest_ns;
        mine_ns = other == rank ? stay_ns : mine_ns;
    }
    return longest_ns - mine_ns;
}

static void as_the_operations_have_them(void **state)
{
    for (int32_t position = FIRST; position <= SECOND; position++) {
        struct slow_job played;
        struct place_times times;
        start(&played, 0);
        read(&times, &played, ALL_UNITS, position);
        assert_int_equal(times.ranks, RANKS);
        for (size_t rank = 0; rank < RANKS; rank++)
            for (size_t step = 1; step < STEPS; step++) {
                const struct job_operation *operation = operation_of(&played, rank, step, position);
                const struct job_operation *before = operation - 1;
                size_t cell = rank * STEPS + step;
                assert_int_equal(times.own[cell], operation->start_ns - before->end_ns);
                assert_int_equal(times.pace[cell], operation->start_ns - before->start_ns);
                assert_int_equal(times.bound[cell], waited_for(&played, rank, step, position));
                assert_int_equal(times.late[cell], 0);
                assert_int_equal(times.open[cell], 0);
                assert_ptr_equal(&played.operations[place_times_operations(&times, &played.baseline, 0,
                                                                           position, rank)[step]],
                                 operation);
            }
        assert_int_equal(times.within, position == SECOND);
        place_times_release(&times);
        slow_job_release(&played);
    }
}

/* Each was enqueued 5 before it began. */
static void what_had_passed_when_it_was_enqueued(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 1);
    read(&times, &played, ALL_UNITS, FIRST);
    for (size_t cell = 0; cell < RANKS * STEPS; cell++)
        if (cell % STEPS)
            assert_int_equal(times.late[cell], times.own[cell] - 5);
    place_times_release(&times);
    slow_job_release(&played);
}

/* A third of an own time depends on the received bytes; for another one, more than there is. */
static void what_received_data_explain_is_left_out(void **state)
{
    struct slow_job played;
    struct place_times plain, times;
    start(&played, 0);
    read(&plain, &played, ALL_UNITS, FIRST);
    int64_t *explained_ns = calloc(played.job.operation_count, sizeof *explained_ns);
    assert_non_null(explained_ns);
    const int32_t *here = place_times_operations(&plain, &played.baseline, 0, FIRST, SLOW);
    explained_ns[here[1]] = plain.own[SLOW * STEPS + 1] / 3;
    explained_ns[here[2]] = plain.own[SLOW * STEPS + 2] * 2;
    played.baseline.explained_ns = explained_ns;
    read(&times, &played, ALL_UNITS, FIRST);
    assert_int_equal(times.own[SLOW * STEPS + 1],
                     plain.own[SLOW * STEPS + 1] - plain.own[SLOW * STEPS + 1] / 3);
    assert_int_equal(times.own[SLOW * STEPS + 2], 0);
    assert_int_equal(times.own[SLOW * STEPS + 3], plain.own[SLOW * STEPS + 3]);
    played.baseline.explained_ns = NULL;
    free(explained_ns);
    place_times_release(&plain);
    place_times_release(&times);
    slow_job_release(&played);
}

static void nothing_is_known_of_the_warm_up(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    read(&times, &played, ALL_UNITS, SECOND);
    for (size_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(times.own[rank * STEPS], TIME_UNKNOWN);
    place_times_release(&times);
    slow_job_release(&played);
}

static void of_one_unit_alone(void **state)
{
    struct slow_job played;
    struct place_times all, one;
    start(&played, 0);
    read(&all, &played, ALL_UNITS, FIRST);
    read(&one, &played, SLOW, FIRST);
    assert_int_equal(one.ranks, 1);
    assert_int_equal(one.place[0], SLOW);
    for (size_t step = 1; step < STEPS; step++) {
        assert_int_equal(one.own[step], all.own[SLOW * STEPS + step]);
        assert_int_equal(one.bound[step], all.bound[SLOW * STEPS + step]);
    }
    place_times_release(&all);
    place_times_release(&one);
    slow_job_release(&played);
}

/*
 * A send whose end only its proxy recorded may overlap with the time before the first operation of the next
 * step.
 */
static void behind_an_open_end(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    struct job_operation *before = &played.operations[SLOW * INSTANCES + IN_STEP * EACH - 1];
    before->function = FUNCTION_SEND;
    before->ends = ENDS_BY_PROXY;
    read(&times, &played, ALL_UNITS, FIRST);
    assert_int_equal(times.own[SLOW * STEPS + IN_STEP], TIME_UNKNOWN);
    assert_int_equal(times.own[SLOW * STEPS + IN_STEP + 1] != TIME_UNKNOWN, 1);
    place_times_release(&times);
    slow_job_release(&played);
}

/*
 * Before a step, a call to send to a peer and to receive from it. Neither has an end. If the peer had
 * arrived, there is nothing left of them in own time; if the rank waited for it for long, there may be.
 */
static int is_open_behind(struct slow_job *played, int is_sent, enum end_kind ends, int64_t waited_ns)
{
    struct place_times times;
    const size_t after = SLOW * INSTANCES + IN_STEP * EACH;
    struct job_operation *send = &played->operations[after - 2], *receive = &played->operations[after - 1];
    const struct job_operation kept[] = {*send, *receive};
    struct job_instance *instances = played->job.instances;
    const struct job_instance kept_instances[] = {instances[send->instance], instances[receive->instance]};
    receive->group = send->group;
    send->function = FUNCTION_SEND;
    receive->function = FUNCTION_RECV;
    send->end_ns = is_sent ? kept[0].end_ns : TIME_UNKNOWN;
    receive->end_ns = waited_ns ? receive->start_ns + waited_ns : TIME_UNKNOWN;
    receive->ends = ends;
    instances[send->instance].sender = instances[receive->instance].receiver = SLOW;
    instances[send->instance].receiver = instances[receive->instance].sender = SLOW + 1;
    instances[send->instance].members = instances[receive->instance].members = 0;
    read(&times, played, ALL_UNITS, FIRST);
    enum openness open = times.open[SLOW * STEPS + IN_STEP];
    place_times_release(&times);
    instances[send->instance] = kept_instances[0];
    instances[receive->instance] = kept_instances[1];
    *send = kept[0];
    *receive = kept[1];
    return open == OPEN_BY_OTHERS;
}

static void behind_an_exchange_without_ends(void **state)
{
    struct slow_job played;
    start(&played, 0);
    const struct job_operation *next = operation_of(&played, SLOW, IN_STEP, FIRST);
    for (int is_sent = 0; is_sent < 2; is_sent++) {
        assert_true(is_open_behind(&played, is_sent, ENDS_UNKNOWN, 0));
        assert_false(is_open_behind(&played, is_sent, ENDS_BY_SENDER, 0));
        assert_false(is_open_behind(&played, is_sent, ENDS_BY_SENDER, next->own_ns / 4));
        assert_true(is_open_behind(&played, is_sent, ENDS_BY_SENDER, next->own_ns / 4 + 1));
        assert_false(is_open_behind(&played, is_sent, ENDS_BY_KERNEL, next->own_ns / 4 + 1));
    }
    slow_job_release(&played);
}

/* What had passed before the host enqueued the next operation is not the rest of the exchange. */
static void a_late_host_behind_an_exchange(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 1);
    struct job_operation *before = &played.operations[SLOW * INSTANCES + IN_STEP * EACH];
    const struct job_operation *next = operation_of(&played, SLOW, IN_STEP, SECOND);
    before->function = FUNCTION_RECV;
    before->ends = ENDS_BY_SENDER;
    played.operations[SLOW * INSTANCES + IN_STEP * EACH - 1].group = before->group =
        (int32_t)(before - played.operations) - 1;
    played.job.instances[before->instance].sender = SLOW + 1;
    for (int is_late = 0; is_late < 2; is_late++) {
        played.operations[next - played.operations].enqueued_ns =
            is_late ? next->start_ns - 5 : before->end_ns;
        before->start_ns = before->end_ns - next->own_ns;
        read(&times, &played, ALL_UNITS, SECOND);
        assert_int_equal(times.open[SLOW * STEPS + IN_STEP], is_late ? OPEN_NOT : OPEN_BY_OTHERS);
        place_times_release(&times);
    }
    slow_job_release(&played);
}

/* One that was placed by its dump has a duration, so its end need not be noticed. */
static void behind_an_end_that_a_dump_tells(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    struct job_operation *before = &played.operations[SLOW * INSTANCES + IN_STEP * EACH - 1];
    before->function = FUNCTION_RECV;
    before->ends = ENDS_BY_HOST;
    before->stamped = before->inferred = 1;
    read(&times, &played, ALL_UNITS, FIRST);
    assert_int_equal(times.own[SLOW * STEPS + IN_STEP], before[1].start_ns - before->end_ns);
    place_times_release(&times);
    slow_job_release(&played);
}

/* The last to arrive leads by what the last but one waited for it; all others do not. */
static void by_how_much_it_was_the_last(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    read(&times, &played, ALL_UNITS, FIRST);
    int64_t least_ns = INT64_MAX;
    for (size_t rank = 0; rank < RANKS; rank++)
        if (rank != SLOW) {
            int64_t apart_ns = operation_of(&played, SLOW, IN_STEP, FIRST)->start_ns -
                               operation_of(&played, rank, IN_STEP, FIRST)->start_ns;
            least_ns = apart_ns < least_ns ? apart_ns : least_ns;
            assert_int_equal(times.lead[rank * STEPS + IN_STEP], 0);
        }
    assert_int_equal(times.lead[SLOW * STEPS + IN_STEP], least_ns);
    place_times_release(&times);
    slow_job_release(&played);
}

/* Ranks leave a Reduce in turns; a trace of finished operations does not show when. */
static void behind_a_root(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    played.operations[SLOW * INSTANCES + IN_STEP * EACH - 1].function = FUNCTION_REDUCE;
    read(&times, &played, SLOW, FIRST);
    assert_int_equal(times.open[IN_STEP], 0);
    played.job.finished_only = 1;
    place_times_read(&times, &played.source, 0, FIRST);
    assert_int_equal(times.open[IN_STEP], 1);
    assert_int_equal(times.open[IN_STEP + 1], 0);
    place_times_release(&times);
    slow_job_release(&played);
}

/*
 * A link that was slow for a quarter of the own time that follows, in the step before: that delay may be in
 * it.
 */
static void behind_a_slow_link(void **state)
{
    struct slow_job played;
    struct place_times times;
    start(&played, 0);
    int64_t own_ns = operation_of(&played, SLOW, IN_STEP, FIRST)->own_ns;
    played.transfers[IN_STEP * EACH - 1].slow_ns = own_ns / 4;
    read(&times, &played, SLOW, FIRST);
    assert_int_equal(times.open[IN_STEP], 0);
    played.transfers[IN_STEP * EACH - 1].slow_ns = own_ns / 4 + 1;
    place_times_read(&times, &played.source, 0, FIRST);
    assert_int_equal(times.open[IN_STEP], 1);
    assert_int_equal(times.open[IN_STEP + 1], 0);
    place_times_release(&times);
    slow_job_release(&played);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_operations_have_them),
                                       cmocka_unit_test(what_had_passed_when_it_was_enqueued),
                                       cmocka_unit_test(what_received_data_explain_is_left_out),
                                       cmocka_unit_test(nothing_is_known_of_the_warm_up),
                                       cmocka_unit_test(of_one_unit_alone),
                                       cmocka_unit_test(behind_an_open_end),
                                       cmocka_unit_test(behind_an_exchange_without_ends),
                                       cmocka_unit_test(behind_an_end_that_a_dump_tells),
                                       cmocka_unit_test(a_late_host_behind_an_exchange),
                                       cmocka_unit_test(behind_a_slow_link),
                                       cmocka_unit_test(by_how_much_it_was_the_last),
                                       cmocka_unit_test(behind_a_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
