#include "support/cmocka_all.h"
#include "support/events.h"

#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const struct event *event_of(const struct recording *recording, enum event_kind kind, size_t n)
{
    const struct event *found = recording_event(recording, kind, n);
    assert_non_null(found);
    return found;
}

static void read_text(struct recording *recording, const char *text)
{
    recording_of_bytes(recording, "latency-7.txt", text, strlen(text));
}

/* The first line of the fixture, according to its TRUTH: 8 x 2 proxy operations of 2 steps per rank. */
static void an_operation_with_its_proxy_operations(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/comma/latency-301.txt");
    assert_string_equal(recording.dialect, "comma");
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 18);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 16);
    const struct event *event = event_of(&recording, EVENT_OPERATION, 0);
    const struct operation *op = &event->operation;
    assert_true(event->origin.communicator_hash == 0x58aecebabb9e37af);
    assert_int_equal(event->origin.rank, 1);
    assert_int_equal(event->origin.pid, COUNT_UNKNOWN);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->algorithm, ALGORITHM_RING);
    assert_int_equal(op->protocol, PROTOCOL_SIMPLE);
    assert_int_equal(op->bytes, 1048576);
    assert_int_equal(op->sequence, 0);
    assert_int_equal(op->enqueue.begin_ns, 8000000000);
    assert_int_equal(op->enqueue.end_ns, TIME_UNKNOWN); /* its proxy operations moved it */
    assert_int_equal(op->device.begin_ns, TIME_UNKNOWN);
    assert_int_equal(op->device.end_ns, 8000442000);
    assert_int_equal(op->end_source, END_PROXY);
    assert_int_equal(op->unfinished, 0);
    recording_release(&recording);
}

static void waits_of_a_send_and_of_a_receive(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/comma/latency-300.txt");
    const struct proxy_operation *send = &event_of(&recording, EVENT_PROXY, 0)->proxy;
    const struct proxy_operation *receive = &event_of(&recording, EVENT_PROXY, 1)->proxy;
    assert_int_equal(send->operation, 0);
    assert_int_equal(send->direction, DIRECTION_SEND);
    assert_int_equal(send->peer, 1);
    assert_int_equal(send->transferred_bytes, 1048576);
    assert_int_equal(send->progress.end_ns - send->progress.begin_ns, 380000);
    assert_int_equal(send->steps_recorded, 2);
    assert_int_equal(send->steps[0].step, 1);
    assert_int_equal(send->steps[0].wait[WAIT_PEER].begin_ns, 1000150000);
    assert_int_equal(send->steps[0].wait[WAIT_PEER].end_ns, 1000160000);
    assert_int_equal(send->steps[0].wait[WAIT_NETWORK].begin_ns, 1000160000);
    assert_int_equal(send->steps[0].wait[WAIT_NETWORK].end_ns, 1000240000);
    assert_int_equal(receive->direction, DIRECTION_RECV);
    assert_int_equal(receive->steps[1].wait[WAIT_PEER].begin_ns, TIME_UNKNOWN);
    assert_int_equal(receive->steps[1].wait[WAIT_NETWORK].begin_ns, 1000255000);
    assert_int_equal(receive->steps[1].wait[WAIT_NETWORK].end_ns, 1000350000);
    recording_release(&recording);
}

static void without_proxy_operations_nothing_says_when_it_ran(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/comma/latency-300.txt");
    const struct operation *gather = &event_of(&recording, EVENT_OPERATION, 1)->operation;
    assert_int_equal(gather->algorithm, ALGORITHM_PAT);
    assert_int_equal(gather->enqueue.end_ns - gather->enqueue.begin_ns, 12000);
    assert_int_equal(gather->device.end_ns, TIME_UNKNOWN);
    assert_int_equal(gather->end_source, END_UNKNOWN);
    const struct operation *send = &event_of(&recording, EVENT_OPERATION, 16)->operation;
    assert_int_equal(send->kind, OPERATION_POINT_TO_POINT);
    assert_int_equal(send->function, FUNCTION_SEND);
    assert_int_equal(send->peer, 1);
    assert_int_equal(send->sequence, COUNT_UNKNOWN);
    recording_release(&recording);
}

static void what_was_given_up_has_no_end(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/comma/latency-301.txt");
    const struct operation *last = &event_of(&recording, EVENT_OPERATION, 17)->operation;
    assert_int_equal(last->sequence, 8);
    assert_int_equal(last->unfinished, 1);
    assert_int_equal(last->enqueue.end_ns, TIME_UNKNOWN);
    recording_release(&recording);
}

#define HEAD                                                                                              \
    "{\"args\":{\"size\":8},\"cat\":\"COLL\",\"comm_hash\":\"0x1\",\"ph\":\"X\",\"name\":\"all_reduce\"," \
    "\"rank\":0,"

static void values_that_cannot_be(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD "\"seq_num\":-4,\"ts\":5,\"dur\":99999999999999999999}\n" HEAD
                               "\"proxyops\":[7,{\"peer\":1},{\"is_send\":true,\"steps\":[3]}]}\n");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 1);
    assert_int_equal(recording_notes(&recording, "impossible proxy operation"), 2);
    assert_int_equal(recording_notes(&recording, "number out of range"), 1);
    assert_int_equal(recording_notes(&recording, "unreadable value"), 1);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 0)->operation.sequence, COUNT_UNKNOWN);
    recording_release(&recording);
}

static void a_file_that_is_still_written(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD "\"seq_num\":1,\"ts\":5,\"dur\":1}\n" HEAD "\"seq_nu");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_OPEN), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static void more_steps_than_come_at_once(void **state)
{
    enum { STEPS = FORMAT_STEPS_AT_ONCE + 3 };
    struct recording recording;
    struct buffer text = BUFFER_INIT;
    int failed = buffer_append_text(&text, HEAD "\"ts\":5,\"proxyops\":[{\"is_send\":false,\"steps\":[");
    for (int i = 0; i < STEPS; i++)
        failed |= buffer_printf(&text, "%s{\"step\":%d,\"start_time\":%d,\"end_time\":%d}", i ? "," : "", i,
                                i + 9, i + 10);
    assert_false(failed | buffer_append_text(&text, "]}]}\n"));
    read_text(&recording, text.data);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 2);
    assert_int_equal(recording_event(&recording, EVENT_PROXY, 0)->proxy.steps_recorded, FORMAT_STEPS_AT_ONCE);
    assert_int_equal(recording_event(&recording, EVENT_PROXY, 1)->proxy.steps_recorded, 3);
    assert_int_equal(recording_event(&recording, EVENT_PROXY, 1)->proxy.continued, 1);
    buffer_release(&text);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_with_its_proxy_operations),
        cmocka_unit_test(waits_of_a_send_and_of_a_receive),
        cmocka_unit_test(without_proxy_operations_nothing_says_when_it_ran),
        cmocka_unit_test(what_was_given_up_has_no_end),
        cmocka_unit_test(values_that_cannot_be),
        cmocka_unit_test(a_file_that_is_still_written),
        cmocka_unit_test(more_steps_than_come_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
