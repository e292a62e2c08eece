#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"

#include "support/cmocka_all.h"
#include "support/slow_ranks.h"
#include "support/spoken.h"

#include <stdlib.h>

/* Eight ranks without a fault; a step takes 10000. The GPU of rank 5 computes this long before each call. */
static void init(struct slow_job *played, int64_t work_ns, int64_t others_ns)
{
    static const struct slow_ranks none;
    slow_job_init(played, &none);
    played->job.gpu_busy_ns = calloc(OPERATIONS, sizeof *played->job.gpu_busy_ns);
    assert_non_null(played->job.gpu_busy_ns);
    for (size_t i = 0; i < OPERATIONS; i++)
        played->job.gpu_busy_ns[i] = played->operations[i].rank == 5 ? work_ns : others_ns;
}

static void release(struct slow_job *played)
{
    free(played->job.gpu_busy_ns);
    played->job.gpu_busy_ns = NULL;
    slow_job_release(played);
}

/* The findings if its role has this many ranks. */
static void take(struct slow_job *played, size_t ranks_of_role, struct findings *findings)
{
    struct error error = ERROR_INIT;
    const struct diagnose_options options = {.min_gain = 0.03, .sigmas = 6};
    struct role *role = &played->baseline.roles[played->baseline.role_of_rank[5]];
    size_t before = role->rank_count;
    role->rank_count = ranks_of_role;
    assert_int_equal(findings_take_busiest(findings, &played->job, &played->baseline, &options, &error), 0);
    role->rank_count = before;
}

static void its_work_is_that_of_a_step(void **state)
{
    struct slow_job played;
    struct busiest busiest;
    init(&played, 3000, 1000);
    assert_int_equal(busiest_find(&busiest, &played.job, &played.baseline), 0);
    assert_int_equal(busiest.rank, 5);
    assert_int_equal(busiest.work_ns, EACH * 3000);
    assert_int_equal(busiest.next_ns, EACH * 1000);
    release(&played);
    init(&played, 0, 0);
    assert_int_equal(busiest_find(&busiest, &played.job, &played.baseline), 0);
    assert_int_equal(busiest.rank, -1);
    release(&played);
}

static void who_sets_the_pace_is_named(void **state)
{
    struct slow_job played;
    struct findings findings = {0};
    init(&played, 3000, 1000);
    take(&played, 2, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].kind, FINDING_COMPUTE);
    assert_int_equal(findings.items[0].rank, 5);
    assert_int_equal(findings.items[0].confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(findings.items[0].first_step, 1);
    assert_int_equal(findings.items[0].last_step, STEPS - 1);
    assert_int_equal(findings.items[0].lost_ns, (STEPS - 1) * EACH * 2000);
    findings_release(&findings);
    release(&played);
}

static void a_heavier_stage_may_be_so_by_design(void **state)
{
    struct slow_job played;
    struct findings findings = {0};
    init(&played, 3000, 1510);
    take(&played, 1, &findings);
    assert_int_equal(findings.count, 0);
    findings_release(&findings);
    release(&played);
}

/* Peers are better evidence, a named rank is named only once, and for half of a step others need not wait. */
static void others_tell_more(void **state)
{
    struct slow_job played;
    struct findings findings = {0};
    init(&played, 3000, 1000);
    take(&played, 3, &findings);
    assert_int_equal(findings.count, 0);
    struct finding *said = findings_add(&findings);
    assert_non_null(said);
    *said = (struct finding){.rank = 5, .confidence = CONFIDENCE_MEDIUM};
    take(&played, 2, &findings);
    assert_int_equal(findings.count, 1);
    findings_release(&findings);
    release(&played);
    findings = (struct findings){0};
    init(&played, 2400, 1000);
    take(&played, 2, &findings);
    assert_int_equal(findings.count, 0);
    release(&played);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_work_is_that_of_a_step),
        cmocka_unit_test(who_sets_the_pace_is_named),
        cmocka_unit_test(a_heavier_stage_may_be_so_by_design),
        cmocka_unit_test(others_tell_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
