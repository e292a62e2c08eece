#include "join/recorders.h"

#include "support/cmocka_all.h"

enum { CALLS = 40 };

#define MS INT64_C(1000000)
#define EPOCH (INT64_C(1780000000) * 1000 * MS)

/*
 * Calls `first` to CALLS - 1 of a program: in steps of 8 calls that are close together, recorded `lag_ns`
 * late.
 */
static size_t record(struct recorded_call *calls, int first, int64_t lag_ns)
{
    for (int i = first; i < CALLS; i++)
        calls[i - first] = (struct recorded_call){.place = i - first,
                                                  .time_ns = EPOCH + (i / 8) * 40 * MS + (i % 8) * MS / 3 +
                                                             (i * 7919 % 13) * 1000 + lag_ns,
                                                  .bytes = 4096};
    return (size_t)(CALLS - first);
}

static int align(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                 size_t count, struct series_match *match)
{
    return series_align(one, one_count, other, count, match);
}

/* A call is matched with the other recorder's call at its time, whatever each began with. */
static void calls_are_found_by_time(void **state)
{
    for (int begin = 0; begin < 12; begin++) {
        struct recorded_call one[CALLS], other[CALLS];
        struct series_match match;
        size_t one_count = record(one, 3, 60000), count = record(other, begin, 0);
        assert_int_equal(align(one, one_count, other, count, &match), 1);
        assert_int_equal(match.shift, begin - 3);
        assert_int_equal(match.lag_ns, 60000);
        assert_int_equal(match.spread_ns, 0);
        assert_int_equal(match.pairs, CALLS - (begin > 3 ? begin : 3));
        assert_int_equal(match.other_sizes, 0);
    }
}

/* Omitted places are lost calls: the others keep their distance. */
static void lost_calls_move_nothing(void **state)
{
    struct recorded_call one[CALLS], other[CALLS];
    struct series_match match;
    size_t kept = 0, count = record(other, 0, 0);
    record(one, 0, 60000);
    for (int i = 0; i < CALLS; i++)
        if (i % 5 != 2)
            one[kept++] = one[i];
    assert_int_equal(align(one, kept, other, count, &match), 1);
    assert_int_equal(match.shift, 0);
    assert_int_equal(match.pairs, kept);
}

/* Steps are alike: the same program some steps later is not the same job. */
static void other_times_are_other_calls(void **state)
{
    static const int64_t later_ms[] = {25, 60, 3600000};
    for (size_t i = 0; i < sizeof later_ms / sizeof *later_ms; i++) {
        struct recorded_call one[CALLS], other[CALLS];
        struct series_match match;
        size_t one_count = record(one, 0, 0), count = record(other, 0, later_ms[i] * MS);
        assert_int_equal(align(one, one_count, other, count, &match), 0);
    }
}

/* If calls are perfectly regular, all distances fit equally: the smallest lag is right. */
static void of_what_fits_alike_the_nearest_counts(void **state)
{
    struct recorded_call one[CALLS], other[CALLS];
    struct series_match match;
    for (int i = 0; i < CALLS; i++) {
        one[i] = (struct recorded_call){.place = i, .time_ns = EPOCH + i * 5 * MS + 100000, .bytes = 8};
        other[i] = (struct recorded_call){.place = i, .time_ns = EPOCH + i * 5 * MS, .bytes = 8};
    }
    assert_int_equal(align(one, CALLS, other, CALLS, &match), 1);
    assert_int_equal(match.shift, 0);
}

/* Alternating sizes leave no doubt, and one that differs is counted. */
static void sizes_tell_first(void **state)
{
    struct recorded_call one[CALLS], other[CALLS];
    struct series_match match;
    for (int i = 0; i < CALLS; i++) {
        one[i] = (struct recorded_call){
            .place = i, .time_ns = EPOCH + i * 2 * MS + 3 * MS / 2, .bytes = 8 + i % 2};
        other[i] = (struct recorded_call){.place = i, .time_ns = EPOCH + i * 2 * MS, .bytes = 8 + i % 2};
    }
    other[20].bytes = 99;
    assert_int_equal(align(one, CALLS, other, CALLS, &match), 1);
    assert_int_equal(match.shift, 0);
    assert_int_equal(match.other_sizes, 1);
}

static void too_few_calls_tell_nothing(void **state)
{
    struct recorded_call one[CALLS], other[CALLS];
    struct series_match match;
    size_t one_count = record(one, CALLS - 2, 0), count = record(other, 0, 0);
    assert_int_equal(align(one, one_count, other, count, &match), 0);
    assert_int_equal(series_align_near(one, one_count, other, count, 0, &match), 1);
    assert_int_equal(match.shift, 2 - CALLS);
    assert_int_equal(match.pairs, 2);
    assert_int_equal(series_align_near(one, one_count, other, count, 100 * MS, &match), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_found_by_time),
        cmocka_unit_test(lost_calls_move_nothing),
        cmocka_unit_test(other_times_are_other_calls),
        cmocka_unit_test(of_what_fits_alike_the_nearest_counts),
        cmocka_unit_test(sizes_tell_first),
        cmocka_unit_test(too_few_calls_tell_nothing),
    };
    return cmocka_run_group_tests_name("calls of two recorders", tests, NULL, NULL);
}
