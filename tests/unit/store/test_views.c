#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdio.h>
#include <string.h>

/* The columns of a view in an empty store are the described ones, in the same order. */
static void test_columns_are_the_stores(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (int i = 0; store_views[i].name; i++) {
        const struct view *view = &store_views[i];
        const struct query_limits limits = {.seconds = 0};
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT * FROM %s", view->name);
        struct query *query = query_open(store, sql, &limits, NULL);
        assert_non_null(query);
        const struct table *head = query_head(query);
        /* Of the tables, those that users need. */
        if (strncmp(view->name, "v_", 2) == 0 || view->is_network_steps) {
            assert_int_equal(head->column_count, view->column_count);
            for (size_t k = 0; k < view->column_count; k++)
                assert_string_equal(head->columns[k].name, view->columns[k].name);
        }
        query_close(query);
    }
    store_close(store);
}

/* Every view of the schema, each once. */
static void test_all_views_are_there(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *names =
        store_prepare(store, "SELECT name FROM sqlite_schema WHERE type = 'view'", NULL);
    int count = 0;
    while (statement_step(names, NULL) == 1) {
        int found = 0;
        for (int i = 0; store_views[i].name; i++)
            found += strcmp(store_views[i].name, statement_text(names, 0)) == 0;
        assert_int_equal(found, 1);
        count++;
    }
    for (int i = 0; store_views[i].name; i++)
        count -= strncmp(store_views[i].name, "v_", 2) == 0;
    assert_int_equal(count, 0);
    statement_free(names);
    store_close(store);
}

static void test_each_can_be_asked_for_a_run(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (int i = 0; store_views[i].name; i++)
        for (int64_t run_id = 0; run_id < 2; run_id++) {
            struct statement *rows = view_rows(store, &store_views[i], run_id, NULL);
            assert_non_null(rows);
            assert_int_equal(statement_step(rows, NULL), 0);
            statement_free(rows);
        }
    store_close(store);
}

static void test_each_is_described(void **state)
{
    for (int i = 0; store_views[i].name; i++) {
        assert_non_null(store_views[i].description);
        for (size_t k = 0; k < store_views[i].column_count; k++) {
            const struct column *column = &store_views[i].columns[k];
            const char *ending = strrchr(column->name, '_');
            assert_non_null(column->description);
            assert_int_not_equal(column->type, CELL_NULL);
            if (ending && strcmp(ending, "_us") == 0)
                assert_string_equal(column->unit, "us");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_columns_are_the_stores, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_all_views_are_there, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_each_can_be_asked_for_a_run, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test(test_each_is_described),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
