#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

/* Kernels with the times of another operation, because NCCL's host omitted some from its count. */

#define EVENT(name, category, phase, ts, more)                             \
    "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase \
    "\", \"id\": 1, \"pid\": "                                             \
    "1, \"tid\": 1, \"ts\": " ts more "},\n"
/* A kernel that ran for two microseconds, four after its operation was enqueued. */
#define KERNEL(begin)                                                                  \
    EVENT("KernelCh", "GPU", "b", begin "4.0",                                         \
          ", \"args\": {\"Channel\": 0, \"StartGpuClk\": 1000, \"StopGpuClk\": 3000}") \
    EVENT("KernelCh", "GPU", "e", begin "6.0", "")
#define RAN(name, category, begin, arguments, kernel)                                                       \
    EVENT(name, category, "b", begin "0.0",                                                                 \
          ", \"args\": {" arguments                                                                         \
          ", \"Count\": 4, \"Datatype\": \"ncclFloat32\", \"nChannels\": 1, \"EnqueueEnd\": " begin "2.0}") \
    kernel EVENT(name, category, "e", begin "8.0", "")
#define SENT(communicator, peer, begin, kernel) \
    RAN("Send", "P2P", begin, "\"CommHash\": " communicator ", \"Rank\": 2, \"Peer\": " peer, kernel)
#define COLLECTIVE(name, communicator, rank, begin, kernel) \
    RAN(name, "COLL", begin, "\"SeqNum\": 1, \"CommHash\": " communicator ", \"Rank\": " rank, kernel)
#define SUMMED(communicator, rank, begin) COLLECTIVE("AllReduce", communicator, rank, begin, KERNEL(begin))
#define BARE(name, count)                                                                            \
    EVENT(name, "COLL_API", "b", "1.0",                                                              \
          ", \"args\": {\"count\": " count ", \"datatype\": \"ncclFloat32\", \"GraphCaptured\": 0}") \
    EVENT(name, "COLL_API", "e", "2.0", "")

static const char after_self[] = "kernel channel of another operation";
static const char after_broadcast[] = "kernel channel of another operation after a Broadcast";

/* Which operations have the times of their kernels: one digit for each, 1 or 0. */
static void check_as(const char *name, const char *lines, const char *believed, const char *reason)
{
    char text[16384];
    struct recording recording;
    int length = snprintf(text, sizeof text, "[\n%s{}]\n", lines);
    size_t count = strlen(believed), left_out = 0;
    recording_of_bytes(&recording, name, text, (size_t)length);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), count);
    for (size_t i = 0; i < count; i++) {
        const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, i)->operation;
        assert_int_equal(operation->duration_ns, believed[i] == '1' ? 2000 : COUNT_UNKNOWN);
        assert_int_equal(operation->device.end_ns != TIME_UNKNOWN, believed[i] == '1');
        left_out += believed[i] == '0';
    }
    if (reason)
        assert_int_equal(recording_notes(&recording, reason), left_out);
    else
        assert_int_equal(
            recording_notes(&recording, after_self) + recording_notes(&recording, after_broadcast), 0);
    recording_release(&recording);
}

static void check(const char *lines, const char *believed, const char *reason)
{
    check_as("trace.json", lines, believed, reason);
}

/* The send to itself, '-', has no kernel of its own. */
static void after_a_send_to_itself(void **state)
{
    check(SENT("5", "1", "1", KERNEL("1")) SENT("5", "2", "2", "") SENT("5", "3", "3", KERNEL("3"))
              SUMMED("5", "2", "4") SUMMED("6", "2", "5") SUMMED("5", "3", "6"),
          "1-0011", after_self);
}

/* As in an all-to-all for which NCCL reports all kernels. */
static void a_send_to_itself_that_is_counted(void **state)
{
    check(SENT("5", "1", "1", KERNEL("1")) SENT("5", "2", "2", KERNEL("2")) SENT("5", "3", "3", KERNEL("3"))
              SUMMED("5", "2", "4"),
          "1111", NULL);
}

static void after_a_broadcast(void **state)
{
    check(SUMMED("5", "2", "1") COLLECTIVE("Broadcast", "5", "2", "2", "") SUMMED("5", "2", "3")
              SENT("5", "1", "4", KERNEL("4")) SUMMED("7", "2", "5"),
          "1-001", after_broadcast);
}

/* The recorder lost the kernel of one Broadcast: the next one shows that NCCL counts them. */
static void a_broadcast_whose_kernel_was_lost(void **state)
{
    check(COLLECTIVE("Broadcast", "5", "2", "1", "") SUMMED("5", "2", "2")
              COLLECTIVE("Broadcast", "5", "2", "3", KERNEL("3")) SUMMED("5", "2", "4"),
          "-011", after_broadcast);
}

/* The same for an operation of another function without one: the recorder loses these, too. */
static void a_recorder_that_loses_kernels(void **state)
{
    check(COLLECTIVE("Broadcast", "5", "2", "1", "") COLLECTIVE("AllGather", "5", "2", "2", "")
              SUMMED("5", "2", "3"),
          "--1", NULL);
}

/* NCCL may report no operation for a Broadcast at all: then the communicator is that of the file. */
static void after_a_broadcast_without_an_operation(void **state)
{
    check_as("trace_5_2.json", BARE("Broadcast", "4") SUMMED("5", "2", "1"), "0", after_broadcast);
    check_as("trace_5_2.json", BARE("Broadcast", "0") SUMMED("5", "2", "1"), "1", NULL);
    check_as("trace_5_2.json", BARE("AllGather", "4") SUMMED("5", "2", "1"), "1", NULL);
    check_as("trace.json", BARE("Broadcast", "4") SUMMED("5", "2", "1"), "1", NULL);
}

/* The complete kernel of an operation began before it; of the next one, one of two channels did. */
static void kernels_that_began_before_their_operation(void **state)
{
    static const char trace[] = "[\n" COLLECTIVE("AllReduce", "5", "2", "2", KERNEL("1"))
        COLLECTIVE("AllReduce", "5", "2", "4", KERNEL("3") KERNEL("4")) "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "trace.json", trace, sizeof trace - 1);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "stale kernel channel"), 2);
    assert_int_equal(recording_notes(&recording, "operation whose kernel began before it"), 1);
    recording_release(&recording);
}

#define NAMED(name, category)                                                           \
    EVENT(name, category, "b", "14.5",                                                  \
          ", \"args\": {\"Channel\": 0, \"StartGpuClk\": 1500, \"StopGpuClk\": 90000}") \
    EVENT(name, category, "e", "99.0", "")

/* Names of no known version: inside a kernel, before it, after it; in any category. */
static void names_that_a_category_does_not_have(void **state)
{
    static const char *const named[] = {NAMED("KernelStep", "GPU"), NAMED("Foo", "GPU"),
                                        NAMED("Foo", "PROXY"), NAMED("Foo", "NET")};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        char text[4096];
        struct recording recording;
        int length = snprintf(
            text, sizeof text, "[\n%s%s%s%s%s%s%s{}]\n",
            EVENT("AllReduce", "COLL", "b", "10.0",
                  ", \"args\": {\"SeqNum\": 1, \"CommHash\": 5, \"Rank\": 2, \"Count\": 4, \"Datatype\": "
                  "\"ncclFloat32\", \"nChannels\": 1}"),
            named[i],
            EVENT("KernelCh", "GPU", "b", "14.0",
                  ", \"args\": {\"Channel\": 0, \"StartGpuClk\": 1000, \"StopGpuClk\": 3000}"),
            named[i], EVENT("KernelCh", "GPU", "e", "16.0", ""), named[i],
            EVENT("AllReduce", "COLL", "e", "18.0", ""));
        recording_of_bytes(&recording, "x.json", text, (size_t)length);
        assert_int_equal(recording_damage(&recording), 0);
        assert_int_equal(recording_notes(&recording, "unknown event"), 6);
        assert_int_equal(recording.note_count, 6);
        assert_int_equal(recording.event_count, 1);
        const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
        assert_int_equal(operation->duration_ns, 2000);
        assert_int_equal(operation->device.begin_ns, 14000);
        assert_int_equal(operation->device.end_ns, 16000);
        recording_release(&recording);
    }
}

#define STEP(step, end)                                                       \
    EVENT("SendWait", "NET", "b", "12.0", ", \"args\": {\"Step\": " step "}") \
    EVENT("SendWait", "NET", "e", end, "")
#define PROXY(phase, ts) \
    EVENT("ProgressSend", "PROXY", phase, ts, ", \"args\": {\"Channel\": 0, \"Peer\": 1, \"Steps\": 2}")

/* Counted if the proxy operation has ended: else the job still waits for them. */
static void steps_that_never_end(void **state)
{
    static const char ended[] =
        "[\n" PROXY("b", "11.0") STEP("0", "13.0") STEP("1", "0.0") PROXY("e", "20.0") "{}]\n";
    static const char pending[] =
        "[\n" PROXY("b", "11.0") STEP("0", "13.0") STEP("1", "0.0") PROXY("e", "0.0") "{}]\n";
    struct recording recording;
    recording_of_bytes(&recording, "x.json", ended, sizeof ended - 1);
    assert_int_equal(recording_notes(&recording, "network step without an end"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    const struct proxy_operation *proxy = &recording_event(&recording, EVENT_PROXY, 0)->proxy;
    assert_int_equal(proxy->steps[0].wait[WAIT_NETWORK].end_ns, 13000);
    assert_int_equal(proxy->steps[1].wait[WAIT_NETWORK].end_ns, TIME_UNKNOWN);
    recording_release(&recording);
    recording_of_bytes(&recording, "x.json", pending, sizeof pending - 1);
    assert_int_equal(recording_notes(&recording, "network step without an end"), 0);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_send_to_itself),
        cmocka_unit_test(a_send_to_itself_that_is_counted),
        cmocka_unit_test(after_a_broadcast),
        cmocka_unit_test(a_broadcast_whose_kernel_was_lost),
        cmocka_unit_test(a_recorder_that_loses_kernels),
        cmocka_unit_test(after_a_broadcast_without_an_operation),
        cmocka_unit_test(kernels_that_began_before_their_operation),
        cmocka_unit_test(names_that_a_category_does_not_have),
        cmocka_unit_test(steps_that_never_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
