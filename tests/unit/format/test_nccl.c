#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
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

/* Whatever launchers put before the lines of all ranks, and whatever programs print between them. */
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

/* A line that another line splits in two is joined again; a truncated one is a loss. */
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

/*
 * Lines that are no calls: tuning, registered memory. A call whose communicator the log does not name is
 * counted.
 */
static void what_is_no_call(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("n:1:1 [0] ", "0xa0", "0", "1b000", "0")
              "n:1:9 [0] NCCL INFO AllReduce: 8388608 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}\n"
              "n:1:9 [0] NCCL INFO ncclCommRegister: register comm 0xa0 buffer 0x7f3a00 size 33554432\n"
              CALL("n:1:9 [0] ", "AllReduce", "0xc0", "0"));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 1);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "call on a communicator whose Init line is not in this log"),
                     1);
    const struct event *loss = recording_event(&recording, EVENT_LOSS, 0);
    assert_non_null(loss);
    assert_int_equal(loss->loss.events, 1);
    recording_release(&recording);
}

static const struct event *loss_of(const struct recording *recording, size_t n, int64_t pid, int64_t events,
                                   const char *what)
{
    const struct event *event = recording_event(recording, EVENT_LOSS, n);
    assert_non_null(event);
    assert_int_equal(event->origin.pid, pid);
    assert_int_equal(event->loss.events, events);
    assert_string_equal(event->loss.what, what);
    return event;
}

/* NCCL below 2.18 has no commId. One process may use several GPUs. */
static void communicators_without_a_name(void **state)
{
    struct recording recording;
    read_text(&recording,
              "n:5:5 [0] NCCL INFO comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE\n"
              "n:5:5 [1] NCCL INFO comm 0xb0 rank 1 nranks 2 cudaDev 1 busId 43000 localSize 64 used 8 bytes "
              "- Init COMPLETE\n" CALL("n:5:5 [0] ", "AllReduce", "0xa0", "0")
                  CALL("n:5:5 [1] ", "AllReduce", "0xb0", "0") CALL("n:5:5 [0] ", "AllReduce", "0xa0", "0")
                      CALL("n:5:5 [0] ", "Broadcast", "0xa0", "0"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 4);
    assert_int_equal(recording_count(&recording, EVENT_START_UP), 0);
    const struct event *first = recording_event(&recording, EVENT_OPERATION, 0);
    const struct event *second = recording_event(&recording, EVENT_OPERATION, 1);
    const struct event *third = recording_event(&recording, EVENT_OPERATION, 2);
    assert_true(first->origin.communicator_hash == second->origin.communicator_hash);
    assert_int_equal(first->origin.communicator_is_named, 1);
    assert_int_equal(first->origin.communicator_size, 2);
    assert_int_equal(first->origin.rank, 0);
    assert_int_equal(second->origin.rank, 1);
    assert_int_equal(second->operation.sequence, 0);
    assert_int_equal(third->operation.sequence, 1);
    assert_int_equal(
        recording_notes(&recording, "communicator without a name: the ranks are those of its Init lines"), 2);
    recording_release(&recording);
}

static const char of_two_pairs[] =
    "n:5:5 [0] NCCL INFO comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE\n"
    "n:6:6 [1] NCCL INFO comm 0xb0 rank 0 nranks 2 cudaDev 1 busId 43000 - Init COMPLETE\n" CALL(
        "n:5:5 [0] ", "AllReduce", "0xa0", "0") CALL("n:5:5 [0] ", "AllReduce", "0xa0", "0")
        CALL("n:5:5 [0] ", "Broadcast", "0xa0", "0") CALL("n:6:6 [1] ", "AllReduce", "0xb0", "0");

/* Two of them have a rank 0: they are counted. */
static void communicators_that_cannot_be_matched(void **state)
{
    struct recording recording;
    read_text(&recording, of_two_pairs);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_notes(&recording, "incomplete line"), 0);
    assert_int_equal(
        recording_notes(&recording, "Init line without commId: NCCL below 2.18 names no communicator"), 2);
    assert_int_equal(recording_notes(&recording, "call on a communicator that NCCL below 2.18 does not name"),
                     4);
    loss_of(&recording, 0, 5, 2,
            "AllReduce on communicators of 2 ranks, device 0: NCCL below 2.18 names no communicator in its "
            "Init line");
    loss_of(&recording, 1, 5, 1,
            "Broadcast on communicators of 2 ranks, device 0: NCCL below 2.18 names no communicator in its "
            "Init line");
    loss_of(&recording, 2, 6, 1,
            "AllReduce on communicators of 2 ranks, device 1: NCCL below 2.18 names no communicator in its "
            "Init line");
    recording_release(&recording);
}

/* A line that is truncated after its commId is incomplete, as before. */
static void an_init_line_that_is_torn(void **state)
{
    struct recording recording;
    read_text(&recording,
              "n:5:5 [0] NCCL INFO comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1b000 commId - Init COMPLETE\n");
    assert_int_equal(recording_notes(&recording, "incomplete line"), 1);
    recording_release(&recording);
}

/* RCCL's own trace of kernels, in addition to calls. */
static void kernels_of_rccl_are_counted(void **state)
{
    struct recording recording;
    read_text(&recording,
              "n:5:9 [0] NCCL INFO ## [1004.000100] [00:00] 000280 KL HWID 42802110 AllReduceRing\n"
              "n:5:9 [0] NCCL INFO ## [1004.006400] [00:00] 000280 KE busId 3000 nRanks 4\n");
    assert_int_equal(recording_notes(&recording, "RCCL kernel trace"), 2);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static const struct registration *registration(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_REGISTRATION, n);
    assert_non_null(found);
    return &found->registration;
}

#define LINE(message) "node1:4107:4147 [3] NCCL INFO " message "\n"

/* Registrations, with the number of calls before them; buffers of calls. */
static void registered_memory(void **state)
{
    struct recording recording;
    read_text(&recording,
              INIT("node1:4107:4107 [3] ", "0x55d0c0", "1", "1b000", "3")
                  LINE("register comm 0x55d0c0 buffer 0x7f0000000000 size 2097152")
                      CALL("node1:4107:4147 [3] ", "AllReduce", "0x55d0c0", "0") CALL("node1:4107:4147 [3] ",
                                                                                      "Send", "0x55d0c0", "0")
                          LINE("register comm 0x55d0c0 buffer 0xfffffffffff00000 size 9223372036854775807"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 3);
    assert_int_equal(registration(&recording, 0)->kind, REGISTRATION_MADE);
    assert_true(registration(&recording, 0)->address == 0x7f0000000000);
    assert_int_equal(registration(&recording, 0)->bytes, 2097152);
    assert_int_equal(registration(&recording, 0)->calls[FUNCTION_ALL_REDUCE], 0);
    assert_int_equal(recording_event(&recording, EVENT_REGISTRATION, 0)->origin.rank, 1);
    assert_int_equal(registration(&recording, 1)->kind, REGISTRATION_WATCHED);
    assert_true(registration(&recording, 2)->address == 0xfffffffffff00000);
    assert_int_equal(registration(&recording, 2)->calls[FUNCTION_ALL_REDUCE], 1);
    assert_int_equal(registration(&recording, 2)->calls[FUNCTION_SEND], 1);
    assert_true(operation(&recording, 0)->send_buffer == 0x7f3a00);
    assert_true(operation(&recording, 0)->receive_buffer == 0x7f3b00);
    assert_true(operation(&recording, 1)->send_buffer == 0x7f3a00);
    assert_true(operation(&recording, 1)->receive_buffer == 0);
    recording_release(&recording);
}

/* Lines after a call report that it used a registration, once for each way, or could not. */
static void what_calls_use(void **state)
{
    static const struct {
        const char *line;
        enum registration_kind kind;
        enum registration_way way;
    } lines[] = {
        {"rank 1 - NET register userbuff 0x7f3a00 (handle 0x1), buffSize 4096", REGISTRATION_USED, WAY_NET},
        {"rank 1 - NET reuse buffer 0x7f3b00 size 4096 (baseAddr 0x7f0000 size 8) handle 0x1",
         REGISTRATION_USED, WAY_NET},
        {"rank 1 - IPC register buffer 0x7f3a00 size 4096 (baseAddr 0x7f0000 size 8) to peer 0 regAddr 0x2 "
         "offsetOut 0",
         REGISTRATION_USED, WAY_IPC},
        {"rank 1 - IPC reuse buffer 0x7f3a00 size 4096 (baseAddr 0x7f0000 size 8) to peer 0 regAddr 0x2",
         REGISTRATION_USED, WAY_IPC},
        {"rank 1 successfully registered NVLS sendbuff 0x7f3a00, recvbuff 0x7f3b00, sendbuff size 8",
         REGISTRATION_USED, WAY_NVLS},
        {"rank 1 reuse registered NVLS sendbuff 0x7f3a00, recvbuff 0x7f3b00, sendbuff size 8",
         REGISTRATION_USED, WAY_NVLS},
        {"rank 1 - COLLNET register userbuff 0x7f3a00 (handle 0x1), buffSize 8, type Send", REGISTRATION_USED,
         WAY_COLLNET},
        {"rank 1 failed to NET register userbuff 0x7f3a00 buffSize 4096 GDR flag 0", REGISTRATION_FAILED,
         WAY_NET},
        {"rank 1 failed to NVLS register sendbuff 0x7f3a00 sendbuffSize 8 recvbuff 0x7f3b00 recvbuffSize 8",
         REGISTRATION_FAILED, WAY_NVLS},
        {"rank 1 - COLLNET failed to register userbuff 0x7f3a00, buffSize 8, type Send, GDR 0",
         REGISTRATION_FAILED, WAY_COLLNET},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct recording recording;
        char text[2048];
        snprintf(text, sizeof text, "%s%s%sn:1:9 [0] NCCL INFO %s\nn:1:9 [0] NCCL INFO %s\n",
                 INIT("n:1:1 [0] ", "0xa0", "1", "1b000", "0"), CALL("n:1:9 [0] ", "AllReduce", "0xa0", "0"),
                 CALL("n:1:9 [0] ", "AllReduce", "0xa0", "0"), lines[i].line, lines[i].line);
        read_text(&recording, text);
        assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 2);
        assert_int_equal(registration(&recording, 1)->kind, lines[i].kind);
        assert_int_equal(registration(&recording, 1)->way, lines[i].way);
        assert_int_equal(registration(&recording, 1)->function, FUNCTION_ALL_REDUCE);
        assert_int_equal(registration(&recording, 1)->number, 1);
        recording_release(&recording);
    }
}

/* Another thread's call, another rank's, another buffer: they belong to no call. */
static void what_nobody_uses(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("n:1:1 [0] ", "0xa0", "1", "1b000", "0") CALL("n:1:9 [0] ", "AllReduce", "0xa0", "0")
              "n:1:8 [0] NCCL INFO rank 1 - NET register userbuff 0x7f3a00 (handle 0x1), buffSize 4096\n"
              "n:1:9 [0] NCCL INFO rank 2 - NET register userbuff 0x7f3a00 (handle 0x1), buffSize 4096\n"
              "n:1:9 [0] NCCL INFO rank 1 - NET register userbuff 0x7f3c00 (handle 0x1), buffSize 4096\n"
              "n:1:9 [0] NCCL INFO register comm 0xb0 buffer 0x7f0000000000 size 2097152\n");
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 1);
    assert_int_equal(recording_notes(&recording, "registered memory of an unknown process"), 4);
    recording_release(&recording);
}

/* The end of a registration that a call had used: by the handle of the network, or by the address. */
static void registrations_that_end(void **state)
{
    struct recording recording;
    read_text(&recording, INIT("n:1:1 [0] ", "0xa0", "1", "1b000", "0") CALL("n:1:9 [0] ", "AllReduce", "0xa0", "0")
              "n:1:9 [0] NCCL INFO rank 1 - NET register userbuff 0x7f3a00 (handle 0x1), buffSize 4096\n"
              "n:1:9 [0] NCCL INFO rank 1 - IPC register buffer 0x7f3b00 size 4096 (baseAddr 0x7f0000 size 8) to peer 0\n"
              "n:1:7 [0] NCCL INFO rank 1 - deregistered net buffer handle 0x1\n"
              "n:1:7 [0] NCCL INFO rank 1 - IPC deregistered buffer 0x7f0000 peer 0 ipc remote buffer 0x2\n"
              "n:1:7 [0] NCCL INFO rank 1 - deregistered net buffer handle 0x3\n");
    assert_int_equal(recording_count(&recording, EVENT_REGISTRATION), 5);
    assert_int_equal(registration(&recording, 3)->kind, REGISTRATION_ENDED);
    assert_true(registration(&recording, 3)->address == 0x7f3a00);
    assert_int_equal(registration(&recording, 3)->calls[FUNCTION_ALL_REDUCE], 1);
    assert_true(registration(&recording, 4)->address == 0x7f3b00);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registered_memory),
        cmocka_unit_test(what_calls_use),
        cmocka_unit_test(what_nobody_uses),
        cmocka_unit_test(registrations_that_end),
        cmocka_unit_test(a_communicator_and_its_calls),
        cmocka_unit_test(which_gpu_a_rank_has),
        cmocka_unit_test(all_ranks_in_one_file),
        cmocka_unit_test(lines_that_are_torn),
        cmocka_unit_test(what_is_no_call),
        cmocka_unit_test(communicators_without_a_name),
        cmocka_unit_test(communicators_that_cannot_be_matched),
        cmocka_unit_test(an_init_line_that_is_torn),
        cmocka_unit_test(kernels_of_rccl_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
