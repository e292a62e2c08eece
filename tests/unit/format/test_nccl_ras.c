#include "support/cmocka_all.h"
#include "support/events.h"

#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                   \
    "{\"nccl_version\":\"2.29.1\",\"timestamp\":\"2026-03-02 " \
    "10:15:00\",\"communicators_count\":1,\"communicators\":["
#define RANK(rank, count)                                                                     \
    "{\"rank\":" rank ",\"host\":\"10.0.0.1\",\"pid\":7" rank ",\"cuda_dev\":" rank           \
    ",\"collective_counts\":{\"Broadcast\":0,\"Reduce\":0,\"AllGather\":0,\"ReduceScatter\":" \
    "0,\"AllReduce\":" count "}}"
#define END "]}],\"ras\":{}}\n"

static void read_text(struct recording *recording, const char *text)
{
    recording_of_bytes(recording, "ras.json", text, strlen(text));
    assert_int_equal(recording->status, 0);
    assert_string_equal(recording->dialect, "nccl-ras");
}

static void the_last_common_call_and_those_of_some(void **state)
{
    struct recording recording;
    static const int64_t ranks[] = {0, 1, 0, 0}, numbers[] = {4, 4, 5, 6};
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "7") "," RANK("1", "5") END);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct event *event = recording_event(&recording, EVENT_OPERATION, i);
        assert_true(event->origin.communicator_hash == 0xabc);
        assert_string_equal(event->origin.host, "10.0.0.1");
        assert_int_equal(event->origin.communicator_size, 2);
        assert_int_equal(event->origin.rank, ranks[i]);
        assert_int_equal(event->origin.pid, 70 + ranks[i]);
        assert_int_equal(event->operation.function, FUNCTION_ALL_REDUCE);
        assert_int_equal(event->operation.sequence, numbers[i]);
        assert_int_equal(event->operation.ordinal, i);
    }
    const struct event *status = recording_event(&recording, EVENT_GROUP_STATUS, 1);
    assert_int_equal(status->group_status.enqueued, 5);
    assert_int_equal(status->group_status.at_ns, INT64_C(1772446500) * 1000000000);
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 1)->process.gpu, 1);
    recording_release(&recording);
}

static void what_nobody_launched_is_no_call(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "0") "," RANK("1", "0") END);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 0);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
    recording_release(&recording);
}

/* A hostile count must not create as many calls. */
static void far_ahead(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD
              "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "9000000000") "," RANK("1", "5") END);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2 + 1024);
    assert_int_equal(recording_notes(&recording, "too many operations ahead"), 1);
    recording_release(&recording);
}

static void ranks_that_ras_heard_nothing_of(void **state)
{
    struct recording recording;
    read_text(&recording, HEAD
              "{\"hash\":\"0xabc\",\"size\":4,\"ranks\":[" RANK("0", "5") "],\"missing_ranks\":["
              "{\"rank\":1,\"status\":{\"unresponsive\":true,\"considered_dead\":true}},"
              "{\"rank\":2,\"status\":{\"unresponsive\":true,\"considered_dead\":false}},"
              "{\"rank\":3,\"status\":{\"unresponsive\":false,\"considered_dead\":false}}" END);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 3);
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 1);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->warning.kind, WARNING_DEAD);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->origin.rank, 1);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 1)->warning.kind, WARNING_SILENT);
    assert_int_equal(recording_notes(&recording, "rank not yet or no longer in its communicator"), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    recording_release(&recording);
}

static void damaged(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xzz\",\"size\":-2,\"ranks\":[" RANK("0", "-5") ",7," RANK("1", "5"));
    assert_int_equal(recording_notes(&recording, "unreadable value"), 3);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    assert_int_equal(recording_notes(&recording, "file ends within its text"), 1);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 2);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.enqueued,
                     COUNT_UNKNOWN);
    recording_release(&recording);
}

/*
 * NCCL 2.28.7 to 2.28.9 omit a comma; a raw answer has "OK" before it, and that of a script may have the
 * time.
 */
static void what_stands_around_a_dump(void **state)
{
    static const char dump[] = HEAD "{\"hash\":\"0xabc\",\"size\":3,\"ranks\":[" RANK("0", "5") "],\n"
        "\"missing_ranks\":[{\"rank\":1,\n\"nvml_dev\": 1\n  \"status\": {\"unresponsive\":true,"
        "\"considered_dead\":true}},\n{\"rank\":2,\"nvml_dev\":2\n\"status\":{\"unresponsive\":true,"
        "\"considered_dead\":false}}" END;
    static const char *const before[] = {"", "OK\n", "SERVER PROTOCOL 2\nOK\nOK\n",
                                         "Mon Mar  2 10:15:00 UTC 2026\n"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        char text[2048];
        struct recording recording;
        snprintf(text, sizeof text, "%s%s", before[i], dump);
        read_text(&recording, text);
        assert_int_equal(recording_damage(&recording), 0);
        assert_int_equal(recording_notes(&recording, "missing comma before status"), 2);
        assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 1);
        assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->warning.kind, WARNING_DEAD);
        assert_int_equal(recording_event(&recording, EVENT_WARNING, 1)->warning.kind, WARNING_SILENT);
        recording_release(&recording);
    }
}

/* For a communicator whose counts are all 0, only the fact that its ranks answered is known. */
static void counts_that_are_all_0(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "0") "," RANK("1", "0") END);
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 2);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.enqueued,
                     COUNT_UNKNOWN);
    assert_int_equal(recording_notes(&recording, "dump in which all counts are 0"), 1);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", "0") "," RANK("1", "2") END);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 0)->group_status.enqueued, 0);
    assert_int_equal(recording_notes(&recording, "dump in which all counts are 0"), 0);
    recording_release(&recording);
}

/* One after the other in one file: the operations are those of the last report that has counts. */
static void several_dumps_in_one_file(void **state)
{
#define DUMP(first, second) \
    HEAD "{\"hash\":\"0xabc\",\"size\":2,\"ranks\":[" RANK("0", first) "," RANK("1", second) END
    struct recording recording;
    read_text(&recording, "OK\n" DUMP("5", "5") "OK\n" DUMP("9", "8") DUMP("0", "0"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 6);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 1)->group_status.enqueued, 5);
    assert_int_equal(recording_event(&recording, EVENT_GROUP_STATUS, 2)->group_status.enqueued, 9);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 3);
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 2)->operation.sequence, 8);
    recording_release(&recording);
    read_text(&recording, DUMP("5", "5") "no dump");
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    recording_release(&recording);
}

#define REPORT(errors, warnings)                                                                             \
    "NCCL version 2.27.7 compiled with CUDA 12.8\nCUDA runtime version 12080, driver version 12080\n\n"      \
    "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"                      \
    "(total)   per node  per process    (total)  (total)\n      2          3            1          6       " \
    "6\n\n"                                                                                                  \
    "Communicators... (0.00s)\n=============\n\n"                                                            \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"                            \
    "    #  in group  per comm  per node  per comm  in group\n"                                              \
    "    0         1         2         3         6         6   RUNNING  MISMATCH\n"                          \
    "    1         3         1         2         2         6   RUNNING  OK\n\n"                              \
    "Errors\n======\n\n" errors "Warnings\n========\n\n" warnings
#define MISMATCH "#0-0 (7d10) MISMATCH\n"
#define DIFFERENT(function) "  Communicator ranks have different " function " operation counts\n"
#define PROCESS(gpu, pid, node) " -- GPU " gpu " managed by process " pid " on node " node "\n"

static const struct event *status_of(const struct recording *recording, int64_t rank)
{
    for (size_t i = 0; i < recording_count(recording, EVENT_GROUP_STATUS); i++) {
        const struct event *event = recording_event(recording, EVENT_GROUP_STATUS, i);
        if (event->origin.rank == rank)
            return event;
    }
    return NULL;
}

/* Ranks that a report only counts are those that it does not list. */
static void a_report_of_a_rank_behind(void **state)
{
    struct recording recording;
    read_text(
        &recording,
        REPORT(
            "",
            MISMATCH DIFFERENT(
                "AllReduce") "  5 ranks have launched up to operation 12\n"
                             "  Rank 4 has launched up to operation 10" PROCESS("1 (NVML 5)", "71", "node2")
                                 DIFFERENT("Broadcast") "  5 ranks have launched up to operation 2\n"
                                                        "  Rank 2 has not launched any operations" PROCESS(
                                                            "2", "63", "node1") "\n"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_COMMUNICATOR), 6);
    static const int64_t launched[] = {14, 14, 12, 14, 12, 14};
    for (int64_t rank = 0; rank < 6; rank++) {
        assert_int_equal(status_of(&recording, rank)->group_status.enqueued, launched[rank]);
        assert_true(status_of(&recording, rank)->origin.communicator_hash == 0x7d10);
        assert_int_equal(status_of(&recording, rank)->origin.communicator_size, 6);
    }
    assert_string_equal(status_of(&recording, 4)->origin.host, "node2");
    assert_int_equal(status_of(&recording, 4)->origin.pid, 71);
    assert_int_equal(status_of(&recording, 2)->origin.pid, 63);
    assert_null(status_of(&recording, 0)->origin.host);
    assert_int_equal(recording_count(&recording, EVENT_PROCESS), 2);
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 1)->process.gpu, 1);
    /* AllReduce: 10 common ones, of which the last counts, and two of five ranks; Broadcast: two of five. */
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 6 + 2 * 5 + 2 * 5);
    recording_release(&recording);
}

static void a_report_of_ranks_ahead(void **state)
{
    struct recording recording;
    read_text(&recording,
              REPORT("", MISMATCH DIFFERENT(
                             "AllGather") "  4 ranks have launched up to operation 64\n"
                                          "  2 ranks have launched up to operation 65\n"
                                          "  Rank 1" PROCESS(
                                              "1", "62",
                                              "node1") "  Rank 5 -- [process information not found]\n\n"));
    assert_int_equal(recording_damage(&recording), 0);
    for (int64_t rank = 0; rank < 6; rank++)
        assert_int_equal(status_of(&recording, rank)->group_status.enqueued,
                         rank == 1 || rank == 5 ? 65 : 64);
    recording_release(&recording);
}

/* Up to NCCL 2.25 all collectives have one count. */
static void a_report_of_all_collectives(void **state)
{
    struct recording recording;
    read_text(&recording,
              REPORT("", MISMATCH DIFFERENT("collective") "  5 ranks have launched up to operation 7\n"
                                                          "  Rank 0 has launched up to operation 6" PROCESS(
                                                              "0", "61", "node1") "\n"));
    assert_int_equal(recording_event(&recording, EVENT_OPERATION, 0)->operation.function, FUNCTION_UNKNOWN);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 6 + 5);
    recording_release(&recording);
}

static void a_report_of_ranks_that_do_not_answer(void **state)
{
    struct recording recording;
    read_text(&recording,
              REPORT("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                     "  Process 71 on node node2 managing GPU 1\n\n"
                     "#0-0 (7d10) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
                     "  Rank 4" PROCESS("1", "71", "node2") "  Rank 5" PROCESS("2", "72", "node2") "\n",
                     MISMATCH DIFFERENT("AllReduce") "  3 ranks have launched up to operation 9\n"
                                                     "  Rank 3 has launched up to operation 8" PROCESS(
                                                         "0", "70", "node2") "\n"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 2);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->warning.kind, WARNING_DEAD);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->origin.rank, 4);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 1)->warning.kind, WARNING_SILENT);
    assert_int_equal(status_of(&recording, 2)->group_status.enqueued, 9);
    assert_null(status_of(&recording, 4));
    recording_release(&recording);
}

/* Ranks of two groups that are only counted are unknown, and so is the meaning of ranks' states. */
static void what_a_report_does_not_tell(void **state)
{
    struct recording recording;
    read_text(&recording,
              REPORT("#0-0 (7d10) ERROR\n  Initialization error on 1 rank\n"
                     "  Rank 3 reported internal error" PROCESS("0", "70", "node2") "\n",
                     MISMATCH
                     "  Communicator ranks have different status\n  5 ranks have status RUNNING\n"
                     "  Rank 3 has status INIT -- GPU 0 managed by process 70 on node node2\n" DIFFERENT(
                         "AllReduce") "  3 ranks have launched up to operation 9\n"
                                      "  3 ranks have launched up to operation 8\n" DIFFERENT(
                                          "Send") "  5 ranks have launched up to operation 3\n\n"));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_notes(&recording, "state or error of a rank"), 2);
    assert_int_equal(recording_notes(&recording, "ranks without their numbers"), 1);
    assert_int_equal(recording_notes(&recording, "counts of another function"), 1);
    assert_int_equal(recording.event_count, 0);
    recording_release(&recording);
}

static void check_error(const struct recording *recording, size_t at, int64_t rank, enum warning_kind kind)
{
    const struct event *event = recording_event(recording, EVENT_WARNING, at);
    assert_int_equal(event->origin.rank, rank);
    assert_int_equal(event->warning.kind, kind);
    assert_int_equal(event->warning.calls, COUNT_UNKNOWN);
}

/* One rank's on its line, those of several ranks on the line before them. */
static void errors_of_a_report(void **state)
{
    static const char text[] =
        REPORT("#0-0 (7d10) ERROR\n  Initialization error on 1 rank\n"
               "  Rank 5 reported system error" PROCESS("1", "72", "remote2")
                   "  Asynchronous errors on 4 ranks\n  2 ranks reported remote error\n"
                   "  Rank 0" PROCESS("0", "60", "node1.internal") "  Rank 1 -- [process information not found]\n"
                   "  Rank 3 reported unhandled CUDA error" PROCESS("0", "70", "node2")
                   "  Rank 4 reported internal error" PROCESS("0", "71", "node2") "\n", "");
    struct recording recording;
    read_text(&recording, text);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 5);
    check_error(&recording, 0, 0, WARNING_CLOSED);
    check_error(&recording, 1, 1, WARNING_CLOSED);
    check_error(&recording, 2, 3, WARNING_CUDA);
    check_error(&recording, 3, 4, WARNING_INTERNAL);
    check_error(&recording, 4, 5, WARNING_SYSTEM);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 2)->origin.pid, 70);
    assert_int_equal(recording_notes(&recording, "dump in which all counts are 0"), 0);
    assert_int_equal(status_of(&recording, 3)->group_status.enqueued, COUNT_UNKNOWN);
    recording_release(&recording);
    char aborted[sizeof text];
    memcpy(aborted, text, sizeof text);
    memcpy(strstr(aborted, "RUNNING"), "  ABORT", 7);
    read_text(&recording, aborted);
    check_error(&recording, 2, 3, WARNING_CUDA);
    check_error(&recording, 3, 4, WARNING_ABORTED);
    recording_release(&recording);
}

/* Processes that are in no reported communicator, and the only one of them if ranks lack theirs. */
static void processes_that_are_gone(void **state)
{
    struct recording recording;
    read_text(&recording,
              REPORT("INCOMPLETE\n  Missing communicator data from 1 job process\n"
                     "  Process 83 on node node4 managing GPU 2\n\n"
                     "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                     "  Process 71 on node node2 managing GPUs 1,2\n\n"
                     "#0-0 (7d10) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
                     "  The missing ranks: 1, 4\n\n",
                     ""));
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 4);
    static const enum warning_kind kinds[] = {WARNING_SILENT, WARNING_DEAD, WARNING_SILENT, WARNING_SILENT};
    static const int64_t pids[] = {83, 71, COUNT_UNKNOWN, COUNT_UNKNOWN};
    for (size_t i = 0; i < 4; i++) {
        const struct event *event = recording_event(&recording, EVENT_WARNING, i);
        assert_int_equal(event->warning.kind, kinds[i]);
        assert_int_equal(event->origin.pid, pids[i]);
        assert_true((event->origin.communicator_hash == 0) == (i < 2));
        assert_true((event->origin.started_ns < 0) == (i >= 2));
    }
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 2)->origin.rank, 1);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 3)->origin.rank, 4);
    recording_release(&recording);
    read_text(&recording,
              REPORT("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                     "  Process 71 on node node2 managing GPU 1\n\n"
                     "#0-0 (7d10) INCOMPLETE\n  Missing communicator data from 1 rank\n"
                     "  The missing rank: 4\n\n",
                     ""));
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 1);
    const struct event *event = recording_event(&recording, EVENT_WARNING, 0);
    assert_int_equal(event->warning.kind, WARNING_DEAD);
    assert_int_equal(event->origin.rank, 4);
    assert_int_equal(event->origin.pid, 71);
    assert_string_equal(event->origin.host, "node2");
    recording_release(&recording);
}

/* Rank 0 of the reported communicators: whether it is one process. */
static int is_one_process(const char *warnings_of_two)
{
    struct recording recording;
    int64_t number[2] = {0};
    read_text(&recording, warnings_of_two);
    assert_int_equal(recording_damage(&recording), 0);
    for (size_t i = 0, found = 0; i < recording_count(&recording, EVENT_COMMUNICATOR); i++) {
        const struct event *event = recording_event(&recording, EVENT_COMMUNICATOR, i);
        assert_true(event->origin.pid == COUNT_UNKNOWN ? event->origin.started_ns < 0
                                                       : event->origin.started_ns == 0);
        if (event->origin.rank == 0)
            number[found++] = event->origin.started_ns;
    }
    recording_release(&recording);
    return number[0] == number[1];
}

static void ranks_without_a_process(void **state)
{
#define ONE_BEHIND(others, rank)                                        \
    DIFFERENT("AllReduce")                                              \
    "  " others " ranks have launched up to operation 12\n  Rank " rank \
    " has launched up to operation 10" PROCESS("1", "7" rank, "node2") "\n"
    assert_true(is_one_process(
        REPORT("", "#0-0 (7d10) MISMATCH\n" ONE_BEHIND(
                       "5", "4") "#1-0 (7d11) MISMATCH\n  Communicator ranks have different "
                                 "AllReduce operation counts\n  Rank 0 has launched up to "
                                 "operation 3 -- [process information not found]\n  Rank 1 has "
                                 "launched up to operation 2 -- [process information not found]\n\n")));
    assert_false(is_one_process(REPORT("",
                                       "#1-0 (7d11) MISMATCH\n  Communicator ranks have different "
                                       "AllReduce operation counts\n  Rank 0 has launched up to operation "
                                       "3 -- [process information not found]\n\n#1-1 (7d12) MISMATCH\n"
                                       "  Communicator ranks have different AllReduce operation counts\n"
                                       "  Rank 0 has launched up to operation 3 -- [process information "
                                       "not found]\n\n")));
}

#define WITH(rank, result, init, abort)                                              \
    "{\"rank\":" rank ",\"status\":{\"init_state\":" init ",\"async_error\":" result \
    ",\"abort_flag\":" abort "}}"

static void errors_of_a_dump(void **state)
{
    struct recording recording;
    read_text(&recording,
              HEAD "{\"hash\":\"0xabc\",\"size\":9,\"ranks\":[" WITH("0", "0", "0", "false") "," WITH(
                  "1", "7", "7", "false") "," WITH("2", "0", "3", "false") "," WITH("3", "2", "0", "true") ","
                  WITH("4", "3", "0", "false") "," WITH("5", "3", "0", "true") "," WITH("6", "6", "0", "false")
                  "," WITH("7", "0", "1", "false") "," WITH("8", "99", "0", "false") END);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 6);
    check_error(&recording, 0, 3, WARNING_SYSTEM);
    check_error(&recording, 1, 4, WARNING_INTERNAL);
    check_error(&recording, 2, 5, WARNING_ABORTED);
    check_error(&recording, 3, 6, WARNING_CLOSED);
    check_error(&recording, 4, 7, WARNING_CUDA);
    check_error(&recording, 5, 8, WARNING_FAILED);
    recording_release(&recording);
}

/* A few bytes that claim a million ranks, repeatedly; invalid numbers; a truncated file. */
static void hostile_reports(void **state)
{
    static const char claim[] = REPORT("", MISMATCH DIFFERENT("AllReduce") "  999999 ranks have launched up to operation 9\n"
                                     "  Rank 0 has launched up to operation 8\n");
    char *text = calloc(101, sizeof claim);
    struct recording recording;
    assert_non_null(text);
    for (size_t i = 0, length = 0; i < 100; i++) {
        memcpy(text + length, claim, sizeof claim);
        char *size = strstr(text + length, "        6         6   RUNNING");
        memcpy(size, "1000000", 7);
        length += sizeof claim - 1;
    }
    read_text(&recording, text);
    assert_true(recording.event_count < 600000);
    assert_true(recording_notes(&recording, "more ranks than a job can have") > 0);
    recording_release(&recording);
    free(text);
    read_text(
        &recording,
        REPORT("", "#0-0 (zz) MISMATCH\n#0-0 (1) MISMATCH\n" DIFFERENT(
                       "AllReduce") "  x ranks have launched up to operation 9\n  Rank -1 has launched up to "
                                    "operation 9\n"
                                    "  Rank 99999999999999999999 has not launched any operations -- GPU\n"));
    assert_int_equal(recording_notes(&recording, "unreadable value"), 4);
    recording_release(&recording);
    static const char whole[] = REPORT("", "");
    char cut[sizeof whole];
    snprintf(cut, sizeof cut, "%.*s", (int)(strstr(whole, "Warnings") - whole), whole);
    read_text(&recording, cut);
    assert_int_equal(recording_notes(&recording, "file ends within its text"), 1);
    recording_release(&recording);
}

/* Events of `ncclras -m`: text, and JSON in which values have other types; both cut anywhere. */
static void events_of_the_monitor(void **state)
{
    static const char lines[] =
        "RAS Monitor Mode\n====\n\n"
        "[2026-11-03 08:12:40] PEER_UNRESPONSIVE: Process 41 on node 10.0.0.9 managing GPU 3 no answer\n"
        "[2026-11-03 08:12:41] PEER_DEAD: Process 42 on node 10.0.0.9 managing GPUs 4,5\n"
        "[2026-11-03 08:12:42] PEER_CONNECTED: Process 42 on node 10.0.0.9 managing GPUs 4,5\n"
        "[2026-11-03 08:12:43] PEER_DEAD: 10.0.0.9<4711>\n"
        "[2026-11-03 08:12:44] PEER_NEW: Process 43 on node 10.0.0.9 managing GPU 6\n"
        "nonsense\n";
    static const char objects[] =
        "{\n \"timestamp\": \"2026-11-03 08:12:40\",\n \"event\": \"PEER_DEAD\", \"peer\": {\"host\": "
        "\"10.0.0.9\", "
        "\"pid\": 41, \"cuda_devs\": [3]}\n}\n"
        "{\"timestamp\": 5, \"event\": \"PEER_DEAD\", \"peer\": {\"host\": 7, \"pid\": [41], \"cuda_devs\": "
        "{}}}\n"
        "{\"timestamp\": \"x\", \"event\": \"PEER_DEAD\", \"peer\": 3}\n";
    struct recording recording;
    read_text(&recording, lines);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 2);
    const struct event *silent = recording_event(&recording, EVENT_WARNING, 0);
    const struct event *dead = recording_event(&recording, EVENT_WARNING, 1);
    assert_int_equal(silent->warning.kind, WARNING_SILENT);
    assert_int_equal(silent->origin.pid, 41);
    assert_int_equal(dead->warning.kind, WARNING_DEAD);
    assert_int_equal(dead->origin.pid, 42);
    assert_string_equal(dead->origin.host, "10.0.0.9");
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 1)->process.gpu, 4);
    assert_int_equal(recording_notes(&recording, "event of a process that is not named"), 1);
    assert_int_equal(recording_notes(&recording, "event of RAS's monitor"), 1);
    assert_int_equal(recording_notes(&recording, "unreadable text"), 1);
    recording_release(&recording);
    read_text(&recording, objects);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 1);
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 0)->process.gpu, 3);
    assert_int_equal(recording_notes(&recording, "event of a process that is not named"), 2);
    recording_release(&recording);
    for (size_t length = 0; length < sizeof objects - 1; length += 3) {
        recording_of_bytes(&recording, "ras", objects, length);
        recording_release(&recording);
        recording_of_bytes(&recording, "ras", lines, length);
        recording_release(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_common_call_and_those_of_some),
        cmocka_unit_test(what_nobody_launched_is_no_call),
        cmocka_unit_test(far_ahead),
        cmocka_unit_test(ranks_that_ras_heard_nothing_of),
        cmocka_unit_test(damaged),
        cmocka_unit_test(what_stands_around_a_dump),
        cmocka_unit_test(counts_that_are_all_0),
        cmocka_unit_test(several_dumps_in_one_file),
        cmocka_unit_test(a_report_of_a_rank_behind),
        cmocka_unit_test(a_report_of_ranks_ahead),
        cmocka_unit_test(a_report_of_all_collectives),
        cmocka_unit_test(a_report_of_ranks_that_do_not_answer),
        cmocka_unit_test(what_a_report_does_not_tell),
        cmocka_unit_test(errors_of_a_report),
        cmocka_unit_test(errors_of_a_dump),
        cmocka_unit_test(processes_that_are_gone),
        cmocka_unit_test(ranks_without_a_process),
        cmocka_unit_test(hostile_reports),
        cmocka_unit_test(events_of_the_monitor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
