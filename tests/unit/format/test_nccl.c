#include "support/cmocka_all.h"
#include "support/events.h"

#include <string.h>

#define INIT(prefix, comm, rank, bus, device)                                                      \
    prefix "NCCL INFO ncclCommInitRankConfig comm " comm " rank " rank " nranks 2 cudaDev " device \
           " nvmlDev " device " busId " bus " commId 0x9cd3f11a20d385b9 - Init COMPLETE\n"
#define CALL(prefix, function, comm, root)                                          \
    prefix "NCCL INFO " function                                                    \
           ": opCount 3 sendbuff 0x7f3a00 recvbuff 0x7f3b00 count 1024 datatype 7 " \
           "op 0 root " root " comm " comm " [nranks=2] stream 0x55e1\n"

static void read_text(struct recording *recording, const char *text)
{
    recording_of_bytes(recording, "nccl.log", text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "nccl-log");
}

static const struct operation *operation(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(found);
    return &found->operation;
}

/* datatype 7 is a float, of 4 bytes (nccl.h). */
static void a_communicator_and_its_calls(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("node1:4107:4107 [3] ", "0x55d0c0", "1", "1b000", "3")
                              CALL("node1:4107:4147 [3] ", "AllReduce", "0x55d0c0", "0")
                                  CALL("node1:4107:4147 [3] ", "Broadcast", "0x55d0c0", "1")
                                      CALL("node1:4107:4147 [3] ", "Send", "0x55d0c0", "0"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 3);
    const struct event *first = recording_event(&recording, EVENT_OPERATION, 0);
    assert_string_equal(first->origin.host, "node1");
    assert_int_equal(first->origin.pid, 4107);
    assert_true(first->origin.communicator_hash == 0x9cd3f11a20d385b9);
    assert_int_equal(first->origin.rank, 1);
    assert_int_equal(first->origin.communicator_size, 2);
    assert_int_equal(first->operation.function, FUNCTION_ALL_REDUCE);
    assert_int_equal(first->operation.bytes, 4096);
    assert_int_equal(first->operation.root, COUNT_UNKNOWN);
    assert_int_equal(first->operation.device.begin_ns, TIME_UNKNOWN);
    assert_int_equal(operation(&recording, 1)->root, 1);
    assert_int_equal(operation(&recording, 2)->kind, OPERATION_POINT_TO_POINT);
    assert_int_equal(operation(&recording, 2)->peer, 0);
    recording_release(&recording);
}

static void which_gpu_a_rank_has(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("node1:4107:4107 [3] ", "0x55d0c0", "1", "1b000", "3"));
    const struct event *facts = recording_event(&recording, EVENT_PROCESS, 0);
    assert_non_null(facts);
    assert_int_equal(facts->process.gpu, 3);
    assert_string_equal(facts->process.gpu_bus_id, "0000:1b:00.0");
    assert_int_equal(facts->process.global_rank, COUNT_UNKNOWN);
    assert_int_equal(facts->origin.rank, 1);
    recording_release(&recording);
}

/* Whatever launchers put before lines of all ranks, and programs between them. */
static void all_ranks_in_one_file(void **state)
{
    struct recording recording;
    read_text(&recording,
              INIT("[rank0]: n:1:1 [0] ", "0xa0", "0", "1b000", "0")
                  INIT("1: 2026-11-25T01:02:03 n:2:2 [1] ", "0xa0", "1", "43000",
                       "1") "loss 0.25 at step 7\n" CALL("[1,0]<stdout>:n:1:9 [0] ", "AllGather", "0xa0", "0")
                      CALL("\x1b[32m[default1]:\x1b[0mn:2:9 [1] ", "AllGather", "0xa0", "0"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "other output"), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 0)->origin.rank, 0);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 1)->origin.rank, 1);
    recording_release(&recording);
}

/* A line that another's cuts in two is put together again; one that is cut for good is a loss. */
static void lines_that_are_torn(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("n:1:1 [0] ", "0xa0", "0", "1b000", "0") INIT("n:2:2 [1] ", "0xb0", "1", "43000", "1")
              "n:1:9 [0] NCCL INFO AllReduce: opCount 3 sendbuff 0x7f3a00 " CALL("n:2:9 [1] ", "AllReduce", "0xb0", "0")
              "recvbuff 0x7f3b00 count 1024 datatype 7 op 0 root 0 comm 0xa0 [nranks=2] stream 0x55e1\n");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_int_equal(recording_count(&recording, EVENT_LOSS), 0);
    recording_release(&recording);
    read_text(&recording,
              INIT("n:1:1 [0] ", "0xa0", "0", "1b000",
                   "0") "n:1:9 [0] NCCL INFO AllReduce: opCount 3 sendbuff\n" CALL("n:1:9 [0] ", "AllReduce",
                                                                                   "0xa0", "0"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_count(&recording, EVENT_LOSS), 1);
    recording_release(&recording);
}

/* What is no call: how it was tuned, memory that was registered, a communicator whose making is not there. */
static void what_is_no_call(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("n:1:1 [0] ", "0xa0", "0", "1b000", "0")
              "n:1:9 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}\n"
              "n:1:9 [0] NCCL INFO ncclCommRegister: register comm 0xa0 buffer 0x7f3a00 size 33554432\n"
              CALL("n:1:9 [0] ", "AllReduce", "0xc0", "0"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_notes(&recording, "registration of memory"), 1);
    assert_int_equal(recording_damage(&recording), 1);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_and_its_calls),
        cmocka_unit_test(which_gpu_a_rank_has),
        cmocka_unit_test(all_ranks_in_one_file),
        cmocka_unit_test(lines_that_are_torn),
        cmocka_unit_test(what_is_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
