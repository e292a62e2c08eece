#include "join/steps.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

/* The period of a sequence of operations or tags, compared with its definition. */

enum { TRAILING = 8 };

static struct cycle find(const char *text)
{
    uint64_t symbols[256];
    size_t count = strlen(text);
    struct cycle cycle;
    for (size_t i = 0; i < count; i++)
        symbols[i] = (uint64_t)text[i];
    assert_int_equal(cycle_find(symbols, count, &cycle), 0);
    return cycle;
}

static void check_starts(const char *text, const size_t *expected, size_t expected_count)
{
    struct cycle cycle = find(text);
    size_t starts[256], count = cycle_starts_early(&cycle, strlen(text), starts);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(starts[i], expected[i]);
}

static void plain_repetition(void **state)
{
    struct cycle cycle = find("fbgofbgofbgo");
    assert_int_equal(cycle.period, 4);
    assert_int_equal(cycle.extent, 12);
    assert_int_equal(cycle.end, 12);
    check_starts("fbgofbgofbgo", (size_t[]){0, 4, 8}, 3);
}

/*
 * A first step that differs in places: cycles are cut at the places that match it, and it keeps its number.
 */
static void an_irregular_first_cycle(void **state)
{
    check_starts("xbgofbgofbgofbgo", (size_t[]){0, 4, 8, 12}, 4);
    check_starts("xyzofbgofbgofbgo", (size_t[]){0, 4, 8, 12}, 4);
    check_starts("fxgofbgofbgofbgo", (size_t[]){0, 4, 8, 12}, 4);
}

/* Three identical micro-batches: the cycle begins with the first, not with one that looks like it. */
static void parts_that_look_alike(void **state)
{
#define PART "abcdefghijklmnopq"
    check_starts("zbcdefghijklmnopq" PART PART "YZ" PART PART PART "YZ" PART PART PART "YZ" PART,
                 (size_t[]){0, 53, 106, 159}, 4);
}

/* Complete cycles up to the end: the setup of the job shifts nothing. */
static void after_a_beginning_of_its_own(void **state)
{
    check_starts("xxyfbgofbgofbgo", (size_t[]){0, 3, 7, 11}, 4);
    check_starts("xfbgofbgofbgo", (size_t[]){1, 5, 9}, 3);
}

static void a_last_tag(void **state)
{
    struct cycle cycle = find("fbgofbgofbgod");
    assert_int_equal(cycle.period, 4);
    assert_int_equal(cycle.end, 12);
    check_starts("fbgofbgofbgod", (size_t[]){0, 4, 8}, 3);
}

/* The sequence stops inside a cycle: cycles still begin where the sequence did. */
static void stopped_inside_a_cycle(void **state)
{
    check_starts("fbgofbgofbgofb", (size_t[]){0, 4, 8, 12}, 4);
}

static void no_repetition(void **state)
{
    assert_int_equal(find("").period, 0);
    assert_int_equal(find("a").period, 0);
    assert_int_equal(find("abcdefghijklmnop").period, 0);
    struct cycle none = {0};
    size_t starts[1];
    assert_int_equal(cycle_starts(&none, 1, starts), 0);
}

static int is_period(const uint64_t *symbols, size_t first, size_t end, size_t period)
{
    for (size_t i = first; i + period < end; i++)
        if (symbols[i] != symbols[i + period])
            return 0;
    return 1;
}

/* The longest part with at least two periods that ends at most TRAILING - 1 symbols before the end. */
static size_t longest_by_definition(const uint64_t *symbols, size_t count)
{
    size_t longest = 0;
    for (size_t trailing = 0; trailing < TRAILING && trailing + 2 <= count; trailing++)
        for (size_t end = count - trailing, first = 0; first + 2 <= end; first++)
            for (size_t period = 1; 2 * period <= end - first; period++)
                if (end - first > longest && is_period(symbols, first, end, period))
                    longest = end - first;
    return longest;
}

static void random_sequences(void **state)
{
    unsigned seed = 7;
    for (int round = 0; round < 3000; round++) {
        uint64_t symbols[40];
        size_t count = (size_t)(rand_r(&seed) % 40) + 1;
        int letters = rand_r(&seed) % 4 + 1;
        for (size_t i = 0; i < count; i++)
            symbols[i] = (uint64_t)(rand_r(&seed) % letters);
        struct cycle cycle;
        assert_int_equal(cycle_find(symbols, count, &cycle), 0);
        assert_int_equal(cycle.extent, longest_by_definition(symbols, count));
        if (!cycle.extent)
            continue;
        size_t first = cycle.end - cycle.extent;
        assert_true(is_period(symbols, first, cycle.end, cycle.period));
        for (size_t smaller = 1; smaller < cycle.period; smaller++)
            assert_false(is_period(symbols, first, cycle.end, smaller));
        assert_in_range(cycle.first, first, first + cycle.period - 1);
    }
}

/* A million symbols: quadratic work would never finish. */
static void long_sequences(void **state)
{
    enum { COUNT = 1000000, PERIOD = 1999 };
    uint64_t *symbols = malloc(COUNT * sizeof *symbols);
    struct cycle cycle;
    for (size_t i = 0; i < COUNT; i++)
        symbols[i] = i % PERIOD < PERIOD - 1 ? 1 : 2;
    assert_int_equal(cycle_find(symbols, COUNT, &cycle), 0);
    assert_int_equal(cycle.period, PERIOD);
    free(symbols);
}

static size_t merge(size_t *starts, const int64_t *gaps, size_t count)
{
    int64_t scratch[64];
    for (size_t i = 0; i < count; i++)
        starts[i] = 10 * i;
    return cycle_merge(starts, gaps, count, scratch);
}

static void buckets_of_a_step_go_together(void **state)
{
    int64_t gaps[] = {0, 10, 12, 500, 11, 9, 520, 10, 10, 480, 12, 11};
    size_t starts[12];
    assert_int_equal(merge(starts, gaps, 12), 4);
    assert_int_equal(starts[0], 0);
    assert_int_equal(starts[1], 30);
    assert_int_equal(starts[2], 60);
    assert_int_equal(starts[3], 90);
}

/* The first operation of all often takes long to enqueue: no step begins after it. */
static void a_pause_in_warm_up_begins_no_step(void **state)
{
    int64_t gaps[] = {0, 300, 12, 9, 520, 10, 10, 9, 480, 12, 11, 10, 500, 9};
    size_t starts[14];
    assert_int_equal(merge(starts, gaps, 14), 4);
    assert_int_equal(starts[1], 40);
    assert_int_equal(starts[3], 120);
}

/*
 * Three buckets per step. The host paused during warm-up, was late before step 1, and again before step 5 and
 * the last one: their cycles came directly after those before them.
 */
static void a_late_host_takes_no_break(void **state)
{
    int64_t gaps[] = {0,  300, 10, 16,  3, 3, 420, 3, 3, 230, 3, 3, 200, 3, 3,
                      16, 3,   3,  210, 3, 3, 220, 3, 3, 210, 3, 3, 16,  3, 3};
    size_t starts[30];
    assert_int_equal(merge(starts, gaps, 30), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(starts[i], 30 * i);
}

/* Warm-up has one more: it is not split in two. */
static void a_longer_warm_up_is_one_step(void **state)
{
    int64_t gaps[] = {0, 10, 12, 9, 500, 11, 9, 520, 10, 10, 480, 12, 11};
    size_t starts[13];
    assert_int_equal(merge(starts, gaps, 13), 4);
    assert_int_equal(starts[1], 40);
    assert_int_equal(starts[3], 100);
}

/* One bucket of step 1 is late: gaps fall into three kinds, of which one is evenly spaced. */
static void gaps_of_three_kinds(void **state)
{
    int64_t gaps[] = {0,  4189, 28,    33, 48706, 32, 801,   46, 20069, 35, 37,    33, 20220, 35,
                      31, 34,   20462, 31, 32,    34, 24088, 29, 38,    34, 21807, 31, 38,    33};
    size_t starts[28];
    assert_int_equal(merge(starts, gaps, 28), 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(starts[i], 40 * i);
}

/*
 * Two buckets per step, with gaps of 13 and 45. Warm-up, and a fault before some second buckets, have gaps
 * between, so that nothing separates long gaps from short ones; their usual lengths do.
 */
static void usual_gaps_tell_what_single_ones_do_not(void **state)
{
    int64_t gaps[] = {0, 22, 57, 12, 45, 13, 46, 33, 45, 13, 44, 13, 46, 25, 45, 14};
    size_t starts[18];
    assert_int_equal(merge(starts, gaps, 16), 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(starts[i], 20 * i);
    int64_t three[] = {0, 18, 9, 24, 4, 3, 21, 5, 5, 21, 6, 5, 21, 12, 6, 21, 5, 6};
    assert_int_equal(merge(starts, three, 18), 6);
    assert_int_equal(starts[1], 30);
}

/* Each cycle is a step; a fault in ten of them in a row makes every fourth gap usually long. */
static void a_fault_in_some_steps_tells_no_places(void **state)
{
    int64_t gaps[] = {0,  10, 10, 10, 10, 10, 40, 40, 40, 40, 40, 40,
                      40, 40, 40, 40, 10, 10, 10, 10, 10, 10, 10, 10};
    size_t starts[24];
    assert_int_equal(merge(starts, gaps, 24), 24);
}

static void what_is_no_bucket_stays(void **state)
{
    size_t starts[12];
    int64_t even[] = {0, 10, 12, 9, 11, 9, 12, 10, 10, 11, 12, 11};
    assert_int_equal(merge(starts, even, 12), 12);
    assert_int_equal(starts[11], 110);
    /* Long gaps at uneven distances are accidents, not steps. */
    int64_t uneven[] = {0, 500, 12, 9, 510, 9, 12, 10, 10, 490, 500, 11};
    assert_int_equal(merge(starts, uneven, 12), 12);
    /* A single outlier is not a kind. */
    int64_t outlier[] = {0, 10, 12, 9, 11, 9, 12, 900, 10, 11, 12, 11};
    assert_int_equal(merge(starts, outlier, 12), 12);
    assert_int_equal(merge(starts, (int64_t[]){0, 500, 10, 500, 10}, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_repetition),
        cmocka_unit_test(an_irregular_first_cycle),
        cmocka_unit_test(after_a_beginning_of_its_own),
        cmocka_unit_test(parts_that_look_alike),
        cmocka_unit_test(a_last_tag),
        cmocka_unit_test(stopped_inside_a_cycle),
        cmocka_unit_test(no_repetition),
        cmocka_unit_test(random_sequences),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(buckets_of_a_step_go_together),
        cmocka_unit_test(a_pause_in_warm_up_begins_no_step),
        cmocka_unit_test(a_late_host_takes_no_break),
        cmocka_unit_test(a_longer_warm_up_is_one_step),
        cmocka_unit_test(gaps_of_three_kinds),
        cmocka_unit_test(usual_gaps_tell_what_single_ones_do_not),
        cmocka_unit_test(a_fault_in_some_steps_tells_no_places),
        cmocka_unit_test(what_is_no_bucket_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
