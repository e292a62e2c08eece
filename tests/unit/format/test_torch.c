#include "support/cmocka_all.h"
#include "support/events.h"

#include "format/internal.h"
#include "format/torch/torch.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

#define HEAD "[rank3]:[E1125 01:03:54.925565245 ProcessGroupNCCL.cpp:689] "

static struct watchdog_line said(const char *line, int is_one)
{
    struct watchdog_line said;
    assert_int_equal(watchdog_read((struct text){line, strlen(line)}, &said), is_one);
    return said;
}

static void assert_text(struct text text, const char *expected)
{
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.data, expected, text.length);
}

static void a_work_that_timed_out(void **state)
{
    struct watchdog_line line =
        said(HEAD
             "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=53, "
             "OpType=ALLREDUCE, NumelIn=4195328, NumelOut=4195328, Timeout(ms)=15000) ran",
             1);
    assert_int_equal(line.global_rank, 3);
    assert_int_equal(line.rank, 1);
    assert_int_equal(line.failed, 53);
    assert_text(line.operation, "ALLREDUCE");
    assert_int_equal(line.elements, 4195328);
    assert_int_equal(line.enqueued, COUNT_UNKNOWN);
    assert_int_equal(line.elements_out, 4195328);
    assert_int_equal(line.failure.length, 0);
    assert_int_equal(line.is_stuck, 0);
}

static void a_status_in_the_words_of_each_version(void **state)
{
    static const char *const lines[] = {HEAD
                                        "[PG 7 (tp) Rank 1] Timeout at NCCL work: 53, last enqueued NCCL "
                                        "work: 61, last completed NCCL work: 52.",
                                        HEAD
                                        "[PG ID 2 PG GUID 7(tp) Rank 1] Exception (either an error or "
                                        "timeout) detected by watchdog at work: 53, last "
                                        "enqueued NCCL work: 61, last completed NCCL work: 52.",
                                        HEAD
                                        "[PG ID 2 PG GUID 7(tp) Rank 1]  failure detected by watchdog at "
                                        "work sequence id: 53 PG status: last enqueued "
                                        "work: 61, last completed work: 52"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct watchdog_line line = said(lines[i], 1);
        assert_text(line.group, "7");
        assert_text(line.description, "tp");
        assert_int_equal(line.rank, 1);
        assert_int_equal(line.failed, 53);
        assert_int_equal(line.enqueued, 61);
        assert_int_equal(line.completed, 52);
    }
}

static void none_yet_and_what_cannot_be(void **state)
{
    struct watchdog_line line = said(
        HEAD "[PG ID 0 PG GUID 0 Rank 1] Last enqueued NCCL work: 1, last completed NCCL work: -1.This", 1);
    assert_int_equal(line.completed, GROUP_STATUS_NONE);
    line = said(HEAD
                "[PG 0 Rank 1] Timeout at NCCL work: 3, last enqueued NCCL work: 4, last completed NCCL "
                "work: 140234.",
                1);
    assert_int_equal(line.completed, COUNT_UNKNOWN);
    said(HEAD "[PG ID 0 PG GUID 0(default_pg) Rank 0] First PG on this rank to signal dumping.", 0);
    said("[rank3]: last enqueued work: 61, last completed work: 52", 0);
}

static void ranks_by_who_launched_them(void **state)
{
    static const char rest[] =
        "[E ProcessGroupNCCL.cpp:1] [PG 0 Rank 1] last enqueued NCCL work: 1, last completed NCCL work: 1.";
    static const struct {
        const char *before;
        int64_t rank;
    } launchers[] = {
        {"12: ", 12}, {"[1,13]<stderr>:", 13}, {"[default4]:", COUNT_UNKNOWN}, {"[default4]:[rank20]:", 20}};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", launchers[i].before, rest);
        assert_int_equal(said(text, 1).global_rank, launchers[i].rank);
    }
}

/* The last status counts; a call is reported if the rank waits in it, but not if its peer was lost. */
static void what_a_file_tells(void **state)
{
    static const char text[] = HEAD
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] last enqueued NCCL work: 7, last completed NCCL work: 7.\n"
        "a line of the program\n" HEAD
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] last enqueued NCCL work: 9, last completed NCCL work: 7.\n";
    struct recording recording;
    recording_of_bytes(&recording, "stderr", text, strlen(text));
    assert_string_equal(recording.dialect, "torch-log");
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 1);
    const struct event *status = recording_event(&recording, EVENT_GROUP_STATUS, 0);
    assert_int_equal(status->group_status.enqueued, 9);
    assert_int_equal(status->origin.rank, 3);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    const struct event *call = recording_event(&recording, EVENT_OPERATION, 0);
    assert_int_equal(call->operation.sequence, 8);
    assert_int_equal(call->operation.unfinished, 1);
    assert_int_equal(recording_notes(&recording, "other output"), 1);
    recording_release(&recording);
}

/* For a file with these lines: the number of warnings of a kind, and the first of them. */
static size_t warned(struct recording *recording, const char *text, enum warning_kind kind,
                     const struct event **first)
{
    size_t count = 0;
    recording_of_bytes(recording, "stderr", text, strlen(text));
    for (size_t i = 0; i < recording_count(recording, EVENT_WARNING); i++) {
        const struct event *event = recording_event(recording, EVENT_WARNING, i);
        if (event->warning.kind == kind && count++ == 0)
            *first = event;
    }
    return count;
}

#define WORK(rank, number, in, out)                                                    \
    "[rank" #rank "]:[E1125 01:03:54.925565245 ProcessGroupNCCL.cpp:689] [Rank " #rank \
    "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" #number         \
    ", OpType=_ALLGATHER_BASE, "                                                       \
    "NumelIn=" #in ", NumelOut=" #out ", Timeout(ms)=15000) ran for 15099 milliseconds before timing out.\n"
#define STATUS(rank, number)                                                                            \
    "[rank" #rank                                                                                       \
    "]:[E1125 01:03:54.925713943 ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank " #rank \
    "]  failure detected by watchdog at work sequence id: " #number                                     \
    " PG status: last enqueued work: 99, last completed work: 7\n"

/* A text broken into lines of a given width, each after the prefix of a launcher. */
static void break_lines(const char *text, size_t width, const char *before, char *out, size_t size)
{
    size_t length = 0;
    for (size_t at = 0; text[at]; at += strnlen(text + at, width))
        length += (size_t)snprintf(out + length, size - length, "%s%.*s\n", before, (int)width, text + at);
    snprintf(out + length, size - length, "%sepoch 3\n", before);
}

/*
 * Broken at any width by a terminal, and by a launcher that puts its prefix before each piece; also inside a
 * number.
 */
static void lines_that_were_broken(void **state)
{
    static const char record[] =
        "[rank2]:[E424 01:11:21.160832731 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=41, OpType=BROADCAST, NumelIn=112, NumelOut=112, "
        "Timeout(ms)=1800000) ran for 1800011 milliseconds before timing out.";
    static const char *const launchers[] = {"", "job.n1 [stderr] ", "(Worker pid=7) "};
    for (size_t width = 90; width < sizeof record; width++) {
        char text[1024];
        struct recording recording;
        break_lines(record, width, launchers[width % 3], text, sizeof text);
        recording_of_bytes(&recording, "stderr", text, strlen(text));
        assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
        const struct event *call = recording_event(&recording, EVENT_OPERATION, 0);
        assert_int_equal(call->operation.sequence, 41);
        assert_int_equal(call->operation.function, FUNCTION_BROADCAST);
        assert_int_equal(call->operation.count, 112);
        assert_int_equal(recording_notes(&recording, "other output"), 1);
        recording_release(&recording);
    }
}

/*
 * If lines are broken at a fixed width, a number at the end of one continues in the next; else it does not.
 */
static void a_number_at_the_end_of_a_line(void **state)
{
    static const char head[] =
        "[rank1]:[E424 01:11:21.160 ProcessGroupNCCL.cpp:2] [PG ID 0 PG GUID 0(default_pg) Rank 1] ";
    static const char status[] = "PG status: last enqueued work: 90, last completed work: 8";
    char text[1024];
    size_t width = strlen(head) + strlen(status);
    snprintf(text, sizeof text, "%s%s\n7\n", head, status);
    struct recording recording;
    recording_of_bytes(&recording, "stderr", text, strlen(text));
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.completed, 8);
    recording_release(&recording);
    /* Another record of the file was broken there. */
    snprintf(text, sizeof text, "%s%-*.*s\n1, last completed work: 1\n%s%s\n7\n", head, (int)strlen(status),
             (int)strlen(status), "PG status: last enqueued work:                            ", head, status);
    recording_of_bytes(&recording, "stderr", text, strlen(text));
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.completed, 87);
    recording_release(&recording);
    assert_true(width > 40);
}

/* The input and output sizes of a gather show the number of ranks; contradictory ones do not. */
static void how_many_ranks_a_group_has(void **state)
{
    static const struct {
        const char *text;
        int64_t size;
    } cases[] = {{WORK(1, 8, 100, 600) STATUS(1, 8), 6},
                 {WORK(1, 8, 100, 600) STATUS(1, 8) WORK(0, 8, 100, 400) STATUS(0, 8), 0},
                 {WORK(1, 8, 100, 150) STATUS(1, 8), 0},
                 {WORK(7, 8, 100, 600) STATUS(7, 8), 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording recording;
        recording_of_bytes(&recording, "stderr", cases[i].text, strlen(cases[i].text));
        assert_int_equal(recording_event(&recording, EVENT_COMMUNICATOR, 0)->origin.communicator_size,
                         cases[i].size);
        recording_release(&recording);
    }
}

/*
 * Lines without a group belong to one group if each rank waits in the same operation; else each to its own.
 */
static void works_without_a_group(void **state)
{
    struct recording recording;
    static const char one[] = WORK(0, 3, 100, 100) WORK(2, 3, 100, 100),
                      several[] = WORK(0, 3, 100, 100) WORK(2, 9, 100, 100);
    recording_of_bytes(&recording, "stderr", one, strlen(one));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_string_equal(recording_event(&recording, EVENT_OPERATION, 0)->origin.communicator_name, "0");
    recording_release(&recording);
    recording_of_bytes(&recording, "stderr", several, strlen(several));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_string_not_equal(recording_event(&recording, EVENT_OPERATION, 0)->origin.communicator_name,
                            recording_event(&recording, EVENT_OPERATION, 1)->origin.communicator_name);
    recording_release(&recording);
    /* A rank without its own line on the group waits in the operation in which others of the group wait. */
    static const char mixed[] = WORK(0, 8, 100, 100) STATUS(0, 8) WORK(2, 8, 100, 100);
    recording_of_bytes(&recording, "stderr", mixed, strlen(mixed));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_string_equal(recording_event(&recording, EVENT_OPERATION, 1)->origin.communicator_name, "0");
    recording_release(&recording);
}

#define STUCK                                                                                            \
    HEAD "[PG ID 0 PG GUID 0(default_pg) Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds " \
         "without "                                                                                      \
         "making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API " \
         "hang\n"

/* A watchdog that is stuck, unless its rank waits as the others do. */
static void a_watchdog_that_is_stuck(void **state)
{
    struct recording recording;
    const struct event *first = NULL;
    assert_int_equal(warned(&recording, STUCK, WARNING_STUCK, &first), 1);
    assert_int_equal(first->origin.started_ns, 4);
    assert_string_equal(first->warning.text,
                        "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making "
                        "progress in monitoring enqueued collectives");
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 0);
    recording_release(&recording);
    assert_int_equal(warned(&recording, WORK(3, 8, 1, 1) STATUS(3, 8) STUCK, WARNING_STUCK, &first), 0);
    recording_release(&recording);
}

#define FAILED                                                                              \
    HEAD "[Rank 3] Collective WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, " \
         "Timeout(ms)=15000) raised the following async exception: "

/*
 * An error of the rank itself, and one that it gets because another rank is gone, which only its last error
 * may show.
 */
static void an_error_of_nccl(void **state)
{
    static const char own[] = FAILED
        "NCCL error: internal error - please report, NCCL version 2.27.7\n"
        "ncclInternalError: Internal check failed.\nLast error:\nring 3 has no peer\nepoch 4\n";
    static const char echo[] = FAILED
        "NCCL error: unhandled system error, NCCL version 2.21.5\n"
        "ncclSystemError: System call failed.\nLast error:\n"
        "socketProgress: Connection closed by remote peer node7<4000>\n";
    static const char cuda[] = HEAD
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with "
        "exception: CUDA error: an illegal memory access was encountered\n";
    static const char timeout[] = HEAD
        "[Rank 3] NCCL watchdog thread terminated with exception: [Rank 3] Watchdog caught "
        "collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=4, "
        "NumelOut=4, Timeout(ms)=15000) ran for 15000 milliseconds before timing out.\n";
    struct recording recording;
    const struct event *first = NULL;
    assert_int_equal(warned(&recording, own, WARNING_INTERNAL, &first), 1);
    assert_non_null(strstr(first->warning.text, "Last error: ring 3 has no peer"));
    assert_int_equal(recording_notes(&recording, "other output"), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    recording_release(&recording);
    /* It is unknown what it would have called. */
    assert_int_equal(warned(&recording, echo, WARNING_CLOSED, &first), 1);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    recording_release(&recording);
    assert_int_equal(warned(&recording, cuda, WARNING_CUDA, &first), 1);
    recording_release(&recording);
    assert_int_equal(warned(&recording, timeout, WARNING_CUDA, &first), 0);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 0);
    recording_release(&recording);
}

#define REPORT(lines)                                                                               \
    WORK(0, 8, 4, 4)                                                                                \
    "[rank0]:[E1125 01:03:54.9 ProcessGroupNCCL.cpp:1937] Rank 0\n\t - [0] Timeout at collective: " \
    "ALLREDUCE, #31\n" lines STATUS(0, 8)

/* A desync report accuses ranks that did not join what others did; it lists all ranks. */
static void a_desync_report(void **state)
{
    static const char lagging[] = REPORT(
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   - [4] joined but didn't finish collective #18 (count from 1)\n"
        "\t     [2, 5] finished collective #18, but didn't join collective #19 (count from 1)\n"
        "\t - Snapshot of ranks' latest states:\n\t   #18 started ranks:\n\t     [4] started ALLREDUCE\n"
        "\t   #18 finished ranks:\n\t     [2, 5] finished ALLREDUCE\n"
        "\t   #31 started ranks:\n\t     [0, 1, 3] started ALLREDUCE\n");
    static const char missing[] = REPORT(
        "\t - To our best knowledge, ranks [3, 6] are the lagging ranks that caused "
        "this timeout. They never joined any collectives\n");
    static const char all_alike[] = REPORT(
        "\t   - [0, 1] joined but didn't finish collective #31 (count from 1)\n"
        "\t - Snapshot of ranks' latest states:\n\t   #31 started ranks:\n"
        "\t     [0, 1] started ALLREDUCE\n");
    struct recording recording;
    const struct event *first = NULL;
    assert_int_equal(warned(&recording, lagging, WARNING_NEVER_JOINED, &first), 2);
    assert_int_equal(first->warning.status, 2);
    assert_int_equal(first->origin.started_ns, 1);
    assert_string_equal(first->warning.text,
                        "[2, 5] finished collective #18, but didn't join collective #19 (count from 1)");
    assert_int_equal(recording_event(&recording, EVENT_COMMUNICATOR, 0)->origin.communicator_size, 6);
    recording_release(&recording);
    assert_int_equal(warned(&recording, lagging, WARNING_UNFINISHED, &first), 1);
    assert_int_equal(first->warning.status, 4);
    recording_release(&recording);
    assert_int_equal(warned(&recording, missing, WARNING_NEVER_JOINED, &first), 2);
    assert_int_equal(recording_event(&recording, EVENT_COMMUNICATOR, 0)->origin.communicator_size, 0);
    recording_release(&recording);
    assert_int_equal(warned(&recording, all_alike, WARNING_UNFINISHED, &first), 0);
    recording_release(&recording);
}

/* An exception of a rank's program; but not one from torch.distributed, nor one after it had waited. */
static void an_exception_of_the_program(void **state)
{
#define RAISED(rank, error)                                            \
    "[rank" #rank "]: Traceback (most recent call last):\n[rank" #rank \
    "]:   File \"a.py\", line 1, in f\n[rank" #rank "]: " error "\n"
    struct recording recording;
    const struct event *first = NULL;
    assert_int_equal(warned(&recording, WORK(0, 8, 4, 4) RAISED(5, "KeyError: 'label'") STATUS(0, 8),
                            WARNING_RAISED, &first),
                     1);
    assert_string_equal(first->warning.text, "KeyError: 'label'");
    assert_int_equal(first->origin.started_ns, 6);
    recording_release(&recording);
    assert_int_equal(warned(&recording,
                            WORK(0, 8, 4, 4) RAISED(5, "torch.distributed.DistBackendError: NCCL error in: x")
                                STATUS(0, 8),
                            WARNING_RAISED, &first),
                     0);
    recording_release(&recording);
    assert_int_equal(warned(&recording, WORK(5, 8, 4, 4) RAISED(5, "RuntimeError: late") STATUS(5, 8),
                            WARNING_RAISED, &first),
                     0);
    recording_release(&recording);
}

/*
 * An exception that a program raises because another rank ended is no error of its own; its own earlier one,
 * and another rank's, are.
 */
static void an_exception_behind_that_of_others(void **state)
{
    static const char echo[] = RAISED(5, "torch.distributed.DistBackendError: NCCL error in: x");
    static const char chained[] =
        "[rank5]: \n[rank5]: The above exception was the direct cause of the following exception:\n[rank5]: "
        "\n";
    static const char own[] = RAISED(5, "RuntimeError: the step failed"),
                      other[] = RAISED(6, "KeyError: 'a'");
    const struct {
        const char *parts[3];
        size_t raised;
    } cases[] = {{{echo, chained, own}, 0}, {{own, chained, echo}, 1}, {{echo, "", other}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        struct recording recording;
        const struct event *first = NULL;
        snprintf(text, sizeof text, "%s%s%s%s", WORK(0, 8, 4, 4), cases[i].parts[0], cases[i].parts[1],
                 cases[i].parts[2]);
        assert_int_equal(warned(&recording, text, WARNING_RAISED, &first), cases[i].raised);
        recording_release(&recording);
    }
}

/*
 * The exceptions of a rank that waited for others in vain, and those that contain a similar word but are its
 * own.
 */
static void an_exception_that_others_cause(void **state)
{
    static const struct {
        const char *error;
        size_t raised;
    } cases[] = {
        {"RuntimeError: Rank 6 failed to pass monitoredBarrier in 60000 ms", 0},
        {"RuntimeError: wait timeout after 60000ms, keys: /default_pg/0//1//cuda//0", 0},
        {"RuntimeError: Socket Timeout", 0},
        {"RuntimeError: Timed out initializing process group in store based barrier on rank: 5", 0},
        {"RuntimeError: Detected mismatch between collectives on ranks. Rank 5 is running collective: X", 0},
        {"RuntimeError: [/b/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting "
         "60000ms for recv operation to complete",
         0},
        {"RuntimeError: [/b/third_party/gloo/gloo/transport/tcp/pair.cc:534] Read error [10.0.0.6]:4711: x",
         0},
        {"OSError: [Errno 113] No route to host", 0},
        {"ray.exceptions.RayActorError: The actor died unexpectedly", 0},
        {"ray.exceptions.ActorDiedError: The actor died", 0},
        {"RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed.", 1},
        {"KeyError: 'timeout'", 1},
        {"RuntimeError: DataLoader timed out after 30 seconds", 1},
        {"ValueError: mismatch of vocabulary and embedding", 1},
        {"torch.OutOfMemoryError: CUDA out of memory.", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        struct recording recording;
        const struct event *first = NULL;
        snprintf(text, sizeof text,
                 "%s[rank5]: Traceback (most recent call last):\n[rank5]:   File \"a.py\", line 1\n[rank5]: "
                 "%s\n",
                 WORK(0, 8, 4, 4), cases[i].error);
        assert_int_equal(warned(&recording, text, WARNING_RAISED, &first), cases[i].raised);
        recording_release(&recording);
    }
}

/* What launchers report on killed processes; but not those that were ended because of another one. */
static void a_process_that_its_launcher_saw_end(void **state)
{
    static const struct {
        const char *lines;
        int64_t rank;
    } cases[] = {
        {"srun: error: n17: task 5: Killed\n", 5},
        {"srun: error: n17: task 12: Segmentation fault (core dumped)\n", 12},
        {"srun: error: n17: task 5: Exited with exit code 1\nsrun: error: n17: task 4: Aborted (core "
         "dumped)\n",
         -1},
        {"srun: error: n18: task 9: Exited with exit code 1\nsrun: error: n17: task 5: Killed\n", -1},
        {"srun: Terminating StepId=44.0\nsrun: error: n17: task 5: Killed\n", -1},
        {"slurmstepd: error: *** STEP 44.0 ON n17 CANCELLED AT 2026-01-02T03:04:05 ***\nsrun: error: n17: "
         "task 5: Killed\n",
         -1},
        {"srun: error: n17: task 5: Killed\nsrun: Terminating StepId=44.0\nsrun: error: n18: task 9: "
         "Killed\n",
         5},
        {"srun: error: n18: task 9: Exited with exit code 1\nsrun: error: n17: task 5: Segmentation fault\n",
         5},
        {"srun: error: n17: task 2: Out Of Memory\n[default1]:step 60\n", -1},
        {"+ srun torchrun --nproc-per-node 8 train.py\nsrun: error: n17: task 2: Killed\n", -1},
        {"+ srun python train.py --local_rank 2\nsrun: error: n17: task 2: Killed\n", 2},
        {"srun: error: n17: task 2: Out Of Memory\n  rank      : 7 (local_rank: 3)\n  exitcode  : -9 (pid: "
         "4711)\n",
         7},
        {"mpirun noticed that process rank 6 with PID 0 on node n17 exited on signal 9 (Killed).\n", 6},
        {"  rank      : 7 (local_rank: 3)\n  exitcode  : -9 (pid: 4711)\n", 7},
        {"  rank      : 7 (local_rank: 3)\n  exitcode  : -6 (pid: 4711)\n", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        struct recording recording;
        const struct event *first = NULL;
        snprintf(text, sizeof text, "%s%s", WORK(0, 8, 4, 4), cases[i].lines);
        assert_int_equal(warned(&recording, text, WARNING_ENDED, &first), cases[i].rank >= 0);
        assert_int_equal(first ? first->origin.started_ns : 0, cases[i].rank + 1);
        recording_release(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_work_that_timed_out),
        cmocka_unit_test(a_status_in_the_words_of_each_version),
        cmocka_unit_test(none_yet_and_what_cannot_be),
        cmocka_unit_test(ranks_by_who_launched_them),
        cmocka_unit_test(what_a_file_tells),
        cmocka_unit_test(lines_that_were_broken),
        cmocka_unit_test(a_number_at_the_end_of_a_line),
        cmocka_unit_test(how_many_ranks_a_group_has),
        cmocka_unit_test(works_without_a_group),
        cmocka_unit_test(a_watchdog_that_is_stuck),
        cmocka_unit_test(an_error_of_nccl),
        cmocka_unit_test(a_desync_report),
        cmocka_unit_test(an_exception_of_the_program),
        cmocka_unit_test(an_exception_behind_that_of_others),
        cmocka_unit_test(an_exception_that_others_cause),
        cmocka_unit_test(a_process_that_its_launcher_saw_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
