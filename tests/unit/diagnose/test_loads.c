#include "diagnose/baseline.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, STEPS = 24 };

/* The own time of the single operation that each rank has in each step. */
struct played {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[RANKS * STEPS];
};

static int64_t *own_at(struct played *played, int rank, int step)
{
    return &played->operations[rank * STEPS + step].own_ns;
}

static void begin(struct played *played)
{
    memset(played, 0, sizeof *played);
    for (int i = 0; i < RANKS * STEPS; i++)
        played->operations[i] =
            (struct job_operation){.rank = i / STEPS, .step = i % STEPS, .own_ns = 1000 + i % 7};
    played->job = (struct job){.ranks = played->ranks,
                               .rank_count = RANKS,
                               .operations = played->operations,
                               .operation_count = RANKS * STEPS,
                               .step_count = STEPS};
}

/* The step at which the load changes first; STEPS: none. */
static int changes_at(const struct played *played)
{
    int32_t *loads = loads_find(&played->job, 1);
    int step = 1;
    assert_non_null(loads);
    while (step < STEPS && loads[step] == loads[1])
        step++;
    for (int i = step; i < STEPS; i++)
        assert_int_equal(loads[i], loads[1] + 1);
    free(loads);
    return step;
}

static int grown(int ranks, int from, int to, double factor)
{
    struct played played;
    begin(&played);
    for (int rank = 0; rank < ranks; rank++)
        for (int step = from; step < to; step++)
            *own_at(&played, rank, step) = (int64_t)((double)*own_at(&played, rank, step) * factor);
    return changes_at(&played);
}

static void for_good_and_on_all(void **state)
{
    assert_int_equal(grown(RANKS, 12, STEPS, 1.5), 12);
    assert_int_equal(grown(RANKS, 10, STEPS, 0.5), 10);
    assert_int_equal(grown(RANKS, 12, STEPS, 1.15), STEPS);
    /* Three ranks of four are enough, because one may be late. */
    assert_int_equal(grown(3, 12, STEPS, 1.5), 12);
    assert_int_equal(grown(2, 12, STEPS, 1.5), STEPS);
    assert_int_equal(grown(1, 12, STEPS, 3), STEPS);
}

/* Three steps in the middle are no separate load; nor is a change that comes too late to be detected. */
static void for_some_steps(void **state)
{
    assert_int_equal(grown(RANKS, 10, 13, 2), STEPS);
    assert_int_equal(grown(RANKS, STEPS - 4, STEPS, 2), STEPS);
}

/* Each by another factor. */
static void not_alike(void **state)
{
    struct played played;
    begin(&played);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 12; step < STEPS; step++)
            *own_at(&played, rank, step) *= 2 + rank;
    assert_int_equal(changes_at(&played), STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_good_and_on_all),
        cmocka_unit_test(for_some_steps),
        cmocka_unit_test(not_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
