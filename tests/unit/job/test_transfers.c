#include "job/transfers.h"
#include "support/cmocka_all.h"

/* A send of rank 0 and its receive by rank 1, which began at 1000 and ended at 1200, by `ends`. */
static int64_t received_ns(enum function function, enum end_kind ends, int64_t end_ns, int is_grouped,
                           int incomplete)
{
    int32_t members[] = {0, 1};
    struct job_operation operations[] = {
        {.function = FUNCTION_SEND, .start_ns = 100, .end_ns = 900, .group = 0},
        {.function = FUNCTION_RECV,
         .rank = 1,
         .start_ns = 1000,
         .end_ns = end_ns,
         .ends = ends,
         .incomplete = incomplete & 1,
         .group = 1},
        {.function = FUNCTION_SEND, .rank = 1, .group = is_grouped ? 1 : 2}};
    struct job_instance instance = {.function = function, .members = 2};
    struct job job = {.operations = operations, .operation_count = 3, .instance_members = members};
    return job_received_ns(&job, &instance);
}

/* How long the receiver was there, whatever its sender waited for it before. */
static void how_long_a_receive_lasted(void **state)
{
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 0, 0), 200);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_PROXY, 1200, 0, 0), 200);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_HOST, 1200, 0, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, TIME_UNKNOWN, 0, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 1, 0), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_KERNEL, 1200, 0, 1), INT64_MAX);
    assert_int_equal(received_ns(FUNCTION_SEND, ENDS_BY_PROXY, 1200, 0, 1), 200);
    assert_int_equal(received_ns(FUNCTION_ALL_REDUCE, ENDS_BY_KERNEL, 1200, 0, 0), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_long_a_receive_lasted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
