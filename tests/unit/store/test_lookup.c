#include "store/internal.h"

#include "support/cmocka_all.h"

enum { MOST = 6, OWNER = 2 };

/* The constraints that SQLite offers, and the number of the argument for each; 0: none. */
struct wish {
    int column;
    int op;
    int usable;
    int argument;
};

static int choose(const struct wish *wishes, int count, int rowid_is_id)
{
    struct sqlite3_index_constraint constraints[MOST] = {{0}};
    struct sqlite3_index_constraint_usage usages[MOST] = {{0}};
    sqlite3_index_info info = {.nConstraint = count, .aConstraint = constraints, .aConstraintUsage = usages};
    for (int i = 0; i < count; i++) {
        constraints[i].iColumn = wishes[i].column;
        constraints[i].op = (unsigned char)wishes[i].op;
        constraints[i].usable = (unsigned char)wishes[i].usable;
    }
    int plan = lookup_choose(&info, (struct lookup_columns){.owner = OWNER, .rowid_is_id = rowid_is_id});
    assert_int_equal(info.idxNum, plan);
    for (int i = 0; i < count; i++)
        assert_int_equal(usages[i].argvIndex, wishes[i].argument);
    return plan;
}

/* In any order: one argument per constraint, in the order of the constraints. */
static void test_arguments_are_in_order_of_the_ways(void **state)
{
    static const struct wish wishes[] = {{OWNER, SQLITE_INDEX_CONSTRAINT_EQ, 1, 3},
                                         {0, SQLITE_INDEX_CONSTRAINT_LT, 1, 2},
                                         {0, SQLITE_INDEX_CONSTRAINT_GE, 1, 1},
                                         {0, SQLITE_INDEX_CONSTRAINT_GT, 1, 0}};
    assert_int_equal(choose(wishes, 4, 0), LOOKUP_FROM_ID | LOOKUP_UP_TO_ID | LOOKUP_BY_OWNER);
}

static void test_what_is_not_handed_down(void **state)
{
    static const struct wish wishes[] = {{0, SQLITE_INDEX_CONSTRAINT_EQ, 0, 0},
                                         {1, SQLITE_INDEX_CONSTRAINT_EQ, 1, 0},
                                         {OWNER, SQLITE_INDEX_CONSTRAINT_GT, 1, 0},
                                         {0, SQLITE_INDEX_CONSTRAINT_NE, 1, 0},
                                         {-1, SQLITE_INDEX_CONSTRAINT_EQ, 1, 0}};
    assert_int_equal(choose(wishes, 5, 0), 0);
}

static void test_rowid_where_it_is_the_id(void **state)
{
    static const struct wish wishes[] = {{-1, SQLITE_INDEX_CONSTRAINT_EQ, 1, 1}};
    assert_int_equal(choose(wishes, 1, 1), LOOKUP_BY_ID);
}

/* Each constraint has its own parameter, whichever others there are. */
static void test_binding(void **state)
{
    sqlite3 *handle;
    sqlite3_stmt *given, *asked;
    assert_int_equal(sqlite3_open(":memory:", &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT 70, 71", -1, &given, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT ?1, ?2, ?3, ?4", -1, &asked, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(given), SQLITE_ROW);
    sqlite3_value *values[] = {sqlite3_value_dup(sqlite3_column_value(given, 0)),
                               sqlite3_value_dup(sqlite3_column_value(given, 1))};
    assert_int_equal(lookup_bind(asked, LOOKUP_FROM_ID | LOOKUP_BY_OWNER, 2, values), SQLITE_OK);
    assert_int_equal(sqlite3_step(asked), SQLITE_ROW);
    assert_int_equal(sqlite3_column_type(asked, 0), SQLITE_NULL);
    assert_int_equal(sqlite3_column_int(asked, 1), 70);
    assert_int_equal(sqlite3_column_type(asked, 2), SQLITE_NULL);
    assert_int_equal(sqlite3_column_int(asked, 3), 71);
    for (int i = 0; i < 2; i++)
        sqlite3_value_free(values[i]);
    sqlite3_finalize(given);
    sqlite3_finalize(asked);
    sqlite3_close(handle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_in_order_of_the_ways),
        cmocka_unit_test(test_what_is_not_handed_down),
        cmocka_unit_test(test_rowid_where_it_is_the_id),
        cmocka_unit_test(test_binding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
