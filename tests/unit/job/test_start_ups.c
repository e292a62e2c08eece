#include "job/job.h"
#include "job/load.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <string.h>

enum { RANKS = 4 };

static const int64_t SECOND_NS = 1000000000;

/* One communicator of four ranks, with logs of the given number. */
struct made_job {
    struct job job;
    struct job_communicator communicator;
    struct job_start starts[RANKS];
};

static void make(struct made_job *made, int64_t known)
{
    *made = (struct made_job){.communicator = {.size = RANKS}};
    made->job = (struct job){.communicators = &made->communicator,
                             .communicator_count = 1,
                             .starts = made->starts,
                             .start_count = (size_t)known};
    for (int32_t i = 0; i < known; i++) {
        made->starts[i] = (struct job_start){.rank = i, .told = START_UP_UNKNOWN};
        made->starts[i].told.is_complete = 1;
    }
}

static void set_bootstraps(struct made_job *made, const double *seconds)
{
    for (size_t i = 0; i < made->job.start_count; i++)
        made->starts[i].told.parts_ns[START_BOOTSTRAP] = (int64_t)(seconds[i] * 1e9);
}

/* The ranks that arrived last, as bits; -1: unknown. */
static int last_of(const struct made_job *made)
{
    int last = 0;
    for (size_t i = 0; i < made->job.start_count; i++) {
        if (!made->starts[i].is_told)
            return -1;
        last |= (int)made->starts[i].is_last << i;
    }
    return last;
}

static void who_waited_shortest_came_last(void **state)
{
    struct made_job made;
    make(&made, RANKS);
    set_bootstraps(&made, (const double[]){21.3, 21.4, 0.03, 21.5});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), 1 << 2);
    assert_int_equal(made.starts[3].late_ns, 0);
    assert_int_equal(made.starts[2].late_ns, 21470 * SECOND_NS / 1000);
    assert_int_equal(made.starts[0].late_ns, 200 * SECOND_NS / 1000);
}

/* Logs have hundredths of a second. */
static void who_comes_as_late_as_the_log_tells_came_last_as_well(void **state)
{
    struct made_job made;
    make(&made, RANKS);
    set_bootstraps(&made, (const double[]){5, 0.031, 0.04, 0.05});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), 1 << 1 | 1 << 2);
    set_bootstraps(&made, (const double[]){0.04, 0.031, 0.04, 0.035});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
}

/* The rank without a log may have arrived last. */
static void not_all_ranks_are_told_of(void **state)
{
    struct made_job made;
    make(&made, RANKS - 1);
    set_bootstraps(&made, (const double[]){21.3, 21.4, 0.03});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
    assert_int_equal(made.starts[0].late_ns, TIME_UNKNOWN);
}

/* In a split, ranks also wait where all ranks of the parent exchange information. */
static void splits_wait_in_what_is_left(void **state)
{
    struct made_job made;
    make(&made, RANKS);
    set_bootstraps(&made, (const double[]){0.01, 0.01, 0.01, 0.01});
    for (int i = 0; i < RANKS; i++) {
        made.starts[i].told.parent_hash = 7;
        made.starts[i].told.parts_ns[START_REST] = i == 1 ? 0 : 3 * SECOND_NS;
    }
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), 1 << 1);
    for (int i = 0; i < RANKS; i++)
        made.starts[i].told.parent_hash = 0;
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
}

static void set_lines(struct made_job *made, const int64_t *tenths)
{
    for (int i = 0; i < RANKS; i++) {
        made->starts[i].told.begin_ns = (1000 - tenths[i]) * SECOND_NS / 10;
        made->starts[i].told.end_ns = 100 * SECOND_NS;
    }
}

/*
 * Without parts, the times of the lines decide, with a precision of a second if they have whole seconds; each
 * on its own clock.
 */
static void times_of_lines(void **state)
{
    struct made_job made;
    make(&made, RANKS);
    set_lines(&made, (const int64_t[]){200, 10, 220, 230});
    made.starts[0].told.begin_ns += 3600 * SECOND_NS; /* its clock */
    made.starts[0].told.end_ns += 3600 * SECOND_NS;
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), 1 << 1);
    set_lines(&made, (const int64_t[]){10, 0, 10, 10});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
    set_lines(&made, (const int64_t[]){9, 5, 9, 9});
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), 1 << 1);
}

/* Values that were measured differently, or are incomplete, cannot be compared. */
static void measures_that_differ(void **state)
{
    struct made_job made;
    make(&made, RANKS);
    set_lines(&made, (const int64_t[]){200, 10, 220, 230});
    made.starts[1].told.parts_ns[START_BOOTSTRAP] = 0;
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
    made.starts[1].told.parts_ns[START_BOOTSTRAP] = TIME_UNKNOWN;
    made.starts[1].told.is_complete = 0;
    job_judge_starts(&made.job);
    assert_int_equal(last_of(&made), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waited_shortest_came_last),
        cmocka_unit_test(who_comes_as_late_as_the_log_tells_came_last_as_well),
        cmocka_unit_test(not_all_ranks_are_told_of),
        cmocka_unit_test(splits_wait_in_what_is_left),
        cmocka_unit_test(times_of_lines),
        cmocka_unit_test(measures_that_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
