#include "support/cmocka_all.h"
#include "support/events.h"

#include "format/torch/watchdog.h"

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
    assert_int_equal(line.lost_peer, 0);
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

/* The last status counts; a call is told where the rank waits, and none of one whose peer was lost. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_work_that_timed_out),
        cmocka_unit_test(a_status_in_the_words_of_each_version),
        cmocka_unit_test(none_yet_and_what_cannot_be),
        cmocka_unit_test(ranks_by_who_launched_them),
        cmocka_unit_test(what_a_file_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
