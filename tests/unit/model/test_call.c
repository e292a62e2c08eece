#include "support/cmocka_all.h"

#include "model/model.h"

#include <math.h>

/*
 * For n ranks that each give or get b bytes: the size in a description (see its docstrings), and that of
 * nccl-tests.
 */
static void message_sizes(void **state)
{
    enum { N = 8, B = 1000 };
    static const struct {
        const char *name;
        enum function function;
        int64_t message;
    } calls[] = {
        {"all_reduce", FUNCTION_ALL_REDUCE, B},
        {"all_gather", FUNCTION_ALL_GATHER, N * B},
        {"all_gather_into_tensor", FUNCTION_ALL_GATHER, N * B},
        {"reduce_scatter", FUNCTION_REDUCE_SCATTER, B},
        {"reduce_scatter_tensor", FUNCTION_REDUCE_SCATTER, B},
        {"all_to_all_single", FUNCTION_ALL_TO_ALL, (N - 1) * B},
        {"gather", FUNCTION_GATHER, (N - 1) * B},
        {"scatter", FUNCTION_SCATTER, (N - 1) * B},
        {"broadcast", FUNCTION_BROADCAST, B},
        {"reduce", FUNCTION_REDUCE, B},
        {"isend", FUNCTION_SEND, B},
        {"recv", FUNCTION_RECV, B},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        enum function function = calls[i].function;
        int64_t size = function_size_bytes(function, B, N);
        assert_int_equal(call_kind_of(calls[i].name).function, function);
        assert_int_equal(call_message_bytes(function, B, N), calls[i].message);
        assert_int_equal(call_message_of_size(function, size, N), calls[i].message);
        /* Both are the bytes on the bus, except for the two functions that the header describes. */
        double ours = (double)calls[i].message * call_bandwidth_factor(function, N);
        double theirs = (double)size * function_busbw_factor(function, N);
        double times = function == FUNCTION_REDUCE_SCATTER ? 1.0 / N
                       : function == FUNCTION_ALL_TO_ALL   ? N
                                                           : 1;
        assert_true(fabs(ours - theirs * times) < 1e-6);
    }
    assert_int_equal(call_message_bytes(FUNCTION_ALL_GATHER, INT64_MAX / 2, 3), -1);
    assert_int_equal(call_message_bytes(FUNCTION_ALL_REDUCE, -1, 3), -1);
}

static void barriers(void **state)
{
    assert_true(call_kind_of("barrier").is_barrier);
    assert_true(call_may_be_barrier(1) && call_may_be_barrier(4));
    assert_false(call_may_be_barrier(0) || call_may_be_barrier(9));
    assert_int_equal(call_kind_of("all_shuffle").function, FUNCTION_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(message_sizes), cmocka_unit_test(barriers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
