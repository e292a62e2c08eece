#include "job/job.h"
#include "model/model.h"
#include "report/html.h"

#include "support/cmocka_all.h"
#include "support/small_job.h"

enum { STEP = 10000, TAKES = 500, LATE = 900 };

/*
 * Two AllReduces per step, of 500 after all have arrived; all ranks share a clock. Rank 1 arrives late at the
 * second of step 2.
 */
static void play(struct small *small)
{
    small_init(small);
    for (int i = 0; i < OPERATIONS; i++) {
        struct job_operation *operation = &small->operations[i];
        operation->start_ns = operation->step * STEP + (i % 2 ? 5000 : 1000);
        operation->end_ns = operation->start_ns + TAKES;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        small->ranks[rank].clock_method = CLOCK_SHARED;
        small->ranks[rank].clock_scale = 1;
        at(small, rank, 2, 1)->end_ns += LATE;
    }
    at(small, 1, 2, 1)->start_ns += LATE;
    for (int i = 0; i < EACH; i++)
        small->instances[i].expected = RANKS;
}

static void who_waits(void **state)
{
    struct small small;
    struct step_bars bars;
    play(&small);
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(step_bars_init(&bars, &small.job, rank, 2), 0);
        assert_int_equal(bars.count, 2);
        assert_false(bars.is_unclocked || bars.is_untimed);
        int64_t length_ns = bars.items[1].end_ns - bars.items[1].begin_ns;
        assert_int_equal(length_ns, rank == 1 ? TAKES : TAKES + LATE);
        assert_int_equal(bars.items[1].waiting_ns, rank == 1 ? 0 : LATE);
        assert_int_equal(bars.items[0].waiting_ns, 0);
        assert_int_equal(bars.items[1].begin_ns - bars.items[0].begin_ns, rank == 1 ? 4000 + LATE : 4000);
        step_bars_release(&bars);
    }
    small_release(&small);
}

/*
 * An operation that never ended began when its GPU was free for it; operations queued after it did not begin.
 */
static void what_never_ended(void **state)
{
    struct small small;
    struct step_bars bars;
    play(&small);
    for (int i = 0; i < 2; i++) {
        at(&small, 0, 3, i)->start_ns = at(&small, 0, 3, i)->end_ns = TIME_UNKNOWN;
        at(&small, 0, 3, i)->enqueued_ns = 20000;
        at(&small, 0, 3, i)->unfinished = 1;
    }
    assert_int_equal(step_bars_init(&bars, &small.job, 0, 3), 0);
    assert_int_equal(bars.count, 1);
    assert_true(bars.items[0].is_open);
    assert_int_equal(bars.items[0].end_ns, TIME_UNKNOWN);
    /* The previous one ended at 2 * STEP + 5000 + TAKES + LATE. */
    assert_int_equal(bars.items[0].begin_ns, 26400);
    step_bars_release(&bars);
    /* An unrecorded end does not mean that the operation never ended. */
    at(&small, 1, 3, 0)->end_ns = TIME_UNKNOWN;
    assert_int_equal(step_bars_init(&bars, &small.job, 1, 3), 0);
    assert_int_equal(bars.count, 2);
    assert_false(bars.items[0].is_open);
    assert_int_equal(bars.items[0].end_ns, TIME_UNKNOWN);
    step_bars_release(&bars);
    small_release(&small);
}

static void what_cannot_be_drawn(void **state)
{
    struct small small;
    struct step_bars bars;
    play(&small);
    small.ranks[2].clock_method = CLOCK_NONE;
    assert_int_equal(step_bars_init(&bars, &small.job, 2, 1), 0);
    assert_int_equal(bars.count, 0);
    assert_true(bars.is_unclocked && !bars.is_untimed);
    step_bars_release(&bars);
    at(&small, 0, 1, 0)->start_ns = at(&small, 0, 1, 1)->start_ns = TIME_UNKNOWN;
    assert_int_equal(step_bars_init(&bars, &small.job, 0, 1), 0);
    assert_true(bars.is_untimed && !bars.is_unclocked && !bars.is_empty);
    step_bars_release(&bars);
    at(&small, 0, 1, 0)->step = at(&small, 0, 1, 1)->step = 0;
    assert_int_equal(step_bars_init(&bars, &small.job, 0, 1), 0);
    assert_true(bars.is_empty && !bars.is_untimed && !bars.is_unclocked);
    step_bars_release(&bars);
    small_release(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits),
        cmocka_unit_test(what_never_ended),
        cmocka_unit_test(what_cannot_be_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
