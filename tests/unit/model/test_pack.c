#include "base/base.h"
#include "model/model.h"

#include "support/cmocka_all.h"
#include "support/random.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 2000, MOST_STEPS = 40, MOST_CHANNELS = 40 };

/* A mix of small, large, extreme and unknown times. */
static int64_t random_time(int64_t near)
{
    switch (random_number() % 8) {
    case 0:
        return TIME_UNKNOWN;
    case 1:
        return (int64_t)random_number();
    case 2:
        return INT64_MAX;
    case 3:
        return TIME_UNKNOWN + 1;
    default:
        return near + (int64_t)(random_number() % 100000);
    }
}

static void fill_step(struct proxy_step *step, int64_t number)
{
    int64_t at_ns = random_time(1000);
    step->step = random_number() % 4 ? number : (int64_t)random_number();
    for (int kind = 0; kind < WAIT_KINDS; kind++) {
        int present = random_number() % 3 != 0;
        int64_t begin_ns = random_number() % 3 ? at_ns : random_time(5000);
        step->wait[kind].begin_ns = present ? begin_ns : TIME_UNKNOWN;
        step->wait[kind].end_ns = at_ns = present ? random_time(9000) : TIME_UNKNOWN;
    }
}

static void assert_same_steps(const struct buffer *blob, int64_t base_ns, const struct proxy_step *steps,
                              size_t count)
{
    struct unpack unpack;
    struct proxy_step step;
    assert_int_equal(unpack_steps(&unpack, blob->data, blob->length, base_ns), 0);
    assert_int_equal(unpack.left, count);
    for (size_t i = 0; i < count; i++) {
        memset(&step, 0x55, sizeof step);
        assert_int_equal(unpack_next_step(&unpack, &step), 1);
        assert_memory_equal(&step, &steps[i], sizeof step);
    }
    assert_int_equal(unpack_next_step(&unpack, &step), 0);
    assert_ptr_equal(unpack.at, unpack.end);
}

static void steps_come_back_exactly(void **state)
{
    struct proxy_step steps[MOST_STEPS];
    struct buffer blob = BUFFER_INIT;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = random_number() % (MOST_STEPS + 1);
        int64_t base_ns = round % 5 ? 12345 : (int64_t)random_number();
        for (size_t i = 0; i < count; i++)
            fill_step(&steps[i], (int64_t)i);
        buffer_clear(&blob);
        assert_int_equal(pack_steps(&blob, base_ns, steps, count), 0);
        assert_same_steps(&blob, base_ns, steps, count);
    }
    buffer_release(&blob);
}

/* Send and receive steps as NCCL 2.27 and later record them: waits that follow each other without a gap. */
static struct proxy_step contiguous_step(int64_t number, int64_t begin_ns, const enum wait_kind order[3])
{
    struct proxy_step step = {.step = number};
    for (int kind = 0; kind < WAIT_KINDS; kind++)
        step.wait[kind] = (struct interval_ns){TIME_UNKNOWN, TIME_UNKNOWN};
    for (int i = 0; i < 3; i++, begin_ns += 50000)
        step.wait[order[i]] = (struct interval_ns){begin_ns, begin_ns + 50000};
    return step;
}

static void contiguous_waits_cost_no_gap(void **state)
{
    static const enum wait_kind orders[2][3] = {{WAIT_GPU, WAIT_PEER, WAIT_NETWORK},
                                                {WAIT_NETWORK, WAIT_FLUSH, WAIT_GPU}};
    for (int direction = 0; direction < 2; direction++) {
        struct proxy_step steps[4];
        struct buffer blob = BUFFER_INIT;
        for (int i = 0; i < 4; i++)
            steps[i] = contiguous_step(i, 7000000 + i * 150000, orders[direction]);
        assert_int_equal(pack_steps(&blob, 7000000, steps, 4), 0);
        /* Form and count; per step: flags, a gap of 0, three durations of 50,000 ns in three bytes each. */
        assert_int_equal(blob.length, 2 + 4 * (1 + 1 + 3 * 3));
        assert_same_steps(&blob, 7000000, steps, 4);
        buffer_release(&blob);
    }
}

static struct kernel_channel random_channel(int number)
{
    return (struct kernel_channel){
        .channel = random_number() % 4 ? number : (int32_t)random_number(),
        .host = {random_time(1000), random_time(2000)},
        .gpu_begin = random_number() % 4 ? 1786543210123456789U + random_number() % 1000000 : 0,
        .gpu_end = random_number() % 4 ? random_number() : 0,
    };
}

static void assert_same_channel(const struct kernel_channel *got, const struct kernel_channel *wanted)
{
    assert_int_equal(got->channel, wanted->channel);
    assert_true(got->host.begin_ns == wanted->host.begin_ns && got->host.end_ns == wanted->host.end_ns);
    assert_true(got->gpu_begin == wanted->gpu_begin && got->gpu_end == wanted->gpu_end);
}

static void channels_come_back_exactly(void **state)
{
    struct kernel_channel channels[MOST_CHANNELS];
    struct kernel_channel channel;
    struct unpack unpack;
    for (int round = 0; round < ROUNDS; round++) {
        struct buffer blob = BUFFER_INIT;
        size_t count = random_number() % (MOST_CHANNELS + 1);
        int64_t base_ns = (int64_t)random_number();
        uint64_t gpu_base = random_number();
        for (size_t i = 0; i < count; i++)
            channels[i] = random_channel((int)i);
        assert_int_equal(pack_channels(&blob, base_ns, gpu_base, channels, count), 0);
        assert_int_equal(unpack_channels(&unpack, blob.data, blob.length, base_ns, gpu_base), 0);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(unpack_next_channel(&unpack, &channel), 1);
            assert_same_channel(&channel, &channels[i]);
        }
        assert_int_equal(unpack_next_channel(&unpack, &channel), 0);
        buffer_release(&blob);
    }
}

static void states_come_back_exactly(void **state)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct buffer blob = BUFFER_INIT;
        struct proxy_operation proxy = {.has_states = 1};
        struct proxy_operation copy = {.has_states = 0};
        for (int i = 0; i < PROXY_STATES; i++) {
            proxy.state[i].steps = random_time(3);
            proxy.state[i].at_ns = random_time(100);
        }
        assert_int_equal(pack_states(&blob, 55, &proxy), 0);
        assert_int_equal(unpack_states(blob.data, blob.length, 55, &copy), 0);
        assert_int_equal(copy.has_states, 1);
        assert_memory_equal(copy.state, proxy.state, sizeof proxy.state);
        buffer_release(&blob);
    }
}

static void origins_come_back_exactly(void **state)
{
    for (int has_states = 0; has_states < 2; has_states++) {
        struct buffer blob = BUFFER_INIT;
        struct proxy_operation proxy = {.has_states = has_states, .origin_pid = 4194303, .origin_rank = 700};
        struct proxy_operation copy = {.has_states = 0};
        for (int i = 0; i < PROXY_STATES; i++)
            proxy.state[i].at_ns = has_states ? random_time(100) : 0;
        assert_int_equal(pack_states(&blob, 55, &proxy), 0);
        assert_int_equal(unpack_states(blob.data, blob.length, 55, &copy), 0);
        assert_int_equal(copy.origin_pid, 4194303);
        assert_int_equal(copy.origin_rank, 700);
        assert_int_equal(copy.has_states, has_states);
        assert_memory_equal(copy.state, proxy.state, sizeof proxy.state);
        assert_int_equal(unpack_states(blob.data, blob.length - 1, 55, &copy), -1);
        buffer_release(&blob);
    }
}

/* Reads everything from an allocation of the exact size, so that a sanitizer detects any overrun. */
static int drain(const unsigned char *bytes, size_t length)
{
    struct unpack unpack;
    struct proxy_step step;
    struct kernel_channel channel;
    struct proxy_operation proxy;
    int damaged = 0;
    int more = 1;
    if (!unpack_steps(&unpack, bytes, length, 0))
        while ((more = unpack_next_step(&unpack, &step)) == 1)
            assert_true(unpack.at <= unpack.end);
    damaged |= more < 0;
    if (!unpack_channels(&unpack, bytes, length, 0, 0))
        while ((more = unpack_next_channel(&unpack, &channel)) == 1)
            assert_true(unpack.at <= unpack.end);
    damaged |= more < 0;
    return damaged | unpack_states(bytes, length, 0, &proxy);
}

static void hostile_blobs_are_survived(void **state)
{
    int refused = 0;
    for (int round = 0; round < 20000; round++) {
        size_t length = random_number() % 60;
        unsigned char *bytes = malloc(length ? length : 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)(random_number() % (random_number() % 2 ? 8 : 256));
        refused += drain(bytes, length) != 0;
        free(bytes);
    }
    assert_true(refused > 10000);
}

static void a_cut_blob_is_told(void **state)
{
    struct proxy_step steps[3];
    struct buffer blob = BUFFER_INIT;
    struct unpack unpack;
    for (int i = 0; i < 3; i++)
        fill_step(&steps[i], i);
    assert_int_equal(pack_steps(&blob, 0, steps, 3), 0);
    for (size_t length = 0; length < blob.length; length++) {
        int more = unpack_steps(&unpack, blob.data, length, 0) ? -1 : 1;
        while (more == 1)
            more = unpack_next_step(&unpack, &steps[0]);
        assert_int_equal(more, -1);
    }
    buffer_release(&blob);
}

static void other_forms_are_refused(void **state)
{
    struct unpack unpack;
    assert_int_equal(unpack_steps(&unpack, "\x01\x00", 2, 0), -1);
    assert_int_equal(unpack_channels(&unpack, "\x02\x00", 2, 0, 0), -1);
    assert_int_equal(unpack_steps(&unpack, "\x09\x00", 2, 0), -1);
    assert_int_equal(unpack_steps(&unpack, "", 0, 0), -1);
    /* More steps than bytes. */
    assert_int_equal(unpack_steps(&unpack, "\x02\xff\xff\xff\xff\x7f", 6, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_back_exactly),    cmocka_unit_test(contiguous_waits_cost_no_gap),
        cmocka_unit_test(channels_come_back_exactly), cmocka_unit_test(states_come_back_exactly),
        cmocka_unit_test(origins_come_back_exactly),  cmocka_unit_test(hostile_blobs_are_survived),
        cmocka_unit_test(a_cut_blob_is_told),         cmocka_unit_test(other_forms_are_refused),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
