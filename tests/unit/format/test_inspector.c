#include "support/cmocka_all.h"
#include "support/events.h"

#include "base/base.h"
#include "format/format.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct format format_inspector;

static const struct event *event(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(found);
    return found;
}

/* The first line of the first file of i_base, read by hand. */
static void a_verbose_collective(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/inspector-pr2045-verbose/vm-pid31031.log");
    const struct event *first = event(&recording, 0);
    const struct operation *op = &first->operation;
    assert_int_equal(recording.status, 0);
    assert_string_equal(recording.dialect, "inspector-pr2045");
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(recording.event_count, 6);
    assert_true(first->origin.communicator_hash == 0x4a720128a21895);
    assert_int_equal(first->origin.rank, 0);
    assert_int_equal(first->origin.communicator_size, 2);
    assert_int_equal(first->origin.node_count, 1);
    assert_string_equal(first->origin.host, "vm");
    assert_int_equal(first->origin.pid, 31031);
    assert_null(first->origin.communicator_name);
    assert_int_equal(op->kind, OPERATION_COLLECTIVE);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->sequence, 1);
    assert_int_equal(op->bytes, 4194304);
    assert_int_equal(op->duration_ns, 111000);
    assert_string_equal(op->tag, "forward");
    assert_int_equal(op->enqueue.begin_ns, 1795218171194099000);
    assert_int_equal(op->enqueue.end_ns, 1795218171194099000);
    assert_int_equal(op->device.begin_ns, 1795218171197450000);
    assert_int_equal(op->device.end_ns, 1795218171197451000);
    assert_int_equal(op->end_source, END_KERNEL);
    assert_int_equal(op->kernel_channel_count, 2);
    assert_int_equal(op->channels[1].channel, 1);
    assert_int_equal(op->channels[1].host.end_ns, 1795218171197451000);
    assert_int_equal(op->channel_count, 2);
    assert_int_equal(op->gpu_begin, 0);
    recording_release(&recording);
}

/* The time of the dump bounds the end, which is all that is known of it. */
static void without_verbose_there_is_the_time_of_the_dump(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/inspector-pr2045/vm-pid33242.log");
    const struct operation *op = &event(&recording, 0)->operation;
    assert_int_equal(recording.event_count, 6);
    assert_int_equal(op->duration_ns, 113000);
    assert_int_equal(op->enqueue.begin_ns, TIME_UNKNOWN);
    assert_int_equal(op->device.begin_ns, TIME_UNKNOWN);
    assert_int_equal(op->device.end_ns, 1795218357546644000);
    assert_int_equal(op->end_source, END_DUMP);
    assert_int_equal(op->kernel_channel_count, 0);
    assert_string_equal(op->tag, "forward");
    recording_release(&recording);
}

static const char pair[] =
    "{\"header\":{\"id\":\"0xfffffffffffffffe\",\"comm_name\":\"unknown\",\"rank\":1,\"n_ranks\":2,"
    "\"nnodes\":2},"
    "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"v2.30.7\",\"rec_mechanism\":"
    "\"nccl_profiler_interface\",\"dump_timestamp_us\":1795219145488303,\"hostname\":\"h\",\"pid\":7},"
    "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":1,\"p2p_peer\":0,\"p2p_msg_size_bytes\":4096,"
    "\"p2p_exec_time_us\":225,\"p2p_timing_source\":\"collective_cpu\",\"p2p_algobw_gbs\":18.641351,"
    "\"p2p_busbw_gbs\":18.641351,\"event_trace_sn\":{\"p2p_start_sn\":2,\"p2p_stop_sn\":3,\"kernel_events\":"
    "[{\"channel_id\":0,\"kernel_start_sn\":0,\"kernel_stop_sn\":0,\"kernel_record_sn\":0}]},"
    "\"event_trace_ts\":{\"p2p_start_ts\":1000,\"p2p_stop_ts\":1016,\"kernel_events\":[{\"channel_id\":0,"
    "\"kernel_start_ts\":0,\"kernel_stop_ts\":0,\"kernel_record_ts\":0}]}}}\n";

/* Without kernel times, it ended before its line was dumped. */
static void a_send_that_ended_before_its_dump(void **state)
{
    struct recording recording;
    recording_of_bytes(&recording, "h-pid7.log", pair, sizeof pair - 1);
    const struct event *first = event(&recording, 0);
    const struct operation *op = &first->operation;
    assert_string_equal(recording.dialect, "inspector-2.30");
    assert_true(first->origin.communicator_hash == 0xfffffffffffffffe);
    assert_null(first->origin.communicator_name);
    assert_int_equal(op->kind, OPERATION_POINT_TO_POINT);
    assert_int_equal(op->function, FUNCTION_SEND);
    assert_int_equal(op->peer, 0);
    assert_int_equal(op->sequence, 1);
    assert_int_equal(op->enqueue.begin_ns, 1000000);
    assert_int_equal(op->enqueue.end_ns, 1016000);
    assert_int_equal(op->duration_ns, 225000);
    assert_int_equal(op->device.begin_ns, TIME_UNKNOWN);
    assert_int_equal(op->device.end_ns, 1795219145488303000);
    assert_int_equal(op->end_source, END_DUMP);
    recording_release(&recording);
}

static void names_of_communicators(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/inspector-2.30/vm-pid33442.log");
    assert_string_equal(event(&recording, 0)->origin.communicator_name, "tp0");
    assert_int_equal(recording.event_count, 8);
    recording_release(&recording);
}

static void the_same_line_twice_counts_once(void **state)
{
    char twice[2 * sizeof pair];
    struct recording recording;
    snprintf(twice, sizeof twice, "%s%s", pair, pair);
    recording_of_bytes(&recording, "h-pid7.log", twice, strlen(twice));
    assert_int_equal(recording.event_count, 1);
    assert_int_equal(recording_notes(&recording, "duplicate record"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* Whichever reader is used: with a carriage return before its newline it is not the fast one. */
static void a_line_repeats_one_read_in_another_way(void **state)
{
    char text[7 * sizeof pair] = "";
    struct recording recording;
    size_t length = 0;
    int body = (int)strlen(pair) - 1;
    for (int i = 0; i < 6; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%.*s%s", body, pair,
                                   i % 3 ? "\n" : "\r\n");
    recording_of_bytes(&recording, "h-pid7.log", text, length);
    assert_int_equal(recording.event_count, 1);
    assert_int_equal(recording_notes(&recording, "duplicate record"), 5);
    recording_release(&recording);
}

/*
 * A line across the boundary of the windows in which a file is read, with similar lines before and after it.
 */
static void lines_repeat_across_windows(void **state)
{
    enum { LINES = 4000 };
    char *text = malloc(LINES * sizeof pair), *number;
    struct recording recording;
    size_t length = 0;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++) {
        length += (size_t)snprintf(text + length, sizeof pair, "%s", pair);
        number = strstr(text + length - strlen(pair), "225");
        memcpy(number, (char[3]){'1', (char)('0' + i / 2 % 10), '7'}, 3);
    }
    recording_of_bytes(&recording, "h-pid7.log", text, length);
    assert_int_equal(recording.event_count, LINES / 2);
    assert_int_equal(recording_notes(&recording, "duplicate record"), LINES / 2);
    recording_release(&recording);
    free(text);
}

/* Two records on one line, then a truncated one, then words that are no number. */
static void damage_and_nan(void **state)
{
    struct recording recording;
    char text[4 * sizeof pair];
    char nan[sizeof pair + 8];
    const char *at = strstr(pair, "225");
    int before = (int)(at - pair);
    snprintf(nan, sizeof nan, "%.*s\"nan\"%s", before, pair, at + 3);
    snprintf(text, sizeof text, "%.*s%.*s\n%s%.*s", (int)sizeof pair - 2, pair, before, pair, nan, 300, pair);
    recording_of_bytes(&recording, "h-pid7.log", text, strlen(text));
    assert_int_equal(recording.event_count, 2);
    assert_int_equal(event(&recording, 1)->operation.duration_ns, COUNT_UNKNOWN);
    assert_int_equal(event(&recording, 1)->operation.end_source, END_DUMP);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    assert_int_equal(recording_notes(&recording, "incomplete last line"), 1);
    assert_int_equal(recording_notes(&recording, "trace is open"), 1);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

#define HEADER                                                                                             \
    "{\"header\": {\"id\": \"0x12\", \"comm_name\": \"dp\", \"rank\": 1, \"n_ranks\": 2, \"nnodes\": 1}, " \
    "\"metadata\": {\"git_rev\": \"v2.30.7\", \"hostname\": \"h\", \"pid\": 7}"
#define COLLECTIVE                                                                            \
    ", \"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": 3, \"coll_msg_size_bytes\": 8, " \
    "\"coll_exec_time_us\": 9, \"coll_timing_source\": \"kernel_gpu\", \"event_trace_ts\": "  \
    "{\"coll_start_ts\": 1, \"coll_stop_ts\": 2, \"kernel_events\": [{\"channel_id\": 0, "    \
    "\"kernel_start_ts\": 3, \"kernel_stop_ts\": 4}]}}"

/* Reads a line with `before` replaced by `after`. */
static void read_changed(struct recording *recording, const char *before, const char *after)
{
    static const char line[] = HEADER COLLECTIVE "}";
    char text[sizeof line + 400];
    const char *at = strstr(line, before);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s\n", (int)(at - line), line, after, at + strlen(before));
    recording_of_bytes(recording, "h-pid7.log", text, strlen(text));
}

/* The previous content of its slot: the end is unknown, and that is reported. */
static void ends_before_begins_are_left_over(void **state)
{
    struct recording recording;
    read_changed(&recording, "\"kernel_stop_ts\": 4", "\"kernel_stop_ts\": 2");
    assert_int_equal(recording_notes(&recording, "stale end"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(event(&recording, 0)->operation.channels[0].host.end_ns, TIME_UNKNOWN);
    assert_int_equal(event(&recording, 0)->operation.device.begin_ns, 3000);
    assert_int_equal(event(&recording, 0)->operation.device.end_ns, TIME_UNKNOWN);
    recording_release(&recording);
    read_changed(&recording, "\"coll_start_ts\": 1", "\"coll_start_ts\": 3");
    assert_int_equal(recording_notes(&recording, "stale end"), 1);
    assert_int_equal(event(&recording, 0)->operation.enqueue.begin_ns, 3000);
    assert_int_equal(event(&recording, 0)->operation.enqueue.end_ns, TIME_UNKNOWN);
    assert_int_equal(event(&recording, 0)->operation.device.end_ns, 4000);
    recording_release(&recording);
}

/* A value that cannot be read is reported, once per record; the record still counts. */
static void values_that_cannot_be_read(void **state)
{
    static const char *const changes[][2] = {
        {"\"0x12\"", "\"0x1234567890abcdef0\""},
        {"\"0x12\"", "\"zz\""},
        {"\"0x12\"", "\"\""},
        {"\"0x12\"", "18"},
        {"\"dp\"", "\"d\\u0000p\""},
        {"\"dp\"", "[\"dp\"]"},
        {"\"rank\": 1", "\"rank\": true"},
        {"{\"git_rev\": \"v2.30.7\", \"hostname\": \"h\", \"pid\": 7}", "\"none\""},
        {"\"AllReduce\"", "5"},
        {"\"coll_sn\": 3", "\"coll_sn\": 1.5"},
        {"\"coll_sn\": 3", "\"coll_sn\": \"7\""},
        {"\"coll_sn\": 3", "\"coll_sn\": -3"},
        {"\"rank\": 1", "\"rank\": -1"},
        {"\"n_ranks\": 2", "\"n_ranks\": -2"},
        {"\"nnodes\": 1", "\"nnodes\": -2"},
        {"\"pid\": 7", "\"pid\": -7"},
        {"\"coll_msg_size_bytes\": 8", "\"coll_msg_size_bytes\": -8"},
        {"\"coll_exec_time_us\": 9", "\"coll_exec_time_us\": -9"},
        {"\"coll_start_ts\": 1", "\"coll_start_ts\": -2"},
        {"\"coll_msg_size_bytes\": 8", "\"coll_msg_size_bytes\": 9223372036854775808"},
        {"\"coll_exec_time_us\": 9", "\"coll_exec_time_us\": 9000000000000000000"},
        {"\"coll_exec_time_us\": 9", "\"coll_exec_time_us\": \"nine\""},
        {"\"coll_start_ts\": 1", "\"coll_start_ts\": {}"},
        {"{\"coll_start_ts\": 1", "[], \"was\": {\"coll_start_ts\": 1"},
        {"[{\"channel_id\": 0", "[null, {\"channel_id\": 0"},
        {"\"channel_id\": 0", "\"channel_id\": -1"},
        {"\"channel_id\": 0, ", ""},
        {"[{\"channel_id\"", "{}, \"were\": [{\"channel_id\""},
        {"\"coll_perf\"", "\"p2p_perf\": {\"p2p\": \"Send\"}, \"coll_perf\""},
        {"\"coll_perf\"", "\"p2p_perf\": 5, \"coll_perf\""},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct recording recording;
        read_changed(&recording, changes[i][0], changes[i][1]);
        if (recording.event_count != 1 || recording_notes(&recording, "unreadable value") != 1)
            fail_msg("with %s", changes[i][1]);
        assert_int_equal(recording_damage(&recording), 1);
        assert_true(event(&recording, 0)->origin.rank >= COUNT_UNKNOWN);
        assert_true(event(&recording, 0)->origin.communicator_size >= 0);
        assert_true(event(&recording, 0)->operation.bytes >= COUNT_UNKNOWN);
        assert_true(event(&recording, 0)->operation.sequence >= COUNT_UNKNOWN);
        recording_release(&recording);
    }
}

/* A value that is missing, null, or no valid time is unknown, and does not affect others. */
static void values_that_are_not_there(void **state)
{
    static const char *const changes[][2] = {
        {"\"0x12\"", "\"0x0012\""},
        {"\"0x12\"", "null"},
        {"\"coll_sn\": 3, ", ""},
        {"\"coll_sn\": 3", "\"coll_sn\": null"},
        {"\"coll_exec_time_us\": 9", "\"coll_exec_time_us\": \"nan\""},
        {"\"n_ranks\": 2", "\"n_ranks\": -1"},
        {"\"nnodes\": 1", "\"nnodes\": -1"},
        {"\"coll_sn\": 3", "\"coll_sn\": 3, \"coll_algobw_gbs\": \"\\\\u0000\""},
        {"\"coll_perf\"", "\"p2p_perf\": null, \"coll_perf\""},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct recording recording;
        read_changed(&recording, changes[i][0], changes[i][1]);
        if (recording.event_count != 1 || recording.note_count != 0)
            fail_msg("with %s", changes[i][1]);
        assert_true(event(&recording, 0)->origin.communicator_size >= 0);
        assert_true(event(&recording, 0)->origin.node_count >= 0);
        recording_release(&recording);
    }
}

/* An operation without any data is none. */
static void records_that_are_none(void **state)
{
    static const char *const records[] = {"null", "5", "[]", "\"\""};
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct recording recording;
        char text[512];
        snprintf(text, sizeof text, HEADER ", \"coll_perf\": %s}\n", records[i]);
        recording_of_bytes(&recording, "h-pid7.log", text, strlen(text));
        assert_int_equal(recording.event_count, 0);
        assert_int_equal(recording_notes(&recording, "unknown record"), 1);
        recording_release(&recording);
    }
}

/* More channels than fit: the first ones are kept. */
static void more_channels_than_any(void **state)
{
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    for (int record = 0; record < 2; record++) {
        assert_int_equal(buffer_printf(&text,
                                       HEADER ", \"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": %d, "
                                              "\"event_trace_ts\": {\"kernel_events\": [{\"channel_id\": 0}",
                                       record),
                         0);
        for (int channel = 1; channel < 256 + record; channel++)
            assert_int_equal(buffer_printf(&text, ", {\"channel_id\": %d}", channel), 0);
        assert_int_equal(buffer_append_text(&text, "]}}}\n"), 0);
    }
    recording_of_bytes(&recording, "h-pid7.log", text.data, text.length);
    assert_int_equal(event(&recording, 0)->operation.kernel_channel_count, 256);
    assert_int_equal(event(&recording, 1)->operation.kernel_channel_count, 256);
    assert_int_equal(event(&recording, 1)->operation.channels[255].channel, 255);
    assert_int_equal(recording_notes(&recording, "unreadable value"), 1);
    assert_int_equal(recording.notes[0].offset, event(&recording, 1)->origin.offset);
    recording_release(&recording);
    buffer_release(&text);
}

/* Only between two complete records on lines of their own that differ, wherever the bytes begin. */
static void where_files_are_cut(void **state)
{
#define RECORD(number) "{\"header\":{\"rank\":1},\"coll_perf\":{\"coll_sn\":" number "}}"
    static const char a[] = RECORD("1") "\n", b[] = RECORD("2") "\n", two[] = RECORD("3") RECORD("1") "\n";
    static const char cut_off[] = "{\"header\":{\"a\":\n", other[] = "{\"x\":{\"a\":1}}\n";
    static const char damaged[] = "{\"header\":{\"a\":?}}\n", strange[] = "{\"header\":{\"a\":1}}\n";
    static const struct {
        const char *parts[5];
        size_t at; /* 0: nowhere; else after this number of parts */
    } cases[] = {
        {{"ader\":1}}\n", a, b}, 2},
        {{"}\n", a, a, b}, 3},
        {{"}\n", a, a}, 0},
        {{"}\n", a, cut_off, b}, 0},
        {{"}\n", cut_off, a, b}, 3},
        {{"}\n", other, a, other, b}, 0},
        {{"no line ends here"}, 0},
        {{"}\n", a, "{\"header\":{"}, 0},
        {{"\n", a, b, a}, 2},
        {{""}, 0},
        /* The next ones may repeat those before these. */
        {{"\n", a, damaged, a}, 0},
        {{"\n", damaged, a, b}, 3},
        {{"\n", a, strange, a}, 0},
        {{"\n", two, a, b}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500] = "";
        size_t wanted = 0, length = 0;
        for (size_t part = 0; part < 5 && cases[i].parts[part]; part++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s", cases[i].parts[part]);
            wanted = part + 1 == cases[i].at ? length : wanted;
        }
        assert_int_equal(format_inspector.cut(text, length), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verbose_collective),
        cmocka_unit_test(without_verbose_there_is_the_time_of_the_dump),
        cmocka_unit_test(a_send_that_ended_before_its_dump),
        cmocka_unit_test(names_of_communicators),
        cmocka_unit_test(the_same_line_twice_counts_once),
        cmocka_unit_test(a_line_repeats_one_read_in_another_way),
        cmocka_unit_test(lines_repeat_across_windows),
        cmocka_unit_test(damage_and_nan),
        cmocka_unit_test(ends_before_begins_are_left_over),
        cmocka_unit_test(values_that_cannot_be_read),
        cmocka_unit_test(values_that_are_not_there),
        cmocka_unit_test(records_that_are_none),
        cmocka_unit_test(more_channels_than_any),
        cmocka_unit_test(where_files_are_cut),
    };
    return cmocka_run_group_tests_name("inspector", tests, NULL, NULL);
}
