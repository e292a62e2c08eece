#include "base/base.h"
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Proxy operations of Inspector files: built from their records, and matched with their operations. */

static void put(struct buffer *text, const char *format, ...)
{
    char line[2000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    assert_true(length > 0 && (size_t)length < sizeof line);
    assert_int_equal(buffer_append(text, line, (size_t)length), 0);
}

static void put_marker_with(struct buffer *text, const char *stats)
{
    put(text,
        "{\"header\":{\"id\":\"0xa\",\"rank\":1,\"n_ranks\":2,\"nnodes\":2},\"metadata\":{"
        "\"inspector_output_format_version\":\"v4.4\",\"hostname\":\"h\",\"pid\":7},\"dump_stats\":{\"proxy_"
        "records\":"
        "99,%s}}\n",
        stats);
}

static void put_marker(struct buffer *text)
{
    put_marker_with(text, "\"coll_records\":99");
}

/* Called at that time; on the device until the other. */
static void put_operation(struct buffer *text, const char *function, int number, int call_us, int end_us)
{
    put(text,
        "{\"coll_perf\":{\"coll\":\"%s\",\"coll_sn\":%d,\"coll_msg_size_bytes\":8,\"event_trace_ts\":{\"coll_"
        "start_ts\":"
        "%d,\"coll_stop_ts\":%d,\"kernel_events\":[{\"channel_id\":0,\"kernel_start_ts\":%d,\"kernel_stop_"
        "ts\":%d}]}}}\n",
        function, number, call_us, call_us + 1, call_us + 2, end_us);
}

#define PARENT "\"parent_type\":\"coll\",\"parent_sn\":%d,\"proxy_op_sn\":%d,\"channel_id\":3,\"peer\":0,"

static void put_end_with(struct buffer *text, int parent, int number, int begin_us, int end_us,
                         const char *rest)
{
    put(text,
        "{\"proxy_trace\":{\"record_type\":\"proxy_op\"," PARENT
        "\"direction\":\"send\",\"n_steps\":2,\"chunk_size_bytes\":512,\"trans_size_bytes\":1024,\"event_"
        "trace_ts\":{"
        "\"proxy_op_start_ts\":%d,\"proxy_op_in_progress_ts\":%d,\"proxy_op_stop_ts\":%d}%s}}\n",
        parent, number, begin_us, begin_us + 1, end_us, rest);
}

static void put_end(struct buffer *text, int parent, int number, int begin_us, int end_us)
{
    put_end_with(text, parent, number, begin_us, end_us, "");
}

#define SEND_STEP                                                                                          \
    "\"step\":%d,\"event_trace_ts\":{\"proxy_step_start_ts\":%d,\"send_gpu_wait_ts\":%d,\"send_peer_wait_" \
    "ts\":"                                                                                                \
    "%d,\"send_wait_ts\":%d,\"proxy_step_stop_ts\":%d}"

static void put_step(struct buffer *text, int parent, int number, int step, int at_us)
{
    put(text,
        "{\"proxy_trace\":{\"record_type\":\"proxy_step\"," PARENT "\"direction\":\"send\"," SEND_STEP "}}\n",
        parent, number, step, at_us, at_us + 1, at_us + 3, at_us + 7, at_us + 15);
}

static void read_text(struct recording *recording, struct buffer *text)
{
    recording_of_bytes(recording, "h-pid7.log", text->data, text->length);
    assert_int_equal(recording->status, 0);
    buffer_release(text);
}

static const struct proxy_operation *proxy(const struct recording *recording, size_t n)
{
    const struct event *event = recording_event(recording, EVENT_PROXY, n);
    assert_non_null(event);
    assert_true(event->origin.communicator_hash == 0xa);
    assert_int_equal(event->origin.rank, 1);
    return &event->proxy;
}

static void assert_wait(const struct proxy_step *step, enum wait_kind kind, int64_t begin_us, int64_t end_us)
{
    assert_int_equal(step->wait[kind].begin_ns, begin_us < 0 ? TIME_UNKNOWN : begin_us * 1000);
    assert_int_equal(step->wait[kind].end_ns, end_us < 0 ? TIME_UNKNOWN : end_us * 1000);
}

/* Each state lasts until the next one begins. */
static void steps_and_their_end(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_operation(&text, "AllReduce", 4, 10, 90);
    put_step(&text, 4, 6, 0, 20);
    put_step(&text, 4, 6, 1, 40);
    put_end(&text, 4, 6, 15, 70);
    read_text(&recording, &text);
    const struct proxy_operation *only = proxy(&recording, 0);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 1);
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(only->operation, 0);
    assert_int_equal(only->direction, DIRECTION_SEND);
    assert_int_equal(only->channel, 3);
    assert_int_equal(only->peer, 0);
    assert_int_equal(only->step_count, 2);
    assert_int_equal(only->chunk_bytes, 512);
    assert_int_equal(only->transferred_bytes, 1024);
    assert_int_equal(only->schedule.begin_ns, 15000);
    assert_int_equal(only->schedule.end_ns, 16000);
    assert_int_equal(only->progress.begin_ns, 16000);
    assert_int_equal(only->progress.end_ns, 70000);
    assert_int_equal(only->steps_recorded, 2);
    assert_int_equal(only->steps[1].step, 1);
    assert_wait(&only->steps[1], WAIT_GPU, 41, 43);
    assert_wait(&only->steps[1], WAIT_PEER, 43, 47);
    assert_wait(&only->steps[1], WAIT_NETWORK, 47, 55);
    assert_wait(&only->steps[1], WAIT_FLUSH, -1, -1);
    recording_release(&recording);
}

/* A missing state leaves the duration of the previous one unknown; so does a clock that goes back. */
static void receiving_steps(void **state)
{
    static const struct {
        const char *times;
        int network[2], flush[2], gpu[2];
    } cases[] = {
        {"\"recv_wait_ts\":21,\"recv_flush_wait_ts\":25,\"recv_gpu_wait_ts\":26,\"proxy_step_stop_ts\":30",
         {21, 25},
         {25, 26},
         {26, 30}},
        {"\"recv_wait_ts\":21,\"recv_gpu_wait_ts\":26,\"proxy_step_stop_ts\":30",
         {21, -1},
         {-1, -1},
         {26, 30}},
        {"\"recv_wait_ts\":21,\"recv_flush_wait_ts\":19,\"recv_gpu_wait_ts\":26",
         {21, -1},
         {19, 26},
         {26, -1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text = BUFFER_INIT;
        struct recording recording;
        put_marker(&text);
        put(&text,
            "{\"proxy_trace\":{\"record_type\":\"proxy_op\"," PARENT
            "\"direction\":\"recv\",\"event_trace_ts\":{\"proxy_op_start_ts\":9,\"proxy_op_stop_ts\":40},"
            "\"steps\":["
            "{\"step\":0,\"event_trace_ts\":{%s}}]}}\n",
            1, 1, cases[i].times);
        read_text(&recording, &text);
        const struct proxy_operation *only = proxy(&recording, 0);
        assert_int_equal(only->direction, DIRECTION_RECV);
        assert_int_equal(only->progress.begin_ns, 9000);
        assert_wait(&only->steps[0], WAIT_NETWORK, cases[i].network[0], cases[i].network[1]);
        assert_wait(&only->steps[0], WAIT_FLUSH, cases[i].flush[0], cases[i].flush[1]);
        assert_wait(&only->steps[0], WAIT_GPU, cases[i].gpu[0], cases[i].gpu[1]);
        recording_release(&recording);
    }
}

/* Functions are counted separately: of two operations with one number it is the one that was running. */
static void operations_of_one_number(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_operation(&text, "AllReduce", 0, 10, 30);
    put_operation(&text, "AllGather", 0, 12, 60);
    put_operation(&text, "ReduceScatter", 0, 70, 90);
    put_end(&text, 0, 1, 11, 29);
    put_end(&text, 0, 2, 13, 58);
    put_end(&text, 0, 3, 65, 68);
    put_end(&text, 0, 4, 71, 99);
    put_end(&text, 5, 5, 71, 99);
    read_text(&recording, &text);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 5);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(proxy(&recording, i)->operation, COUNT_UNKNOWN);
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(proxy(&recording, i)->operation, i - 2);
    assert_int_equal(recording_notes(&recording, "proxy operation whose operation is not in the file"), 2);
    recording_release(&recording);
}

/* The operation is written one dump after its proxy operation: another one with its number is not used. */
static void an_operation_that_comes_later(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_operation(&text, "AllReduce", 0, 10, 60);
    put_end(&text, 0, 1, 13, 58);
    put_marker(&text);
    put_operation(&text, "AllGather", 0, 12, 60);
    put_marker(&text);
    put_operation(&text, "AllReduce", 1, 70, 80);
    read_text(&recording, &text);
    assert_int_equal(proxy(&recording, 0)->operation, 1);
    recording_release(&recording);
}

/* Files that are not verbose have no times of operations: if only one has the number, it is that. */
static void without_times(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put(&text, "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":0}}\n");
    put(&text, "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":1}}\n");
    put(&text, "{\"coll_perf\":{\"coll\":\"AllGather\",\"coll_sn\":1}}\n");
    put_end(&text, 0, 1, 13, 58);
    put_end(&text, 1, 2, 13, 58);
    read_text(&recording, &text);
    assert_int_equal(proxy(&recording, 0)->operation, COUNT_UNKNOWN);
    assert_int_equal(proxy(&recording, 1)->operation, 0);
    recording_release(&recording);
}

/* Format v4.4: begin, some steps, and the rest with the end. */
static void parts_of_a_proxy_operation(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_operation(&text, "AllReduce", 4, 10, 900);
    put(&text,
        "{\"proxy_trace\":{\"record_type\":\"proxy_op_start\"," PARENT
        "\"direction\":\"send\",\"is_final\":false,\"n_steps\":3,\"event_trace_ts\":{\"proxy_op_start_ts\":"
        "15}}}\n",
        4, 6);
    put(&text,
        "{\"proxy_trace\":{\"record_type\":\"proxy_op_segment\"," PARENT
        "\"direction\":\"send\",\"is_final\":false,\"steps\":[{" SEND_STEP "},{" SEND_STEP "}]}}\n",
        4, 6, 0, 20, 21, 22, 23, 24, 1, 30, 31, 32, 33, 34);
    put_marker_with(&text, "\"coll_records\":98");
    put_marker_with(&text, "\"coll_records\":97");
    put_marker(&text);
    put_end_with(
        &text, 4, 6, 15, 70,
        ",\"steps\":[{\"step\":2,\"event_trace_ts\":{\"send_wait_ts\":60,\"proxy_step_stop_ts\":66}}]");
    read_text(&recording, &text);
    const struct proxy_operation *only = proxy(&recording, 0);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 1);
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(only->operation, 0);
    assert_int_equal(only->steps_recorded, 3);
    assert_wait(&only->steps[0], WAIT_PEER, 22, 23);
    assert_wait(&only->steps[2], WAIT_NETWORK, 60, 66);
    assert_int_equal(only->progress.end_ns, 70000);
    recording_release(&recording);
}

/* A begin without an end is a hang; if records were dropped, its end may be among them. */
static void what_never_ended(void **state)
{
    static const char *const stats[] = {"\"proxy_dropped_total\":0", "\"proxy_dropped_total\":4"};
    static const int64_t ends_ns[] = {TIME_UNKNOWN, 24000};
    for (size_t i = 0; i < 2; i++) {
        struct buffer text = BUFFER_INIT;
        struct recording recording;
        put_marker_with(&text, stats[i]);
        put(&text,
            "{\"proxy_trace\":{\"record_type\":\"proxy_op_start\"," PARENT
            "\"direction\":\"send\",\"event_trace_ts\":{\"proxy_op_start_ts\":15}}}\n",
            4, 6);
        put(&text,
            "{\"proxy_trace\":{\"record_type\":\"proxy_op_segment\"," PARENT
            "\"direction\":\"send\",\"steps\":[{" SEND_STEP "}]}}\n",
            4, 6, 0, 20, 21, 22, 23, 24);
        read_text(&recording, &text);
        assert_int_equal(proxy(&recording, 0)->progress.begin_ns, 15000);
        assert_int_equal(proxy(&recording, 0)->progress.end_ns, ends_ns[i]);
        recording_release(&recording);
    }
}

/* Steps without their proxy operation: it lasted from the first to the last of them. */
static void steps_alone(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_operation(&text, "AllReduce", 4, 10, 900);
    put_step(&text, 4, 6, 0, 20);
    put_step(&text, 4, 6, 1, 40);
    read_text(&recording, &text);
    assert_int_equal(proxy(&recording, 0)->operation, 0);
    assert_int_equal(proxy(&recording, 0)->progress.begin_ns, 20000);
    assert_int_equal(proxy(&recording, 0)->progress.end_ns, 55000);
    recording_release(&recording);
}

static void dropped_steps_are_a_loss(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put_end_with(&text, 1, 1, 13, 58, ",\"n_steps_dropped\":5");
    read_text(&recording, &text);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 0)->loss.events, 5);
    assert_false(recording_event(&recording, EVENT_LOSS, 0)->loss.is_total);
    recording_release(&recording);
}

static void records_that_say_too_little(void **state)
{
    static const struct {
        const char *record;
        const char *reason;
    } cases[] = {
        {"\"record_type\":\"proxy_op\",\"direction\":\"send\"", "impossible proxy operation"},
        {"\"record_type\":\"proxy_op\",\"proxy_op_sn\":1,\"direction\":\"up\"", "impossible proxy operation"},
        {"\"record_type\":\"proxy_idle\",\"proxy_op_sn\":1,\"direction\":\"send\"", "unknown record"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text = BUFFER_INIT;
        struct recording recording;
        put_marker(&text);
        put(&text, "{\"proxy_trace\":{%s}}\n", cases[i].record);
        read_text(&recording, &text);
        assert_int_equal(recording_count(&recording, EVENT_PROXY), 0);
        assert_int_equal(recording_notes(&recording, cases[i].reason), 1);
        recording_release(&recording);
    }
}

/* Durations without the times between which they lie. */
static void durations_alone_are_not_kept(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker(&text);
    put(&text,
        "{\"proxy_trace\":{\"record_type\":\"proxy_step\"," PARENT
        "\"direction\":\"send\",\"step\":0,\"wire_us\":5,\"total_us\":7}}\n",
        1, 1);
    read_text(&recording, &text);
    assert_int_equal(recording_notes(&recording, "timestamps that are not stored"), 2);
    recording_release(&recording);
}

/* More than are kept back: they are reported without what they waited for, and none is lost. */
static void memory_is_bounded(void **state)
{
    enum { MANY = TRANSFERS_HELD + 10 };
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker_with(&text, "\"coll_records\":9999999");
    for (int i = 0; i < MANY; i++)
        put_step(&text, 1, i, 0, 20);
    read_text(&recording, &text);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), MANY);
    assert_int_equal(recording_notes(&recording, "too many proxy operations at once"), 1);
    recording_release(&recording);
}

/* A long one has several records, of which only the last has an end. */
static void more_steps_than_a_record_holds(void **state)
{
    enum { MANY = FORMAT_STEPS_AT_ONCE + 3 };
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    put_marker_with(&text, "\"coll_records\":9999999");
    put_operation(&text, "AllReduce", 1, 10, 900);
    for (int i = 0; i < MANY; i++)
        put_step(&text, 1, 1, i, 20);
    put_end(&text, 1, 1, 15, 70);
    read_text(&recording, &text);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 2);
    assert_int_equal(proxy(&recording, 0)->steps_recorded, FORMAT_STEPS_AT_ONCE);
    assert_int_equal(proxy(&recording, 0)->progress.end_ns, TIME_UNKNOWN);
    assert_false(proxy(&recording, 0)->continued);
    assert_int_equal(proxy(&recording, 1)->steps_recorded, 3);
    assert_int_equal(proxy(&recording, 1)->progress.end_ns, 70000);
    assert_true(proxy(&recording, 1)->continued);
    recording_release(&recording);
}

/* Flat or nested, the result is the same. */
static void fixtures_say_the_same(void **state)
{
    struct recording flat, nested;
    recording_of_file(&flat, "fixtures/inspector-v4.3-proxy/node0-pid1000.log");
    recording_of_file(&nested, "fixtures/inspector-v4.4/node0-pid1000.log");
    assert_int_equal(recording_count(&flat, EVENT_OPERATION), 6);
    assert_int_equal(recording_count(&flat, EVENT_PROXY), 12);
    assert_int_equal(flat.note_count, 0);
    for (size_t i = 0; i < flat.event_count; i++)
        flat.events[i].origin.offset = 0;
    for (size_t i = 0; i < nested.event_count; i++)
        nested.events[i].origin.offset = 0;
    assert_same_events(&flat, &nested);
    recording_release(&flat);
    recording_release(&nested);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_their_end),
        cmocka_unit_test(receiving_steps),
        cmocka_unit_test(operations_of_one_number),
        cmocka_unit_test(an_operation_that_comes_later),
        cmocka_unit_test(without_times),
        cmocka_unit_test(parts_of_a_proxy_operation),
        cmocka_unit_test(what_never_ended),
        cmocka_unit_test(steps_alone),
        cmocka_unit_test(dropped_steps_are_a_loss),
        cmocka_unit_test(records_that_say_too_little),
        cmocka_unit_test(durations_alone_are_not_kept),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(more_steps_than_a_record_holds),
        cmocka_unit_test(fixtures_say_the_same),
    };
    return cmocka_run_group_tests_name("inspector transfers", tests, NULL, NULL);
}
