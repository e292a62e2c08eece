#include "format/internal.h"
#include "format/nccl/nccl.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

static struct text text_of(const char *text)
{
    return (struct text){text, strlen(text)};
}

static void seconds_as_nanoseconds(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1.23", INT64_C(1230000000)},
        {"21.343346", INT64_C(21343346000)},
        {"0.00", 0},
        {"7", INT64_C(7000000000)},
        {"-0.00", TIME_UNKNOWN},
        {".5", TIME_UNKNOWN},
        {"1.2.3", TIME_UNKNOWN},
        {"nan", TIME_UNKNOWN},
        {"", TIME_UNKNOWN},
        {"100000001", TIME_UNKNOWN},
        {"99999999999999999999999999", TIME_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_seconds_ns(text_of(cases[i].text)), cases[i].ns);
}

/* As printed by 2.22, and by 2.23 and later. */
static void parts_of_the_making(void **state)
{
    struct timings timings;
    assert_int_equal(
        timings_read(
            text_of("Init timings: rank 5 nranks 8 total 2.50 (kernels 0.25, bootstrap 1.75, allgathers "
                    "0.01, topo 0.05, graphs 0.02, connections 0.30, rest 0.12)"),
            &timings),
        1);
    assert_int_equal(timings.function.length, 0);
    assert_int_equal(timings.rank, 5);
    assert_int_equal(timings.ranks, 8);
    assert_int_equal(timings.total_ns, 2500000000);
    assert_int_equal(timings.parts_ns[START_KERNELS], 250000000);
    assert_int_equal(timings.parts_ns[START_ALLOCATION], TIME_UNKNOWN);
    assert_int_equal(timings.parts_ns[START_REST], 120000000);
    assert_int_equal(
        timings_read(text_of("Init timings - ncclCommSplit: rank 0 nranks 2 total 0.03 (kernels 0.00, "
                             "alloc 0.02, bootstrap 0.00, allgathers 0.00, topo 0.01, graphs 0.00, "
                             "connections 0.00, rest 0.00)"),
                     &timings),
        1);
    assert_int_equal(timings.function.length, strlen("ncclCommSplit"));
    assert_memory_equal(timings.function.data, "ncclCommSplit", timings.function.length);
    assert_int_equal(timings.parts_ns[START_ALLOCATION], 20000000);
    assert_int_equal(timings_read(text_of("Init timings - ncclCommSplit: rank 0 nra"), &timings), 0);
    assert_int_equal(timings_read(text_of("Init timings"), &timings), 0);
}

static void check_warning(const char *message, enum warning_kind kind, int64_t status, const char *nic,
                          const char *peer)
{
    struct warning_words words;
    warning_read(text_of(message), &words);
    assert_int_equal(words.kind, kind);
    assert_int_equal(words.status, status);
    assert_true(text_is(words.nic, nic));
    assert_true(text_is(words.peer, peer));
}

/* The texts are those of the versions' sources. */
static void what_warnings_are_about(void **state)
{
    check_warning(
        "NET/IB : Got completion from peer 10.0.0.3<41234> with error 12, opcode 0, len 0, vendor err 129 "
        "(Send)",
        WARNING_COMPLETION, 12, "", "10.0.0.3");
    check_warning(
        "NET/IB: Got completion from peer 10.0.0.3<41234> with status=5 opcode=0 len=0 vendor err 244 (Recv) "
        "localGid ::1 remoteGids::2 hca mlx5_0",
        WARNING_COMPLETION, 5, "mlx5_0", "10.0.0.3");
    check_warning(
        "NET/IB: Got completion from peer fe80::3<41234> with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 req_type=Send hca mlx5_7",
        WARNING_COMPLETION, 12, "mlx5_7", "fe80::3");
    check_warning("NET/IB : mlx5_2:1 Got async event : port error", WARNING_CARD, COUNT_UNKNOWN, "mlx5_2",
                  "");
    check_warning("NET/IB : mlx5_2:1 Got non-fatal async event: port error(10)", WARNING_CARD, COUNT_UNKNOWN,
                  "mlx5_2", "");
    check_warning("NET/IB : mlx5_2:1 async fatal event: local catastrophic error", WARNING_CARD_FATAL,
                  COUNT_UNKNOWN, "mlx5_2", "");
    check_warning(
        "NET/IB/GIN: Got completion from peer 10.0.0.3<4> with status=13 opcode=1 len=0 vendor err 135 "
        "(Send) hca mlx5_4",
        WARNING_COMPLETION, 13, "mlx5_4", "10.0.0.3");
    check_warning("NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
                  WARNING_COMPLETION, 12, "", "");
    check_warning("socketProgress: Connection closed by remote peer node3<40001>", WARNING_CLOSED,
                  COUNT_UNKNOWN, "", "node3");
}

/* Kinds without a network card and without a peer. */
static void what_healthy_jobs_print_is_harmless(void **state)
{
    struct warning_words words;
    warning_read(text_of("Cuda failure 4 'driver shutting down'"), &words);
    assert_int_equal(words.kind, WARNING_OTHER);
    assert_true(words.is_harmless);
    warning_read(
        text_of("NET/Socket : peer 10.3.0.7<5> message truncated : receiving 8192 bytes instead of 512"),
        &words);
    assert_int_equal(words.kind, WARNING_ABORTED);
    warning_read(text_of("words of a later version"), &words);
    assert_int_equal(words.kind, WARNING_OTHER);
    assert_false(words.is_harmless);
}

static void check_kind(const char *message, enum warning_kind kind)
{
    check_warning(message, kind, COUNT_UNKNOWN, "", "");
}

/* From aws-ofi-nccl, with the texts of its versions. */
static void what_requests_of_a_plugin_say(void **state)
{
    check_warning(
        "NET/OFI Request 0x7f completed with error. RC: 5. Error: 16 (NO_SPACE). Completed length: 0, "
        "Request: { dev: 1 }",
        WARNING_REQUEST, 5, "", "");
    check_warning("NET/OFI Request 0x7f (SEND) completed with error: err: 113, flags: 2, prov_errno: 4126",
                  WARNING_REQUEST, 113, "", "");
    check_warning(
        "NET/OFI Remote write completed with error. RC: 103. Flags: 1. Error: 4 (x). Completed length: 0",
        WARNING_REQUEST, 103, "", "");
    check_warning("NET/OFI Operation with NULL context completed with error!", WARNING_REQUEST, COUNT_UNKNOWN,
                  "", "");
    check_kind("NET/OFI Couldn't open a fabric access domain. RC: -12, ERROR: Cannot allocate memory",
               WARNING_NO_CARD);
}

static void what_ranks_report_of_themselves(void **state)
{
    check_kind("Cuda failure 700 'an illegal memory access was encountered'", WARNING_CUDA);
    check_kind("HIP failure 'unspecified launch failure'", WARNING_CUDA);
    check_kind("Cuda failure 2 'out of memory'", WARNING_MEMORY);
    check_kind("Failed to CUDA calloc async 6291456 bytes", WARNING_MEMORY);
    check_kind("Proxy append out of bounds", WARNING_INTERNAL);
    check_kind(
        "Error while creating shared memory segment /dev/shm/nccl-9fQ2bG (size 9637888), error: No space "
        "left "
        "on device (28)",
        WARNING_SYSTEM);
    check_kind("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", WARNING_USAGE);
    check_kind("communicator encountered a fatal error (detected in ncclIbTest)", WARNING_CARD_FATAL);
    check_warning("NET/IB : Unable to open device mlx5_bond_1", WARNING_NO_CARD, COUNT_UNKNOWN, "mlx5_bond_1",
                  "");
    check_kind(
        "NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_1:1/RoCE. Try "
        "selecting NICs of only one link type using NCCL_IB_HCA",
        WARNING_MISMATCH);
}

/* Others failed, and that is reported. */
static void what_is_an_effect(void **state)
{
    check_warning(
        "ncclOsSocketProgressOpt: Call to recv from 10.1.2.3<4001> failed : Connection reset by peer",
        WARNING_CLOSED, COUNT_UNKNOWN, "", "10.1.2.3");
    check_warning("socketStartConnect: Connect to 10.1.2.3<4001> failed : Connection refused", WARNING_CLOSED,
                  COUNT_UNKNOWN, "", "10.1.2.3");
    check_kind("[Service thread] Error encountered progressing operation=Connect, res=3, closing connection",
               WARNING_ABORTED);
    check_kind("Comm 0x55d0 is in abort state", WARNING_ABORTED);
}

/*
 * The texts of a socket error are an effect in any message; others only in an error, or in an exception
 * alone.
 */
static void which_words_are_an_echo_in_which_text(void **state)
{
    static const struct {
        const char *text;
        enum echo_text from;
        int ever;
    } texts[] = {{"Call to send to 10.1.2.3<4> failed : Broken pipe", ECHO_LINE, 1},
                 {"ncclRemoteError: A call failed", ECHO_ERROR, 1},
                 {"Got completion from peer 10.1.2.3<4> with status=12", ECHO_ERROR, 1},
                 {"torch.distributed.DistBackendError: x", ECHO_EXCEPTION, 1},
                 {"ValueError: bad sample", ECHO_LINE, 0}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int of = ECHO_LINE; of <= ECHO_EXCEPTION; of++)
            assert_int_equal(echo_is_in(text_of(texts[i].text), (enum echo_text)of),
                             texts[i].ever && of >= (int)texts[i].from);
}

static void what_nccl_hands_up(void **state)
{
    enum warning_kind kind;
    assert_int_equal(warning_read_result(text_of("proxy.cc:878 -> 3 [Progress Thread]"), &kind), 1);
    assert_int_equal(kind, WARNING_INTERNAL);
    assert_int_equal(warning_read_result(text_of("transport/net_ib/p2p.cc:12 (ncclIbTest) -> 6"), &kind), 1);
    assert_int_equal(kind, WARNING_CLOSED);
    assert_int_equal(warning_read_result(text_of("group.cc:64 -> 1 [Async thread]"), &kind), 1);
    assert_int_equal(kind, WARNING_CUDA);
    assert_int_equal(warning_read_result(text_of("init.cc:1 -> 7"), &kind), 0); /* in progress */
    assert_int_equal(warning_of_result_alone(text_of("misc/socket.cc:47 -> 3"), WARNING_INTERNAL),
                     WARNING_ABORTED);
    assert_int_equal(warning_of_result_alone(text_of("misc/socket.cc:47 -> 2"), WARNING_SYSTEM),
                     WARNING_SYSTEM);
    assert_int_equal(warning_of_result_alone(text_of("enqueue.cc:47 -> 3"), WARNING_INTERNAL),
                     WARNING_INTERNAL);
    assert_int_equal(warning_read_result(text_of("ras/ras.cc:10 -> 2"), &kind), 0);
    assert_int_equal(warning_read_result(text_of("Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM"), &kind), 0);
}

static void ports_that_are_back(void **state)
{
    check_warning("NET/IB : mlx5_2:1 Got non-fatal async event: port active(9)", WARNING_CARD_BACK,
                  COUNT_UNKNOWN, "mlx5_2", "");
    check_warning("NET/IB : mlx5_2:1 Got async event : port active", WARNING_CARD_BACK, COUNT_UNKNOWN,
                  "mlx5_2", "");
}

static void which_rank_has_fewer_cards(void **state)
{
    int64_t rank;
    assert_int_equal(warning_read_fewer_cards(text_of("Rank 5 has 1 local Net devices (max 2)."), &rank), 1);
    assert_int_equal(rank, 5);
    assert_int_equal(warning_read_fewer_cards(text_of("Rank 5 has color 1"), &rank), 0);
}

/* Healthy jobs print these. */
static void what_is_of_no_account(void **state)
{
    static const char *const harmless[] = {
        "NET/IB : mlx5_2:1 GID table changed",
        "NET/IB : mlx5_2:1 Got async event : client reregistration",
        "NET/IB : mlx5_2:1 unknown event type (37)",
        "NET/IB : mlx5_2:1 async fatal event on SRQ, unused for now (0x7f00): SRQ limit reached",
        "NET/Socket : NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to 16",
        "Could not find real path of mlx5_2 (/sys/class/infiniband/mlx5_2)",
        "Call to bind failed: Address already in use",
        "NCCL version mismatch with remote peer 10.0.0.1<1> (local: 22703, remote 22808)",
        "NET/IB : mlx5_2:1 async fatal event on QP (0x7f00): local work queue catastrophic error",
        "Missing \"iommu=pt\" from kernel command line which can lead to system instablity or hang!",
    };
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        check_warning(harmless[i], WARNING_OTHER, COUNT_UNKNOWN, "", "");
}

static void where_a_host_is_reached(void **state)
{
    assert_true(text_is(warning_own_address(text_of("Bootstrap : Using eth0:10.0.0.10<0>")), "10.0.0.10"));
    assert_true(text_is(warning_own_address(text_of("Bootstrap: Using eth0:fe80::1<0>")), "fe80::1"));
    assert_int_equal(warning_own_address(text_of("Bootstrap: Using mlx5_0:1")).length, 0);
    assert_int_equal(warning_own_address(text_of("Bootstrap: Using")).length, 0);
    assert_int_equal(warning_own_address(text_of("NET/Socket : Using [0]eth0:10.0.0.10<0>")).length, 0);
}

#define MADE(tid, comm, what, end)                                        \
    "n:1:" tid " [0] NCCL INFO ncclCommInitRank comm " comm " rank " what \
    " nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 " end "\n"
#define ROOT "commId 0x9c - Init "

static const struct start_up *start(const struct recording *recording, size_t n, int64_t rank)
{
    const struct event *event = recording_event(recording, EVENT_START_UP, n);
    assert_non_null(event);
    assert_int_equal(event->origin.rank, rank);
    return &event->start_up;
}

/* Two threads of one process, whose lines are mixed, one of them without times in microseconds. */
static void times_are_of_their_threads_communicator(void **state)
{
    static const char log[] =
        MADE("8", "0xb0", "1", ROOT "START") MADE("7", "0xa0", "0", ROOT "START")
            "n:1:8 [1] NCCL INFO Bootstrap timings total 0.031000 (create 0.000050, send 0.000200, recv 0.000400)\n" MADE(
                "7", "0xa0", "0", ROOT "COMPLETE") MADE("8", "0xb0", "1", ROOT "COMPLETE")
                "n:1:8 [1] NCCL INFO Init timings - ncclCommInitRank: rank 1 nranks 2 total 0.58 (kernels 0.44, bootstrap 0.03, rest 0.01)\n"
                "n:1:7 [0] NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 2 total 9.58 (kernels 0.40, bootstrap 9.02, rest 0.01)\n"
                "n:1:7 [0] NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 2 total 1.00 (kernels 0.40)\n";
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", log, sizeof log - 1);
    assert_int_equal(recording_count(&recording, EVENT_START_UP), 2);
    assert_string_equal(start(&recording, 1, 0)->function, "ncclCommInitRank");
    assert_int_equal(start(&recording, 1, 0)->is_complete, 1);
    assert_int_equal(start(&recording, 1, 0)->total_ns, 9580000000);
    assert_int_equal(start(&recording, 1, 0)->parts_ns[START_BOOTSTRAP], 9020000000);
    assert_int_equal(start(&recording, 0, 1)->total_ns, 580000000);
    assert_int_equal(start(&recording, 0, 1)->parts_ns[START_BOOTSTRAP], 31000000);
    assert_int_equal(recording_notes(&recording, "time of an unknown communicator"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

/*
 * A split names its parent; init that was running at the end of the log is incomplete; lines may have times.
 */
static void splits_and_what_breaks_off(void **state)
{
    static const char log[] =
        "[2026-03-02 10:15:00.250] " MADE("7", "0xa0", "0", ROOT "START") "[2026-03-02 10:15:21.750] "
        MADE("7", "0xa0", "0", ROOT "COMPLETE")
            "n:1:7 [0] NCCL INFO ncclCommSplit comm 0xc0 rank 0 nranks 1 cudaDev 0 nvmlDev 0 busId 70 parent 0xa0 splitCount 1 color 5 key 0- Init START\n";
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", log, sizeof log - 1);
    assert_int_equal(start(&recording, 0, 0)->end_ns - start(&recording, 0, 0)->begin_ns, 21500000000);
    assert_int_equal(start(&recording, 0, 0)->total_ns, TIME_UNKNOWN);
    assert_string_equal(start(&recording, 1, 0)->function, "ncclCommSplit");
    assert_true(start(&recording, 1, 0)->parent_hash == 0x9c);
    assert_int_equal(start(&recording, 1, 0)->is_complete, 0);
    recording_release(&recording);
}

static void check_record(const struct recording *recording, size_t n, enum warning_kind kind,
                         const char *text)
{
    const struct event *event = recording_event(recording, EVENT_WARNING, n);
    assert_non_null(event);
    assert_int_equal(event->warning.kind, kind);
    assert_string_equal(event->warning.text, text);
}

/* What no word of a warning shows, NCCL's result after it shows; but not that of another thread. */
static void results_behind_a_warning(void **state)
{
    static const char log[] =
        "n:1:7 [0] x.cc:1 NCCL WARN Something of a later version\n"
        "n:1:8 [0] NCCL INFO y.cc:2 -> 1\n"
        "n:1:7 [0] NCCL INFO x.cc:2 -> 3\n"
        "n:1:7 [0] NCCL INFO x.cc:3 -> 3\n"
        "n:2:7 [1] x.cc:1 NCCL WARN Something of a later version\n"
        "n:3:7 [2] NCCL INFO proxy.cc:698 -> 1\n"
        "n:3:7 [2] NCCL INFO proxy.cc:878 -> 1 [Progress Thread]\n";
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", log, sizeof log - 1);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 3);
    check_record(&recording, 0, WARNING_CUDA, "proxy.cc:698 -> 1");
    check_record(&recording, 1, WARNING_INTERNAL, "Something of a later version");
    check_record(&recording, 2, WARNING_OTHER, "Something of a later version");
    recording_release(&recording);
}

/* Failed attempts during the init of a communicator that succeeded are no error. */
static void what_a_communicator_got_over(void **state)
{
    static const char tried[] = MADE(
        "7", "0xa0", "0",
        ROOT
        "START") "n:1:7 [0] x.cc:1 NCCL WARN Cuda failure 801 'operation not supported'\n" MADE("7", "0xa0",
                                                                                                "0",
                                                                                                ROOT
                                                                                                "COMPLETE");
#define CALLED                                                                                            \
    "n:1:7 [0] NCCL INFO AllReduce: opCount 3 sendbuff 0x7f3a00 recvbuff 0x7f3b00 count 1024 datatype 7 " \
    "op 0 root 0 comm 0xa0 [nranks=2] stream 0x55e1\n"
    static const char called[] =
        MADE("7", "0xa0", "0",
             ROOT "COMPLETE") "n:1:7 [0] x.cc:1 NCCL WARN Cuda failure 801 'operation not supported'\n" CALLED
                              "n:1:9 [0] x.cc:1 NCCL WARN Cuda failure 700 'x'\n" CALLED;
    static const char fewer[] =
        MADE("7", "0xa0", "1", ROOT "START") "n:1:7 [0] NCCL INFO Rank 1 has 1 local Net devices (max 2).\n"
                                             "n:1:7 [0] NCCL INFO Rank 0 has 1 local Net devices (max 2).\n"
                                             "n:1:7 [0] NCCL INFO Using network AWS Libfabric\n"
                                             "n:1:7 [0] NCCL INFO Using network AWS Libfabric\n";
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", tried, sizeof tried - 1);
    check_record(&recording, 0, WARNING_GOT_OVER, "Cuda failure 801 'operation not supported'");
    recording_release(&recording);
    recording_of_bytes(&recording, "nccl.log", called, sizeof called - 1);
    check_record(&recording, 0, WARNING_GOT_OVER, "Cuda failure 801 'operation not supported'");
    check_record(&recording, 1, WARNING_CUDA, "Cuda failure 700 'x'");
    recording_release(&recording);
    recording_of_bytes(&recording, "nccl.log", fewer, sizeof fewer - 1);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 2);
    check_record(&recording, 0, WARNING_MISMATCH, "Rank 1 has 1 local Net devices (max 2).");
    check_record(&recording, 1, WARNING_NETWORK, "Using network AWS Libfabric");
    recording_release(&recording);
}

/* Plugins in C++ print the function with its signature. */
static void warnings_of_long_functions(void **state)
{
    static const char log[] =
        "n:1:7 [0] virtual int nccl_ofi_cm_req::handle_error_entry(fid_cq*, fi_cq_err_entry*, "
        "uint16_t):52 NCCL WARN NET/OFI Request 0x1 completed with error. RC: 113.\n";
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", log, sizeof log - 1);
    const struct event *event = recording_event(&recording, EVENT_WARNING, 0);
    assert_non_null(event);
    assert_string_equal(event->origin.host, "n");
    assert_int_equal(event->warning.kind, WARNING_REQUEST);
    assert_int_equal(event->warning.status, 113);
    recording_release(&recording);
}

/* With time and subject, and not more of the text than is useful. */
static void warnings_are_records(void **state)
{
    char log[4096];
    int length =
        snprintf(log, sizeof log,
                 "\n[2026-03-02 10:15:30] node1:42:99 [3] transport/net_ib.cc:2358 NCCL WARN NET/IB: Got "
                 "completion from peer 10.0.0.10<1> with status=12 opcode=0 hca mlx5_3\n"
                 "node1:42:99 [3] misc/x.cc:1 NCCL WARN %02000d\n",
                 7);
    struct recording recording;
    recording_of_bytes(&recording, "nccl.log", log, (size_t)length);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 2);
    const struct event *first = recording_event(&recording, EVENT_WARNING, 0);
    assert_string_equal(first->origin.host, "node1");
    assert_int_equal(first->origin.pid, 42);
    assert_int_equal(first->warning.gpu, 3);
    /* `date -ud '2026-03-02 10:15:30' +%s` */
    assert_int_equal(first->warning.at_ns, INT64_C(1772446530) * 1000000000);
    assert_string_equal(first->warning.nic, "mlx5_3");
    const struct event *second = recording_event(&recording, EVENT_WARNING, 1);
    assert_int_equal(second->warning.at_ns, TIME_UNKNOWN);
    assert_int_equal(strlen(second->warning.text), 511);
    recording_release(&recording);
}

static void check_setting(const char *line, const char *name, const char *value)
{
    struct text said_name, said_value;
    int found = warning_read_setting((struct text){line, strlen(line)}, &said_name, &said_value);
    assert_int_equal(found, name != NULL);
    if (!name)
        return;
    assert_int_equal(said_name.length, strlen(name));
    assert_memory_equal(said_name.data, name, strlen(name));
    assert_int_equal(said_value.length, strlen(value));
    assert_memory_equal(said_value.data, value, strlen(value));
}

static void settings_and_versions(void **state)
{
    check_setting("NCCL_IB_TIMEOUT set by environment to 22.", "NCCL_IB_TIMEOUT", "22");
    check_setting("NCCL_SOCKET_IFNAME set by environment to eth0,eth1\r", "NCCL_SOCKET_IFNAME", "eth0,eth1");
    check_setting("NCCL_IB_HCA set to mlx5_0", "NCCL_IB_HCA", "mlx5_0");
    check_setting("NCCL version 2.27.7+cuda12.8", "NCCL version", "2.27.7+cuda12.8");
    check_setting("RCCL version : 2.22.3-HEAD:9fd0", "RCCL version", "2.22.3-HEAD:9fd0");
    check_setting("cudaDriverVersion 12080", "CUDA driver version", "12080");
    check_setting("NCCL version ", NULL, NULL);
    check_setting("NCCL_IB_HCA set to ", NULL, NULL);
    check_setting("NCCL_IB_HCA is set to mlx5_0", NULL, NULL);
    check_setting("NCCL_DEBUG_FILE set by environment to /tmp/a.%p", NULL, NULL);
    check_setting("PATH set to /bin", NULL, NULL);
    check_setting("", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_as_nanoseconds),
        cmocka_unit_test(parts_of_the_making),
        cmocka_unit_test(what_warnings_are_about),
        cmocka_unit_test(what_healthy_jobs_print_is_harmless),
        cmocka_unit_test(what_requests_of_a_plugin_say),
        cmocka_unit_test(what_ranks_report_of_themselves),
        cmocka_unit_test(what_is_an_effect),
        cmocka_unit_test(which_words_are_an_echo_in_which_text),
        cmocka_unit_test(what_nccl_hands_up),
        cmocka_unit_test(ports_that_are_back),
        cmocka_unit_test(which_rank_has_fewer_cards),
        cmocka_unit_test(results_behind_a_warning),
        cmocka_unit_test(what_a_communicator_got_over),
        cmocka_unit_test(warnings_of_long_functions),
        cmocka_unit_test(what_is_of_no_account),
        cmocka_unit_test(where_a_host_is_reached),
        cmocka_unit_test(times_are_of_their_threads_communicator),
        cmocka_unit_test(splits_and_what_breaks_off),
        cmocka_unit_test(warnings_are_records),
        cmocka_unit_test(settings_and_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
