#include "format/flight_recorder/flight_recorder.h"
#include "format/format.h"
#include "format/internal.h"
#include "model/model.h"
#include "support/cmocka_all.h"
#include "support/events.h"

#include <string.h>

/* A dump in JSON, and one of its entries. */
#define DUMP(config, status, entries) \
    "{\"version\":\"2.10\",\"pg_config\":{" config "},\"pg_status\":{" status "},\"entries\":[" entries "]}"
#define GROUP(name, ranks) \
    "\"" name "\":{\"name\":\"" name "\",\"desc\":\"d" name "\",\"ranks\":\"" ranks "\"}"
#define STATUS(number, enqueued, completed)                    \
    "\"" number "\":{\"last_enqueued_collective\":\"" enqueued \
    "\",\"last_started_collective\":\"-1\","                   \
    "\"last_completed_collective\":\"" completed "\"}"
#define ENTRY_OF(record, group, id, collective, pair, name, sizes, state, more)                   \
    "{\"record_id\":" record ",\"pg_id\":" id ",\"process_group\":[\"" group "\",\"d" group       \
    "\"],\"collective_seq_id\":" collective ",\"p2p_seq_id\":" pair ",\"profiling_name\":\"" name \
    "\",\"time_created_ns\":1780000000000000123,\"input_sizes\":" sizes                           \
    ",\"output_sizes\":[[6]],"                                                                    \
    "\"input_dtypes\":[\"BFloat16\"],\"output_dtypes\":[\"BFloat16\"],\"state\":\"" state "\"" more "}"
#define ENTRY(record, collective, pair, name, state) \
    ENTRY_OF(record, "0", "0", collective, pair, name, "[[2,3]]", state, "")

static void read_text(struct recording *recording, const char *name, const char *text)
{
    recording_of_bytes(recording, name, text, strlen(text));
    assert_int_equal(recording->status, 0);
}

static const struct operation *operation(const struct recording *recording, size_t n)
{
    const struct event *found = recording_event(recording, EVENT_OPERATION, n);
    assert_non_null(found);
    return &found->operation;
}

static int64_t declared_rank(const struct recording *recording)
{
    const struct event *found = recording_event(recording, EVENT_PROCESS, 0);
    assert_non_null(found);
    return found->process.global_rank;
}

static void a_call_is_an_operation(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_1",
              DUMP(GROUP("0", "[0, 1]"), STATUS("0", "7", "6"),
                   ENTRY_OF("0", "0", "0", "7", "0", "nccl:_reduce_scatter_base", "[[2,3],[6]]", "started",
                            ",\"time_discovered_started_ns\":1780000000000000500,\"duration_ms\":1.25")));
    const struct event *event = recording_event(&recording, EVENT_OPERATION, 0);
    const struct operation *op = operation(&recording, 0);
    assert_int_equal(event->origin.rank, 1);
    assert_int_equal(event->origin.communicator_size, 2);
    assert_true(event->origin.communicator_is_named);
    assert_int_equal(op->function, FUNCTION_REDUCE_SCATTER);
    assert_int_equal(op->sequence, 7);
    assert_int_equal(op->bytes, 12); /* of the received data */
    assert_int_equal(op->datatype, DATATYPE_BFLOAT16);
    assert_true(op->api.begin_ns == 1780000000000000123);
    assert_true(op->device.begin_ns == 1780000000000000500);
    assert_true(op->device.end_ns == TIME_UNKNOWN);
    assert_int_equal(op->duration_ns, 1250000);
    assert_int_equal(op->unfinished, 1);
    assert_int_equal(declared_rank(&recording), 1);
    const struct event *status = recording_event(&recording, EVENT_GROUP_STATUS, 0);
    assert_int_equal(status->group_status.enqueued, 7);
    assert_int_equal(status->group_status.started, GROUP_STATUS_NONE);
    assert_int_equal(status->group_status.completed, 6);
    assert_string_equal(recording.dialect, "flight-recorder-2.10-json");
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static void names_of_calls(void **state)
{
    static const struct {
        const char *name;
        enum function function;
        int64_t own_rank, peer;
    } all[] = {
        {"nccl:all_reduce", FUNCTION_ALL_REDUCE, -1, -1},
        {"xccl:_all_gather_base", FUNCTION_ALL_GATHER, -1, -1},
        {"nccl:ALLGATHER_coalesced", FUNCTION_ALL_GATHER, -1, -1},
        {"ncclx:reduce_scatter_single", FUNCTION_REDUCE_SCATTER, -1, -1},
        {"nccl:_reduce_oop", FUNCTION_REDUCE, -1, -1},
        {"nccl:all_to_all", FUNCTION_ALL_TO_ALL, -1, -1},
        {"gloo:_broadcast_oop", FUNCTION_BROADCAST, -1, -1},
        {"nccl:send 3->12", FUNCTION_SEND, 3, 12},
        {"nccl:recv 3<-12", FUNCTION_RECV, 3, 12},
        {"nccl:send 3->", FUNCTION_SEND, -1, -1},
        {"nccl:send 99999999999->1", FUNCTION_SEND, -1, -1},
        {"ncclx:split", FUNCTION_OTHER, -1, -1},
        {"ncclx:send", FUNCTION_SEND, -1, -1},
        {"", FUNCTION_OTHER, -1, -1},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct call_name name = call_name(all[i].name, strlen(all[i].name));
        assert_int_equal(name.function, all[i].function);
        assert_int_equal(name.own_rank, all[i].own_rank);
        assert_int_equal(name.peer, all[i].peer);
        assert_false(name.is_closing);
    }
    assert_true(call_name("nccl:coalesced", 14).is_closing);
    assert_true(call_name("nccl:batch_op_issue", 19).is_batch);
    assert_int_equal(call_datatype("c10::Half", 9), DATATYPE_FLOAT16);
    assert_int_equal(call_datatype("Complex", 7), DATATYPE_OTHER);
}

static void ranks_in_names_of_files(void **state)
{
    static const struct {
        const char *path;
        int64_t rank;
    } all[] = {{"/tmp/nccl_trace_rank_12", 12},
               {"rank_3.json", 3},
               {"/x7/dump", -1},
               {"a-node02_5.pkl.gz", 5},
               {"trace.4", 4},
               {"dump-20261125123456", -1},
               {"worker1/", -1},
               {"7", 7}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(rank_of_path(all[i].path), all[i].rank);
}

static void the_content_rules_out_a_rank(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_2026",
              DUMP(GROUP("0", "[0, 1, 2]") "," GROUP("1", "[1, 2]"), "",
                   ENTRY_OF("0", "1", "1", "0", "1", "nccl:recv 1<-0", "[[1]]", "completed", "")));
    assert_int_equal(declared_rank(&recording), 2);
    assert_int_equal(recording_notes(&recording, "rank in the file name differs from the rank in the dump"),
                     1);
    recording_release(&recording);
    read_text(&recording, "dump",
              DUMP(GROUP("0", "[0, 1, 2]") "," GROUP("1", "[1, 2]"), "",
                   ENTRY("0", "1", "0", "nccl:all_reduce", "completed")));
    assert_int_equal(declared_rank(&recording), COUNT_UNKNOWN);
    assert_int_equal(recording_notes(&recording, "dump without its rank"), 1);
    recording_release(&recording);
}

/* Numbers in pg_status and names in pg_config both count groups in order of creation. */
static void a_status_is_known_without_entries(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_0",
              DUMP(GROUP("0", "[0, 1]") "," GROUP("12", "[0, 1]") "," GROUP("5", "[0, 1]"),
                   STATUS("0", "3", "3") "," STATUS("4", "8", "8") "," STATUS("2", "5", "5"), ""));
    assert_int_equal(recording_count(&recording, EVENT_GROUP_STATUS), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct event *event = recording_event(&recording, EVENT_GROUP_STATUS, i);
        int64_t want = strcmp(event->group_status.name, "0") == 0   ? 3
                       : strcmp(event->group_status.name, "5") == 0 ? 5
                                                                    : 8;
        assert_int_equal(event->group_status.enqueued, want);
    }
    recording_release(&recording);
}

static void members_have_the_state_of_their_launch(void **state)
{
    struct recording recording;
    read_text(
        &recording, "dump_0",
        DUMP(
            GROUP("0", "[0, 1]"), "",
            ENTRY("0", "0", "1", "nccl:send 0->1", "scheduled") "," ENTRY(
                "1", "0", "1", "nccl:recv 0<-1",
                "scheduled") "," ENTRY("2", "0", "1", "nccl:coalesced",
                                       "completed") "," ENTRY("3", "1", "1", "nccl:all_gather",
                                                              "scheduled") "," ENTRY("4", "1", "1",
                                                                                     "nccl:all_gather",
                                                                                     "scheduled") "," ENTRY("5",
                                                                                                            "1",
                                                                                                            "1",
                                                                                                            "nccl:coalesced",
                                                                                                            "completed") "," ENTRY("6",
                                                                                                                                   "1",
                                                                                                                                   "2",
                                                                                                                                   "nccl:send 0->1",
                                                                                                                                   "scheduled")));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 4);
    static const int unfinished[] = {0, 0, 0, 1};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(operation(&recording, i)->unfinished, unfinished[i]);
    assert_int_equal(operation(&recording, 2)->bytes, 24); /* of both */
    recording_release(&recording);
}

/* For active entries only: the closing entry of the first launch has completed and is not listed. */
static void launches_without_their_closing_entry(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_0",
              DUMP(GROUP("0", "[0, 1]"), STATUS("0", "2", "1"),
                   ENTRY("7", "0", "1", "nccl:send 0->1", "scheduled") "," ENTRY(
                       "9", "0", "2", "nccl:send 0->1",
                       "scheduled") "," ENTRY("10", "0", "2", "nccl:coalesced", "scheduled")));
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 2);
    assert_int_equal(operation(&recording, 0)->unfinished, 0);
    assert_int_equal(operation(&recording, 1)->unfinished, 1);
    assert_int_equal(recording_notes(&recording, "completed entries left out by the dump"), 1);
    recording_release(&recording);
}

static void wrong_types_are_damage(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_0",
              "{\"version\":2.1,\"pg_config\":[1],\"pg_status\":7,\"entries\":[{\"profiling_name\":5,"
              "\"state\":\"completed\"},"
              "17,{\"profiling_name\":\"nccl:all_reduce\",\"state\":\"completed\",\"input_sizes\":[[\"x\"]],"
              "\"frames\":7}]}");
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(operation(&recording, 0)->bytes, COUNT_UNKNOWN);
    assert_int_equal(recording_notes(&recording, "unreadable entry"), 2);
    assert_int_equal(recording_notes(&recording, "value of an unexpected type"), 3);
    recording_release(&recording);
}

static void later_versions_are_told(void **state)
{
    struct recording recording;
    read_text(&recording, "dump_0",
              "{\"version\":\"2.11\",\"pg_config\":{" GROUP("0", "[0]") "},\"entries\":[" ENTRY(
                  "0", "1", "0", "nccl:all_to_all", "completed") "]}");
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_NEWER), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    recording_release(&recording);
    read_text(&recording, "dump_0",
              "{\"version\":\"2.12\",\"pg_config\":{" GROUP("0", "[0]") "},\"entries\":[" ENTRY(
                  "0", "1", "0", "nccl:all_reduce", "completed") "]}");
    assert_int_equal(recording_notes(&recording, FORMAT_NOTE_NEWER), 1);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    recording_release(&recording);
}

/* If a rank could not be dumped, only its name and the reason are there. */
static void a_dump_that_failed(void **state)
{
    struct recording recording;
    read_text(&recording, "rank_5.json", "{\"ok\": false, \"reason\": \"no reply\"}");
    assert_int_equal(recording_count(&recording, EVENT_PROCESS), 1);
    assert_int_equal(recording_event(&recording, EVENT_PROCESS, 0)->process.global_rank, 5);
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 1);
    assert_int_equal(recording_event(&recording, EVENT_WARNING, 0)->warning.kind, WARNING_NO_DUMP);
    assert_string_equal(recording_event(&recording, EVENT_WARNING, 0)->warning.text, "no dump: no reply");
    assert_int_equal(recording_notes(&recording, "no dump"), 1);
    recording_release(&recording);
    read_text(&recording, "dump", "{\"ok\": false, \"reason\": \"no reply\"}");
    assert_int_equal(recording_count(&recording, EVENT_WARNING), 0);
    assert_int_equal(recording_notes(&recording, "dump without its rank"), 1);
    recording_release(&recording);
}

/*
 * For a group whose calls are all retired and none completed, the ends are unknown; if one completed, they
 * are known.
 */
static void calls_that_are_retired_when_issued(void **state)
{
#define RETIRED(state, retired)                                                                     \
    "{\"process_group\":[\"0\",\"x\"],\"collective_seq_id\":1,\"profiling_name\":\"b:all_reduce\"," \
    "\"state\":\"" state "\",\"retired\":" retired "}"
    struct recording recording;
    read_text(&recording, "dump_0",
              DUMP(GROUP("0", "[0]"), "", RETIRED("scheduled", "true") "," RETIRED("scheduled", "true")));
    assert_int_equal(operation(&recording, 1)->unfinished, 0);
    recording_release(&recording);
    read_text(&recording, "dump_0",
              DUMP(GROUP("0", "[0]"), "", RETIRED("completed", "true") "," RETIRED("scheduled", "true")));
    assert_int_equal(operation(&recording, 1)->unfinished, 1);
    recording_release(&recording);
    read_text(&recording, "dump_0",
              DUMP(GROUP("0", "[0]"), "", RETIRED("scheduled", "true") "," RETIRED("scheduled", "false")));
    assert_int_equal(operation(&recording, 0)->unfinished, 1);
    recording_release(&recording);
}

/* Groups 0 and 1 in turn, with the given names and numbers of the calls from a given record on. */
#define OF_GROUP(record, group, number, pair, name) \
    ENTRY_OF(record, group, group, number, pair, name, "[[2,3]]", "completed", "")
#define TWO_GROUPS GROUP("0", "[0, 1]") "," GROUP("1", "[0, 1]")

static void assert_sequences(const char *text, const int64_t *sequences, size_t count)
{
    struct recording recording;
    read_text(&recording, "dump_0", text);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(operation(&recording, i)->sequence, sequences[i]);
    recording_release(&recording);
}

/* torchcomms counts the calls of a process. A batch is no collective, and sends have numbers of their own. */
static void one_counter_of_all_groups_gives_numbers_of_each(void **state)
{
    assert_sequences(
        DUMP(
            TWO_GROUPS, "",
            OF_GROUP("0", "0", "0", "0", "n:all_reduce") "," OF_GROUP(
                "1", "1", "1", "0",
                "n:all_reduce") "," OF_GROUP("2", "0", "2", "0",
                                             "n:send") "," OF_GROUP("3", "0", "3", "0",
                                                                    "n:batch_op_issue") "," OF_GROUP("4", "0",
                                                                                                     "4", "0",
                                                                                                     "n:all_"
                                                                                                     "gather_"
                                                                                                     "singl"
                                                                                                     "e")),
        (const int64_t[]){0, 0, 0, 1}, 4);
    /* The last call is the first on its group: a dump without progress of groups is from torchcomms. */
    assert_sequences(
        DUMP(TWO_GROUPS, "",
             OF_GROUP("0", "0", "0", "0", "n:all_reduce") "," OF_GROUP(
                 "1", "0", "1", "0", "n:all_reduce") "," OF_GROUP("2", "1", "2", "0", "n:all_reduce")),
        (const int64_t[]){0, 1, 0}, 3);
}

/* Numbers of each group, and numbers whose beginning is unknown. */
static void other_numbers_stay(void **state)
{
    assert_sequences(
        DUMP(TWO_GROUPS, STATUS("0", "2", "2") "," STATUS("1", "1", "1"),
             OF_GROUP("0", "0", "1", "0", "n:all_reduce") "," OF_GROUP(
                 "1", "1", "1", "0", "n:all_reduce") "," OF_GROUP("2", "0", "2", "0", "n:all_reduce")),
        (const int64_t[]){1, 1, 2}, 3);
    /* Two calls of a dump of active calls, equally far from their records by chance. */
    assert_sequences(
        DUMP(TWO_GROUPS, STATUS("0", "7", "6") "," STATUS("1", "9", "8"),
             OF_GROUP("17", "0", "7", "0", "n:all_reduce") "," OF_GROUP("19", "1", "9", "0", "n:all_reduce")),
        (const int64_t[]){7, 9}, 2);
    assert_sequences(
        DUMP(TWO_GROUPS, "",
             OF_GROUP("40", "0", "40", "0", "n:all_reduce") "," OF_GROUP(
                 "41", "1", "41", "0", "n:all_reduce") "," OF_GROUP("42", "0", "42", "0", "n:all_reduce")),
        (const int64_t[]){40, 41, 42}, 3);
}

/* The callback of torchcomms can end a call before the event of its GPU. */
static void a_duration_of_a_retired_call_ends_it(void **state)
{
    struct recording recording;
    read_text(
        &recording, "dump_0",
        DUMP(GROUP("0", "[0, 1]"), "",
             ENTRY_OF("0", "0", "0", "1", "0", "n:barrier", "[]", "started",
                      ",\"retired\":true,\"duration_ms\":0.5") "," ENTRY_OF("1", "0", "0", "2", "0",
                                                                            "n:barrier", "[]", "started",
                                                                            ",\"retired\":false")));
    assert_int_equal(operation(&recording, 0)->unfinished, 0);
    assert_int_equal(operation(&recording, 0)->duration_ns, COUNT_UNKNOWN);
    assert_int_equal(operation(&recording, 1)->unfinished, 1);
    recording_release(&recording);
}

/* A truncated entry is skipped, the one before it is not. */
static void what_is_cut_is_told_with_its_offset(void **state)
{
    static const char text[] = DUMP(GROUP("0", "[0, 1]"), "",
                                    ENTRY("0", "1", "0", "nccl:all_reduce", "completed") "," ENTRY(
                                        "1", "2", "0", "nccl:all_reduce", "completed"));
    struct recording recording;
    recording_of_bytes(&recording, "dump_0", text, sizeof text - 40);
    assert_int_equal(recording.status, 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    assert_int_equal(recording_damage(&recording), 1);
    assert_true(recording.notes[0].offset > 200);
    recording_release(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_an_operation),
        cmocka_unit_test(names_of_calls),
        cmocka_unit_test(ranks_in_names_of_files),
        cmocka_unit_test(the_content_rules_out_a_rank),
        cmocka_unit_test(a_status_is_known_without_entries),
        cmocka_unit_test(members_have_the_state_of_their_launch),
        cmocka_unit_test(launches_without_their_closing_entry),
        cmocka_unit_test(wrong_types_are_damage),
        cmocka_unit_test(later_versions_are_told),
        cmocka_unit_test(a_dump_that_failed),
        cmocka_unit_test(calls_that_are_retired_when_issued),
        cmocka_unit_test(one_counter_of_all_groups_gives_numbers_of_each),
        cmocka_unit_test(other_numbers_stay),
        cmocka_unit_test(a_duration_of_a_retired_call_ends_it),
        cmocka_unit_test(what_is_cut_is_told_with_its_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
