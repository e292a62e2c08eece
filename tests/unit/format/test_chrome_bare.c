#include "support/cmocka_all.h"
#include "support/events.h"

#include <stdio.h>
#include <string.h>

/* API calls without an operation below them. */

#define LINE(name, category, phase, rest)                                  \
    "{\"name\": \"" name "\", \"cat\": \"" category "\", \"ph\": \"" phase \
    "\", \"id\": 0, \"pid\": 7, "                                          \
    "\"tid\": 1, \"ts\": 1000.000000" rest "},\n"
#define BEGIN(name, category, count, captured)                                                            \
    LINE(name, category, "b",                                                                             \
         ", \"args\": {\"count\": " count ", \"datatype\": \"ncclFloat32\", \"GraphCaptured\": " captured \
         ", \"Stream\": \"0x55\"}")
#define END(name, category) LINE(name, category, "e", "")
#define CALL(name, category, count, captured, inside) \
    BEGIN(name, category, count, captured) inside END(name, category)
#define COLLECTIVE(name)                                                                          \
    LINE(name, "COLL", "b",                                                                       \
         ", \"args\": {\"SeqNum\": 0, \"CommHash\": 9, \"Rank\": 1, \"Count\": 4, \"Datatype\": " \
         "\"ncclFloat32\", \"nChannels\": 2}")                                                    \
    LINE(name, "COLL", "e", "")
#define COMMUNICATOR(ranks)                                                                       \
    "{\"name\": \"Communicator\", \"cat\": \"NCCLPROF\", \"ph\": \"M\", \"pid\": 7, \"tid\": 1, " \
    "\"ts\": 3.0, \"args\": {\"CommHash\": 9, \"Rank\": 0, \"nRanks\": " ranks ", \"nNodes\": 1}},\n"

static const char *const reasons[] = {"call without operation", "call without operation: captured in a graph",
                                      "call without operation: no data", "call without operation: one rank"};

enum reason { UNKNOWN, CAPTURED, NO_DATA, ONE_RANK, NONE };

/* Checks that the lines have one such call, or none, and no damage. */
static void check(const char *lines, enum reason reason)
{
    char text[8192];
    struct recording recording;
    int length = snprintf(text, sizeof text, "[\n%s{}]\n", lines);
    recording_of_bytes(&recording, "x.json", text, (size_t)length);
    assert_int_equal(recording.status, 0);
    for (int i = UNKNOWN; i < NONE; i++)
        assert_int_equal(recording_notes(&recording, reasons[i]), i == (int)reason);
    assert_int_equal(recording_damage(&recording), 0);
    recording_release(&recording);
}

static void calls_without_operations(void **state)
{
    check(CALL("AllReduce", "COLL_API", "4", "0", ""), UNKNOWN);
    check(CALL("Send", "P2P_API", "4", "0", ""), UNKNOWN);
    check(CALL("AllReduce", "COLL_API", "4", "1", ""), CAPTURED);
    check(CALL("AllReduce", "COLL_API", "0", "0", ""), NO_DATA);
    /*
     * The replays of a graph move what was captured, and a call that was not read completely means nothing.
     */
    check(CALL("AllReduce", "COLL_API", "0", "1", ""), CAPTURED);
    check(LINE("AllReduce", "COLL_API", "b", "") END("AllReduce", "COLL_API"), UNKNOWN);
    check("{\"cat\": \"COLL_API\", \"ph\": \"b\"},\n{\"cat\": \"COLL_API\", \"ph\": \"e\"},\n", UNKNOWN);
}

static void calls_of_communicators_of_one(void **state)
{
    check(COMMUNICATOR("1") CALL("AllReduce", "COLL_API", "4", "0", ""), ONE_RANK);
    check(COMMUNICATOR("1") COMMUNICATOR("8") CALL("AllReduce", "COLL_API", "4", "0", ""), UNKNOWN);
    check(COMMUNICATOR("-1") CALL("AllReduce", "COLL_API", "4", "0", ""), UNKNOWN);
}

static void calls_with_operations(void **state)
{
    check(CALL("AllReduce", "COLL_API", "4", "0", COLLECTIVE("AllReduce")), NONE);
    check(CALL("AllReduce", "COLL_API", "0", "1", COLLECTIVE("AllReduce")), NONE);
    check(CALL("AllGather", "COLL_API", "4", "0",
               LINE("AllGather", "CE_COLL", "b", ", \"args\": {\"count\": 4, \"datatype\": \"ncclFloat32\"}")
                   LINE("AllGather", "CE_COLL", "e", "")),
          NONE);
    /* The previous call does not matter for the next. */
    check(CALL("AllReduce", "COLL_API", "4", "0", COLLECTIVE("AllReduce"))
              CALL("AllReduce", "COLL_API", "4", "0", ""),
          UNKNOWN);
    check(CALL("AllReduce", "COLL_API", "4", "0", "")
              CALL("AllReduce", "COLL_API", "4", "0", COLLECTIVE("AllReduce")),
          UNKNOWN);
}

/* If an unreadable event is below it, or the end is missing, nothing is reported as missing. */
static void calls_that_are_damaged(void **state)
{
    static const char *const lines[] = {
        CALL("AllReduce", "COLL_API", "4", "0", LINE("AllReduce", "COLL", "e", "")),
        BEGIN("AllReduce", "COLL_API", "4", "0")};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[4096];
        struct recording recording;
        int length = snprintf(text, sizeof text, "[\n%s{}]\n", lines[i]);
        recording_of_bytes(&recording, "x.json", text, (size_t)length);
        assert_int_equal(recording_notes(&recording, reasons[UNKNOWN]), 0);
        assert_int_equal(recording_damage(&recording), 1);
        recording_release(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_without_operations),
        cmocka_unit_test(calls_of_communicators_of_one),
        cmocka_unit_test(calls_with_operations),
        cmocka_unit_test(calls_that_are_damaged),
    };
    return cmocka_run_group_tests_name("chrome calls without operations", tests, NULL, NULL);
}
