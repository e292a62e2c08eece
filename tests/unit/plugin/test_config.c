/* Settings from the environment, valid and invalid. */
#include "support/cmocka_all.h"

/* The plugin is a separate library; the tool's library does not contain it. */
#include "plugin/recorder/config.c"
#include "plugin/recorder/recorder.h"
#include "plugin/write/write.h"

static struct config config;

static const struct config *with(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
    config_read(&config);
    assert_int_equal(unsetenv(name), 0);
    return &config;
}

static void masks(void **state)
{
    (void)state;
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0x42")->mask, 66);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0")->mask, 0);
    assert_int_equal(with("NCCL_PROFILE_EVENT_MASK", "10")->mask, 10);
    /* Decimal, as NVIDIA's plugin reads it. */
    assert_int_equal(with("NCCL_PROFILE_EVENT_MASK", "010")->mask, 10);
    /* Bits of no event. */
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0x10002")->mask, 2);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0x100000002")->mask, 2);
    static const char *const senseless[] = {"", "-1", "6 ", "coll", "0x", "0xg", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++)
        assert_int_equal(with("NCCLPROF_EVENT_MASK", senseless[i])->mask, DEFAULT_MASK);
}

/* Bit 15 where it means kernel phases: they cost time only if they were requested. */
static void masks_with_phases(void **state)
{
    (void)state;
    uint32_t others = DEFAULT_MASK & ~(1u << 15);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "")->mask_with_phases, others);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "coll")->mask_with_phases, others);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "2")->mask_with_phases, 2);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "65535")->mask_with_phases, 65535);
    /* With the kernel channels that they are part of. */
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0x8002")->mask_with_phases, 0x8042);
    assert_int_equal(with("NCCLPROF_EVENT_MASK", "0x8002")->mask, 0x8002);
    assert_int_equal(with("NCCLPROF_KERNEL_PHASES", "1")->mask_with_phases, others | 1u << 15);
    assert_int_equal(with("NCCLPROF_KERNEL_PHASES", "1")->mask, DEFAULT_MASK);
    static const char *const senseless[] = {"", "0", "2", "yes", "-1"};
    for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++)
        assert_int_equal(with("NCCLPROF_KERNEL_PHASES", senseless[i])->mask_with_phases, others);
}

static void one_alone_compresses(void **state)
{
    (void)state;
    assert_true(with("NCCLPROF_GZIP", "1")->writer.gzip);
    static const char *const others[] = {"", "0", "2", "no", "off", "false", "False", "n"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(with("NCCLPROF_GZIP", others[i])->writer.gzip);
}

static void zero_counts_as_unset(void **state)
{
    (void)state;
    assert_int_equal(with("NCCLPROF_BUFFER_EVENTS", "0")->writer.buffer_slots, 65536);
    assert_int_equal(with("NCCLPROF_FLUSH_MS", "0")->writer.flush_ns, 200000000);
    assert_int_equal(with("NCCLPROF_PENDING_EVENTS", "0")->writer.pending_events, 262144);
    assert_int_equal(with("NCCLPROF_MAX_THREADS", "0")->threads, 256);
}

static void strange_numbers_count_as_unset(void **state)
{
    (void)state;
    static const char *const strange[] = {"-1", "-18446744073709551615", "18446744073709551616"};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
        assert_int_equal(with("NCCLPROF_MAX_THREADS", strange[i])->threads, 256);
    assert_int_equal(with("NCCLPROF_MAX_THREADS", "18446744073709551615")->threads, 4096);
}

static void nearest_value_that_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(with("NCCLPROF_FLUSH_MS", "1")->writer.flush_ns, 10000000);
    assert_int_equal(with("NCCLPROF_FLUSH_MS", "60000")->writer.flush_ns, 500000000);
    assert_int_equal(with("NCCLPROF_BUFFER_EVENTS", "1")->writer.buffer_slots, 1024);
    assert_int_equal(with("NCCLPROF_MAX_THREADS", "100000")->threads, 4096);
}

static uint64_t most_bytes(const char *value)
{
    return with("NCCLPROF_MAX_BYTES", value)->writer.most_bytes;
}

static void bytes_with_units(void **state)
{
    (void)state;
    uint64_t otherwise = UINT64_C(16) << 30;
    assert_int_equal(most_bytes(""), otherwise);
    assert_int_equal(most_bytes("1000000"), 1000000);
    assert_int_equal(most_bytes("64k"), 65536);
    assert_int_equal(most_bytes("5M"), 5 << 20);
    assert_int_equal(most_bytes("3g"), UINT64_C(3) << 30);
    assert_int_equal(most_bytes("2T"), UINT64_C(2) << 40);
    assert_int_equal(most_bytes("0"), UINT64_MAX);
    assert_int_equal(most_bytes("1"), 65536);
    static const char *const senseless[] = {
        "-1", "k", "5 M", "5MB", "5x", "99999999999T", "18446744073709551616"};
    for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++)
        assert_int_equal(most_bytes(senseless[i]), otherwise);
    assert_int_equal(with("NCCLPROF_MIN_FREE_BYTES", "2k")->writer.free_bytes, 2048);
    assert_int_equal(with("NCCLPROF_MIN_FREE_BYTES", "0")->writer.free_bytes, 0);
    assert_int_equal(with("NCCLPROF_MIN_FREE_BYTES", "much")->writer.free_bytes, FILES_FREE_BY_SIZE);
}

static int clear(void **state)
{
    (void)state;
    static const char *const names[] = {
        "NCCLPROF_EVENT_MASK",     "NCCL_PROFILE_EVENT_MASK", "NCCLPROF_GZIP",
        "NCCLPROF_FLUSH_MS",       "NCCLPROF_BUFFER_EVENTS",  "NCCLPROF_MAX_THREADS",
        "NCCLPROF_PENDING_EVENTS", "NCCLPROF_MAX_BYTES",      "NCCLPROF_MIN_FREE_BYTES"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks),
        cmocka_unit_test(masks_with_phases),
        cmocka_unit_test(one_alone_compresses),
        cmocka_unit_test(zero_counts_as_unset),
        cmocka_unit_test(strange_numbers_count_as_unset),
        cmocka_unit_test(nearest_value_that_is_allowed),
        cmocka_unit_test(bytes_with_units),
    };
    return cmocka_run_group_tests(tests, clear, NULL);
}
