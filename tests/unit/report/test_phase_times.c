#include "job/job.h"
#include "report/steps.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

/* Two phases per step of 10000: one ends at 4000, the other at 10000; step 3's second one is 1500 longer. */
static void play(struct small *small)
{
    small_init(small);
    for (int i = 0; i < OPERATIONS; i++) {
        struct job_operation *operation = &small->operations[i];
        operation->tag = i % 2;
        operation->end_ns = operation->step * 10000 + (i % 2 ? 10000 : 4000);
        operation->start_ns = operation->end_ns - 100;
        if (operation->step == 3 && i % 2)
            operation->end_ns += 1500;
    }
}

static const struct phase_time *find(const struct phase_times *times, int32_t step, int32_t tag)
{
    for (size_t i = 0; i < times->count; i++)
        if (times->items[i].step == step && times->items[i].tag == tag)
            return &times->items[i];
    return NULL;
}

static void a_step_is_shared_out_without_a_rest(void **state)
{
    struct small small;
    struct phase_times times;
    struct error error = ERROR_INIT;
    play(&small);
    assert_int_equal(phase_times_init(&times, &small.job, PHASES_OF_JOB, &error), 0);
    assert_int_equal(times.count, STEPS * 2);
    assert_int_equal(find(&times, 2, 0)->time_ns, 4000);
    assert_int_equal(find(&times, 2, 1)->time_ns, 6000);
    assert_int_equal(find(&times, 3, 1)->time_ns, 7500);
    assert_int_equal(find(&times, 3, 1)->usual_ns, 6000);
    assert_int_equal(find(&times, 3, 0)->usual_ns, 4000);
    phase_times_release(&times);
    small_release(&small);
}

/* An operation that ended before the previous one adds nothing, and removes nothing. */
static void what_ends_earlier_adds_nothing(void **state)
{
    struct small small;
    struct phase_times times;
    struct error error = ERROR_INIT;
    play(&small);
    for (int rank = 0; rank < RANKS; rank++)
        at(&small, rank, 2, 1)->end_ns = 2 * 10000 + 3000;
    assert_int_equal(phase_times_init(&times, &small.job, PHASES_OF_JOB, &error), 0);
    assert_int_equal(find(&times, 2, 0)->time_ns, 4000);
    assert_int_equal(find(&times, 2, 1)->time_ns, 0);
    phase_times_release(&times);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_shared_out_without_a_rest),
        cmocka_unit_test(what_ends_earlier_adds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
