#include "base/base.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

/* Lines as described in man/ncclprof-plugin.7. */
#define NOTE(name, phase, ts, arguments)                               \
    "{\"name\": \"" name "\", \"cat\": \"NCCLPROF\", \"ph\": \"" phase \
    "\", \"pid\": 7, \"tid\": 1, \"ts\": " ts ", \"args\": {" arguments "}},\n"
#define TAG(text, ts, more)                                                                                \
    "{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", \"pid\": 7, \"tid\": 1, " \
    "\"ts\": " ts ", \"args\": {\"tag\": \"" text "\", \"rank\": " more "}},\n"
#define PENDING(ts, begin)                                                                             \
    NOTE("PendingOperation", "i", ts,                                                                  \
         "\"name\": \"AllGather\", \"cat\": \"COLL\", \"begin\": " begin                               \
         ", \"EnqueueEnd\": 55.000000, "                                                               \
         "\"CommHash\": 18446744073709551614, \"SeqNum\": 4, \"Rank\": 1, \"Count\": 10, "             \
         "\"Datatype\": \"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": \"LL\", \"Root\": 0, " \
         "\"nChannels\": 2")

#define OPERATION_BEGIN                                                                                \
    "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 1, \"pid\": 7, \"tid\": 1, "  \
    "\"ts\": "                                                                                         \
    "10.0, \"args\": {\"SeqNum\": 4, \"CommHash\": 18446744073709551614, \"Rank\": 1, \"Count\": 10, " \
    "\"Datatype\": \"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": \"LL\", \"nChannels\": 2}},\n"

static const char head[] = "[\n" NOTE(
    "Process", "M", "0.000000",
    "\"plugin\": \"ncclprof\", \"version\": \"0.1.0\", \"format\": 1, \"api\": 6, \"nccl_version\": 0, "
    "\"host\": \"n\\\"1\", \"mask\": 1, \"start_monotonic_ns\": 5000, \"start_realtime_ns\": "
    "1795236510488683167, \"boot_id\": \"b\"")
    NOTE("ClockAnchor", "M", "2.500000",
         "\"monotonic_ns\": 7500, \"realtime_ns\": 1795236510488685667, \"uncertainty_ns\": 25, \"boot_id\": "
         "\"b\"") NOTE("Communicator", "M", "3.0",
                       "\"CommHash\": 18446744073709551614, \"Rank\": 1, \"nRanks\": 8, \"nNodes\": -1, "
                       "\"CommName\": \"tp\", "
                       "\"api\": 6");

static void read_lines(struct recording *recording, const char *lines)
{
    static char text[16384];
    assert_true(strlen(head) + strlen(lines) < sizeof text);
    memcpy(text, head, sizeof head);
    memcpy(text + sizeof head - 1, lines, strlen(lines) + 1);
    recording_of_bytes(recording, "ncclprof-n-7.json", text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "chrome-ncclprof");
}

/* The facts that the plugin knows about host and GPU; there may be almost none. */
static void where_it_runs(void **state)
{
    struct recording recording;
    read_lines(&recording,
               NOTE("Place", "M", "4.0",
                    "\"rank\": 9, \"local_rank\": 1, \"rank_name\": \"tp \\\"0\\\"\", \"gpu\": 0, "
                    "\"gpu_bus_id\": \"0000:3b:00.0\", \"gpu_uuid\": \"GPU-1\", \"nic\": \"mlx5_0\"")
                   NOTE("Place", "M", "5.0", "\"local_rank\": -1, \"nic\": \"\"") "{}]\n");
    assert_int_equal(recording_count(&recording, EVENT_PROCESS), 2);
    const struct event *event = recording_event(&recording, EVENT_PROCESS, 0);
    assert_string_equal(event->origin.host, "n\"1");
    assert_int_equal(event->origin.pid, 7);
    assert_int_equal(event->origin.communicator_hash, 0);
    assert_int_equal(event->process.global_rank, 9);
    assert_int_equal(event->process.world_size, COUNT_UNKNOWN);
    assert_int_equal(event->process.local_rank, 1);
    assert_int_equal(event->process.gpu, 0);
    assert_string_equal(event->process.gpu_bus_id, "0000:3b:00.0");
    assert_string_equal(event->process.gpu_serial, "GPU-1");
    assert_string_equal(event->process.nic, "mlx5_0");
    assert_string_equal(event->process.rank_name, "tp \"0\"");
    event = recording_event(&recording, EVENT_PROCESS, 1);
    assert_int_equal(event->process.local_rank, COUNT_UNKNOWN);
    assert_int_equal(event->process.global_rank, COUNT_UNKNOWN);
    assert_null(event->process.nic);
    assert_null(event->process.host);
    recording_release(&recording);
}

static void who_writes(void **state)
{
    struct recording recording;
    read_lines(&recording, "{}]\n");
    const struct event *first = recording_event(&recording, EVENT_ANCHOR, 0);
    assert_int_equal(first->anchor.local_ns, 0);
    assert_int_equal(first->anchor.monotonic_ns, 5000);
    assert_true(first->anchor.realtime_ns == 1795236510488683167);
    assert_string_equal(first->anchor.boot_id, "b");
    assert_string_equal(first->origin.host, "n\"1");
    assert_int_equal(first->origin.pid, 7);
    assert_int_equal(recording_event(&recording, EVENT_ANCHOR, 1)->anchor.local_ns, 2500);
    const struct event *communicator = recording_event(&recording, EVENT_COMMUNICATOR, 0);
    assert_true(communicator->origin.communicator_hash == 18446744073709551614U);
    assert_int_equal(communicator->origin.rank, 1);
    assert_int_equal(communicator->origin.communicator_size, 8);
    assert_int_equal(communicator->origin.node_count, 0);
    assert_string_equal(communicator->origin.communicator_name, "tp");
    assert_int_equal(recording.note_count, 0);
    recording_release(&recording);
}

static void tags_of_process_and_communicator(void **state)
{
    struct recording recording;
    read_lines(&recording,
               TAG("a \\\"b\\\"", "10.0", "-1, \"source\": \"nvtx\", \"depth\": 2") TAG(
                   "c", "11.0", "1, \"source\": \"nccl\", \"depth\": 0, \"CommHash\": 18446744073709551614")
                   TAG("", "12.0", "-1, \"source\": \"call\", \"depth\": 0") "{}]\n");
    const struct event *nested = recording_event(&recording, EVENT_TAG, 0);
    assert_string_equal(nested->tag.text, "a \"b\"");
    assert_int_equal(nested->tag.depth, 2);
    assert_int_equal(nested->tag.process_wide, 1);
    const struct event *narrow = recording_event(&recording, EVENT_TAG, 1);
    assert_int_equal(narrow->tag.process_wide, 0);
    assert_true(narrow->origin.communicator_hash == 18446744073709551614U);
    assert_int_equal(narrow->origin.rank, 1);
    assert_int_equal(recording_event(&recording, EVENT_TAG, 2)->tag.is_end, 1);
    recording_release(&recording);
}

/* Whatever phase their lines have. */
static void notes_of_any_phase(void **state)
{
    static const char *const phases[] = {"e", "X", "", "be"};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        char lines[512];
        struct recording recording;
        snprintf(lines, sizeof lines,
                 "{\"name\": \"Communicator\", \"cat\": \"NCCLPROF\", \"ph\": \"%s\", \"pid\": 7, "
                 "\"args\": {\"CommHash\": 5, \"Rank\": 1, \"nRanks\": 8}},\n{}]\n",
                 phases[i]);
        read_lines(&recording, lines);
        assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
        assert_true(recording_event(&recording, EVENT_COMMUNICATOR, 1)->origin.communicator_hash == 5);
        recording_release(&recording);
    }
}

/*
 * The host noticed the start of a kernel 3 ms late; the GPU clock, converted to the host clock, has the true
 * time. The fast reader and the general reader agree.
 */
static void kernels_by_the_clock_of_the_gpu(void **state)
{
    static const char *const starts[] = {
        "30.250000, \"StopHost\": 38.250000", "0.000000, \"StopHost\": 0.000000",
        "3500.000000, \"StopHost\": 3508.000000", "5.000000, \"StopHost\": 13.000000"};
    /*
     * Known; unknown; later than noticed, which is impossible; before the operation was enqueued, which is
     * impossible, too.
     */
    static const struct interval_ns wanted[] = {
        {30250, 38250}, {3030000, 3040000}, {3030000, 3040000}, {20000, 20000}};
    static const int64_t noticed[][2] = {{2999750, 3001750}, {0, 0}, {0, 0}, {3010000, 3020000}};
    for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; i++) {
        char lines[2048];
        struct recording recording;
        snprintf(
            lines, sizeof lines,
            "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
            "\"ts\": 20.000000, \"args\": {\"SeqNum\": 1, \"CommHash\": 5, \"Rank\": 1, \"Count\": 10, "
            "\"Datatype\": \"ncclFloat32\", \"nChannels\": 1}},\n"
            "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
            "\"ts\": 3030.000000, \"args\": {\"Channel\": 0, \"StartGpuClk\": 1000, \"StopGpuClk\": 9000, "
            "\"StartHost\": %s%s}},\n"
            "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"e\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
            "\"ts\": 3040.000000},\n"
            "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"e\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
            "\"ts\": 3040.000000},\n{}]\n",
            starts[i / 2], i % 2 ? ", \"more\": 1" : "");
        read_lines(&recording, lines);
        const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
        assert_int_equal(operation->device.begin_ns, wanted[i / 2].begin_ns);
        assert_int_equal(operation->device.end_ns, wanted[i / 2].end_ns);
        assert_int_equal(operation->duration_ns, 8000);
        assert_int_equal(operation->start_notice_ns, noticed[i / 2][0]);
        assert_int_equal(operation->stop_notice_ns, noticed[i / 2][1]);
        recording_release(&recording);
    }
}

static void losses_are_what_came_on_top(void **state)
{
    struct recording recording;
    read_lines(&recording,
               NOTE("Drops", "M", "20.0", "\"ring\": 5, \"lost\": 0, \"evicted\": 0, \"late\": 0") NOTE(
                   "Drops", "M", "30.0",
                   "\"ring\": 7, \"lost\": 0, \"evicted\": 0, \"late\": 1, \"communicators\": 4") "{}]\n");
    assert_int_equal(recording_count(&recording, EVENT_LOSS), 4);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 0)->loss.events, 5);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 1)->loss.events, 2);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 2)->loss.events, 1);
    assert_int_equal(recording_event(&recording, EVENT_LOSS, 3)->loss.events, 4);
    recording_release(&recording);
}

/*
 * Reported twice as pending, never complete: one unfinished operation. Reported and then complete: only the
 * complete one.
 */
static void pending_operations(void **state)
{
    static const char whole[] =
        "{\"name\": \"AllGather\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
        "\"ts\": 50.0, "
        "\"args\": {\"SeqNum\": 4, \"CommHash\": 18446744073709551614, \"Rank\": 1, \"Count\": 10, "
        "\"Datatype\": "
        "\"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": \"LL\", \"nChannels\": 2, \"Root\": 3, "
        "\"EnqueueEnd\": 55.000000}},\n"
        "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
        "\"ts\": 60.0, "
        "\"args\": {\"Channel\": 0, \"StartGpuClk\": 1000, \"StopGpuClk\": 9000}},\n"
        "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"e\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
        "\"ts\": 70.0},\n"
        "{\"name\": \"AllGather\", \"cat\": \"COLL\", \"ph\": \"e\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
        "\"ts\": 70.5},\n{}]\n";
    char lines[8192];
    struct recording recording;
    read_lines(&recording, PENDING("1000.0", "50.000000") PENDING("2000.0", "50.000000") "{}]\n");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    const struct event *event = recording_event(&recording, EVENT_OPERATION, 0);
    assert_int_equal(event->operation.unfinished, 1);
    assert_int_equal(event->operation.function, FUNCTION_ALL_GATHER);
    assert_int_equal(event->operation.sequence, 4);
    assert_int_equal(event->operation.bytes, 40);
    assert_int_equal(event->operation.enqueue.begin_ns, 50000);
    assert_int_equal(event->operation.enqueue.end_ns, 55000);
    assert_int_equal(event->operation.kernel_channel_count, 0);
    assert_int_equal(event->operation.device.begin_ns, TIME_UNKNOWN);
    assert_int_equal(event->origin.rank, 1);
    assert_true(event->origin.communicator_hash == 18446744073709551614U);
    recording_release(&recording);

    /* Its kernel had started by the second report. */
    read_lines(&recording,
               PENDING("1000.0", "50.000000") NOTE(
                   "PendingOperation", "i", "2000.0",
                   "\"name\": \"AllGather\", \"cat\": \"COLL\", \"begin\": 50.000000, "
                   "\"CommHash\": 18446744073709551614, \"SeqNum\": 4, \"Rank\": 1, \"Channel\": 3, "
                   "\"StartGpuClk\": 1795218161823623872, \"KernelBegin\": 1500.0, \"StartHost\": 0.000000")
                   PENDING("3000.0", "50.000000") "{}]\n");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    const struct operation *started = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
    assert_int_equal(started->unfinished, 1);
    assert_int_equal(started->enqueue.end_ns, 55000);
    assert_int_equal(started->device.begin_ns, 1500000);
    assert_int_equal(started->device.end_ns, TIME_UNKNOWN);
    assert_int_equal(started->kernel_channel_count, 1);
    assert_int_equal(started->channels[0].channel, 3);
    assert_true(started->channels[0].gpu_begin == 1795218161823623872U);
    assert_int_equal(started->channels[0].host.begin_ns, 1500000);
    recording_release(&recording);

    snprintf(lines, sizeof lines, "%s%s", PENDING("1000.0", "50.000000"), whole);
    read_lines(&recording, lines);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
    assert_int_equal(operation->unfinished, 0);
    assert_int_equal(operation->root, COUNT_UNKNOWN); /* an AllGather has none */
    assert_int_equal(operation->enqueue.end_ns, 55000);
    assert_int_equal(operation->duration_ns, 8000);
    recording_release(&recording);
}

/* Additional data of the bundled plugin is read later than its line, and counts in the same way. */
static void values_that_cannot_be_read(void **state)
{
    struct recording recording;
    read_lines(&recording, NOTE("Communicator", "M", "4.0",
                                "\"CommHash\": \"7\", \"Rank\": 1, \"nRanks\": 1.5, \"CommName\": 5")
                               NOTE("Drops", "M", "20.0", "\"ring\": \"many\"") "{}]\n");
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
    assert_int_equal(recording_notes(&recording, "unreadable value"), 2);
    assert_int_equal(recording_damage(&recording), 2);
    recording_release(&recording);
}

static void put_pending(struct buffer *text, int number)
{
    assert_int_equal(buffer_printf(text,
                                   NOTE("PendingOperation", "i", "%d.0",
                                        "\"name\": \"AllGather\", \"cat\": \"COLL\", \"begin\": %d.0, "
                                        "\"CommHash\": 5, \"SeqNum\": %d, \"Rank\": 1"),
                                   number + 2000000, number + 1, number),
                     0);
}

static void put_whole(struct buffer *text, int number)
{
    static const char line[] =
        "{\"name\": \"AllGather\", \"cat\": \"COLL\", \"ph\": \"%c\", \"id\": 0, \"pid\": 7, \"tid\": 1, "
        "\"ts\": %d.0%s";
    assert_int_equal(buffer_printf(text, line, 'b', number + 1, ", \"args\": {"), 0);
    assert_int_equal(buffer_printf(text, "\"SeqNum\": %d, \"CommHash\": 5, \"Rank\": 1}},\n", number), 0);
    assert_int_equal(buffer_printf(text, line, 'e', number + 3000000, "},\n"), 0);
}

static void read_buffer(struct recording *recording, struct buffer *text)
{
    assert_int_equal(buffer_append_text(text, "{}]\n"), 0);
    recording_of_bytes(recording, "ncclprof-n-7.json", text->data, text->length);
    assert_int_equal(recording->status, 0);
    buffer_release(text);
}

/* However many were pending before and have ended, those pending at the end are reported in order. */
static void pending_operations_make_room(void **state)
{
    enum { ENDED = (1 << 16) + 1, PENDING = 3 };
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    assert_int_equal(buffer_append_text(&text, head), 0);
    for (int i = 0; i < 10; i++)
        put_pending(&text, i);
    for (int i = 0; i < ENDED; i++) {
        if (i >= 10)
            put_pending(&text, i);
        put_whole(&text, i);
    }
    for (int i = 0; i < PENDING; i++)
        put_pending(&text, ENDED + i);
    put_whole(&text, ENDED);
    read_buffer(&recording, &text);
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), ENDED + PENDING);
    for (size_t i = 0; i < ENDED + PENDING; i++) {
        const struct operation *operation = &recording.events[recording.event_count - i - 1].operation;
        assert_int_equal(operation->unfinished, i < PENDING - 1);
        assert_int_equal(operation->ordinal, ENDED + PENDING - 1 - i);
        assert_int_equal(operation->sequence, ENDED + PENDING - 1 - i);
    }
    recording_release(&recording);
}

/* More at once than are kept: that is damage, except for those that are kept and reported again. */
static void too_many_pending_operations(void **state)
{
    enum { MOST = 1 << 16 };
    struct buffer text = BUFFER_INIT;
    struct recording recording;
    assert_int_equal(buffer_append_text(&text, head), 0);
    for (int i = 0; i <= MOST; i++)
        put_pending(&text, i);
    put_pending(&text, 4);
    read_buffer(&recording, &text);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), MOST);
    assert_int_equal(recording_notes(&recording, "too many pending operations"), 1);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

static void a_killed_process(void **state)
{
    struct recording recording;
    read_lines(&recording, "{\"name\": \"Coll");
    assert_int_equal(recording_notes(&recording, "incomplete last line"), 1);
    assert_int_equal(recording_notes(&recording, "trace is open"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/*
 * For an event that was being written, the begin is there, and the missing end is no loss; earlier damage
 * still is.
 */
static void a_killed_process_in_the_middle_of_an_operation(void **state)
{
    struct recording recording;
    read_lines(&recording, OPERATION_BEGIN);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_notes(&recording, "begin without end"), 1);
    assert_int_equal(recording_notes(&recording, "trace is open"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
    read_lines(&recording, "{\"name\": \"Coll\n" OPERATION_BEGIN);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

static void assert_stopped(const struct recording *recording, const char *detail)
{
    assert_int_equal(recording_notes(recording, "recording stopped"), 1);
    for (size_t i = 0; i < recording->note_count; i++)
        if (strcmp(recording->notes[i].reason, "recording stopped") == 0)
            assert_string_equal(recording->notes[i].detail, detail);
    assert_int_equal(recording_damage(recording), 0);
}

/* Its process continued: this is no damage, and the time and the reason are reported. */
static void recording_that_stopped(void **state)
{
    static const struct {
        const char *line, *detail;
    } ways[] = {
        {NOTE("Stopped", "M", "20.0",
              "\"reason\": \"limit\", \"bytes\": 1048576, \"written_bytes\": 1044480, \"realtime_ns\": "
              "1795236511000000000"),
         "2026-11-21 04:48:31 UTC: limit of 1048576 bytes reached"},
        {NOTE("Stopped", "M", "20.0",
              "\"reason\": \"space\", \"bytes\": 1073741824, \"realtime_ns\": 1795236511000000000"),
         "2026-11-21 04:48:31 UTC: less than 1073741824 bytes free on the file system"},
        {NOTE("Stopped", "M", "20.0",
              "\"reason\": \"error\", \"error\": \"Disk quota exceeded\", \"realtime_ns\": "
              "1795236511000000000"),
         "2026-11-21 04:48:31 UTC: Disk quota exceeded"},
        {NOTE("Stopped", "M", "20.0", "\"reason\": \"whim\""), "time unknown: whim"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct recording recording;
        char lines[1024];
        snprintf(lines, sizeof lines, "%s{}]\n", ways[i].line);
        read_lines(&recording, lines);
        assert_stopped(&recording, ways[i].detail);
        recording_release(&recording);
    }
}

/* After the last lines on a full disk: the operation that was truncated did not hang. */
static void recording_that_stopped_within_an_operation(void **state)
{
    struct recording recording;
    read_lines(&recording,
               OPERATION_BEGIN NOTE(
                   "Stopped", "M", "20.0",
                   "\"reason\": \"error\", \"error\": \"No space left on device\", \"realtime_ns\": 0"));
    assert_stopped(&recording, "time unknown: No space left on device");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_false(recording_event(&recording, EVENT_OPERATION, 0)->operation.unfinished);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_writes),
        cmocka_unit_test(where_it_runs),
        cmocka_unit_test(notes_of_any_phase),
        cmocka_unit_test(tags_of_process_and_communicator),
        cmocka_unit_test(kernels_by_the_clock_of_the_gpu),
        cmocka_unit_test(losses_are_what_came_on_top),
        cmocka_unit_test(pending_operations),
        cmocka_unit_test(values_that_cannot_be_read),
        cmocka_unit_test(pending_operations_make_room),
        cmocka_unit_test(too_many_pending_operations),
        cmocka_unit_test(a_killed_process),
        cmocka_unit_test(a_killed_process_in_the_middle_of_an_operation),
        cmocka_unit_test(recording_that_stopped),
        cmocka_unit_test(recording_that_stopped_within_an_operation),
    };
    return cmocka_run_group_tests_name("chrome, bundled plugin", tests, NULL, NULL);
}
