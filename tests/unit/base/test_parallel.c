#include "base/base.h"

#include "support/cmocka_all.h"

enum { MOST = 300, MOST_THREADS = 8 };

/* How often each item was processed, and by which thread; the item that must fail, from 1. */
struct counted {
    int times[MOST];
    size_t worker[MOST];
    size_t failing;
};

static int count_items(void *context, size_t worker, size_t first, size_t end)
{
    struct counted *counted = context;
    for (size_t i = first; i < end; i++) {
        counted->times[i]++;
        counted->worker[i] = worker;
        if (i + 1 == counted->failing)
            return -1;
    }
    return 0;
}

static void each_item_is_done_once(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= MOST_THREADS; threads++)
        for (size_t grain = 1; grain <= MOST + 1; grain += 37)
            for (size_t count = 0; count <= MOST; count += 50) {
                struct counted counted = {.failing = 0};
                assert_int_equal(parallel_for(count, grain, threads, count_items, &counted), 0);
                for (size_t i = 0; i < MOST; i++) {
                    assert_int_equal(counted.times[i], i < count);
                    assert_true(counted.worker[i] < (threads ? threads : 1));
                }
            }
}

static int note_length(void *context, size_t worker, size_t first, size_t end)
{
    (void)worker;
    int *lengths = context;
    lengths[first] = (int)(end - first);
    return 0;
}

static void pieces_are_as_long_as_asked(void **state)
{
    (void)state;
    int lengths[MOST] = {0};
    assert_int_equal(parallel_for(23, 10, 3, note_length, lengths), 0);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(lengths[i], i == 0 || i == 10 ? 10 : i == 20 ? 3 : 0);
}

/* No item is processed twice; with one thread, none after the failure. */
static void what_fails_is_told(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= MOST_THREADS; threads++) {
        struct counted counted = {.failing = 1 + MOST / 2};
        assert_int_equal(parallel_for(MOST, 1, threads, count_items, &counted), -1);
        assert_int_equal(counted.times[MOST / 2], 1);
        for (size_t i = 0; i < MOST; i++)
            assert_true(counted.times[i] <= (threads > 1 || i <= MOST / 2));
    }
}

static int add_inside(void *context, size_t worker, size_t first, size_t end)
{
    (void)worker;
    struct counted *counted = context;
    for (size_t i = first; i < end; i++)
        if (parallel_for(10, 1, 2, count_items, &counted[i]))
            return -1;
    return 0;
}

static void one_in_the_other(void **state)
{
    (void)state;
    struct counted counted[4] = {{.failing = 0}};
    assert_int_equal(parallel_for(4, 1, 2, add_inside, counted), 0);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < MOST; j++)
            assert_int_equal(counted[i].times[j], j < 10);
}

static void threads_that_are_worth_their_while(void **state)
{
    (void)state;
    assert_int_equal(parallel_threads(0, 1000, 10), 1);
    assert_int_equal(parallel_threads(1, 1000, 10), 1);
    assert_int_equal(parallel_threads(8, 1000, 10), 8);
    assert_int_equal(parallel_threads(8, 79, 10), 7);
    assert_int_equal(parallel_threads(8, 19, 10), 1);
    assert_int_equal(parallel_threads(8, 0, 10), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_done_once),
        cmocka_unit_test(pieces_are_as_long_as_asked),
        cmocka_unit_test(what_fails_is_told),
        cmocka_unit_test(one_in_the_other),
        cmocka_unit_test(threads_that_are_worth_their_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
