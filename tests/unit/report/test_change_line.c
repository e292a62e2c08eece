#include "base/base.h"
#include "report/report.h"

#include "support/cmocka_all.h"

/* 2026-11-25 10:12:04 UTC, by date(1). */
static const int64_t AT_NS = INT64_C(1795601524987654321);

static const struct finding_snapshot hostile = {.run = (char *)(uintptr_t) "night\n\x1b[31m",
                                                .kind = (char *)(uintptr_t) "compute",
                                                .unit = (char *)(uintptr_t) "rank 3",
                                                .host = (char *)(uintptr_t) "no\"de",
                                                .gpu = (char *)(uintptr_t) "1",
                                                .action = (char *)(uintptr_t) "look at it\n",
                                                .because = (char *)(uintptr_t) "GPU 1 is \x1b hot",
                                                .phase = (char *)(uintptr_t) "a\"b",
                                                .confidence = (char *)(uintptr_t) "high",
                                                .text = (char *)(uintptr_t) "GPU of rank 3\r\xff is slow",
                                                .command = (char *)(uintptr_t) "ncclprof steps '/a b'",
                                                .first_step = 4,
                                                .last_step = 8,
                                                .lost_ns = 130000500};

static void assert_text(int names_run, const char *expected)
{
    struct buffer line = BUFFER_INIT;
    assert_int_equal(change_line_text(CHANGE_NEW, &hostile, AT_NS, names_run, &line), 0);
    assert_string_equal(line.data, expected);
    buffer_release(&line);
}

static void test_text(void **state)
{
    assert_text(
        0,
        "2026-11-25T10:12:04Z new: compute (high confidence): GPU of rank 3\\x0d\\xff is slow; "
        "because: GPU 1 is \\x1b hot; action: look at it\\x0a; confirm with: ncclprof steps '/a b'\n");
    assert_text(1,
                "2026-11-25T10:12:04Z new: night\\x0a\\x1b[31m: compute (high confidence): GPU of rank "
                "3\\x0d\\xff is slow; because: GPU 1 is \\x1b hot; action: look at it\\x0a; confirm with: "
                "ncclprof steps '/a b'\n");
    struct buffer line = BUFFER_INIT;
    assert_int_equal(change_line_text(CHANGE_OVER, &hostile, AT_NS, 0, &line), 0);
    assert_string_equal(line.data,
                        "2026-11-25T10:12:04Z ended: compute (high confidence): GPU of rank 3\\x0d\\xff is "
                        "slow; because: GPU 1 is \\x1b hot; action: look at it\\x0a\n");
    buffer_release(&line);
}

static void test_json(void **state)
{
    struct buffer line = BUFFER_INIT;
    struct finding_snapshot unknown = {.kind = hostile.kind,
                                       .unit = hostile.unit,
                                       .confidence = hostile.confidence,
                                       .text = hostile.unit,
                                       .first_step = -1,
                                       .last_step = -1,
                                       .stops_job = 1};
    assert_int_equal(change_line_json(CHANGE_OVER, &hostile, AT_NS, &line), 0);
    assert_string_equal(
        line.data,
        "{\"time\":\"2026-11-25T10:12:04Z\",\"change\":\"over\",\"run\":\"night\\n\\u001b[31m\","
        "\"kind\":\"compute\",\"unit\":\"rank 3\",\"host\":\"no\\\"de\",\"gpu\":\"1\",\"action\":\"look at "
        "it\\n\",\"because\":\"GPU 1 is \\u001b hot\",\"tag\":\"a\\\"b\",\"confidence\":\"high\","
        "\"first_step\":4,\"last_step\":8,\"lost_us\":130000.500,\"stopped\":false,"
        "\"text\":\"GPU of rank 3\\u000d\xef\xbf\xbd is slow\",\"confirm\":\"ncclprof steps '/a b'\"}\n");
    buffer_clear(&line);
    assert_int_equal(change_line_json(CHANGE_WITHDRAWN, &unknown, 0, &line), 0);
    assert_string_equal(line.data,
                        "{\"time\":\"1970-01-01T00:00:00Z\",\"change\":\"withdrawn\",\"run\":null,"
                        "\"kind\":\"compute\",\"unit\":\"rank "
                        "3\",\"host\":null,\"gpu\":null,\"action\":null,\"because\":null,\"tag\":null,"
                        "\"confidence\":\"high\","
                        "\"first_step\":null,\"last_step\":null,\"lost_us\":0.000,\"stopped\":true,"
                        "\"text\":\"rank 3\",\"confirm\":null}\n");
    buffer_release(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
