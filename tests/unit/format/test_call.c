#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

#define CALL                                                                                       \
    "{\"name\": \"all_reduce\", \"rank\": 3, \"source_line\": \"/a/{b}/train.py:43\", "            \
    "\"message_size\": 4096, \"device\": 1, \"timestamp\": 1795567926, \"gpu_serial\": \"1650\", " \
    "\"vm_id\": \"vm-7\"}"

static void check_call(const struct event *event)
{
    const struct call_description *call = &event->call;
    assert_string_equal(call->name, "all_reduce");
    assert_int_equal(call->rank, 3);
    assert_string_equal(call->source, "/a/{b}/train.py:43");
    assert_int_equal(call->message_bytes, 4096);
    assert_int_equal(call->device, 1);
    assert_int_equal(call->said_ns, INT64_C(1795567926) * 1000000000);
    assert_string_equal(call->gpu_serial, "1650");
    assert_string_equal(call->vm, "vm-7");
    assert_null(call->group);
    assert_int_equal(call->peer, COUNT_UNKNOWN);
    assert_null(call->correlation);
    assert_int_equal(call->at_ns, TIME_UNKNOWN);
    assert_int_equal(event->origin.pid, COUNT_UNKNOWN);
}

/* Prefixes of launchers, two ranks at once, text after it. */
static void what_stands_around_it(void **state)
{
    static const char *const lines[] = {CALL,
                                        "[rank3]:" CALL,
                                        "[default3]:" CALL "\r",
                                        "[1,3]<stdout>:" CALL " done",
                                        "3: {INFO} " CALL,
                                        CALL CALL,
                                        "\x1b[32m" CALL "\x1b[0m"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[1024];
        struct recording recording;
        snprintf(text, sizeof text, "a line of the program\n\n%s\n", lines[i]);
        recording_of_bytes(&recording, "stdout", text, strlen(text));
        assert_string_equal(recording.dialect, "call-description");
        assert_int_equal(recording_notes(&recording, "other output"), 1);
        assert_int_equal(recording_damage(&recording), 0);
        assert_int_equal(recording.event_count, lines[i] == lines[5] ? 2 : 1);
        for (size_t k = 0; k < recording.event_count; k++)
            check_call(&recording.events[k]);
        recording_release(&recording);
    }
}

/* Keys in any order, and keys that only some calls have. */
static void what_only_some_have(void **state)
{
    static const char text[] =
        "{\"correlation_id\": 12, \"group_ranks\": [4, 0, 8], \"message_size\": 7.0, \"peer_rank\": 8, "
        "\"root_rank\": null, \"source_line\": \"a.py:1\", \"rank\": 4, \"name\": \"send\"}\n"
        "{\"name\": \"barrier\", \"rank\": 0, \"source_line\": \"a.py:2\", \"message_size\": 1, "
        "\"timestamp\": 1795567926.25, \"correlation_id\": \"x-1\", \"root_rank\": 5}\n";
    struct recording recording;
    recording_of_bytes(&recording, "stdout", text, strlen(text));
    assert_int_equal(recording.event_count, 2);
    const struct call_description *call = &recording.events[0].call;
    assert_string_equal(call->correlation, "12");
    assert_int_equal(call->group_count, 3);
    assert_int_equal(call->group[2], 8);
    assert_int_equal(call->peer, 8);
    assert_int_equal(call->root, COUNT_UNKNOWN);
    assert_int_equal(call->message_bytes, 7);
    assert_int_equal(call->said_ns, TIME_UNKNOWN);
    call = &recording.events[1].call;
    assert_string_equal(call->correlation, "x-1");
    assert_int_equal(call->said_ns, INT64_C(1795567926250) * 1000000);
    assert_int_equal(call->root, 5);
    recording_release(&recording);
}

/* Truncated after any byte: it is read completely, or reported as damage if its source line is visible. */
static void cut_anywhere(void **state)
{
    static const char key[] = "\"source_line\"";
    for (size_t length = 0; length <= strlen(CALL); length++) {
        char text[2048];
        struct recording recording;
        snprintf(text, sizeof text, CALL "\n%.*s", (int)length, CALL);
        recording_of_bytes(&recording, "stdout", text, strlen(text));
        int is_seen = length >= strlen("{\"name\": \"all_reduce\", \"rank\": 3, ") + strlen(key);
        int is_whole = length == strlen(CALL);
        assert_int_equal(recording.event_count, 1 + is_whole);
        assert_int_equal(recording_notes(&recording, "call description that cannot be read"),
                         is_seen && !is_whole);
        recording_release(&recording);
    }
}

/* A truncated description before another one on the same line: the other one is read, and the first is noted.
 */
static void what_runs_into_another(void **state)
{
    static const char truncated[] =
        "{\"name\": \"all_reduce\", \"rank\": 0, \"source_line\": \"a.py:1\", \"mess";
    char text[2048];
    struct recording recording;
    snprintf(text, sizeof text, CALL "\n%s" CALL "\n", truncated);
    recording_of_bytes(&recording, "stdout", text, strlen(text));
    assert_int_equal(recording.event_count, 2);
    check_call(&recording.events[1]);
    assert_int_equal(recording_notes(&recording, "call description that cannot be read"), 1);
    const char *source = strstr(truncated, "\"source_line\"");
    for (size_t i = 0; i < recording.note_count; i++) {
        assert_int_equal(recording.notes[i].detail_length, strlen(source));
        assert_memory_equal(recording.notes[i].detail, source, strlen(source));
    }
    recording_release(&recording);
}

static void what_is_none(void **state)
{
    static const char *const objects[] = {
        "{\"name\": 5, \"rank\": 3, \"source_line\": \"a\", \"message_size\": 1}",
        "{\"name\": \"x\", \"rank\": -3, \"source_line\": \"a\", \"message_size\": 1}",
        "{\"name\": \"x\", \"source_line\": \"a\", \"message_size\": 1}",
        "{\"name\": \"x\", \"rank\": 3, \"group_ranks\": [1, -1], \"message_size\": 1}",
        "{\"name\": \"x\", \"rank\": 3, \"message_size\": 99999999999999999999}",
        "\"message_size\" of a call",
    };
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        char text[1024];
        struct recording recording;
        snprintf(text, sizeof text, CALL "\n%s\n", objects[i]);
        recording_of_bytes(&recording, "stdout", text, strlen(text));
        assert_int_equal(recording.event_count, 1);
        assert_int_equal(recording_notes(&recording, "call description that cannot be read"), 1);
        recording_release(&recording);
    }
}

/* Other formats that read text also report descriptions. */
static void among_lines_of_others(void **state)
{
    static const char *const heads[] = {"node1:7:7 [0] NCCL INFO Bootstrap: Using eth0\n",
                                        "[rank3]:[E1125 01:03:54.925565245 ProcessGroupNCCL.cpp:689] [PG 0 "
                                        "Rank 1] last enqueued NCCL work: 1, "
                                        "last completed NCCL work: 1.\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char text[1024];
        struct recording recording;
        snprintf(text, sizeof text, "%s[rank3]:" CALL "\n", heads[i]);
        recording_of_bytes(&recording, "out", text, strlen(text));
        assert_string_not_equal(recording.dialect, "call-description");
        assert_int_equal(recording_count(&recording, EVENT_CALL_DESCRIPTION), 1);
        check_call(recording_event(&recording, EVENT_CALL_DESCRIPTION, 0));
        assert_int_equal(recording_notes(&recording, "other output"), 0);
        recording_release(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_stands_around_it), cmocka_unit_test(what_only_some_have),
        cmocka_unit_test(cut_anywhere),          cmocka_unit_test(what_runs_into_another),
        cmocka_unit_test(what_is_none),          cmocka_unit_test(among_lines_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
