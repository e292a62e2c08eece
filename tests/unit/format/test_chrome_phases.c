#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

/*
 * Phases of kernels, as the example plugin of NCCL 2.31 prints them: complete events below the kernel of a
 * channel.
 */

#define LINE(name, category, phase, rest)                                  \
    "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase \
    "\", \"id\": 0, \"pid\": 7, "                                          \
    "\"tid\": 1, \"ts\": 1000.000000" rest "},\n"
#define OPERATION                                                                                 \
    LINE("AllReduce", "COLL", "b",                                                                \
         ", \"args\": {\"SeqNum\": 0, \"CommHash\": 9, \"Rank\": 1, \"Count\": 4, \"Datatype\": " \
         "\"ncclFloat32\", \"Algorithm\": \"RING\", \"Protocol\": \"SIMPLE\", \"nChannels\": 2, " \
         "\"KernelVariant\": \"AllReduce_RSxLD_AGxST\", \"IsSymColl\": 1}")
#define KERNEL(channel, start, stop) \
    LINE("KernelCh", "GPU", "b",     \
         ", \"args\": {\"Channel\": " channel ", \"StartGpuClk\": " start ", \"StopGpuClk\": " stop "}")
#define KERNEL_END LINE("KernelCh", "GPU", "e", "")
#define END LINE("AllReduce", "COLL", "e", "")
#define PHASE(name, number, channel, start, stop)                                         \
    LINE(name, "GPU", "X",                                                                \
         ", \"dur\": 1.000000, \"args\": {\"Channel\": " channel ", \"PhaseId\": " number \
         ", \"StartGpuClk\": " start ", \"StopGpuClk\": " stop "}")
#define SYNC(channel, start, stop) PHASE("initial_sync", "0", channel, start, stop)

static const char other_phase[] = "kernel phase other than the initial sync";

static void read(struct recording *recording, const char *lines)
{
    char text[8192];
    int length = snprintf(text, sizeof text, "[\n%s{}]\n", lines);
    recording_of_bytes(recording, "x.json", text, (size_t)length);
    assert_int_equal(recording->status, 0);
}

/* The initial sync of the only operation in these lines, with the given number of notes of a reason. */
static void check(const char *lines, int64_t initial_sync_ns, const char *reason, size_t notes)
{
    struct recording recording;
    read(&recording, lines);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 0)->operation.initial_sync_ns,
                     initial_sync_ns);
    assert_int_equal(recording.note_count, notes);
    if (reason)
        assert_int_equal(recording_notes(&recording, reason), notes);
    recording_release(&recording);
}

static void phases_below_their_channel(void **state)
{
    struct recording recording;
    read(&recording,
         OPERATION KERNEL("0", "100", "900") SYNC("0", "100", "350") PHASE("compute", "1", "0", "350", "800")
             PHASE("final_sync", "2", "0", "800", "900") KERNEL_END KERNEL("1", "120", "890")
                 SYNC("1", "120", "360") PHASE("compute", "1", "1", "360", "890") KERNEL_END END);
    const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
    /* 250 on channel 0, 240 on channel 1. */
    assert_int_equal(operation->initial_sync_ns, 240);
    assert_true(operation->is_symmetric);
    assert_int_equal(operation->kernel_channel_count, 2);
    assert_int_equal(operation->duration_ns, 800);
    assert_int_equal(recording_notes(&recording, other_phase), 3);
    assert_int_equal(recording_damage(&recording), 0);
    assert_string_equal(recording.dialect, "chrome-v7");
    recording_release(&recording);
}

static void phases_in_other_places(void **state)
{
    /* After the end of the channel, and of the previous channel. */
    check(OPERATION KERNEL("0", "100", "900") KERNEL_END SYNC("0", "100", "350") END, 250, NULL, 0);
    check(OPERATION KERNEL("0", "100", "900") KERNEL_END KERNEL("1", "100", "900") SYNC("0", "100", "350")
              KERNEL_END END,
          250, NULL, 0);
    /* Of a channel that the operation does not have. */
    check(OPERATION KERNEL("0", "100", "900") SYNC("3", "100", "350") KERNEL_END END, 0,
          "kernel phase without a channel", 1);
    check(OPERATION KERNEL("0", "100", "900") KERNEL_END END SYNC("0", "100", "350"), 0,
          "kernel phase outside an operation", 1);
}

static void phases_without_both_ends(void **state)
{
    check(OPERATION KERNEL("0", "100", "0") SYNC("0", "100", "0") KERNEL_END END, 0,
          "kernel phase without both ends", 1);
    check(OPERATION KERNEL("0", "100", "900") SYNC("0", "0", "300") KERNEL_END END, 0,
          "kernel phase without both ends", 1);
    check(OPERATION KERNEL("0", "100", "900") SYNC("0", "300", "100") KERNEL_END END, 0,
          "kernel phase without both ends", 1);
    /* A kernel whose own stop is unknown still has its phases. */
    check(OPERATION KERNEL("1", "100", "0") SYNC("1", "100", "160") KERNEL_END END, 60, NULL, 0);
    /* 64 bits, unsigned. */
    check(OPERATION KERNEL("0", "18446744073709551000", "18446744073709551600")
              SYNC("0", "18446744073709551000", "18446744073709551015") KERNEL_END END,
          15, NULL, 0);
    check(OPERATION KERNEL("0", "1", "18446744073709551600") SYNC("0", "1", "18446744073709551015")
              KERNEL_END END,
          0, "kernel phase without both ends", 1);
}

static void leftovers_of_other_kernels(void **state)
{
    check(OPERATION KERNEL("0", "500", "900") SYNC("0", "100", "350") KERNEL_END END, 0, "stale kernel phase",
          1);
    check(OPERATION KERNEL("0", "500", "900") SYNC("0", "600", "950") KERNEL_END END, 0, "stale kernel phase",
          1);
}

static void phases_that_are_not_known(void **state)
{
    /* A number or a name alone is enough; contradictory ones are neither. */
    check(OPERATION KERNEL("0", "100", "900") PHASE("phase", "0", "0", "100", "350") KERNEL_END END, 250,
          NULL, 0);
    check(OPERATION KERNEL("0", "100", "900")
              LINE("initial_sync", "GPU", "X",
                   ", \"args\": {\"Channel\": 0, \"StartGpuClk\": 100, \"StopGpuClk\": 350}") KERNEL_END END,
          250, NULL, 0);
    check(OPERATION KERNEL("0", "100", "900") PHASE("compute", "0", "0", "100", "350") KERNEL_END END, 0,
          other_phase, 1);
    check(OPERATION KERNEL("0", "100", "900") PHASE("initial_sync", "1", "0", "100", "350") KERNEL_END END, 0,
          other_phase, 1);
    check(OPERATION KERNEL("0", "100", "900") PHASE("rest", "7", "0", "100", "350") KERNEL_END END, 0,
          other_phase, 1);
}

/* They do not change the open events around them. */
static void phases_are_not_nested(void **state)
{
    struct recording recording;
    read(&recording,
         OPERATION KERNEL("0", "100", "900") LINE(
             "ProgressSend", "PROXY", "b",
             ", \"args\": {\"Channel\": 0, \"Peer\": 2, \"Steps\": 1, \"ChunkSize\": 4, \"transSize\": 4}")
             SYNC("0", "100", "350") LINE("ProgressSend", "PROXY", "e", "") KERNEL_END END);
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(recording_count(&recording, EVENT_PROXY), 1);
    assert_true(recording_event(&recording, EVENT_PROXY, 0)->proxy.progress.end_ns != TIME_UNKNOWN);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_below_their_channel), cmocka_unit_test(phases_in_other_places),
        cmocka_unit_test(phases_without_both_ends),   cmocka_unit_test(leftovers_of_other_kernels),
        cmocka_unit_test(phases_that_are_not_known),  cmocka_unit_test(phases_are_not_nested),
    };
    return cmocka_run_group_tests_name("chrome phases", tests, NULL, NULL);
}
