#include "job/job.h"
#include "model/model.h"
#include "report/verdicts.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

/*
 * Three ranks, four steps of 10000, two AllReduces of 500 per step; in step 2 one rank arrives 900 late at
 * the second, and the step is longer by this. The time of the last step is unknown, the first is warm-up.
 */
enum { STEP = 10000, TAKES = 500, LATE = 900 };

static void play(struct small *small, struct small_roles *roles, int64_t *step_ns)
{
    small_init(small);
    small_in_one_role(small, roles);
    for (int i = 0; i < OPERATIONS; i++) {
        struct job_operation *operation = &small->operations[i];
        operation->start_ns = operation->step * STEP + (i % 2 ? 5000 : 1000);
        operation->end_ns = operation->start_ns + TAKES;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        at(small, rank, 2, 1)->start_ns += rank == 1 ? LATE : 0;
        at(small, rank, 2, 1)->end_ns += LATE;
    }
    for (int rank = 0; rank < RANKS; rank++)
        for (int number = 0; number < 2; number++) {
            at(small, rank, 3, number)->start_ns += LATE;
            at(small, rank, 3, number)->end_ns += LATE;
        }
    for (int i = 0; i < EACH; i++)
        small->instances[i].expected = RANKS;
    for (int step = 0; step < STEPS; step++)
        step_ns[step] = step + 1 < STEPS ? STEP + (step == 2 ? LATE : 0) : TIME_UNKNOWN;
    small->baseline.step_ns = step_ns;
    small->baseline.first_step = 1;
}

static void what_the_time_went_into(void **state)
{
    struct small small;
    struct small_roles roles;
    struct time_shares shares;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    assert_int_equal(time_shares_measure(&shares, &small.job, &small.baseline), 0);
    assert_int_equal(shares.steps_ns, 2 * STEP + LATE);
    /* Two of three ranks waited. */
    assert_int_equal(shares.waiting_ns, 2 * LATE / RANKS);
    assert_int_equal(shares.communication_ns, 2 * 2 * TAKES + 2 * LATE / RANKS);
    assert_int_equal(shares.usual_step_ns, STEP);
    small_release(&small);
}

/* Steps that are counted in lines, because no operation has times, have no duration. */
static void no_times(void **state)
{
    struct small small;
    struct small_roles roles;
    struct time_shares shares;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    small.job.timed_operations = 0;
    assert_int_equal(time_shares_measure(&shares, &small.job, &small.baseline), 0);
    assert_int_equal(shares.steps_ns, 0);
    assert_int_equal(shares.communication_ns, TIME_UNKNOWN);
    assert_int_equal(shares.usual_step_ns, TIME_UNKNOWN);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_time_went_into),
        cmocka_unit_test(no_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
