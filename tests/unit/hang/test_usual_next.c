#include "hang/internal.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

/* The calls of a rank as letters: each letter is a different function and size. */
static int32_t next_after(const char *letters)
{
    struct job job = {.rank_count = 1};
    struct job_rank rank = {.first = 0};
    while (letters[rank.count])
        rank.count++;
    job.ranks = &rank;
    job.operation_count = rank.count;
    job.operations = calloc(rank.count, sizeof *job.operations);
    job.calls = calloc(rank.count, sizeof *job.calls);
    assert_non_null(job.operations);
    assert_non_null(job.calls);
    for (size_t i = 0; i < rank.count; i++) {
        job.operations[i].bytes = letters[i];
        job.calls[i].peer = -1;
    }
    int32_t next = usual_next(&job, 0);
    free(job.operations);
    free(job.calls);
    return next;
}

static void the_longest_run_of_like_calls_tells(void **state)
{
    /* After "ab" came c, after "xb" d: the previous calls decide. */
    assert_int_equal(next_after("abcxbdab"), 2);
    assert_int_equal(next_after("abcxbdxb"), 5);
}

static void of_runs_as_long_the_latest_counts(void **state)
{
    assert_int_equal(next_after("abac.a"), 3);
}

static void nothing_like_it_tells_nothing(void **state)
{
    assert_int_equal(next_after("abc"), -1);
    assert_int_equal(next_after(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_run_of_like_calls_tells),
        cmocka_unit_test(of_runs_as_long_the_latest_counts),
        cmocka_unit_test(nothing_like_it_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
