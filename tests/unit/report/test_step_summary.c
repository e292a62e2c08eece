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
enum { STEP = 10000, FIRST = 1000, SECOND = 5000, TAKES = 500 };

static void play(struct small *small, struct small_roles *roles, int64_t *step_ns)
{
    small_init(small);
    small_in_one_role(small, roles);
    for (int i = 0; i < OPERATIONS; i++) {
        struct job_operation *operation = &small->operations[i];
        operation->start_ns = operation->step * STEP + (i % 2 ? SECOND : FIRST);
        operation->end_ns = operation->start_ns + TAKES;
        operation->tag = i % 2;
    }
    for (int i = 0; i < EACH; i++)
        small->instances[i].expected = RANKS;
    for (int step = 0; step < STEPS; step++)
        step_ns[step] = step + 1 < STEPS ? STEP : TIME_UNKNOWN;
    small->baseline.step_ns = step_ns;
}

/*
 * A rank arrived `late_ns` late at an operation: the others waited for it, and everything that follows is
 * later.
 */
static void make_late(struct small *small, int late_rank, int step, int number, int64_t late_ns)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct job_operation *last = at(small, rank, STEPS - 1, 1),
                             *operation = at(small, rank, step, number);
        operation->end_ns += late_ns;
        operation->start_ns += rank == late_rank ? late_ns : 0;
        while (operation++ < last) {
            operation->start_ns += late_ns;
            operation->end_ns += late_ns;
        }
    }
}

static void a_quiet_step(void **state)
{
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    assert_int_equal(summaries[2].duration_ns, STEP);
    assert_int_equal(summaries[2].usual_ns, STEP);
    assert_int_equal(summaries[2].communication_ns, 2 * TAKES);
    assert_int_equal(summaries[2].waiting_ns, 0);
    assert_int_equal(summaries[2].last_rank, -1);
    assert_int_equal(step_summaries_find_phases(summaries, &small.job, 0.03, NULL), 0);
    assert_int_equal(summaries[2].phase_excess_ns, 0);
    assert_int_equal(summaries[3].duration_ns, TIME_UNKNOWN);
    free(summaries);
    small_release(&small);
}

static void who_is_waited_for(void **state)
{
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    make_late(&small, 1, 2, 1, 900);
    step_ns[2] += 900;
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    assert_int_equal(summaries[2].last_rank, 1);
    assert_int_equal(summaries[2].last_waited_ns, 2 * 900);
    assert_int_equal(summaries[2].waiting_ns, 2 * 900 / RANKS);
    assert_int_equal(summaries[2].communication_ns, 2 * TAKES + 2 * 900 / RANKS);
    assert_int_equal(step_summaries_find_phases(summaries, &small.job, 0.03, NULL), 0);
    assert_int_equal(summaries[2].tag, 1);
    assert_int_equal(summaries[2].phase_excess_ns, 900);
    assert_int_equal(summaries[3].last_rank, -1);
    free(summaries);
    small_release(&small);
}

/* Two streams: overlapping operations count once as communication. */
static void what_overlaps_counts_once(void **state)
{
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    for (int rank = 0; rank < RANKS; rank++) {
        at(&small, rank, 2, 1)->start_ns = 2 * STEP + FIRST + TAKES / 2;
        at(&small, rank, 2, 1)->end_ns = 2 * STEP + FIRST + TAKES / 2 + TAKES;
    }
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    assert_int_equal(summaries[2].communication_ns, TAKES + TAKES / 2);
    free(summaries);
    small_release(&small);
}

/* Communication that continues into the next step counts there, so no step has more than its length. */
static void what_runs_on_counts_in_the_next_step(void **state)
{
    enum { OVER = 700 };
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    for (int rank = 0; rank < RANKS; rank++)
        at(&small, rank, 1, 1)->end_ns = 2 * STEP + FIRST + OVER;
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    assert_int_equal(summaries[1].communication_ns, TAKES + STEP + FIRST - SECOND);
    assert_int_equal(summaries[2].communication_ns, OVER + TAKES);
    free(summaries);
    small_release(&small);
}

/* Two operations that wait at once, like the sends and receives of one call: the time counts once. */
static void what_waits_at_once_counts_once(void **state)
{
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    for (int rank = 0; rank < RANKS; rank++)
        for (int number = 0; number < 2; number++) {
            struct job_operation *operation = at(&small, rank, 2, number);
            operation->start_ns = 2 * STEP + FIRST + (rank == 1 ? 4000 : 0) + 100 * number;
            operation->end_ns = 2 * STEP + FIRST + 4500 + 100 * number;
        }
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    /* Rank 1's step begins 4000 later, so it is shorter by that. */
    int64_t lasted = 3 * STEP - 4000;
    assert_int_equal(summaries[2].communication_ns, (STEP * (2 * 4600 + 600) + lasted / 2) / lasted);
    assert_int_equal(summaries[2].waiting_ns, (STEP * (2 * 4100) + lasted / 2) / lasted);
    assert_int_equal(summaries[2].last_rank, 1);
    assert_int_equal(summaries[2].last_waited_ns, 4 * 4000);
    free(summaries);
    small_release(&small);
}

static void without_times_nothing_is_told(void **state)
{
    struct small small;
    struct small_roles roles;
    int64_t step_ns[STEPS];
    play(&small, &roles, step_ns);
    for (int i = 0; i < OPERATIONS; i++)
        small.operations[i].start_ns = small.operations[i].end_ns = TIME_UNKNOWN;
    struct step_summary *summaries = step_summaries_new(&small.job, &small.baseline);
    assert_non_null(summaries);
    assert_int_equal(summaries[2].begin_ns, TIME_UNKNOWN);
    assert_int_equal(summaries[2].communication_ns, TIME_UNKNOWN);
    assert_int_equal(summaries[2].waiting_ns, TIME_UNKNOWN);
    assert_int_equal(summaries[2].last_rank, -1);
    assert_int_equal(step_summaries_find_phases(summaries, &small.job, 0.03, NULL), 0);
    assert_int_equal(summaries[2].tag, -1);
    free(summaries);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_step),
        cmocka_unit_test(who_is_waited_for),
        cmocka_unit_test(what_overlaps_counts_once),
        cmocka_unit_test(what_runs_on_counts_in_the_next_step),
        cmocka_unit_test(what_waits_at_once_counts_once),
        cmocka_unit_test(without_times_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
