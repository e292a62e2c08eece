#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/steps.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

#include <stdlib.h>

/*
 * Three ranks, four steps of 10000, two AllReduces per step: at 1000 in the step and at 5000, of 500 each
 * after all have arrived.
 */
enum { STEP = 10000, FIRST = 1000, SECOND = 5000, TAKES = 500, LATE = 900 };

static void play(struct small *small, struct small_roles *roles)
{
    small_init(small);
    small_in_one_role(small, roles);
    for (int i = 0; i < OPERATIONS; i++) {
        struct job_operation *operation = &small->operations[i];
        operation->start_ns = operation->step * STEP + (i % 2 ? SECOND : FIRST);
        operation->end_ns = operation->start_ns + TAKES;
    }
    for (int i = 0; i < EACH; i++)
        small->instances[i].expected = RANKS;
}

/* Rank 1 arrives late at the second operation of step 2; the others wait. */
static void make_late(struct small *small)
{
    for (int rank = 0; rank < RANKS; rank++) {
        at(small, rank, 2, 1)->end_ns += LATE;
        at(small, rank, 2, 1)->start_ns += rank == 1 ? LATE : 0;
        for (int i = 0; i < 2; i++) {
            at(small, rank, 3, i)->start_ns += LATE;
            at(small, rank, 3, i)->end_ns += LATE;
        }
    }
    excess_at(small, 1, 2, 1)->excess_ns = LATE;
}

static void who_waits_and_who_is_late(void **state)
{
    struct small small;
    struct small_roles roles;
    play(&small, &roles);
    make_late(&small);
    struct rank_step *steps = rank_steps_new(&small.job, &small.baseline);
    assert_non_null(steps);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++) {
            const struct rank_step *of = &steps[rank * STEPS + step];
            int64_t lasted_ns = step == 2 ? STEP + LATE : STEP;
            int64_t own_ns = step == 2 && rank == 1 ? LATE : 0;
            assert_int_equal(of->duration_ns, step + 1 < STEPS ? lasted_ns : TIME_UNKNOWN);
            assert_int_equal(of->waiting_ns, step == 2 && rank != 1 ? LATE : 0);
            assert_int_equal(of->own_ns, step == 0 ? TIME_UNKNOWN : own_ns);
        }
    free(steps);
    small_release(&small);
}

/*
 * The rank that arrived last is unknown if the record of one is lost; a rank without operations was not late.
 */
static void what_is_not_told(void **state)
{
    struct small small;
    struct small_roles roles;
    play(&small, &roles);
    make_late(&small);
    for (int i = 0; i < 2; i++) {
        small.instances[2 * 2 + i].members = RANKS - 1;
        at(&small, 2, 2, i)->step = -1;
    }
    roles.cells[(0 * RANKS + 2) * STEPS + 2] = roles.cells[(1 * RANKS + 2) * STEPS + 2] = -1;
    struct rank_step *steps = rank_steps_new(&small.job, &small.baseline);
    assert_non_null(steps);
    assert_int_equal(steps[0 * STEPS + 2].waiting_ns, TIME_UNKNOWN);
    assert_int_equal(steps[1 * STEPS + 2].own_ns, LATE);
    assert_int_equal(steps[2 * STEPS + 2].own_ns, TIME_UNKNOWN);
    assert_int_equal(steps[2 * STEPS + 2].duration_ns, TIME_UNKNOWN);
    assert_int_equal(steps[2 * STEPS + 1].duration_ns, TIME_UNKNOWN);
    free(steps);
    small_release(&small);
}

static void a_rank_without_a_role_has_no_length(void **state)
{
    struct small small;
    struct small_roles roles;
    play(&small, &roles);
    roles.zeros[1] = -1;
    assert_int_equal(baseline_rank_step_duration_ns(&small.baseline, &small.job, 1, 1), TIME_UNKNOWN);
    assert_int_equal(baseline_rank_step_duration_ns(&small.baseline, &small.job, 0, 1), STEP);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_and_who_is_late),
        cmocka_unit_test(what_is_not_told),
        cmocka_unit_test(a_rank_without_a_role_has_no_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
