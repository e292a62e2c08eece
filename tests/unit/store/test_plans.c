#include "schemas.h"
#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A store of thousands of jobs: a query that runs once per job must not scan the data of all jobs. SQLite's
 * plans show it: SEARCH uses an index or an ID, SCAN reads the whole table.
 */
static const char *const asked_of_each_run[] = {
    schema_meta_roster_runs,           schema_meta_roster_ranks,           schema_meta_roster_communicators,
    schema_meta_roster_members,        schema_meta_roster_facts,           schema_meta_roster_witness_facts,
    schema_analysis_job_traffic,       schema_analysis_job_has_traffic,    schema_analysis_job_damage,
    schema_analysis_job_losses,        schema_analysis_job_blind_to_pairs, schema_analysis_job_finished_only,
    schema_analysis_job_cut,           schema_analysis_clocks_ranks,       schema_join_read_operations_of_run,
    schema_join_read_instances_of_run, schema_analysis_job_dumped_running,
};

/* And of thousands of processes. */
static const char *const asked_of_each_process[] = {
    schema_join_logs_restore,
    schema_join_logs_forget_recorded,
    schema_join_logs_files,
    schema_join_logs_members,
};

/* These return blobs: sorting them would write all of a large run's to a temporary file. */
static const char *const in_order_as_they_are[] = {
    schema_analysis_job_traffic,        schema_join_read_operations,       schema_join_read_instances,
    schema_join_read_operations_of_run, schema_join_read_instances_of_run,
};

enum { PLAN_DETAIL = 3 };

static void check_plan(struct store *store, const char *sql, const char *refused)
{
    char *text = NULL;
    assert_true(asprintf(&text, "EXPLAIN QUERY PLAN %s", sql) > 0);
    struct statement *plan = record_tables_prepare(store, text, NULL);
    assert_non_null(plan);
    int steps = 0;
    for (; statement_step(plan, NULL) == 1; steps++) {
        const char *detail = statement_text(plan, PLAN_DETAIL);
        assert_non_null(detail);
        /* The result of a subquery has been found before; the plan has separate lines for it. */
        int is_subquery = strncmp(detail, "SCAN (", 6) == 0;
        /* An automatic index is made from the whole table for this query. */
        if ((strncmp(detail, refused, strlen(refused)) == 0 && !is_subquery) || strstr(detail, "AUTOMATIC"))
            fail_msg("%s in the plan of %s", detail, sql);
    }
    assert_true(steps > 0);
    statement_free(plan);
    free(text);
}

static void test_one_run_is_found_by_index(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (size_t i = 0; i < sizeof asked_of_each_run / sizeof *asked_of_each_run; i++)
        check_plan(store, asked_of_each_run[i], "SCAN");
    store_close(store);
}

static void test_one_process_is_found_by_index(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (size_t i = 0; i < sizeof asked_of_each_process / sizeof *asked_of_each_process; i++)
        check_plan(store, asked_of_each_process[i], "SCAN");
    store_close(store);
}

static void test_blobs_are_not_sorted(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    for (size_t i = 0; i < sizeof in_order_as_they_are / sizeof *in_order_as_they_are; i++)
        check_plan(store, in_order_as_they_are[i], "USE TEMP B-TREE");
    store_close(store);
}

/* A store of version 2: only the first migration ran. */
static void make_version_2(void **state)
{
    sqlite3 *file = NULL;
    assert_int_equal(sqlite3_open(*state, &file), SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, schema_store_002_base, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(file,
                     "INSERT INTO file VALUES (1, '/a', '/', 'x', 'plain', 9, 9, 'ingested', 1, 0),"
                     " (2, '/b', '/', 'x', 'packed', 4, 9, 'ingested', 1, 0);"
                     "INSERT INTO run VALUES (1, 2, 2, 0, 'none', 1);"
                     "INSERT INTO job_rank VALUES (1, 1, 9, 0, '0'); INSERT INTO fact VALUES ('joined', 1);"
                     "PRAGMA application_id = 0x4E435046; PRAGMA user_version = 2",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(file), SQLITE_OK);
}

static void test_older_store_is_brought_up_to_date(void **state)
{
    make_version_2(state);
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(store_file_number(store, "PRAGMA user_version"), store_file_newest());
    assert_int_equal(store_file_number(store, "SELECT count(*) FROM run"), 1);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM file WHERE unpacked_digest = 'plain'"), 1);
    assert_int_equal(store_file_number(store, "SELECT file_id FROM file WHERE unpacked_digest IS NULL"), 2);
    assert_int_equal(store_file_number(store, "SELECT run_id FROM process_run WHERE process_id = 9"), 1);
    assert_int_equal(store_file_number(store, "SELECT value FROM fact WHERE name = 'last_run'"), 1);
    assert_int_equal(store_file_number(store, "SELECT value FROM fact WHERE name = 'joined'"), 0);
    for (size_t i = 0; i < sizeof asked_of_each_run / sizeof *asked_of_each_run; i++)
        check_plan(store, asked_of_each_run[i], "SCAN");
    store_close(store);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_one_run_is_found_by_index),
        WITH_FILE(test_one_process_is_found_by_index),
        WITH_FILE(test_blobs_are_not_sorted),
        WITH_FILE(test_older_store_is_brought_up_to_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
