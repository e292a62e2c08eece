#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

static void check_time(int64_t time_ns, const char *expected)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(text_time(&text, time_ns), 0);
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

static void times_for_people(void **state)
{
    check_time(0, "0 ns");
    check_time(999, "999 ns");
    check_time(1000, "1.00 us");
    check_time(12340, "12.3 us");
    check_time(123456, "123 us");
    check_time(44979333, "45.0 ms");
    check_time(1500000000, "1.50 s");
    check_time(7200000000000, "7200 s");
    check_time(-1500, "-1.50 us");
    check_time(-250000000, "-250 ms");
}

static void pieces_of_json(void **state)
{
    struct buffer json = BUFFER_INIT;
    assert_int_equal(buffer_append_byte(&json, '{'), 0);
    assert_int_equal(text_json_string(&json, "text", "a \"b\"\n\x1b"), 0);
    assert_int_equal(text_json_string(&json, "nothing", NULL), 0);
    assert_int_equal(text_json_integer(&json, "most", INT64_MAX), 0);
    assert_int_equal(text_json_us(&json, "time_us", 1234567), 0);
    assert_int_equal(text_json_us(&json, "unknown_us", TIME_UNKNOWN), 0);
    assert_int_equal(buffer_append_byte(&json, '}'), 0);
    assert_string_equal(json.data,
                        "{\"text\":\"a \\\"b\\\"\\n\\u001b\",\"nothing\":null,\"most\":9223372036854775807,"
                        "\"time_us\":1234.567,\"unknown_us\":null}");
    buffer_release(&json);
}

/*
 * An AllReduce of two ranks with a trace, of three; a send; an operation without a number and a known name.
 */
static void operations(void **state)
{
    struct job_rank ranks[] = {{.name = (char[]){"4"}}, {.name = (char[]){"7"}}};
    struct job_communicator communicator = {
        .size = 3, .hash = 1, .label = (char[]){"4,7"}, .member_list_count = 2};
    const struct job job = {.ranks = ranks, .rank_count = 2, .communicators = &communicator};
    struct job_instance instance = {.sequence = 12, .sender = -1, .receiver = -1};
    struct buffer text = BUFFER_INIT;
    assert_int_equal(text_operation(&text, &job, &instance, FUNCTION_ALL_REDUCE), 0);
    assert_string_equal(text.data, "AllReduce #12 on communicator {4,7} of at least 3 ranks");
    communicator.size = 2;
    instance = (struct job_instance){.sender = 1, .receiver = 0};
    buffer_clear(&text);
    assert_int_equal(text_operation(&text, &job, &instance, FUNCTION_RECV), 0);
    assert_string_equal(text.data, "Recv #0 from rank 7 to rank 4 on communicator {4,7}");
    instance = (struct job_instance){.sequence = -1, .sender = -1, .receiver = -1};
    buffer_clear(&text);
    assert_int_equal(text_operation(&text, &job, &instance, 0), 0);
    assert_string_equal(text.data, "operation on communicator {4,7}");
    buffer_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_for_people), cmocka_unit_test(operations),
                                       cmocka_unit_test(pieces_of_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
