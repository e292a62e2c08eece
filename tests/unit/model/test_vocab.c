#include "model/model.h"

#include "support/cmocka_all.h"

#include <string.h>

static enum function function(const char *text)
{
    return function_from_text(text, strlen(text));
}

static enum datatype datatype(const char *text)
{
    return datatype_from_text(text, strlen(text));
}

static void every_spelling_of_a_function(void **state)
{
    assert_int_equal(function("ncclAllReduce"), FUNCTION_ALL_REDUCE);
    assert_int_equal(function("AllReduce"), FUNCTION_ALL_REDUCE);
    assert_int_equal(function("all_reduce"), FUNCTION_ALL_REDUCE);
    assert_int_equal(function("AlltoAll"), FUNCTION_ALL_TO_ALL);
    assert_int_equal(function("AllToAll"), FUNCTION_ALL_TO_ALL);
    assert_int_equal(function("Send"), FUNCTION_SEND);
    assert_int_equal(function("ncclBcast"), FUNCTION_BROADCAST);
    assert_int_equal(function("AllReduce2"), FUNCTION_OTHER);
    assert_int_equal(function("All"), FUNCTION_OTHER);
    assert_int_equal(function(""), FUNCTION_UNKNOWN);
    assert_int_equal(function("Unknown"), FUNCTION_UNKNOWN);
    assert_int_equal(function_from_text("Sender", 4), FUNCTION_SEND);
}

/* ncclDataType_t of nccl.h. */
static void datatypes_and_their_sizes(void **state)
{
    static const int64_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    static const char *const words[] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                        "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                        "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
    for (int i = 0; i < 12; i++) {
        assert_int_equal(datatype_from_nccl(i), datatype(words[i]));
        assert_int_equal(datatype_bytes(datatype_from_nccl(i)), bytes[i]);
        assert_non_null(datatype_name(datatype_from_nccl(i)));
    }
    assert_int_equal(datatype("ncclHalf"), DATATYPE_FLOAT16);
    assert_int_equal(datatype_from_nccl(-1), DATATYPE_OTHER);
    assert_int_equal(datatype_from_nccl(12), DATATYPE_OTHER);
    assert_int_equal(datatype_bytes(DATATYPE_OTHER), 0);
    assert_int_equal(datatype_bytes(DATATYPE_UNKNOWN), 0);
}

static void algorithms_and_protocols(void **state)
{
    assert_int_equal(algorithm_from_text("Ring", 4), ALGORITHM_RING);
    assert_int_equal(algorithm_from_text("RING", 4), ALGORITHM_RING);
    assert_int_equal(algorithm_from_text("CollNetDirect", 13), ALGORITHM_COLLNET_DIRECT);
    assert_int_equal(algorithm_from_text("NVLS_TREE", 9), ALGORITHM_NVLS_TREE);
    assert_int_equal(protocol_from_text("Simple", 6), PROTOCOL_SIMPLE);
    assert_int_equal(protocol_from_text("LL128", 5), PROTOCOL_LL128);
    assert_int_equal(protocol_from_text("LL", 2), PROTOCOL_LL);
    assert_int_equal(protocol_from_text("L", 1), PROTOCOL_OTHER);
    assert_string_equal(algorithm_name(ALGORITHM_PAT), "PAT");
    assert_null(protocol_name(PROTOCOL_UNKNOWN));
    assert_null(function_name(FUNCTION_COUNT));
}

/* nccl-tests' doc/PERFORMANCE.md, 8 ranks, 1000 bytes per rank. */
static void sizes_and_bus_bandwidth(void **state)
{
    assert_int_equal(function_size_bytes(FUNCTION_ALL_REDUCE, 1000, 8), 1000);
    assert_int_equal(function_size_bytes(FUNCTION_ALL_GATHER, 1000, 8), 8000);
    assert_int_equal(function_size_bytes(FUNCTION_REDUCE_SCATTER, 1000, 8), 8000);
    assert_int_equal(function_size_bytes(FUNCTION_ALL_TO_ALL, 1000, 8), 8000);
    assert_int_equal(function_size_bytes(FUNCTION_BROADCAST, 1000, 8), 1000);
    assert_int_equal(function_size_bytes(FUNCTION_SEND, 1000, 8), 1000);
    assert_true(function_size_bytes(FUNCTION_ALL_GATHER, INT64_MAX, 8) == INT64_MAX);
    assert_int_equal(function_size_bytes(FUNCTION_ALL_GATHER, -1, 8), -1);
    assert_float_equal(function_busbw_factor(FUNCTION_ALL_REDUCE, 8), 1.75, 1e-12);
    assert_float_equal(function_busbw_factor(FUNCTION_ALL_GATHER, 8), 0.875, 1e-12);
    assert_float_equal(function_busbw_factor(FUNCTION_GATHER, 4), 0.75, 1e-12);
    assert_float_equal(function_busbw_factor(FUNCTION_REDUCE, 8), 1, 1e-12);
    assert_float_equal(function_busbw_factor(FUNCTION_RECV, 2), 1, 1e-12);
}

static void who_waits_for_whom(void **state)
{
    assert_true(function_is_full_exchange(FUNCTION_ALL_REDUCE) &&
                function_is_full_exchange(FUNCTION_BARRIER));
    assert_false(function_is_full_exchange(FUNCTION_BROADCAST) || function_is_full_exchange(FUNCTION_SEND) ||
                 function_is_full_exchange(FUNCTION_OTHER));
    assert_true(function_is_point_to_point(FUNCTION_RECV));
    assert_false(function_is_point_to_point(FUNCTION_GATHER));
}

static enum algorithm kernel(const char *name)
{
    return algorithm_from_symmetric_kernel(name, strlen(name));
}

/* As in src/sym_kernels.cc of NCCL 2.27 to 2.30, and as the names of their kernels. */
static void kernels_on_symmetric_memory(void **state)
{
    assert_int_equal(kernel("AllGather_LL"), ALGORITHM_SYMMETRIC_LL);
    assert_int_equal(kernel("AllGather_LLMC"), ALGORITHM_LLMC);
    assert_int_equal(kernel("AllReduce_RSxLD_AGxST_sum_f32(ncclSymkDevWorkArgs4K)"), ALGORITHM_RSXLD_AGXST);
    assert_int_equal(kernel("AllReduce_RSxLDMC_AGxSTMC"), ALGORITHM_RSXLDMC_AGXSTMC);
    assert_int_equal(kernel("ReduceScatter_LD_sum_bf16"), ALGORITHM_LD);
    assert_int_equal(kernel("ReduceScatter_RailA2A_LsaLDMC"), ALGORITHM_RAILA2A_LSALDMC);
    assert_int_equal(kernel("AllGather_LLLL"), ALGORITHM_OTHER);
    assert_int_equal(kernel("AllGather"), ALGORITHM_OTHER);
    assert_int_equal(kernel(""), ALGORITHM_OTHER);
    assert_int_equal(algorithm_from_text("RailRing_LsaSTMC", 16), ALGORITHM_RAILRING_LSASTMC);
    for (int i = ALGORITHM_SYMMETRIC_FIRST; i < ALGORITHM_COUNT; i++)
        assert_int_equal(
            algorithm_from_text(algorithm_name((enum algorithm)i), strlen(algorithm_name((enum algorithm)i))),
            i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_function), cmocka_unit_test(datatypes_and_their_sizes),
        cmocka_unit_test(algorithms_and_protocols),     cmocka_unit_test(kernels_on_symmetric_memory),
        cmocka_unit_test(sizes_and_bus_bandwidth),      cmocka_unit_test(who_waits_for_whom),
    };
    return cmocka_run_group_tests_name("vocab", tests, NULL, NULL);
}
