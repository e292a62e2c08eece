#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

/* Numbers that an application gives single operations as their tag, from NCCL 2.31 on, and their names. */

#define LINE(name, category, phase, rest)                                  \
    "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase \
    "\", \"id\": 0, \"pid\": 7, "                                          \
    "\"tid\": 1, \"ts\": 1000.000000" rest "},\n"
#define CALL(name, category, more)                                                                       \
    LINE(name, category, "b",                                                                            \
         ", \"args\": {\"count\": 4, \"datatype\": \"ncclFloat32\", \"root\": 0, \"GraphCaptured\": 0, " \
         "\"Stream\": \"0x55\"" more "}")
#define COLLECTIVE(more)                                                                          \
    LINE("AllReduce", "COLL", "b",                                                                \
         ", \"args\": {\"SeqNum\": 0, \"CommHash\": 9, \"Rank\": 1, \"Count\": 4, \"Datatype\": " \
         "\"ncclFloat32\", \"nChannels\": 2" more "}")                                            \
    LINE("AllReduce", "COLL", "e", "")
#define PAIR(more)                                                                              \
    LINE("Send", "P2P", "b",                                                                    \
         ", \"args\": {\"CommHash\": 9, \"Rank\": 1, \"Peer\": 2, \"Count\": 4, \"Datatype\": " \
         "\"ncclFloat32\", \"nChannels\": 2" more "}")                                          \
    LINE("Send", "P2P", "e", "")
#define COPY(more)                                                                                         \
    LINE("AllGather", "CE_COLL", "b", ", \"args\": {\"count\": 4, \"datatype\": \"ncclFloat32\"" more "}") \
    LINE("AllGather", "CE_COLL", "e", "")
#define END(name, category) LINE(name, category, "e", "")
#define NAME(arguments) LINE("TagName", "USER_TAG", "i", ", \"s\": \"p\", \"args\": {" arguments "}")

static void read(struct recording *recording, const char *lines)
{
    char text[8192];
    int length = snprintf(text, sizeof text, "[\n%s{}]\n", lines);
    recording_of_bytes(recording, "x.json", text, (size_t)length);
    assert_int_equal(recording->status, 0);
}

/* The tag of the only operation in these lines; NULL: it has none. */
static void check(const char *lines, const char *tag)
{
    struct recording recording;
    read(&recording, lines);
    assert_int_equal(recording_damage(&recording), 0);
    assert_int_equal(recording_count(&recording, EVENT_OPERATION), 1);
    const struct operation *operation = &recording_event(&recording, EVENT_OPERATION, 0)->operation;
    assert_int_equal(operation->tag_is_number != 0, tag != NULL);
    if (tag)
        assert_string_equal(operation->tag, tag);
    else
        assert_null(operation->tag);
    recording_release(&recording);
}

static void tags_of_operations(void **state)
{
    check(COLLECTIVE(", \"UserTag\": 42"), "42");
    check(PAIR(", \"UserTag\": 18446744073709551615"), "18446744073709551615");
    check(COPY(", \"UserTag\": 9223372036854775808"), "9223372036854775808");
    check(COLLECTIVE(", \"UserTag\": 0"), NULL);
    check(COLLECTIVE(""), NULL);
}

/* That of the operation itself is preferred; that of a call ends with it. */
static void tags_of_calls(void **state)
{
    check(CALL("AllReduce", "COLL_API", ", \"UserTag\": 18446744073709551614") COLLECTIVE("")
              END("AllReduce", "COLL_API"),
          "18446744073709551614");
    check(CALL("Send", "P2P_API", ", \"UserTag\": 5") PAIR("") END("Send", "P2P_API"), "5");
    check(CALL("AllReduce", "COLL_API", ", \"UserTag\": 5") COLLECTIVE(", \"UserTag\": 6")
              END("AllReduce", "COLL_API"),
          "6");
    check(CALL("AllReduce", "COLL_API", ", \"UserTag\": 5") END("AllReduce", "COLL_API") COLLECTIVE(""),
          NULL);
    check(CALL("AllReduce", "COLL_API", ", \"UserTag\": 5") END("AllReduce", "COLL_API")
              CALL("AllReduce", "COLL_API", "") COLLECTIVE("") END("AllReduce", "COLL_API"),
          NULL);
}

static void a_tag_beyond_64_bits_is_damage(void **state)
{
    struct recording recording;
    read(&recording, COLLECTIVE(", \"UserTag\": 18446744073709551616"));
    assert_int_equal(recording_damage(&recording), 1);
    assert_null(recording_event(&recording, EVENT_OPERATION, 0)->operation.tag);
    recording_release(&recording);
}

static void names_of_numbers(void **state)
{
    struct recording recording;
    read(&recording,
         COLLECTIVE(", \"UserTag\": 42") NAME("\"number\": 18446744073709551615, \"tag\": \"say \\\"hi\\\"\"")
             NAME("\"number\": 42, \"tag\": \"\""));
    assert_int_equal(recording.note_count, 0);
    assert_int_equal(recording_count(&recording, EVENT_TAG), 0);
    assert_int_equal(recording_count(&recording, EVENT_TAG_NAME), 2);
    const struct event *first = recording_event(&recording, EVENT_TAG_NAME, 0);
    assert_true(first->tag_name.number == UINT64_MAX);
    assert_string_equal(first->tag_name.text, "say \"hi\"");
    assert_int_equal(first->tag_name.at_ns, 1000000);
    assert_int_equal(first->origin.pid, 7);
    assert_string_equal(recording_event(&recording, EVENT_TAG_NAME, 1)->tag_name.text, "");
    recording_release(&recording);
}

static void a_name_of_nothing_is_damage(void **state)
{
    static const char *const lines[] = {NAME("\"tag\": \"forward\""),
                                        NAME("\"number\": 0, \"tag\": \"forward\"")};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct recording recording;
        read(&recording, lines[i]);
        assert_int_equal(recording_notes(&recording, "tag name without a number"), 1);
        assert_int_equal(recording_damage(&recording), 1);
        assert_int_equal(recording.event_count, 0);
        recording_release(&recording);
    }
}

/* The report of the bundled plugin on a pending operation has it, too. */
static void a_pending_operation(void **state)
{
    check(LINE("PendingOperation", "NCCLPROF", "i",
               ", \"args\": {\"name\": \"AllGather\", \"cat\": \"COLL\", \"begin\": 50.0, \"CommHash\": 9, "
               "\"Rank\": 1, \"SeqNum\": 4, \"UserTag\": 77}"),
          "77");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_of_operations),
        cmocka_unit_test(tags_of_calls),
        cmocka_unit_test(a_tag_beyond_64_bits_is_damage),
        cmocka_unit_test(names_of_numbers),
        cmocka_unit_test(a_name_of_nothing_is_damage),
        cmocka_unit_test(a_pending_operation),
    };
    return cmocka_run_group_tests_name("chrome user tags", tests, NULL, NULL);
}
