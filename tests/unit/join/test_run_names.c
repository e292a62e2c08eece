#include "base/base.h"
#include "join/internal.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * For processes 1, 2, 3 ...: the run of each, and the folder of its files: "0 /a/b, 1 /c". Runs are in the
 * order in which the join found them.
 */
enum { PROCESSES = 8 };

static void load(struct work *work, const char *text)
{
    *work = (struct work){.process_count = 0};
    work->processes = calloc(PROCESSES, sizeof *work->processes);
    work->runs = calloc(PROCESSES, sizeof *work->runs);
    assert_true(work->processes && work->runs);
    intern_init(&work->texts);
    intern_init(&work->run_names);
    while (*text) {
        char *end;
        struct work_process *process = &work->processes[work->process_count++];
        process->id = (int64_t)work->process_count;
        process->run = (int32_t)strtol(text, &end, 10);
        size_t length = strcspn(end + 1, ";");
        process->file_set = strndup(end + 1, length);
        process->host = strdup("");
        assert_true(process->file_set && process->host);
        if ((size_t)process->run + 1 > work->run_count)
            work->run_count = (size_t)process->run + 1;
        text = end + 1 + length + strspn(end + 1 + length, "; ");
    }
}

/* The names of runs, "NUMBER NAME, ..."; `earlier` is SQL for their earlier names. */
static void check(void **state, const char *earlier, const char *processes, const char *expected)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct work work;
    char text[512] = "";
    load(&work, processes);
    if (earlier)
        assert_int_equal(store_execute(store, earlier, NULL), 0);
    assert_int_equal(work_name_runs(&work, store, NULL), 0);
    for (size_t i = 0; i < work.run_count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%lld %s", i ? ", " : "",
                 (long long)work.runs[i].number, intern_text(&work.run_names, work.runs[i].name));
    }
    assert_string_equal(text, expected);
    work_release(&work);
    store_close(store);
}

#define RUN(number, name)                                                                               \
    "INSERT INTO run (run_id, rank_count, expected_ranks, step_count, step_source, global_ranks, name)" \
    " VALUES (" #number ", 1, 1, 0, 'none', 1, " name ");"
#define PROCESS(id, run) "INSERT INTO process_run VALUES (" #id ", " #run ");"
#define LAST(number) "INSERT INTO fact VALUES ('last_run', " #number ");"

static void test_new_runs_are_called_after_their_folders(void **state)
{
    check(state, NULL, "0 /a/traces; 1 /a/other; 1 /a/other", "1 traces, 2 other");
}

/* One folder per host or rank: the folder that contains them. */
static void test_the_folder_of_all_its_files(void **state)
{
    check(state, NULL, "0 /a/night/node1; 0 /a/night/node2", "1 night");
    check(state, NULL, "0 /a/night; 0 /a/night/node2", "1 night");
    check(state, NULL, "0 /a/night1; 0 /a/night2", "1 a");
    check(state, NULL, "0 /a; 0 /b", "1 run");
    check(state, NULL, "0 /", "1 run");
    check(state, NULL, "0 -17; 1 -17", "1 stdin, 2 stdin-2");
    check(state, NULL, "0 -17; 0 /a/b", "1 b");
}

static void test_no_two_runs_have_one_name(void **state)
{
    check(state, NULL, "0 /a/t; 1 /b/t; 2 /c/t-2; 3 /d/t", "1 t, 2 t-2, 3 t-2-2, 4 t-3");
}

/* A name must differ from a number and from an option, and must fit in a list. */
static void test_what_a_name_may_not_be(void **state)
{
    check(state, NULL, "0 /jobs/4711; 1 /jobs/-x; 2 /jobs/a b,c\x1b", "1 run-4711, 2 run--x, 3 a_b_c_");
}

static void test_number_and_name_stay(void **state)
{
    check(state, RUN(4, "'old'") RUN(7, "'x'") PROCESS(1, 7) PROCESS(2, 4) LAST(9),
          "0 /a/new; 1 /a/b; 2 /a/c", "7 x, 4 old, 10 c");
}

/* Its number is never used again, although the run is gone. */
static void test_a_new_run_takes_a_number_that_no_run_had(void **state)
{
    check(state, LAST(3), "0 /a/b", "4 b");
}

static void test_runs_that_turn_out_to_be_one(void **state)
{
    check(state, RUN(1, "'one'") RUN(2, "'two'") PROCESS(1, 2) PROCESS(2, 1) LAST(2), "0 /a; 0 /b; 1 /c",
          "1 one, 3 c");
}

static void test_a_run_that_falls_apart(void **state)
{
    check(state, RUN(5, "'five'") PROCESS(1, 5) PROCESS(2, 5) PROCESS(3, 5) LAST(5), "1 /a; 0 /b; 1 /c",
          "6 b, 5 five");
}

/*
 * A store that an earlier version joined has only numbers, and a new run does not get the name of an old one.
 */
static void test_names_are_given_to_runs_that_have_none(void **state)
{
    check(state, RUN(2, "NULL") RUN(1, "'t'") PROCESS(1, 2) PROCESS(2, 1) LAST(2), "0 /x/t; 1 /y/z",
          "2 t-2, 1 t");
}

/* Numbers that no join assigns, two runs of one name, a last number that was lost. */
static void test_a_damaged_store(void **state)
{
    check(state,
          RUN(-3, "'minus'") RUN(8, "'same'") RUN(9, "'same'") PROCESS(1, -3) PROCESS(2, 8) PROCESS(3, 9)
              PROCESS(4, 9223372036854775807) LAST(-1),
          "0 /a/b; 1 /a/c; 2 /a/d; 3 /a/e; 3 /a/e", "10 b, 8 same, 9 d, 11 e");
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, store_file_setup, store_file_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_new_runs_are_called_after_their_folders),
        WITH_FILE(test_no_two_runs_have_one_name),
        WITH_FILE(test_what_a_name_may_not_be),
        WITH_FILE(test_number_and_name_stay),
        WITH_FILE(test_a_new_run_takes_a_number_that_no_run_had),
        WITH_FILE(test_runs_that_turn_out_to_be_one),
        WITH_FILE(test_a_run_that_falls_apart),
        WITH_FILE(test_names_are_given_to_runs_that_have_none),
        WITH_FILE(test_a_damaged_store),
        WITH_FILE(test_the_folder_of_all_its_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
