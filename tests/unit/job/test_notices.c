#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"

#include <stdlib.h>

/* Two ranks, two steps, one operation in each; the host's clock is 1000 ns ahead of the GPU's. */
enum { RANKS = 2, STEPS = 2, OPERATIONS = RANKS * STEPS, DELAY_NS = 1000 };

struct noticed {
    struct job job;
    struct job_rank ranks[RANKS];
    struct job_operation operations[OPERATIONS];
    int64_t delays_ns[RANKS];
};

/* Each operation takes from 10,000 to 20,000 ns on the GPU, and both are noticed 50 ns later. */
static void noticed_init(struct noticed *noticed)
{
    *noticed =
        (struct noticed){.job = {.rank_count = RANKS, .step_count = STEPS, .operation_count = OPERATIONS}};
    noticed->job.ranks = noticed->ranks;
    noticed->job.operations = noticed->operations;
    noticed->job.drafts.notices = calloc(OPERATIONS, sizeof *noticed->job.drafts.notices);
    noticed->job.drafts.sent = calloc(2, sizeof *noticed->job.drafts.sent);
    assert_non_null(noticed->job.drafts.notices);
    assert_non_null(noticed->job.drafts.sent);
    for (int32_t i = 0; i < OPERATIONS; i++) {
        noticed->operations[i] = (struct job_operation){
            .rank = i / STEPS, .step = i % STEPS, .start_ns = 10000, .end_ns = 20000, .ends = ENDS_BY_KERNEL};
        noticed->job.drafts.notices[i] = (struct job_notice){DELAY_NS + 50, DELAY_NS + 50};
    }
    for (int32_t i = 0; i < RANKS; i++) {
        noticed->delays_ns[i] = DELAY_NS;
        noticed->ranks[i] = (struct job_rank){.first = (size_t)i * STEPS,
                                              .count = STEPS,
                                              .has_gpu_clock = 1,
                                              .delays_ns = &noticed->delays_ns[i]};
    }
}

static const struct job_service *sum(struct noticed *noticed)
{
    assert_int_equal(job_sum_notices(&noticed->job), 0);
    assert_null(noticed->job.drafts.notices);
    assert_null(noticed->job.drafts.sent);
    assert_non_null(noticed->job.services);
    return noticed->job.services;
}

static void notices_are_summed_by_rank_and_step(void **state)
{
    struct noticed noticed;
    noticed_init(&noticed);
    noticed.job.drafts.notices[3] = (struct job_notice){DELAY_NS + 4000000, DELAY_NS + 3000000};
    const struct job_service *services = sum(&noticed);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_int_equal(services[i].notices, 2);
        assert_int_equal(services[i].notice_ns, i == 3 ? 7000000 : 100);
    }
    free(noticed.job.services);
}

/* Nothing is known: no notice, an operation in no step, an end that is not that of the kernel. */
static void notices_that_are_unknown(void **state)
{
    struct noticed noticed;
    noticed_init(&noticed);
    noticed.job.drafts.notices[0] = (struct job_notice){TIME_UNKNOWN, TIME_UNKNOWN};
    noticed.operations[1].step = -1;
    noticed.operations[2].ends = ENDS_BY_HOST;
    /* Noticed before it happened, by the clock: not late. */
    noticed.job.drafts.notices[3].start_ns = DELAY_NS - 70;
    const struct job_service *services = sum(&noticed);
    assert_int_equal(services[0].notices, 0);
    assert_int_equal(services[1].notices, 0);
    assert_int_equal(services[2].notices, 1);
    assert_int_equal(services[3].notices, 2);
    assert_int_equal(services[3].notice_ns, 50);
    free(noticed.job.services);
}

/* The thread may be blocked while its rank sends, and only then: times of other ranks are not subtracted. */
static void time_in_which_the_rank_sent_does_not_count(void **state)
{
    struct noticed noticed;
    noticed_init(&noticed);
    for (int i = 0; i < OPERATIONS; i++)
        noticed.job.drafts.notices[i].stop_ns = DELAY_NS + 5000;
    noticed.job.drafts.sent[0] = (struct job_sent){{DELAY_NS + 12000, DELAY_NS + 22000}, 1};
    noticed.job.drafts.sent[1] = (struct job_sent){{DELAY_NS + 21000, DELAY_NS + 24000}, 1};
    noticed.job.drafts.sent_count = 2;
    const struct job_service *services = sum(&noticed);
    assert_int_equal(services[0].notice_ns, 50 + 5000);
    assert_int_equal(services[2].notice_ns, 50 + 1000);
    free(noticed.job.services);
}

/* Kernels within half a millisecond show the same of the thread; more than half a millisecond is late. */
static void notices_of_one_moment_count_once(void **state)
{
    enum { SLICE_NS = 500000 };
    struct noticed noticed;
    noticed_init(&noticed);
    for (int32_t i = 0; i < OPERATIONS; i++) {
        noticed.operations[i].start_ns = (i % STEPS) * 2 * SLICE_NS;
        noticed.operations[i].end_ns =
            noticed.operations[i].start_ns + (i / STEPS == 0 ? SLICE_NS - 1 : SLICE_NS);
        noticed.job.drafts.notices[i] = (struct job_notice){DELAY_NS + SLICE_NS + 1, DELAY_NS + SLICE_NS};
    }
    const struct job_service *services = sum(&noticed);
    for (int32_t i = 0; i < OPERATIONS; i++) {
        assert_int_equal(services[i].notices, 2);
        assert_int_equal(services[i].samples, i / STEPS == 0 ? 1 : 2);
        assert_int_equal(services[i].late, 1);
    }
    free(noticed.job.services);
}

/* A moment is late if one of its kernels is: here the start of the second one, after the stop of the first.
 */
static void a_late_start_after_a_stop_counts(void **state)
{
    enum { SLICE_NS = 500000 };
    struct noticed noticed;
    noticed_init(&noticed);
    for (int32_t i = 0; i < OPERATIONS; i++) {
        int32_t step = i % STEPS;
        noticed.operations[i].start_ns = step * (2 * SLICE_NS + 100);
        noticed.operations[i].end_ns = noticed.operations[i].start_ns + 2 * SLICE_NS;
        noticed.job.drafts.notices[i] =
            (struct job_notice){DELAY_NS + (step == 1 ? SLICE_NS + 1 : 0), DELAY_NS};
    }
    const struct job_service *services = sum(&noticed);
    for (int32_t i = 0; i < OPERATIONS; i++) {
        assert_int_equal(services[i].samples, i % STEPS == 0 ? 2 : 1);
        assert_int_equal(services[i].late, i % STEPS == 0 ? 1 : 0);
    }
    free(noticed.job.services);
}

/* In an operation of 10,000 ns, a clock that gains a percent gains 100 ns on the GPU's. */
static void a_drift_within_an_operation_does_not_count(void **state)
{
    struct noticed noticed;
    noticed_init(&noticed);
    noticed.ranks[0].clock_drift = 0.01;
    int64_t delays_ns[STEPS] = {DELAY_NS, DELAY_NS};
    noticed.ranks[0].delays_ns = delays_ns;
    for (int i = 0; i < STEPS; i++)
        noticed.job.drafts.notices[i].stop_ns = DELAY_NS + 150;
    const struct job_service *services = sum(&noticed);
    assert_int_equal(services[0].notice_ns, 50 + 50);
    assert_int_equal(services[1].notice_ns, 50 + 50);
    free(noticed.job.services);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notices_are_summed_by_rank_and_step),
        cmocka_unit_test(notices_that_are_unknown),
        cmocka_unit_test(time_in_which_the_rank_sent_does_not_count),
        cmocka_unit_test(notices_of_one_moment_count_once),
        cmocka_unit_test(a_late_start_after_a_stop_counts),
        cmocka_unit_test(a_drift_within_an_operation_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
