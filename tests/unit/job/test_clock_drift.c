#include "base/base.h"
#include "job/internal.h"
#include "job/job.h"
#include "model/model.h"
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

/* One rank that starts a kernel every millisecond of its GPU, which its host notices 3 us later at least. */
enum {
    OPERATIONS = 1000,
    SHORT = 48,
    EVERY_NS = 1000000,
    PROMPT_NS = 3000,
    LATE_NS = 900000,
    AHEAD_NS = 5000000
};

struct drifting {
    struct job job;
    struct job_rank rank;
    struct job_operation operations[OPERATIONS];
};

/* Host clock minus GPU clock. */
static int64_t offset_at(double drift, int64_t jump_ns, int i)
{
    return AHEAD_NS + llround(drift * i * (double)EVERY_NS) + (i >= OPERATIONS / 2 ? jump_ns : 0);
}

/* Two of three starts are noticed late. In the middle, the clock of the host jumps. */
static void drifting_init(struct drifting *drifting, size_t operations, double drift, int64_t jump_ns)
{
    *drifting = (struct drifting){
        .job = {.rank_count = 1, .operation_count = operations},
        .rank = {.count = operations, .clock_scale = 1},
    };
    struct job_drafts *drafts = &drifting->job.drafts;
    drifting->job.ranks = &drifting->rank;
    drifting->job.operations = drifting->operations;
    drafts->issued_ns = calloc(OPERATIONS, sizeof *drafts->issued_ns);
    drafts->free_ns = calloc(OPERATIONS, sizeof *drafts->free_ns);
    drafts->noticed_ns = calloc(OPERATIONS, sizeof *drafts->noticed_ns);
    assert_true(drafts->issued_ns && drafts->free_ns && drafts->noticed_ns);
    for (int i = 0; i < OPERATIONS; i++) {
        int64_t start_ns = (int64_t)i * EVERY_NS;
        drifting->operations[i] = (struct job_operation){.ends = ENDS_BY_KERNEL,
                                                         .start_ns = start_ns,
                                                         .end_ns = start_ns + EVERY_NS / 2,
                                                         .enqueued_ns = TIME_UNKNOWN};
        drafts->noticed_ns[i] = offset_at(drift, jump_ns, i) + (i % 3 ? LATE_NS / (i % 7 + 1) : PROMPT_NS);
        drafts->issued_ns[i] = start_ns + offset_at(drift, jump_ns, i);
    }
    assert_int_equal(job_map_rank(&drifting->job, &drifting->rank), 0);
}

static void drifting_release(struct drifting *drifting)
{
    free(drifting->job.drafts.issued_ns);
    free(drifting->job.drafts.free_ns);
    free(drifting->job.drafts.noticed_ns);
    free(drifting->rank.delays_ns);
}

/* The greatest difference from the true delay; prompt starts are noticed after PROMPT_NS. */
static int64_t worst_error(const struct drifting *drifting, double drift)
{
    int64_t worst_ns = 0;
    for (int i = 0; i < (int)drifting->rank.count; i++) {
        int64_t error_ns =
            job_delay(&drifting->job, &drifting->operations[i]) - PROMPT_NS - offset_at(drift, 0, i);
        worst_ns = llabs(error_ns) > worst_ns ? llabs(error_ns) : worst_ns;
    }
    return worst_ns;
}

/* A counter of which the rate was measured for a moment: a percent too fast, or too slow; also in a short
 * job. */
static void a_clock_of_a_wrong_rate_is_followed(void **state)
{
    static const double drifts[] = {0.012, -0.007, 0.0004};
    for (size_t i = 0; i < 2 * sizeof drifts / sizeof *drifts; i++) {
        struct drifting drifting;
        double drift = drifts[i / 2];
        drifting_init(&drifting, i % 2 ? SHORT : OPERATIONS, drift, 0);
        assert_true(drifting.rank.has_gpu_clock);
        assert_true(fabs(drifting.rank.clock_drift - drift) < 1e-6);
        assert_true(worst_error(&drifting, drift) <= 2000);
        drifting_release(&drifting);
    }
}

/* Oscillators differ by a few millionths: then blocks of operations share a delay, as without any drift. */
static void clocks_of_two_oscillators_hardly_drift(void **state)
{
    struct drifting drifting;
    drifting_init(&drifting, OPERATIONS, 15e-6, 0);
    assert_true(drifting.rank.has_gpu_clock);
    assert_true(drifting.rank.clock_drift == 0);
    assert_true(worst_error(&drifting, 15e-6) <= 15 * 2 * JOB_DELAY_BLOCK);
    drifting_release(&drifting);
}

/* A clock that jumps is level before and after, and a slope would be wrong everywhere. */
static void a_clock_that_jumps_does_not_drift(void **state)
{
    struct drifting drifting;
    drifting_init(&drifting, OPERATIONS, 0, 5000000);
    assert_true(drifting.rank.clock_drift == 0);
    assert_int_equal(job_delay(&drifting.job, &drifting.operations[0]), AHEAD_NS + PROMPT_NS);
    assert_int_equal(job_delay(&drifting.job, &drifting.operations[OPERATIONS - 1]),
                     AHEAD_NS + 5000000 + PROMPT_NS);
    drifting_release(&drifting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_of_a_wrong_rate_is_followed),
        cmocka_unit_test(clocks_of_two_oscillators_hardly_drift),
        cmocka_unit_test(a_clock_that_jumps_does_not_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
