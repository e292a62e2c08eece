#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "store/record_tables.h"
#include "store/recorded.h"
#include "store/removal.h"

#include <stdio.h>
#include <string.h>

enum { FILE_NUMBER = 7, SQL_BYTES = 2048 };

/* Where the records of a file begin. */
static int64_t first_of(int64_t file)
{
    return file * (INT64_C(1) << 32);
}

/* A row with 1 in each column but its id. */
static void add_row(struct store *store, const char *table, int64_t id)
{
    struct error error = ERROR_INIT;
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", table);
    int columns = (int)store_file_number(store, sql);
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%lld", table, (long long)id);
    for (int i = 1; i < columns; i++)
        length += snprintf(sql + length, sizeof sql - (size_t)length, ", 1");
    snprintf(sql + length, sizeof sql - (size_t)length, ")");
    assert_int_equal(store_execute(store, sql, &error), 0);
}

static int64_t count_rows(struct store *store, const char *table)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return store_file_number(store, sql);
}

/* Of each table of records one file's row goes, another's stays. */
static void test_a_file_goes_from_every_table(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    struct removal removal;
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        add_row(store, bulk_tables[table].name, first_of(FILE_NUMBER));
        add_row(store, bulk_tables[table].name, first_of(FILE_NUMBER + 1));
    }
    assert_int_equal(removal_init(&removal, store, &error), 0);
    assert_int_equal(removal_note(&removal, FILE_NUMBER, &error), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM changed_process"), 1);
    assert_int_equal(removal_file(&removal, FILE_NUMBER, &error), 0);
    removal_release(&removal);
    for (enum bulk_table table = 0; table < BULK_TABLES; table++)
        assert_int_equal(count_rows(store, bulk_tables[table].name), 1);
    store_close(store);
}

/* Rows of a file in a table. */
static int64_t count_of(struct store *store, enum bulk_table table, int64_t file)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %.*s >> 32 = %lld", bulk_tables[table].name,
             (int)strcspn(bulk_tables[table].columns, ","), bulk_tables[table].columns, (long long)file);
    return store_file_number(store, sql);
}

/* All records of one file become another's; traffic stays with its operation. */
static void test_a_file_is_numbered_anew(void **state)
{
    enum { OTHER = 3, NEXT = 9 };
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        add_row(store, bulk_tables[table].name, first_of(FILE_NUMBER) + 5);
        add_row(store, bulk_tables[table].name, first_of(OTHER));
    }
    assert_int_equal(store_execute(store,
                                   "UPDATE proxy_operation SET operation_id = proxy_operation_id;"
                                   "INSERT INTO call_join SELECT call_description_id, 1, 1, 77, NULL FROM "
                                   "call_description",
                                   &error),
                     0);
    assert_int_equal(record_tables_renumber(store, FILE_NUMBER, NEXT, &error), 0);
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        assert_int_equal(count_of(store, table, FILE_NUMBER), 0);
        assert_int_equal(count_of(store, table, OTHER), 1);
        assert_int_equal(count_of(store, table, NEXT), 1);
    }
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM proxy_operation WHERE operation_id = proxy_operation_id"),
        2);
    assert_int_equal(store_file_number(store, "SELECT max(call_description_id) >> 32 FROM call_join"), NEXT);
    store_close(store);
}

/* A process stays as long as any table has a record of it, and not longer. */
static void test_a_process_stays_with_its_records(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum bulk_table table = 0; table < BULK_TABLES; table++) {
        char sql[SQL_BYTES];
        if (!strstr(bulk_tables[table].columns, " process_id,"))
            continue;
        assert_int_equal(store_execute(store, "INSERT INTO process VALUES (1, '/a', '', 1, 0)", &error), 0);
        add_row(store, bulk_tables[table].name, 1);
        assert_int_equal(removal_sweep(store, &error), 0);
        assert_int_equal(count_rows(store, "process"), 1);
        snprintf(sql, sizeof sql, "DELETE FROM %s", bulk_tables[table].name);
        assert_int_equal(store_execute(store, sql, &error), 0);
        assert_int_equal(removal_sweep(store, &error), 0);
        assert_int_equal(count_rows(store, "process"), 0);
    }
    store_close(store);
}

/* Columns of `table` that `kept` has not at the same place, plus those that are there twice. */
static int64_t count_unlike(struct store *store, const char *table, const char *kept)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT cid, name FROM pragma_table_info('%s')"
             " EXCEPT SELECT cid, name FROM pragma_table_info('%s'))",
             table, kept);
    return store_file_number(store, sql);
}

/* What a table has, the one that keeps its rows has as well: also a column that comes later. */
static void test_kept_rows_have_all_columns(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    size_t kept = 0;
    for (enum bulk_table table = 0; table < BULK_TABLES; table++)
        if (record_tables_kept[table]) {
            assert_int_equal(count_unlike(store, bulk_tables[table].name, record_tables_kept[table]), 0);
            kept++;
        }
    assert_int_equal(kept, 8);
    assert_int_equal(count_unlike(store, "process", "process_recorded"), 0);
    assert_int_equal(count_unlike(store, "member", "member_recorded"), 0);
    assert_int_equal(count_unlike(store, "file_member", "file_member_recorded"), 0);
    store_close(store);
}

/* A row that was kept replaces the changed one, and none is kept any longer. */
static void test_kept_rows_go_back(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    assert_int_equal(recorded_restore(store, &error), 0);
    assert_int_equal(store_execute(store,
                                   "INSERT INTO member VALUES (4, 1, 0, 2);"
                                   "INSERT INTO member_recorded VALUES (4, 1, 0, 3);"
                                   "INSERT INTO process_recorded VALUES (3, '/a', 'h', 9, 0);"
                                   "INSERT INTO loss VALUES (5, 2, 'x', 1, NULL, 0);"
                                   "INSERT INTO loss_recorded VALUES (5, 3, 'x', 1, NULL, 0);"
                                   "INSERT INTO fact VALUES ('set_aside', 1), ('joined', 1)",
                                   &error),
                     0);
    assert_int_equal(recorded_restore(store, &error), 1);
    assert_int_equal(store_file_number(store, "SELECT process_id FROM member"), 3);
    assert_int_equal(store_file_number(store, "SELECT process_id FROM loss"), 3);
    assert_int_equal(store_file_number(store, "SELECT pid FROM process"), 9);
    assert_int_equal(count_rows(store, "member_recorded") + count_rows(store, "loss_recorded"), 0);
    assert_int_equal(store_file_number(store, "SELECT value FROM fact WHERE name = 'joined'"), 0);
    assert_int_equal(recorded_restore(store, &error), 0);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file_goes_from_every_table, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_is_numbered_anew, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_a_process_stays_with_its_records, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_kept_rows_have_all_columns, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_kept_rows_go_back, store_file_setup, store_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
