#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct operation *operation(const struct recording *recording, size_t n)
{
    const struct event *event = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(event);
    return &event->operation;
}

static const struct proxy_operation *proxy(const struct recording *recording, size_t n)
{
    const struct event *event = recording_event(recording, EVENT_PROXY, n);
    assert_non_null(event);
    return &event->proxy;
}

static void assert_interval(struct interval_ns got, int64_t begin_ns, int64_t end_ns)
{
    assert_int_equal(got.begin_ns, begin_ns);
    assert_int_equal(got.end_ns, end_ns);
}

/* The content of a dump, according to the counts in its folder's TRUTH. */
struct expected {
    const char *path;
    const char *dialect;
    size_t operations, proxies;
};

static void every_dialect_is_read_without_damage(void **state)
{
    static const struct expected all[] = {
        {"fixtures/dialect-2.23.4/dump-vm-34243.txt", "chrome-v1", 2, 4},
        {"fixtures/dialect-2.24.3/dump-vm-34435.txt", "chrome-v2", 2, 4},
        {"fixtures/dialect-2.25.1/dump-vm-34627.txt", "chrome-v2", 2, 4},
        {"fixtures/dialect-2.26.2/dump-vm-34820.txt", "chrome-v2", 2, 4},
        {"fixtures/dialect-2.27.3/dump_15958445624862445504_0.json", "chrome-v4", 2, 4},
        {"fixtures/dialect-2.28.3/dump_9526740249684125710_0.json", "chrome-v5", 2, 4},
        {"fixtures/dialect-2.29.7/dump_7071687986940225672_0.json", "chrome-v6", 2, 4},
        {"fixtures/dialect-2.30.7/dump_8680775258133661618_0.json", "chrome-v6", 2, 4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct recording recording;
        recording_of_file(&recording, all[i].path);
        assert_int_equal(recording.status, 0);
        assert_string_equal(recording.dialect, all[i].dialect);
        assert_int_equal(recording_damage(&recording), 0);
        assert_int_equal(recording_notes(&recording, "unknown event"), 0);
        assert_int_equal(recording_notes(&recording, "stale proxy step"), 0);
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), all[i].operations);
        assert_int_equal(recording_count(&recording, EVENT_PROXY), all[i].proxies);
        for (size_t n = 0; n < all[i].proxies; n++)
            assert_int_equal(proxy(&recording, n)->steps_recorded, 3);
        recording_release(&recording);
    }
}

/* Values copied from the file by hand. */
static void a_collective_of_2_29(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/dialect-2.29.7/dump_7071687986940225672_0.json");
    const struct event *event = recording_event(&recording, EVENT_OPERATION, 0);
    const struct operation *op = operation(&recording, 0);
    assert_true(event->origin.communicator_hash == 7071687986940225672U);
    assert_int_equal(event->origin.rank, 0);
    assert_int_equal(event->origin.pid, 35394);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->kind, OPERATION_COLLECTIVE);
    assert_int_equal(op->sequence, 0);
    assert_int_equal(op->count, 16384);
    assert_int_equal(op->datatype, DATATYPE_FLOAT32);
    assert_int_equal(op->bytes, 65536);
    assert_int_equal(op->algorithm, ALGORITHM_RING);
    assert_int_equal(op->protocol, PROTOCOL_LL);
    assert_int_equal(op->root, COUNT_UNKNOWN);
    assert_true(op->stream == 0x55aba8882590);
    assert_int_equal(op->api.begin_ns, 436894287);
    assert_int_equal(op->enqueue.begin_ns, 508942702);
    assert_int_equal(op->device.begin_ns, 512482142);
    assert_int_equal(op->end_source, END_KERNEL);
    assert_true(op->gpu_begin == 1795218458155500928U);
    assert_true(op->gpu_end == 1795218458167520000U);
    assert_int_equal(op->duration_ns, 12019072);
    assert_int_equal(op->kernel_channel_count, 2);
    assert_int_equal(op->unfinished, 0);
    assert_int_equal(proxy(&recording, 0)->operation, 0);
    assert_int_equal(proxy(&recording, 0)->direction, DIRECTION_RECV);
    assert_int_equal(proxy(&recording, 0)->peer, 7);
    assert_int_equal(proxy(&recording, 0)->transferred_bytes, 114688);
    assert_interval(proxy(&recording, 0)->schedule, 512469695, 512479412);
    assert_interval(proxy(&recording, 0)->steps[0].wait[WAIT_NETWORK], 512481159, 512656547);
    assert_interval(proxy(&recording, 0)->steps[0].wait[WAIT_FLUSH], 512656547, 512657348);
    assert_interval(proxy(&recording, 0)->steps[0].wait[WAIT_GPU], 512657348, 512659566);
    assert_interval(proxy(&recording, 0)->steps[0].wait[WAIT_PEER], TIME_UNKNOWN, TIME_UNKNOWN);
    recording_release(&recording);
}

/* Its kernel has no end on channel 1, so the proxy's end is used. */
static void a_send_of_2_30(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/dialect-2.30.7/dump_12787039387218017232_0.json");
    const struct operation *op = operation(&recording, 0);
    assert_int_equal(op->kind, OPERATION_POINT_TO_POINT);
    assert_int_equal(op->function, FUNCTION_SEND);
    assert_int_equal(op->sequence, COUNT_UNKNOWN);
    assert_int_equal(op->peer, 1);
    assert_int_equal(op->bytes, 4194304);
    assert_interval(op->api, 256240901, 256242154);
    assert_interval(op->enqueue, 298234987, 298251131);
    assert_interval(op->device, 301865113, 306433979);
    assert_int_equal(op->end_source, END_PROXY);
    assert_int_equal(op->duration_ns, COUNT_UNKNOWN);
    assert_int_equal(op->unfinished, 0);
    assert_int_equal(operation(&recording, 1)->function, FUNCTION_RECV);
    recording_release(&recording);
}

static void states_of_api_v1(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/dialect-2.23-states/dump-host-1.txt");
    const struct operation *op = operation(&recording, 0);
    assert_string_equal(recording.dialect, "chrome-v1");
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "stale proxy step"), 1);
    assert_true(recording_event(&recording, EVENT_OPERATION, 0)->origin.communicator_hash ==
                17293822569102704641U);
    assert_int_equal(op->function, FUNCTION_ALL_REDUCE);
    assert_int_equal(op->bytes, 131072);
    assert_interval(op->enqueue, 1001250, 1040000);
    assert_int_equal(op->device.end_ns, TIME_UNKNOWN);
    assert_int_equal(op->end_source, END_UNKNOWN);
    assert_int_equal(op->unfinished, 1);
    const struct proxy_operation *received = proxy(&recording, 0);
    assert_int_equal(received->steps_recorded, 1);
    assert_interval(received->progress, 1010500, 1203000);
    assert_interval(received->steps[0].wait[WAIT_NETWORK], 1011000, 1090000);
    assert_int_equal(received->state[STATE_PEER].at_ns, 1200250);
    const struct proxy_operation *sent = proxy(&recording, 1);
    assert_int_equal(sent->direction, DIRECTION_SEND);
    assert_int_equal(sent->state[STATE_POSTED].steps, 4);
    assert_int_equal(sent->state[STATE_PEER].steps, 3);
    assert_int_equal(sent->state[STATE_TRANSMITTED].steps, 2);
    assert_int_equal(sent->state[STATE_DONE].steps, 1);
    assert_interval(sent->progress, 1020000, TIME_UNKNOWN);
    recording_release(&recording);
}

/* Up to 2.27 the end of a record is that of its last proxy or kernel event, not that of the enqueue. */
static void the_end_of_enqueueing_is_not_guessed(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/dialect-2.27.3/dump_15958445624862445504_0.json");
    assert_int_equal(operation(&recording, 0)->enqueue.end_ns, TIME_UNKNOWN);
    assert_int_equal(operation(&recording, 0)->end_source, END_KERNEL);
    recording_release(&recording);
}

/* The group around operations is one kernel launch: they were issued when it started. */
static void what_shares_a_kernel_was_issued_together(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/dialect-2.27.3/dump_15958445624862445504_0.json");
    assert_interval(operation(&recording, 0)->api, 503935257, TIME_UNKNOWN);
    assert_int_equal(operation(&recording, 0)->enqueue.begin_ns, 503935986);
    recording_release(&recording);
}

static void tags_are_taken_as_they_stand(void **state)
{
    static const char *const tags[] = {"forward",
                                       "say \"hi\"",
                                       "C:\\temp\\new",
                                       "two\nlines",
                                       "bell\x07 and tab\t",
                                       "\", \"rank\": 9}},",
                                       "caf\xc3\xa9",
                                       NULL,
                                       "{\"name\": \"x\"}"};
    struct recording recording;
    recording_of_file(&recording, "fixtures/tags-unescaped/dump_18446744073709551615_3.json");
    assert_string_equal(recording.dialect, "chrome-v7");
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_TAG), 9);
    for (size_t i = 0; i < 9; i++) {
        const struct event *event = recording_event(&recording, EVENT_TAG, i);
        assert_int_equal(event->tag.at_ns, 10000 * (int64_t)(i + 1));
        assert_true(event->origin.communicator_hash == UINT64_MAX);
        assert_int_equal(event->origin.rank, 3);
        assert_int_equal(event->tag.process_wide, 0);
        assert_int_equal(event->tag.is_end, tags[i] == NULL);
        if (tags[i])
            assert_string_equal(event->tag.text, tags[i]);
    }
    /* There is no operation, but the file name makes its process a rank of the communicator. */
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 1);
    recording_release(&recording);
}

/* The file name identifies the process, whatever the file contains. */
static void names_of_files(void **state)
{
    static const char tag[] =
        "[\n{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"pid\": 1, "
        "\"ts\": 1.0, \"args\": {\"tag\": \"a\", \"rank\": 2}},\n{}]\n";
    static const struct {
        const char *name;
        uint64_t hash;
    } names[] = {{"dump_9999_2.json", 9999},
                 {"run.2_9999_2.json", 9999},
                 {"a.b_7_8.c_9999_2.json.gz", 9999},
                 {"v1.0_9999_2", 9999},
                 {"dump_9999_2.part_1.json", 9999},
                 {"dump_18446744073709551616_2.json", 0},
                 {"dump_9999.json", 0},
                 {"9999_2.json", 0},
                 {".json", 0}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct recording recording;
        recording_of_bytes(&recording, names[i].name, tag, sizeof tag - 1);
        const struct event *event = recording_event(&recording, EVENT_TAG, 0);
        assert_non_null(event);
        if (event->origin.communicator_hash != names[i].hash)
            fail_msg("with %s", names[i].name);
        recording_release(&recording);
    }
}

static void copy_engine_operations(void **state)
{
    struct recording recording;
    recording_of_file(&recording, "fixtures/copy-engine/dump_4660_1.json");
    const struct operation *op = operation(&recording, 0);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "part of a copy-engine operation"), 2);
    assert_int_equal(op->kind, OPERATION_COPY_ENGINE);
    assert_int_equal(op->bytes, 2000);
    assert_interval(op->device, 110500, 210250);
    assert_int_equal(op->end_source, END_HOST);
    assert_int_equal(op->duration_ns, 87000);
    assert_true(op->stream == 0x7f00000000000010U);
    assert_int_equal(op->graph_captured, 1);
    assert_int_equal(op->api.begin_ns, 100000);
    assert_true(recording_event(&recording, EVENT_OPERATION, 0)->origin.communicator_hash == 0x1234);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 0)->origin.rank, 1);
    assert_interval(operation(&recording, 1)->device, 300000, TIME_UNKNOWN);
    assert_int_equal(operation(&recording, 1)->api.end_ns, 105000);
    recording_release(&recording);
}

static void damage_is_told_and_passed_over(void **state)
{
    static const uint64_t offsets[] = {5417, 5692, 10562};
    struct recording recording;
    size_t seen = 0;
    recording_of_file(&recording, "fixtures/damaged/dump_7071687986940225672_0.json");
    assert_int_equal(recording.status, 0);
    for (size_t i = 0; i < recording.note_count; i++)
        if (strcmp(recording.notes[i].reason, "unreadable text") == 0) {
            assert_true(seen < 3);
            assert_int_equal(recording.notes[i].offset, offsets[seen++]);
        }
    assert_int_equal(seen, 3);
    assert_int_equal(recording_notes(&recording, "file ends before its array does"), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_int_equal(operation(&recording, 0)->unfinished, 0);
    assert_int_equal(operation(&recording, 1)->unfinished, 1);
    recording_release(&recording);
}

/* The job hangs: records end with the enqueue; kernels and proxies never end. */
static void pending_operations_are_unfinished(void **state)
{
    struct recording recording;
    size_t unfinished = 0;
    static const char trace[] =
        "[\n"
        "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
        "\"ts\": 10.0, "
        "\"args\": {\"SeqNum\": 0, \"CommHash\": 5, \"Rank\": 0, \"Count\": 1, \"Datatype\": \"ncclInt8\", "
        "\"nChannels\": 1}},\n"
        "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
        "\"ts\": 12.0, "
        "\"args\": {\"Channel\": 0, \"StartGpuClk\": 100, \"StopGpuClk\": 0}},\n"
        "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"e\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
        "\"ts\": 0.0},\n"
        "{\"name\": \"AllReduce\", \"cat\": \"COLL\", \"ph\": \"e\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
        "\"ts\": 11.0},\n"
        "{}]\n";
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_damage(&recording), 0);
    for (size_t i = 0; i < recording_count(&recording, EVENT_OPERATION); i++)
        unfinished += operation(&recording, i)->unfinished != 0;
    assert_int_equal(unfinished, 1);
    assert_interval(operation(&recording, 0)->device, 12000, TIME_UNKNOWN);
    assert_interval(operation(&recording, 0)->enqueue, 10000, 11000);
    assert_int_equal(operation(&recording, 0)->duration_ns, COUNT_UNKNOWN);
    recording_release(&recording);
}

/* Only channel 0 has a stop (example plugin up to 2.31), and another kernel event moved the end of the
 * record. */
static void an_end_after_the_start_of_the_kernel_is_not_that_of_the_enqueue(void **state)
{
    struct recording recording;
    static const char *const ends_us[] = {"11.0", "40.0"};
    static const int64_t expected_ns[] = {11000, TIME_UNKNOWN};
    for (size_t i = 0; i < 2; i++) {
        char trace[1024];
        int length = snprintf(
            trace, sizeof trace,
            "[\n"
            "{\"name\": \"Send\", \"cat\": \"P2P\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
            "\"ts\": 10.0, \"args\": {\"CommHash\": 5, \"Rank\": 0, \"Peer\": 1, \"Count\": 1, "
            "\"Datatype\": \"ncclInt8\", \"nChannels\": 1}},\n"
            "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"b\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
            "\"ts\": 30.0, \"args\": {\"Channel\": 1, \"StartGpuClk\": 100, \"StopGpuClk\": 0}},\n"
            "{\"name\": \"KernelCh\", \"cat\": \"GPU\", \"ph\": \"e\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
            "\"ts\": 0.0},\n"
            "{\"name\": \"Send\", \"cat\": \"P2P\", \"ph\": \"e\", \"id\": 0, \"pid\": 1, \"tid\": 1, "
            "\"ts\": %s},\n"
            "{}]\n",
            ends_us[i]);
        recording_of_bytes(&recording, "dump_5_0.json", trace, (size_t)length);
        assert_int_equal(recording_damage(&recording), 0);
        assert_interval(operation(&recording, 0)->enqueue, 10000, expected_ns[i]);
        assert_interval(operation(&recording, 0)->device, 30000, TIME_UNKNOWN);
        recording_release(&recording);
    }
}

#define EVENT(name, category, phase, id, ts, more)                                           \
    "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase "\", \"id\": " id \
    ", \"pid\": 1, \"tid\": 1, \"ts\": " ts more "},\n"
#define PROXY_ARGUMENTS \
    ", \"args\": {\"Channel\": 0, \"Peer\": 1, \"Steps\": 8, \"ChunkSize\": 4, \"transSize\": 32}"

#define COLLECTIVE                                                                                           \
    "\"SeqNum\": 1, \"CommHash\": 5, \"Rank\": 0, \"Count\": 1, \"Datatype\": \"ncclInt8\", \"Algorithm\": " \
    "\"RING\", \"Protocol\": \"LL\", \"nChannels\": 1"
#define CALL \
    "\"count\": 1, \"datatype\": \"ncclInt8\", \"root\": 0, \"GraphCaptured\": 0, \"Stream\": \"(nil)\""

/* Reads an operation in its call, with `before` replaced by `after`. */
static void read_changed(struct recording *recording, const char *before, const char *after)
{
    static const char trace[] =
        "[\n" EVENT("AllReduce", "COLL_API", "b", "0", "9.0", ", \"args\": {" CALL "}")
            EVENT("AllReduce", "COLL", "b", "1", "10.0", ", \"args\": {" COLLECTIVE "}")
                EVENT("AllReduce", "COLL", "e", "1", "20.0", "")
                    EVENT("AllReduce", "COLL_API", "e", "0", "21.0", "") "{}]\n";
    char text[sizeof trace + 400];
    const char *at = strstr(trace, before);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - trace), trace, after, at + strlen(before));
    recording_of_bytes(recording, "dump_5_0.json", text, strlen(text));
}

/* A value that is there and cannot be read is reported; null or "none" means unknown. */
static void values_that_cannot_be_read(void **state)
{
    static const struct {
        const char *before, *after;
        size_t damage;
    } changes[] = {
        {"\"SeqNum\": 1", "\"SeqNum\": 1.5", 1},
        {"\"SeqNum\": 1", "\"SeqNum\": \"7\"", 1},
        {"\"CommHash\": 5", "\"CommHash\": -5", 1},
        {"\"CommHash\": 5", "\"CommHash\": \"5\"", 1},
        {"\"Rank\": 0", "\"Rank\": false", 1},
        {"\"Count\": 1", "\"Count\": 9223372036854775808", 1},
        {"\"ncclInt8\", \"Algorithm\"", "[], \"Algorithm\"", 1},
        {"\"RING\"", "3", 1},
        {"\"id\": 1", "\"id\": 1, \"more\": \"a\\u0000b\"", 1},
        {"{" COLLECTIVE "}", "[]", 1},
        {"\"ts\": 10.0", "\"ts\": 9000000000000000000", 1},
        {"\"(nil)\"", "\"stream\"", 1},
        {"\"(nil)\"", "4096", 1},
        {"\"(nil)\"", "\"0x1000\"", 0},
        {"\"(nil)\"", "(nil)", 0},
        {"\"SeqNum\": 1", "\"SeqNum\": null", 0},
        {"\"RING\"", "null", 0},
        {"\"ncclInt8\", \"Algorithm\"", "0, \"Algorithm\"", 0},
        {"\"SeqNum\": 1", "\"SeqNum\": -1", 1},
        {"\"Rank\": 0", "\"Rank\": -2", 1},
        {"\"Rank\": 0", "\"Rank\": -1", 0},
        {"\"Count\": 1", "\"Count\": -8", 1},
        {"\"nChannels\": 1", "\"nChannels\": -1", 1},
        {"\"count\": 1", "\"count\": -1", 1},
        {"\"root\": 0", "\"root\": -2", 1},
        {"\"root\": 0", "\"root\": -1", 0},
        {"\"ts\": 10.0", "\"ts\": -10.0", 1},
        {"\"ts\": 20.0", "\"ts\": -20.0", 1},
        {"\"ts\": 20.0", "\"ts\": -1.0", 0},
        {"\"ts\": 10.0", "\"ts\": 0", 0},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct recording recording;
        read_changed(&recording, changes[i].before, changes[i].after);
        if (recording_count(&recording, EVENT_OPERATION) != 1 || recording.note_count != changes[i].damage ||
            recording_notes(&recording, "unreadable value") != changes[i].damage)
            fail_msg("with %s", changes[i].after);
        assert_true(operation(&recording, 0)->sequence >= COUNT_UNKNOWN);
        assert_true(operation(&recording, 0)->bytes >= COUNT_UNKNOWN);
        recording_release(&recording);
    }
}

/* A tag that is printed unescaped also ends at its first NUL. */
static void a_tag_with_a_nul(void **state)
{
    static const char trace[] =
        "[\n{\"name\": \"UserTag\", \"cat\": \"USER_TAG\", \"ph\": \"i\", \"s\": \"g\", \"pid\": 1, \"tid\": "
        "1, "
        "\"ts\": 1.0, \"args\": {\"tag\": \"a\0b\", \"rank\": 0}},\n{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_count(&recording, EVENT_TAG), 1);
    assert_int_equal(recording_notes(&recording, "unreadable value"), 1);
    recording_release(&recording);
}

/* An end belongs only to the begin with the same ID. */
static void begin_and_end_share_an_id(void **state)
{
    static const char trace[] = "[\n" EVENT("ProgressSend", "PROXY", "b", "1", "10.000000", PROXY_ARGUMENTS)
        EVENT("ProgressSend", "PROXY", "e", "2", "20.000000", "") "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_notes(&recording, "end without begin"), 1);
    assert_int_equal(recording_notes(&recording, "begin without end"), 1);
    assert_interval(proxy(&recording, 0)->progress, 10000, TIME_UNKNOWN);
    recording_release(&recording);
}

/* Proxy operations for another process are outside any operation and belong to none. */
static void detached_proxy_operations(void **state)
{
    static const char trace[] = "[\n" EVENT("ScheduleSend", "PROXY", "b", "1", "9.000000", PROXY_ARGUMENTS)
        EVENT("ScheduleSend", "PROXY", "e", "1", "10.000000", "")
            EVENT("ProgressSend", "PROXY", "b", "1", "10.000000", PROXY_ARGUMENTS)
                EVENT("ProgressSend", "PROXY", "e", "1", "20.000000", "")
                    EVENT("Idle", "PROXY", "b", "2", "21.000000", "")
                        EVENT("Idle", "PROXY", "e", "2", "22.000000", "") "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 1);
    assert_int_equal(proxy(&recording, 0)->operation, COUNT_UNKNOWN);
    assert_interval(proxy(&recording, 0)->schedule, 9000, 10000);
    assert_interval(proxy(&recording, 0)->progress, 10000, 20000);
    assert_int_equal(recording_notes(&recording, "proxy control event"), 1);
    assert_string_equal(recording.dialect, "chrome-v4");
    recording_release(&recording);
}

#define FOR_ANOTHER(pid) \
    ", \"args\": {\"Channel\": 3, \"Peer\": 4, \"Steps\": 1, \"OriginPid\": " pid ", \"OriginRank\": 2}"

/* The bundled plugin knows the process that they work for. */
static void proxy_operations_for_another_process(void **state)
{
    static const char trace[] = "[\n" EVENT("ScheduleSend", "PROXY", "b", "1", "9.0", FOR_ANOTHER("77"))
        EVENT("ScheduleSend", "PROXY", "e", "1", "10.0", "")
            EVENT("ProgressSend", "PROXY", "b", "1", "10.0", FOR_ANOTHER("77"))
                EVENT("ProgressSend", "PROXY", "e", "1", "20.0", "")
                    EVENT("ProgressSend", "PROXY", "b", "2", "21.0", FOR_ANOTHER("78"))
                        EVENT("ProgressSend", "PROXY", "e", "2", "22.0", "") "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 2);
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(proxy(&recording, n)->operation, COUNT_UNKNOWN);
        assert_int_equal(proxy(&recording, n)->origin_pid, 77 + n);
        assert_int_equal(proxy(&recording, n)->origin_rank, 2);
    }
    assert_int_equal(recording_notes(&recording, "proxy operations for other processes"), 1);
    assert_int_equal(recording_notes(&recording, "proxy operations for unknown processes"), 0);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/* The previous content of its slot: the end is unknown, and that is reported. */
static void ends_before_begins_are_left_over(void **state)
{
    static const char trace[] =
        "[\n" EVENT("AllReduce", "COLL", "b", "1", "10.0", ", \"args\": {" COLLECTIVE "}")
            EVENT("KernelCh", "GPU", "b", "2", "20.0", ", \"args\": {\"Channel\": 0}")
                EVENT("KernelCh", "GPU", "e", "2", "19.999", "")
                    EVENT("ScheduleSend", "PROXY", "b", "1", "30.0", PROXY_ARGUMENTS)
                        EVENT("ScheduleSend", "PROXY", "e", "1", "29.0", "")
                            EVENT("ProgressSend", "PROXY", "b", "1", "40.0", PROXY_ARGUMENTS)
                                EVENT("ProgressSend", "PROXY", "e", "1", "5.0", "")
                                    EVENT("AllReduce", "COLL", "e", "1", "9.0", "")
                                        EVENT("AllReduce", "CE_COLL", "b", "3", "70.0", ", \"args\": {}")
                                            EVENT("AllReduce", "CE_COLL", "e", "3", "60.0", "") "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "dump_5_0.json", trace, sizeof trace - 1);
    assert_int_equal(recording_notes(&recording, "stale end"), 5);
    assert_int_equal(recording.note_count, 5);
    assert_int_equal(recording_damage(&recording), 0);
    assert_interval(operation(&recording, 0)->enqueue, 10000, TIME_UNKNOWN);
    assert_interval(operation(&recording, 0)->device, 20000, TIME_UNKNOWN);
    assert_interval(operation(&recording, 0)->channels[0].host, 20000, TIME_UNKNOWN);
    assert_int_equal(operation(&recording, 0)->duration_ns, COUNT_UNKNOWN);
    assert_int_equal(operation(&recording, 0)->unfinished, 1);
    assert_interval(operation(&recording, 1)->device, 70000, TIME_UNKNOWN);
    assert_interval(proxy(&recording, 0)->schedule, 30000, TIME_UNKNOWN);
    assert_interval(proxy(&recording, 0)->progress, 40000, TIME_UNKNOWN);
    recording_release(&recording);
}

static void other_json_is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *bytes, *reason;
    } all[] = {
        {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"blink\"}]}", "another tool"},
        {"{\"inject\": \"none\"}", "JSON, but no known format"},
        {"hello\n", "neither JSON nor a known log"},
        {"", "empty"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct recording recording;
        recording_of_bytes(&recording, "x.json", all[i].bytes, strlen(all[i].bytes));
        assert_int_equal(recording.status, -2);
        assert_non_null(strstr(recording.error.cause[0], all[i].reason));
        assert_non_null(strstr(recording.error.cause[0], "not a supported trace"));
        recording_release(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dialect_is_read_without_damage),
        cmocka_unit_test(a_collective_of_2_29),
        cmocka_unit_test(a_send_of_2_30),
        cmocka_unit_test(states_of_api_v1),
        cmocka_unit_test(the_end_of_enqueueing_is_not_guessed),
        cmocka_unit_test(an_end_after_the_start_of_the_kernel_is_not_that_of_the_enqueue),
        cmocka_unit_test(what_shares_a_kernel_was_issued_together),
        cmocka_unit_test(tags_are_taken_as_they_stand),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(copy_engine_operations),
        cmocka_unit_test(damage_is_told_and_passed_over),
        cmocka_unit_test(pending_operations_are_unfinished),
        cmocka_unit_test(values_that_cannot_be_read),
        cmocka_unit_test(a_tag_with_a_nul),
        cmocka_unit_test(begin_and_end_share_an_id),
        cmocka_unit_test(detached_proxy_operations),
        cmocka_unit_test(proxy_operations_for_another_process),
        cmocka_unit_test(ends_before_begins_are_left_over),
        cmocka_unit_test(other_json_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests_name("chrome", tests, NULL, NULL);
}
