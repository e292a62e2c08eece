#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>

enum { FILE_NUMBER = 7, SQL_BYTES = 2048 };

/* Where the records of a file begin. */
static int64_t first_of(int64_t file)
{
    return file * (INT64_C(1) << 32);
}

/* A row with that value in each column except its ID. */
static void add_row_of(struct store *store, const char *table, int64_t id, int value)
{
    struct error error = ERROR_INIT;
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", table);
    int columns = (int)store_file_number(store, sql);
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (%lld", table, (long long)id);
    for (int i = 1; i < columns; i++)
        length += snprintf(sql + length, sizeof sql - (size_t)length, ", %d", value);
    snprintf(sql + length, sizeof sql - (size_t)length, ")");
    if (store_execute(store, sql, &error))
        fail_msg("%s", sql);
}

static void add_row(struct store *store, const char *table, int64_t id)
{
    add_row_of(store, table, id, 1);
}

static int64_t count_rows(struct store *store, const char *table)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    return store_file_number(store, sql);
}

/* Whether the table has the column; as its first one, if `first`. */
static int has_column(struct store *store, const char *table, const char *column, int as_first)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'%s", table,
             column, as_first ? " AND cid = 0" : "");
    return store_file_number(store, sql) == 1;
}

enum { MOST_TABLES = 96, NAME_BYTES = 64 };

struct names {
    char items[MOST_TABLES][NAME_BYTES];
    size_t count;
};

/* All tables that the migrations create. */
static void list_tables(struct store *store, struct names *names)
{
    struct statement *list = store_prepare(
        store, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'", NULL);
    assert_non_null(list);
    for (names->count = 0; statement_step(list, NULL) == 1; names->count++) {
        assert_true(names->count < MOST_TABLES);
        snprintf(names->items[names->count], NAME_BYTES, "%s", statement_text(list, 0));
    }
    statement_free(list);
    assert_true(names->count > EVENT_TABLES);
}

/* Whether the rows of a table have IDs of records of this kind. */
static int is_of_kind(const struct record_table *table, const char *name)
{
    return strcmp(table->name, name) == 0 || (table->kept && strcmp(table->kept, name) == 0) ||
           (table->joined && strcmp(table->joined, name) == 0);
}

static const struct record_table *find_kind(const char *name)
{
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        if (is_of_kind(&record_tables[kind], name))
            return &record_tables[kind];
    return NULL;
}

/*
 * Tables of files, of what records refer to, of the results of joins for these and for runs; and of the store
 * itself.
 */
static int is_no_record(const char *name)
{
    static const char *const known[] = {"file",
                                        "ledger",
                                        "file_member",
                                        "file_member_recorded",
                                        "process",
                                        "process_recorded",
                                        "member",
                                        "member_recorded",
                                        "communicator",
                                        "clock_step",
                                        "contradiction",
                                        "witness",
                                        "witness_contradiction",
                                        "witness_doubt",
                                        "witness_member",
                                        "unequal_pair",
                                        "instance_block",
                                        "run",
                                        "process_run",
                                        "job_rank",
                                        "member_join",
                                        "communicator_join",
                                        "call_place",
                                        "changed_process",
                                        "fact",
                                        "kept_result",
                                        "vocabulary",
                                        "shard"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return 1;
    return 0;
}

/* A table that a migration creates is a kind of record, derived from records, or known to be neither. */
static void test_every_table_is_known(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct names names;
    list_tables(store, &names);
    for (size_t i = 0; i < names.count; i++)
        if (!find_kind(names.items[i]) == !is_no_record(names.items[i]))
            fail_msg("model/record.c does not describe table %s", names.items[i]);
    store_close(store);
}

/* The columns of each kind are those of its table, in its order. */
static void test_columns_are_those_of_the_store(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        const struct record_table *table = &record_tables[kind];
        char sql[SQL_BYTES];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", table->name);
        if (store_file_number(store, sql) != table->field_count)
            fail_msg("the columns in model/event.h differ from those of table %s", table->name);
        for (int i = 0; i < table->field_count; i++)
            if (!has_column(store, table->name, table->fields[i].name, 0))
                fail_msg("table %s has no column %s", table->name, table->fields[i].name);
        assert_true(has_column(store, table->name, record_table_id(table), 1));
    }
    store_close(store);
}

/*
 * Whether rows of a table are removed with the file: they begin with its number, or a record's. Rows that
 * were saved are restored before a file is removed, and so is what they refer to.
 */
static int goes_with_file(struct store *store, const char *table)
{
    return find_kind(table) ||
           (has_column(store, table, "file_id", 1) && strcmp(table, "file_member_recorded") != 0);
}

static int64_t id_in(const char *table, int64_t file)
{
    return find_kind(table) ? first_of(file) : file;
}

/*
 * In each table with records, or with rows of files, the row of one file is removed, that of another stays.
 */
static void test_a_file_goes_from_every_table(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    struct removal removal;
    struct names names;
    list_tables(store, &names);
    for (size_t i = 0; i < names.count; i++)
        if (goes_with_file(store, names.items[i])) {
            add_row(store, names.items[i], id_in(names.items[i], FILE_NUMBER));
            add_row_of(store, names.items[i], id_in(names.items[i], FILE_NUMBER + 1), 2);
        }
    assert_int_equal(removal_init(&removal, store, &error), 0);
    assert_int_equal(removal_note(&removal, FILE_NUMBER, &error), 0);
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM changed_process"), 1);
    assert_int_equal(removal_file(&removal, FILE_NUMBER, &error), 0);
    removal_release(&removal);
    for (size_t i = 0; i < names.count; i++)
        if (goes_with_file(store, names.items[i]) && count_rows(store, names.items[i]) != 1)
            fail_msg("table %s keeps a row of a removed file", names.items[i]);
    store_close(store);
}

/* The rows of a table by their ID. */
static int64_t count_of(struct store *store, const char *table, int64_t id)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE rowid = %lld", table, (long long)id);
    return store_file_number(store, sql);
}

/* All records of one file become another's; traffic stays with its operation. */
static void test_a_file_is_numbered_anew(void **state)
{
    enum { OTHER = 3, NEXT = 9 };
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        add_row(store, record_tables[kind].name, first_of(FILE_NUMBER) + 5);
        add_row(store, record_tables[kind].name, first_of(OTHER));
    }
    assert_int_equal(
        store_execute(store,
                      "UPDATE proxy_operation SET operation_id = proxy_operation_id;"
                      "INSERT INTO file (file_id, path, file_set, dialect, digest, bytes, "
                      "unpacked_bytes, status, events, skipped) VALUES (7, '', '', '', '', 1, 1, '', 1, 1);"
                      "INSERT INTO ledger VALUES (7, 'x', 0, 1, 1, NULL);"
                      "INSERT INTO file_member VALUES (7, 1, NULL);"
                      "INSERT INTO call_join SELECT call_description_id, 1, 1, 77, NULL FROM "
                      "call_description",
                      &error),
        0);
    assert_int_equal(record_tables_renumber(store, FILE_NUMBER, NEXT, &error), 0);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        assert_int_equal(count_of(store, record_tables[kind].name, first_of(FILE_NUMBER) + 5), 0);
        assert_int_equal(count_of(store, record_tables[kind].name, first_of(OTHER)), 1);
        assert_int_equal(count_of(store, record_tables[kind].name, first_of(NEXT) + 5), 1);
    }
    assert_int_equal(
        store_file_number(store,
                          "SELECT count(*) FROM proxy_operation WHERE operation_id = proxy_operation_id"),
        2);
    assert_int_equal(store_file_number(store, "SELECT max(call_description_id) >> 32 FROM call_join"), NEXT);
    assert_int_equal(store_file_number(store, "SELECT max(operation_id) FROM call_join"), 77);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM file"), NEXT);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM ledger"), NEXT);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM file_member"), NEXT);
    store_close(store);
}

static int64_t count_where(struct store *store, const char *table, const char *column, int64_t value)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s = %lld", table, column, (long long)value);
    return store_file_number(store, sql);
}

/* The records of one process and its member become another's, in every table that names either. */
static void test_records_move_to_another_process(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        add_row(store, record_tables[kind].name, first_of(FILE_NUMBER));
    assert_int_equal(store_execute(store, "INSERT INTO member VALUES (1, 1, 0, 1)", &error), 0);
    assert_int_equal(record_tables_move(store, FIELD_MEMBER, 1, 4, &error), 0);
    assert_int_equal(record_tables_move(store, FIELD_PROCESS, 1, 6, &error), 0);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        const struct record_table *table = &record_tables[kind];
        if (record_table_has(table, FIELD_MEMBER))
            assert_int_equal(count_where(store, table->name, "member_id", 4), 1);
        if (record_table_has(table, FIELD_PROCESS))
            assert_int_equal(count_where(store, table->name, "process_id", 6), 1);
    }
    store_close(store);
}

/* The content of a log about a process is saved, moves to the process of a trace, and is restored. */
static void test_what_moves_is_kept_and_goes_back(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    size_t kept = 0;
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        add_row(store, record_tables[kind].name, first_of(FILE_NUMBER));
    assert_int_equal(
        record_tables_execute(store,
                              "CREATE TEMP TABLE heard AS SELECT 1 AS process_id, 6 AS as_process;"
                              "CREATE TEMP TABLE heard_member AS SELECT 1 AS member_id, 4 AS as_member;"
                              "INSERT INTO fact VALUES ('set_aside', 1);"
                              "/* records of heard are kept *//* records of heard are moved */",
                              &error),
        0);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        const struct record_table *table = &record_tables[kind];
        if (!table->kept || table->is_restored_by_joins)
            continue;
        kept++;
        assert_int_equal(count_where(store, table->kept, "process_id", 1), 1);
        assert_int_equal(count_where(store, table->name, "process_id", 6), 1);
        if (record_table_has(table, FIELD_MEMBER))
            assert_int_equal(count_where(store, table->name, "member_id", 4), 1);
    }
    assert_true(kept >= 6);
    assert_int_equal(recorded_restore(store, &error), 1);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        if (record_table_has(&record_tables[kind], FIELD_PROCESS))
            assert_int_equal(count_where(store, record_tables[kind].name, "process_id", 1), 1);
    store_close(store);
}

/* A process stays exactly as long as any table has a record of it. */
static void test_a_process_stays_with_its_records(void **state)
{
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++) {
        char sql[SQL_BYTES];
        if (!record_table_has(&record_tables[kind], FIELD_PROCESS))
            continue;
        assert_int_equal(store_execute(store, "INSERT INTO process VALUES (1, '/a', '', 1, 0)", &error), 0);
        add_row(store, record_tables[kind].name, 1);
        assert_int_equal(removal_sweep(store, &error), 0);
        assert_int_equal(count_rows(store, "process"), 1);
        snprintf(sql, sizeof sql, "DELETE FROM %s", record_tables[kind].name);
        assert_int_equal(store_execute(store, sql, &error), 0);
        assert_int_equal(removal_sweep(store, &error), 0);
        assert_int_equal(count_rows(store, "process"), 0);
    }
    store_close(store);
}

/* Whether the content of a table is made again by each join or, like records, removed with files. */
static int is_made_anew(const char *table)
{
    static const char *const made_anew[] = {"process_recorded", "member_recorded",   "file_member_recorded",
                                            "file_member",      "changed_process",   "job_rank",
                                            "member_join",      "communicator_join", "witness_doubt"};
    for (size_t i = 0; i < sizeof made_anew / sizeof *made_anew; i++)
        if (strcmp(made_anew[i], table) == 0)
            return 1;
    return find_kind(table) != NULL;
}

/* Facts about a process, communicator or member that no file contains are removed with it. */
static void test_nothing_is_left_of_who_went(void **state)
{
    static const char *const whose[] = {"process_id", "communicator_id", "member_id"};
    struct error error = ERROR_INIT;
    struct store *store = store_file_open(state, STORE_CREATE);
    struct names names;
    list_tables(store, &names);
    for (size_t i = 0; i < names.count; i++)
        if (!is_made_anew(names.items[i]))
            for (size_t j = 0; j < sizeof whose / sizeof *whose; j++)
                if (has_column(store, names.items[i], whose[j], 0) && count_rows(store, names.items[i]) == 0)
                    add_row(store, names.items[i], 1);
    assert_int_equal(removal_sweep(store, &error), 0);
    for (size_t i = 0; i < names.count; i++)
        for (size_t j = 0; j < sizeof whose / sizeof *whose; j++)
            if (!is_made_anew(names.items[i]) && has_column(store, names.items[i], whose[j], 0) &&
                count_rows(store, names.items[i]) != 0)
                fail_msg("table %s keeps facts about something that no file contains", names.items[i]);
    store_close(store);
}

/* The number of columns of `table` that `kept` does not have at the same place, plus duplicates. */
static int64_t count_unlike(struct store *store, const char *table, const char *kept)
{
    char sql[SQL_BYTES];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT cid, name FROM pragma_table_info('%s')"
             " EXCEPT SELECT cid, name FROM pragma_table_info('%s'))",
             table, kept);
    return store_file_number(store, sql);
}

/* The table that saves rows has all columns of the original, also those that are added later. */
static void test_kept_rows_have_all_columns(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (enum event_kind kind = 0; kind < EVENT_TABLES; kind++)
        if (record_tables[kind].kept)
            assert_int_equal(count_unlike(store, record_tables[kind].name, record_tables[kind].kept), 0);
    assert_int_equal(count_unlike(store, "process", "process_recorded"), 0);
    assert_int_equal(count_unlike(store, "member", "member_recorded"), 0);
    assert_int_equal(count_unlike(store, "file_member", "file_member_recorded"), 0);
    store_close(store);
}

/* A saved row replaces the changed one, and none is saved any longer. */
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
        cmocka_unit_test_setup_teardown(test_every_table_is_known, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_columns_are_those_of_the_store, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_a_file_goes_from_every_table, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_records_move_to_another_process, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_what_moves_is_kept_and_goes_back, store_file_setup,
                                        store_file_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_left_of_who_went, store_file_setup,
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
