#include "support/cmocka_all.h"
#include "support/events.h"

#include "format/format.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct format format_inspector;

/* From format v4.3 on, only markers identify the communicator of the following lines. */
#define WHO(id, rank, version)                                                                             \
    "{\"header\":{\"id\":\"0x" id "\",\"comm_name\":\"unknown\",\"rank\":" rank                            \
    ",\"n_ranks\":2,\"nnodes\":1},"                                                                        \
    "\"metadata\":{\"inspector_output_format_version\":\"" version                                         \
    "\",\"git_rev\":\"v2.31.2-1\",\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":17," \
    "\"hostname\":\"h\",\"pid\":7}"
#define MARKER_OF(id, rank, version, stats) WHO(id, rank, version) ",\"dump_stats\":{" stats "}}\n"
#define MARKER(id, records) MARKER_OF(id, "1", "v4.3", "\"coll_records\":" records ",\"p2p_records\":0")
#define PERF(number)                                                                                 \
    "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_algo\":\"NVLS\",\"coll_proto\":\"SIMPLE\",\"coll_" \
    "sn\":" number                                                                                   \
    ",\"coll_msg_size_bytes\":8,\"coll_exec_time_us\":9,\"coll_timing_source\":\"kernel_gpu\","      \
    "\"coll_algobw_gbs\":1.5,\"coll_busbw_gbs\":1.5}}\n"
#define PAYLOAD(number) "{" PERF(number)

static const char orphan_reason[] = "record without a communicator";

static void read_text(struct recording *recording, const char *text)
{
    recording_of_bytes(recording, "h-pid7.log", text, strlen(text));
    assert_int_equal(recording->status, 0);
}

static const struct event *operation(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(found);
    return found;
}

static void assert_hashes(const struct recording *recording, const uint64_t *hashes, size_t count)
{
    assert_int_equal(recording_count(recording, EVENT_OPERATION), count);
    for (size_t i = 0; i < count; i++)
        assert_true(operation(recording, i)->origin.communicator_hash == hashes[i]);
}

static void lines_belong_to_their_marker(void **state)
{
    struct recording recording;
    static const uint64_t hashes[] = {0xa, 0xa, 0xb, 0xa};
    read_text(&recording, MARKER("a", "2") PAYLOAD("1") PAYLOAD("2") MARKER("b", "1") PAYLOAD("1")
                              MARKER("a", "1") PAYLOAD("3"));
    assert_hashes(&recording, hashes, 4);
    assert_int_equal(recording.note_count, 0);
    assert_string_equal(recording.dialect, "inspector-2.31");
    const struct event *last = operation(&recording, 3);
    assert_int_equal(last->origin.rank, 1);
    assert_int_equal(last->origin.communicator_size, 2);
    assert_string_equal(last->origin.host, "h");
    assert_int_equal(last->origin.pid, 7);
    assert_null(last->origin.communicator_name);
    assert_int_equal(last->operation.sequence, 3);
    assert_int_equal(last->operation.device.end_ns, 17000);
    assert_int_equal(last->operation.end_source, END_DUMP);
    recording_release(&recording);
}

static void ways_are_kept(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER("a", "1") PAYLOAD("1") WHO("a", "1", "v4.1") "," PERF("2"));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(operation(&recording, i)->operation.algorithm, ALGORITHM_NVLS);
        assert_int_equal(operation(&recording, i)->operation.protocol, PROTOCOL_SIMPLE);
    }
    recording_release(&recording);
}

/* If the beginning of the log is missing, the owner of the first lines is unknown. */
static void lines_before_any_marker_are_damage(void **state)
{
    struct recording recording;
    static const uint64_t hashes[] = {0xa};
    read_text(&recording, PAYLOAD("1") PAYLOAD("2") MARKER("a", "1") PAYLOAD("3"));
    assert_hashes(&recording, hashes, 1);
    assert_int_equal(recording_notes(&recording, orphan_reason), 2);
    assert_int_equal(recording_damage(&recording), 2);
    assert_int_equal(recording.notes[0].offset, 0);
    assert_int_equal(recording.notes[1].offset, strlen(PAYLOAD("1")));
    recording_release(&recording);
}

/* A marker has the number of its lines: further lines belonged to a lost marker. */
static void lines_beyond_the_count_are_damage(void **state)
{
    struct recording recording;
    static const uint64_t hashes[] = {0xa};
    read_text(&recording, MARKER("a", "1") PAYLOAD("1") PAYLOAD("1") PAYLOAD("2"));
    assert_hashes(&recording, hashes, 1);
    assert_int_equal(recording_notes(&recording, "duplicate record"), 1);
    assert_int_equal(recording_notes(&recording, orphan_reason), 1);
    recording_release(&recording);
}

/* The marker of b is truncated: the following lines are not a's. A truncated line of a loses only itself. */
static void a_damaged_marker_ends_the_one_before(void **state)
{
    struct recording recording;
    static const uint64_t hashes[] = {0xa, 0xa};
    read_text(&recording, MARKER("a", "9") PAYLOAD("1") "{\"coll_perf\":{\"coll\":\"AllRe\n" PAYLOAD(
                              "3") "{\"header\":{\"id\":\"0xb\",\"comm_na\n" PAYLOAD("1"));
    assert_hashes(&recording, hashes, 2);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 2);
    assert_int_equal(recording_notes(&recording, orphan_reason), 1);
    recording_release(&recording);
}

/* A line with its own header describes only itself. */
static void own_headers_end_a_marker(void **state)
{
    struct recording recording;
    static const uint64_t hashes[] = {0xb};
    read_text(&recording, MARKER("a", "9") WHO("b", "0", "v4.1") "," PERF("1") PAYLOAD("2"));
    assert_hashes(&recording, hashes, 1);
    assert_int_equal(recording_notes(&recording, orphan_reason), 1);
    recording_release(&recording);
}

static void nobody_is_no_communicator(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER("a", "9") "{\"header\":{\"n_ranks\":2},\"metadata\":{\"pid\":7},\"x\":1}\n"
                                           "{\"header\":{},\"metadata\":{\"inspector_output_format_version\":"
                                           "\"v4.0\"}," PERF("1"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    recording_release(&recording);
    read_text(&recording,
              "{\"header\":{},\"metadata\":{\"inspector_output_format_version\":\"v4.0\"}," PERF("1"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_notes(&recording, orphan_reason), 1);
    recording_release(&recording);
}

#define DROPS(coll, since, pxn)                                                                  \
    "\"coll_records\":0,\"coll_dropped_total\":" coll ",\"coll_dropped_since_last_dump\":" since \
    ",\"p2p_dropped_total\":0,\"p2p_dropped_since_last_dump\":0,\"proxy_pxn_skipped_process_total\":" pxn

/* Totals, of which the largest counts: reported when they grow. */
static void drops_are_told_as_totals(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER_OF("a", "1", "v4.1", DROPS("5", "5", "0"))
                              MARKER_OF("b", "1", "v4.1", DROPS("2", "2", "3"))
                                  MARKER_OF("a", "1", "v4.1", DROPS("5", "0", "3"))
                                      MARKER_OF("a", "1", "v4.1", DROPS("12", "7", "3")));
    assert_int_equal(recording_count(&recording, EVENT_LOSS), 5);
    static const int64_t events[] = {5, 2, 3, 3, 12};
    static const uint64_t hashes[] = {0xa, 0xb, 0, 0, 0xa};
    for (size_t i = 0; i < 5; i++) {
        const struct event *event = recording_event(&recording, EVENT_LOSS, i);
        assert_int_equal(event->loss.events, events[i]);
        assert_true(event->origin.communicator_hash == hashes[i]);
        assert_int_equal(event->origin.pid, 7);
        assert_true(event->loss.is_total);
    }
    assert_int_equal(recording.note_count, 0);
    recording_release(&recording);
}

static void drops_that_contradict_each_other(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER_OF("a", "1", "v4.1", DROPS("5", "5", "0"))
                              MARKER_OF("a", "1", "v4.1", DROPS("6", "9", "0")));
    assert_int_equal(recording_notes(&recording, "drop counts that contradict each other"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 1)->loss.events, 9);
    recording_release(&recording);
}

/* The first marker of a log without its beginning shows what was dropped before. */
static void a_first_marker_may_say_more(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER_OF("a", "1", "v4.1", DROPS("50", "3", "0")));
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 0)->loss.events, 50);
    assert_int_equal(recording.note_count, 0);
    recording_release(&recording);
}

static void newer_versions_are_said_once(void **state)
{
    static const struct {
        const char *text;
        size_t notes;
    } cases[] = {
        {MARKER_OF("a", "1", "v4.4", "\"coll_records\":1") PAYLOAD("1"), 0},
        {MARKER_OF("a", "1", "v4.5", "\"coll_records\":1") PAYLOAD("1"), 1},
        {MARKER_OF("a", "1", "v4.10", "\"coll_records\":1") PAYLOAD("1"), 1},
        {MARKER_OF("a", "1", "v5.0", "\"coll_records\":1") PAYLOAD("1"), 1},
        {MARKER_OF("a", "1", "v99999999999999999999999", "\"coll_records\":1") PAYLOAD("1"), 1},
        {MARKER_OF("a", "1", "v3.9", "\"coll_records\":1") PAYLOAD("1"), 0},
        {WHO("a", "1", "v5.1") "," PERF("1") WHO("a", "1", "v5.1") "," PERF("2"), 1},
        {WHO("a", "1", "") "," PERF("1"), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording recording;
        read_text(&recording, cases[i].text);
        assert_int_equal(recording_notes(&recording, FORMAT_NOTE_NEWER), cases[i].notes);
        assert_int_equal(recording.note_count, cases[i].notes);
        assert_true(recording_count(&recording, EVENT_OPERATION) > 0);
        recording_release(&recording);
    }
}

/* Lines that a later version adds after its markers count among their lines, and are noted. */
static void unknown_records_of_a_marker(void **state)
{
    struct recording recording;
    read_text(&recording, MARKER_OF("a", "1", "v5.0", "\"coll_records\":1,\"copy_records\":1")
                              PAYLOAD("1") "{\"copy_trace\":{\"a\":1}}\n" PAYLOAD("2"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_notes(&recording, "unknown record"), 1);
    assert_int_equal(recording_notes(&recording, orphan_reason), 1);
    recording_release(&recording);
}

#define EVENTS(list)                                                                  \
    WHO("a", "1", "v4.1")                                                             \
    ",\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":1,\"coll_msg_size_bytes\":8," \
    "\"coll_exec_time_us\":9,\"event_trace_ts\":{\"coll_start_ts\":1,\"coll_stop_ts\":2}," list "}}\n"

/* Channels as a list of events, each with its own times. */
static void events_hold_channels(void **state)
{
    struct recording recording;
    read_text(
        &recording,
        EVENTS("\"events\":[{\"event_type\":\"KernelCh\",\"channel_id\":3,\"event_trace_sn\":"
               "{\"kernel_start_sn\":3},\"event_trace_ts\":{\"kernel_start_ts\":4,\"kernel_stop_ts\":6}},"
               "{\"event_type\":\"KernelCh\",\"channel_id\":5,\"kernel_start_ts\":5,\"kernel_stop_ts\":9}]"));
    const struct operation *op = &operation(&recording, 0)->operation;
    assert_int_equal(op->kernel_channel_count, 2);
    assert_int_equal(op->channels[0].channel, 3);
    assert_int_equal(op->device.begin_ns, 4000);
    assert_int_equal(op->device.end_ns, 9000);
    assert_int_equal(op->end_source, END_KERNEL);
    assert_int_equal(recording.note_count, 0);
    recording_release(&recording);
}

/* Times without a known place are counted, with their name. */
static void times_that_are_not_kept(void **state)
{
    static const struct {
        const char *text;
        const char *name;
        size_t count;
    } cases[] = {
        {EVENTS("\"events\":[{\"event_type\":\"ProxyOp\",\"event_trace_ts\":{\"start_ts\":4}},{}]"), "events",
         2},
        {EVENTS("\"phases\":[{\"begin\":4}]"), "phases", 1},
        {EVENTS("\"coll_launch_us\":4"), "coll_launch_us", 1},
        {EVENTS("\"coll_hops\":4"), "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording recording;
        read_text(&recording, cases[i].text);
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
        assert_int_equal(recording_notes(&recording, "timestamps that are not stored"), cases[i].count);
        assert_int_equal(recording.note_count, cases[i].count);
        if (cases[i].count)
            assert_memory_equal(recording.notes[0].detail, cases[i].name, strlen(cases[i].name));
        recording_release(&recording);
    }
}

/*
 * Reading may start again at a marker, and nowhere between one and the next; not where the format version
 * changes, and rather where it is known to stay.
 */
static void where_files_with_markers_are_cut(void **state)
{
    static const char m[] = MARKER("a", "2"), p[] = PAYLOAD("1"), q[] = PAYLOAD("2");
    static const char proxies[] = MARKER_OF("a", "1", "v4.3", "\"proxy_records\":2");
    static const char newer[] = MARKER_OF("a", "2", "v4.9", "\"coll_perf_records\":1");
    static const char own[] = WHO("b", "1", "v4.1") "," PERF("1");
    static const struct {
        const char *parts[5];
        size_t at; /* 0: nowhere; else after this number of parts */
    } cases[] = {
        {{"}\n", p, q, m, p}, 3},    {{"}\n", p, q, p}, 0},        {{"}\n", p, m, p, m}, 4},
        {{"}\n", m, m, p}, 0},       {{"}\n", m, p, p, m}, 4},     {{"}\n", p, own, own, p}, 2},
        {{"}\n", p, proxies, p}, 0}, {{"}\n", m, p, newer, p}, 0}, {{"}\n", p, m, p, newer}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[3000] = "";
        size_t wanted = 0, length = 0;
        for (size_t part = 0; part < 5 && cases[i].parts[part]; part++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s", cases[i].parts[part]);
            wanted = part + 1 == cases[i].at ? length : wanted;
        }
        if (format_inspector.cut(text, length) != wanted)
            fail_msg("case %zu", i);
    }
}

/* A log whose beginning, including its marker, is missing is still recognized. */
static void cut_logs_are_recognised(void **state)
{
    static const char *const texts[] = {"12,\"a\":1}}\n" PAYLOAD("1"),
                                        "12}}\n{\"proxy_trace\":{\"record_type\":1}}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(format_inspector.sniff(texts[i], strlen(texts[i]), "x") > 0);
    assert_int_equal(format_inspector.sniff("a \"coll_perf\" of\n", 17, "x"), 0);
}

/* From the bundled plugin: the drops of its whole process, and that it stopped. */
static void the_recorder_about_itself(void **state)
{
    struct recording recording;
    static const char *const meanings[] = {"events dropped because the ring of their thread was full",
                                           "operations written unfinished to free memory"};
    static const int64_t totals[] = {12, 4};
    read_text(&recording,
              WHO("0", "0", "v4.0") ",\"ncclprof_drops\":{\"ring\": 12, \"lost\": 0, \"evicted\": 4}}\n" WHO("a", "1", "v4.0") "," PERF("1")
                  WHO("0", "0", "v4.0") ",\"ncclprof_stopped\":{\"reason\": \"limit\", \"bytes\": 65536, \"written_bytes\": "
                                        "61440, \"realtime_ns\": 1795236511000000000}}\n");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_count(&recording, EVENT_LOSS), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct event *loss = recording_event(&recording, EVENT_LOSS, i);
        assert_int_equal(loss->loss.events, totals[i]);
        assert_string_equal(loss->loss.what, meanings[i]);
        assert_true(loss->loss.is_total);
        assert_string_equal(loss->origin.host, "h");
        assert_int_equal(loss->origin.pid, 7);
        assert_int_equal(loss->origin.communicator_hash, 0);
    }
    assert_int_equal(recording.note_count, 1);
    assert_string_equal(recording.notes[0].reason, "recording stopped");
    assert_string_equal(recording.notes[0].detail, "2026-11-21 04:48:31 UTC: limit of 65536 bytes reached");
    assert_int_equal(recording.notes[0].damage, 0);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_belong_to_their_marker),
        cmocka_unit_test(ways_are_kept),
        cmocka_unit_test(lines_before_any_marker_are_damage),
        cmocka_unit_test(lines_beyond_the_count_are_damage),
        cmocka_unit_test(a_damaged_marker_ends_the_one_before),
        cmocka_unit_test(own_headers_end_a_marker),
        cmocka_unit_test(nobody_is_no_communicator),
        cmocka_unit_test(drops_are_told_as_totals),
        cmocka_unit_test(drops_that_contradict_each_other),
        cmocka_unit_test(a_first_marker_may_say_more),
        cmocka_unit_test(newer_versions_are_said_once),
        cmocka_unit_test(unknown_records_of_a_marker),
        cmocka_unit_test(events_hold_channels),
        cmocka_unit_test(times_that_are_not_kept),
        cmocka_unit_test(where_files_with_markers_are_cut),
        cmocka_unit_test(cut_logs_are_recognised),
        cmocka_unit_test(the_recorder_about_itself),
    };
    return cmocka_run_group_tests_name("inspector markers", tests, NULL, NULL);
}
