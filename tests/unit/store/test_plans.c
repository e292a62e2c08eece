#include "schemas.h"
#include "support/cmocka_all.h"
#include "support/store_file.h"

#include "store/store.h"

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

/* Drops the first view of the file. 0: there was none. */
static int drop_view(struct store *store)
{
    struct statement *list = store_prepare(
        store, "SELECT name FROM main.sqlite_schema WHERE type = 'view' ORDER BY name LIMIT 1", NULL);
    char *drop = NULL;
    assert_non_null(list);
    int found = statement_step(list, NULL);
    const char *name = found == 1 ? statement_text(list, 0) : "";
    assert_true(asprintf(&drop, "DROP VIEW main.%s", name) > 0);
    statement_free(list);
    assert_true(!found || store_execute(store, drop, NULL) == 0);
    free(drop);
    return found;
}

/* A store of version 2, without these indexes, the second digest of a file and the totals of losses. */
static void make_version_2(void **state)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    while (drop_view(store))
        continue;
    assert_int_equal(
        store_execute(
            store,
            "DROP INDEX job_rank_run; DROP INDEX member_join_rank;"
            "DROP INDEX communicator_join_run; DROP INDEX file_member_member;"
            "DROP INDEX clock_anchor_process; DROP INDEX loss_process;"
            "DROP TABLE tag_name; DROP TABLE process_run; ALTER TABLE run DROP COLUMN name;"
            "ALTER TABLE run DROP COLUMN first_step; ALTER TABLE run DROP COLUMN step_base;"
            "DROP TABLE process_fact; DROP TABLE group_status; DROP TABLE contradiction;"
            "DROP TABLE call_description;"
            "DROP TABLE call_join; DROP TABLE call_place; DROP TABLE sample;"
            "DROP TABLE start_up; DROP TABLE warning;"
            "DROP TABLE witness; DROP TABLE witness_member; DROP TABLE witness_contradiction; DROP "
            "TABLE witness_doubt;"
            "DROP TABLE registration; DROP TABLE shard;"
            "ALTER TABLE communicator DROP COLUMN member_list;"
            "ALTER TABLE communicator DROP COLUMN description;"
            "ALTER TABLE communicator DROP COLUMN named_hash;"
            "DROP TABLE operation_recorded; DROP TABLE proxy_recorded; DROP "
            "TABLE clock_step; DROP TABLE "
            "unequal_pair;"
            "DROP INDEX member_process; DROP INDEX file_unpacked_digest; ALTER TABLE file DROP COLUMN "
            "unpacked_digest;"
            "ALTER TABLE file DROP COLUMN modified_ns;"
            "ALTER TABLE file DROP COLUMN reader; ALTER TABLE file DROP COLUMN reader_version;"
            "DROP TABLE process_recorded; DROP TABLE member_recorded; DROP TABLE file_member_recorded;"
            "DROP TABLE loss_recorded; DROP TABLE process_fact_recorded; DROP TABLE group_status_recorded;"
            "DROP TABLE start_up_recorded; DROP TABLE warning_recorded; DROP TABLE registration_recorded;"
            "ALTER TABLE loss DROP COLUMN member_id; ALTER TABLE loss DROP COLUMN is_total;"
            "INSERT INTO file VALUES (1, '/a', '/', 'x', 'plain', 9, 9, 'ingested', 1, 0),"
            " (2, '/b', '/', 'x', 'packed', 4, 9, 'ingested', 1, 0);"
            "INSERT INTO run VALUES (1, 2, 2, 0, 'none', 1);"
            "INSERT INTO job_rank VALUES (1, 1, 9, 0, '0'); INSERT INTO fact VALUES ('joined', 1);"
            "PRAGMA user_version = 2",
            NULL),
        0);
    store_close(store);
}

static void test_older_store_is_brought_up_to_date(void **state)
{
    make_version_2(state);
    struct store *store = store_file_open(state, STORE_READ);
    assert_int_equal(store_file_number(store, "PRAGMA user_version"), 18);
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
