#include "base/base.h"
#include "join/internal.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 4, TEXT = 64 };

/* The ranks of one communicator, in order of processes, and the global rank reported for each; -1: none. */
struct jobs_files {
    int64_t numbers[PROCESSES]; /* -1: no process */
    int64_t told[PROCESSES];
    int64_t declared_job_size;
    int64_t declared_size;
    int64_t members[PROCESSES]; /* with a recorded size: the ranks that files list, all 0: none */
};

/*
 * The names of the ranks, with a star for one without records; then the expected ranks, and the number of
 * contradictions between files.
 */
static void assert_ranks(struct jobs_files files, const char *wanted)
{
    struct error error = ERROR_INIT;
    struct work work = {.communicator_count = 1};
    intern_init(&work.texts);
    work.processes = calloc(PROCESSES, sizeof *work.processes);
    work.communicators = calloc(1, sizeof *work.communicators);
    work.members = calloc(PROCESSES, sizeof *work.members);
    assert_true(work.processes && work.communicators && work.members);
    struct work_communicator *communicator = &work.communicators[0];
    *communicator = (struct work_communicator){
        .run = -1, .hash = 7, .declared_size = files.declared_size, .greatest_peer = -1};
    if (files.members[0] || files.members[1]) {
        communicator->told_count = (size_t)files.declared_size;
        communicator->told = malloc(sizeof files.members);
        assert_non_null(communicator->told);
        memcpy(communicator->told, files.members, sizeof files.members);
    }
    for (int i = 0; i < PROCESSES && files.numbers[i] >= 0; i++) {
        work.processes[work.process_count++] =
            (struct work_process){.id = i,
                                  .file_set = strdup("a"),
                                  .host = strdup("h"),
                                  .pid = i,
                                  .declared_rank = files.told[i],
                                  .declared_job_size = files.declared_job_size,
                                  .run = -1};
        work.members[work.member_count++] = (struct work_member){.process = i,
                                                                 .rank = files.numbers[i],
                                                                 .job_rank = -1,
                                                                 .declared_rank = -1,
                                                                 .affinity = INT64_MIN};
        communicator->member_count++;
    }
    assert_int_equal(work_find_ranks(&work, &error), 0);
    char found[TEXT] = "";
    for (size_t i = 0; i < work.rank_count; i++)
        snprintf(found + strlen(found), TEXT - strlen(found), "%s%s ", work.ranks[i].name,
                 work.ranks[i].process < 0 ? "*" : "");
    snprintf(found + strlen(found), TEXT - strlen(found), "of %d, %zu against",
             (int)work.runs[0].expected_ranks, work.contradiction_count);
    assert_string_equal(found, wanted);
    work_release(&work);
}

/* Whatever the ranks in the communicator are. */
static void told_of_all_they_count(void **state)
{
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {0, 1, 2}}, "0 1 2 of 3, 0 against");
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {2, 0, 1}}, "2 0 1 of 3, 3 against");
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {4, 5, 6}}, "4 5 6 of 3, 3 against");
    /* The rank at a free place is known if places and ranks have the same numbers. */
    assert_ranks((struct jobs_files){.numbers = {0, 2, -1}, .told = {0, 2}, .declared_size = 4},
                 "0 2 1* 3* of 4, 0 against");
    assert_ranks((struct jobs_files){.numbers = {0, 2, -1}, .told = {6, 2}, .declared_size = 4},
                 "6 2 of 4, 1 against");
    /* The communicator of one process contains no other rank. */
    assert_ranks((struct jobs_files){.numbers = {3, -1}, .told = {11}, .declared_job_size = 12},
                 "11 0* 1* 2* 3* 4* 5* 6* 7* 8* 9* 10* of 12, 1 against");
}

/* A number reported for two or only for some, and a communicator with other ones: the communicator counts. */
static void told_of_some_or_twice_they_do_not(void **state)
{
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {0, -1, 2}}, "0 1 2 of 3, 0 against");
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {2, -1, 0}}, "0 1 2 of 3, 2 against");
    assert_ranks((struct jobs_files){.numbers = {0, 1, 2, -1}, .told = {0, 0, 2}}, "0 1 2 of 3, 1 against");
}

/* Members that files list, without a file of their own; a size for which no memory may be reserved. */
static void who_recorded_nothing(void **state)
{
    assert_ranks(
        (struct jobs_files){
            .numbers = {0, 2, -1}, .told = {8, 4}, .declared_size = 4, .members = {8, 6, 4, 2}},
        "8 4 2* 6* of 4, 0 against");
    assert_ranks(
        (struct jobs_files){.numbers = {0, 1, -1}, .told = {0, 1}, .declared_job_size = INT32_MAX - 1},
        "0 1 of 2147483646, 0 against");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(told_of_all_they_count),
        cmocka_unit_test(told_of_some_or_twice_they_do_not),
        cmocka_unit_test(who_recorded_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
