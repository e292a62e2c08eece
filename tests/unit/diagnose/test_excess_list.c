#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* The largest and smallest values; the compact form stores the begin and end of ranges between them. */
static const int64_t TIMES[] = {TIME_UNKNOWN,
                                INT64_MIN + 1,
                                (int64_t)INT32_MIN - 1,
                                INT32_MIN,
                                INT32_MIN + 1,
                                -1,
                                0,
                                1,
                                EXCESS_WRITTEN - 1,
                                EXCESS_WRITTEN,
                                EXCESS_WRITTEN + 1,
                                INT32_MAX,
                                (int64_t)INT32_MAX + 1,
                                INT64_MAX};

enum { COUNT = sizeof TIMES / sizeof *TIMES };

static void assert_is(const struct excess_list *list, size_t at, struct excess expected)
{
    struct excess excess = excess_list_get(list, at);
    assert_true(excess.beyond_ns == expected.beyond_ns);
    assert_true(excess.excess_ns == expected.excess_ns);
    assert_true(excess_ns_at(list, at) == expected.excess_ns);
}

static void all_times_stay_exact(void **state)
{
    (void)state;
    for (size_t excess = 0; excess < COUNT; excess++) {
        struct excess_list list;
        assert_int_equal(excess_list_init(&list, COUNT), 0);
        for (size_t i = 0; i < COUNT; i++)
            excess_list_put(&list, i, (struct excess){TIMES[i], TIMES[excess]});
        for (size_t i = 0; i < COUNT; i++)
            assert_is(&list, i, (struct excess){TIMES[i], TIMES[excess]});
        assert_false(list.failed);
        excess_list_release(&list);
    }
}

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct excess_list list;
    assert_int_equal(excess_list_init(&list, 2), 0);
    assert_is(&list, 1, (struct excess){TIME_UNKNOWN, 0});
    excess_list_release(&list);
}

/* Each later value replaces the previous one at its place, and no other. */
static void values_change(void **state)
{
    (void)state;
    struct excess_list list;
    assert_int_equal(excess_list_init(&list, 3), 0);
    excess_list_put(&list, 0, (struct excess){5, 0});
    excess_list_put(&list, 1, (struct excess){6, 0});
    excess_list_put(&list, 0, (struct excess){7, 9});
    assert_is(&list, 0, (struct excess){7, 9});
    excess_list_put(&list, 1, (struct excess){6, 4});
    assert_is(&list, 1, (struct excess){6, 4});
    excess_list_put(&list, 0, (struct excess){3, 0});
    assert_is(&list, 0, (struct excess){3, 0});
    assert_is(&list, 1, (struct excess){6, 4});
    assert_is(&list, 2, (struct excess){TIME_UNKNOWN, 0});
    excess_list_release(&list);
}

/* That is what it is for. */
static void what_does_not_stand_out_takes_no_more(void **state)
{
    (void)state;
    struct excess_list list;
    assert_int_equal(excess_list_init(&list, 100), 0);
    for (size_t i = 0; i < 100; i++)
        excess_list_put(&list, i, (struct excess){(int64_t)i - 50, 0});
    assert_int_equal(list.count, 0);
    excess_list_release(&list);
}

/*
 * Parts filled in turn, each with every third operation: at the end the result is the same as with one list.
 */
static void parts_are_joined(void **state)
{
    (void)state;
    struct excess_list list, parts[3], whole;
    assert_int_equal(excess_list_init(&list, 100), 0);
    assert_int_equal(excess_list_init(&whole, 100), 0);
    for (size_t i = 0; i < 3; i++)
        parts[i] = excess_list_part(&list, i, 3);
    for (size_t i = 0; i < 99; i++) {
        struct excess excess = {(int64_t)i * 7, i % 4 ? (int64_t)i : 0};
        excess_list_put(&parts[i % 3], i, excess);
        excess_list_put(&whole, i, excess);
        assert_is(&parts[i % 3], i, excess);
    }
    excess_list_join(&list, parts, 3, 100);
    assert_false(list.failed);
    assert_int_equal(list.count, whole.count);
    for (size_t i = 0; i < 100; i++)
        assert_is(&list, i, excess_list_get(&whole, i));
    excess_list_put(&list, 99, (struct excess){2, 3});
    assert_is(&list, 99, (struct excess){2, 3});
    assert_is(&list, 98, excess_list_get(&whole, 98));
    excess_list_release(&list);
    excess_list_release(&whole);
}

/* A part holds the range of its numbers. */
static void a_part_that_is_full_fails(void **state)
{
    (void)state;
    struct excess_list list, parts[2];
    assert_int_equal(excess_list_init(&list, 4), 0);
    list.most = 4;
    for (size_t i = 0; i < 2; i++)
        parts[i] = excess_list_part(&list, i, 2);
    for (size_t i = 0; i < 3; i++)
        excess_list_put(&parts[1], i, (struct excess){1, 1});
    assert_true(parts[1].failed);
    assert_false(parts[0].failed);
    excess_list_join(&list, parts, 2, 4);
    assert_true(list.failed);
    excess_list_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_times_stay_exact), cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(values_change),        cmocka_unit_test(what_does_not_stand_out_takes_no_more),
        cmocka_unit_test(parts_are_joined),     cmocka_unit_test(a_part_that_is_full_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
