#include "join/internal.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* The result of `table` for one operation after the other. */
static int64_t collective(struct series_table *table, int32_t member, int64_t sequence)
{
    const struct issued_operation issued_operation = {
        .member = member, .function = FUNCTION_ALL_REDUCE, .sequence = sequence};
    return series_number(table, &issued_operation);
}

static int64_t point_to_point(struct series_table *table, int function, int32_t peer)
{
    const struct issued_operation issued_operation = {
        .member = 1, .kind = 1, .function = function, .peer = peer, .sequence = -1};
    return series_number(table, &issued_operation);
}

static void what_only_rises_repeats_nothing(void **state)
{
    struct series_table table;
    series_table_init(&table);
    for (int64_t i = 0; i < 10; i++)
        assert_int_equal(collective(&table, 0, 3 * i), 0);
    assert_false(table.has_found);
    assert_false(series_repeats(&table, 0, 0, FUNCTION_ALL_REDUCE));
    series_table_release(&table);
}

/* Sends and receives of each peer are counted separately. */
static void pairs_are_counted(void **state)
{
    struct series_table table;
    series_table_init(&table);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(point_to_point(&table, FUNCTION_SEND, 2), i);
        assert_int_equal(point_to_point(&table, FUNCTION_RECV, 2), i);
        assert_int_equal(point_to_point(&table, FUNCTION_SEND, 3), i);
    }
    assert_false(table.has_found);
    series_table_release(&table);
}

/*
 * A replayed graph has the same numbers again: in the second pass each is distinguished by how often it
 * occurred.
 */
static void repeated_numbers_are_counted_in_a_second_pass(void **state)
{
    static const int64_t sequences[] = {5, 6, 5, 6, 7, 5};
    static const int64_t expected[] = {0, 0, 1, 1, 0, 2};
    struct series_table table;
    series_table_init(&table);
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        assert_true(collective(&table, 0, sequences[i]) >= 0);
    assert_true(table.has_found);
    assert_true(series_repeats(&table, 0, 0, FUNCTION_ALL_REDUCE));
    series_forget_counts(&table);
    assert_false(table.has_found);
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        assert_int_equal(collective(&table, 0, sequences[i]), expected[i]);
    assert_false(table.has_found);
    series_table_release(&table);
}

/* The same numbers on two members are no repetition, in any order. */
static void members_share_numbers(void **state)
{
    struct series_table table;
    series_table_init(&table);
    for (int64_t i = 0; i < 4; i++)
        for (int32_t member = 0; member < 2; member++)
            assert_int_equal(collective(&table, member, i), 0);
    assert_false(table.has_found);
    series_table_release(&table);
}

/* Repetitions of one member do not affect the others. */
static void members_are_apart(void **state)
{
    struct series_table table;
    series_table_init(&table);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < 4; i++) {
            assert_true(collective(&table, 0, i % 2) >= 0);
            assert_int_equal(collective(&table, 1, 4 * pass + i), 0);
        }
    assert_true(series_repeats(&table, 0, 0, FUNCTION_ALL_REDUCE));
    assert_false(series_repeats(&table, 1, 0, FUNCTION_ALL_REDUCE));
    assert_false(series_repeats(&table, 2, 0, FUNCTION_ALL_REDUCE));
    assert_false(series_repeats(&table, 0, 0, FUNCTION_BROADCAST));
    series_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_only_rises_repeats_nothing),
        cmocka_unit_test(pairs_are_counted),
        cmocka_unit_test(repeated_numbers_are_counted_in_a_second_pass),
        cmocka_unit_test(members_share_numbers),
        cmocka_unit_test(members_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
